// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"example.org/app/internal/plugin/js/engine"
)

// A Clock is the simulated time of a host's plugins, for tests: it stands still until it is
// advanced, and their timers run meanwhile. Time limits of calls and of requests use the real time.
type Clock struct {
	mu      sync.Mutex
	now     time.Time
	modules []*module
}

// NewClock returns a clock with the given time.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *Clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

func (c *Clock) add(m *module) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.modules = append(c.modules, m)
}

func (c *Clock) remove(m *module) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.modules = slices.DeleteFunc(c.modules, func(other *module) bool { return other == m })
}

// all returns the modules that use the clock.
func (c *Clock) all() []*module {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.modules)
}

// settlePause is the polling interval of Advance.
const settlePause = time.Millisecond

// Advance advances the clock. Due timers run in order, each at its own time, and the operations
// that one begins end before the next runs, except as many as held returns: those end when the
// caller allows it.
func (c *Clock) Advance(ctx context.Context, d time.Duration, held func() int) error {
	target := c.Now().Add(d)
	for {
		if err := c.settle(ctx, held); err != nil {
			return err
		}
		next, when := c.next(target)
		if next == nil {
			break
		}
		c.set(when)
		next.timers.fireNow()
	}
	c.set(target)
	return nil
}

// Waits waits until plugins wait only for what is held, and reports whether calls of them are still
// running: those wait for timers, or for the caller.
func (c *Clock) Waits(ctx context.Context, held func() int) (bool, error) {
	if err := c.settle(ctx, held); err != nil {
		return false, err
	}
	calls := 0
	for _, m := range c.all() {
		m.owner.Lock()
		calls += len(m.calls.awaiting)
		m.owner.Unlock()
	}
	return calls > 0, nil
}

// next returns the module with the first due timer, and its time; nil if there is none up to a
// time.
func (c *Clock) next(until time.Time) (first *module, when time.Time) {
	for _, m := range c.all() {
		m.owner.Lock()
		if !m.shut && len(m.timers.list) > 0 {
			if t := m.timers.list[0].when; !t.After(until) && (first == nil || t.Before(when)) {
				first, when = m, t
			}
		}
		m.owner.Unlock()
	}
	if now := c.Now(); when.Before(now) {
		when = now
	}
	return first, when
}

// settle waits until plugins wait only for what is held.
func (c *Clock) settle(ctx context.Context, held func() int) error {
	for {
		waiting := -held()
		for _, m := range c.all() {
			m.owner.Lock()
			if !m.shut {
				waiting += len(m.operations.pending)
			}
			m.owner.Unlock()
		}
		if waiting <= 0 {
			return nil
		}
		select {
		case <-time.After(settlePause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// now returns the plugin's time.
func (ts *timers) now() time.Time {
	if c := ts.m.host.opts.Clock; c != nil {
		return c.Now()
	}
	return time.Now()
}

// fireNow runs due timers on the goroutine that advances the clock.
func (ts *timers) fireNow() {
	ts.m.own(func() {
		if !ts.m.shut {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			ts.fire()
		}
	})
}

// nowFunction returns the time for Date, in milliseconds.
func (ts *timers) nowFunction(engine.Value, []engine.Value) (engine.Value, error) {
	return engine.Number(float64(ts.now().UnixMilli())), nil
}
