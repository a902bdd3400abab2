// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"runtime"
	"time"

	"example.org/app/internal/plugin/js/engine"
)

// yieldInterval is after how long the goroutine of a module yields.
const yieldInterval = 200 * time.Microsecond

// loop serves calls, timers and completed operations until the module closes or dies.
func (m *module) loop() {
	yielded := time.Now()
	for m.dead.Load() == nil {
		// A thousand operations that end at once pass the processor back and forth, which the
		// scheduler takes for one goroutine.
		if now := time.Now(); m.host.crowded.Load() && now.Sub(yielded) > yieldInterval {
			runtime.Gosched()
			yielded = now
		}
		m.owner.Lock()
		due := m.timers.due()
		m.owner.Unlock()
		select {
		case c := <-m.calls.queue:
			m.own(func() { m.calls.begin(c) })
		case op := <-m.operations.posts:
			m.own(func() { m.turns.unasked(func() { m.operations.settle(op) }) })
		case <-m.operations.unbegun.more:
			m.own(func() { m.turns.unasked(m.operations.settleUnbegun) })
		case <-due:
			m.own(func() { m.turns.unasked(m.timers.fire) })
		case <-m.javaCalls:
			m.own(m.serveJava)
		case <-m.wake:
		case <-m.died:
		case <-m.closing:
			return
		}
	}
}

// own runs f with exclusive use of the engine.
func (m *module) own(f func()) {
	m.owner.Lock()
	defer m.owner.Unlock()
	if m.dead.Load() == nil {
		f()
	}
}

// awaken signals the loop that a timer was set elsewhere.
func (m *module) awaken() {
	if !m.timers.armed && len(m.timers.list) > 0 {
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}
}

// await serves timers and completed operations until a promise is settled, while the plugin is
// loaded.
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
		case op := <-m.operations.posts:
			m.operations.settle(op)
		case <-m.operations.unbegun.more:
			m.operations.settleUnbegun()
		case <-m.timers.due():
			m.timers.fire()
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
