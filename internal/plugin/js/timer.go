// SPDX-License-Identifier: Apache-2.0

package js

import (
	"container/heap"
	"time"

	"example.org/app/internal/plugin/js/engine"
	"example.org/app/internal/plugin/js/inspector"
)

// maxTimers is the maximum number of timers of one plugin.
const maxTimers = 10000

// minInterval is the minimum interval of setInterval, so that a plugin leaves time for its calls.
const minInterval = time.Millisecond

// A timer is a function that runs later.
type timer struct {
	id    int
	owner *call
	fn    engine.Value
	when  time.Time
	every time.Duration
	index int
	// origin is where it was set, for debuggers.
	origin *inspector.Origin
}

// timers are the timers of a module, by time.
type timers struct {
	m     *module
	list  []*timer
	byID  map[int]*timer
	next  int
	clock *time.Timer
	// armed is true if the clock is set for the first timer.
	armed bool
}

func (t *timers) Len() int { return len(t.list) }

func (t *timers) Less(i, j int) bool {
	a, b := t.list[i], t.list[j]
	return a.when.Before(b.when) || a.when.Equal(b.when) && a.id < b.id
}

func (t *timers) Swap(i, j int) {
	t.list[i], t.list[j] = t.list[j], t.list[i]
	t.list[i].index, t.list[j].index = i, j
}

func (t *timers) Push(x any) {
	x.(*timer).index = len(t.list)
	t.list = append(t.list, x.(*timer))
}

func (t *timers) Pop() any {
	last := t.list[len(t.list)-1]
	t.list[len(t.list)-1] = nil
	t.list = t.list[:len(t.list)-1]
	return last
}

// due returns the channel that signals that a timer may be due; nil if there is none, or if the
// clock is simulated.
func (t *timers) due() <-chan time.Time {
	if t.m.host.opts.Clock != nil || len(t.list) == 0 {
		return nil
	}
	if !t.armed {
		wait := time.Until(t.list[0].when)
		if t.clock == nil {
			t.clock = time.NewTimer(wait)
		} else {
			t.clock.Reset(wait)
		}
		t.armed = true
	}
	return t.clock.C
}

func (t *timers) stop() {
	if t.clock != nil {
		t.clock.Stop()
	}
}

func (t *timers) free(e *engine.Values) {
	for _, x := range t.list {
		e.Free(x.fn)
	}
	t.list, t.byID = nil, nil
}

// set implements setTimeout and setInterval.
func (ts *timers) set(_ engine.Value, args []engine.Value) (engine.Value, error) {
	if len(ts.list) >= maxTimers {
		return engine.Undefined, errTooMany
	}
	ms, _ := engine.AsNumber(args[1])
	repeat, _ := engine.AsBool(args[2])
	wait := time.Duration(min(ms, 1<<31) * float64(time.Millisecond))
	ts.next++
	t := &timer{id: ts.next, owner: ts.m.turns.current.Load(), fn: ts.m.engine.Dup(args[0]), when: ts.now().Add(wait)}
	if repeat {
		t.every = max(wait, minInterval)
	}
	if ts.m.debug.target != nil {
		t.origin = ts.m.debug.target.Timer()
	}
	ts.byID[t.id] = t
	heap.Push(&ts.m.timers, t)
	ts.armed = ts.armed && t.index != 0
	return engine.Number(float64(t.id)), nil
}

func (ts *timers) clear(_ engine.Value, args []engine.Value) (engine.Value, error) {
	id, _ := engine.AsNumber(args[0])
	if t := ts.byID[int(id)]; t != nil {
		delete(ts.byID, t.id)
		if t.index >= 0 {
			heap.Remove(&ts.m.timers, t.index)
		}
		ts.m.engine.Free(t.fn)
		t.fn, t.every = engine.Undefined, 0
	}
	return engine.Undefined, nil
}

// fire runs due timers. Timers set meanwhile run the next time, so that calls get their turn.
func (ts *timers) fire() {
	ts.armed = false
	now := ts.now()
	var due []*timer
	for len(ts.list) > 0 && !ts.list[0].when.After(now) {
		t := heap.Pop(&ts.m.timers).(*timer)
		t.index = -1
		due = append(due, t)
	}
	for _, t := range due {
		if ts.byID[t.id] != t || ts.m.dead.Load() != nil {
			continue
		}
		owner := t.owner
		if owner != nil && owner.over() {
			owner, t.owner = nil, nil
		}
		ts.m.turns.run(owner, func() {
			if ts.m.debug.target != nil {
				ts.m.debug.target.From(t.origin)
			}
			fn := ts.m.engine.Dup(t.fn)
			if t.every == 0 {
				delete(ts.byID, t.id)
				ts.m.engine.Free(t.fn)
				t.fn = engine.Undefined
			}
			r := ts.m.engine.Call(fn, engine.Undefined)
			if engine.IsFailed(r) {
				ts.m.uncaught.exception(ts.m.engine.Exception())
			}
			ts.m.engine.Free(r)
			ts.m.engine.Free(fn)
		})
		if t.every > 0 && ts.byID[t.id] == t {
			t.when = ts.now().Add(t.every)
			heap.Push(&ts.m.timers, t)
		}
	}
}
