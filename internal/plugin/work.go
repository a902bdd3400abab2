// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"sync"
	"time"

	"example.org/app/internal/sleep"
)

// work is the background work of a manager, until it is closed.
type work struct {
	// ctx ends when the manager is closed, and with it every running load.
	ctx    context.Context
	cancel context.CancelFunc
	// entering prevents loads from beginning while the context ends.
	entering sync.Mutex
	loads    sync.WaitGroup
	// tellers counts background goroutines that call or restart extensions.
	tellers sync.WaitGroup
	// watcher counts the goroutines that check usage and run schedules, and the runs.
	watcher sync.WaitGroup
}

func newWork() *work {
	w := &work{}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// enter registers a load. It reports false if the manager is closed.
func (w *work) enter() bool {
	w.entering.Lock()
	defer w.entering.Unlock()
	if w.ctx.Err() != nil {
		return false
	}
	w.loads.Add(1)
	return true
}

// end ends the context.
func (w *work) end() {
	w.entering.Lock()
	defer w.entering.Unlock()
	w.cancel()
}

// sleep reports false if the manager was closed meanwhile.
func (w *work) sleep(d time.Duration) bool { return sleep.For(w.ctx, d) == nil }

// wait waits for groups, until the context ends.
func wait(ctx context.Context, groups ...*sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		for _, g := range groups {
			g.Wait()
		}
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
