// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strconv"
	"testing"
)

// TestObjectsOfALayout creates and reads objects by their layout while a script keeps, changes and
// drops them, and objects of the same shape that it made itself.
func TestObjectsOfALayout(t *testing.T) {
	e := newEngine(t)
	names := []Atom{e.Atom("a"), e.Atom("b"), e.Atom("c")}
	l, ok := e.NewLayout(names)
	if !ok {
		t.Fatal(e.Exception().Message)
	}
	use := e.Eval("test.js", `globalThis.kept = [];
		(o, i) => {
			if (JSON.stringify(o) !== '{"a":"x' + i + '","b":' + i + ',"c":{"d":' + i + '}}') throw new Error(JSON.stringify(o));
			switch (i % 7) {
			case 0: kept.push(o); break;
			case 1: o.e = 5; delete o.a; break;
			case 2: Object.freeze(o); break;
			case 3: o.c = o; break;
			case 4: o.b = i + 1; break;
			case 5: return { a: 'x', b: 2, c: kept };
			case 6: kept = []; Object.setPrototypeOf(o, null); break;
			}
			return o;
		}`)
	for i := range 5000 {
		inner := e.Object()
		e.DefineName(inner, "d", Int(int32(i)))
		v := e.LaidOut(l, []Value{e.String("x" + strconv.Itoa(i)), Int(int32(i)), inner})
		r := e.Call(use, Undefined, v, Int(int32(i)))
		if IsFailed(r) {
			t.Fatal(e.Exception().Message)
		}
		if same := e.Shape(r) == l.Shape(); same != (i%7 == 0 || i%7 == 3 || i%7 == 4 || i%7 == 5) {
			t.Fatalf("object %d has the layout: %v", i, same)
		} else if same {
			var b float64
			read := ""
			ok, err := e.EachIn(l, r, func(at int, p Value) error {
				read += e.AtomText(names[at])
				if at == 1 {
					b, _ = AsNumber(p)
				}
				return nil
			})
			if want := map[int]int{0: i, 3: i, 4: i + 1, 5: 2}[i%7]; !ok || err != nil || read != "abc" || int(b) != want {
				t.Fatalf("object %d: %s, b is %v, %v %v", i, read, b, ok, err)
			}
		}
		e.Free(r)
		e.Free(v)
	}
	v := e.LaidOut(l, []Value{e.String("x7000"), Int(7000), e.Object()})
	e.FreeLayout(l)
	if b := e.GetName(v, "b"); b != Int(7000) {
		t.Error("an object without its layout has lost its properties")
	}
	e.Free(v)
	e.Free(use)
	for _, a := range names {
		e.FreeAtom(a)
	}
}
