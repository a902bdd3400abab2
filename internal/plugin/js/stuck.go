// SPDX-License-Identifier: Apache-2.0

package js

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/rusage"
)

// CPU is how long the engine ran. It runs on one processor at a time.
func (m *module) CPU() time.Duration { return time.Duration(m.turns.spent.Load()) }

// Allocated is not known: the engine counts only what it holds.
func (m *module) Allocated() int64 { return 0 }

// watchInterval is how often the host looks at turns that run, and watchIdle how often it looks in vain before it waits
// for the next turn.
const (
	watchInterval = 10 * time.Millisecond
	watchIdle     = 100
)

// attend makes the host watch turns, if it does not.
func (h *Host) attend() {
	if h.watching.Load() {
		return
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// watch sees to it that turns end when their time is over. Callers run the engine themselves where they can, so that
// nobody else could answer them.
func (h *Host) watch() {
	defer h.crew.disband()
	for {
		select {
		case <-h.ended:
			return
		case <-h.wake:
		}
		h.watching.Store(true)
		ticker := time.NewTicker(watchInterval)
		for idle := 0; idle < watchIdle || h.crew.isLarge() || h.resume(); idle++ {
			select {
			case <-h.ended:
				ticker.Stop()
				return
			case <-ticker.C:
			}
			h.lookForCrowd()
			h.crew.settle(time.Now())
			if h.look() {
				idle = 0
			}
		}
		ticker.Stop()
	}
}

// resume reports whether a turn began while the host was about to stop watching.
func (h *Host) resume() bool {
	h.watching.Store(false)
	if !h.look() {
		return false
	}
	h.watching.Store(true)
	return true
}

// look looks at every module once, and reports whether one had a turn since the last look.
func (h *Host) look() (busy bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for m := range h.modules {
		turn := m.turns.count.Load()
		if turn != m.turns.watched.turn {
			m.turns.watched = watched{turn: turn, since: time.Now()}
			busy = true
		} else if turn%2 == 1 {
			m.turns.passOn()
			m.turns.hasten()
			busy = true
		}
	}
	return busy
}

// overdue reports whether the turn that the host watches should have ended.
func (ts *turns) overdue() bool {
	if over, known := ts.callOver(); known {
		return over
	}
	return time.Since(ts.watched.since) > ts.m.host.opts.TurnLimit
}

// hasten ends the present turn when its time is over. Code of a plugin asks only now and then whether it must end, which
// can take long when memory is short: it is made to ask at once. Some functions of the engine never ask: if the turn
// goes on for the stuck limit, the engine is broken off, and the module is dead. The limit is counted in looks and in time
// of the processors, so that a process that gets none does not take its plugins for stuck; one that works on nothing is
// given up later. A debugger may hold a turn as long as it likes.
func (ts *turns) hasten() {
	if ts.m.debug.possible() || !ts.overdue() {
		return
	}
	ts.m.engine.Hurry()
	w, limit := &ts.watched, ts.m.host.opts.StuckLimit
	if w.late++; w.late == 1 {
		w.spent = rusage.Total()
	}
	looks := max(1, int(limit/watchInterval))
	if w.late >= 10*looks || w.late >= looks && rusage.Total()-w.spent >= limit {
		ts.abandon()
	}
}

// abandon gives up an engine that does not come back from a turn.
func (ts *turns) abandon() {
	what := "code that no call waits for"
	if c := ts.current.Load(); c != nil {
		what = c.label
	}
	if !ts.m.engine.Break(func() bool { return ts.count.Load() == ts.watched.turn }) {
		return
	}
	ts.m.die(fmt.Errorf("%s runs in a function of the engine that never looks at the time", what))
	ts.leaveLane()
	ts.m.stuckOnce.Do(func() { close(ts.m.stuck) })
}

// die notes why the module can run nothing any more. The first reason counts.
func (m *module) die(cause error) {
	m.diedOnce.Do(func() {
		m.log.Error("a plugin died", slog.Any("error", cause))
		m.dead.Store(&deadError{cause})
		close(m.died)
	})
}

// Died is closed when the module can run nothing any more.
func (m *module) Died() <-chan struct{} { return m.died }

// Err returns why the module died, nil if it did not.
func (m *module) Err() error {
	if d := m.dead.Load(); d != nil {
		return d
	}
	return nil
}

// errMemory is the death of a plugin that holds so much memory that its functions find none.
var errMemory = errors.New("the plugin has used up its memory")

// checkMemory ends a module whose memory was exhausted and is not free again: every call would fail from now on.
func (m *module) checkMemory() {
	limit := m.memoryLimit()
	m.engine.Collect()
	if held := m.engine.Memory(); held > limit/4*3 {
		m.die(fmt.Errorf("%w: it holds %d of %d bytes", errMemory, held, limit))
	}
}

var (
	_ plugin.Mortal   = (*module)(nil)
	_ plugin.Measured = (*module)(nil)
)
