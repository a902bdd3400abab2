// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"sync"
	"sync/atomic"
)

// tasks are functions of debuggers for the owner of the engine to run.
type tasks struct {
	poke    chan struct{} // signals tasks to a paused plugin
	wake    chan struct{} // signals tasks to the runner
	pending atomic.Bool
	closed  bool // used by the owner of the engine only

	mu   sync.Mutex
	list []func()
}

// add schedules f to run on the engine as soon as possible: at the next probe of running code,
// while paused, or when the engine is free.
func (q *tasks) add(f func()) {
	q.mu.Lock()
	q.list = append(q.list, f)
	q.pending.Store(true)
	q.mu.Unlock()
	for _, c := range []chan struct{}{q.poke, q.wake} {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// drain runs the tasks; the caller owns the engine.
func (q *tasks) drain() {
	for {
		q.mu.Lock()
		if len(q.list) == 0 || q.closed {
			q.pending.Store(false)
			q.mu.Unlock()
			return
		}
		f := q.list[0]
		q.list = q.list[1:]
		q.mu.Unlock()
		f()
	}
}
