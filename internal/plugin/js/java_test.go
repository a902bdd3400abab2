// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"log/slog"
	"testing"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/java/javatest"
)

// newJava makes a host of Java that is closed at the end of the test.
func newJava(t testing.TB, log *logged) *java.Host {
	t.Helper()
	javatest.Home(t)
	h, err := java.New(java.Options{Folder: t.TempDir(), ClassCache: javatest.ClassCache(), Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(log)
		}
	})
	return h
}

// withJava makes hosts of both languages.
func withJava(t testing.TB) (*Host, *java.Host) {
	t.Helper()
	j := newJava(t, &logged{})
	h, _ := newHost(t, Options{Java: j})
	return h, j
}

// say calls a function of a plugin that answers with a text.
func say(ctx context.Context, m *module) (string, error) {
	var r *plugin.RequestHandlerResult
	_, err := m.Extensions()[0].Call(ctx, handle, []any{&plugin.ClientRequest{}}, &r)
	if err != nil || r == nil {
		return "", err
	}
	return r.Reason, nil
}

// javaScript is a plugin whose handle answers with what the code returns, as JSON.
func javaScript(before, code string) plugin.Source {
	return script(before, "handle() { const v = (() => {"+code+"})(); return { code: 1000, reason: JSON.stringify(v, (k, x) => typeof x === 'bigint' ? x + 'n' : x) ?? 'undefined' }; }")
}

func TestJavaType(t *testing.T) {
	h, _ := withJava(t)
	m := load(t, h, javaScript("", `
const HashMap = Java.type('java.util.HashMap');
const m = new HashMap();
m.put('a', 1n);
return [m.size(), m.get('a'), m.get('b')];`))
	if got, err := say(t.Context(), m); err != nil || got != "[1,1,null]" {
		t.Errorf("%q, %v", got, err)
	}
}

// javaCases are pieces of code and what they return.
var javaCases = []struct{ name, code, want string }{
	{"constructor", `const A = Java.type('java.util.ArrayList'); return [new A().size(), new A([1, 2]).size(), new A(10).isEmpty()];`, `[0,2,true]`},
	{"without new", `try { Java.type('java.util.ArrayList')(); } catch (e) { return String(e); }`, `"TypeError: java.util.ArrayList is a class of Java: use new"`},
	{"static method", `const { max, abs } = Java.type('java.lang.Math'); return [max(3, 4), abs(-2.5), Java.type('java.lang.Integer').parseInt('12')];`, `[4,2.5,12]`},
	{"static field", `const I = Java.type('java.lang.Integer'); return [I.MAX_VALUE, Java.type('java.lang.Math').PI > 3.14];`, `[2147483647,true]`},
	{"final field", `try { Java.type('java.lang.Math').PI = 3; } catch (e) { return e.message; }`, `"field PI of class java.lang.Math is final"`},
	{"fields", `const P = Java.type('java.awt.Point'); const p = new P(1, 2); p.x = 7; return [p.x, p.y, p.getX()];`, `[7,2,7]`},
	{"no such field", `try { new (Java.type('java.util.ArrayList'))().size2 = 3; } catch (e) { return String(e); }`, `"TypeError: java.util.ArrayList has no field size2"`},
	{"no such member", `const a = new (Java.type('java.util.ArrayList'))(); return [typeof a.nothing, 'size' in a];`, `["undefined",true]`},
	{"overloads", `const b = new (Java.type('java.lang.StringBuilder'))(); b.append('a').append(1).append(2.5).append(true).append(['x'].length); return b.toString();`, `"a12.5true1"`},
	{"overload by its types", `const S = Java.type('java.lang.String'); const b = new (Java.type('java.lang.StringBuilder'))(); b['append(char)']('c'); b['append(long)'](5); return [b.toString(), S['valueOf(double)'](1)];`, `["c5","1.0"]`},
	{"no fitting overload", `try { Java.type('java.lang.Integer').parseInt(true); } catch (e) { return e.message.startsWith('no method parseInt') || e.message; }`, `true`},
	{"nested class", `const E = Java.type('java.util.AbstractMap.SimpleEntry'); const F = Java.type('java.util.AbstractMap').SimpleEntry; const e = new E('k', 2); return [e.getKey(), e.getValue(), E === F, Java.type('java.util.AbstractMap$SimpleEntry') === E];`, `["k",2,true,true]`},
	{"enum", `const T = Java.type('java.util.concurrent.TimeUnit'); return [T.SECONDS.toMillis(2), T.valueOf('DAYS').equals(T.DAYS), String(T.HOURS), T.MILLISECONDS.convert(1, 'SECONDS')];`, `[2000,true,"HOURS",1000]`},
	{"class object", `const A = Java.type('java.util.ArrayList'); return [A.class.getName(), new A().getClass().getSimpleName(), String(A), A.name];`, `["java.util.ArrayList","ArrayList","class java.util.ArrayList","java.util.ArrayList"]`},
	{"instanceof", `const A = Java.type('java.util.ArrayList'), L = Java.type('java.util.List'), M = Java.type('java.util.Map'); const a = new A(); return [a instanceof A, a instanceof L, a instanceof M, [] instanceof L, null instanceof L];`, `[true,true,false,false,false]`},
	{"isJavaObject", `const A = Java.type('java.util.ArrayList'); return [new A(), A, {}, null, 'x', () => 1].map((v) => Java.isJavaObject(v));`, `[true,true,false,false,false,false]`},
	{"long", `const L = Java.type('java.lang.Long'); return [L.MAX_VALUE, L.parseLong('9007199254740991'), L.parseLong('9007199254740992'), L.toString(9223372036854775807n), L.sum(1n, 2)];`, `["9223372036854775807n",9007199254740991,"9007199254740992n","9223372036854775807",3]`},
	{"long beyond", `try { Java.type('java.lang.Long').toString(1n << 64n); } catch (e) { return String(e); }`, `"TypeError: the BigInt has more than 64 bits: make a java.math.BigInteger of its text"`},
	{"BigInteger", `const B = Java.type('java.math.BigInteger'); return [String(new B('18446744073709551616').add(B.ONE)), BigInt(new B('12').toString())];`, `["18446744073709551617","12n"]`},
	{"char", `const C = Java.type('java.lang.Character'); return [C.isDigit('7'), C.toUpperCase('a'), C.MAX_VALUE.length];`, `[true,"A",1]`},
	{"small numbers", `return [Java.type('java.lang.Byte').MIN_VALUE, Java.type('java.lang.Short').MAX_VALUE, Java.type('java.lang.Float').valueOf(1.5)];`, `[-128,32767,1.5]`},
	{"text", `return new (Java.type('java.lang.StringBuilder'))('hé 👋').reverse().toString();`, `"👋 éh"`},
	{"bytes", `const E = Java.type('java.util.Base64'); const e = E.getEncoder().encodeToString(new Uint8Array([1, 2, 255])); const d = Java.from(E.getDecoder().decode(e)); return [e, d instanceof Uint8Array, [...d]];`, `["AQL/",true,[1,2,255]]`},
	{"int array", `const a = new (Java.type('int[]'))(3); a[0] = 5; a[2] = 7; return [a.length, a[0], a[1], [...a], Java.from(a), Java.isJavaObject(a)];`, `[3,5,0,[5,0,7],[5,0,7],true]`},
	{"array out of range", `try { new (Java.type('int[]'))(1)[4]; } catch (e) { return e.message; }`, `"an array of length 1 has no item 4"`},
	{"Java.to", `const A = Java.type('java.util.Arrays'); return [A.toString(Java.to([1, 2], 'int[]')), A.toString(Java.to(['a'], 'java.lang.String[]')), Java.to([1, 'x']).length, Java.to([3], 'java.util.List').get(0), Java.to(new Uint8Array(2), 'byte[]').length, A.deepToString(Java.to([[1], [2, 3]], 'int[][]'))];`, `["[1, 2]","[a]",2,3,2,"[[1], [2, 3]]"]`},
	{"list", `const l = new (Java.type('java.util.ArrayList'))(['a', 'b']); l[1] = 'c'; l.add('d'); const seen = []; for (const x of l) seen.push(x); return [l.length, l[0], l[1], seen, Java.from(l)];`, `[3,"a","c",["a","c","d"],["a","c","d"]]`},
	{"set", `const s = new (Java.type('java.util.TreeSet'))([3, 1, 2]); return [s.length, [...s]];`, `[3,[1,2,3]]`},
	{"map", `const m = new (Java.type('java.util.TreeMap'))({ b: 2, a: [1] }); return [[...m].map(([k, v]) => [k, Java.isJavaObject(v) ? Java.from(v) : v]), Java.from(m) instanceof Map];`, `[[["a",[1]],["b",2]],true]`},
	{"map of a Map", `const m = new (Java.type('java.util.HashMap'))(new Map([[1, 'x'], ['y', null]])); return [m.get(1), m.containsKey('y'), m.size()];`, `["x",true,2]`},
	{"set of a Set", `return Java.type('java.util.Collections').max(new Set([1, 5, 3]));`, `5`},
	{"typed arrays", `return Java.type('java.util.Arrays').toString(Java.to(new Float64Array([1.5, 2]), 'double[]'));`, `"[1.5, 2.0]"`},
	{"iterator", `const it = Java.type('java.util.stream.Stream').of('a', 'b').iterator(); return [...it];`, `["a","b"]`},
	{"path", `const p = Java.type('java.nio.file.Path').of('a', 'b', 'c'); return [[...p].map(String), String(p)];`, `[["a","b","c"],"a/b/c"]`},
	{"function", `const l = new (Java.type('java.util.ArrayList'))([3, 1, 2]); l.sort((a, b) => b - a); const seen = []; l.forEach((x) => { seen.push(x); }); return [Java.from(l), seen, l.stream().map((x) => x * 2).toList().toString()];`, `[[3,2,1],[3,2,1],"[6, 4, 2]"]`},
	{"default method", `const F = Java.type('java.util.function.Function'); const f = F.identity().andThen((x) => x + 1).compose((x) => x * 10); return f.apply(4);`, `41`},
	{"object of functions", `const l = []; const it = { n: 0, hasNext() { return this.n < 2; }, next() { return this.n++; } }; const S = Java.type('java.util.Spliterators'), T = Java.type('java.util.stream.StreamSupport'); return T.stream(S['spliteratorUnknownSize(java.util.Iterator,int)'](it, 0), false).toList().toString();`, `"[0, 1]"`},
	{"instance with functions", `class Next { compare(a, b) { return b - a; } } const l = new (Java.type('java.util.ArrayList'))([1, 2]); l.sort(new Next()); return l.toString();`, `"[2, 1]"`},
	{"absent function", `const it = { hasNext() { return true; } }; const S = Java.type('java.util.Spliterators'), T = Java.type('java.util.stream.StreamSupport'); try { T.stream(S['spliteratorUnknownSize(java.util.Iterator,int)'](it, 0), false).toList(); } catch (e) { return [e.name, e.message]; }`, `["java.lang.UnsupportedOperationException","the plugin's object for java.util.Iterator has no function next"]`},
	{"absent default", `const it = { hasNext() { return true; }, next() { return 1; } }; try { Java.to(['x'], 'java.util.List'); const I = Java.type('java.util.Iterator'); const l = new (Java.type('java.util.ArrayList'))([it]); return typeof l.get(0).next; } catch (e) { return e.message; }`, `"function"`},
	{"function comes back", `const f = () => 1; const l = new (Java.type('java.util.ArrayList'))(); l.add(f); return l.get(0) === f;`, `true`},
	{"object comes back", `const f = { run() { } }; const r = Java.type('java.util.Objects').requireNonNull(f); return r === f;`, `true`},
	{"recursion", `const F = Java.type('java.util.function.Function'); const down = (n) => n === 0 ? 0 : 1 + Java.type('java.util.Optional').of(n - 1).map(down).get(); return down(20);`, `20`},
	{"exception", `try { Java.type('java.lang.Integer').parseInt('x'); } catch (e) { return [e instanceof Error, e.name, e.message, e.className, e.javaStack.includes('parseInt'), e.javaException.getMessage() === e.message, String(e)]; }`, `[true,"java.lang.NumberFormatException","For input string: \"x\"","java.lang.NumberFormatException",true,true,"java.lang.NumberFormatException: For input string: \"x\""]`},
	{"exception by its class", `const N = Java.type('java.lang.NumberFormatException'), I = Java.type('java.io.IOException'); try { Java.type('java.lang.Integer').parseInt('x'); } catch (e) { return [e instanceof N, e.javaException instanceof N, e instanceof I]; }`, `[true,true,false]`},
	{"error in a function", `class Mine extends Error { } const mine = new Mine('no'); try { new (Java.type('java.util.ArrayList'))([1]).forEach(() => { throw mine; }); } catch (e) { return [e === mine, e instanceof Mine]; }`, `[true,true]`},
	{"anything thrown in a function", `try { new (Java.type('java.util.ArrayList'))([1]).forEach(() => { throw 7; }); } catch (e) { return e; }`, `7`},
	{"exception through a function", `const P = Java.type('java.lang.Integer'); try { new (Java.type('java.util.ArrayList'))(['x']).forEach((s) => P.parseInt(s)); } catch (e) { return e.name; }`, `"java.lang.NumberFormatException"`},
	{"exception of its own", `const X = Java.type('java.lang.IllegalStateException'); try { new (Java.type('java.util.ArrayList'))([1]).forEach(() => { throw new X('mine'); }); } catch (e) { return [e.name, e.message]; }`, `["java.lang.IllegalStateException","mine"]`},
	{"caught by Java", `const C = Java.type('java.util.concurrent.CompletableFuture'); const f = new C(); f.complete(1); const g = f.thenApply(() => { throw new TypeError('no'); }); return [g.isCompletedExceptionally(), g.exceptionNow().message];`, `[true,"no"]`},
	{"another thread", `const C = Java.type('java.util.concurrent.CompletableFuture'); return C.supplyAsync(() => 6 * 7).get();`, `42`},
	{"parallel", `const I = Java.type('java.util.stream.IntStream'); return I.range(0, 500).parallel().map((n) => n + 1).sum();`, `125250`},
	{"wrong result of a function", `try { Java.type('java.util.stream.IntStream').of(1).map(() => 'x').sum(); } catch (e) { return e.name; }`, `"java.lang.ClassCastException"`},
	{"pending promise", `try { Java.type('java.util.Optional').of(1).map(async () => { await null; return 1; }); } catch (e) { return e.message.includes('promise that is not settled'); }`, `true`},
	{"settled promise", `return Java.type('java.util.Optional').of(1).map(async (n) => n + 1).get();`, `2`},
	{"promise as argument", `try { Java.type('java.util.Optional').of(Promise.resolve(1)); } catch (e) { return String(e); }`, `"TypeError: a promise cannot be passed to Java: await it before"`},
	{"symbol as argument", `try { Java.type('java.util.Optional').of(Symbol('x')); } catch (e) { return String(e); }`, `"TypeError: a symbol cannot be passed to Java"`},
	{"circle", `const a = []; a.push(a); try { Java.type('java.util.Optional').of(a); } catch (e) { return e.message; }`, `"the value is nested more than 64 deep, or holds itself"`},
	{"no such class", `try { Java.type('no.such.Class'); } catch (e) { return e.message; }`, `"Java.type(\"no.such.Class\"): there is no Java class no.such.Class"`},
	{"class of the host", `try { Java.type('im.app.plugin.host.Main'); } catch (e) { return e.message; }`, `"Java.type(\"im.app.plugin.host.Main\"): there is no Java class im.app.plugin.host.Main"`},
	{"class of the plugin API", `return Java.type('im.app.plugin.AppException').name;`, `"im.app.plugin.AppException"`},
	{"not a name", `try { Java.type(7); } catch (e) { return String(e); }`, `"TypeError: Java.type: the name of the class must be a string, not number"`},
	{"same class", `return Java.type('java.util.List') === Java.type('java.util.List');`, `true`},
	{"void", `return [new (Java.type('java.util.ArrayList'))().clear()];`, `[null]`},
	{"method without its object", `const { size } = new (Java.type('java.util.ArrayList'))(); try { size(); } catch (e) { return String(e); }`, `"TypeError: size must be called on an object of Java, not on undefined"`},
	{"constructor that throws", `try { new (Java.type('java.util.ArrayList'))(-1); } catch (e) { return [e.name, e.message]; }`, `["java.lang.IllegalArgumentException","Illegal Capacity: -1"]`},
	{"variable arguments", `return [Java.type('java.lang.String').format('%s-%d', 'a', 5), Java.type('java.util.List').of(1, 2, 3).size(), Java.type('java.util.Arrays').asList('a', 'b').get(1)];`, `["a-5",3,"b"]`},
	{"null", `return [Java.type('java.util.Objects').isNull(null), Java.type('java.util.Objects').isNull(undefined), Java.type('java.util.Optional').ofNullable(null).isPresent()];`, `[true,true,false]`},
	{"JSON", `return [new (Java.type('java.util.ArrayList'))([1, ['x']]), new (Java.type('java.util.HashMap'))({ a: 1 }), Java.type('java.time.Duration').ofSeconds(5), Java.to([1], 'byte[]')];`, `[[1,["x"]],{"a":1},"PT5S",[1]]`},
	{"class as text", `return [String(Java.type('java.lang.Integer')), Java.type('java.lang.Integer').toString(5), 'x' + Java.type('java.util.List')];`, `["class java.lang.Integer","5","xclass java.util.List"]`},
	{"map of texts", `return String(Java.type('java.util.Map').of('a', 1));`, `"{a=1}"`},
}

func TestJavaCases(t *testing.T) {
	h, _ := withJava(t)
	load(t, h, javaScript("Java.type('java.lang.Object');", "return 1;")) // It keeps the JVM.
	for _, c := range javaCases {
		t.Run(c.name, func(t *testing.T) {
			m := load(t, h, javaScript("", c.code))
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if got, err := say(ctx, m); err != nil || got != c.want {
				t.Errorf("it is %s, not %s; %v", got, c.want, err)
			}
			if err := m.Close(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}
