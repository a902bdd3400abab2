// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/app/test/need"
)

var compiler = filepath.Join("..", "..", "..", "..", filepath.FromSlash(Compiler))

// TestTypes compares the types for plugins with those of the last release.
func TestTypes(t *testing.T) {
	need.Time(t)
	old, err := Baseline()
	if err != nil {
		t.Fatal(err)
	}
	now, err := Current(old.Version)
	if err != nil {
		t.Fatal(err)
	}
	found, err := Check(t.Context(), compiler, old, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range found {
		t.Error(s)
	}
	// All real types are compared: breaking any of them is detected.
	text := now.Text
	var want []string
	for _, c := range []struct{ part, by, says string }{
		{"getDescriptor(): PluginDescriptor;", "getDescriptor(): PluginDescriptor;\n  abstract getLicence(): string;", "AppPlugin.getLicence is new and required"},
		{"handleAdminAction?(adminAction: AdminAction)", "handleAdminAction?(adminAction?: AdminAction)", "ExtensionPoints.AdminActionHandler.handleAdminAction(adminAction) can be undefined or null now"},
		{"type StatusCodeName =\n  | 'OK'", "type StatusCodeName =\n  | 'FINE'", "AppError(code) can no longer be \"OK\""},
		{"createRoles(input: {", "createRoles(another: number, input: {", "demands 2 arguments instead of 1"},
		{"declare function atob(text: string): string;", "", "atob is gone"},
		{"readonly reason: string;", "readonly reason?: string;", "AppError.prototype.reason can be missing now"},
		{"export function beforeEach(f: () => unknown): void;", "export function beforeEach(f: () => void, name: string): void;", "app:test: beforeEach demands 2 arguments instead of 1"},
	} {
		if !strings.Contains(text, c.part) {
			t.Fatalf("the types have no %q", c.part)
		}
		text, want = strings.Replace(text, c.part, c.by, 1), append(want, c.says)
	}
	found, err = Check(t.Context(), compiler, old, Types{old.Version, text})
	if err != nil {
		t.Fatal(err)
	}
	for _, says := range want {
		if !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, says) }) {
			t.Errorf("%q is not in %q", says, found)
		}
	}
}

// TestRules compares small declarations: breaking changes are reported, others are not.
func TestRules(t *testing.T) {
	need.Time(t)
	tests := []struct {
		name, old, now string
		want           []string
	}{
		{name: "nothing", old: "declare const app: { a: string };", now: "declare const app: { a: string };"},
		{name: "a value is gone", old: "declare const app: {}; declare function load(): void;", now: "declare const app: {};", want: []string{"load is gone"}},
		{name: "a type is gone", old: "interface A { a: string }", now: "", want: []string{"A is gone"}},
		{name: "a value becomes a type", old: "declare class A { a: string }", now: "interface A { a: string }", want: []string{"A is only a type now"}},
		{name: "a new value", old: "", now: "declare const app: { a: string };"},
		{name: "a member is gone", old: "declare const app: { a: string; b: number };", now: "declare const app: { a: string };", want: []string{"app.b is gone"}},
		{name: "a new member of what plugins get", old: "declare const app: { a: string };", now: "declare const app: { a: string; b: number };"},
		{name: "a member can be missing", old: "declare const app: { a: string };", now: "declare const app: { a?: string };", want: []string{"app.a can be missing now"}},
		{name: "a member is always there", old: "declare const app: { a?: string };", now: "declare const app: { a: string };"},
		{name: "a member is null", old: "declare const app: { a: string };", now: "declare const app: { a: string | null };", want: []string{"app.a can be undefined or null now"}},
		{name: "a member cannot be set", old: "declare const app: { a: string };", now: "declare const app: { readonly a: string };", want: []string{"app.a can no longer be set"}},
		{name: "another type", old: "declare const app: { a: string };", now: "declare const app: { a: number };", want: []string{"app.a can no longer be string", "app.a can be number now"}},
		{name: "a date instead of a text", old: "declare const app: { a: string };", now: "declare const app: { a: Date };", want: []string{"app.a can no longer be string", "app.a can be Date now"}},
		{name: "a result is wider", old: "declare function f(): string;", now: "declare function f(): string | number;", want: []string{"f() can be number now"}},
		{name: "a result is narrower", old: "declare function f(): string | number;", now: "declare function f(): string;", want: []string{"f() can no longer be number"}},
		{name: "a result becomes a promise", old: "declare function f(): string;", now: "declare function f(): Promise<string>;", want: []string{"f() can no longer be string", "f() can be Promise<string> now"}},
		{name: "the promise of a result", old: "declare function f(): Promise<{ a: string }>;", now: "declare function f(): Promise<{ a?: string }>;", want: []string{"f().a can be missing now"}},
		{name: "a parameter is wider", old: "declare function f(a: string): void;", now: "declare function f(a: string | number): void;"},
		{name: "a parameter is narrower", old: "declare const app: { f(a: string | number): void };", now: "declare const app: { f(a: string): void };", want: []string{"app.f(a) can no longer be number"}},
		{name: "a required parameter", old: "declare function f(a: string): void;", now: "declare function f(a: string, b: number): void;", want: []string{"f demands 2 arguments instead of 1"}},
		{name: "an optional parameter", old: "declare function f(a: string): void;", now: "declare function f(a: string, b?: number): void;"},
		{name: "a parameter is gone", old: "declare function f(a: string, b?: number): void;", now: "declare function f(a: string): void;", want: []string{"f takes 1 arguments instead of 2"}},
		{name: "an optional parameter is required", old: "declare function f(a?: string): void;", now: "declare function f(a: string): void;", want: []string{"f demands 1 arguments instead of 0", "f(a) can no longer be undefined or null"}},
		{name: "an option is required", old: "interface O { a?: string } declare function f(o: O): void;", now: "interface O { a: string } declare function f(o: O): void;", want: []string{"f(o).a is required now"}},
		{name: "a new option", old: "interface O { a: string } declare function f(o: O): void;", now: "interface O { a: string; b?: string } declare function f(o: O): void;"},
		{name: "a new option is required", old: "interface O { a: string } declare function f(o: O): void;", now: "interface O { a: string; b: string } declare function f(o: O): void;", want: []string{"f(o).b is new and required"}},
		{name: "an option is gone", old: "interface O { a?: string; b?: string } declare function f(o: O): void;", now: "interface O { a?: string } declare function f(o: O): void;", want: []string{"f(o).b is gone"}},
		{name: "a new constant", old: "type E = 'A' | 'B'; declare function f(e: E): E;", now: "type E = 'A' | 'B' | 'C'; declare function f(e: E): E;"},
		{name: "a constant is gone", old: "type E = 'A' | 'B'; declare function f(): E;", now: "type E = 'A'; declare function f(): E;", want: []string{`f() can no longer be "B"`}},
		{name: "a constant becomes any text", old: "declare function f(): 'A' | 'B';", now: "declare function f(): string;", want: []string{"f() can be string now"}},
		{name: "a new function of an extension point", old: "interface P { f?(a: string): void } interface ExtensionPoints { P: P }", now: "interface P { f?(a: string): void; g?(): void } interface ExtensionPoints { P: P }"},
		{name: "a new extension point", old: "interface P { f?(): void } interface ExtensionPoints { P: P }", now: "interface P { f?(): void } interface ExtensionPoints { P: P; Q?: P }"},
		{name: "an argument of an extension point lacks a field", old: "interface P { f?(a: { b: string }): void } interface ExtensionPoints { P: P }", now: "interface P { f?(a: {}): void } interface ExtensionPoints { P: P }", want: []string{"ExtensionPoints.P.f(a).b is gone"}},
		{name: "an argument of an extension point has a new field", old: "interface P { f?(a: { b: string }): void } interface ExtensionPoints { P: P }", now: "interface P { f?(a: { b: string; c: string }, d: string): void } interface ExtensionPoints { P: P }"},
		{name: "an extension point wants more of a result", old: "interface P { f?(): { a: string } } interface ExtensionPoints { P: P }", now: "interface P { f?(): { a: string; b: string } } interface ExtensionPoints { P: P }", want: []string{"ExtensionPoints.P.f().b is new and required"}},
		{name: "a plugin must have a function", old: "declare abstract class AppPlugin { a(): void }", now: "declare abstract class AppPlugin { a(): void; abstract b(): void }", want: []string{"AppPlugin.b is new and required"}},
		{name: "a constructor demands more", old: "declare class A { constructor(a?: string) }", now: "declare class A { constructor(a: string) }", want: []string{"A demands 1 arguments instead of 0", "A(a) can no longer be undefined or null"}},
		{name: "an overload is gone", old: "declare const app: { f(a: string): string; f(a: number): number };", now: "declare const app: { f(a: string): string };", want: []string{"app.f can no longer be called as (a: number): number"}},
		{name: "a generic type", old: "declare class S<T> { get(): T } declare const app: { s: S<string>; t: S<number> };", now: "declare class S<T> { put(): T } declare const app: { s: S<number>; t: S<number> };", want: []string{"app.s can no longer be string", "app.s can be number now", "S.get is gone"}},
		{name: "a recursive type", old: "interface N { next?: N; value: string } declare const app: { n: N };", now: "interface N { next?: N; value: string | undefined } declare const app: { n: N };", want: []string{"app.n.value can be undefined or null now"}},
		{name: "names of any kind", old: "declare const app: { m: { [name: string]: string } };", now: "declare const app: { m: { a: string } };", want: []string{"app.m no longer has any string as a name"}},
		{name: "a namespace", old: "declare namespace api { interface A { a: string } function f(): A; }", now: "declare namespace api { interface A { b: string } function f(): A; }", want: []string{"api.f().a is gone"}},
		{name: "a module", old: "declare module 'm' {\n  export function f(): string;\n}\n", now: "declare module 'm' {\n  export function g(): string;\n}\n", want: []string{"m: f is gone"}},
		{name: "a type of which nothing is used", old: "interface R<T = unknown> { q: T; b: string }", now: "interface R<T = unknown> { q: T }", want: []string{"R.b is gone"}},
		{name: "a deprecated member", old: "declare const app: {\n/** @deprecated */\nb: number };", now: "declare const app: {};", want: []string{"app.b is gone"}},
	}
	pairs := make([]pair, len(tests))
	for i, tt := range tests {
		pairs[i] = pair{Types{"1.0.0", tt.old}, Types{"1.1.0", tt.now}}
	}
	const deprecated = "declare const app: {\n  /** @deprecated */\n  b: number;\n};"
	pairs = append(pairs, pair{Types{"1.0.0", deprecated}, Types{"2.0.0", "declare const app: {};"}}, pair{Types{"1.0.0", "declare const app: Nothing;"}, Types{"1.1.0", ""}})
	results, err := compare(t.Context(), compiler, pairs)
	if err != nil {
		t.Fatal(err)
	}
	for i, tt := range tests {
		found := results[i].Found
		slices.Sort(found)
		slices.Sort(tt.want)
		if !slices.Equal(found, tt.want) || results[i].Error != "" {
			t.Errorf("%s: found %q, want %q %s", tt.name, found, tt.want, results[i].Error)
		}
	}
	if r := results[len(tests)]; len(r.Found) > 0 || r.Error != "" {
		t.Errorf("what was deprecated cannot go in a major version: %q %s", r.Found, r.Error)
	}
	if r := results[len(tests)+1]; !strings.Contains(r.Error, "Nothing") {
		t.Errorf("declarations that are not valid: %q %s", r.Found, r.Error)
	}
}

// TestBare proves that comments are removed and deprecations kept.
func TestBare(t *testing.T) {
	const text = "// A.\n\n/** One line. */\ninterface A {\n  /**\n   * Lines.\n   * @deprecated Use c.\n   */\n  b: string; // kept\n}\n"
	if got, want := bare(text), "interface A {\n  /** @deprecated */\n  b: string; // kept\n}\n"; got != want {
		t.Errorf("%q", got)
	}
}
