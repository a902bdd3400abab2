// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/logs"
	"example.org/app/internal/recording/event"
)

// member is an extension in the registry: the host's extension with its life cycle and its record.
type member struct {
	Extension
	plugin *Plugin
	life   *life
	record record
	logger *slog.Logger
	// failures logs failed calls.
	failures logs.Limited
	// started mirrors the state, so that a call needs no lock.
	started atomic.Bool
	// since is when it was started or resumed, in nanoseconds since 1970.
	since atomic.Int64
	calls gate
	// broken is true if its host cannot run it until it is revived.
	broken atomic.Bool
	// waiting is true if it must start once its plugin's grants are complete.
	waiting atomic.Bool
	// retrying is true while retry is trying to start it.
	retrying atomic.Bool
	// told counts the running observer calls.
	told atomic.Int64
	// settings returns the effective settings; nil if the plugin declares none. known are those
	// that the extension has, as JSON; only its hooks use it.
	settings func() (map[string]any, error)
	known    string
}

// newMember returns a member in the state Loaded.
func newMember(p *Plugin, e Extension, hookTimeout func() time.Duration, logger *slog.Logger) *member {
	m := &member{Extension: e, plugin: p, logger: logger.With("plugin", p.ID, "version", p.Version, "extension", e.Class())}
	m.record.meter = &p.meter
	m.life = &life{run: m.runHook, timeout: hookTimeout, state: Loaded, down: m.isDown, recover: m.recover, changed: func(from, to State) {
		m.since.Store(time.Now().UnixNano())
		m.started.Store(to == Started)
		m.record.quarantine("") // It runs, or is not meant to.
		m.logger.Info("extension changed its state", "from", string(from), "to", string(to))
	}}
	return m
}

// runHook runs a hook. An extension is not started with invalid settings, and only gets valid ones.
func (m *member) runHook(ctx context.Context, h Hook) error {
	return m.guard(ctx, h, func(ctx context.Context) error {
		if h == Start || h == Resume {
			if err := m.mayRun(); err != nil {
				return err
			}
		}
		if m.settings != nil && (h == Start || h == SettingsChanged) {
			news, err := m.learn()
			if err != nil || !news && h == SettingsChanged {
				return err
			}
		}
		return m.Hook(ctx, h)
	})
}

// learn reads the effective settings, and reports whether they are new to the extension.
func (m *member) learn() (news bool, err error) {
	values, err := m.settings()
	if err != nil {
		return false, err
	}
	text, err := json.Marshal(values)
	if err != nil {
		return false, fmt.Errorf("encode the settings: %w", err)
	}
	news, m.known = string(text) != m.known, string(text)
	return news, nil
}

// guard runs the body of a hook, records failures and recovers panics of the host.
func (m *member) guard(ctx context.Context, h Hook, run func(context.Context) error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("the host panicked: %v", value)
		}
		if err = causeOf(ctx, err); err != nil {
			m.record.fail(string(h), err)
			m.logger.Warn("a hook of an extension failed", "hook", string(h), "error", err)
		}
	}()
	return run(ctx)
}

// takesPart reports whether the method is called on this extension now. That includes an extension
// that is down: its calls fail, because what it might have refused must not pass.
func (m *member) takesPart(method *Method) bool {
	return (m.started.Load() || m.isDown()) && m.Implements(method)
}

// isDown reports whether the extension should run and cannot.
func (m *member) isDown() bool { return m.record.down.Load() != nil }

// recover makes a started extension run again. One that its host lost is revived.
func (m *member) recover(ctx context.Context) error {
	if m.plugin.dead.Load() {
		return ErrDead
	}
	if err := m.mayRun(); err != nil {
		return err
	}
	if r, ok := m.Extension.(Reviver); ok && m.broken.Load() {
		if err := m.guard(ctx, Start, r.Revive); err != nil {
			return err
		}
		m.broken.Store(false)
	}
	m.record.quarantine("")
	m.logger.Info("extension runs again")
	return nil
}

// An UnavailableError means that an extension should run and cannot.
type UnavailableError struct{ Reason string }

func (e *UnavailableError) Error() string { return "the extension cannot run: " + e.Reason }

// errRetired means that the extension was replaced before its call began.
var errRetired = errors.New("the extension was replaced")

// ErrRetired is returned for a call that a module had held back when it was retired. Its successor
// is called instead, if there is one.
var ErrRetired = errRetired

// A CrowdedError means that a call was refused because too many calls of the plugin are running.
type CrowdedError struct{ Limit int64 }

func (e *CrowdedError) Error() string {
	return fmt.Sprintf("%d calls of the plugin are under way, the most that app.plugin.limits.concurrent-calls allows", e.Limit)
}

// call calls a method within its bounds.
func (m *member) call(ctx context.Context, method *Method, b bounds, args []any, result any) (ok bool, err error) {
	if !m.calls.enter() {
		return false, errRetired
	}
	if why := m.record.down.Load(); why != nil {
		m.calls.leave()
		if m.plugin.trial.Load() {
			return false, errRetired // The active version is called instead.
		}
		return false, &UnavailableError{*why}
	}
	defer m.plugin.running.Add(-1)
	if n := m.plugin.running.Add(1); b.calls > 0 && n > b.calls {
		err := &CrowdedError{b.calls}
		m.record.note(method, 0, err, false)
		m.calls.leave()
		return false, err
	}
	if err := m.plugin.excess.admit(ctx); err != nil {
		m.record.note(method, 0, err, false)
		m.calls.leave()
		return false, err
	}
	limited := withLimit(ctx, b.time)
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("the host panicked: %v", value)
		}
		err = causeOf(limited, err)
		took := limited.cancel()
		restarted := limited.restarted.Load()
		if restarted && errors.Is(err, context.DeadlineExceeded) {
			err = &restartError{err}
		}
		m.record.note(method, took, err, restarted)
		m.calls.leave()
		if event.Wants(event.KindPluginCall, took) {
			event.Record(event.PluginCall{
				Span:   event.Span{Start: time.Now().Add(-took), Duration: took},
				Plugin: m.plugin.ID, Version: m.plugin.Version, Extension: m.Class(),
				Point: method.Point.Name, Method: method.Name, Outcome: outcomeOf(err),
			})
		}
	}()
	return m.Call(limited, method, args, result)
}

// gate counts running calls, and can be closed for good.
type gate struct {
	// state is twice the number of calls, and one more if the gate is closed.
	state atomic.Int64
	mu    sync.Mutex
	// idle is closed when the gate is closed and the last call has left. It is nil until then.
	idle chan struct{}
}

func (g *gate) enter() bool {
	for {
		s := g.state.Load()
		if s&1 != 0 {
			return false
		}
		if g.state.CompareAndSwap(s, s+2) {
			return true
		}
	}
}

func (g *gate) leave() {
	if g.state.Add(-2) == 1 {
		close(g.closing())
	}
}

// count returns the number of calls inside.
func (g *gate) count() int { return int(g.state.Load() >> 1) }

// isClosed reports whether the gate is closed.
func (g *gate) isClosed() bool { return g.state.Load()&1 != 0 }

// closing returns the channel that is closed when the last call has left.
func (g *gate) closing() chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	return g.idle
}

// close closes the gate and waits for the calls inside, until the context ends.
func (g *gate) close(ctx context.Context) {
	idle := g.closing()
	if g.state.Or(1) == 0 {
		close(idle) // It was open, and nobody was in.
	}
	select {
	case <-idle:
	case <-ctx.Done():
	}
}
