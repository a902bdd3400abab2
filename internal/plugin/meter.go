// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"math/bits"
	"sync/atomic"
	"time"
)

// meter counts the calls of one version of a plugin while another one runs beside it: only those
// that concern users, so that the two are comparable.
type meter struct {
	calls, failed, refused atomic.Int64
	// durations counts calls by duration, see bucketOf.
	durations [buckets]atomic.Int64
}

// Durations are counted in buckets: eight for each power of two of microseconds, so that a bucket's
// width is at most an eighth of its lower bound.
const (
	fineBits = 3
	buckets  = 40 << fineBits
)

// bucketOf returns the bucket of a duration.
func bucketOf(d time.Duration) int {
	us := uint64(max(d.Microseconds(), 0))
	if us < 1<<fineBits {
		return int(us)
	}
	power := bits.Len64(us) - 1 - fineBits
	return min((power+1)<<fineBits+int(us>>power)&(1<<fineBits-1), buckets-1)
}

// boundOf returns the longest duration in a bucket, in whole microseconds.
func boundOf(bucket int) time.Duration {
	if bucket < 1<<fineBits {
		return time.Duration(bucket) * time.Microsecond
	}
	power := bucket>>fineBits - 1
	us := (bucket&(1<<fineBits-1)+1<<fineBits+1)<<power - 1
	return time.Duration(us) * time.Microsecond
}

// note counts a call.
func (m *meter) note(method *Method, d time.Duration, outcome string) {
	if method.user == nil && method != HandleNotification {
		return
	}
	switch outcome {
	case outcomeError, outcomeTimeout:
		m.failed.Add(1)
	case outcomeRefused:
		m.refused.Add(1)
	}
	m.durations[bucketOf(d)].Add(1)
	m.calls.Add(1)
}

// A Reading contains the numbers of calls of a plugin's version that concern users: ended, failed
// or timed out, and refused.
type Reading struct {
	Calls, Failed, Refused int64
	durations              [buckets]int64
}

func (m *meter) read() (r Reading) {
	r.Calls, r.Failed, r.Refused = m.calls.Load(), m.failed.Load(), m.refused.Load()
	for i := range r.durations {
		r.durations[i] = m.durations[i].Load()
	}
	return r
}

// Since returns the difference to an earlier reading.
func (r Reading) Since(before Reading) Reading {
	r.Calls -= before.Calls
	r.Failed -= before.Failed
	r.Refused -= before.Refused
	for i := range r.durations {
		r.durations[i] -= before.durations[i]
	}
	return r
}

// Plus returns the sum of two readings, for instance of two processes.
func (r Reading) Plus(other Reading) Reading {
	r.Calls += other.Calls
	r.Failed += other.Failed
	r.Refused += other.Refused
	for i := range r.durations {
		r.durations[i] += other.durations[i]
	}
	return r
}

// readingForm is the encoding of a Reading between processes.
type readingForm struct {
	Calls   int64 `json:"calls,omitempty"`
	Failed  int64 `json:"failed,omitempty"`
	Refused int64 `json:"refused,omitempty"`
	// Durations has the numbers and counts of the non-empty buckets.
	Durations [][2]int64 `json:"durations,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (r Reading) MarshalJSON() ([]byte, error) {
	form := readingForm{Calls: r.Calls, Failed: r.Failed, Refused: r.Refused}
	for i, count := range r.durations {
		if count != 0 {
			form.Durations = append(form.Durations, [2]int64{int64(i), count})
		}
	}
	return json.Marshal(form)
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *Reading) UnmarshalJSON(data []byte) error {
	var form readingForm
	if err := json.Unmarshal(data, &form); err != nil {
		return err
	}
	*r = Reading{Calls: form.Calls, Failed: form.Failed, Refused: form.Refused}
	for _, d := range form.Durations {
		r.durations[min(max(d[0], 0), buckets-1)] += d[1]
	}
	return nil
}

// P99 returns the 99th percentile of the durations, rounded up by at most an eighth; 0 if there
// were no calls.
func (r Reading) P99() time.Duration {
	var all, n int64
	for _, count := range r.durations {
		all += count
	}
	for i, count := range r.durations {
		if n += count; n > 0 && n*100 >= all*99 {
			return boundOf(i)
		}
	}
	return 0
}

// Readings returns the readings of a plugin and its candidate since the candidate runs; ok is false
// if there is none.
func (t *Trials) Readings(id string) (stable, candidate Reading, ok bool) {
	p, found := t.m.Find(id)
	trial, _, trying := t.Find(id)
	if !found || !trying {
		return stable, candidate, false
	}
	own, other := p.meter.Load(), trial.meter.Load()
	if own == nil || other == nil {
		return stable, candidate, false
	}
	return own.read(), other.read(), true
}
