// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.org/app/internal/plugin/js/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// programs are scripts whose last value must be the same with and without probes.
var programs = map[string]string{
	"no semicolons":       "let a = 1\nlet b = a\n++b\n;[1, 2].forEach(x => b += x)\nb",
	"bodies":              "let n = 0\nif (n) n = 5; else n++\nfor (let i = 0; i < 3; i++) n += i\nwhile (n < 10) n++\ndo n++; while (n < 20)\nfor (const k in {a: 1}) n += k\nn",
	"else if":             "const f = (x) => { if (x === 1) return 'a'\n else if (x === 2) return 'b'\n else return 'c' }; f(1) + f(2) + f(3)",
	"labels":              "let n = 0; outer: for (const a of [1, 2, 3]) { for (const b of [1, 2]) { if (b === 2) continue outer; if (a === 3) break outer; n += a * b } } n",
	"arrows":              "const o = (a) => ({ a }); const add = a => b => a + b; const c = () => // comment\n  7\nJSON.stringify(o(1)) + add(1)(2) + c() + [1, 2].map(x => x * 2, 0)",
	"arrow in condition":  "const f = true ? a => a + 1 : b => b; f(1)",
	"switch":              "const f = (x) => { switch (x) { case 1: let y = 'one'; return y\n case 2: { return 'two' } default: return 'none' } }; f(1) + f(2) + f(3)",
	"directive":           "function f() { 'use strict'; return this === undefined } f()",
	"bare directive":      "function f() { 'use strict'\nreturn this === undefined } function g() { 'use strict' } f() + String(g())",
	"only a directive":    "function f() {'use strict';} const g = () => {'use strict';}; class A { m() {'x'} } String(f()) + g() + new A().m()",
	"empty bodies":        "function f() { /* nothing */ } const g = () => { \n}; String(f()) + g()",
	"with":                "const seen = []; with (new Proxy({ a: 1 }, { has(t, k) { seen.push(k); return k in t } })) { a; (() => a)() } seen.join()",
	"yield in a loop":     "var x; const it = (function* () { for ({ x = yield 1 } of [{}]) x++; for ([x] of [[yield 2]]) x++; return x })(); [it.next().value, it.next(3).value, x, it.next(6).value].join()",
	"variable, function":  "function f() { var g; function g() { return 1 } return g() } function h(g) { function g() { return 2 } return g() } f() + h()",
	"yield in a target":   "function* f() { const o = {}; [o[yield 1]] = [5]; ({ a: o[yield 2] = yield 3 } = {}); return JSON.stringify(o) } const it = f(); [it.next().value, it.next('x').value, it.next('y').value, it.next('z').value].join()",
	"own name":            "(function f() { f = 1; for (f of [2]); return typeof f })()",
	"block of a function": "{ function inner() { return 4 } } var before = typeof inner; { let x = 1; { let x = 2; before += x } before += x } before",
	"names of loops":      "let l = []; for (const { a, b = a } of [{ a: 1 }]) { l.push(a + b) } for (var i = 0, n = 2; i < n; i++) { let k = i; l.push(k) } l.join()",
	"hoisting":            "const r = g(); function g() { return h(); function h() { return 3 } } r",
	"classes":             "class A { #x = 1; static s = 2; static { this.t = this.s + 1 } get x() { return this.#x } set x(v) { this.#x = v } has(o) { return #x in o } ['c' + 1]() { return 4 } }\nclass B extends A { constructor() { super(); this.x = 5 } }\nconst b = new B(); [b.x, A.t, b.has(b), b.has({}), b.c1()].join()",
	"closures per loop":   "const l = []; for (let i = 0; i < 3; i++) l.push(() => i); l.map(f => f()).join()",
	"generators":          "function* g(n) { try { for (let i = 0; i < n; i++) yield i; return 9 } finally { seen = 1 } } var seen = 0; const it = g(5); it.next(); it.return(3).value + seen + [...g(3)].join()",
	"try":                 "const f = (x) => { try { if (x) throw new Error('e'); return 'none' } catch ({ message }) { return message } finally { n++ } }; var n = 0; f(0) + f(1) + n",
	"catch without name":  "let r; try { null.x } catch { r = 'caught' } r",
	"destructuring":       "const { a = () => 1, ...rest } = { b: 2 }; const [x, , y = 3] = [1]; a() + rest.b + x + y",
	"default parameters":  "function f(a, b = () => a, ...c) { a = 2; return a + b() + c.length } f(1, undefined, 3, 4)",
	"template":            "const t = (s, ...v) => s.raw.join('|') + v.map(x => x + 1).join(); t`a${1}b${2}c`",
	"new target":          "function F() { return { t: new.target === F } } new F().t",
	"arguments":           "function f() { const g = () => arguments.length; return g() } f(1, 2, 3)",
	"getter in a literal": "({ get a() { return 1 }, set a(v) {}, b() { return 2 }, async c() {}, *d() {} }).a",
	"text of functions":   "function f(a) { if (a) return 1; return () => 2 } String(f) + (x => x) + class { m() { return 1 } }",
	"comma and sequence":  "let a = (1, 2), b; b = a, a = 3; a + b",
	"empty things":        "function f() {} ; ; {} class A {} f() ?? 'nothing'",
	"unicode":             "const s = '🎈'; const f = () => s + 'é'; f()",
}

// result runs code and formats its last value. The code has probes if target is not nil.
func result(t *testing.T, code string, target func(e *engine.Engine) *Target) string {
	t.Helper()
	e, err := engine.New(engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if target != nil {
		debugged := target(e)
		defer func() {
			debugged.Close()
			<-debugged.Ended()
		}()
	}
	v := e.Eval("program.js", code)
	if engine.IsFailed(v) {
		x := e.Exception()
		e.Free(x.Value)
		return x.Message + "\n" + x.Stack
	}
	defer e.Free(v)
	return e.Inspect(v, 1000)
}

// TestInstrumentation verifies that programs with probes have the same results, on the same
// lines, and can be displayed in their original form.
func TestInstrumentation(t *testing.T) {
	s, err := Listen(t.Context(), Options{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(context.Background()) }()
	for name, source := range programs {
		t.Run(name, func(t *testing.T) {
			want := result(t, source, nil)
			if strings.Contains(want, "Error") {
				t.Fatalf("the program fails: %s", want)
			}
			r, err := s.instrumenter.instrument(source, false, 0)
			if err != nil {
				t.Fatal(err)
			}
			code := r.Code
			got := result(t, code, func(e *engine.Engine) *Target {
				target := s.Add(Plugin{Title: "program.js", Engine: e, Own: func(func()) {}, Resumed: func() {}})
				if err := target.Install(); err != nil {
					t.Fatal(err)
				}
				target.Instrument(Script{Name: "program.js", URL: "program.js", Source: source, Code: source})
				// Make each probe active.
				target.active.Store(true)
				return target
			})
			if strings.Count(code, "\n") != strings.Count(source, "\n") || insertion.ReplaceAllString(code, "") != source {
				t.Errorf("the code is %s", code)
			}
			if got != want {
				t.Errorf("with probes: %s, without: %s\n%s", got, want, code)
			}
		})
	}
}

// TestInstrumentationIsSmall limits the memory of probes: a library has hundreds of functions that
// all see the same hundreds of names.
func TestInstrumentationIsSmall(t *testing.T) {
	s, err := Listen(t.Context(), Options{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(context.Background()) }()
	var b strings.Builder
	b.WriteString("const library = (function () {\n")
	const functions = 400
	for i := range functions {
		fmt.Fprintf(&b, "  function f%d(a, b) {\n    let sum = a + b;\n    for (let i = 0; i < %[1]d; i++) {\n      sum += f%d(i, sum);\n      if (sum > %[1]d) return sum;\n    }\n    return sum;\n  }\n", i, max(i-1, 0))
	}
	b.WriteString("  return [")
	for i := range functions {
		fmt.Fprintf(&b, "f%d, ", i)
	}
	b.WriteString("];\n})();")
	r, err := s.instrumenter.instrument(b.String(), false, 0)
	if err != nil {
		t.Fatal(err)
	}
	memory := func(code string, debugged bool) int64 {
		e, err := engine.New(engine.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if debugged {
			target := s.Add(Plugin{Title: "library.js", Engine: e, Own: func(func()) {}, Resumed: func() {}})
			defer func() {
				target.Close()
				<-target.Ended()
			}()
			if err := target.Install(); err != nil {
				t.Fatal(err)
			}
		}
		e.Free(e.Eval("empty.js", "0"))
		empty := e.Memory()
		if err := e.Run(nil, func() { e.Free(e.Eval("library.js", code)) }); err != nil {
			t.Fatal(err)
		}
		return e.Memory() - empty
	}
	plain, debugged := memory(b.String(), false), memory(r.Code, true)
	if plain < 100_000 || debugged > 8*plain {
		t.Errorf("%d bytes with probes, %d without", debugged, plain)
	}
}

// TestForeignPages verifies that web pages cannot reach a debugger.
func TestForeignPages(t *testing.T) {
	s, err := Listen(t.Context(), Options{Host: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(context.Background()) }()
	for _, c := range []struct {
		host, origin string
		status       int
	}{
		{s.Addr(), "", http.StatusOK},
		{"localhost", "", http.StatusOK},
		{"[::1]:1", "devtools://devtools", http.StatusOK},
		{"evil.example", "", http.StatusForbidden},
		{s.Addr(), "http://evil.example", http.StatusForbidden},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr()+"/json/list", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = c.host
		if c.origin != "" {
			req.Header.Set("Origin", c.origin)
		}
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != c.status {
			t.Errorf("host %s, origin %s: %d", c.host, c.origin, res.StatusCode)
		}
	}
}

func TestAdvertised(t *testing.T) {
	for listens, want := range map[string]string{
		"127.0.0.1:1": "127.0.0.1:1", "0.0.0.0:2": "127.0.0.1:2", "[::]:3": "[::1]:3", "[::ffff:10.0.0.1]:4": "10.0.0.1:4", "[fe80::1]:5": "[fe80::1]:5",
	} {
		a := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(listens))
		if got := advertised(a); got != want {
			t.Errorf("the advertised address of a listener at %s is %s, want %s", listens, got, want)
		}
	}
}

func TestColumn(t *testing.T) {
	const begin, end = openMark, closeMark
	line := "  " + begin + "probe();" + end + "é = 1; " + begin + "probe();" + end + "b"
	for _, c := range []struct {
		text string
		want int
	}{{"é", 3}, {"= 1", 5}, {"b", 10}} {
		i := strings.LastIndex(line, c.text)
		if got := column(line, len([]rune(line[:i]))+1); got != c.want {
			t.Errorf("%s is at %d, not %d", c.text, got, c.want)
		}
	}
}

// TestTakenPort checks that the error of a server that cannot listen names the port and the
// property.
func TestTakenPort(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	_, err = Listen(t.Context(), Options{Host: "127.0.0.1", Port: port})
	for _, part := range []string{"app.plugin.js.debug.inspect-host and inspect-port", fmt.Sprint("127.0.0.1:", port)} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v lacks %q", err, part)
		}
	}
}
