// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A breaker stops calls to one incarnation of a node that does not answer. It opens when the node
// does not answer a probe and closes when it answers one. A call that misses its deadline does not
// open it: a node that answers probes is overloaded, and resent calls would add to its work.
type breaker struct {
	id, incarnation string

	mu      sync.Mutex
	open    bool
	probing bool
	trace   trace
	// ended is true once the process of the node has certainly ended.
	ended bool
	// calls are the calls under way; the value is whether they are repeatable. Repeatable calls are
	// cancelled when the breaker is open and another node can be called, the others only when the
	// process of the node has ended, because until then it may carry them out.
	calls map[*context.CancelCauseFunc]bool
	// at is the destination of the next request.
	at *place
}

// A place identifies a node and the connection at each end. Requests arrive in order only if they
// go to the same place.
type place struct {
	name string
	// own and theirs count the connections of both processes, as far as this process knows.
	own, theirs uint64
}

// place returns the destination of a request over a connection of this process.
func (b *breaker) place(own uint64) *place {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at == nil || b.at.own != own {
		theirs := uint64(0)
		if b.at != nil {
			theirs = b.at.theirs
		}
		b.move(own, theirs)
	}
	return b.at
}

// move requires the lock.
func (b *breaker) move(own, theirs uint64) {
	b.at = &place{name: fmt.Sprintf("%s/%s %d %d", b.id, b.incarnation, own, theirs), own: own, theirs: theirs}
}

// learn records a new connection of the node and resends the repeatable calls that were made before
// it.
func (b *breaker) learn(connection uint64) {
	b.mu.Lock()
	known := b.at
	if known == nil {
		b.move(0, connection)
	} else if connection > known.theirs {
		b.move(known.own, connection)
	}
	b.mu.Unlock()
	if known == nil || connection > known.theirs {
		b.cancelRepeatable(errCut)
	}
}

func (b *breaker) isOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open
}

// track registers a call, to be cancelled when the node stops answering, until untrack is called.
func (b *breaker) track(cancel context.CancelCauseFunc, repeatable bool) (untrack func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := &cancel
	if b.calls == nil {
		b.calls = map[*context.CancelCauseFunc]bool{}
	}
	b.calls[key] = repeatable
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.calls, key)
	}
}

// set opens or closes the breaker and reports whether its state changed.
func (b *breaker) set(open bool) (changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed = b.open != open
	b.open = open
	return changed
}

// cancel cancels the repeatable calls, or all of them, and returns how many.
func (b *breaker) cancel(all bool) int { return b.end(all, ErrLost) }

// cancelRepeatable cancels the repeatable calls.
func (b *breaker) cancelRepeatable(cause error) { b.end(false, cause) }

func (b *breaker) end(all bool, cause error) int {
	var lost []context.CancelCauseFunc
	b.mu.Lock()
	for cancel, repeatable := range b.calls {
		if all || repeatable {
			lost = append(lost, *cancel)
			delete(b.calls, cancel)
		}
	}
	b.mu.Unlock()
	for _, cancel := range lost {
		cancel(cause)
	}
	return len(lost)
}

// observe records the result of a probe and reports whether the process of the node has certainly
// ended.
func (b *breaker) observe(seen probeResult, sent time.Time) (ended bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = b.ended || b.trace.note(seen, sent, time.Now())
	return b.ended
}

func (b *breaker) hasEnded() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended
}

// busy reports whether calls are under way.
func (b *breaker) busy() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.calls) > 0
}

// beginProbe reports whether a probe may begin; only one runs at a time.
func (b *breaker) beginProbe() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.probing {
		return false
	}
	b.probing = true
	return true
}

func (b *breaker) endProbe() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probing = false
}
