// SPDX-License-Identifier: Apache-2.0

package message

import (
	"context"
	"sync"
)

// Turns keep the messages of each conversation in the order of arrival while several are being
// processed: each takes a turn when it arrives, is stored after earlier ones, and is delivered
// after them.
type Turns struct {
	mu   sync.Mutex
	last map[uint64]*Turn
}

// A Turn is the position of a message in its conversation. Only the goroutine that sends the
// message may use it. A nil Turn waits for nothing.
type Turn struct {
	turns  *Turns
	key    uint64
	before *Turn
	// entered is closed when the next message may be stored, left when the next may be delivered.
	entered, left chan struct{}

	// The mutex of the turns guards these fields. successor is the next turn if it ended before
	// this one: it passes and ends with this one.
	passed, over bool
	successor    *Turn
}

// Take takes the next turn of a conversation. The caller must call End.
func (s *Turns) Take(conversation uint64) *Turn {
	t := &Turn{turns: s, key: conversation, entered: make(chan struct{}), left: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.before = s.last[conversation]
	if s.last == nil {
		s.last = map[uint64]*Turn{}
	}
	s.last[conversation] = t
	return t
}

// enter waits until the message may be stored, or ctx ends.
func (t *Turn) enter(ctx context.Context) error {
	if t == nil || t.before == nil {
		return nil
	}
	select {
	case <-t.before.entered:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pass allows the next message to be stored.
func (t *Turn) pass() {
	if t == nil {
		return
	}
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	t.open()
}

// open allows the next message to be stored, skipping those that have ended. The turns are locked.
func (t *Turn) open() {
	for ; t != nil; t = t.successor {
		if !t.passed {
			t.passed = true
			close(t.entered)
		}
	}
}

// leave waits until earlier messages were delivered.
func (t *Turn) leave() {
	if t != nil && t.before != nil {
		<-t.before.left
	}
}

// Await waits until earlier messages were delivered, or ctx ends.
func (t *Turn) Await(ctx context.Context) error {
	if err := t.enter(ctx); err != nil || t == nil || t.before == nil {
		return err
	}
	select {
	case <-t.before.left:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// End ends the turn: later messages wait only for the turns before it.
func (t *Turn) End() {
	if t == nil {
		return
	}
	s := t.turns
	s.mu.Lock()
	defer s.mu.Unlock()
	before := t.before
	t.before = nil
	if before == nil || before.over {
		t.close()
		return
	}
	// The sender gave up before its turn.
	if s.last[t.key] == t {
		s.last[t.key] = before
		return
	}
	before.successor = t
	if before.passed {
		t.open()
	}
}

// close allows the next message to be delivered, skipping those that have ended. The turns are
// locked.
func (t *Turn) close() {
	t.open()
	for ; t != nil; t = t.successor {
		t.over = true
		close(t.left)
		if t.turns.last[t.key] == t {
			delete(t.turns.last, t.key)
		}
	}
}
