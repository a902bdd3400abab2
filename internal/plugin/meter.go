// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"math/bits"
	"sync/atomic"
	"time"
)

// meter counts the calls of one version of a plugin while another one runs beside it: only those of methods whose calls
// concern users, so that the two can be compared.
type meter struct {
	calls, failed, refused atomic.Int64
	// durations counts calls by how long they took, see bucketOf.
	durations [buckets]atomic.Int64
}

// Durations are counted in buckets: eight for each power of two of microseconds, so that a bucket is at most an eighth wider
// than its lower bound.
const (
	fineBits = 3
	buckets  = 40 << fineBits
)

// bucketOf is the bucket of a duration.
func bucketOf(d time.Duration) int {
	us := uint64(max(d.Microseconds(), 0))
	if us < 1<<fineBits {
		return int(us)
	}
	power := bits.Len64(us) - 1 - fineBits
	return min((power+1)<<fineBits+int(us>>power)&(1<<fineBits-1), buckets-1)
}

// boundOf is the longest duration in a bucket, in whole microseconds.
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

// A Reading is how many calls of a version of a plugin that concern users have ended, how many of them failed or took too
// long, and how many were refused.
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

// Since returns what came after another reading.
func (r Reading) Since(before Reading) Reading {
	r.Calls -= before.Calls
	r.Failed -= before.Failed
	r.Refused -= before.Refused
	for i := range r.durations {
		r.durations[i] -= before.durations[i]
	}
	return r
}

// Plus returns what two readings come to together, such as those of two processes.
func (r Reading) Plus(other Reading) Reading {
	r.Calls += other.Calls
	r.Failed += other.Failed
	r.Refused += other.Refused
	for i := range r.durations {
		r.durations[i] += other.durations[i]
	}
	return r
}

// readingForm is a Reading as it travels between processes.
type readingForm struct {
	Calls   int64 `json:"calls,omitempty"`
	Failed  int64 `json:"failed,omitempty"`
	Refused int64 `json:"refused,omitempty"`
	// Durations has the number of each bucket that is not empty, and how many calls it counts.
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

// P99 is how long 99 of a hundred calls took at most, up to an eighth too long; 0 if there were none.
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

// Readings returns what was counted of a plugin and its candidate since the candidate runs; ok is false if there is none.
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
