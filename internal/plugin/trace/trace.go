// SPDX-License-Identifier: Apache-2.0

// Package trace records what plugins did to single calls of extension points: which extensions were called, how long each
// took, how it ended, and which fields of the request, the answer or the recipients it changed. Which calls are recorded
// is a matter of settings. Records are kept in memory, within a bound, and are lost with the process.
//
// What is counted of all calls is the matter of metrics, and what is kept of failures that of the log.
package trace

import (
	"time"

	"example.org/app/internal/role"
)

// An Outcome is how a call ended.
type Outcome string

// The outcomes, the weakest first.
const (
	// Unchanged is a call that succeeded and left everything as it was.
	Unchanged Outcome = "UNCHANGED"
	// Changed is a call whose result replaced a value.
	Changed Outcome = "CHANGED"
	// Answered is a call whose result ended the chain.
	Answered Outcome = "ANSWERED"
	// Refused is a call that ended with a business status code.
	Refused Outcome = "REFUSED"
	// Failed is a call that ended with an error that the plugin did not intend, TimedOut one that took too long.
	Failed   Outcome = "ERROR"
	TimedOut Outcome = "TIMEOUT"
)

// rank orders outcomes, so that the outcome of a chain is that of its strongest step.
var rank = map[Outcome]int{Unchanged: 0, Changed: 1, Answered: 2, Refused: 3, Failed: 4, TimedOut: 5}

// A Subject is what a call belongs to. What is not known is zero.
type Subject struct {
	// UserID and AdminID are on whose request the call is made.
	UserID, AdminID *int64
	// RequestID is the id of the request: of a client the number that it chose, of an administrator the X-Request-Id.
	RequestID string
	// Request is the kind of the request of a client, or the operation of an administrator.
	Request string
	// Point and Method are what is called.
	Point, Method string
	// Role is the role that makes the call.
	Role role.Role
}

// A Trace is the record of one call of an extension point. It is not changed after it was recorded.
type Trace struct {
	// ID counts the traces of a process.
	ID int64
	Subject
	Start    time.Time
	Duration time.Duration
	Outcome  Outcome
	// Steps are the extensions that were called, in order.
	Steps []Step
	// bytes is about how much memory it takes.
	bytes int64
}

// A Step is what one extension did.
type Step struct {
	Plugin, Version, Extension string
	Duration                   time.Duration
	Outcome                    Outcome
	// Code is the business status code of a refusal; 0 otherwise.
	Code int32
	// Reason is why the extension refused or failed.
	Reason  string
	Changes []Change
	// More is how many changes there are beyond Changes.
	More int
}

// A Change is one field that differs. The values are masked as the settings say.
type Change struct {
	// Path names the field as authors of plugins do, such as request.createMessageRequest.text; it is empty for a value
	// that has no fields.
	Path string
	// Before and After are nil if the field was not there.
	Before, After *string
}

// The bounds of a trace.
const (
	maxSteps   = 100
	maxChanges = 64
	maxReason  = 500
	// maxChangesSize bounds the changes of all steps together.
	maxChangesSize = 64 << 10
)

// A Call is a trace in the making. It belongs to the goroutine that makes the call. A nil Call records nothing.
type Call struct {
	// recorder keeps the trace; nil if it is only observed.
	recorder *Recorder
	rules    rules
	trace    Trace
	// room is what is left for the changes of the steps.
	room room
}

// An Attempt is how an extension was called and how that ended.
type Attempt struct {
	Plugin, Version, Extension string
	Start                      time.Time
	Outcome                    Outcome
	Code                       int32
	Reason                     string
	// Before and After are the value that was given to the extension and the one that replaces it, or nil and the answer.
	// Both are nil if the extension left everything as it was. They are not kept.
	Before, After any
	// Secret says that nothing of the values may be shown.
	Secret bool
}

// Add adds what an extension did, and returns it until the next one is added; nil if nothing is recorded.
func (c *Call) Add(a Attempt) *Step {
	if c == nil || len(c.trace.Steps) == maxSteps {
		return nil
	}
	s := Step{
		Plugin: a.Plugin, Version: a.Version, Extension: a.Extension, Duration: time.Since(a.Start),
		Outcome: a.Outcome, Code: a.Code, Reason: clip(a.Reason, maxReason),
	}
	if a.After != nil {
		r := c.rules
		r.secret = a.Secret
		s.Changes, s.More = c.room.fit(r.compare(a.Before, a.After))
		if len(s.Changes) == 0 && s.More == 0 && a.Outcome == Changed {
			s.Outcome = Unchanged
		}
	}
	c.trace.Steps = append(c.trace.Steps, s)
	return &c.trace.Steps[len(c.trace.Steps)-1]
}

// End records the trace, if an extension was called, and returns it; nil if there is none.
func (c *Call) End() *Trace {
	if c == nil || len(c.trace.Steps) == 0 {
		return nil
	}
	t := &c.trace
	t.Duration, t.Outcome = time.Since(t.Start), Unchanged
	for _, s := range t.Steps {
		if rank[s.Outcome] > rank[t.Outcome] {
			t.Outcome = s.Outcome
		}
	}
	if c.recorder != nil {
		t.bytes = t.size()
		c.recorder.keep(t)
	}
	return t
}

// room is how many bytes are left for changes.
type room int

// fit drops changes that there is no room for, and counts them among those that there are beyond.
func (r *room) fit(changes []Change, more int) ([]Change, int) {
	for i, change := range changes {
		if *r -= room(change.size()); *r < 0 {
			return changes[:i], more + len(changes) - i
		}
	}
	return changes, more
}

// What parts of a trace take in memory beside their texts, about.
const traceSize, stepSize, changeSize, textSize = 200, 200, 64, 16

// size is about how many bytes the trace takes in memory.
func (t *Trace) size() int64 {
	n := traceSize + len(t.RequestID) + len(t.Request)
	for _, s := range t.Steps {
		n += stepSize + len(s.Reason)
		for _, c := range s.Changes {
			n += c.size()
		}
	}
	return int64(n)
}

func (c Change) size() int {
	n := changeSize + len(c.Path)
	for _, v := range []*string{c.Before, c.After} {
		if v != nil {
			n += textSize + len(*v)
		}
	}
	return n
}
