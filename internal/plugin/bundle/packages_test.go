// SPDX-License-Identifier: Apache-2.0

package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.org/app/internal/plugin/bundle"
)

// A registry serves packages as real archives.
type registry struct {
	url      string
	archives map[string][]byte
	mu       sync.Mutex
	served   []string
}

// newRegistry makes archives of packages: their files by name, for each path in a lock file.
func newRegistry(t *testing.T, packages map[string]map[string]string) *registry {
	t.Helper()
	r := &registry{archives: map[string][]byte{}}
	for key, files := range packages {
		var b bytes.Buffer
		zipped := gzip.NewWriter(&b)
		w := tar.NewWriter(zipped)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "package/" + name, Mode: 0o644, Size: int64(len(files[name]))}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte(files[name])); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := zipped.Close(); err != nil {
			t.Fatal(err)
		}
		r.archives["/"+strings.ReplaceAll(key, "/", "-")+".tgz"] = b.Bytes()
	}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	r.url = s.URL
	return r
}

// ServeHTTP implements http.Handler.
func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.served = append(r.served, req.URL.Path)
	r.mu.Unlock()
	if data, ok := r.archives[req.URL.Path]; ok {
		w.Write(data)
		return
	}
	http.NotFound(w, req)
}

// fetched returns what was fetched since the last time, in order of the names.
func (r *registry) fetched() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Sorted(slices.Values(r.served))
	r.served = nil
	return strings.Join(list, " ")
}

// lock is the lock file of all packages.
func (r *registry) lock(t *testing.T, keys ...string) string {
	t.Helper()
	packages := map[string]any{"": map[string]any{}}
	for _, key := range keys {
		name := "/" + strings.ReplaceAll(key, "/", "-") + ".tgz"
		sum := sha512.Sum512(r.archives[name])
		packages[key] = map[string]any{"version": "1.0.0", "resolved": r.url + name, "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
	}
	data, err := json.Marshal(map[string]any{"lockfileVersion": 3, "packages": packages})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// published are packages of all kinds.
var published = map[string]map[string]string{
	"node_modules/esm": {
		"package.json": `{"name":"esm","type":"module","exports":{".":"./main.js","./sub":"./lib/sub.js"}}`,
		"main.js":      "import two from 'two'; import old from 'old'; export default () => 'esm:' + two + ':' + typeof old.default;",
		"lib/sub.js":   "export const sub = 'sub';",
	},
	"node_modules/old":                      {"package.json": `{"name":"old","main":"lib"}`, "lib/index.js": "Object.defineProperty(exports, '__esModule', {value: true}); exports.default = () => 'old:' + require('two');"},
	"node_modules/two":                      {"package.json": `{"name":"two","version":"2.0.0"}`, "index.js": "module.exports = 'two 2';"},
	"node_modules/esm/node_modules/two":     {"package.json": `{"name":"two","version":"1.0.0"}`, "index.js": "module.exports = 'two 1';"},
	"node_modules/@scope/typed":             {"package.json": `{"name":"@scope/typed","sideEffects":false}`, "index.js": "export const used = 'used'; export const unused = 'unused';"},
	"node_modules/compiler":                 {"package.json": `{"name":"compiler"}`, "index.js": "throw new Error('never imported');"},
	"node_modules/broken":                   {"package.json": `{"name":"broken"}`, "index.js": "let = ;"},
	"work/node_modules/two":                 {"package.json": `{"name":"two","version":"3.0.0"}`, "index.js": "module.exports = 'two 3';"},
	"node_modules/esm/node_modules/unasked": {"index.js": ""},
}

// sources are the files of a project.
func sources(more map[string]string) map[string]string {
	files := map[string]string{
		"src/main.ts":    "import esm from 'esm';\nimport { sub } from 'esm/sub';\nimport old from 'old';\nimport { used } from '@scope/typed';\nimport type { Compiler } from 'compiler';\nexport default (c: Compiler) => [esm(), sub, old(), used];\n",
		"src/broken.ts":  "import 'broken';",
		"src/wrong.ts":   "import 'two';\nlet x: = 1;",
		"src/unknown.ts": "import 'nothing-such';",
		"work/main.ts":   "import two from 'two'; export default two;",
	}
	maps.Copy(files, more)
	return files
}

// TestBuildFromLock makes the same script of packages that a lock file names as of those in
// node_modules.
func TestBuildFromLock(t *testing.T) {
	r := newRegistry(t, published)
	cache := t.TempDir()
	keys := slices.Collect(maps.Keys(published))
	locked := folder(t, sources(map[string]string{"package-lock.json": r.lock(t, keys...)}))
	installed := map[string]string{}
	for key, files := range published {
		for name, text := range files {
			installed[path.Join(key, name)] = text
		}
	}
	installedDir := folder(t, sources(installed))
	for _, o := range []bundle.Options{{}, {Minify: true}} {
		build := func(dir string) string {
			o := o
			o.Entry, o.Output, o.Cache = filepath.Join(dir, "src", "main.ts"), filepath.Join(dir, "dist", "deep", "main.js"), cache
			result, err := bundle.Build(o)
			if err != nil || len(result.Warnings) > 0 {
				t.Fatal(err, result)
			}
			return string(result.Script)
		}
		got, want := build(locked), build(installedDir)
		if got != want {
			t.Errorf("from the lock file comes\n%s\nand from node_modules\n%s", got, want)
		}
		if !o.Minify && (!strings.Contains(got, "// node_modules/esm/main.js") && !strings.Contains(got, "// ../node_modules/esm/main.js") || strings.Contains(got, "unused")) {
			t.Error(got)
		}
		// The second time all are in the cache.
		if fetched := r.fetched(); !o.Minify && fetched != "/node_modules-@scope-typed.tgz /node_modules-esm-node_modules-two.tgz /node_modules-esm.tgz /node_modules-old.tgz /node_modules-two.tgz" || o.Minify && fetched != "" {
			t.Errorf("fetched were %q", fetched)
		}
	}
	for entry, want := range map[string]string{
		"src/broken.ts":  "../node_modules/broken/index.js:1:",
		"src/wrong.ts":   "wrong.ts:2:8: ",
		"src/unknown.ts": `Could not resolve "nothing-such"`,
		"work/main.ts":   `"two" has a version of its own in a folder of the project, "work/node_modules/two"; run "npm ci"`,
	} {
		_, err := bundle.Build(bundle.Options{Entry: filepath.Join(locked, entry), Output: filepath.Join(locked, "out.js"), Cache: cache})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", entry, err)
		}
	}
	for _, name := range []string{"node_modules", "src/node_modules", "dist"} {
		if _, err := os.Stat(filepath.Join(locked, name)); !os.IsNotExist(err) {
			t.Errorf("%s was written: %v", name, err)
		}
	}
}

// TestWatchFromLock adds an import, and then a package to the lock file, while the sources are
// watched.
func TestWatchFromLock(t *testing.T) {
	r := newRegistry(t, published)
	dir := folder(t, map[string]string{"main.js": "console.log('nothing');", "package-lock.json": r.lock(t, "node_modules/two")})
	results := make(chan string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		o := bundle.Options{Entry: filepath.Join(dir, "main.js"), Output: filepath.Join(dir, "out.js"), Cache: t.TempDir()}
		ended <- bundle.Watch(ctx, o, func(r *bundle.Result, err error) {
			if err != nil {
				results <- "error: " + err.Error()
			} else {
				results <- string(r.Script)
			}
		})
	}()
	wait := func(part string) {
		t.Helper()
		for {
			select {
			case s := <-results:
				if strings.Contains(s, part) {
					return
				}
			case err := <-ended:
				t.Fatalf("it ended while waiting for %s: %v", part, err)
			}
		}
	}
	save := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wait(`"nothing"`)
	save("main.js", "import two from 'two'; console.log(two);")
	wait("two 2")
	save("main.js", "import two from 'two'; import { used } from '@scope/typed'; console.log(two, used);")
	wait(`error: main.js:1:45: Could not resolve "@scope/typed"`)
	save("package-lock.json", `{"lockfileVersion":`)
	wait("error: read the lock file")
	save("package-lock.json", r.lock(t, "node_modules/two", "node_modules/@scope/typed"))
	wait(`"used"`)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
