// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/config"
)

// A Recorder decides which calls are recorded and keeps the newest traces. A nil Recorder records
// nothing.
type Recorder struct {
	// on is nil while recording is off, so that a call then costs one load.
	on   atomic.Pointer[switches]
	seed maphash.Seed
	// text is true if texts are shown.
	text atomic.Bool

	mu sync.Mutex
	// kept are the traces, the oldest first; limit is their maximum size in bytes.
	kept  []*Trace
	bytes int64
	limit int64
	last  int64
}

// switches are the settings of recording. They are immutable and replaced as a whole.
type switches struct {
	share    float64
	users    map[int64]bool
	requests map[string]bool
}

// NewRecorder returns a recorder with settings.
func NewRecorder(s config.PluginTraces) *Recorder {
	r := &Recorder{seed: maphash.MakeSeed()}
	r.Configure(s)
	return r
}

// Configure replaces the settings. Traces beyond the new limit are dropped.
func (r *Recorder) Configure(s config.PluginTraces) {
	if s.SampleRate > 0 || len(s.UserIDs) > 0 || len(s.RequestIDs) > 0 {
		on := &switches{share: s.SampleRate, users: map[int64]bool{}, requests: map[string]bool{}}
		for _, id := range s.UserIDs {
			on.users[id] = true
		}
		for _, id := range s.RequestIDs {
			on.requests[id] = true
		}
		r.on.Store(on)
	} else {
		r.on.Store(nil)
	}
	r.text.Store(s.IncludeText)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limit = s.MaxBytes
	r.shrink()
}

// On reports whether recording is on.
func (r *Recorder) On() bool { return r != nil && r.on.Load() != nil }

// A Cause is the request that decides whether a call is recorded. Unknown values are zero.
type Cause struct {
	// UserID is the user on whose request the call is made.
	UserID *int64
	// Number is the id of a client request, RequestID that of any other.
	Number    *int64
	RequestID string
}

// Wants reports whether to record a call. Either all calls of a request are recorded or none.
func (r *Recorder) Wants(c Cause) bool {
	if r == nil {
		return false
	}
	on := r.on.Load()
	return on != nil && on.wants(r.seed, c)
}

// Begin returns the Call of a call that begins now.
func (r *Recorder) Begin(s Subject) *Call {
	c := r.Observe(s)
	c.recorder = r
	return c
}

// Observe returns a Call that is not kept. Values are masked as configured.
func (r *Recorder) Observe(s Subject) *Call {
	c := &Call{trace: Trace{Subject: s, Start: time.Now()}, room: maxChangesSize}
	if r != nil {
		c.rules.text = r.text.Load()
	}
	return c
}

func (s *switches) wants(seed maphash.Seed, of Cause) bool {
	switch {
	case of.UserID != nil && s.users[*of.UserID], len(s.requests) > 0 && s.requests[of.id()]:
		return true
	case s.share <= 0:
		return false
	case s.share >= 1:
		return true
	case of.RequestID == "" && of.Number == nil:
		return rand.Float64() < s.share
	}
	var h maphash.Hash
	h.SetSeed(seed)
	h.WriteString(of.RequestID)
	if of.Number != nil {
		maphash.WriteComparable(&h, *of.Number)
	}
	if of.UserID != nil {
		maphash.WriteComparable(&h, *of.UserID)
	}
	// The minute is included because clients may restart their numbers with each session, and would
	// otherwise be recorded with the same requests each time.
	maphash.WriteComparable(&h, time.Now().Unix()/60)
	return float64(h.Sum64()>>11)/(1<<53) < s.share
}

// id returns the id of the request as text.
func (c Cause) id() string {
	if c.Number != nil {
		return strconv.FormatInt(*c.Number, 10)
	}
	return c.RequestID
}

// keep adds a trace, and drops the oldest ones beyond the limit.
func (r *Recorder) keep(t *Trace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	t.ID = r.last
	r.kept = append(r.kept, t)
	r.bytes += t.bytes
	r.shrink()
}

// shrink drops the oldest traces beyond the limit. The caller holds mu.
func (r *Recorder) shrink() {
	n := 0
	for n < len(r.kept) && r.bytes > r.limit {
		r.bytes -= r.kept[n].bytes
		r.kept[n] = nil // The array is referenced until the slice grows.
		n++
	}
	r.kept = r.kept[n:]
}

// A Filter selects traces. Empty fields match all.
type Filter struct {
	RequestIDs []string
	UserIDs    []int64
	// Plugins and Outcomes match traces with at least one such step.
	Plugins  []string
	Outcomes []Outcome
	Points   []string
}

func (f Filter) matches(t *Trace) bool {
	switch {
	case len(f.RequestIDs) > 0 && !slices.Contains(f.RequestIDs, t.RequestID),
		len(f.UserIDs) > 0 && (t.UserID == nil || !slices.Contains(f.UserIDs, *t.UserID)),
		len(f.Points) > 0 && !slices.Contains(f.Points, t.Point):
		return false
	}
	return slices.ContainsFunc(t.Steps, func(s Step) bool {
		return (len(f.Plugins) == 0 || slices.Contains(f.Plugins, s.Plugin)) && (len(f.Outcomes) == 0 || slices.Contains(f.Outcomes, s.Outcome))
	})
}

// Find returns the number of matching traces, and a page of them, the newest first.
func (r *Recorder) Find(f Filter, offset, limit int) (total int64, page []*Trace) {
	if r == nil {
		return 0, nil
	}
	r.mu.Lock()
	kept := slices.Clone(r.kept)
	r.mu.Unlock()
	for _, t := range slices.Backward(kept) {
		if !f.matches(t) {
			continue
		}
		if total++; total > int64(offset) && len(page) < limit {
			page = append(page, t)
		}
	}
	return total, page
}
