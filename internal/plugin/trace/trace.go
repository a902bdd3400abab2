// SPDX-License-Identifier: Apache-2.0

// Package trace records the effects of plugins on single calls of extension points: which
// extensions were called, how long each took, how it ended, and which fields of the request, the
// result or the recipients it changed. Settings select the calls to record. Records are kept in
// memory, within a limit, and are lost when the process ends.
//
// Statistics of all calls belong to package metrics, and failures to the log.
package trace

import (
	"time"

	"example.org/app/internal/role"
)

// An Outcome is the outcome of a call.
type Outcome string

// The outcomes, the weakest first.
const (
	// Unchanged is a successful call that changed nothing.
	Unchanged Outcome = "UNCHANGED"
	// Changed is a call whose result replaced a value.
	Changed Outcome = "CHANGED"
	// Answered is a call whose result ended the chain.
	Answered Outcome = "ANSWERED"
	// Refused is a call that ended with a business status code.
	Refused Outcome = "REFUSED"
	// Failed is a call that ended with an unintended error, TimedOut one that exceeded its time
	// limit.
	Failed   Outcome = "ERROR"
	TimedOut Outcome = "TIMEOUT"
)

// rank orders outcomes, so that the outcome of a chain is that of its strongest step.
var rank = map[Outcome]int{Unchanged: 0, Changed: 1, Answered: 2, Refused: 3, Failed: 4, TimedOut: 5}

// A Subject is the context of a call. Unknown values are zero.
type Subject struct {
	// UserID and AdminID are the user or administrator on whose request the call is made.
	UserID, AdminID *int64
	// RequestID is the id of the request: for a client request the number that the client chose,
	// for an admin request the X-Request-Id.
	RequestID string
	// Request is the kind of a client request, or the operation of an admin request.
	Request string
	// Point and Method are the called extension point and method.
	Point, Method string
	// Role is the role that makes the call.
	Role role.Role
}

// A Trace is the record of one call of an extension point. It is immutable.
type Trace struct {
	// ID counts the traces of a process.
	ID int64
	Subject
	Start    time.Time
	Duration time.Duration
	Outcome  Outcome
	// Steps are the called extensions, in order.
	Steps []Step
	// bytes is the approximate memory of the trace.
	bytes int64
}

// A Step is the call of one extension.
type Step struct {
	Plugin, Version, Extension string
	Duration                   time.Duration
	Outcome                    Outcome
	// Code is the business status code of a refusal; 0 otherwise.
	Code int32
	// Reason is the reason of a refusal or failure.
	Reason  string
	Changes []Change
	// More is the number of omitted changes.
	More int
}

// A Change is a field that differs. Its values are masked as configured.
type Change struct {
	// Path is the field's path in the form that plugins use, such as
	// request.createMessageRequest.text; it is empty for a value without fields.
	Path string
	// Before and After are nil if the field was absent.
	Before, After *string
}

// The limits of a trace.
const (
	maxSteps   = 100
	maxChanges = 64
	maxReason  = 500
	// maxChangesSize limits the changes of all steps together.
	maxChangesSize = 64 << 10
)

// A Call records a trace. It belongs to the goroutine that makes the call. A nil Call records
// nothing.
type Call struct {
	// recorder keeps the trace; nil if the trace is only observed.
	recorder *Recorder
	rules    rules
	trace    Trace
	// room is the room left for the changes of the steps.
	room room
}

// An Attempt is the call of an extension and its outcome.
type Attempt struct {
	Plugin, Version, Extension string
	Start                      time.Time
	Outcome                    Outcome
	Code                       int32
	Reason                     string
	// Before and After are the value that the extension received and the one that replaces it, or
	// nil and the result. Both are nil if the extension changed nothing. They are not kept.
	Before, After any
	// Secret is true if the values must not be shown.
	Secret bool
}

// Add adds the call of an extension, and returns its step, valid until the next Add; nil if nothing
// is recorded.
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

// room is the number of bytes left for changes.
type room int

// fit drops changes without room, and adds their number to more.
func (r *room) fit(changes []Change, more int) ([]Change, int) {
	for i, change := range changes {
		if *r -= room(change.size()); *r < 0 {
			return changes[:i], more + len(changes) - i
		}
	}
	return changes, more
}

// The approximate memory of parts of a trace without their texts.
const traceSize, stepSize, changeSize, textSize = 200, 200, 64, 16

// size returns the approximate memory of the trace in bytes.
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
