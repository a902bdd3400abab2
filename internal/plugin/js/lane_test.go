// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/plugin"
)

// holders counts the modules that have a lane.
func holders(list []*module) (n int) {
	for _, m := range list {
		if m.turns.lane.Load() != nil {
			n++
		}
	}
	return n
}

// TestLanes lets more plugins compute without end than there are lanes: all of them make progress,
// no more than one has a lane at once, calls that wait for one end in time, and a plugin that
// computes for a moment needs none.
func TestLanes(t *testing.T) {
	h, _ := newHost(t, Options{Lanes: 1})
	var modules []*module
	for range 3 {
		modules = append(modules, load(t, h, script("let endless = true;", "transform() { for (let i = 0; endless || i < 1e6; i++); }\n count(n) { endless = false; return 1; }")))
	}
	quick := load(t, h, script("", "count(n) { return 7; }"))
	ctx, cancel := context.WithCancelCause(t.Context())
	var calls sync.WaitGroup
	for _, m := range modules {
		calls.Go(func() {
			if _, err := m.Extensions()[0].Call(ctx, transform, []any{messageRequest("x")}, new(plugin.ClientRequest)); !errors.Is(err, context.Canceled) {
				t.Errorf("the call ended with %v", err)
			}
		})
	}
	eventually(t, "plugins that wait for the lane", func() bool { return h.lanes.waits() == 2 })
	had := map[*module]bool{}
	eventually(t, "a lane for each", func() bool {
		for _, m := range modules {
			if m.turns.lane.Load() != nil {
				had[m] = true
			}
		}
		return len(had) == len(modules)
	})
	var n int32
	if _, err := quick.Extensions()[0].Call(t.Context(), count, []any{int64(0)}, &n); err != nil || n != 7 {
		t.Errorf("a short call says %d, %v", n, err)
	}
	cancel(nil)
	calls.Wait()
	eventually(t, "the lane is free", func() bool {
		h.lanes.mu.Lock()
		defer h.lanes.mu.Unlock()
		return h.lanes.free == 1 && len(h.lanes.waiting) == 0 && holders(modules) == 0
	})
	// All of them come to an end if they have one.
	for _, m := range modules {
		if _, err := m.Extensions()[0].Call(t.Context(), count, []any{int64(0)}, &n); err != nil {
			t.Error(err)
		}
		calls.Go(func() {
			if _, err := m.Extensions()[0].Call(t.Context(), transform, []any{messageRequest("x")}, new(plugin.ClientRequest)); err != nil {
				t.Errorf("a plugin that computes for long: %v", err)
			}
		})
	}
	calls.Wait()
}

// TestLaneOfStuckEngine passes the lane of an engine on that is in a function which never asks, and
// takes it away from one that is given up.
func TestLaneOfStuckEngine(t *testing.T) {
	h, log := newHost(t, Options{Lanes: 1, StuckLimit: 100 * time.Millisecond})
	stuck := load(t, h, script("", `transform() {
		for (let i = 0, end = Date.now() + 20; i < 1e5 || Date.now() < end; i++);
		console.log('never asks from now on');
		return Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1);
	}`))
	other := load(t, h, script("", "transform() { for (;;); }"))
	call := func(ctx context.Context, m *module) {
		_, _ = m.Extensions()[0].Call(ctx, transform, []any{messageRequest("x")}, new(plugin.ClientRequest))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calls sync.WaitGroup
	calls.Go(func() { call(ctx, stuck) })
	eventually(t, "the lane of the engine that never asks", func() bool {
		return stuck.turns.lane.Load() != nil && strings.Contains(log.String(), "never asks from now on")
	})
	until, end := context.WithCancel(t.Context())
	defer end()
	calls.Go(func() { call(until, other) })
	eventually(t, "the lane of the other engine", func() bool { return other.turns.lane.Load() != nil })
	end()
	cancel()
	calls.Wait()
	eventually(t, "the end of the engine that never asks", func() bool { return stuck.Err() != nil && stuck.turns.lane.Load() == nil })
}
