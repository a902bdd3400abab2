// SPDX-License-Identifier: Apache-2.0

package service

import (
	"sync"
	"sync/atomic"
	"time"
)

// departureTimeout is how long the answer to a request waits for its notifications to be on their way.
var departureTimeout = 250 * time.Millisecond

// departures tell when the notifications of a request are on their way to the gateways. The answer leaves after them, on the same
// connection: a service that is killed then has told recipients of what the requester takes for done. What waits for a gateway that
// does not answer is not waited for. A nil departures waits for nothing.
type departures struct {
	left atomic.Int32
	done chan struct{}
}

// newDepartures returns departures of which one, that of the request itself, is to come: wait ends it.
func newDepartures() *departures {
	d := &departures{done: make(chan struct{})}
	d.left.Store(1)
	return d
}

// add announces a departure and returns what must be called when it has taken place, which may be more than once.
func (d *departures) add() (departed func()) {
	if d == nil {
		return func() {}
	}
	d.left.Add(1)
	return sync.OnceFunc(d.end)
}

func (d *departures) end() {
	if d.left.Add(-1) == 0 {
		close(d.done)
	}
}

// wait waits until everything has departed that was announced, but not for long.
func (d *departures) wait() {
	if d == nil {
		return
	}
	if d.end(); d.left.Load() == 0 {
		return
	}
	timer := time.NewTimer(departureTimeout)
	defer timer.Stop()
	select {
	case <-d.done:
	case <-timer.C:
	}
}
