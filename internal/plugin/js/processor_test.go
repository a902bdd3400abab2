// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/plugin"
)

// added is how many processors the Go scheduler has because of a host; -1 if it has not got them.
// Others may have added some, too.
func added(h *Host) int {
	h.crew.mu.Lock()
	defer h.crew.mu.Unlock()
	processors.mu.Lock()
	defer processors.mu.Unlock()
	if processors.added > 0 && runtime.GOMAXPROCS(0) != processors.own+processors.added {
		return -1
	}
	return h.crew.added
}

// TestProcessors adds a processor to the Go scheduler for each engine that computes, and takes it
// away again.
func TestProcessors(t *testing.T) {
	h, _ := newHost(t, Options{Lanes: 2})
	quick := load(t, h, script("", "count(n) { return 7; }"))
	var n int32
	if _, err := quick.Extensions()[0].Call(t.Context(), count, []any{int64(0)}, &n); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calls sync.WaitGroup
	for range 2 {
		m := load(t, h, script("", "transform() { for (;;); }"))
		calls.Go(func() {
			_, _ = m.Extensions()[0].Call(ctx, transform, []any{messageRequest("x")}, new(plugin.ClientRequest))
		})
	}
	eventually(t, "processors for both", func() bool { return added(h) == 2 })
	cancel()
	calls.Wait()
	eventually(t, "the processors are gone", func() bool { return added(h) == 0 })
}

// TestProcessorsOfHostThatEnds takes away what was added for an engine of a host that is closed.
func TestProcessorsOfHostThatEnds(t *testing.T) {
	h, _ := newHost(t, Options{})
	m := load(t, h, script("", "transform() { for (;;); }"))
	var calls sync.WaitGroup
	calls.Go(func() {
		_, _ = m.Extensions()[0].Call(t.Context(), transform, []any{messageRequest("x")}, new(plugin.ClientRequest))
	})
	eventually(t, "a processor for the engine", func() bool { return added(h) == 1 })
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	calls.Wait()
	eventually(t, "the processor is gone", func() bool { return added(h) == 0 })
}

// TestProcessorsForShortTurns adds a processor to the Go scheduler for an engine that computes for
// long, a short turn at a time.
func TestProcessorsForShortTurns(t *testing.T) {
	h, _ := newHost(t, Options{})
	m := load(t, h, script("", `
  start() {
    const f = () => { for (const end = Date.now() + 1; Date.now() <= end;); setTimeout(f, 0); };
    f();
  }`))
	if err := m.Extensions()[0].Hook(t.Context(), plugin.Start); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a processor for the engine", func() bool { return added(h) == 1 })
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
	eventually(t, "the processor is gone", func() bool { return added(h) == 0 })
}

// TestDemand proves that work which needs less than half a processor is not taken for more,
// whatever its parts are.
func TestDemand(t *testing.T) {
	for _, c := range []struct {
		took, rest time.Duration
		high       bool
	}{
		{100 * time.Microsecond, 0, true},
		{time.Millisecond, 500 * time.Microsecond, true},
		{time.Millisecond, 1100 * time.Microsecond, false},
		{100 * time.Microsecond, time.Millisecond, false},
		{1900 * time.Microsecond, 4 * time.Millisecond, false},
	} {
		var d demand
		now := time.Unix(0, 0)
		high := false
		for range 1000 {
			now = now.Add(c.took)
			d.add(now, c.took)
			now = now.Add(c.rest)
			high = high || d.isHigh(now)
		}
		if high != c.high {
			t.Errorf("parts of %s and rests of %s: %v", c.took, c.rest, high)
		}
		if d.isHigh(now.Add(time.Hour)) {
			t.Error("work that ended long ago counts")
		}
	}
}
