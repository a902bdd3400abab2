// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	lib "modernc.org/libquickjs"
)

// newEngine returns an engine whose objects must all be freed at the end of the test.
func newEngine(t *testing.T) *Engine {
	t.Helper()
	e, err := New(Limits{Memory: 32 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left := e.Close(); left != 0 {
			t.Errorf("%d objects were not freed", left)
		}
	})
	return e
}

// TestLayout proves that this package's assumptions about the engine's structs hold.
func TestLayout(t *testing.T) {
	if n := unsafe.Sizeof(lib.TJSShape{}); n != 56 {
		t.Errorf("the record of a shape has %d bytes", n)
	}
	if n := unsafe.Sizeof(lib.TJSProperty{}); int(n) != valueSize {
		t.Errorf("a property has %d bytes", n)
	}
	e := newEngine(t)
	for source, want := range map[string]string{`'four' + 'teen'`: "fourteen", `'é'`: "", `'👋'`: "", `12`: ""} {
		v := e.Eval("test.js", source)
		if b, ok := e.ascii(v); string(b) != want || ok != (want != "") {
			t.Errorf("%s: the characters are %q, %v", source, b, ok)
		}
		e.Free(v)
	}
}

// TestTextOfEveryKind converts strings of every length and kind of character with every function.
func TestTextOfEveryKind(t *testing.T) {
	e := newEngine(t)
	for length := range 40 {
		for i := range length + 1 {
			for _, char := range []string{"x", "\x7f", "\u0080", "é", "€", "👋"} {
				text := strings.Repeat("a", i) + char + strings.Repeat("b", length-i)
				v := e.String(text)
				buffer := make([]byte, 64)
				n, ok := e.TextInto(v, buffer)
				short, shortLength, shortOK := e.ShortText(v, len(text))
				tooLong, tooLongLength, _ := e.ShortText(v, len(text)-1)
				if all, allOK := e.Text(v); !ok || string(buffer[:n]) != text || !allOK || all != text || !shortOK || short != text || shortLength != n || tooLong != "" || tooLongLength != n {
					t.Fatalf("%q: %q, %q, %q of %d bytes, %q of %d bytes", text, buffer[:n], all, short, shortLength, tooLong, tooLongLength)
				}
				if n, _ := e.TextInto(v, buffer[:1]); n != len(text) {
					t.Fatalf("%q has %d bytes", text, n)
				}
				e.Free(v)
			}
		}
	}
}

func TestEach(t *testing.T) {
	e := newEngine(t)
	for source, want := range map[string]string{
		`({})`:                              "",
		`({ a: 1, b: 'x', c: null })`:       "a=1 b=x c=null",
		`({ b: 1, a: 2, 5: 3, 1: 4 })`:      "1=4 5=3 b=1 a=2",
		`({ a: 1, [Symbol('s')]: 2 })`:      "a=1",
		`({ get a() { return 7; }, b: 2 })`: "a=7 b=2",
		`{ const o = { a: 1, b: 2, c: 3, d: 4 }; delete o.b; delete o.d; o.b = 5; o }`:                       "a=1 c=3 b=5",
		`Object.defineProperty({ a: 1 }, 'hidden', { value: 2 })`:                                            "a=1",
		`Object.create({ inherited: 1 }, { own: { value: 2, enumerable: true } })`:                           "own=2",
		`new Proxy({ a: 1, b: 2 }, { ownKeys: () => ['b', 'a'] })`:                                           "b=2 a=1",
		`new (class { x = 1; #y = 2; })()`:                                                                   "x=1",
		`Object.fromEntries(Array.from({ length: 40 }, (_, i) => ['k' + i, i])).k39 && { ['__proto__']: 3 }`: "__proto__=3",
	} {
		v := e.Eval("test.js", source)
		if IsFailed(v) {
			t.Fatal(source, e.Exception().Message)
		}
		var got []string
		ok, err := e.Each(v, func(a Atom, p Value) error {
			s, _ := e.Text(p)
			got = append(got, e.AtomText(a)+"="+s)
			return nil
		})
		e.Free(v)
		if s := strings.Join(got, " "); !ok || err != nil || s != want {
			t.Errorf("%s: %s, not %s (%v %v)", source, s, want, ok, err)
		}
	}
	v := e.Eval("test.js", `({ get a() { throw new Error('no'); } })`)
	ok, err := e.Each(v, func(Atom, Value) error { return nil })
	if ok || err != nil {
		t.Error("the exception of a getter was not reported")
	}
	e.Drop()
	e.Free(v)
	v = e.Eval("test.js", `({ a: 1, b: 2 })`)
	stop := errors.New("stop")
	n := 0
	if _, err := e.Each(v, func(Atom, Value) error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
		t.Error(err, n)
	}
	e.Free(v)
}

// TestEachWhileChanged changes an object while it is read, as a getter of one of its values can. No
// freed memory may be read: the iteration fails if the properties have moved.
func TestEachWhileChanged(t *testing.T) {
	for _, c := range []struct {
		change string
		fails  bool
	}{
		{`delete o.a; for (let i = 0; i < 100; i++) o['k' + i] = 'v' + i`, true},
		{`o.c = 3`, true},
		{`Object.defineProperty(o, 'b', { get() { return 7; } })`, true},
		{`o.a = null`, false},
		{`Object.freeze(o)`, false},
	} {
		e := newEngine(t)
		v := e.Eval("test.js", `globalThis.o = { a: { x: 1 }, b: 'text' + Date.now(), }`)
		read := 0
		ok, err := e.Each(v, func(_ Atom, p Value) error {
			if read++; read > 1 {
				return nil
			}
			e.Free(e.Eval("change.js", c.change+`; globalThis.more = Array.from({ length: 1000 }, (_, i) => ({ y: i, z: 'z' + i })); 0`))
			x := e.GetName(p, "x")
			if n, _ := AsNumber(x); n != 1 {
				t.Errorf("%s: the value that is read is another", c.change)
			}
			return nil
		})
		if ok == c.fails || err != nil || read == 1 != c.fails {
			t.Errorf("%s: %d properties were read, %v, %v", c.change, read, ok, err)
		}
		if !ok {
			x := e.Exception()
			if !strings.Contains(x.Message, "changed while it was read") {
				t.Errorf("%s: %s", c.change, x.Message)
			}
			e.Free(x.Value)
		}
		e.Free(v)
	}
}

func TestStrings(t *testing.T) {
	e := newEngine(t)
	for in, want := range map[string]string{
		"": "", "a": "a", "é": "é", "👋": "👋", "a\x00b": "a\x00b", "\xff": "\uFFFD", strings.Repeat("xé", 3<<20): strings.Repeat("xé", 3<<20),
	} {
		v := e.String(in)
		got, ok := e.Text(v)
		e.Free(v)
		if !ok || got != want {
			t.Errorf("%.20q became %.20q", in, got)
		}
	}
	v := e.Eval("test.js", `'\ud83d' + 'x' + '\udc4b'`)
	if s, _ := e.Text(v); s != "\uFFFDx\uFFFD" {
		t.Errorf("%q", s)
	}
	e.Free(v)
}

func TestBytes(t *testing.T) {
	e := newEngine(t)
	for source, want := range map[string][]byte{
		`new Uint8Array([1, 2, 3]).subarray(1)`: {2, 3}, `new Uint8Array(0)`: {}, `new ArrayBuffer(2)`: {0, 0}, `new ArrayBuffer(0)`: {},
		`new Uint16Array([1])`: {1, 0}, `[1, 2]`: nil, `'ab'`: nil, `({})`: nil,
	} {
		v := e.Eval("test.js", source)
		got, ok := e.AsBytes(v)
		e.Free(v)
		if ok != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("%s: %v %v", source, got, ok)
		}
	}
	v := e.Bytes([]byte{7, 8})
	if b, ok := e.AsBytes(v); !ok || !slices.Equal(b, []byte{7, 8}) {
		t.Error(b, ok)
	}
	e.Free(v)
}

func TestFunctionsAndHandles(t *testing.T) {
	e := newEngine(t)
	global := e.Global()
	e.DefineName(global, "add", e.Function("add", 2, func(_ Value, args []Value) (Value, error) {
		a, _ := AsNumber(args[0])
		b, ok := AsNumber(args[1])
		if !ok {
			return Undefined, errors.New("add: the second parameter must be a number")
		}
		return Number(a + b), nil
	}))
	e.DefineName(global, "panics", e.Function("panics", 0, func(Value, []Value) (Value, error) { panic("oh") }))
	e.DefineName(global, "handle", e.Handle("kept"))
	for source, want := range map[string]string{
		`add(1, 2)`: "3", `add(1.5, 2)`: "3.5",
		`try { add(1, 'x') } catch (e) { e.message }`: "add: the second parameter must be a number",
		`try { panics() } catch (e) { e.message }`:    "panics failed: oh",
	} {
		v := e.Eval("test.js", source)
		if s, _ := e.Text(v); s != want {
			t.Errorf("%s: %s", source, s)
		}
		e.Free(v)
	}
	h := e.GetName(global, "handle")
	if e.Held(h) != "kept" || e.Held(global) != nil {
		t.Error("the handle does not hold its value")
	}
	e.Free(h)
	e.Free(e.Eval("test.js", "delete globalThis.handle"))
	if len(e.handles) != 0 {
		t.Error("an unreachable handle was not freed")
	}
	e.Free(global)
}

// TestWithin ends a part of a run for a reason that also ends the run, and that occurs between the
// two polls.
func TestWithin(t *testing.T) {
	e := newEngine(t)
	over := false
	err := e.Run(func() bool { over = true; return over }, func() {
		ended := e.Within(func() bool { return over }, func() {
			if !IsFailed(e.Eval("test.js", "for (;;) {}")) {
				t.Error("it returned")
			}
			e.Drop()
		})
		if !ended || e.Interrupted() {
			t.Error("the part did not end by itself:", ended, e.Interrupted())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestInterrupt(t *testing.T) {
	e := newEngine(t)
	asked := 0
	if err := e.Run(func() bool { asked++; return asked > 3 }, func() {
		v := e.Eval("test.js", "for (;;) { try { for (;;) {} } catch {} }")
		if !IsFailed(v) {
			t.Error("it returned")
		}
		x := e.Exception()
		if !x.Interrupted {
			t.Error(x.Message)
		}
		e.Free(x.Value)
	}); err != nil {
		t.Fatal(err)
	}
	if err := e.Run(func() bool { return false }, func() {
		v := e.Eval("test.js", "1 + 1")
		if n, _ := AsNumber(v); n != 2 {
			t.Error("the engine no longer works")
		}
	}); err != nil || e.Interrupted() {
		t.Error(err, e.Interrupted())
	}
}

func TestBroken(t *testing.T) {
	e, err := New(Limits{})
	if err != nil {
		t.Fatal(err)
	}
	err = e.Run(nil, func() { panic("fault") })
	if err == nil || !strings.Contains(err.Error(), "fault") || e.Err() == nil {
		t.Error(err)
	}
	if again := e.Run(nil, func() { t.Error("it runs") }); !errors.Is(again, err) {
		t.Error(again)
	}
	e.Close()
	e.Close()
}

// TestCopyPieces copies much on the only processor while other goroutines run.
func TestCopyPieces(t *testing.T) {
	src := make([]byte, 8*pieceSize+5)
	for i := range src {
		src[i] = byte(i * 7)
	}
	for _, size := range []int{0, 1, pieceSize - 1, pieceSize, pieceSize + 1, len(src)} {
		dst := make([]byte, size)
		if n := copyPieces(dst, src); n != size || !bytes.Equal(dst, src[:size]) {
			t.Errorf("%d of %d bytes were copied", n, size)
		}
		if n := copyPieces(src, dst); n != size {
			t.Errorf("%d of %d bytes were copied back", n, size)
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var done atomic.Bool
	var turns int
	var wg sync.WaitGroup
	wg.Go(func() {
		for ; !done.Load(); turns++ {
			runtime.Gosched()
		}
	})
	copyPieces(make([]byte, len(src)), src)
	done.Store(true)
	wg.Wait()
	if turns < 7 { // Other goroutines may run 8 times, starting with the first.
		t.Errorf("others had %d turns", turns)
	}
}

// TestLargeText proves that large strings are converted unchanged, and that lone surrogates in them
// are replaced.
func TestLargeText(t *testing.T) {
	e := newEngine(t)
	v := e.Eval("test.js", `{ let s = 'ä'; while (s.length < 1 << 20) s += s; s + '\ud800' + 'x' }`)
	text, ok := e.Text(v)
	if !ok || text != strings.Repeat("ä", 1<<20)+"\uFFFDx" {
		t.Errorf("%d bytes, %t", len(text), ok)
	}
	again := e.String(text)
	if same, ok := e.Text(again); !ok || same != text {
		t.Errorf("%d bytes come back, %t", len(same), ok)
	}
	e.Free(again)
	e.Free(v)
}
