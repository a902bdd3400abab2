// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/plugin"
)

// parts is a plugin with the given parts; an empty part is the right one.
func parts(descriptor, extensions, points, before string) string {
	if descriptor == "" {
		descriptor = `getDescriptor() { return { id: 'x' }; }`
	}
	if extensions == "" {
		extensions = `getExtensions() { return [X]; }`
	}
	if points == "" {
		points = `getExtensionPoints() { return ['UserAuthenticator']; }`
	}
	return before + "\nclass X extends AppExtension {\n  " + points + "\n}\nexport default class P extends AppPlugin {\n  " + descriptor + "\n  " + extensions + "\n}\n"
}

// TestPointsArePlannedLate proves that extension points are prepared for the first plugin, and that
// a wrong one refuses it.
func TestPointsArePlannedLate(t *testing.T) {
	point := &plugin.Point{Name: "Looker", Methods: []*plugin.Method{{Name: "look", Result: reflect.TypeFor[chan int]()}}}
	h, err := New(Options{Points: []*plugin.Point{point}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	const want = `load "x.js": extension point Looker: result of look: the type chan int has no counterpart in JavaScript`
	if _, err := h.Load(t.Context(), plugin.Source{Name: "x.js", Data: []byte(parts("", "", "", ""))}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestBadShapes(t *testing.T) {
	h, _ := newHost(t, Options{})
	for _, c := range []struct{ name, source, message, location string }{
		{"empty", "", "the module has no default export: it must export a class that extends AppPlugin as its default", "bad.js:1"},
		{"no default", "export class A extends AppPlugin {}", "no default export", "bad.js:1"},
		{"not a class", "export default 5", "the default export must be a class that extends AppPlugin, not a number", "bad.js"},
		{"function", "export default () => 1", "the default export must be a class that extends AppPlugin, not a function", "bad.js:1:"},
		{"wrong base", "\nexport default class Foo {}", "the class Foo is the default export and must extend AppPlugin", "bad.js:2:"},
		{"syntax", "export default class extends AppPlugin {\n  getDescriptor( {\n}", "SyntaxError", "bad.js:"},
		{"not a module", "export default = 5", "SyntaxError", "bad.js:1:"},
		{"decorator", "class A {\n  @extensionPointMethod\n  x() {}\n}", "decorators are not part of ECMAScript 2022", "bad.js:2:"},
		{"throws", "const a = 1;\nnull.x;", "TypeError: cannot read property 'x' of null", "bad.js:2:"},
		{"rejects", "await 1;\nthrow new RangeError('no')", "RangeError: no", "bad.js:2:"},
		{"throws a text", "throw 'just text'", `just text`, ""},
		{"no descriptor", parts("x() {}", "", "", ""), "the class P has no function getDescriptor(), which returns the descriptor", "bad.js:5:"},
		{"descriptor throws", parts("getDescriptor() { throw new Error('eek'); }", "", "", ""), "Error: eek", "bad.js:6:"},
		{"descriptor async", parts("async getDescriptor() {}", "", "", ""), "getDescriptor() must return the descriptor, not a promise", "bad.js:6:"},
		{"descriptor number", parts("getDescriptor() { return 5; }", "", "", ""), "getDescriptor() must return an object with an id, not a number", "bad.js:6:"},
		{"no id", parts("getDescriptor() { return {}; }", "", "", ""), "an id that is not empty", "bad.js:6:"},
		{"blank id", parts("getDescriptor() { return { id: '  ' }; }", "", "", ""), "an id that is not empty", "bad.js:6:"},
		{"number id", parts("getDescriptor() { return { id: 5 }; }", "", "", ""), "getDescriptor(): id must be a string, not a number", "bad.js:6:"},
		{"number version", parts("getDescriptor() { return { id: 'a', version: 1.5 }; }", "", "", ""), "version must be a string, not a number", "bad.js:6:"},
		{"unknown server", parts("getDescriptor() { return { id: 'a', 'compatible-server': 'MOON' }; }", "", "", ""), `names "MOON", which is neither GATEWAY`, "bad.js:6:"},
		{"no extensions", parts("", "x() {}", "", ""), "the class P has no function getExtensions(), which returns an array of classes", "bad.js:5:"},
		{"extensions no array", parts("", "getExtensions() { return X; }", "", ""), "getExtensions() must return an array of classes that extend AppExtension, not a function", "bad.js:7:"},
		{"extensions empty", parts("", "getExtensions() { return []; }", "", ""), "at least one class", "bad.js:7:"},
		{"extension instance", parts("", "getExtensions() { return [new X()]; }", "", ""), "getExtensions()[0] must be a class that extends AppExtension, not an object", "bad.js:7:"},
		{"extension base", parts("", "getExtensions() { return [X, class Y {}]; }", "", ""), "getExtensions()[1], the class Y, must extend AppExtension", "bad.js:7:"},
		{"extension throws", parts("", "", "constructor() { super(); throw new Error('born dead'); } getExtensionPoints() { return []; }", ""), "Error: born dead", "bad.js:3:"},
		{"no points", parts("", "", "x() {}", ""), "the class X has no function getExtensionPoints()", "bad.js:2:"},
		{"points no array", parts("", "", "getExtensionPoints() { return 'UserAuthenticator'; }", ""), "getExtensionPoints() of X must return an array of names, not a string", "bad.js:3:"},
		{"points empty", parts("", "", "getExtensionPoints() { return []; }", ""), "must name at least one", "bad.js:3:"},
		{"point number", parts("", "", "getExtensionPoints() { return [1]; }", ""), "getExtensionPoints()[0] of X must be a string, not a number", "bad.js:3:"},
		{"unknown point", parts("", "", "getExtensionPoints() { return ['Foo']; }", ""), `names "Foo", which is not an extension point; there are: AdminActionHandler, ClientRequestHandler`, "bad.js:3:"},
		{"no function", parts("", "", "getExtensionPoints() { return ['UserAuthenticator']; } authenticate = 5;", ""), "authenticate of X must be a function, not a number", "bad.js:2:"},
		{"require", "const fs = require('fs');", "ReferenceError: 'require' is not defined: Node.js modules cannot be used in a plugin", "bad.js:1:"},
		{"Intl", "new Intl.NumberFormat('de');", "'Intl' is not defined: texts cannot be made for a locale", "bad.js:1:"},
		{"process", "\nprocess.exit(1)", "'process' is not defined: Node.js modules cannot be used", "bad.js:2:"},
		{"node import", "import fs from 'fs';", `import "fs": Node.js modules and packages cannot be used in a plugin`, "bad.js:1"},
		{"node prefix", "\nimport fs from 'node:fs';", `import "node:fs": Node.js modules`, "bad.js:2"},
		{"no folder", "import x from './x.js';", "the plugin lies in no folder", "bad.js:1"},
		{"not text", "\xff\xfe", "the file is not text in UTF-8", "bad.js"},
		{"early api", "await app.storage.get('x');", "app.storage", "bad.js"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := h.Load(t.Context(), plugin.Source{Name: "bad.js", Data: []byte(c.source)})
			if err == nil {
				m.Close(t.Context())
				t.Fatal("it was loaded")
			}
			x, ok := errors.AsType[*plugin.Exception](err)
			if !ok {
				t.Fatalf("%T: %v", err, err)
			}
			if !strings.Contains(x.Message, c.message) || !strings.HasPrefix(x.Location, c.location) {
				t.Errorf("got  %q at %q\nwant %q at %q", x.Message, x.Location, c.message, c.location)
			}
		})
	}
	if len(h.modules) != 0 {
		t.Errorf("%d modules are left", len(h.modules))
	}
}

func TestCompatibleServers(t *testing.T) {
	h, _ := newHost(t, Options{})
	for text, want := range map[string]string{
		`'compatible-server': 'app-service'`:                         "SERVICE",
		`'compatible-servers': 'GATEWAY, SERVICE'`:                   "GATEWAY SERVICE",
		`'compatible-servers': ['app-gateway', 'GATEWAY']`:           "GATEWAY",
		`'compatible-server': ['app-ai-serving'], version: '1'`:      "AI_SERVING",
		`'compatible-server': null, 'compatible-servers': undefined`: "",
	} {
		m := load(t, h, plugin.Source{Data: []byte(parts("getDescriptor() { return { id: 'x', "+text+" }; }", "", "", ""))})
		var got []string
		for _, r := range m.Descriptor().Servers {
			got = append(got, string(r))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v", text, got)
		}
		m.Close(t.Context())
	}
}

func TestWarnings(t *testing.T) {
	h, _ := newHost(t, Options{})
	m := load(t, h, plugin.Source{Name: "w.js", Data: []byte(parts("", "", "", ""))})
	if w := m.Warnings(); len(w) != 1 || w[0] != "X names UserAuthenticator but has none of its functions: authenticate() (w.js:2:1)" {
		t.Errorf("%q", w)
	}
	x := m.Extensions()[0]
	if x.Implements(authenticate) {
		t.Error("it implements what it does not have")
	}
	if _, err := x.Call(t.Context(), authenticate, []any{plugin.UserLoginInfo{}}, new(bool)); err == nil {
		t.Error("a function that is not there was called")
	}
}

// TestLoadGivenScript lets a plugin run a script that it has as a text.
func TestLoadGivenScript(t *testing.T) {
	h, log := newHost(t, Options{})
	m := load(t, h, script(`
app.log.info(load({ name: 'given.js', script: 'var given = 20; given + 1' }), given);
for (const wrong of [() => load({ name: 'bad.js', script: 'x y' }), () => load({ name: 'a.js' }), () => load({ script: 1, name: 'a.js' }), () => load(5)]) {
  try { wrong(); app.log.info('nothing was thrown'); } catch (e) { app.log.info(String(e), e.stack ?? ''); }
}
`, ""))
	m.Close(t.Context())
	for _, want := range []string{`text="21 20"`, "SyntaxError", "bad.js", "load: script must be a string, not undefined", "load: script must be a string, not a number", "load: a path, a URL or an object with name and script is expected, not a number"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is missing in %s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "nothing was thrown") {
		t.Error(log.String())
	}
}

func TestTopLevelAwaitAndGlobals(t *testing.T) {
	h, log := newHost(t, Options{})
	m := load(t, h, script(`
await new Promise((resolve) => setTimeout(resolve, 2));
app.log.info('loading', new URL('/a', 'http://b').href, crypto.randomUUID().length);
`, ""))
	m.Close(t.Context())
	if !strings.Contains(log.String(), `text="loading http://b/a 36"`) {
		t.Error(log.String())
	}
}

// TestLoadingSaysWhereItWas proves that a load whose time is over names what the plugin did, in
// every step of it.
func TestLoadingSaysWhereItWas(t *testing.T) {
	h, _ := newHost(t, Options{})
	for name, source := range map[string]plugin.Source{
		"loop":        script("for (;;) {}", ""),
		"await":       script("await new Promise(() => {});", ""),
		"jobs":        script("const f = () => Promise.resolve().then(f); f();", ""),
		"constructor": script("", "constructor() { super(); for (;;) {} }"),
		"points":      {Name: "points.js", Data: []byte("export default class extends AppPlugin { getDescriptor() { for (;;) {} } getExtensions() { return []; } }")},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := h.Load(ctx, source)
		cancel()
		if err == nil || !strings.Contains(err.Error(), "loading took too long") || !strings.Contains(err.Error(), source.Name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestResources(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/lib.js":
			w.Write([]byte("globalThis.fromURL = 'url'; 40 + 2"))
		case "/mod.js":
			w.Write([]byte("import { z } from './other.js'; export const y = z + 1;"))
		case "/other.js":
			w.Write([]byte("export const z = 6;"))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	inside := filepath.Join(dir, "plugins")
	for name, text := range map[string]string{
		"secret.js":           "globalThis.secret = 1",
		"plugins/lib/a.js":    "import { b } from './b.js'; export const a = b * 2;",
		"plugins/lib/b.js":    "export const b = 21;",
		"plugins/lib/glob.js": "var global1 = 'global'; 'last';",
		"plugins/bad.js":      "let a = 1;\nlet a = 2;",
		"plugins/throws.js":   "\n\n  throw new Error('inside');",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret.js", filepath.Join(inside, "link.js")); err != nil {
		t.Fatal(err)
	}
	h, log := newHost(t, Options{})
	src := script(`
import { a } from './lib/a.js';
import { y } from '`+server.URL+`/mod.js';
const attempt = (f) => { try { return f(); } catch (e) { return e.name + ': ' + e.message; } };
app.log.info([a, y, load('lib/glob.js'), global1, load('./lib/glob.js'), load('`+server.URL+`/lib.js'), fromURL]);
app.log.info('A', attempt(() => load('../secret.js')));
app.log.info('B', attempt(() => load('/etc/passwd')));
app.log.info('C', attempt(() => load('link.js')));
app.log.info('D', attempt(() => load('nowhere.js')));
app.log.info('E', attempt(() => load('`+server.URL+`/nowhere')));
app.log.info('F', attempt(() => load(5)));
app.log.info('G', attempt(() => load('lib')));
app.log.info('H', attempt(() => load('bad.js')), typeof secret);
const later = await import('./lib/b.js');
app.log.info('I', later.b);
try { load('throws.js'); } catch (e) { app.log.info('J', e.stack); }
`, "")
	src.Path = filepath.Join(inside, "test.js")
	m := load(t, h, src)
	m.Close(t.Context())
	for _, want := range []string{
		`text="[ 42, 7, \"last\", \"global\", \"last\", 42, \"url\" ]"`,
		`text="A Error: load \"../secret.js\": read a file in the folder of the plugin:`,
		`text="B Error: load \"/etc/passwd\": read a file`,
		`text="C Error: load \"link.js\": read a file`,
		`text="D Error: load \"nowhere.js\": read a file`,
		`nowhere\": the status is 404"`,
		`text="F TypeError: load: a path, a URL or an object with name and script is expected, not a number"`,
		`text="G Error: load \"lib\": it is not a file"`,
		`text="H SyntaxError: `,
		` undefined"`,
		`text="I 21"`,
		`throws.js:3:`,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%s is missing in\n%s", want, log)
		}
	}
}

// TestOldNames accepts the names of extension points that older plugins use.
func TestOldNames(t *testing.T) {
	h, err := New(Options{Points: plugin.Points})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	for _, name := range []string{"ClientRequestTransformer", "im.app.service.infra.plugin.extension.ClientRequestTransformer", plugin.ClientRequestHandler.FullName()} {
		m, err := h.Load(t.Context(), plugin.Source{Name: "old.js", Data: []byte(`
class Old extends AppExtension { getExtensionPoints() { return ['` + name + `']; } transform() {} }
export default class extends AppPlugin { getDescriptor() { return {id: 'old'}; } getExtensions() { return [Old]; } }`)})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if points := m.Extensions()[0].Points(); len(points) != 1 || points[0] != plugin.ClientRequestHandler || !m.Extensions()[0].Implements(plugin.TransformRequest) {
			t.Errorf("%s is %v", name, points)
		}
		m.Close(t.Context())
	}
}
