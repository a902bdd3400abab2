// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"time"

	"example.org/app/internal/plugin/js/engine"
	"example.org/app/internal/recording/event"
)

// yieldInterval is after what time the goroutine of a module lets others go first.
const yieldInterval = 200 * time.Microsecond

// loop serves calls, timers and ends of operations, one after another, until the module closes or dies.
func (m *module) loop() {
	yielded := time.Now()
	for m.dead.Load() == nil {
		// A thousand operations that end at once hand the processor to and fro, and the scheduler takes that for one goroutine.
		if now := time.Now(); m.host.crowded.Load() && now.Sub(yielded) > yieldInterval {
			runtime.Gosched()
			yielded = now
		}
		m.owner.Lock()
		due := m.due()
		m.owner.Unlock()
		select {
		case c := <-m.queue:
			m.own(func() { m.begin(c) })
		case op := <-m.posts:
			m.own(func() { unasked(m, func() { m.settle(op) }) })
		case <-m.unbegun.more:
			m.own(func() { unasked(m, m.settleUnbegun) })
		case <-due:
			m.own(func() { unasked(m, m.fire) })
		case <-m.javaCalls:
			m.own(m.serveJava)
		case <-m.wake:
		case <-m.died:
		case <-m.closing:
			return
		}
	}
}

// own runs f while nobody else uses the engine.
func (m *module) own(f func()) {
	m.owner.Lock()
	defer m.owner.Unlock()
	if m.dead.Load() == nil {
		f()
	}
}

// direct runs a call on the goroutine of its caller, if the engine is free and nobody waits for it: handing a call over
// to another goroutine can cost as much as the call. It reports false if the call must wait in the queue, as all do that a
// debugger may hold.
func (m *module) direct(c *call) bool {
	if m.debug.target != nil || len(m.queue) > 0 || !m.owner.TryLock() {
		return false
	}
	defer m.owner.Unlock()
	if m.shut || m.dead.Load() != nil {
		return false
	}
	// A fault in the engine costs the plugin, not the server.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	m.begin(c)
	m.awaken()
	return true
}

// awaken tells the loop of a timer that somebody else has set, if there is one.
func (m *module) awaken() {
	if !m.timers.armed && len(m.timers.list) > 0 {
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}
}

// turn runs f, and the jobs that follow from it, in the name of a call, or of nobody.
func (m *module) turn(c *call, f func()) {
	m.limit = time.Time{}
	outer := m.enter(c)
	if event.Profiling() && c != nil && c.extension != nil {
		// Samples of the processors show the engine; the labels say for whom it works.
		id, function := m.descriptor.ID, strings.TrimSuffix(strings.Replace(c.label, ".", "#", 1), "()")
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(event.LabelPlugin, id, event.LabelFunction, id+"/"+function)))
		defer pprof.SetGoroutineLabels(context.Background())
	}
	err := m.engine.Run(m.mustStop, func() {
		f()
		m.engine.RunJobs(m.uncaught)
	})
	m.leave(outer)
	if err == nil {
		if m.debug.target != nil {
			m.debug.target.Turn()
		}
		m.engine.Relieve()
	}
	if m.java != nil {
		m.java.flush()
	}
	m.memory.Store(m.engine.Memory())
	if err != nil {
		if errors.Is(err, engine.ErrBroken) {
			<-m.died // Whoever broke the engine off says why.
		} else {
			m.die(err)
		}
		if c := m.answering; c != nil {
			c.finish(false, m.ending(c))
		}
		return
	}
	if m.exhausted {
		m.exhausted = false
		m.checkMemory()
	}
	if len(m.unhandled) > 0 {
		m.reportUnhandled()
	}
}

// callOver reports whether the present turn must end, because the module stops or because of the call that it works for.
// known is false if it works for no call, or for one that has its answer: then the turn limit decides.
func (m *module) callOver() (over, known bool) {
	if m.stopping.Load() {
		return true, true
	}
	if c := m.current.Load(); c != nil {
		switch c.state.Load() {
		case abandoned:
			return true, true
		case finished:
		default:
			return c.ctx.Err() != nil, true
		}
	}
	return false, false
}

// How long a turn may go on for a call that is over: after its time, and after its caller has left, so that nobody waits.
// Code that is interrupted skips its finally blocks; turns that follow are no longer those of the call.
const graceAfterTimeout, graceAfterLeaving = 10 * time.Millisecond, 100 * time.Millisecond

// grace is how long the present turn may go on although its call is over.
func (m *module) grace() time.Duration {
	if c := m.current.Load(); c != nil && errors.Is(c.ctx.Err(), context.Canceled) {
		return graceAfterLeaving
	}
	return graceAfterTimeout
}

// mustStop is asked while code of the plugin runs.
func (m *module) mustStop() bool {
	if m.stopping.Load() || m.debug.target != nil && m.debug.target.Terminated() {
		return true
	}
	limit := m.host.opts.TurnLimit
	switch over, known := m.callOver(); {
	case over:
		limit = min(limit, m.grace())
	case known:
		return false
	}
	now := time.Now()
	if m.limit.IsZero() {
		m.limit = now.Add(limit)
	}
	return now.After(m.limit)
}

// await serves timers and ends of operations until a promise is settled, while the plugin is loaded.
func (m *module) await(ctx context.Context, promise engine.Value) (engine.State, engine.Value, error) {
	for {
		if err := m.engine.Err(); err != nil {
			return engine.Rejected, engine.Undefined, err
		}
		state, v := m.engine.Promise(promise)
		if state != engine.Pending {
			return state, v, nil
		}
		select {
		case op := <-m.posts:
			m.settle(op)
		case <-m.unbegun.more:
			m.settleUnbegun()
		case <-m.due():
			m.fire()
		case <-m.javaCalls:
			m.serveJava()
		case <-m.debug.tasks():
			m.debug.serve()
		case <-m.closing:
			return state, v, errClosed
		case <-ctx.Done():
			return state, v, ctx.Err()
		}
	}
}

// uncaught reports what a job threw, which nobody can catch any more.
func (m *module) uncaught(x *engine.Exception) {
	defer m.engine.Free(x.Value)
	err := m.exception(x)
	if x.Interrupted {
		if m.stopping.Load() {
			return // It was interrupted because the plugin goes away.
		}
		end := &interruption{err.Location}
		m.tellUncaught(end, func() { m.log.Error("a plugin ran too long and was interrupted", slog.Any("error", end)) })
		return
	}
	m.tellUncaught(err, func() { m.log.Error("uncaught exception in a plugin", slog.Any("error", err)) })
	if m.debug.target != nil {
		m.debug.target.Uncaught(x.Value)
	}
}

// errTooLong is the end of code that nobody waited for and that ran too long.
var errTooLong = errors.New("code of the plugin ran too long and was interrupted")

// An interruption is errTooLong with the place where the code was, "" if that is unknown.
type interruption struct{ location string }

func (e *interruption) Error() string {
	if e.location == "" {
		return errTooLong.Error()
	}
	return errTooLong.Error() + " (" + e.location + ")"
}

func (e *interruption) Unwrap() error { return errTooLong }

// tellUncaught logs an error that nobody catches, unless the plugin logs too much, and tells the server and whoever made the
// host of it.
func (m *module) tellUncaught(err error, log func()) {
	if m.lines.Take(m.log) {
		log()
	}
	m.Note(err)
	if f := m.host.opts.Uncaught; f != nil {
		f(err)
	}
}

// A rejection is a promise that was rejected while nobody listened.
type rejection struct{ promise, reason engine.Value }

// maxUnhandled bounds how many rejections of one turn are kept.
const maxUnhandled = 100

// rejected is told of promises that are rejected while nobody listens, and of those that get a listener later.
func (m *module) rejected(promise, reason engine.Value, handled bool) {
	if handled {
		m.handled(promise)
		return
	}
	if len(m.unhandled) < maxUnhandled {
		m.unhandled = append(m.unhandled, rejection{m.engine.Dup(promise), m.engine.Dup(reason)})
	}
}

func (m *module) handled(promise engine.Value) {
	for i, r := range m.unhandled {
		if r.promise == promise {
			m.engine.Free(r.promise)
			m.engine.Free(r.reason)
			m.unhandled = append(m.unhandled[:i], m.unhandled[i+1:]...)
			return
		}
	}
}

// reportUnhandled logs the rejections that nobody has listened to by the end of a turn.
func (m *module) reportUnhandled() {
	list := m.unhandled
	m.unhandled = nil
	_ = m.engine.Run(m.mustStop, func() {
		for _, r := range list {
			m.engine.Free(r.promise)
			x := m.engine.Describe(r.reason)
			err := m.exception(x)
			m.tellUncaught(err, func() { m.log.Error("a promise of a plugin was rejected and nobody listened", slog.Any("error", err)) })
			if m.debug.target != nil {
				m.debug.target.Rejected(x.Value)
			}
			m.engine.Free(x.Value)
		}
	})
}
