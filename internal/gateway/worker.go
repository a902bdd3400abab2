// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"sync"
	"sync/atomic"
)

// maxIdleWorkers bounds the number of idle goroutines.
const maxIdleWorkers = 512

// workers is a pool of goroutines for short jobs. A new goroutine has a small stack, which each
// request would have to grow again; a pooled one has grown it already.
type workers struct {
	group *sync.WaitGroup
	jobs  chan func()
	stop  <-chan struct{}
	idle  atomic.Int32
}

// do runs a function in an idle worker, or a new one if all are busy.
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
