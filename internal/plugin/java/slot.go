// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"example.org/app/internal/sleep"
)

// A slot has one JVM at a time: it starts one for its plugins, and restarts it when it dies.
type slot struct {
	host *Host
	// own is true if the slot is for one plugin, or for a few suspects; the host has one shared
	// slot.
	own bool

	// gate lets only one JVM start or end at a time.
	gate sync.Mutex

	// The mutex of the host guards the following fields.
	modules []*module
	loading int
	current *session
	attempt *attempt
	crashes []crash
	last    error
	exited  error
	// moving is true while runaway work is being removed; moves are the times when modules were
	// moved for that.
	moving bool
	moves  []time.Time
}

// An attempt is the start of a JVM for the plugins of a slot, including retries.
type attempt struct {
	done chan struct{}
	err  error
}

// errDown reports that the JVM is down and no restart is in progress.
var errDown = errors.New("the Java host is down")

// session returns the session, waiting for one that is starting. If there is none and start is
// true, it starts one.
func (l *slot) session(ctx context.Context, start bool) (*session, error) {
	for {
		l.host.mu.Lock()
		switch {
		case l.host.closed:
			l.host.mu.Unlock()
			return nil, errHostClosed
		case l.exited != nil:
			defer l.host.mu.Unlock()
			return nil, l.exited
		case l.current != nil:
			defer l.host.mu.Unlock()
			return l.current, nil
		case l.attempt == nil && !start:
			defer l.host.mu.Unlock()
			if l.last != nil {
				return nil, fmt.Errorf("%w: %w", errDown, l.last)
			}
			return nil, errDown
		case l.attempt == nil:
			l.begin(0)
		}
		a := l.attempt
		l.host.mu.Unlock()
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

// begin starts an attempt after a delay. The caller must hold l.host.mu.
func (l *slot) begin(delay time.Duration) {
	a := &attempt{done: make(chan struct{})}
	l.attempt = a
	l.host.work.Go(func() {
		a.err = l.bring(delay)
		close(a.done)
		l.rest(l.host.ctx) // The requester may have given up.
	})
}

// adopt adds a newly loaded module. If its JVM has died meanwhile, adopt initiates its
// restoration, because nothing else does.
func (l *slot) adopt(m *module) {
	l.host.mu.Lock()
	defer l.host.mu.Unlock()
	l.modules = append(l.modules, m)
	l.host.spare.want()
	switch b := m.binding.Load(); {
	case !b.gone || l.host.closed || l.attempt != nil:
	case l.current != nil:
		s := l.current
		l.host.work.Go(func() { m.comeBack(s) })
	default:
		l.begin(0)
	}
}

// bring starts a JVM. While plugins wait to be restored, it retries with back-off.
func (l *slot) bring(delay time.Duration) error {
	for {
		if err := l.pause(delay); err != nil {
			return l.giveUp(err)
		}
		l.letOthersFirst()
		s, err := l.renew()
		if err == nil {
			var left bool
			if left, delay, err = l.publish(s); err == nil {
				return nil
			} else if left {
				continue
			}
			return l.giveUp(err)
		}
		l.host.mu.Lock()
		if len(l.returning()) == 0 || l.host.closed {
			l.host.mu.Unlock()
			return l.giveUp(err)
		}
		again, next, tell := l.crashed(crash{at: time.Now(), why: err, unborn: true})
		l.host.mu.Unlock()
		tell()
		if !again {
			return l.giveUp(err)
		}
		delay = next
	}
}

// pause waits before a JVM is started after crashes. It does not wait if a spare is ready: the
// next one takes a while.
func (l *slot) pause(delay time.Duration) error {
	if delay == 0 || l.host.spare.isReady() {
		return l.host.ctx.Err()
	}
	return l.sleep(delay)
}

// sleep waits for a while, or until the host is closed.
func (l *slot) sleep(delay time.Duration) error {
	if sleep.For(l.host.ctx, delay) != nil {
		return errHostClosed
	}
	return nil
}

// giveUp ends an attempt without a session.
func (l *slot) giveUp(err error) error {
	l.host.mu.Lock()
	defer l.host.mu.Unlock()
	l.attempt = nil
	return err
}

// publish makes a session the current one, unless it has died already. The plugins are restored
// concurrently, so that a slow one does not delay others.
func (l *slot) publish(s *session) (left bool, delay time.Duration, err error) {
	l.host.mu.Lock()
	if !s.gone && !l.host.closed {
		l.current, l.attempt = s, nil
		var suspects []*module
		for _, m := range l.returning() {
			if slices.ContainsFunc(l.crashes, func(c crash) bool { return slices.Contains(c.blamed, m) }) {
				suspects = append(suspects, m)
				continue
			}
			l.host.work.Go(func() { m.comeBack(s) })
		}
		l.host.work.Go(func() { // Sequentially, so that the next crash has fewer suspects.
			for _, m := range suspects {
				m.comeBack(s)
			}
		})
		l.host.mu.Unlock()
		return false, 0, nil
	}
	if l.host.closed {
		l.host.mu.Unlock()
		s.stop(context.Background())
		return false, 0, errHostClosed
	}
	if l.exited != nil {
		defer l.host.mu.Unlock()
		return false, 0, l.exited
	}
	again, delay, tell := l.crashed(s.crash())
	l.host.mu.Unlock()
	tell()
	return again, delay, s.why
}

// isAway reports whether plugins wait for the slot's JVM. The caller must hold l.host.mu.
func (l *slot) isAway() bool {
	if l.current == nil {
		return l.attempt != nil && len(l.returning()) > 0
	}
	return slices.ContainsFunc(l.returning(), func(m *module) bool {
		b := m.binding.Load()
		return b != nil && b.session != l.current
	})
}

// letOthersFirst makes the slot of suspects wait until the other plugins are restored, up to a
// limit: a starting JVM would take processors from them.
func (l *slot) letOthersFirst() {
	for end := time.Now().Add(courtesy); l.own && time.Now().Before(end); {
		l.host.mu.Lock()
		away := l.host.shared.isAway()
		l.host.mu.Unlock()
		if !away || l.sleep(lookInterval) != nil {
			return
		}
	}
}

// courtesy is the maximum wait of suspects, and lookInterval the polling interval.
const courtesy, lookInterval = 2 * time.Second, 10 * time.Millisecond

// returning returns the modules to be restored in the next JVM. The caller must hold
// l.host.mu.
func (l *slot) returning() []*module {
	return slices.DeleteFunc(slices.Clone(l.modules), func(m *module) bool { return m.benched.Load() != nil })
}

// renew returns a JVM without plugins for the slot: the spare or a new one.
func (l *slot) renew() (*session, error) {
	l.gate.Lock()
	defer l.gate.Unlock()
	if s := l.host.spare.take(l); s != nil {
		l.host.opts.Log.Info("the spare JVM is put into use", slog.Int("pid", s.cmd.Process.Pid))
		return s, nil
	}
	return l.host.open(l)
}

// open starts a JVM without plugins, for a slot or as the spare.
func (h *Host) open(l *slot) (*session, error) {
	jar, err := Jar(HostJar)
	if err != nil {
		return nil, err
	}
	// Java may have been installed meanwhile, so search for it each time.
	java, err := Find(h.ctx, h.opts.Home)
	if err != nil {
		return nil, err
	}
	if java.Feature < goodJava {
		h.opts.Log.Warn("on this Java a plugin that waits in a synchronized block holds up others; newer ones do not have that problem",
			slog.String("version", java.Version), slog.String("home", java.Home), slog.Int("newer", goodJava))
	}
	dir, path, err := h.makeFolder(jar)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	how := launch{java: java, dir: dir, jar: path, nice: h.opts.Nice, log: h.opts.Log}
	cache := ""
	if key := h.cache.key(java); key != "" {
		if cache = h.cache.find(key, h.opts.Log); cache != "" {
			how.flags = use(java, cache)
		}
	}
	s, err := h.openSession(h.ctx, l, how)
	if err != nil && cache != "" && h.ctx.Err() == nil {
		without := how
		without.flags = nil
		var failed error
		if s, failed = h.openSession(h.ctx, l, without); failed == nil {
			if wasKilled(err) {
				h.opts.Log.Warn("a JVM was killed while it was starting", slog.Any("error", err))
			} else {
				h.opts.Log.Warn("a JVM did not start with the class cache, which is removed", slog.String("file", cache), slog.Any("error", err))
				h.cache.discard(cache)
			}
			cache, err = "", nil
		}
	}
	if err != nil {
		return nil, err
	}
	if cache == "" {
		h.cache.want()
	}
	h.opts.Log.Info("the Java host is up", slog.String("java", s.java), slog.String("home", java.Home), slog.Int("pid", s.cmd.Process.Pid), slog.Bool("spare", l == nil), slog.String("classcache", cache), slog.Duration("took", time.Since(begin)))
	return s, nil
}

// needed reports whether the slot has plugins, serves those in other languages, or is starting
// a JVM. The caller must hold l.host.mu.
func (l *slot) needed() bool {
	return l.loading+len(l.modules) > 0 || l.attempt != nil || !l.own && !l.host.closed && l.host.objects.used()
}

// rest stops the JVM if it is not needed.
func (l *slot) rest(ctx context.Context) {
	// Do not wait for a JVM that is starting, which may take long; its starter calls rest.
	l.host.mu.Lock()
	needed := l.needed()
	l.host.mu.Unlock()
	if needed {
		return
	}
	l.gate.Lock()
	defer l.gate.Unlock()
	l.host.mu.Lock()
	if l.needed() {
		l.host.mu.Unlock()
		return
	}
	s := l.current
	l.current = nil
	l.host.mu.Unlock()
	if s != nil {
		s.stop(context.WithoutCancel(ctx))
		l.host.opts.Log.Info("the Java host ended, as there are no more plugins for it")
	}
	if l.own {
		l.host.drop(l)
	}
	l.host.spare.end(ctx)
	l.host.removeFolder()
}
