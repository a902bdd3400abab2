// SPDX-License-Identifier: Apache-2.0

package js

import (
	"runtime"
	"runtime/metrics"
	"time"
)

const (
	// longTurn is after how long a computing turn needs a lane, and laneTime how long it keeps one
	// that others wait for.
	longTurn = 2 * time.Millisecond
	laneTime = 10 * time.Millisecond
)

// A lane allows a module's engine to compute for longer. A host has fewer lanes than there are
// processors, so that the server keeps one: an idle processor notices network input at once.
type lane struct {
	*turn
	since time.Time
}

// pace is called periodically while code of the plugin computes. A long turn waits for a lane, and
// for the next one if others have waited for its own; over ends the wait. If goroutines wait for
// processors, they go first.
func (ts *turns) pace(over func() bool) {
	if ts.m.host.crowded.Load() {
		runtime.Gosched()
	}
	if ts.m.debug.target != nil {
		return // A debugger may pause the turn.
	}
	held := ts.lane.Load()
	switch now := time.Now(); {
	case held == nil && now.Sub(ts.began) < longTurn:
	case held == nil:
		ts.enterLane(over)
	case now.Sub(held.since) > laneTime && ts.m.host.lanes.isAwaited():
		ts.leaveLane()
		ts.enterLane(over)
	}
}

// enterLane waits for a lane until over reports that the turn must end. The time does not count as
// used.
func (ts *turns) enterLane(over func() bool) {
	t := ts.m.host.lanes.join()
	begin := time.Now()
	if !t.hasCome() {
		ticker := time.NewTicker(watchInterval)
		defer ticker.Stop()
		for come := false; !come; {
			select {
			case <-t.come:
				come = true
			case <-ticker.C:
				if over() {
					t.leave()
					return
				}
			}
		}
	}
	now := time.Now()
	ts.began = ts.began.Add(now.Sub(begin))
	ts.lane.Store(&lane{t, now})
	if !ts.computing {
		ts.computing = true
		ts.m.host.crew.begin()
	}
}

// unasked runs turns without a caller. If they keep the engine busy, it gets an additional
// processor of the Go scheduler, like one long turn.
func (ts *turns) unasked(f func()) {
	begin := time.Now()
	if !ts.computing && ts.demand.isHigh(begin) {
		ts.computing = true // Until the turn ends.
		ts.m.host.crew.begin()
	}
	f()
	now := time.Now()
	ts.demand.add(now, now.Sub(begin))
}

// leaveLane releases the lane of the module, if it has one. It may be called from any goroutine.
func (ts *turns) leaveLane() {
	if held := ts.lane.Swap(nil); held != nil {
		held.leave()
	}
}

// passOn passes a lane to others that wait for it although the engine that has it does not respond,
// because it is in a long function of its own.
func (ts *turns) passOn() {
	if held := ts.lane.Load(); held != nil && time.Since(held.since) > 2*laneTime && ts.m.host.lanes.isAwaited() {
		ts.leaveLane()
	}
}

// lookForCrowd checks whether goroutines wait for processors. Only then do engines yield: otherwise
// they would move one goroutine between processors and keep both busy.
func (h *Host) lookForCrowd() {
	processors := runtime.GOMAXPROCS(0)
	metrics.Read(h.runnable[:])
	h.crowded.Store(processors == 1 || h.runnable[0].Value.Uint64() > uint64(processors))
}
