// SPDX-License-Identifier: Apache-2.0

package message

import (
	"context"
	"sync"
)

// Turns keep the messages of each conversation in the order in which they arrive, while several are being worked on: each
// takes a turn when it arrives, is stored after those before it, and is delivered after them.
type Turns struct {
	mu   sync.Mutex
	last map[uint64]*Turn
}

// A Turn is the place of a message in its conversation. It belongs to the goroutine that sends the message. A nil Turn
// waits for nobody.
type Turn struct {
	turns  *Turns
	key    uint64
	before *Turn
	// entered is closed when the next one may be stored, left when the next one may be delivered.
	entered, left chan struct{}

	// The mutex of the turns guards these. successor is the next turn if it ended before this one: it passes and is over with this
	// one.
	passed, over bool
	successor    *Turn
}

// Take takes the next turn of a conversation. Whoever took it must call End.
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

// pass lets the next message be stored after this one.
func (t *Turn) pass() {
	if t == nil {
		return
	}
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	t.open()
}

// open lets the next message be stored, past those that have ended. The turns are locked.
func (t *Turn) open() {
	for ; t != nil; t = t.successor {
		if !t.passed {
			t.passed = true
			close(t.entered)
		}
	}
}

// leave waits until the messages before this one were delivered.
func (t *Turn) leave() {
	if t != nil && t.before != nil {
		<-t.before.left
	}
}

// Await waits until what comes before was delivered, or ctx ends.
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

// End ends the turn: the next message need not wait for this one any more, but still for those before it.
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
	// Whoever sent this message has given up before it was its turn.
	if s.last[t.key] == t {
		s.last[t.key] = before
		return
	}
	before.successor = t
	if before.passed {
		t.open()
	}
}

// close lets the next message be delivered, past those that have ended. The turns are locked.
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
