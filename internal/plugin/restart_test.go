// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.org/app/internal/config"
)

// waitsForRestart is an extension whose host is started again while it is called: calls end with
// their context, or as then says.
func waitsForRestart(then func(ctx context.Context) error) functions {
	return transforms(func(ctx context.Context, _ *ClientRequest) (any, error) {
		NoteRestart(ctx)
		return nil, then(ctx)
	})
}

// TestRestartsAreNoFailures proves that calls which take too long only because they wait for a host
// that is started again quarantine nothing and do not count in the comparison of two versions. An
// extension that fails by itself after the wait is quarantined.
func TestRestartsAreNoFailures(t *testing.T) {
	synctest.Test(t, testRestartsAreNoFailures)
}

func testRestartsAreNoFailures(t *testing.T) {
	w := newWorld(t)
	w.set(func(s *config.Plugin) { s.Quarantine.Enabled, s.Quarantine.Failures = true, 3 })
	then := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	wait := waitsForRestart(func(ctx context.Context) error { return then(ctx) })
	p := w.add("one", wait)
	candidate := w.try("one", Split{Percentage: 50}, wait)
	both := func() {
		for id := range int64(20) {
			if _, err := w.transformFor(id); err == nil {
				t.Error("a call did not fail")
			}
		}
	}
	both()
	for _, p := range []*Plugin{p, candidate} {
		if got := p.Extensions()[0]; got.Quarantine != "" || got.Timeouts == 0 || got.LastFailure == nil {
			t.Errorf("the extension of version %s is %+v", p.Version, got)
		}
	}
	if active, own, _ := w.Trials.Readings("one"); active.Calls != 0 || own.Calls != 0 {
		t.Errorf("%d calls of the active version and %d of the candidate are compared", active.Calls, own.Calls)
	}

	then = func(context.Context) error { return nil }
	for id := range int64(20) {
		if _, err := w.transformFor(id); err != nil {
			t.Error(err)
		}
	}
	if active, own, _ := w.Trials.Readings("one"); active.Calls != 0 || own.Calls != 0 {
		t.Error("how long a call waits for a restart is compared")
	}

	then = func(context.Context) error { return errors.New("its own fault") }
	both()
	if got := p.Extensions()[0].Quarantine; got == "" {
		t.Error("an extension that fails after a restart is not quarantined")
	}
}

// TestRestartsAndShadows proves that copies of calls are not compared if the host of either version
// was started again.
func TestRestartsAndShadows(t *testing.T) {
	synctest.Test(t, testRestartsAndShadows)
}

func testRestartsAndShadows(t *testing.T) {
	w := newWorld(t)
	var activeFails, candidateFails error
	w.add("one", transforms(func(context.Context, *ClientRequest) (any, error) { return nil, activeFails }))
	w.try("one", Split{Percentage: 100, Shadow: true}, waitsForRestart(func(ctx context.Context) error {
		if candidateFails == nil {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}))
	activeFails = fmt.Errorf("lost: %w", ErrInterrupted)
	if _, err := w.transformFor(1); err == nil {
		t.Error("the call of the active version did not fail")
	}
	w.counted("one", ShadowCounts{Dropped: 1})
	activeFails, candidateFails = nil, context.DeadlineExceeded
	w.wantFor(1, 0)
	w.counted("one", ShadowCounts{Dropped: 2})
}

// TestNoteRestartElsewhere proves that a context that is not of a call can be told as well.
func TestNoteRestartElsewhere(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	NoteRestart(ctx)
	if ctx.Err() != nil {
		t.Error(ctx.Err())
	}
}
