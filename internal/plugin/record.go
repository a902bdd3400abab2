// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/apierr"
)

// A Failed is the last failure of an extension.
type Failed struct {
	// In is the method or the hook.
	In    string
	Error string
	At    time.Time
}

// Statistics are the statistics of an extension.
type Statistics struct {
	Calls, Errors, Timeouts int64
	// LastFailure is nil if nothing failed.
	LastFailure *Failed
	// Quarantine is why the extension cannot run although it should; empty if it can, or need not.
	Quarantine string
}

// record collects the statistics of an extension.
type record struct {
	// observe is called after every call. It may be nil.
	observe func(method *Method, d time.Duration, outcome string)
	// meter is the plugin's. It may be nil, or point to nil.
	meter *atomic.Pointer[meter]
	// failing is called after each failure with the number of successive ones.
	failing func(inARow int64, err error)

	calls atomic.Int64
	// inARow is the number of successive failures.
	inARow atomic.Int64
	// down is why the extension cannot run although it should; nil if it can.
	down  atomic.Pointer[string]
	mu    sync.Mutex
	stats Statistics // without the calls and the quarantine
}

// The outcomes of a call.
const (
	outcomeOK      = "ok"
	outcomeRefused = "refused"
	outcomeError   = "error"
	outcomeTimeout = "timeout"
)

// outcomeOf returns the outcome of a call. A refusal is no failure.
func outcomeOf(err error) string {
	switch _, refused := errors.AsType[*apierr.Error](err); {
	case err == nil:
		return outcomeOK
	case refused:
		return outcomeRefused
	case errors.Is(err, context.DeadlineExceeded):
		return outcomeTimeout
	}
	return outcomeError
}

// note records a call. One that the server cancelled does not count, nor does an interrupted one.
// If restarted is true, the duration is ignored because it includes a restart.
func (r *record) note(method *Method, d time.Duration, err error, restarted bool) {
	if errors.Is(err, context.Canceled) {
		return
	}
	outcome := outcomeOf(err)
	if r.observe != nil {
		r.observe(method, d, outcome)
	}
	interrupted := errors.Is(err, ErrInterrupted)
	if r.meter != nil && !interrupted && (!restarted || outcome == outcomeError) {
		if meter := r.meter.Load(); meter != nil {
			meter.note(method, d, outcome)
		}
	}
	r.calls.Add(1)
	if outcome != outcomeError && outcome != outcomeTimeout {
		if r.inARow.Load() != 0 {
			r.inARow.Store(0)
		}
		return
	}
	r.mu.Lock()
	if outcome == outcomeTimeout {
		r.stats.Timeouts++
	} else {
		r.stats.Errors++
	}
	r.stats.LastFailure = &Failed{In: method.Point.Name + "." + method.Name, Error: err.Error(), At: time.Now().UTC()}
	var inARow int64
	if !interrupted {
		inARow = r.inARow.Add(1)
	}
	r.mu.Unlock()
	if r.failing != nil && !interrupted {
		r.failing(inARow, err)
	}
}

// fail records a failure outside of a call.
func (r *record) fail(in string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.LastFailure = &Failed{In: in, Error: err.Error(), At: time.Now().UTC()}
}

// quarantine sets why the extension cannot run although it should; "" lifts the quarantine.
func (r *record) quarantine(why string) {
	r.inARow.Store(0)
	if why == "" {
		r.down.Store(nil)
	} else {
		r.down.Store(&why)
	}
}

func (r *record) statistics() Statistics {
	r.mu.Lock()
	defer r.mu.Unlock()
	stats := r.stats
	stats.Calls = r.calls.Load()
	if why := r.down.Load(); why != nil {
		stats.Quarantine = *why
	}
	return stats
}
