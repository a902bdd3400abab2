// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"reflect"
	"slices"
	"sync"
	"time"
)

// A Sample is a call with different outcomes or results in two versions of a plugin, or that the
// second one failed. It is immutable.
type Sample struct {
	Subject
	Start time.Time
	// Arguments are the fields of the arguments, by parameter name, without values before.
	Arguments []Change
	// MoreArguments is the number of omitted fields.
	MoreArguments int
	// Active and Candidate are the steps of the two versions. The outcome of Active is "" if it was
	// not waited for.
	Active, Candidate Step
	// Differences are the fields that differ in the results: before is that of the active version,
	// after that of the candidate.
	Differences []Change
	// MoreDifferences is the number of omitted differences.
	MoreDifferences int
}

// A Pair is a call that two versions of a plugin received. The values are not kept.
type Pair struct {
	Subject
	Start time.Time
	// Names and Values are the parameter names and the arguments, of equal length.
	Names  []string
	Values []any
	// Replaces is true if results replace the first argument.
	Replaces          bool
	Active, Candidate Answer
	// Secret is true if the results must not be shown.
	Secret bool
}

// An Answer is the outcome of a call in one version.
type Answer struct {
	Version  string
	Duration time.Duration
	// Outcome is one of Unchanged, Answered, Refused, Failed and TimedOut; "" if unknown.
	Outcome Outcome
	Code    int32
	Reason  string
	// Value is the value after the call; nil if there is none.
	Value any
}

// Equal reports whether both versions ended the call alike. Unknown outcomes count as equal.
func (p *Pair) Equal() bool {
	if p.Active.Outcome == "" {
		return true
	}
	if p.Active.Outcome != p.Candidate.Outcome || p.Active.Code != p.Candidate.Code || p.Active.Reason != p.Candidate.Reason {
		return false
	}
	var r rules
	return r.tree(reflect.ValueOf(p.Active.Value), 0).equal(r.tree(reflect.ValueOf(p.Candidate.Value), 0))
}

// Sample returns the sample of a pair, masked as configured.
func (r *Recorder) Sample(p *Pair) *Sample {
	shown := rules{}
	if r != nil {
		shown.text = r.text.Load()
	}
	answers := shown
	answers.secret = p.Secret
	s := &Sample{Subject: p.Subject, Start: p.Start}
	left := room(maxSampleSize) // The most important part comes first.
	if p.Active.Outcome != "" {
		s.Differences, s.MoreDifferences = left.fit(answers.compare(p.Active.Value, p.Candidate.Value))
	}
	d := &diff{}
	for i, v := range p.Values {
		name := p.Names[i]
		d.nodes(name, node{}, shown.field(name).tree(reflect.ValueOf(v), 0))
	}
	s.Arguments, s.MoreArguments = left.fit(d.changes, d.more)
	s.Active, s.Candidate = p.step(p.Active, answers, &left), p.step(p.Candidate, answers, &left)
	return s
}

// step returns the step of a version.
func (p *Pair) step(a Answer, r rules, left *room) Step {
	s := Step{Version: a.Version, Duration: a.Duration, Outcome: a.Outcome, Code: a.Code, Reason: clip(a.Reason, maxReason)}
	if a.Value == nil {
		return s
	}
	var before any
	if p.Replaces && len(p.Values) > 0 {
		before = p.Values[0]
	}
	if s.Changes, s.More = left.fit(r.compare(before, a.Value)); p.Replaces && len(s.Changes)+s.More > 0 && s.Outcome == Unchanged {
		s.Outcome = Changed
	}
	return s
}

// The limits of samples: how many of each kind are kept, their approximate total size in bytes, and
// that of one. All fit into one call between nodes, even if every character is escaped.
const (
	MaxSamples      = 20
	maxSamplesBytes = 64 << 10
	maxSampleSize   = 32 << 10
)

// Samples keeps the newest differences and the newest failures of a candidate, within limits. The
// zero value is empty.
type Samples struct {
	mu                sync.Mutex
	different, failed shelf
}

// shelf keeps samples, the oldest first.
type shelf struct {
	kept  []*Sample
	bytes int
}

// Keep adds a sample, and drops the oldest ones of its kind beyond the limit.
func (s *Samples) Keep(sample *Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &s.different
	if sample.Failed() {
		h = &s.failed
	}
	h.kept = append(h.kept, sample)
	h.bytes += sample.size()
	for len(h.kept) > 1 && (len(h.kept) > MaxSamples || h.bytes > maxSamplesBytes) {
		h.bytes -= h.kept[0].size()
		h.kept = slices.Delete(h.kept, 0, 1)
	}
}

// List returns the samples, the newest first.
func (s *Samples) List() []*Sample {
	s.mu.Lock()
	list := slices.Concat(s.different.kept, s.failed.kept)
	s.mu.Unlock()
	slices.SortStableFunc(list, func(a, b *Sample) int { return b.Start.Compare(a.Start) })
	return list
}

// Failed reports whether the candidate failed.
func (s *Sample) Failed() bool {
	return s.Candidate.Outcome == Failed || s.Candidate.Outcome == TimedOut
}

// size returns the approximate memory of the sample in bytes.
func (s *Sample) size() int {
	n := traceSize + 2*stepSize + len(s.RequestID) + len(s.Request) + len(s.Active.Reason) + len(s.Candidate.Reason)
	for _, list := range [][]Change{s.Arguments, s.Active.Changes, s.Candidate.Changes, s.Differences} {
		for _, c := range list {
			n += c.size()
		}
	}
	return n
}
