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

// CPU returns how long the engine ran. It runs on one processor at a time.
func (m *module) CPU() time.Duration { return time.Duration(m.turns.spent.Load()) }

// Allocated returns 0: the engine counts only what it holds.
func (m *module) Allocated() int64 { return 0 }

// watchInterval is how often the host checks running turns, and watchIdle after how many idle
// checks it waits for the next turn.
const (
	watchInterval = 10 * time.Millisecond
	watchIdle     = 100
)

// attend makes the host watch turns.
func (h *Host) attend() {
	if h.watching.Load() {
		return
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// watch ends turns whose time is over. Callers run the engine themselves where possible, so they
// cannot do it.
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

// look checks every module once, and reports whether one had a turn since the last check.
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

// overdue reports whether the watched turn should have ended.
func (ts *turns) overdue() bool {
	if over, known := ts.callOver(); known {
		return over
	}
	return time.Since(ts.watched.since) > ts.m.host.opts.TurnLimit
}

// hasten ends the current turn when its time is over. Code of a plugin checks only periodically
// whether it must end, which can take long when memory is short: it is made to check at once. Some
// functions of the engine never check: if the turn continues for the stuck limit without a check,
// the engine is aborted, and the module is dead. The limit is counted in checks and in processor
// time, so that a starved process does not take its plugins for stuck; one blocked without
// computing is abandoned later. A debugger may pause a turn indefinitely.
func (ts *turns) hasten() {
	if ts.m.debug.possible() || !ts.overdue() {
		return
	}
	ts.m.engine.PollNow()
	w, limit := &ts.watched, ts.m.host.opts.StuckLimit
	if polled := ts.polled.Load(); polled != w.polled {
		w.late, w.polled = 0, polled
	}
	if w.late++; w.late == 1 {
		w.spent = rusage.Total()
	}
	looks := max(1, int(limit/watchInterval))
	if w.late >= 10*looks || w.late >= looks && rusage.Total()-w.spent >= limit {
		ts.abandon()
	}
}

// abandon abandons an engine that does not return from a turn.
func (ts *turns) abandon() {
	what := "code that no call waits for"
	if c := ts.current.Load(); c != nil {
		what = c.label
	}
	if !ts.m.engine.Abort(func() bool { return ts.count.Load() == ts.watched.turn }) {
		return
	}
	ts.m.die(fmt.Errorf("%s runs in a function of the engine that never looks at the time", what))
	ts.leaveLane()
	ts.m.stuckOnce.Do(func() { close(ts.m.stuck) })
}

// die records why the module can no longer run. The first reason counts.
func (m *module) die(cause error) {
	m.diedOnce.Do(func() {
		m.log.Error("a plugin died", slog.Any("error", cause))
		m.dead.Store(&deadError{cause})
		close(m.died)
	})
}

// Died is closed when the module can no longer run.
func (m *module) Died() <-chan struct{} { return m.died }

// Err returns why the module died, nil if it did not.
func (m *module) Err() error {
	if d := m.dead.Load(); d != nil {
		return d
	}
	return nil
}

// errMemory means that the plugin's memory is exhausted.
var errMemory = errors.New("the plugin has used up its memory")

// checkMemory ends a module whose memory was exhausted and is still not free: every further call
// would fail.
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
