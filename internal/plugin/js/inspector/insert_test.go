// SPDX-License-Identifier: Apache-2.0

package inspector

import (
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"example.org/app/internal/plugin/js/engine"
	"example.org/app/test/need"
)

// syntaxes are sources with all syntax of the language. Those that package syntax rejects are
// parsed by acorn.
var syntaxes = []struct {
	source string
	module bool
}{
	{source: "#!/usr/bin/env app\n'use strict'\nlet größe = '𝒳', \\u0061b = 1; größe\n++ab\nfunction f() { return größe }\n"},
	{source: "a = b\n/c/g.test(d) ? /[/]'/ : e / f /g; x = y / 2 / `}${/`/.source}${`${{}}`}` ; if (a) /re/.exec(b)"},
	{source: "for (var i = 0, n = ('x' in o); i < n; i++) for (const k in o) for (let [a, {b = () => 1, ...c}] of d) if (a) continue; else break\ndo x++; while (x < 5) y()"},
	{source: "label: for (;;) { switch (a) { case 1: let x = 1; case 2: { break label } default: class K {} } }"},
	{source: "try { a() } catch { b() } finally { c() } try { d() } catch ({message: m = 1}) { m() } try {} finally { throw 1 }"},
	{source: "class A extends (B, C) { #p = 1; static s = () => this; static { var v = 1; v++ } get x() { return #p in this } set x(v) { this.#p = v } static async *[k]() { yield* await 1 } 'constructor'() { super() } get; set; static; async\n static() {} 5() {} 'a\\u0062' = function () {} }"},
	{source: "var o = { a, b: function () { return arguments }, get c() { return 1 }, set c(v) { v }, async d() { await 1 }, *e() { yield\n 1 }, [f]: () => ({}), async, get, set: 1, 'g h': class { m() {} }, 7: x => x, ...r, if: 1 }"},
	{source: "[a, , ...b] = c; ({ d, e: [f = g => 1], ...h } = i); (j) = k; l.m = async n => await n; async (o, { p }) => { await p }; async\nq"},
	{source: "function* g(a, { b } = {}, [c] = [], ...d) { const e = yield a; for ([o[yield]] of f) h() } var yield_ = function named() { 'a'; 'b'\n named() }"},
	{source: "function outer() { if (a) { function inner() { return 1 } } function inner() {} var v; function v() {} return () => arguments }"},
	{source: "x?.y?.[z]?.(1)?.w; a ?? b; a ||= b; a &&= b; a ??= b; a **= b ** -c; new (a())(); new b.c; new d; delete a?.b; void 0; typeof x"},
	{source: "1_000n; .5e-3; 0xFf; 0b1; 5..toString(); 'a\\\nb'; `\\``; tag`a${1}b`; a\n`b`; debugger; ;; { } with_: { }"},
	{source: "let async; async = 1; async(2); async (3); var let_ = of => of; of = get; yield: for (of of of) of"},
	{source: "import a, * as b from 'c'\nimport { d as e, default as f, 'g h' as i } from 'j'; import 'k'; export * from 'l'; export * as m from 'n'; export { a as default, e as 'o p' }; export const q = await import('r'), { s } = import.meta\nexport async function t() { for await (const u of v) w(u) }", module: true},
	{source: "export default class { static a = 1 }\nexport class B {\n}\nexport { };", module: true},
	{source: "export default async () => { await 1 }", module: true},
	{source: "export default function () { return this }\nexport let x = 1, y = () => {\n return x }", module: true},
	{source: "\r\na()\r\n\u2028b(); /* \u2029 */ c()\n<!-- a comment\nd()"},
	{source: "if (a) function f() {} else g(); while (a) let\nb"},
	{source: "function f(a) { let a }"},
	{source: "while (1) const a = 1"},
	{source: "a: function f() {}"},
	{source: "return 1"},
	{source: "var a = {b = 1} =>"},
	{source: "(a, ...b)"},
	{source: "`${"},
	{source: "'unterminated"},
	{source: "/*"},
	{source: "class { x() }"},
	{source: "import 'a'"},
	{source: "({ 0x10() {}, 1e3() {}, .5() {}, 1.50() {}, 0.000001() {}, 1_0() {}, 0() {}, 123456789012345680000() {} })"},
	{source: "({ 010() {}, 1n() {}, 1e99() {} })"},
	{source: ""},
	{source: "'only a directive'"},
}

// TestInsertProbes verifies that insertProbes and the function that uses acorn insert the same
// probes.
func TestInsertProbes(t *testing.T) {
	i := &instrumenter{}
	defer i.close()
	all := syntaxes
	for _, file := range []string{"instrument.js", "remote.js", "../prelude.js", "../web.js", "../stream.js", "../socket.js", "../java.js"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, struct {
			source string
			module bool
		}{source: string(data)})
	}
	fast := 0
	for _, s := range all {
		got, err := insertProbes(s.source, s.module, 7)
		want, wantErr := i.instrumentByAcorn(s.source, s.module, 7)
		switch {
		case err != nil:
			continue // Acorn decides.
		case wantErr != nil:
			// An invalid program must be invalid with probes, too.
			if e, broken := engine.New(engine.Limits{}); broken != nil {
				t.Fatal(broken)
			} else {
				if v := e.CompileScript("a.js", got.Code); !engine.IsFailed(v) {
					t.Errorf("%s: acorn says %v", head(s.source), wantErr)
				}
				e.Close()
			}
			continue
		}
		fast++
		if got.Code != want.Code {
			t.Errorf("%s: the code is\n%s\nand by acorn\n%s", head(s.source), got.Code, want.Code)
		}
		for _, list := range [][]*probe{got.Probes, want.Probes} {
			for _, p := range list {
				if len(p.Calls) == 0 {
					p.Calls = nil
				}
			}
		}
		if !reflect.DeepEqual(got.Probes, want.Probes) {
			t.Errorf("%s: the probes differ", head(s.source))
		}
		if !reflect.DeepEqual(got.Scopes, want.Scopes) {
			t.Errorf("%s: the scopes differ", head(s.source))
		}
	}
	if fast < 27 {
		t.Errorf("only %d of %d were parsed without acorn", fast, len(all))
	}
	t.Logf("%d of %d were parsed without acorn", fast, len(all))
}

func head(s string) string { return s[:min(len(s), 60)] }

// TestInsertMarks verifies that sources that contain the mark of an insertion are rejected,
// because it would be removed from them, and that other uses of its characters are accepted.
func TestInsertMarks(t *testing.T) {
	i := &instrumenter{}
	defer i.close()
	for source, ok := range map[string]bool{"a\v\f()": false, "'\v\f'": false, "\f\va()\v": true, "\v\va()\f\f": true} {
		if _, err := i.instrument(source, true, 0); (err == nil) != ok {
			t.Errorf("%q: %v", source, err)
		}
	}
}

// TestInsertProbesBroken verifies for randomly corrupted sources that nothing panics, and that
// insertions can be removed.
func TestInsertProbesBroken(t *testing.T) {
	need.Time(t)
	pieces := append(strings.Fields("( ) { } [ ] ` ${ / ' \\ \\u => async yield await ... ?. # class static é = , : ; let function 0x 1e /* */ import export default"), "\v", "\f")
	random := rand.New(rand.NewPCG(1, 2))
	valid := 0
	for range 200_000 {
		source := syntaxes[random.IntN(len(syntaxes))].source
		for range 1 + random.IntN(4) {
			from := random.IntN(len(source) + 1)
			to := min(len(source), from+random.IntN(4))
			source = source[:from] + " " + pieces[random.IntN(len(pieces))] + " " + source[to:]
		}
		r, err := insertProbes(source, random.IntN(2) == 0, 0)
		if err != nil {
			if strings.HasPrefix(err.Error(), "insert probes:") {
				t.Errorf("%q: %v", source, err)
			}
			continue
		}
		valid++
		if plain := insertion.ReplaceAllString(r.Code, ""); plain != source {
			t.Errorf("%q became %q", source, plain)
		}
	}
	t.Logf("%d were valid", valid)
}
