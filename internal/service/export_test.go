// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/wire"
)

// Flush waits until everything that was handed over has arrived.
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

// WaitForDepartures has requests answered not before their notifications are on their way, however slow the machine is.
func WaitForDepartures(t testing.TB) {
	before := departureTimeout
	departureTimeout = time.Minute
	t.Cleanup(func() { departureTimeout = before })
}

// Table has the kinds that are handled.
func (d *Dispatcher) Table() map[wire.Kind]handler { return d.handlers }
