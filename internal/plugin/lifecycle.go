// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A State is the life-cycle state of an extension.
type State string

// The states.
const (
	Loaded  State = "LOADED"
	Started State = "STARTED"
	Paused  State = "PAUSED"
	Stopped State = "STOPPED"
)

// transition is the effect of a hook on an extension.
type transition struct {
	to State
	// evenFailed is true if the state changes even if the hook throws or times out.
	evenFailed bool
}

// transitions are all transitions. A hook that is missing for a state does not run in it.
var transitions = map[State]map[Hook]transition{
	Loaded:  {Start: {to: Started}, Stop: {to: Stopped, evenFailed: true}},
	Started: {Pause: {to: Paused, evenFailed: true}, Stop: {to: Stopped, evenFailed: true}, SettingsChanged: {to: Started}},
	Paused:  {Resume: {to: Started}, Stop: {to: Stopped, evenFailed: true}, SettingsChanged: {to: Paused}},
	Stopped: {},
}

// A StateError means that a hook cannot run in the state of the extension.
type StateError struct {
	Hook  Hook
	State State
}

func (e *StateError) Error() string {
	return fmt.Sprintf("%s is not possible: the extension is %s", e.Hook, e.State)
}

// A life runs the life cycle of one extension. Its hooks run strictly sequentially, in the order of
// the requests; whether one may run is decided when its turn comes.
type life struct {
	run func(ctx context.Context, h Hook) error
	// timeout returns the time limit of a hook.
	timeout func() time.Duration
	// changed is called for every change of state, before the hook completes.
	changed func(from, to State)
	// down reports whether the extension is started and cannot run; recover makes it run again.
	// Both may be nil.
	down    func() bool
	recover func(ctx context.Context) error

	mu    sync.Mutex
	state State
	// running is the running hook, or nil; ending is true once only Stop may run.
	running *limited
	ending  bool
	// turns are the queued hooks; the first one is running.
	turns []*turn
}

// turn is a requested hook.
type turn struct {
	ctx  context.Context
	hook Hook
	done chan struct{}
	// before is the state when its turn came; changed is true if the state is now different.
	before  State
	changed bool
	err     error
}

// State returns the current state.
func (l *life) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// Do runs a hook and reports whether the state changed. If ctx ends before the hook's turn, the
// hook is cancelled; a running hook is only abandoned at its own time limit.
func (l *life) Do(ctx context.Context, h Hook) (changed bool, err error) {
	t := &turn{ctx: ctx, hook: h, done: make(chan struct{})}
	l.mu.Lock()
	l.turns = append(l.turns, t)
	if len(l.turns) == 1 {
		go l.work()
	}
	l.mu.Unlock()
	<-t.done
	return t.changed, t.err
}

// work runs hooks until the queue is empty.
func (l *life) work() {
	for {
		l.mu.Lock()
		t := l.turns[0]
		t.before = l.state
		l.mu.Unlock()

		l.take(t)

		l.mu.Lock()
		l.turns = l.turns[1:]
		last := len(l.turns) == 0
		l.mu.Unlock()
		close(t.done)
		if last {
			return
		}
	}
}

// take runs the hook of a turn if the state allows it.
func (l *life) take(t *turn) {
	step, ok := transitions[t.before][t.hook]
	if again := t.hook == Start || t.hook == Resume; !ok && again && t.before == Started && l.down != nil && l.down() {
		step, ok = transition{to: Started}, true
	}
	if !ok {
		t.err = &StateError{t.hook, t.before}
		return
	}
	if t.err = t.ctx.Err(); t.err != nil {
		return
	}
	// The requester may disappear without cancelling the hook.
	ctx := withLimit(context.WithoutCancel(t.ctx), l.timeout())
	defer ctx.cancel()
	l.mu.Lock()
	if l.ending && t.hook != Stop {
		l.mu.Unlock()
		t.err = errRetired
		return
	}
	l.running = nil
	if t.hook != Stop {
		l.running = ctx
	}
	l.mu.Unlock()
	run := func() error { return l.run(ctx, t.hook) }
	if t.before == step.to && t.hook != SettingsChanged {
		run = func() error { return l.recover(ctx) }
	}
	if t.err = causeOf(ctx, run()); errors.Is(t.err, context.DeadlineExceeded) {
		t.err = fmt.Errorf("%s %w", t.hook, t.err)
	}
	if t.err != nil && !step.evenFailed {
		return
	}
	if t.changed = t.hook != SettingsChanged; t.before == step.to {
		return
	}
	l.mu.Lock()
	l.state = step.to
	l.mu.Unlock()
	l.changed(t.before, step.to)
}

// busy reports whether a hook runs.
func (l *life) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.turns) > 0
}

// end cancels the running and queued hooks except Stop, because the extension is being removed.
func (l *life) end() {
	l.mu.Lock()
	running := l.running
	l.ending, l.running = true, nil
	l.mu.Unlock()
	if running != nil {
		running.cancel()
	}
}
