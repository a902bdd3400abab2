// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/test/need"
)

// hostile are functions that would take everything if they could.
var hostile = []struct {
	name, code string
	// thrown is the text of the exception if the function ends by itself, empty if only the
	// deadline ends it.
	thrown string
}{
	{"endless loop", `for (;;) {}`, ""},
	{"async endless loop", `return (async () => { await null; for (;;) {} })();`, ""},
	{"loop after a timer", `return new Promise((resolve) => setTimeout(() => { for (;;) {} }, 1));`, ""},
	{"loop after fetch", `return fetch('http://127.0.0.1:1/').catch(() => { for (;;) {} });`, ""},
	{"catching the interrupt", `for (;;) { try { for (;;) {} } catch {} finally { continue; } }`, ""},
	{"endless microtasks", `const f = () => Promise.resolve().then(f); return f();`, ""},
	{"endless queueMicrotask", `const f = () => queueMicrotask(f); f(); return new Promise(() => {});`, ""},
	{"catastrophic regexp", `return /^(a+)+$/.test('a'.repeat(40) + 'b');`, ""},
	{"infinite generator", `return Array.from((function* () { let i = 0; for (;;) yield i++ & 1; })()).length;`, "out of memory"},
	{"infinite generator loop", `for (const x of (function* () { for (;;) yield 1; })()) { this.x = x; }`, ""},
	{"never answers", `return new Promise(() => {});`, ""},
	{"endless getter in the result", `return { get userId() { for (;;) {} } };`, ""},
	{"getter that changes the result", `const r = { request: { get createMessageRequest() { delete r.request; for (let i = 0; i < 1e4; i++) r['k' + i] = {}; return {}; } }, userId: '1' }; return r;`, "changed while it was read"},
	{"endless toString of an error", `throw { get message() { for (;;) {} }, toString() { for (;;) {} } };`, "message"},
	{"endless thenable", `return { get then() { for (;;) {} } };`, ""},
	{"endless proxy", `return new Proxy({}, { ownKeys() { for (;;) {} } });`, ""},
	{"deep recursion", `const f = () => f() + 1; return f();`, "stack overflow"},
	{"deep getters", `const o = { get a() { return this.a; } }; return o.a;`, "stack overflow"},
	{"deep JSON", `let a = []; for (let i = 0; i < 3000; i++) a = [a]; return JSON.stringify(a);`, "stack overflow"},
	{"memory bomb of arrays", `const a = []; for (;;) a.push(new Array(1000).fill(1));`, "out of memory"},
	{"memory bomb of strings", `let s = 'x'; for (;;) s = s + s + 'y';`, ""},
	{"memory bomb of a buffer", `return new Uint8Array(1e9).length;`, "out of memory"},
	{"memory bomb of closures", `let f = null; for (;;) { const g = f; f = () => g; }`, "out of memory"},
	{"memory bomb of cycles", `const a = []; for (;;) { const o = { a }; o.self = o; a.push(o); }`, "out of memory"},
	{"memory bomb in a cycle", `for (;;) { const o = { big: new Uint8Array(1 << 16) }; o.self = o; (this.list ??= []).length = 0; this.list.push(o); }`, ""},
}

// TestHostile proves that what a function does costs its own call: the call fails, and the next one
// works.
func TestHostile(t *testing.T) {
	need.Time(t)
	h, _ := newHost(t, hostileLimits)
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) { survive(t, h, c.code, c.thrown, func(*module) {}) })
	}
}

// TestDebugHostile proves the same of functions that use up the memory in debug mode, where much
// more hangs together in cycles.
func TestDebugHostile(t *testing.T) {
	need.Time(t)
	h, _, _ := debugHost(t)
	h.opts.MemoryLimit, h.opts.StackSize, h.opts.TurnLimit = hostileLimits.MemoryLimit, hostileLimits.StackSize, hostileLimits.TurnLimit
	for _, c := range hostile {
		if !strings.HasPrefix(c.name, "memory bomb") {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			survive(t, h, c.code, c.thrown, func(m *module) {
				d := attach(t, m.debug.target.Address())
				d.enable()
				d.do("Runtime.runIfWaitingForDebugger", nil)
			})
		})
	}
}

var hostileLimits = Options{MemoryLimit: 4 << 20, StackSize: 256 << 10, TurnLimit: 100 * time.Millisecond}

// survive calls a hostile function, and another one after it, twice.
func survive(t *testing.T, h *Host, code, thrown string, prepare func(*module)) {
	m := load(t, h, script("", "transform() { "+code+" }\n count(n) { return Number(n) + 1; }"))
	prepare(m)
	x := m.Extensions()[0]
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if thrown != "" {
			cancel()
			ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		}
		var r plugin.ClientRequest
		_, err := x.Call(ctx, transform, []any{messageRequest("x")}, &r)
		cancel()
		switch e, ok := errors.AsType[*plugin.Exception](err); {
		case errors.Is(err, context.DeadlineExceeded):
		case ok && thrown == "" && strings.Contains(e.Message, "out of memory"):
		case ok && thrown == "" && strings.Contains(e.Message, "string too long"):
		case ok && thrown != "" && strings.Contains(e.Message, thrown):
		default:
			t.Fatalf("the call ended with %v", err)
		}
		var n int32
		if ok, err := x.Call(t.Context(), count, []any{int64(4)}, &n); err != nil || !ok || n != 5 {
			t.Fatalf("the next call gave %v %v %d", ok, err, n)
		}
	}
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestBackground proves that code that no call waits for is ended too.
func TestBackground(t *testing.T) {
	h, log := newHost(t, Options{TurnLimit: 20 * time.Millisecond})
	m := load(t, h, script("let ticks = 0;", `
  start() { setTimeout(() => { for (;;) {} }, 0); setInterval(() => { ticks++; }, 1); }
  count() { return ticks; }`))
	x := m.Extensions()[0]
	if err := x.Hook(t.Context(), plugin.Start); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the interval", func() bool {
		var n int32
		if _, err := x.Call(t.Context(), count, []any{int64(0)}, &n); err != nil {
			t.Fatal(err)
		}
		return n > 2
	})
	eventually(t, "the log line", func() bool { return strings.Contains(log.String(), "a plugin ran too long and was interrupted") })
	failed := make(chan error, 1)
	m.Background().Tell(func(_ string, err error) { failed <- err })
	if err := <-failed; !errors.Is(err, errTooLong) || !strings.Contains(err.Error(), "test.js:") {
		t.Errorf("the record says %v", err)
	}
}

// TestCloseInterrupts proves that a module closes while a function of it waits for what the host
// does, and that the calls fail.
func TestCloseInterrupts(t *testing.T) {
	for name, code := range map[string]string{
		"fetch": "app.log.info('in'); return fetch('http://192.0.2.1/').then(() => new Promise(() => {}), () => new Promise(() => {}));",
		"timer": "app.log.info('in'); return new Promise((r) => setTimeout(r, 1e9));",
	} {
		t.Run(name, func(t *testing.T) {
			h, log := newHost(t, Options{})
			m := load(t, h, script("", "transform() { "+code+" }"))
			done := make(chan error, 1)
			go func() {
				_, err := m.Extensions()[0].Call(context.Background(), transform, []any{messageRequest("x")}, new(plugin.ClientRequest))
				done <- err
			}()
			eventually(t, "the call", func() bool { return strings.Contains(log.String(), "text=in") })
			if err := m.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-done; !errors.Is(err, errClosed) {
				t.Errorf("the call ended with %v", err)
			}
			if err := m.Close(t.Context()); err != nil {
				t.Errorf("a second close: %v", err)
			}
		})
	}
}

// TestDeadEngine proves that a broken engine costs its plugin only, and says so.
func TestDeadEngine(t *testing.T) {
	h, _ := newHost(t, Options{})
	m := load(t, h, script("", "count() { return 1; }"))
	x := m.Extensions()[0]
	// No operation of the server calls what is no value; the engine faults.
	m.helpers.Go(func() { m.operations.posts <- &operation{resolve: brokenValue} })
	eventually(t, "the death", func() bool { return m.dead.Load() != nil })
	var n int32
	_, err := x.Call(t.Context(), count, []any{int64(0)}, &n)
	if !errors.Is(err, plugin.ErrDead) || !strings.Contains(err.Error(), "must be loaded anew") {
		t.Errorf("a call of a dead plugin: %v", err)
	}
	other := load(t, h, script("", "count() { return 1; }"))
	if ok, err := other.Extensions()[0].Call(t.Context(), count, []any{int64(0)}, &n); err != nil || !ok {
		t.Errorf("another plugin: %v", err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
