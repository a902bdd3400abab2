// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/wire"
)

// Flush waits until all queued notifications have arrived.
func (n *Notifier) Flush() {
	n.handing.Wait()
	var wg sync.WaitGroup
	for i := range n.lanes {
		wg.Add(1)
		n.send(int64(i), task{ctx: context.Background(), job: func(l *lane) {
			l.settle()
			wg.Done()
		}})
	}
	wg.Wait()
}

// Queued returns the number of notifications that wait in the lane of a key.
func (n *Notifier) Queued(key int64) int { return len(n.laneOf(key).tasks) }

// WaitForSends removes the time limit for sending notifications before the response, so that tests
// hold on slow machines.
func WaitForSends(t testing.TB) {
	before := pendingSendsTimeout
	pendingSendsTimeout = time.Minute
	t.Cleanup(func() { pendingSendsTimeout = before })
}

// Table returns the handlers by kind.
func (d *Dispatcher) Table() map[wire.Kind]handler { return d.handlers }
