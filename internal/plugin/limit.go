// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// A TimeoutError is a call that took longer than its limit.
type TimeoutError struct{ Limit time.Duration }

func (e *TimeoutError) Error() string { return fmt.Sprintf("took longer than %s", e.Limit) }

// Unwrap makes it a context.DeadlineExceeded.
func (e *TimeoutError) Unwrap() error { return context.DeadlineExceeded }

type heldKey struct{}

// HeldOf returns the clock of the call that a context belongs to, or nil.
func HeldOf(ctx context.Context) Held {
	h, _ := ctx.Value(heldKey{}).(*hold)
	if h == nil {
		return nil
	}
	return h
}

// hold is the Held of a call. Its context ends when the call has run for the limit, not counting the time in which a
// debugger held it.
type hold struct {
	cancel context.CancelCauseFunc
	limit  time.Duration
	timer  *time.Timer

	mu    sync.Mutex
	holds int
	since time.Time
	total time.Duration
	left  time.Duration // of the limit, when the timer was last started
	start time.Time     // when the timer was last started
	ended bool
}

// withLimit returns a context that ends after the limit.
func withLimit(ctx context.Context, limit time.Duration) (context.Context, *hold, context.CancelFunc) {
	h := &hold{limit: limit, left: limit, start: time.Now()}
	ctx, h.cancel = context.WithCancelCause(context.WithValue(ctx, heldKey{}, h))
	h.timer = time.AfterFunc(limit, func() { h.cancel(&TimeoutError{limit}) })
	return ctx, h, func() {
		h.mu.Lock()
		h.ended = true
		h.mu.Unlock()
		h.timer.Stop()
		h.cancel(context.Canceled)
	}
}

// Hold stops the clock until release is called.
func (h *hold) Hold() (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holds++; h.holds == 1 {
		h.since = time.Now()
		if h.timer.Stop() {
			h.left -= h.since.Sub(h.start)
		}
	}
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.holds--; h.holds > 0 {
			return
		}
		now := time.Now()
		h.total += now.Sub(h.since)
		if !h.ended {
			h.start = now
			h.timer.Reset(max(h.left, 0))
		}
	})
}

// Total is how long the clock stood.
func (h *hold) Total() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	total := h.total
	if h.holds > 0 {
		total += time.Since(h.since)
	}
	return total
}

// causeOf is why a call really failed: what ended its context, if that did it.
func causeOf(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}
