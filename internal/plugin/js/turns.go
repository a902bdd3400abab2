// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"time"

	"example.org/app/internal/plugin/js/engine"
	"example.org/app/internal/recording/event"
)

// turns are the turns of an engine: code of the plugin that runs without a break, in the name of a call or of nobody. One can be inside
// of another, as when Java calls back. What has no lock of its own belongs to whoever owns the engine.
type turns struct {
	m *module
	// current is the call that the present turn belongs to. count counts the beginnings and the ends of turns.
	current atomic.Pointer[call]
	count   atomic.Int64
	// spent is how long turns took that have ended, in nanoseconds.
	spent atomic.Int64
	// lane is what lets the present turn compute for long; nil if it has none.
	lane atomic.Pointer[lane]
	// computing says that the present turn has a processor in the crew of the host.
	computing bool
	// demand is that of turns that no caller asked for.
	demand demand
	// limit ends turns that belong to no call.
	limit time.Time
	// inside is how many turns are in progress, one inside the other; began is when the outermost did.
	inside int
	began  time.Time
	// watched belongs to the watcher of the host, under the lock of the host.
	watched watched
}

// run runs f, and the jobs that follow from it, in the name of a call, or of nobody.
func (ts *turns) run(c *call, f func()) {
	ts.limit = time.Time{}
	outer := ts.enter(c)
	if event.Profiling() && c != nil && c.extension != nil {
		// Samples of the processors show the engine; the labels say for whom it works.
		id, function := ts.m.descriptor.ID, strings.TrimSuffix(strings.Replace(c.label, ".", "#", 1), "()")
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(event.LabelPlugin, id, event.LabelFunction, id+"/"+function)))
		defer pprof.SetGoroutineLabels(context.Background())
	}
	err := ts.m.engine.Run(ts.mustStop, func() {
		f()
		ts.m.engine.RunJobs(ts.m.uncaught.exception)
	})
	ts.leave(outer)
	if err == nil {
		if ts.m.debug.target != nil {
			ts.m.debug.target.Turn()
		}
		ts.m.engine.Relieve()
	}
	if ts.m.java != nil {
		ts.m.java.flush()
	}
	ts.m.memory.Store(ts.m.engine.Memory())
	if err != nil {
		if errors.Is(err, engine.ErrBroken) {
			<-ts.m.died // Whoever broke the engine off says why.
		} else {
			ts.m.die(err)
		}
		if c := ts.m.calls.answering; c != nil {
			c.finish(false, ts.m.calls.ending(c))
		}
		return
	}
	if ts.m.exhausted {
		ts.m.exhausted = false
		ts.m.checkMemory()
	}
	if len(ts.m.uncaught.rejections) > 0 {
		ts.m.uncaught.report()
	}
}

// callOver reports whether the present turn must end, because the module stops or because of the call that it works for.
// known is false if it works for no call, or for one that has its answer: then the turn limit decides.
func (ts *turns) callOver() (over, known bool) {
	if ts.m.stopping.Load() {
		return true, true
	}
	if c := ts.current.Load(); c != nil {
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
func (ts *turns) grace() time.Duration {
	if c := ts.current.Load(); c != nil && errors.Is(c.ctx.Err(), context.Canceled) {
		return graceAfterLeaving
	}
	return graceAfterTimeout
}

// mustStop is asked while code of the plugin runs.
func (ts *turns) mustStop() bool {
	if ts.m.stopping.Load() || ts.m.debug.target != nil && ts.m.debug.target.Terminated() {
		return true
	}
	limit := ts.m.host.opts.TurnLimit
	switch over, known := ts.callOver(); {
	case over:
		limit = min(limit, ts.grace())
	case known:
		return false
	}
	now := time.Now()
	if ts.limit.IsZero() {
		ts.limit = now.Add(limit)
	}
	return now.After(ts.limit)
}

// enter notes that a turn begins in the name of a call, or of nobody, and returns the call of the turn that this one is
// inside of, as when Java calls back.
func (ts *turns) enter(c *call) (outer *call) {
	outer = ts.current.Swap(c)
	if ts.inside++; ts.inside == 1 {
		ts.began = time.Now()
		ts.count.Add(1)
		ts.m.host.attend()
	}
	return outer
}

// leave ends what enter began.
func (ts *turns) leave(outer *call) {
	if ts.inside--; ts.inside == 0 {
		ts.leaveLane()
		if ts.computing {
			ts.computing = false
			ts.m.host.crew.end()
		}
		ts.count.Add(1)
		ts.spent.Add(int64(time.Since(ts.began)))
	}
	ts.current.Store(outer)
}

// watched is what the host knows of the turn that it saw last in a module.
type watched struct {
	turn  int64
	since time.Time
	// late is how often it saw the turn after its time was over, and spent what the process had used of the processors
	// when it saw it so first.
	late  int
	spent time.Duration
}
