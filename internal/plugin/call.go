// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
)

// Calls calls extensions: it selects them, orders them and handles failures.
type Calls struct {
	*work
	tracer   tracer
	settings func() config.Plugin
	// table maps points to their extensions, in the order in which their plugins were loaded. It is
	// immutable and replaced atomically, so that a call needs no lock.
	table atomic.Pointer[map[*Point][]seat]
	// refusing are the methods that had extensions when the manager was closed; nil before.
	refusing atomic.Pointer[map[*Method]bool]
}

func newCalls(w *work, t tracer, settings func() config.Plugin) *Calls {
	cs := &Calls{work: w, tracer: t, settings: settings}
	cs.table.Store(&map[*Point][]seat{})
	return cs
}

// Has reports whether an extension would be called. It is cheap, so that callers check before they
// make arguments.
func (cs *Calls) Has(method *Method) bool {
	for _, b := range (*cs.table.Load())[method.Point] {
		// A replaced extension most likely has a successor. A candidate may not be selected. A
		// shadow does not count as able to answer.
		if (b.takesPart(method) || b.calls.isClosed()) && (method.Mode != Only || !b.isShadow()) {
			return true
		}
	}
	return cs.stopping(method) != nil
}

// HasAny reports whether an extension of a point is started.
func (cs *Calls) HasAny(p *Point) bool {
	return slices.ContainsFunc((*cs.table.Load())[p], func(b seat) bool { return !b.isShadow() && (b.started.Load() || b.isDown()) })
}

// each calls visit for the participating extensions, in order. An extension that was replaced
// meanwhile is substituted by its successor. If a plugin has a candidate, either its own extensions
// are called or the candidate's; if the candidate is a shadow, the plugin's are, and the shadow
// gets a copy of the call. failed decides what an error of visit means.
func (cs *Calls) each(ctx context.Context, method *Method, concerned subject, now passage, visit func(*member) (goOn bool, err error)) error {
	if err := cs.stopping(method); err != nil {
		return err
	}
	// visited are those of earlier tables, and those of the current one before the next.
	var visited []*member
	route := routing{subject: concerned}
	copies := mirror{ctx: ctx, method: method}
	list, next := (*cs.table.Load())[method.Point], 0
	for next < len(list) {
		b := list[next]
		if copies.split != nil && copies.split != b.split {
			copies.leave(now)
		}
		if b.split != nil && b.split.shadow != nil && b.takesPart(method) {
			copies.enter(b, concerned, now)
		}
		if !route.leadsTo(b) {
			next++
			continue
		}
		goOn, err := true, error(nil)
		if b.takesPart(method) {
			goOn, err = visit(b.member)
		} else if b.calls.isClosed() {
			err = errRetired
		}
		if err != nil {
			copies.fail(err)
			err = cs.failed(ctx, b.member, method, err)
		}
		if errors.Is(err, errRetired) {
			for _, before := range list[:next] {
				if route.leadsTo(before) {
					visited = append(visited, before.member)
				}
			}
			if b.candidate {
				route.avoided = b.plugin
			}
			list, next = slices.DeleteFunc(slices.Clone((*cs.table.Load())[method.Point]), func(other seat) bool {
				return other.member == b.member || slices.ContainsFunc(visited, other.succeeds)
			}), 0
			continue
		}
		if err != nil || !goOn {
			copies.leave(now)
			return err
		}
		next++
	}
	copies.leave(now)
	return nil
}

// succeeds reports whether the extension is the same, in this or another version of the plugin.
func (m *member) succeeds(other *member) bool {
	return m.plugin.ID == other.plugin.ID && m.Class() == other.Class()
}

// failed returns the caller's error for an extension's error; nil means to continue.
func (cs *Calls) failed(ctx context.Context, b *member, method *Method, err error) error {
	if errors.Is(err, errRetired) {
		return err
	}
	if _, ok := errors.AsType[*apierr.Error](err); ok && method.Failure == Refuse {
		return err // The plugin refused; that is no failure.
	}
	if down, ok := errors.AsType[*UnavailableError](err); ok { // This is logged once elsewhere.
		if cs.failureOf(method) == Ignore {
			return nil
		}
		return &apierr.Error{
			Code: apierr.ServerUnavailable, Err: down,
			Reason: fmt.Sprintf("the extension %s of plugin %q cannot run at present", b.Class(), b.plugin.ID),
		}
	}
	if log, ok := b.failures.Take(ctx, b.logger); ok {
		log.WarnContext(ctx, "an extension failed", "point", method.Point.Name, "method", method.Name, "error", err)
	}
	if cs.failureOf(method) == Ignore {
		return nil
	}
	return &apierr.Error{
		Code:   apierr.ServerInternalError,
		Reason: fmt.Sprintf("the extension %s of plugin %q failed", b.Class(), b.plugin.ID),
		Err:    fmt.Errorf("call %s.%s of extension %q of plugin %q: %w", method.Point.Name, method.Name, b.Class(), b.plugin.ID, err),
	}
}

// Pass passes a value through the extensions of a pipeline. rest are the further arguments.
func Pass[V any](ctx context.Context, cs *Calls, method *Method, value V, rest ...any) (V, error) {
	bounds := cs.boundsOf(method)
	t := cs.tracer.method(ctx, method)
	concerned := func() (int64, bool) { return method.concerned(value, rest) }
	now := func() ([]any, any, bool) { return append([]any{value}, rest...), value, false }
	err := cs.each(ctx, method, concerned, now, func(b *member) (bool, error) {
		var next V
		ok, err := b.call(t.begin(ctx, b), method, bounds, append([]any{value}, rest...), &next)
		if t != nil {
			t.passed(b, ok, err, value, next)
		}
		if err == nil && ok {
			value = next
		}
		return true, err
	})
	t.end()
	return value, err
}

// Ask calls the extensions one after another until one answers; ok is false if none did.
func Ask[R any](ctx context.Context, cs *Calls, method *Method, args ...any) (answer R, ok bool, err error) {
	bounds := cs.boundsOf(method)
	t := cs.tracer.method(ctx, method)
	defer t.end()
	now := func() ([]any, any, bool) {
		if !ok {
			return args, nil, false
		}
		return args, answer, true
	}
	err = cs.each(ctx, method, func() (int64, bool) { return method.concernedBy(args) }, now, func(b *member) (bool, error) {
		var result R
		answered, err := b.call(t.begin(ctx, b), method, bounds, args, &result)
		if t != nil {
			t.asked(b, answered, err, result)
		}
		if err == nil && answered {
			answer, ok = result, true
		}
		return err != nil || !answered, err
	})
	return answer, ok, err
}

// Run calls the only extension, for a method without result. It reports false if there is none.
func (cs *Calls) Run(ctx context.Context, method *Method, args ...any) (done bool, err error) {
	bounds := cs.boundsOf(method)
	t := cs.tracer.method(ctx, method)
	defer t.end()
	now := func() ([]any, any, bool) { return args, nil, false }
	err = cs.each(ctx, method, func() (int64, bool) { return method.concernedBy(args) }, now, func(b *member) (bool, error) {
		done = true
		_, err := b.call(t.begin(ctx, b), method, bounds, args, nil)
		t.called(b, err)
		return false, err
	})
	return done, err
}

// maxTold is the maximum number of running observer calls per extension. Further ones are dropped.
const maxTold = 1000

// Tell calls all extensions concurrently and does not wait for them. Errors are logged.
func (cs *Calls) Tell(ctx context.Context, method *Method, args ...any) {
	ctx = context.WithoutCancel(ctx)
	bounds := cs.boundsOf(method)
	divided := division{method: method, all: args}
	var copied *split
	for _, b := range (*cs.table.Load())[method.Point] {
		if b.split != nil && b.split.shadow != nil && b.split != copied && b.takesPart(method) {
			copied = b.split
			tellShadow(ctx, b.split, method, args)
		}
		args := divided.of(b)
		if args == nil || !b.takesPart(method) || b.isDown() && !b.candidate {
			continue
		}
		if b.told.Add(1) > maxTold {
			b.told.Add(-1)
			b.record.fail(method.Point.Name+"."+method.Name, errBusy)
			continue
		}
		cs.tellers.Go(func() {
			defer b.told.Add(-1)
			err := cs.tellOne(ctx, b.member, method, bounds, args)
			for _, next := range (*cs.table.Load())[method.Point] {
				if errors.Is(err, errRetired) && next.member != b.member && !next.isShadow() && next.succeeds(b.member) && next.takesPart(method) {
					err = cs.tellOne(ctx, next.member, method, bounds, args)
				}
			}
			if err != nil && !errors.Is(err, errRetired) {
				_ = cs.failed(ctx, b.member, method, err)
			}
		})
	}
}

// tellOne calls one observing extension.
func (cs *Calls) tellOne(ctx context.Context, b *member, method *Method, bounds bounds, args []any) error {
	t := cs.tracer.method(ctx, method)
	_, err := b.call(t.begin(ctx, b), method, bounds, args, nil)
	t.called(b, err)
	t.end()
	return err
}

// errBusy means that a call was dropped.
var errBusy = errors.New("too many calls are waiting; this one was dropped")

// markStopping records the methods that have extensions: once those have stopped, calls of the
// methods are refused.
func (cs *Calls) markStopping() {
	refusing := make(map[*Method]bool)
	for point, members := range *cs.table.Load() {
		for _, method := range point.Methods {
			if slices.ContainsFunc(members, func(b seat) bool { return !b.isShadow() && b.takesPart(method) }) {
				refusing[method] = true
			}
		}
	}
	cs.refusing.CompareAndSwap(nil, &refusing)
}

// stopping returns an error for a method that fails closed and whose extensions were stopped with
// the server.
func (cs *Calls) stopping(method *Method) error {
	if refusing := cs.refusing.Load(); refusing != nil && (*refusing)[method] && method.Failure == Refuse {
		return apierr.New(apierr.ServerUnavailable, "the server stops")
	}
	return nil
}
