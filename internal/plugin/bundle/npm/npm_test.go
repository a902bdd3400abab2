// SPDX-License-Identifier: Apache-2.0

package npm_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"example.org/app/internal/plugin/bundle/npm"
)

// An entry is one of an archive.
type entry struct {
	kind       byte
	name, text string
	// claimed is the size that a file claims to have besides its text; what follows is missing.
	claimed int64
}

// archive is a real archive.
func archive(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	w := tar.NewWriter(zipped)
	for _, e := range entries {
		h := &tar.Header{Typeflag: e.kind, Name: e.name, Mode: 0o644, Size: int64(len(e.text)) + e.claimed}
		var body io.Reader = strings.NewReader(e.text)
		switch e.kind {
		case tar.TypeSymlink, tar.TypeLink:
			h.Linkname, h.Size, body = e.text, 0, strings.NewReader("")
		case tar.TypeDir, tar.TypeFifo, tar.TypeChar:
			h.Size, body = 0, strings.NewReader("")
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, body); err != nil {
			t.Fatal(err)
		}
	}
	w.Close() // It complains of files that are shorter than they claim.
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func integrity(data []byte) string {
	sum := sha512.Sum512(data)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

// a is the archive of a package with one file.
func a(t *testing.T) []byte {
	t.Helper()
	return archive(t, entry{kind: tar.TypeReg, name: "package/index.js", text: "export default 1;"})
}

// registry serves one archive, and counts how often.
func registry(t *testing.T, data []byte) (address string, served *atomic.Int32) {
	t.Helper()
	served = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		switch r.URL.Path {
		case "/a.tgz":
			w.Write(data)
		case "/moved.tgz":
			http.Redirect(w, r, "/a.tgz", http.StatusFound)
		case "/cut.tgz":
			w.Header().Set("Content-Length", fmt.Sprint(len(data)+1))
			w.Write(data)
		case "/endless.tgz":
			io.Copy(w, io.LimitReader(zeros{}, 65<<20))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, served
}

// open returns a tree of a lock file with the given packages.
func open(t *testing.T, cache, packages string) *npm.Tree {
	t.Helper()
	l, err := npm.Find(project(t, `{"lockfileVersion":3,"packages":{`+packages+`}}`))
	if err != nil || l == nil {
		t.Fatal(l, err)
	}
	tree, err := l.Open(cache)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tree.Close)
	return tree
}

// project is a folder with a lock file.
func project(t *testing.T, lock string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "package-lock.json"), []byte(lock), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func locked(resolved, integrity string) string {
	return fmt.Sprintf(`"node_modules/a":{"version":"1.2.3","resolved":%q,"integrity":%q}`, resolved, integrity)
}

func TestAdd(t *testing.T) {
	good := a(t)
	sum := sha1.Sum(good)
	weak := "sha1-" + base64.StdEncoding.EncodeToString(sum[:])
	for _, tt := range []struct {
		name string
		data []byte
		// lock is the package in the lock file; "" has the right integrity.
		lock func(url string) string
		err  string
	}{
		{name: "good", data: good},
		{name: "moved", data: good, lock: func(u string) string { return locked(u+"/moved.tgz", integrity(good)) }},
		{name: "several hashes", data: good, lock: func(u string) string {
			return locked(u+"/a.tgz", weak+" "+integrity([]byte("other"))+" "+integrity(good)+"?option")
		}},
		{name: "another archive", data: good, lock: func(u string) string { return locked(u+"/a.tgz", integrity([]byte("other"))) }, err: "its digest is " + integrity(good) + ", not the one in the lock file"},
		{name: "the weak hash does not count", data: good, lock: func(u string) string { return locked(u+"/a.tgz", weak+" "+integrity([]byte("other"))) }, err: "not the one in the lock file"},
		{name: "only a weak hash", data: good, lock: func(u string) string { return locked(u+"/a.tgz", weak) }, err: `has only "` + weak + `" for its integrity`},
		{name: "no hash", data: good, lock: func(u string) string { return locked(u+"/a.tgz", "") }, err: "has no integrity for it"},
		{name: "half a hash", data: good, lock: func(u string) string { return locked(u+"/a.tgz", "sha512-AAAA") }, err: "which is no digest"},
		{name: "cut off", data: good, lock: func(u string) string { return locked(u+"/cut.tgz", integrity(good)) }, err: "unexpected EOF"},
		{name: "too large to fetch", data: good, lock: func(u string) string { return locked(u+"/endless.tgz", integrity(good)) }, err: "it has more than 67108864 bytes"},
		{name: "not found", data: good, lock: func(u string) string { return locked(u+"/b.tgz", integrity(good)) }, err: "/b.tgz: the answer is 404 Not Found; \"npm ci\""},
		{name: "nowhere", data: good, lock: func(string) string { return locked("", integrity(good)) }, err: "does not say where it is"},
		{name: "git", data: good, lock: func(string) string { return locked("git+ssh://git@example.org/a.git#1", integrity(good)) }, err: "not an archive at an HTTP address; \"npm ci\""},
		{name: "a file", data: good, lock: func(string) string { return locked("file:///etc/passwd", integrity(good)) }, err: "not an archive at an HTTP address"},
		{name: "link", data: good, lock: func(string) string { return `"node_modules/a":{"resolved":"../a","link":true}` }, err: "a link to a folder"},
		{name: "nobody answers", data: good, lock: func(string) string { return locked("http://127.0.0.1:1/a.tgz", integrity(good)) }, err: "try again where the address can be reached: it is kept for later; or \"npm ci\" installs it"},
		{name: "not an archive", data: []byte("<html>"), err: "unpack: "},
		{name: "half an archive", data: good[:len(good)/2], err: "unpack: unexpected EOF"},
		{name: "above", data: archive(t, entry{kind: tar.TypeReg, name: "package/../../out.js", text: "x"}), err: `"package/../../out.js" would be outside of the package`},
		{name: "above a folder", data: archive(t, entry{kind: tar.TypeDir, name: "package/../../out/"}), err: "would be outside of the package"},
		{name: "the root", data: archive(t, entry{kind: tar.TypeReg, name: "package//tmp/out.js", text: "x"}), err: "would be outside of the package"},
		{name: "of Windows", data: archive(t, entry{kind: tar.TypeReg, name: `package/..\..\out.js`, text: "x"}), err: "would be outside of the package"},
		{name: "symbolic link", data: archive(t, entry{kind: tar.TypeSymlink, name: "package/up", text: "../.."}, entry{kind: tar.TypeReg, name: "package/up/out.js", text: "x"}), err: `"package/up" is neither a file nor a folder`},
		{name: "hard link", data: archive(t, entry{kind: tar.TypeLink, name: "package/passwd", text: "/etc/passwd"}), err: "neither a file nor a folder"},
		{name: "pipe", data: archive(t, entry{kind: tar.TypeFifo, name: "package/index.js"}), err: "neither a file nor a folder"},
		{name: "device", data: archive(t, entry{kind: tar.TypeChar, name: "package/index.js"}), err: "neither a file nor a folder"},
		{name: "huge", data: archive(t, entry{kind: tar.TypeReg, name: "package/index.js", claimed: 1<<30 + 1}), err: `with "package/index.js" the packages have more than 1073741824 bytes`},
		{name: "a file as a folder", data: archive(t, entry{kind: tar.TypeReg, name: "package/a", text: "x"}, entry{kind: tar.TypeReg, name: "package/a/b", text: "x"}), err: "file exists"},
		{name: "twice", data: archive(t, entry{kind: tar.TypeReg, name: "package/index.js", text: "longer than the second"}, entry{kind: tar.TypeReg, name: "package/index.js", text: "export default 1;"})},
		{name: "another first folder", data: archive(t, entry{kind: tar.TypeDir, name: "a-1.2.3/"}, entry{kind: tar.TypeReg, name: "a-1.2.3/index.js", text: "export default 1;"})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			address, _ := registry(t, tt.data)
			lock := locked(address+"/a.tgz", integrity(tt.data))
			if tt.lock != nil {
				lock = tt.lock(address)
			}
			cache := t.TempDir()
			tree := open(t, cache, lock)
			err := tree.Add(t.Context(), []string{"node_modules/a"})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), `get package "a"`) {
					t.Errorf("the error is %v", err)
				}
				// Nothing is beside the packages.
				for _, dir := range []string{tree.Dir, filepath.Dir(tree.Dir)} {
					list, err := os.ReadDir(dir)
					if err != nil {
						t.Fatal(err)
					}
					for _, e := range list {
						if e.Name() != "node_modules" && e.Name() != "tree" && e.Name() != "lock" {
							t.Errorf("%s was written to %s", e.Name(), dir)
						}
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(filepath.Join(tree.Dir, "node_modules", "a", "index.js")); string(text) != "export default 1;" {
				t.Errorf("%s, %v", text, err)
			}
			tree.Close()
			if _, err := os.Stat(filepath.Dir(tree.Dir)); !os.IsNotExist(err) {
				t.Errorf("the folder is left: %v", err)
			}
		})
	}
}

// TestCache fetches an archive once, and again when the file of it was damaged.
func TestCache(t *testing.T) {
	data := a(t)
	address, served := registry(t, data)
	cache := filepath.Join(t.TempDir(), "made", "here")
	add := func(want int32) {
		t.Helper()
		if err := open(t, cache, locked(address+"/a.tgz", integrity(data))).Add(t.Context(), []string{"node_modules/a"}); err != nil {
			t.Fatal(err)
		}
		if n := served.Load(); n != want {
			t.Errorf("it was fetched %d times, not %d", n, want)
		}
	}
	add(1)
	add(1)
	files, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil || len(files) != 1 || !strings.HasSuffix(files[0], ".tgz") {
		t.Fatal(files, err)
	}
	if err := os.WriteFile(files[0], []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	add(2)
	add(2)
	// A cache that cannot be written is none.
	cache = files[0]
	add(3)
}

func TestLookup(t *testing.T) {
	const three = `{"lockfileVersion":3,"packages":{"":{},"node_modules/a":{},"node_modules/@s/b":{},"node_modules/a/node_modules/c":{},"node_modules/c":{},
		"node_modules/a/node_modules/in":{"inBundle":true},"node_modules/a/node_modules/in/node_modules/deep":{"inBundle":true},
		"node_modules/../../up":{},"/node_modules/root":{},"work/node_modules/c":{}}}`
	const one = `{"lockfileVersion":1,"dependencies":{"a":{"dependencies":{"c":{},"in":{"bundled":true,"dependencies":{"deep":{"bundled":true}}}}},"@s/b":{},"c":{}}}`
	for name, text := range map[string]string{"version 3": three, "version 1": one} {
		t.Run(name, func(t *testing.T) {
			l, err := npm.Find(project(t, text))
			if err != nil {
				t.Fatal(err)
			}
			for _, tt := range []struct{ dir, specifier, want string }{
				{".", "a", "node_modules/a"},
				{"src/deep", "a/lib/x.js", "node_modules/a"},
				{".", "@s/b/x", "node_modules/@s/b"},
				{".", "@s", ""},
				{".", "c", "node_modules/c"},
				{"node_modules/a", "c", "node_modules/a/node_modules/c"},
				{"node_modules/a/lib", "c", "node_modules/a/node_modules/c"},
				{"node_modules/a/node_modules/c", "a", "node_modules/a"},
				{"node_modules/@s/b", "c", "node_modules/c"},
				{"node_modules/a", "in", "node_modules/a"},
				{"node_modules/a/node_modules/in", "deep", "node_modules/a"},
				{".", "in", ""},
				{".", "fs", ""},
				{".", "node:fs", ""},
				{".", "./a", ""},
				{".", "../../up", ""},
				{".", "/a", ""},
				{".", "#a", ""},
				{".", "", ""},
				{".", "https://example.org/a", ""},
			} {
				if got := l.Lookup(tt.dir, tt.specifier); got != tt.want {
					t.Errorf("%q in %q is %q, not %q", tt.specifier, tt.dir, got, tt.want)
				}
			}
		})
	}
}

func TestFind(t *testing.T) {
	dir := project(t, `{"lockfileVersion":2,"packages":{}}`)
	deep := filepath.Join(dir, "src", "deep")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if l, err := npm.Find(deep); err != nil || l == nil || l.Root != dir {
		t.Errorf("%v, %v", l, err)
	}
	for text, want := range map[string]string{"": "unexpected end", "[]": "cannot unmarshal", `{"lockfileVersion":4}`: "its lockfileVersion is 4", "{}": "its lockfileVersion is 0"} {
		if _, err := npm.Find(project(t, text)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "package-lock.json") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "npm-shrinkwrap.json"), []byte(`{"lockfileVersion":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := npm.Find(deep); err != nil || filepath.Base(l.Path) != "npm-shrinkwrap.json" {
		t.Errorf("%v, %v", l, err)
	}
	// Installed packages count.
	if err := os.Mkdir(filepath.Join(dir, "src", "node_modules"), 0o755); err != nil {
		t.Fatal(err)
	}
	if l, err := npm.Find(deep); err != nil || l != nil {
		t.Errorf("%v, %v", l, err)
	}
}

// FuzzLookup reads lock files of others: no key is outside of the folder.
func FuzzLookup(f *testing.F) {
	f.Add([]byte(`{"lockfileVersion":3,"packages":{"node_modules/../../a":{}}}`), "a", "..")
	f.Add([]byte(`{"lockfileVersion":1,"dependencies":{"../../a":{"bundled":true}}}`), "../../a", "node_modules/x")
	f.Fuzz(func(t *testing.T, text []byte, specifier, dir string) {
		l, err := npm.Find(project(t, string(text)))
		if err != nil || l == nil {
			return
		}
		if key := l.Lookup(dir, specifier); key != "" && !filepath.IsLocal(key) {
			t.Errorf("%q in %q is %q", specifier, dir, key)
		}
	})
}
