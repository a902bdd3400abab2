// SPDX-License-Identifier: Apache-2.0

package bundle_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/app/internal/plugin/bundle"
)

// folder writes files into a folder of the test.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBuild(t *testing.T) {
	dir := folder(t, map[string]string{
		"main.ts":                             "import { twice } from './lib/twice';\nimport pad from 'left';\nexport default class Kept { x: string = pad(twice(2)); }",
		"lib/twice.ts":                        "export const twice = (n: number): number => 2 * n;",
		"node_modules/left/package.json":      `{"name":"left","main":"cjs.js","module":"esm.js"}`,
		"node_modules/left/esm.js":            "export default (n) => 'esm' + n;",
		"node_modules/left/cjs.js":            "module.exports = (n) => 'cjs' + n;",
		"old.js":                              "import old from 'old'; export default old;",
		"node_modules/old/package.json":       `{"name":"old"}`,
		"node_modules/old/index.js":           "module.exports = 'of CommonJS';",
		"both.js":                             "import mapped from 'mapped';\nimport chosen from 'chosen';\nexport default [mapped, chosen, process.env.NODE_ENV];",
		"node_modules/mapped/package.json":    `{"name":"mapped","main":"index.js","browser":{"./rand.js":"./rand-browser.js","util":false}}`,
		"node_modules/mapped/index.js":        "require('util'); module.exports = require('./rand.js');",
		"node_modules/mapped/rand.js":         "module.exports = require('crypto').randomBytes;",
		"node_modules/mapped/rand-browser.js": "module.exports = 'random of browsers';",
		"node_modules/chosen/package.json":    `{"name":"chosen","exports":{"node":"./node.js","worker":"./worker.js","browser":"./browser.js","default":"./node.js"}}`,
		"node_modules/chosen/node.js":         "import 'fs'; export default 'for Node.js';",
		"node_modules/chosen/browser.js":      "export default document.title;",
		"node_modules/chosen/worker.js":       "export default 'for workers';",
		"bad.ts":                              "\nlet a: = 1;",
		"node.ts":                             "import { readFile } from 'fs';\nexport default readFile;",
		"none.ts":                             "import x from './none-such';\nexport default x;",
		"url.js":                              "import x from 'https://example.org/x.js';\nexport default x;",
		"node_modules/@types/left/index.ts":   "",
	})
	for _, tt := range []struct {
		name, entry  string
		minify       bool
		holds, lacks []string
		err          string
	}{
		{name: "TypeScript with a package", entry: "main.ts", holds: []string{"2 * n", `"esm"`, "Kept = class", "sourceMappingURL=data:"}, lacks: []string{"cjs", ": number", "import"}},
		{name: "small", entry: "main.ts", minify: true, holds: []string{"Kept", "sourceMappingURL=data:"}, lacks: []string{"\n\n"}},
		{name: "CommonJS", entry: "old.js", holds: []string{"of CommonJS"}},
		{name: "for browsers", entry: "both.js", holds: []string{"random of browsers", "for workers", `"production"`}, lacks: []string{"randomBytes", "Node.js", "document", "process"}},
		{name: "a URL stays", entry: "url.js", holds: []string{`"https://example.org/x.js"`}},
		{name: "syntax", entry: "bad.ts", err: "bad.ts:2:8: "},
		{name: "Node.js", entry: "node.ts", err: `node.ts:1:26: Could not resolve "fs"; packages are looked for in node_modules, or else in package-lock.json, and those of Node.js itself cannot be used in a plugin`},
		{name: "no such import", entry: "none.ts", err: `Could not resolve "./none-such"`},
		{name: "no such file", entry: "nothing.ts", err: "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := bundle.Build(bundle.Options{Entry: filepath.Join(dir, tt.entry), Output: filepath.Join(dir, "dist", "out.js"), Minify: tt.minify})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			code, _, _ := strings.Cut(string(r.Script), "sourceMappingURL=data:")
			code += "sourceMappingURL=data:"
			for _, part := range tt.holds {
				if !strings.Contains(code, part) {
					t.Errorf("%s lacks %q", code, part)
				}
			}
			for _, part := range tt.lacks {
				if strings.Contains(code, part) {
					t.Errorf("%s holds %q", code, part)
				}
			}
		})
	}
	if _, err := os.Stat(filepath.Join(dir, "dist")); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
}

func TestWatch(t *testing.T) {
	dir := folder(t, map[string]string{"main.ts": "import './part'; export default 1;", "part.ts": "console.log('first' as string);"})
	type built struct {
		script string
		err    error
	}
	results := make(chan built, 10)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- bundle.Watch(ctx, bundle.Options{Entry: filepath.Join(dir, "main.ts"), Output: filepath.Join(dir, "main.js")}, func(r *bundle.Result, err error) {
			b := built{err: err}
			if r != nil {
				b.script = string(r.Script)
			}
			results <- b
		})
	}()
	// A save may be seen more than once.
	wait := func(what string, fits func(b built) bool) {
		t.Helper()
		for {
			select {
			case b := <-results:
				if fits(b) {
					return
				}
			case err := <-ended:
				t.Fatalf("it ended while waiting for %s: %v", what, err)
			}
		}
	}
	save := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "part.ts"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wait("the first", func(b built) bool { return strings.Contains(b.script, `"first"`) })
	save("console.log('second' as);")
	wait("a mistake", func(b built) bool { return b.err != nil && strings.Contains(b.err.Error(), "part.ts:1:") })
	save("console.log('third' as string);")
	wait("the mended one", func(b built) bool { return strings.Contains(b.script, `"third"`) })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
