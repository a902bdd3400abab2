// SPDX-License-Identifier: Apache-2.0

package engine

import "testing"

// TestLeave ends calls from inside a Go function, and checks which of their code runs, their
// results, and that no memory leaks.
func TestLeave(t *testing.T) {
	const source = `var log = [];
		const at = { [Symbol.iterator]: () => ({ n: 0, next() { return { value: { n: this.n++ }, done: this.n > 3 } }, return() { log.push('closed'); return {} } }) };
		function inner(a, b) {
			const held = { a, b };
			try {
				for (const x of at) { for (const y of at) { leave(1); log.push('inner goes on'); } }
			} catch (e) { log.push('inner caught'); } finally { log.push('inner finally'); }
			return held;
		}
		function outer(n) {
			try { const r = [n, inner({ n }, [n])]; log.push('outer goes on'); return r; } catch (e) { log.push('outer caught ' + e.message); return e.message; } finally { log.push('outer finally'); }
		}
		class Base { constructor() { this.made = leave(2); } }
		function constructs() { return new Base().made; }
		function maps() { return [1].map(() => leave(2)); }
		function recurses(n, depth) { return n === 0 ? [leave(depth)] : [n, recurses(n - 1, depth)]; }
		function* generates() { yield leave(1); }
		function sloppy() { leave(1); return 'not left'; }
		const text = (f) => { log = []; let r; try { r = JSON.stringify(f()); } catch (e) { r = 'thrown ' + e.message; } return r + ' ' + log.join(); };
	`
	e := newEngine(t)
	throws, refused := false, 0
	result := func() Value {
		if throws {
			return e.Throw(e.NewError("left"))
		}
		return e.ParseJSON(`{"left":true}`, "x.js")
	}
	leave := func(_ Value, args []Value) (Value, error) {
		depth, _ := AsNumber(args[0])
		var outermost Frame
		n := 0
		e.Frames(func(f Frame) bool {
			outermost = f
			n++
			return n < int(depth)
		})
		if !e.Leaves(outermost, func(Frame) bool { return false }) {
			refused++
			return Int(7), nil
		}
		for _, v := range e.Arguments(outermost) {
			e.Free(v)
		}
		r := e.Leave(outermost, result())
		if IsFailed(r) {
			return r, Thrown()
		}
		return r, nil
	}
	if err := e.Run(nil, func() {
		global := e.Global()
		e.DefineName(global, "leave", e.Function("leave", 1, leave))
		e.Free(global)
		v := e.Eval("x.js", source)
		if IsFailed(v) {
			t.Fatal(e.Exception().Message)
		}
		e.Free(v)
		for _, c := range []struct {
			code   string
			throws bool
			want   string
		}{
			{"inner(1, 2)", false, `{"left":true} `},
			{"inner(1, 2)", true, "thrown left "},
			{"outer(1)", false, `[1,{"left":true}] outer goes on,outer finally`},
			{"outer(1)", true, `"left" outer caught left,outer finally`},
			{"[1, 2].map((n) => sloppy(n))", false, `[{"left":true},{"left":true}] `},
			{"recurses(2, 1)", false, `[2,[1,{"left":true}]] `},
			{"recurses(1, 2)", false, `{"left":true} `},
			// These cannot be left.
			{"constructs()", false, "7 "},
			{"maps()", false, "[7] "},
			{"recurses(2, 2)", false, "[2,[1,[7]]] "},
			{"[...generates()]", false, "[7] "},
		} {
			throws = c.throws
			for range 3 {
				v := e.Eval("x.js", "text(() => "+c.code+")")
				if got, _ := e.Text(v); got != c.want {
					t.Errorf("%s is %s, want %s", c.code, got, c.want)
				}
				e.Free(v)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if refused != 12 {
		t.Error(refused, "were refused")
	}
	if len(e.patches) > 0 {
		t.Error("code is still replaced")
	}
}
