// SPDX-License-Identifier: Apache-2.0

package engine

import "testing"

// TestClosure reads and writes the outer variables of a function.
func TestClosure(t *testing.T) {
	e := newEngine(t)
	if err := e.Run(nil, func() {
		pair := e.Eval("x.js", `var anywhere = 1;
			(function (a) {
				const fixed = 'f';
				let own = {};
				const f = () => a * fixed * own * this * anywhere * late;
				const result = [f, () => a + typeof own];
				if (a) return result;
				let late = 1;
			}).call('me', 5)`)
		f, now := e.Index(pair, 0), e.Index(pair, 1)
		defer func() {
			for _, v := range []Value{pair, f, now} {
				e.Free(v)
			}
		}()
		c, ok := e.Closure(f)
		if !ok || c.Parameters() != 0 {
			t.Fatal(ok, c.Parameters())
		}
		find := func(name string) (Variable, bool) {
			a := e.Atom(name)
			defer e.FreeAtom(a)
			return c.Find(a)
		}
		for _, w := range []struct {
			name, text                 string
			constant, global, set, has bool
		}{
			{"a", "5", false, false, true, true},
			{"fixed", "f", true, false, true, true},
			{"own", "[object Object]", false, false, true, true},
			{"this", "me", false, false, true, true},
			{"anywhere", "", false, true, false, true},
			{"late", "", false, false, false, true},
			{"missing", "", false, false, false, false},
		} {
			v, has := find(w.name)
			if has != w.has || has && (v.Const != w.constant || v.Global != w.global) {
				t.Errorf("%s: %t %+v", w.name, has, v)
			}
			if !has || v.Global {
				continue
			}
			x, set := v.Value()
			if set != w.set {
				t.Errorf("%s has a value: %t", w.name, set)
			} else if set {
				if text, _ := e.Text(x); text != w.text {
					t.Errorf("%s is %s", w.name, text)
				}
			}
		}
		if name, v, ok := c.Last(); !ok || e.AtomText(name) != "late" || v.Global {
			t.Error(e.AtomText(name), v, ok)
		}
		for name, x := range map[string]Value{"a": e.String("changed "), "own": Int(1)} {
			v, _ := find(name)
			v.Set(x)
			e.Free(x)
		}
		r := e.Call(now, Undefined)
		if text, _ := e.Text(r); text != "changed number" {
			t.Error(text)
		}
		e.Free(r)
		for _, v := range []Value{Undefined, Int(1), pair} {
			if _, ok := e.Closure(v); ok {
				t.Error("a closure of", v)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
}
