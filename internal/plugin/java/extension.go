// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"example.org/app/internal/plugin"
)

// An extension is an instance of a plugin's class, in the current JVM.
type extension struct {
	module *module
	// index is its position in the plugin.
	index   int
	class   string
	points  []*plugin.Point
	methods map[*plugin.Method]*plan
	// endpoints are the endpoints declared at the first load.
	endpoints []*plugin.Endpoint

	// broken is the reason why it cannot be called although it is started, or nil.
	broken atomic.Pointer[benched]
	mu     sync.Mutex
	// state is the result of the hooks, to be restored in another JVM.
	state     plugin.State
	schedules plugin.Schedules
	// scheduledIn maps schedules to the sessions in which the extension requested them.
	scheduledIn map[*plugin.Schedule]*session
}

// describe reads the JVM's description of the extension.
func (x *extension) describe(points []string, indexes []uint64, endpoints []byte) (err error) {
	if x.endpoints, err = plugin.ParseEndpoints(endpoints); err != nil {
		return fmt.Errorf("getEndpoints() of %s: %w", x.class, err)
	}
	for _, name := range points {
		p, ok := plugin.FindPoint(name)
		if !ok {
			return fmt.Errorf("the extension %s implements %q, which is not an extension point", x.class, shorten(name))
		}
		if !slices.Contains(x.points, p) {
			x.points = append(x.points, p)
		}
	}
	if len(x.points) == 0 && len(x.endpoints) == 0 {
		return fmt.Errorf("the extension %s implements no extension point", x.class)
	}
	for _, i := range indexes {
		if i >= uint64(len(x.module.host.methods)) {
			return fmt.Errorf("the extension %s implements a method with the number %d, which there is not", x.class, i)
		}
		method := x.module.host.methods[i]
		x.methods[method] = x.module.host.plans[method]
	}
	return nil
}

// Class returns the name of the class.
func (x *extension) Class() string { return x.class }

// Points returns the extension points that the class implements.
func (x *extension) Points() []*plugin.Point { return x.points }

// Implements reports whether the class has the method.
func (x *extension) Implements(m *plugin.Method) bool { return x.methods[m] != nil }

// hookNumbers are the protocol numbers of hooks.
var hookNumbers = map[plugin.Hook]byte{plugin.Start: 0, plugin.Pause: 1, plugin.Resume: 2, plugin.Stop: 3, plugin.SettingsChanged: 4}

// fail makes calls fail until the extension is started again.
func (x *extension) fail(why error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state == plugin.Started || x.state == plugin.Paused {
		x.broken.Store(&benched{why})
	}
}

// Hook runs a hook.
func (x *extension) Hook(ctx context.Context, h plugin.Hook) error {
	defer x.hold(ctx)()
	if x.broken.Load() != nil || x.module.benched.Load() != nil {
		switch h {
		case plugin.Pause, plugin.Stop: // There is nothing to notify.
			x.note(h, nil)
			return nil
		case plugin.SettingsChanged: // It reads them when it is restarted.
			return nil
		}
		if err := x.module.revive(ctx); err != nil {
			return err
		}
	}
	if x.broken.Load() != nil {
		// It has never been started in this JVM.
		if err := x.run(ctx, plugin.Start); err != nil {
			return err
		}
		x.broken.Store(nil)
		x.note(h, nil)
		return nil
	}
	return x.run(ctx, h)
}

// Revive restarts the extension if it was lost with a JVM.
func (x *extension) Revive(ctx context.Context) error {
	if x.broken.Load() == nil && x.module.benched.Load() == nil {
		return nil
	}
	return x.Hook(ctx, plugin.Start)
}

// run runs a hook in the extension's current JVM.
func (x *extension) run(ctx context.Context, h plugin.Hook) error {
	for {
		b, err := x.module.bound()
		if err != nil {
			return err
		}
		b.hooks.RLock()
		if x.module.binding.Load() != b {
			b.hooks.RUnlock()
			continue // It moved while the hook waited.
		}
		if err = x.runIn(ctx, b, h); !errors.Is(err, errUnsent) {
			x.note(h, err)
		}
		b.hooks.RUnlock()
		if !errors.Is(err, errUnsent) {
			return b.describeLoss(ctx, err)
		}
		switch err := x.module.next(ctx, b); {
		case errors.Is(err, errClosed) && h == plugin.Stop: // It was lost with its JVM.
			x.note(h, nil)
			return nil
		case err != nil:
			return err
		}
	}
}

// runIn runs a hook in a JVM.
func (x *extension) runIn(ctx context.Context, b *binding, h plugin.Hook) error {
	if h == plugin.Start { // A failed start may have added schedules.
		x.unschedule(func(_ *plugin.Schedule, in *session) bool { return in == b.session })
	}
	a, err := b.requestWith(ctx, kindHook, x.module, func(body []byte) ([]byte, error) {
		return append(appendUint(body, b.extensions[x.index]), hookNumbers[h]), nil
	}, handling{givenUp: func() {
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			b.dump(ctx, "a hook took too long", slog.String("plugin", x.module.descriptor.ID), slog.String("extension", x.class), slog.String("hook", string(h)))
		}
	}})
	a.free()
	if err == nil && h == plugin.Start {
		x.unschedule(func(_ *plugin.Schedule, in *session) bool { return in != b.session })
	}
	return err
}

// note records the result of a hook.
func (x *extension) note(h plugin.Hook, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case h == plugin.SettingsChanged: // The state is the same.
	case h == plugin.Pause:
		x.state = plugin.Paused
	case h == plugin.Stop:
		x.state = plugin.Stopped
	case err == nil:
		x.state = plugin.Started
	}
}

// comeBack restores the extension's state in a new JVM.
func (x *extension) comeBack(wanted context.Context, b *binding) error {
	x.mu.Lock()
	state := x.state
	x.mu.Unlock()
	var hooks []plugin.Hook
	switch state {
	case plugin.Started:
		hooks = []plugin.Hook{plugin.Start}
	case plugin.Paused:
		hooks = []plugin.Hook{plugin.Start, plugin.Pause}
	}
	for _, h := range hooks {
		ctx, cancel := x.module.host.limit(wanted)
		err := x.runIn(ctx, b, h)
		cancel()
		if err != nil && h == plugin.Start {
			return err
		}
	}
	x.broken.Store(nil)
	return nil
}

// Call calls a method.
func (x *extension) Call(ctx context.Context, method *plugin.Method, args []any, result any) (bool, error) {
	p := x.methods[method]
	switch method {
	case plugin.RunSchedule:
		return false, x.runSchedule(ctx, args)
	case plugin.ServeEndpoint:
		return x.serveEndpoint(ctx, args, result)
	}
	if p == nil {
		return false, fmt.Errorf("call %s of %s: the extension does not have it", method.Name, x.class)
	}
	if len(args) != len(p.params) {
		return false, fmt.Errorf("call %s of %s: %d arguments for %d parameters", method.Name, x.class, len(args), len(p.params))
	}
	if x.module.host.opts.Debug.Port != 0 {
		defer x.hold(ctx)()
	}
	for again := false; ; {
		if b := x.broken.Load(); b != nil {
			return false, b.why
		}
		if err := x.module.leaving.Load(); err != nil {
			return false, *err
		}
		b, err := x.module.bound()
		if err != nil {
			return false, err
		}
		a, err := b.request(ctx, kindCall, x.module, func(body []byte) ([]byte, error) {
			body = appendUint(appendUint(body, b.extensions[x.index]), uint64(p.index))
			return p.write(body, args)
		})
		switch {
		case err == nil:
			ok, err := p.read(*a.body, result)
			a.free()
			if err != nil {
				err = fmt.Errorf("read the result of %s of %s: %w", method.Name, x.class, err)
			}
			return ok, err
		case errors.Is(err, errUnsent):
		case errors.Is(err, errEnded) && !again && method.Pure && (b.silenced.Load() || b.mayRepeat(ctx, x.module)):
			again = true
		case ctx.Err() != nil && b.isSilent():
			plugin.NoteRestart(ctx)
			return false, err
		default:
			return false, err
		}
		if err := x.module.next(ctx, b); err != nil {
			return false, err
		}
	}
}

// mayRepeat waits until the JVM has ended, and reports whether a lost call of a pure method may be
// repeated: if another plugin is known to have ended the JVM, or if it is unknown which one has,
// and the plugin has been moved to a JVM of its own, where it harms no other.
func (s *session) mayRepeat(ctx context.Context, m *module) bool {
	return s.endedByOther(ctx, m) || s.culprit.Load() == nil && s.slot.Load() != m.slot.Load()
}

// endedByOther waits until an ending JVM has ended, and reports whether another plugin is known to
// have ended it.
func (s *session) endedByOther(ctx context.Context, m *module) bool {
	if s.wait(ctx) != nil {
		return false
	}
	if c := s.culprit.Load(); c != nil {
		return c.module != m
	}
	return slices.ContainsFunc(s.blamed, (*module).isLoading) && !slices.Contains(s.blamed, m)
}

// next waits until a module whose JVM ended is loaded into a new one.
func (m *module) next(ctx context.Context, b *binding) error {
	plugin.NoteRestart(ctx)
	if err := b.wait(ctx); err != nil {
		return err
	}
	for {
		moved := m.move()
		if why := m.benched.Load(); why != nil {
			return why.why
		}
		if m.binding.Load() != b {
			return nil
		}
		l := m.slot.Load()
		s, err := l.session(ctx, false)
		if why := m.benched.Load(); why != nil {
			return why.why
		}
		if err != nil {
			if ctx.Err() == nil && m.slot.Load() != l {
				continue // It was moved to its own JVM.
			}
			return fmt.Errorf("%w: %w", errAway, err)
		}
		select {
		case <-moved:
		case <-s.over: // The next JVM may have the module.
		case <-m.retired:
			m.mu.Lock() // Wait for a restoration in progress.
			isGone := m.binding.Load() == b
			m.mu.Unlock()
			if isGone {
				return errClosed // It will not be restored.
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// hold stops the clock of a call or a hook if debugging is enabled, because the JVM does not
// report pauses. The caller must call leave.
func (x *extension) hold(ctx context.Context) (leave func()) {
	clock := plugin.HeldOf(ctx)
	if x.module.host.opts.Debug.Port == 0 || clock == nil {
		return func() {}
	}
	release := clock.Hold()
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-x.module.retired:
		case <-done:
		}
		release()
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

var (
	_ plugin.Extension = (*extension)(nil)
	_ plugin.Reviver   = (*extension)(nil)
)
