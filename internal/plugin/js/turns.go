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

// turns are the turns of an engine: code of the plugin that runs without interruption, for a call
// or for none. One can be inside another, for instance when Java calls back. What has no lock of
// its own is used only by the owner of the engine.
type turns struct {
	m *module
	// current is the call of the current turn. count counts the beginnings and the ends of turns.
	current atomic.Pointer[call]
	count   atomic.Int64
	// spent is the duration of ended turns in nanoseconds.
	spent atomic.Int64
	// lane allows the current turn to compute for longer; nil if it has none.
	lane atomic.Pointer[lane]
	// computing is true if the current turn has a processor of the host's crew.
	computing bool
	// demand is the demand of turns without a caller.
	demand demand
	// limit ends turns without a call, or whose call ended. late counts the polls since it did.
	limit     time.Time
	late      int
	lateSince time.Time
	// polled counts the polls of turns whose time is over.
	polled atomic.Int64
	// inside is the number of nested turns; began is when the outermost did.
	inside int
	began  time.Time
	// watched is used by the watcher of the host, under the lock of the host.
	watched watched
}

// run runs f, and the resulting jobs, for a call, or for none.
func (ts *turns) run(c *call, f func()) {
	ts.limit, ts.late = time.Time{}, 0
	outer := ts.enter(c)
	if event.Profiling() && c != nil && c.extension != nil {
		// CPU profiles show the engine; the labels show for whom it works.
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
		ts.m.engine.CollectIfLow()
	}
	if ts.m.java != nil {
		ts.m.java.flush()
	}
	ts.m.memory.Store(ts.m.engine.Memory())
	if err != nil {
		if errors.Is(err, engine.ErrAborted) {
			<-ts.m.died // The goroutine that aborted the engine sets the reason.
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

// callOver reports whether the current turn must end, because the module stops or because of its
// call. known is false without a call, or if the call has its result: then the turn limit applies.
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

// How long a turn may continue after its call ended, because interrupted code skips its finally
// blocks and later turns no longer belong to the call. Callers may have to wait for it after a
// time-out. Nobody does after its caller left, and it may poll this often even if that takes longer
// because the process is starved: as often as code that computes does in this time.
const (
	graceAfterTimeout = 10 * time.Millisecond
	graceAfterLeaving = 100 * time.Millisecond
	pollsAfterLeaving = 500
)

// mustStop is called periodically while code of the plugin runs.
func (ts *turns) mustStop() bool {
	if ts.m.stopping.Load() || ts.m.debug.target != nil && ts.m.debug.target.Terminated() {
		return true
	}
	over, known := ts.callOver()
	if known && !over {
		return false
	}
	now := time.Now()
	if ts.limit.IsZero() {
		ts.limit = now.Add(ts.m.host.opts.TurnLimit)
	}
	ts.polled.Add(1)
	if !over {
		return now.After(ts.limit)
	}
	if ts.late++; ts.late == 1 {
		ts.lateSince = now
	}
	return now.After(ts.limit) || ts.tooLate(now.Sub(ts.lateSince))
}

// tooLate reports whether the current turn continued for too long after its call ended.
func (ts *turns) tooLate(after time.Duration) bool {
	if c := ts.current.Load(); c != nil && errors.Is(c.ctx.Err(), context.Canceled) {
		return after > graceAfterLeaving && ts.late > pollsAfterLeaving
	}
	return after > graceAfterTimeout
}

// enter begins a turn for a call, or for none, and returns the call of the enclosing turn, for
// instance when Java calls back.
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

// watched is the host's record of the last turn seen in a module.
type watched struct {
	turn  int64
	since time.Time
	// late is how often it saw the turn without a poll since its time was over, polled the turn's
	// polls and spent the process's processor time when it first did.
	late   int
	polled int64
	spent  time.Duration
}
