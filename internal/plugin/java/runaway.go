// SPDX-License-Identifier: Apache-2.0

package java

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"example.org/app/internal/plugin"
)

// A runaway is abandoned work that does not end, and that only the end of its JVM stops.
type runaway struct {
	// module is the module with the work; nil if the plugin with the id was unloaded.
	module *module
	id     string
	how    string
}

func (r runaway) plugin() string {
	if r.module != nil {
		return r.module.descriptor.ID
	}
	return r.id
}

const (
	// movesWindow is the period in which a slot moves its plugins at most maxMoves times, and in
	// which a plugin's runaway work is counted; at maxRunaways the plugin is taken out of
	// service.
	movesWindow = 10 * time.Minute
	maxMoves    = 3
	maxRunaways = 3
)

// recent removes the times older than movesWindow.
func recent(list []time.Time, now time.Time) []time.Time {
	return slices.DeleteFunc(list, func(t time.Time) bool { return now.Sub(t) > movesWindow })
}

// ending starts removing runaway work, unless that is in progress.
func (s *session) ending(found []runaway) {
	if len(found) == 0 || s.host.opts.Debug.Port != 0 {
		return
	}
	l := s.slot.Load()
	if l == nil {
		return
	}
	l.host.mu.Lock()
	defer l.host.mu.Unlock()
	if l.host.closed || l.moving || l.current != s {
		return
	}
	l.moving = true
	l.host.work.Go(func() {
		l.rid(s, found)
		l.host.mu.Lock()
		l.moving = false
		l.host.mu.Unlock()
	})
}

// rid removes runaway work. The JVM of a single plugin is restarted. Otherwise the other
// plugins move to a fresh JVM before the old one is stopped, and the culprit gets its own, if
// allowed. A repeated culprit is taken out of service, and the number of moves is limited.
func (l *slot) rid(s *session, found []runaway) {
	h := l.host
	now := time.Now()
	h.mu.Lock()
	l.moves = recent(l.moves, now)
	alone := l.own && len(l.modules) == 1 && slices.ContainsFunc(found, func(r runaway) bool { return r.module != nil })
	move := !alone && len(l.moves) < maxMoves
	var benched []runaway
	for _, r := range found {
		m := r.module
		if m == nil || !slices.Contains(l.modules, m) {
			continue
		}
		m.runaways = append(recent(m.runaways, now), now)
		switch {
		case len(m.runaways) >= maxRunaways, !move && !alone:
			benched = append(benched, r)
		case alone, h.opts.Isolation != Auto, len(h.slots)-1 >= h.opts.MaxOwn:
		default:
			l.expel(m, "its work does not end")
		}
	}
	if move {
		l.moves = append(l.moves, now)
	}
	h.mu.Unlock()
	for _, r := range found {
		h.opts.Log.Warn("work of a plugin does not end", slog.String("plugin", r.plugin()), slog.String("work", r.how), slog.Bool("moves", move))
	}
	for _, r := range benched {
		why := fmt.Sprintf("the Java host had to be ended %d times within %s to get rid of its work, the last time because of %s", len(r.module.runaways), movesWindow, r.how)
		r.module.bench(errors.New(why))
		h.opts.Log.Error("a plugin does not come back because its work does not end", slog.String("plugin", r.plugin()), slog.String("reason", why))
		h.opts.Broken(r.module, "", why, false)
	}
	switch {
	case alone:
		at := slices.IndexFunc(found, func(r runaway) bool { return r.module != nil })
		s.culprit.CompareAndSwap(nil, &culprit{found[at].module, found[at].how})
		_ = s.cmd.Process.Kill() // It may have exited already.
	case move:
		if err := l.replace(s); err != nil {
			h.opts.Log.Error("there is no fresh JVM that plugins could move to; the old one is ended", slog.Any("error", err))
			_ = s.cmd.Process.Kill()
		}
	}
}

// expel moves a module to its own slot and starts its JVM. why is for the log. The caller must
// hold l.host.mu.
func (l *slot) expel(m *module, why string) {
	to := l.host.add()
	l.modules = slices.DeleteFunc(slices.Clone(l.modules), func(other *module) bool { return other == m })
	to.modules = append(to.modules, m)
	m.slot.Store(to)
	l.host.opts.Log.Warn("a plugin gets a JVM of its own", slog.String("plugin", m.descriptor.ID), slog.String("because", why))
	to.begin(0)
}

// thinOut checks whether a JVM uses more memory, without garbage, than one plugin may, and moves
// the plugin with the most allocations to its own JVM: in a shared JVM the memory of a plugin is
// unknown.
func (s *session) thinOut() {
	l := s.slot.Load()
	if l == nil {
		return
	}
	limit := s.host.opts.MaxMemory()
	move := l.mayExpel(s)
	if limit <= 0 || s.heap() <= limit || !move && !l.isSingle(s) {
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, silentTime)
	defer cancel()
	if err := s.measure(ctx, true); err != nil || s.heap() <= limit || !move {
		return
	}
	l.host.mu.Lock()
	defer l.host.mu.Unlock()
	list := l.returning()
	if l.host.closed || len(list) < 2 {
		return
	}
	m := slices.MaxFunc(list, func(a, b *module) int { return cmp.Compare(a.allocated.Load(), b.allocated.Load()) })
	l.expel(m, fmt.Sprintf("the JVM that it shares holds more than the %d bytes that one plugin may hold", limit))
}

// heap returns the last known used heap.
func (s *session) heap() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats.HeapUsed
}

// mayExpel reports whether a plugin of the slot's session can get its own JVM.
func (l *slot) mayExpel(s *session) bool {
	h := l.host
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.opts.Isolation == Auto && !h.closed && !l.moving && l.current == s && len(l.returning()) > 1 && len(h.slots)-1 < h.opts.MaxOwn
}

// isSingle reports whether the slot has the session and only one plugin.
func (l *slot) isSingle(s *session) bool {
	l.host.mu.Lock()
	defer l.host.mu.Unlock()
	return l.current == s && len(l.modules) == 1
}

// replace starts a fresh JVM, moves the modules of the slot to it, and stops the old one.
func (l *slot) replace(old *session) error {
	h := l.host
	fresh, err := l.renew()
	if err != nil {
		return err
	}
	h.mu.Lock()
	if h.closed || l.current != old || fresh.gone {
		h.mu.Unlock()
		fresh.stop(context.WithoutCancel(h.ctx))
		return nil // The old JVM died or is no longer needed, which is handled elsewhere.
	}
	l.current = fresh
	h.mu.Unlock()
	for moved := map[*module]bool{}; ; {
		list := l.staying(old, moved)
		if len(list) == 0 && !old.awaitLoads(h.ctx) {
			break
		}
		var wg sync.WaitGroup
		for _, m := range list {
			moved[m] = true
			wg.Go(func() { m.moveTo(fresh) })
		}
		wg.Wait()
	}
	h.mu.Lock()
	old.gone = true
	h.mu.Unlock()
	old.stop(context.WithoutCancel(h.ctx))
	for _, m := range l.staying(old, nil) { // Those loaded at the last moment.
		m.comeBack(fresh)
	}
	l.host.opts.Log.Info("plugins moved to a fresh JVM", slog.Int("pid", fresh.cmd.Process.Pid), slog.Int("from", old.cmd.Process.Pid))
	return nil
}

// staying returns the slot's modules that are bound to a session and not in moved.
func (l *slot) staying(s *session, moved map[*module]bool) []*module {
	l.host.mu.Lock()
	defer l.host.mu.Unlock()
	return slices.DeleteFunc(l.returning(), func(m *module) bool {
		b := m.binding.Load()
		return moved[m] || b == nil || b.session != s
	})
}

// awaitLoads waits while plugins are being loaded into a session, up to endTime. It returns
// false if none was, or not all were loaded in time.
func (s *session) awaitLoads(ctx context.Context) bool {
	if s.loads.Load() == 0 {
		return false
	}
	for end := time.Now().Add(endTime); s.loads.Load() > 0; {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return false
		}
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// moveTo loads the plugin into another JVM, restores the states of its extensions there, switches
// calls to it, and stops the extensions in the old JVM when their calls have ended; if the old JVM
// continues, the plugin is unloaded there. Hooks wait meanwhile.
func (m *module) moveTo(s *session) {
	m.mu.Lock()
	old := m.binding.Load()
	if m.closed || m.benched.Load() != nil || old == nil || old.session == s {
		m.mu.Unlock()
		return
	}
	old.hooks.Lock()
	wanted, leave := m.wanted(s)
	defer leave()
	started := make([]bool, len(m.extensions))
	for i, x := range m.extensions {
		started[i] = x.isUp()
	}
	b, err := m.enter(wanted, s)
	if err == nil {
		var wg sync.WaitGroup
		for i, x := range m.extensions {
			wg.Go(func() {
				err := x.comeBack(wanted, b)
				if err != nil && wanted.Err() == nil && started[i] {
					// It may need an exclusive resource, such as a port.
					x.end(m.host, old)
					started[i] = false
					err = x.comeBack(wanted, b)
				}
				if err != nil && wanted.Err() == nil {
					m.lost(x, fmt.Errorf("the extension could not be started in another JVM: %w", err))
				}
			})
		}
		wg.Wait()
	}
	switch {
	case s.ctx.Err() != nil: // The starter of the next JVM restores the module there.
	case err == nil:
		m.settle(b)
	case wanted.Err() == nil:
		why := fmt.Errorf("the plugin could not be loaded into another JVM: %w", err)
		m.bench(why)
		m.host.opts.Broken(m, "", why.Error(), true)
	}
	old.hooks.Unlock()
	m.mu.Unlock()
	if s.ctx.Err() != nil {
		return
	}
	old.conn.awaitIdle(wanted, m)
	var wg sync.WaitGroup
	for i, x := range m.extensions {
		if started[i] {
			wg.Go(func() { x.end(m.host, old) })
		}
	}
	wg.Wait()
	m.host.mu.Lock()
	stays := old.slot.Load().current == old.session
	m.host.mu.Unlock()
	if stays {
		m.unload(context.Background(), old)
	}
}

// end stops the extension in its former JVM.
func (x *extension) end(h *Host, b *binding) {
	ctx, cancel := h.limit(b.session.ctx)
	defer cancel()
	if err := x.runIn(ctx, b, plugin.Stop); err != nil && b.session.ctx.Err() == nil {
		x.module.log.Warn("an extension could not be stopped in the JVM that it left", slog.String("extension", x.class), slog.Any("error", err))
	}
}

// isUp reports whether the extension is started or paused.
func (x *extension) isUp() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.state == plugin.Started || x.state == plugin.Paused
}

// idleTime is the time limit for the calls of a moved plugin to end in its former JVM.
const idleTime = 30 * time.Second

// awaitIdle waits, up to idleTime, until no request for a module is pending.
func (c *conn) awaitIdle(ctx context.Context, m *module) {
	ctx, cancel := context.WithTimeout(ctx, idleTime)
	defer cancel()
	for slices.Contains(c.suspects(), m) {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}
