// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"
	"log/slog"
	"time"

	"example.org/app/internal/sleep"
)

// A spare is an idle JVM, kept ready because starting a JVM takes much longer than loading plugins
// into it. It has loaded the host's classes that plugins need, see warmUp. The mutex of the host
// guards it.
type spare struct {
	host *Host
	// session is the running JVM. Its slot is nil.
	session *session
	// coming is true while a spare is scheduled or starting.
	coming bool
	// starting is closed when the starting JVM is up, or failed; nil if none is. awaited is true if
	// a slot waits for it.
	starting chan struct{}
	awaited  bool
	// failures is the number of successive failed starts or deaths.
	failures int
}

// maxSpareDelay is the maximum pause before a spare is started after failures.
const maxSpareDelay = 5 * time.Minute

// want schedules the start of a spare JVM, unless one exists or is scheduled. The caller must
// hold the host's mutex.
func (p *spare) want() {
	h := p.host
	if !h.opts.Spare || h.closed || p.coming || p.session != nil {
		return
	}
	p.coming = true
	h.work.Go(p.bring)
}

// bring starts a spare JVM. It retries with back-off until it succeeds or no plugin is left.
func (p *spare) bring() {
	h := p.host
	for {
		h.mu.Lock()
		delay := min(h.opts.SpareDelay<<min(p.failures, 10), maxSpareDelay)
		h.mu.Unlock()
		_ = sleep.For(h.ctx, delay)
		h.mu.Lock()
		if h.closed || !h.hasPlugins() {
			p.coming = false
			h.mu.Unlock()
			return
		}
		started := make(chan struct{})
		p.starting = started
		h.mu.Unlock()
		s, err := h.open(nil)
		if err == nil {
			p.warmUp(s)
		}
		kept := p.keep(s)
		close(started)
		switch {
		case kept:
			return
		case err != nil:
			if h.ctx.Err() == nil {
				h.opts.Log.Warn("a spare JVM could not be started", slog.Any("error", err))
			}
		default:
			s.stop(context.WithoutCancel(h.ctx)) // It died or is no longer needed.
			h.removeFolder()
		}
	}
}

// keep keeps a session as the spare if it is useful.
func (p *spare) keep(s *session) bool {
	h := p.host
	h.mu.Lock()
	defer h.mu.Unlock()
	p.starting, p.awaited = nil, false
	if s == nil || s.gone {
		p.failures++
		return false
	}
	if h.closed || !h.hasPlugins() {
		return false
	}
	p.session, p.coming = s, false
	return true
}

// take gives the spare JVM, or the one that is starting, to a slot. It returns nil if there is
// none, or if it is reserved: slots without suspects go first.
func (p *spare) take(l *slot) *session {
	h := p.host
	h.mu.Lock()
	if l.own && h.shared.isAway() {
		h.mu.Unlock()
		return nil
	}
	if started := p.starting; started != nil && !p.awaited {
		p.awaited = true
		h.mu.Unlock()
		<-started
		h.mu.Lock()
	}
	s := p.session
	if s == nil || h.closed {
		h.mu.Unlock()
		return nil
	}
	p.session, p.failures = nil, 0
	s.slot.Store(l)
	p.want()
	h.mu.Unlock()
	// What ended the slot's JVM may have ended this one, too, or made it unresponsive.
	if after, silent := s.ask(silentSpareTime); silent {
		s.endSilent(after)
	} else if s.ctx.Err() == nil {
		return s
	}
	<-s.over
	return nil
}

// isReady reports whether a spare JVM is ready.
func (p *spare) isReady() bool {
	h := p.host
	h.mu.Lock()
	defer h.mu.Unlock()
	return p.session != nil
}

// end stops the spare JVM if no plugin is left, or the host is closed.
func (p *spare) end(ctx context.Context) {
	h := p.host
	h.mu.Lock()
	s := p.session
	if s == nil || !h.closed && h.hasPlugins() {
		h.mu.Unlock()
		return
	}
	p.session = nil
	h.mu.Unlock()
	s.stop(context.WithoutCancel(ctx))
}

// lost reports whether a dead session was the spare, and replaces it. The caller must hold the
// host's mutex.
func (p *spare) lost(s *session) bool {
	h := p.host
	if p.session == s {
		p.session = nil
		p.failures++
		h.opts.Log.Warn("the spare JVM died", slog.Any("error", s.why))
		p.want()
		return true
	}
	return s.slot.Load() == nil // It is being started.
}

// warmUp loads, starts, calls and unloads the warm-up plugin in an idle JVM. The first plugin and
// the first call of a JVM take a few hundred milliseconds, because most classes of the host and of
// the client protocol are loaded; the next ones take a few. It stops early if a slot waits for the
// JVM.
func (p *spare) warmUp(s *session) {
	h := p.host
	begin := time.Now()
	ctx, cancel := context.WithTimeout(h.ctx, warmupTime)
	defer cancel()
	if err := runWarmup(ctx, s, h.keep, p.isAwaited); err != nil {
		if s.ctx.Err() == nil && h.ctx.Err() == nil {
			h.opts.Log.Warn("a spare JVM could not be warmed up", slog.Any("error", err))
		}
		return
	}
	h.opts.Log.Debug("a spare JVM is warm", slog.Int("pid", s.cmd.Process.Pid), slog.Duration("took", time.Since(begin)))
}

// isAwaited reports whether a slot waits for the spare JVM that is being started.
func (p *spare) isAwaited() bool {
	h := p.host
	h.mu.Lock()
	defer h.mu.Unlock()
	return p.awaited
}
