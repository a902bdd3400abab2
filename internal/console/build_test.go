// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"example.org/app/test/need"
)

// node runs a program of web/node_modules, which make installs.
func node(t *testing.T, env []string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", args...)
	cmd.Dir = "../../web"
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("node %q: %v\n%s\n(make unit installs what is needed)", args, err, out)
	}
}

// TestBuildIsCurrent builds web/ and compares the result with the files that
// are embedded.
func TestBuildIsCurrent(t *testing.T) {
	out := t.TempDir()
	node(t, []string{"CONSOLE_OUT=" + out}, "node_modules/vite/bin/vite.js", "build", "--logLevel", "error")
	got, want := read(t, os.DirFS(out)), read(t, os.DirFS("dist"))
	for name, data := range want {
		if !bytes.Equal(got[name], data) {
			t.Errorf("%s differs from what the sources build to: run make web", name)
		}
	}
	for name := range got {
		if want[name] == nil {
			t.Errorf("%s is missing from internal/console/dist: run make web", name)
		}
	}
}

func read(t *testing.T, dir fs.FS) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := fs.WalkDir(dir, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[filepath.ToSlash(path)], err = fs.ReadFile(dir, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestSourcesTypeCheck checks the sources against the types of the OpenAPI
// documents.
func TestSourcesTypeCheck(t *testing.T) {
	need.Time(t)
	node(t, nil, "generate.mjs")
	node(t, nil, "node_modules/typescript/bin/tsc", "--noEmit")
}

// TestJSON tests how the sources read and write ids of 64 bits.
func TestJSON(t *testing.T) { node(t, nil, "--test", "json.test.mjs") }

// TestFirstLoad bounds what a browser loads before it shows the first page.
func TestFirstLoad(t *testing.T) {
	page, err := fs.ReadFile(dist, "dist/index.html")
	if err != nil {
		t.Fatal(err)
	}
	total := len(compress(page))
	for name, data := range read(t, dist) {
		if bytes.Contains(page, []byte(filepath.Base(name))) || bytes.HasPrefix([]byte(filepath.Base(name)), []byte("Overview-")) {
			total += len(compress(data))
		}
	}
	const most = 350 << 10
	if total > most || total < 50<<10 {
		t.Errorf("the first load is %d bytes, want at most %d", total, most)
	}
}
