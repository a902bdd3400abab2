// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"sync"
	"sync/atomic"
)

// tasks are what debuggers want to be done on the engine, by whoever owns it.
type tasks struct {
	poke    chan struct{} // tells who is paused that there are tasks
	wake    chan struct{} // tells the runner that there are tasks
	pending atomic.Bool
	closed  bool // belongs to whoever owns the engine

	mu   sync.Mutex
	list []func()
}

// add lets f run on the engine as soon as it can: at the next probe of code that runs, while paused, or when the engine is
// free.
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

// drain runs the tasks, by whoever owns the engine.
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
