// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A State is where an extension is in its life.
type State string

// The states.
const (
	Loaded  State = "LOADED"
	Started State = "STARTED"
	Paused  State = "PAUSED"
	Stopped State = "STOPPED"
)

// transition is what a hook does to an extension.
type transition struct {
	to State
	// evenFailed says that the state changes even if the hook throws or takes too long.
	evenFailed bool
}

// transitions has every step that there is. A hook that is not here for a state does not run in it.
var transitions = map[State]map[Hook]transition{
	Loaded:  {Start: {to: Started}, Stop: {to: Stopped, evenFailed: true}},
	Started: {Pause: {to: Paused, evenFailed: true}, Stop: {to: Stopped, evenFailed: true}, SettingsChanged: {to: Started}},
	Paused:  {Resume: {to: Started}, Stop: {to: Stopped, evenFailed: true}, SettingsChanged: {to: Paused}},
	Stopped: {},
}

// A StateError refuses a hook that cannot run in the state of the extension.
type StateError struct {
	Hook  Hook
	State State
}

func (e *StateError) Error() string {
	return fmt.Sprintf("%s is not possible: the extension is %s", e.Hook, e.State)
}

// A life leads one extension through its states. Its hooks run strictly one after another, in the order in which they
// were asked for; whether one may run is judged when its turn comes.
type life struct {
	run func(ctx context.Context, h Hook) error
	// timeout returns the time limit of a hook.
	timeout func() time.Duration
	// changed is told of every change of state, before the hook counts as done.
	changed func(from, to State)
	// down reports whether the extension is started and cannot run; recover lets it run again. Both may be nil.
	down    func() bool
	recover func(ctx context.Context) error

	mu    sync.Mutex
	state State
	// running is the hook that runs, nil if none does; ending says that only Stop runs from now on.
	running *limited
	ending  bool
	// turns are the hooks that wait; the first one is running.
	turns []*turn
}

// turn is a hook that was asked for.
type turn struct {
	ctx  context.Context
	hook Hook
	done chan struct{}
	// before is the state in which its turn came; changed says whether the state is another one now.
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

// Do asks for a hook and waits for its end. It reports whether the state changed. The context that ends while the hook
// waits for its turn takes it back; a hook that runs is given up when its own time is over.
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

// work runs hooks until none waits.
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
	// Whoever asked may go away; the hook is not cut short by that.
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

// end cancels the hook that runs and those that wait, apart from Stop: the extension goes away.
func (l *life) end() {
	l.mu.Lock()
	running := l.running
	l.ending, l.running = true, nil
	l.mu.Unlock()
	if running != nil {
		running.cancel()
	}
}
