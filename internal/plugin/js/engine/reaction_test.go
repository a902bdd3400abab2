// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"testing"
)

// TestReactions proves that registrations are known when they run, and that scripts cannot detect
// the observer.
func TestReactions(t *testing.T) {
	const look = `(() => {
		const then = Promise.prototype.then, texts = [];
		const own = (f) => Reflect.ownKeys(f).map((k) => { const d = Object.getOwnPropertyDescriptor(f, k); return [String(k), String(d.value), d.writable, d.enumerable, d.configurable] });
		texts.push(String(then), JSON.stringify(own(then)), JSON.stringify(own(Promise.prototype)), Object.getPrototypeOf(then) === Function.prototype, Object.isExtensible(then));
		for (const call of [() => then.call(1), () => new then(), () => then.call({ constructor: null }), () => Reflect.apply(then, Promise.resolve(), [])]) {
			try { texts.push(String(call())) } catch (e) { texts.push(e + e.stack) }
		}
		const strange = Promise.resolve();
		Object.defineProperty(strange, 'constructor', { get() { throw new Error('asked') } });
		try { strange.then() } catch (e) { texts.push(e + e.stack) }
		return texts.join('\n');
	})()`
	e := newEngine(t)
	if err := e.Run(nil, func() {
		eval := func(code string) string {
			v := e.Eval("x.js", code)
			if IsFailed(v) {
				t.Fatal(e.Exception())
			}
			defer e.Free(v)
			text, _ := e.Text(v)
			return text
		}
		before := eval("globalThis.then = Promise.prototype.then;" + look)
		var registered []uintptr
		var how []Registration
		ran := map[uintptr]bool{}
		jobs := 0
		if err := e.OnReactions(Reactions{
			Registered: func(promise uintptr, h Registration) { registered, how = append(registered, promise), append(how, h) },
			Runs:       func(promise uintptr) { jobs++; ran[promise] = true },
		}); err != nil {
			t.Fatal(err)
		}
		if after := eval(look); after != before {
			t.Errorf("scripts see the difference:\n%s\nbefore\n%s", after, before)
		}
		if eval("String(globalThis.then === Promise.prototype.then)") != "true" {
			t.Error("then is another function")
		}
		registered, how = nil, nil
		eval(`const kept = [Promise.resolve(1)];
			kept.push(kept[0].then(() => 1), kept[0].catch(() => 2), kept[0].finally(() => 3), Promise.all([kept[0]]), new Promise(() => {}).then(() => 4));
			(async () => { await kept[0] })(); ''`)
		if want := []Registration{ByThen, ByCatch, ByFinally, ByEngine, ByThen}; !slices.Equal(how, want) {
			t.Errorf("registered by %q", how)
		}
		e.RunJobs(func(x *Exception) { t.Error(x) })
		for i, promise := range registered[:4] {
			if !ran[promise] {
				t.Errorf("what was registered by %q did not run", how[i])
			}
		}
		if ran[registered[4]] || !ran[0] || jobs < 6 {
			t.Errorf("%d jobs ran, of promises %v", jobs, ran)
		}
	}); err != nil {
		t.Fatal(err)
	}
}
