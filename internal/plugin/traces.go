// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"reflect"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin/trace"
)

// traced is a call of an extension point that is recorded. A nil one does nothing.
type traced struct {
	call *trace.Call
	// secret says that nothing of the answers may be shown.
	secret bool
}

// Recording reports whether calls may be recorded, so that it is worth while to tell which request they are made for
// (ForRequest).
func (m *Manager) Recording() bool { return m.opts.Traces.On() }

// Traces returns what records calls; nil if nothing does.
func (m *Manager) Traces() *trace.Recorder { return m.opts.Traces }

// trace returns what records a call that begins now; nil if it is not recorded.
func (m *Manager) trace(ctx context.Context, method *Method) *traced {
	if !m.opts.Traces.On() {
		return nil
	}
	return m.beginTrace(ctx, method)
}

// mapType is the type of what storages answer: addresses that let their holder upload and download.
var mapType = reflect.TypeFor[map[string]string]()

func (m *Manager) beginTrace(ctx context.Context, method *Method) *traced {
	s := trace.Subject{Point: method.Point.Name, Method: method.Name}
	if b, ok := ctx.Value(behalfKey{}).(behalf); ok {
		switch b.kind {
		case behalfUser:
			s.UserID = &b.id
		case behalfAdmin:
			s.AdminID = &b.id
		}
		if b.request != nil {
			s.RequestID, s.Request = b.request.id, b.request.kind
		}
	}
	call := m.opts.Traces.Begin(s)
	if call == nil {
		return nil
	}
	return &traced{call: call, secret: method.Result == mapType}
}

// now returns the time; the zero time if the call is not recorded.
func (t *traced) now() time.Time {
	if t == nil {
		return time.Time{}
	}
	return time.Now()
}

// end keeps the record.
func (t *traced) end() {
	if t != nil {
		t.call.End()
	}
}

// passed records an extension of a pipeline.
func (t *traced) passed(b *member, begin time.Time, replaced bool, err error, before, after any) {
	if replaced && err == nil {
		t.add(b, trace.Attempt{Start: begin, Outcome: trace.Changed, Before: before, After: after}, nil)
	} else {
		t.called(b, begin, err)
	}
}

// asked records an extension that may have answered.
func (t *traced) asked(b *member, begin time.Time, answered bool, err error, answer any) {
	if answered && err == nil {
		t.add(b, trace.Attempt{Start: begin, Outcome: trace.Answered, After: answer}, nil)
	} else {
		t.called(b, begin, err)
	}
}

// called records an extension that changed nothing.
func (t *traced) called(b *member, begin time.Time, err error) {
	if t != nil {
		t.add(b, trace.Attempt{Start: begin, Outcome: trace.Unchanged}, err)
	}
}

func (t *traced) add(b *member, a trace.Attempt, err error) {
	if errors.Is(err, errRetired) {
		return // Its successor is called instead.
	}
	a.Plugin, a.Version, a.Extension, a.Secret = b.plugin.ID, b.plugin.Version, b.Class(), t.secret
	if err != nil {
		a.Outcome, a.Reason = tracedOutcomes[outcomeOf(err)], err.Error()
	}
	if e, ok := errors.AsType[*apierr.Error](err); ok {
		a.Code, a.Reason = int32(e.Code), e.Reason
	}
	t.call.Add(a)
}

var tracedOutcomes = map[string]trace.Outcome{
	outcomeRefused: trace.Refused, outcomeError: trace.Failed, outcomeTimeout: trace.TimedOut,
}
