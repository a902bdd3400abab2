// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A TimeoutError means that a call exceeded its time limit.
type TimeoutError struct{ Limit time.Duration }

func (e *TimeoutError) Error() string { return fmt.Sprintf("took longer than %s", e.Limit) }

// Unwrap makes it a context.DeadlineExceeded.
func (e *TimeoutError) Unwrap() error { return context.DeadlineExceeded }

type heldKey struct{}

// HeldOf returns the clock of a context's call, or nil.
func HeldOf(ctx context.Context) Held {
	if h := limitedOf(ctx); h != nil {
		return h
	}
	return nil
}

func limitedOf(ctx context.Context) *limited {
	h, _ := ctx.Value(heldKey{}).(*limited)
	return h
}

// limited is the context of a call, which ends when the call has run for its limit, not counting
// the time that a debugger paused it. Most calls end long before, without anybody waiting for the
// context, so its channel and timer are created on demand.
type limited struct {
	context.Context // the parent
	limit           time.Duration
	begin           time.Time
	// restarted is true if the call waited for a restart, see NoteRestart.
	restarted atomic.Bool

	mu    sync.Mutex
	done  chan struct{} // nil until somebody waits
	timer *time.Timer
	leave func() bool // stops waiting for the parent
	err   error
	cause error
	holds int
	since time.Time // of the current pause
	total time.Duration
}

// withLimit returns a context that ends after the limit, or when it is cancelled.
func withLimit(ctx context.Context, limit time.Duration) *limited {
	return &limited{Context: ctx, limit: limit, begin: time.Now()}
}

// Value implements context.Context.
func (h *limited) Value(key any) any {
	if key == (heldKey{}) {
		return h
	}
	return h.Context.Value(key)
}

// Err implements context.Context.
func (h *limited) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return h.err
	}
	if err := h.Context.Err(); err != nil {
		h.end(err, context.Cause(h.Context))
	} else if h.left() <= 0 {
		h.end(context.DeadlineExceeded, &TimeoutError{h.limit})
	}
	return h.err
}

// Done implements context.Context.
func (h *limited) Done() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done != nil {
		return h.done
	}
	h.done = make(chan struct{})
	if h.err != nil {
		close(h.done)
		return h.done
	}
	look := func() { _ = h.Err() }
	h.leave = context.AfterFunc(h.Context, look)
	h.timer = time.AfterFunc(max(h.left(), 0), look)
	if h.holds > 0 {
		h.timer.Stop()
	}
	return h.done
}

// left returns the rest of the limit.
func (h *limited) left() time.Duration { return h.limit - time.Since(h.begin) + h.held() }

// held returns how long the clock was stopped.
func (h *limited) held() time.Duration {
	if h.holds == 0 {
		return h.total
	}
	return h.total + time.Since(h.since)
}

// end ends the context.
func (h *limited) end(err, cause error) {
	if h.err != nil {
		return
	}
	h.err, h.cause = err, cause
	if h.done != nil {
		close(h.done)
		h.timer.Stop()
		h.leave()
	}
}

// cancel ends the context, and returns how long the clock ran.
func (h *limited) cancel() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end(context.Canceled, context.Canceled)
	return time.Since(h.begin) - h.held()
}

// Hold stops the clock until release is called.
func (h *limited) Hold() (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holds++; h.holds == 1 {
		h.since = time.Now()
		if h.timer != nil {
			h.timer.Stop()
		}
	}
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.holds--; h.holds > 0 {
			return
		}
		h.total += time.Since(h.since)
		if h.timer != nil && h.err == nil {
			h.timer.Reset(max(h.left(), 0))
		}
	})
}

// Total returns how long the clock was stopped.
func (h *limited) Total() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held()
}

// causeOf returns the cause of a call's failure: the end of its context, if that caused it.
func causeOf(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if h := limitedOf(ctx); h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.cause != nil {
			return h.cause
		}
	}
	return context.Cause(ctx)
}

var (
	_ context.Context = (*limited)(nil)
	_ Held            = (*limited)(nil)
)
