// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"example.org/app/internal/recording/event"
)

// An attempt brings a JVM up, with the plugins that were there. It goes on until it succeeds or gives up.
type attempt struct {
	done chan struct{}
	err  error
}

// A crash is an end of a JVM that nobody wanted.
type crash struct {
	at time.Time
	// blamed are the modules that it worked for.
	blamed []*module
	why    error
}

// errDown is that the JVM is not there and nobody starts it.
var errDown = errors.New("the Java host is down")

// session returns the session, and waits for one that is coming up. If none is, start starts one.
func (h *Host) session(ctx context.Context, start bool) (*session, error) {
	for {
		h.mu.Lock()
		switch {
		case h.closed:
			h.mu.Unlock()
			return nil, errHostClosed
		case h.exited != nil:
			defer h.mu.Unlock()
			return nil, h.exited
		case h.current != nil:
			defer h.mu.Unlock()
			return h.current, nil
		case h.attempt == nil && !start:
			defer h.mu.Unlock()
			if h.last != nil {
				return nil, fmt.Errorf("%w: %w", errDown, h.last)
			}
			return nil, errDown
		case h.attempt == nil:
			h.begin(0)
		}
		a := h.attempt
		h.mu.Unlock()
		select {
		case <-a.done:
			if a.err != nil {
				return nil, a.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// begin begins an attempt after a delay. The host is locked.
func (h *Host) begin(delay time.Duration) {
	a := &attempt{done: make(chan struct{})}
	h.attempt = a
	h.work.Go(func() {
		a.err = h.bring(delay)
		close(a.done)
		h.rest(h.ctx) // Who wanted it may have gone away.
	})
}

// bring brings a JVM up. While plugins wait to come back it tries again and again.
func (h *Host) bring(delay time.Duration) error {
	for {
		if err := h.pause(delay); err != nil {
			return h.giveUp(err)
		}
		s, err := h.open()
		if err == nil {
			var left bool
			if left, delay, err = h.publish(s); err == nil {
				return nil
			} else if left {
				continue
			}
			return h.giveUp(err)
		}
		h.mu.Lock()
		if len(h.returning()) == 0 || h.closed {
			h.mu.Unlock()
			return h.giveUp(err)
		}
		again, next, tell := h.crashed(crash{at: time.Now(), why: err})
		h.mu.Unlock()
		tell()
		if !again {
			return h.giveUp(err)
		}
		delay = next
	}
}

func (h *Host) pause(delay time.Duration) error {
	if delay == 0 {
		return h.ctx.Err()
	}
	select {
	case <-time.After(delay):
		return nil
	case <-h.ctx.Done():
		return errHostClosed
	}
}

// giveUp ends an attempt without a session.
func (h *Host) giveUp(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.attempt = nil
	return err
}

// publish makes a session the one that counts, unless it has died already. The plugins that were there come back to it,
// each on its own, so that one that takes long keeps no other away.
func (h *Host) publish(s *session) (left bool, delay time.Duration, err error) {
	h.mu.Lock()
	if !s.gone && !h.closed {
		h.current, h.attempt = s, nil
		var suspects []*module
		for _, m := range h.returning() {
			if slices.ContainsFunc(h.crashes, func(c crash) bool { return slices.Contains(c.blamed, m) }) {
				suspects = append(suspects, m)
				continue
			}
			h.work.Go(func() { m.comeBack(s) })
		}
		h.work.Go(func() { // One after the other, so that the next crash says more.
			for _, m := range suspects {
				m.comeBack(s)
			}
		})
		h.mu.Unlock()
		return false, 0, nil
	}
	if h.closed {
		h.mu.Unlock()
		s.stop(context.Background())
		return false, 0, errHostClosed
	}
	if h.exited != nil {
		defer h.mu.Unlock()
		return false, 0, h.exited
	}
	again, delay, tell := h.crashed(crash{at: time.Now(), blamed: s.blamed, why: s.why})
	h.mu.Unlock()
	tell()
	return again, delay, s.why
}

// returning are the modules that come back with a JVM.
func (h *Host) returning() []*module {
	return slices.DeleteFunc(slices.Clone(h.modules), func(m *module) bool { return m.benched.Load() != nil })
}

// leaving takes note that a plugin called System.exit. The JVM goes on until the server, which is told, has stopped all
// plugins; the calls of the one that wants to leave fail.
func (h *Host) leaving(s *session, e *exit) {
	if h.opts.Exit == nil {
		return
	}
	id := ""
	if e.module != nil {
		id = e.module.descriptor.ID
		e.module.leaving.Store(new(e.error()))
		s.conn.fail(e.module, e.error())
	}
	h.opts.Log.Warn("a plugin stops the server by System.exit", slog.String("plugin", id), slog.Int("status", e.status))
	h.opts.Exit(id, e.status)
}

// error is what calls fail with that cannot be answered any more.
func (e *exit) error() error {
	who := "a plugin"
	if e.module != nil {
		who = fmt.Sprintf("plugin %q", e.module.descriptor.ID)
	}
	return fmt.Errorf("%s stops the server by System.exit(%d)", who, e.status)
}

// died takes note that a JVM ended by itself.
func (h *Host) died(s *session) {
	h.mu.Lock()
	s.gone = true
	if e := s.exit.Load(); e != nil && h.opts.Exit != nil {
		h.exited = e.error()
		if h.current == s {
			h.current = nil
		}
		h.mu.Unlock()
		return
	}
	if h.current != s {
		h.mu.Unlock()
		return // Whoever brings it up sees it.
	}
	h.current = nil
	again, delay, tell := h.crashed(crash{at: time.Now(), blamed: s.blamed, why: s.why})
	if again && !h.closed {
		h.begin(delay)
	}
	h.mu.Unlock()
	tell()
}

// crashed takes note of a crash, and says whether the JVM is started again and after what time. If there were too many,
// the plugins that seem to be to blame do not come back; tell, which must be called without the lock, says so.
func (h *Host) crashed(c crash) (again bool, delay time.Duration, tell func()) {
	h.restarts++
	h.last = c.why
	h.opts.Log.Error("the Java host died", slog.Any("error", c.why), slog.Int("calls", len(c.blamed)))
	event.Report(event.Incident{Reason: event.JVMDied})
	known := slices.DeleteFunc(slices.Clone(c.blamed), func(m *module) bool { return !slices.Contains(h.modules, m) })
	if len(c.blamed) == 0 || len(known) > 0 { // Else it was a plugin that was just being loaded, and is not there.
		c.blamed = known
		h.crashes = append(h.crashes, c)
	}
	h.crashes = slices.DeleteFunc(h.crashes, func(old crash) bool { return c.at.Sub(old.at) > h.opts.CrashWindow })
	if n := len(h.crashes); n < h.opts.Crashes {
		return len(h.returning()) > 0, backOff(n), func() {}
	}
	why := fmt.Sprintf("the Java host died %d times within %s, the last time because: %v", len(h.crashes), h.opts.CrashWindow, c.why)
	guilty := h.guilty()
	for _, m := range guilty {
		m.bench(errors.New(why))
	}
	h.crashes = nil
	return len(h.returning()) > 0, backOff(1), func() {
		for _, m := range guilty {
			h.opts.Log.Error("a plugin does not come back because the Java host died too often", slog.String("plugin", m.descriptor.ID), slog.String("reason", why))
			h.opts.Broken(m.descriptor.ID, "", why, false)
		}
	}
}

// guilty are the modules for which the JVM worked in most of the crashes; if there are none, all.
func (h *Host) guilty() []*module {
	var list []*module
	all := h.returning()
	for _, m := range all {
		n := 0
		for _, c := range h.crashes {
			if slices.Contains(c.blamed, m) {
				n++
			}
		}
		if 2*n > len(h.crashes) {
			list = append(list, m)
		}
	}
	if len(list) == 0 {
		return all
	}
	return list
}

// backOff is how long to wait after the nth crash in a row.
func backOff(n int) time.Duration {
	if n <= 1 {
		return 0
	}
	return min(100*time.Millisecond<<min(n-2, 10), 10*time.Second)
}

// open starts a JVM without plugins.
func (h *Host) open() (*session, error) {
	h.gate.Lock()
	defer h.gate.Unlock()
	jar, err := Jar(HostJar)
	if err != nil {
		return nil, err
	}
	// A plugin cannot wait forever for a Java that is being installed, so it is looked for each time.
	if h.java, err = Find(h.ctx, h.opts.Home); err != nil {
		return nil, err
	}
	if h.java.Feature < goodJava {
		h.opts.Log.Warn("on this Java a plugin that waits in a synchronized block holds up others; newer ones do not have that problem",
			slog.String("version", h.java.Version), slog.String("home", h.java.Home), slog.Int("newer", goodJava))
	}
	if err := h.makeFolder(jar); err != nil {
		return nil, err
	}
	begin := time.Now()
	s, err := h.openSession(h.ctx, h.java, h.folder.path, h.jar)
	if err != nil {
		return nil, err
	}
	h.opts.Log.Info("the Java host is up", slog.String("java", s.java), slog.String("home", h.java.Home), slog.Int("pid", s.cmd.Process.Pid), slog.Duration("took", time.Since(begin)))
	h.hooks.Lock()   // Hooks that were on their way have failed and noted what became of their extensions.
	h.hooks.Unlock() //nolint:staticcheck // It is the waiting that counts.
	return s, nil
}

// makeFolder makes the folder with the host's jar.
func (h *Host) makeFolder(jar []byte) (err error) {
	if h.folder != nil {
		return nil
	}
	if h.folder, err = openFolder(h.opts.Folder); err != nil {
		return err
	}
	if h.jar, err = h.folder.write(HostJar, jar); err != nil {
		err = errors.Join(err, h.folder.remove())
		h.folder = nil
	}
	return err
}

// needed reports whether there are plugins, also in other languages, or a JVM is coming up. The host is locked.
func (h *Host) needed() bool {
	return h.loading+len(h.modules) > 0 || h.attempt != nil || !h.closed && h.objects.used()
}

// rest ends the JVM if no plugin needs it.
func (h *Host) rest(ctx context.Context) {
	// One that is coming up may take long, and whoever brings it up comes here afterwards.
	h.mu.Lock()
	needed := h.needed()
	h.mu.Unlock()
	if needed {
		return
	}
	h.gate.Lock()
	defer h.gate.Unlock()
	h.mu.Lock()
	if h.needed() {
		h.mu.Unlock()
		return
	}
	s := h.current
	h.current = nil
	h.mu.Unlock()
	if s != nil {
		s.stop(context.WithoutCancel(ctx))
		h.opts.Log.Info("the Java host ended, as there are no more plugins for it")
	}
	if h.folder != nil {
		if err := h.folder.remove(); err != nil {
			h.opts.Log.Warn("the folder of the Java host could not be removed", slog.Any("error", err))
		}
		h.folder = nil
	}
}
