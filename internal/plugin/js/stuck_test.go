// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/plugin"
)

// neverLook are functions of the engine that run for as long as their arguments say, without
// looking at the time.
var neverLook = map[string]string{
	"no prototype": `return Array.prototype.indexOf.call(Object.assign(Object.create(null), { length: 2 ** 53 - 1 }), 1);`,
	"text":         `const t = "a".repeat(4e6); return t.indexOf(t.slice(0, 2e6) + "b");`,
	"join":         `return Array(4294967295).join('-').length;`,
	"indexOf":      `return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);`,
	"includes":     `return Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1);`,
	"lastIndexOf":  `return Array(4294967295).lastIndexOf(1);`,
	"reverse":      `return Array.prototype.reverse.call({ length: 2 ** 53 - 1 });`,
	"sort":         `return Array.prototype.sort.call({ length: 2 ** 53 - 1 });`,
	"flat":         `return Array.prototype.flat.call({ length: 2 ** 53 - 1 });`,
	"concat":       `return [].concat({ length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true });`,
	"copyWithin":   `return Array.prototype.copyWithin.call({ length: 2 ** 53 - 1 }, 1, 0);`,
	"raw":          `return String.raw({ raw: { length: 2 ** 53 - 1 } });`,
}

// TestStuckEngine proves that a caller is answered at its deadline whatever the engine does, that
// the module is dead then, that closing it does not wait, and that the engine that was given up
// ends.
func TestStuckEngine(t *testing.T) {
	for name, code := range neverLook {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, log := newHost(t, Options{StuckLimit: 200 * time.Millisecond})
			m := load(t, h, script("", "transform() { "+code+" }\n count(n) { return 1; }"))
			x := m.Extensions()[0]
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := x.Call(ctx, transform, []any{messageRequest("x")}, new(plugin.ClientRequest))
			if _, thrown := errors.AsType[*plugin.Exception](err); thrown {
				return // It gave up by itself, as for want of memory.
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("the call ended with %v", err)
			}
			eventually(t, "the end of the turn or of the module", func() bool { return m.turns.count.Load()%2 == 0 || m.Err() != nil })
			if m.Err() == nil {
				return // It is bounded.
			}
			var n int32
			if _, err := x.Call(t.Context(), count, []any{int64(0)}, &n); !errors.Is(err, plugin.ErrDead) {
				t.Errorf("the next call ended with %v", err)
			}
			if err := m.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if !strings.Contains(log.String(), "transform() runs in a function of the engine that never looks at the time") {
				t.Errorf("the log says %s", log.String())
			}
			select {
			case <-m.ended:
			case <-time.After(time.Minute):
				t.Error("the engine that was given up goes on")
			}
		})
	}
}

// TestStuckTimer proves that an engine that is stuck in code that no call waits for is given up
// too.
func TestStuckTimer(t *testing.T) {
	h, _ := newHost(t, Options{StuckLimit: 100 * time.Millisecond, TurnLimit: 50 * time.Millisecond})
	m := load(t, h, script("", "start() { setTimeout(() => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1), 0); }"))
	if err := m.Extensions()[0].Hook(t.Context(), plugin.Start); err != nil {
		t.Fatal(err)
	}
	select {
	case <-m.Died():
	case <-time.After(time.Minute):
		t.Fatal("it lives on")
	}
	<-m.ended
}

// TestStuckLoading proves that loading ends in time even if the engine does not.
func TestStuckLoading(t *testing.T) {
	h, _ := newHost(t, Options{StuckLimit: 100 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := h.Load(ctx, script("Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);", ""))
	// A slow machine may notice that the engine is stuck before it notices the time.
	if err == nil || !strings.Contains(err.Error(), "loading took too long") && !errors.Is(err, plugin.ErrDead) {
		t.Errorf("loading ended with %v", err)
	}
}

// rarely is code that looks at the time only once in tens of milliseconds, between calls of a
// function of the engine that never does.
const rarely = `
let rounds = 0, ended = 0;
const text = "a".repeat(5e3), pattern = text.slice(0, 25e2) + "b";
function compute(n) { try { while (rounds < n) { rounds++; text.indexOf(pattern); } } finally { ended++; } }`

// TestCallerLeavesRarePolls proves that code which looks at the time rarely may end in order after
// its caller left: it is not taken for stuck.
func TestCallerLeavesRarePolls(t *testing.T) {
	h, _ := newHost(t, Options{TurnLimit: time.Minute})
	m := load(t, h, script(rarely, "transform() { compute(100); }\n count() { return ended * 1000 + rounds; }"))
	if n := leaveAlone(t, m); n != 1100 {
		t.Errorf("it ended with %d", n)
	}
}

// TestCallerLeavesEndlessRarePolls proves that the limit of a turn ends such code.
func TestCallerLeavesEndlessRarePolls(t *testing.T) {
	h, _ := newHost(t, Options{TurnLimit: 300 * time.Millisecond})
	m := load(t, h, script(rarely, "transform() { compute(Infinity); }\n count() { return ended * 1000 + rounds; }"))
	if n := leaveAlone(t, m); n >= pollsAfterLeaving {
		t.Errorf("it ended with %d", n)
	}
}

// leaveAlone calls transform, leaves at once, and returns the result of count.
func leaveAlone(t *testing.T, m *module) (n int32) {
	t.Helper()
	x := m.Extensions()[0]
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := x.Call(ctx, transform, []any{messageRequest("x")}, new(plugin.ClientRequest))
		done <- err
	}()
	eventually(t, "the turn", func() bool { return m.turns.count.Load()%2 == 1 })
	cancel()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	if _, err := x.Call(t.Context(), count, []any{int64(0)}, &n); err != nil {
		t.Errorf("the next call ended with %v", err)
	}
	return n
}

// TestBusyEngineYields lets a plugin compute on the only processor, and counts how often another
// goroutine has a turn meanwhile.
func TestBusyEngineYields(t *testing.T) {
	h, _ := newHost(t, Options{})
	m := load(t, h, script("", "count() { let i = 0; while (i < 5e6) i++; return i; }"))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var turns int
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for ; !done.Load(); turns++ {
			runtime.Gosched()
		}
	})
	var n int32
	_, err := m.Extensions()[0].Call(t.Context(), count, []any{int64(0)}, &n)
	done.Store(true)
	wg.Wait()
	// The engine yields every 2,000 rounds.
	if err != nil || n != 5e6 || turns < 2000 {
		t.Errorf("%d rounds, and %d turns of others: %v", n, turns, err)
	}
}

// TestMemoryThatIsUsedUp proves that the time limit holds when a plugin has used up its memory, and
// that it is dead when it cannot go on.
func TestMemoryThatIsUsedUp(t *testing.T) {
	// An engine that is short of memory unwinds a deep stack slowly, which is not to be taken for
	// being stuck.
	h, _ := newHost(t, Options{MemoryLimit: 16 << 20, StuckLimit: time.Minute})
	m := load(t, h, script("const held = [];", `
  transform() { const f = () => f() + 1; for (;;) { try { f(); } catch {} } }
  count(n) { if (n == 0) { return 0; } if (n == 1) { for (let i = 0; i < 5000; i++) held.push(new Uint8Array(1000)); return 1; } for (;;) held.push(new Array(100).fill(n)); }`))
	x := m.Extensions()[0]
	var n int32
	if _, err := x.Call(t.Context(), count, []any{int64(1)}, &n); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	if _, err := x.Call(ctx, transform, []any{messageRequest("x")}, new(plugin.ClientRequest)); err == nil {
		t.Error("an endless recursion ended")
	}
	cancel()
	if _, err := x.Call(t.Context(), count, []any{int64(0)}, &n); err != nil && m.Err() == nil {
		t.Errorf("the next call ended with %v", err)
	}
	if _, err := x.Call(t.Context(), count, []any{int64(2)}, &n); err == nil {
		t.Error("memory without end")
	}
	select {
	case <-m.Died():
	case <-time.After(time.Minute):
		t.Fatal("a plugin without memory lives on")
	}
	if err := m.Err(); !errors.Is(err, plugin.ErrDead) || !errors.Is(err, errMemory) {
		t.Errorf("it died of %v", err)
	}
}
