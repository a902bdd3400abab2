// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"sync"
	"sync/atomic"
)

// maxIdleWorkers bounds how many goroutines wait for something to do.
const maxIdleWorkers = 512

// workers are goroutines that do short work one after the other. A new goroutine has a small stack, which has to grow
// for each request anew; one that has worked before has the stack already.
type workers struct {
	group *sync.WaitGroup
	jobs  chan func()
	stop  <-chan struct{}
	idle  atomic.Int32
}

// do has a worker run a function, a new one if all are busy.
func (w *workers) do(fn func()) {
	select {
	case w.jobs <- fn:
	default:
		w.group.Go(func() { w.run(fn) })
	}
}

func (w *workers) run(fn func()) {
	for {
		fn()
		if w.idle.Add(1) > maxIdleWorkers {
			w.idle.Add(-1)
			return
		}
		select {
		case fn = <-w.jobs:
			w.idle.Add(-1)
		case <-w.stop:
			return
		}
	}
}
