// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"reflect"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin/trace"
	"example.org/app/internal/telemetry"
)

// traced is a call of an extension point or an endpoint that is recorded, or belongs to an
// OpenTelemetry trace. A nil one does nothing.
type traced struct {
	call *trace.Call
	// name is what is called.
	name string
	// secret is true if results must not be shown.
	secret bool
	// start and span are those of the current extension.
	start time.Time
	span  telemetry.Span
}

// Recording reports whether calls may be recorded, so that it pays to set their request
// (ForRequest).
func (cs *Calls) Recording() bool { return cs.tracer.on() }

// Traces returns the recorder of calls; nil if there is none.
func (cs *Calls) Traces() *trace.Recorder { return cs.tracer.traces }

// tracer begins the records of calls.
type tracer struct{ traces *trace.Recorder }

func (r tracer) on() bool { return r.traces.On() || telemetry.On() }

// method returns the record of a call; nil if it is not recorded.
func (r tracer) method(ctx context.Context, method *Method) *traced {
	if !r.on() {
		return nil
	}
	return r.beginMethod(ctx, method)
}

// mapType is the result type of storages: addresses that allow uploads and downloads.
var mapType = reflect.TypeFor[map[string]string]()

func (r tracer) beginMethod(ctx context.Context, method *Method) *traced {
	call := r.begin(ctx, func() trace.Subject {
		return trace.Subject{Point: method.Point.Name, Method: method.Name, Role: RoleOf(ctx, method.Point)}
	})
	if call == nil {
		return nil
	}
	return &traced{call: call, name: method.Point.Name + "." + method.Name, secret: method.Result == mapType}
}

// endpoint is method for a request to an endpoint.
func (r tracer) endpoint(ctx context.Context, e *PublishedEndpoint) *traced {
	if !r.on() {
		return nil
	}
	call := r.begin(ctx, func() trace.Subject {
		return trace.Subject{Point: ServeEndpoint.Point.Name, Method: e.Handler, Role: RoleOf(ctx)}
	})
	if call == nil {
		return nil
	}
	return &traced{call: call, name: e.Path()}
}

// schedule is method for a run of a schedule.
func (r tracer) schedule(ctx context.Context, s *Schedule) *traced {
	if !r.on() {
		return nil
	}
	call := r.begin(ctx, func() trace.Subject { return trace.Subject{Point: RunSchedule.Point.Name, Method: s.Name} })
	if call == nil {
		return nil
	}
	return &traced{call: call, name: "Schedule.run"}
}

// begin begins the record of a call, for the requester of ctx; nil if it is neither kept nor in a
// span. Most calls are not recorded, and need no allocation.
func (r tracer) begin(ctx context.Context, subject func() trace.Subject) *trace.Call {
	b := behalfOf(ctx)
	kept := r.traces.Wants(b.cause())
	if !kept && !telemetry.Sampled(ctx) {
		return nil
	}
	s := subject()
	b.tell(&s)
	if kept {
		return r.traces.Begin(s)
	}
	return r.traces.Observe(s)
}

// begin begins the call of an extension, with the returned context.
func (t *traced) begin(ctx context.Context, b *member) context.Context {
	if t == nil {
		return ctx
	}
	t.start = time.Now()
	ctx, t.span = b.span(ctx, t.name)
	return ctx
}

// span begins the span of a call of the extension.
func (m *member) span(ctx context.Context, name string) (context.Context, telemetry.Span) {
	ctx, span := telemetry.Child(ctx, name, telemetry.Internal)
	if span.On() {
		span.Set(attribute.String("app.plugin.id", m.plugin.ID), attribute.String("app.plugin.version", m.plugin.Version), attribute.String("app.plugin.extension", m.Class()))
	}
	return ctx, span
}

// end stores the record.
func (t *traced) end() {
	if t != nil {
		t.call.End()
	}
}

// passed records an extension of a pipeline.
func (t *traced) passed(b *member, replaced bool, err error, before, after any) {
	if replaced && err == nil {
		t.add(b, trace.Attempt{Outcome: trace.Changed, Before: before, After: after}, nil)
	} else {
		t.called(b, err)
	}
}

// asked records an extension that may have answered.
func (t *traced) asked(b *member, answered bool, err error, answer any) {
	if answered && err == nil {
		t.add(b, trace.Attempt{Outcome: trace.Answered, After: answer}, nil)
	} else {
		t.called(b, err)
	}
}

// called records an extension that changed nothing.
func (t *traced) called(b *member, err error) {
	if t != nil {
		t.add(b, trace.Attempt{Outcome: trace.Unchanged}, err)
	}
}

func (t *traced) add(b *member, a trace.Attempt, err error) {
	defer t.span.End()
	if errors.Is(err, errRetired) {
		return // Its successor is called instead.
	}
	a.Start, a.Plugin, a.Version, a.Extension, a.Secret = t.start, b.plugin.ID, b.plugin.Version, b.Class(), t.secret
	if err != nil {
		a.Outcome, a.Reason = tracedOutcomes[outcomeOf(err)], err.Error()
	}
	if e, ok := errors.AsType[*apierr.Error](err); ok {
		a.Code, a.Reason = int32(e.Code), e.Reason
	}
	if step := t.call.Add(a); step != nil && t.span.On() {
		setSpan(t.span, step)
	}
}

// setSpan copies a step of a trace to a span.
func setSpan(span telemetry.Span, s *trace.Step) {
	span.Set(attribute.String("app.plugin.outcome", string(s.Outcome)))
	switch s.Outcome {
	case trace.Refused:
		span.Set(attribute.Int("app.code", int(s.Code)), attribute.String("app.plugin.reason", s.Reason))
	case trace.Failed, trace.TimedOut:
		span.Fail(s.Reason)
	}
	for _, c := range s.Changes {
		attributes := []attribute.KeyValue{attribute.String("app.change.path", c.Path)}
		if c.Before != nil {
			attributes = append(attributes, attribute.String("app.change.before", *c.Before))
		}
		if c.After != nil {
			attributes = append(attributes, attribute.String("app.change.after", *c.After))
		}
		span.Event("change", attributes...)
	}
}

var tracedOutcomes = map[string]trace.Outcome{
	outcomeRefused: trace.Refused, outcomeError: trace.Failed, outcomeTimeout: trace.TimedOut,
}
