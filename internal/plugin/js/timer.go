// SPDX-License-Identifier: Apache-2.0

package js

import (
	"container/heap"
	"time"

	"example.org/app/internal/plugin/js/engine"
	"example.org/app/internal/plugin/js/inspector"
)

// maxTimers is how many timers one plugin may have.
const maxTimers = 10000

// minInterval is the shortest time between two runs of an interval, so that a plugin leaves time for its calls.
const minInterval = time.Millisecond

// A timer is a function that runs later.
type timer struct {
	id    int
	owner *call
	fn    engine.Value
	when  time.Time
	every time.Duration
	index int
	// origin is where it was set, if a debugger wants to know.
	origin *inspector.Origin
}

// timers are the timers of a module, by time.
type timers struct {
	list  []*timer
	byID  map[int]*timer
	next  int
	clock *time.Timer
	// armed tells that the clock is set for the first timer.
	armed bool
}

func (t *timers) init() { t.byID = map[int]*timer{} }

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

// due returns the channel that tells that a timer may be due; it is nil if there is none.
func (t *timers) due() <-chan time.Time {
	if len(t.list) == 0 {
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

// setTimer is setTimeout and setInterval.
func (m *module) setTimer(_ engine.Value, args []engine.Value) (engine.Value, error) {
	if len(m.timers.list) >= maxTimers {
		return engine.Undefined, errTooMany
	}
	ms, _ := engine.AsNumber(args[1])
	repeat, _ := engine.AsBool(args[2])
	wait := time.Duration(min(ms, 1<<31) * float64(time.Millisecond))
	m.timers.next++
	t := &timer{id: m.timers.next, owner: m.current.Load(), fn: m.engine.Dup(args[0]), when: m.now().Add(wait)}
	if repeat {
		t.every = max(wait, minInterval)
	}
	if m.debug.target != nil {
		t.origin = m.debug.target.Timer()
	}
	m.timers.byID[t.id] = t
	heap.Push(&m.timers, t)
	m.timers.armed = m.timers.armed && t.index != 0
	return engine.Number(float64(t.id)), nil
}

func (m *module) clearTimer(_ engine.Value, args []engine.Value) (engine.Value, error) {
	id, _ := engine.AsNumber(args[0])
	if t := m.timers.byID[int(id)]; t != nil {
		delete(m.timers.byID, t.id)
		if t.index >= 0 {
			heap.Remove(&m.timers, t.index)
		}
		m.engine.Free(t.fn)
		t.fn, t.every = engine.Undefined, 0
	}
	return engine.Undefined, nil
}

// fire runs the timers that are due. A timer that one of them sets runs the next time, so that calls get their turn.
func (m *module) fire() {
	m.timers.armed = false
	now := m.now()
	var due []*timer
	for len(m.timers.list) > 0 && !m.timers.list[0].when.After(now) {
		t := heap.Pop(&m.timers).(*timer)
		t.index = -1
		due = append(due, t)
	}
	for _, t := range due {
		if m.timers.byID[t.id] != t || m.dead.Load() != nil {
			continue
		}
		owner := t.owner
		if owner != nil && owner.over() {
			owner, t.owner = nil, nil
		}
		m.turn(owner, func() {
			if m.debug.target != nil {
				m.debug.target.From(t.origin)
			}
			fn := m.engine.Dup(t.fn)
			if t.every == 0 {
				delete(m.timers.byID, t.id)
				m.engine.Free(t.fn)
				t.fn = engine.Undefined
			}
			r := m.engine.Call(fn, engine.Undefined)
			if engine.IsFailed(r) {
				m.uncaught(m.engine.Exception())
			}
			m.engine.Free(r)
			m.engine.Free(fn)
		})
		if t.every > 0 && m.timers.byID[t.id] == t {
			t.when = m.now().Add(t.every)
			heap.Push(&m.timers, t)
		}
	}
}
