// SPDX-License-Identifier: Apache-2.0

package java

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"example.org/app/internal/sleep"
)

// A spare is a JVM without plugins that is kept for the next one that is needed, because starting a JVM takes much longer
// than loading plugins into it. It has loaded the classes that plugins need of the host, see warmUp. The mutex of the host guards
// it.
type spare struct {
	// session is the JVM, once it is up. Its slot is nil.
	session *session
	// coming says that somebody waits to start one, or starts it.
	coming bool
	// starting is closed when the JVM that is being started is up, or failed; nil if none is. awaited says that a slot waits for it.
	starting chan struct{}
	awaited  bool
	// failures is how many in a row did not start or died.
	failures int
}

// maxSpareDelay is how long the host waits at most before it starts a spare after others failed.
const maxSpareDelay = 5 * time.Minute

// wantSpare begins to start a spare JVM after a while, unless there is one. The host is locked.
func (h *Host) wantSpare() {
	if !h.opts.Spare || h.closed || h.spare.coming || h.spare.session != nil {
		return
	}
	h.spare.coming = true
	h.work.Go(h.bringSpare)
}

// bringSpare starts a spare JVM, and tries again with back-off until it succeeds or no plugin is left.
func (h *Host) bringSpare() {
	for {
		h.mu.Lock()
		delay := min(h.opts.SpareDelay<<min(h.spare.failures, 10), maxSpareDelay)
		h.mu.Unlock()
		_ = sleep.For(h.ctx, delay)
		h.mu.Lock()
		if h.closed || !h.hasPlugins() {
			h.spare.coming = false
			h.mu.Unlock()
			return
		}
		started := make(chan struct{})
		h.spare.starting = started
		h.mu.Unlock()
		s, err := h.open(nil)
		if err == nil {
			h.warmUp(s)
		}
		kept := h.keepSpare(s)
		close(started)
		switch {
		case kept:
			return
		case err != nil:
			if h.ctx.Err() == nil {
				h.opts.Log.Warn("a spare JVM could not be started", slog.Any("error", err))
			}
		default:
			s.stop(context.WithoutCancel(h.ctx)) // It died or nobody needs it any more.
			h.removeFolder()
		}
	}
}

// keepSpare keeps a session as the spare if it is of use.
func (h *Host) keepSpare(s *session) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spare.starting, h.spare.awaited = nil, false
	if s == nil || s.gone {
		h.spare.failures++
		return false
	}
	if h.closed || !h.hasPlugins() {
		return false
	}
	h.spare.session, h.spare.coming = s, false
	return true
}

// hasPlugins reports whether there are plugins for which a spare is kept. The host is locked.
func (h *Host) hasPlugins() bool {
	return slices.ContainsFunc(h.slots, func(l *slot) bool { return len(l.modules) > 0 })
}

// takeSpare gives the spare JVM to a slot, and waits for one that is being started. It returns nil if there is none, or if it
// is for others: those that are not suspected of having ended their JVM go first.
func (h *Host) takeSpare(l *slot) *session {
	h.mu.Lock()
	if l.own && h.shared.isAway() {
		h.mu.Unlock()
		return nil
	}
	if started := h.spare.starting; started != nil && !h.spare.awaited {
		h.spare.awaited = true
		h.mu.Unlock()
		<-started
		h.mu.Lock()
	}
	s := h.spare.session
	if s == nil || h.closed {
		h.mu.Unlock()
		return nil
	}
	h.spare.session, h.spare.failures = nil, 0
	s.slot.Store(l)
	h.wantSpare()
	h.mu.Unlock()
	// Whatever ended the JVM of the slot may have ended this one, too, or keeps it from answering.
	if after, silent := s.ask(silentSpareTime); silent {
		s.endSilent(after)
	} else if s.ctx.Err() == nil {
		return s
	}
	<-s.over
	return nil
}

// hasSpare reports whether a spare JVM is ready.
func (h *Host) hasSpare() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.spare.session != nil
}

// endSpare ends the spare JVM if no plugin is left, or the host is closed.
func (h *Host) endSpare(ctx context.Context) {
	h.mu.Lock()
	s := h.spare.session
	if s == nil || !h.closed && h.hasPlugins() {
		h.mu.Unlock()
		return
	}
	h.spare.session = nil
	h.mu.Unlock()
	s.stop(context.WithoutCancel(ctx))
}

// lostSpare reports whether a session that died was the spare, which is then replaced. The host is locked.
func (h *Host) lostSpare(s *session) bool {
	if h.spare.session == s {
		h.spare.session = nil
		h.spare.failures++
		h.opts.Log.Warn("the spare JVM died", slog.Any("error", s.why))
		h.wantSpare()
		return true
	}
	return s.slot.Load() == nil // It is being started.
}
