// SPDX-License-Identifier: Apache-2.0

package service

import (
	"sync"
	"sync/atomic"
	"time"
)

// pendingSendsTimeout is how long the response to a request waits until its notifications are sent.
// Sending does not wait for a gateway unless all slots for deliveries to it are taken, so it takes
// long only on a loaded machine.
var pendingSendsTimeout = outletPatience

// pendingSends waits until the notifications of a request are sent to the gateways. The response is
// sent after them, on the same connection: if the service is killed then, recipients have been
// notified of what the requester believes done. It does not wait for gateways that do not answer. A
// nil pendingSends does not wait.
type pendingSends struct {
	left atomic.Int32
	done chan struct{}
}

// newPendingSends returns pendingSends with one pending entry, that of the request itself, which
// wait completes.
func newPendingSends() *pendingSends {
	d := &pendingSends{done: make(chan struct{})}
	d.left.Store(1)
	return d
}

// add adds an entry and returns the function that completes it, which may be called more than once.
func (d *pendingSends) add() (markSent func()) {
	if d == nil {
		return func() {}
	}
	d.left.Add(1)
	return sync.OnceFunc(d.end)
}

func (d *pendingSends) end() {
	if d.left.Add(-1) == 0 {
		close(d.done)
	}
}

// wait waits until all entries are complete, up to pendingSendsTimeout.
func (d *pendingSends) wait() {
	if d == nil {
		return
	}
	if d.end(); d.left.Load() == 0 {
		return
	}
	timer := time.NewTimer(pendingSendsTimeout)
	defer timer.Stop()
	select {
	case <-d.done:
	case <-timer.C:
	}
}
