// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const secret = "outside: nobody may read this"

// populate fills a log folder, and the folder around it, with every kind of file that a path could
// try to reach.
func populate(t testing.TB) string {
	t.Helper()
	outer := t.TempDir()
	dir := filepath.Join(outer, "log")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(dir, "sub"), 0o700))
	must(os.WriteFile(filepath.Join(outer, "secret.txt"), []byte(secret), 0o600))
	must(os.WriteFile(filepath.Join(dir, ".log"), []byte("hidden\n"), 0o600))
	must(os.WriteFile(filepath.Join(dir, "b.log"), []byte("inside b\n"), 0o600))
	must(os.WriteFile(filepath.Join(dir, "a.log"), []byte("inside a\n"), 0o600))
	must(os.WriteFile(filepath.Join(dir, "..odd name%2f.log"), []byte("odd\n"), 0o600))
	must(os.WriteFile(filepath.Join(dir, "sub", "c.log"), []byte("inside c\n"), 0o600))
	must(os.Symlink("a.log", filepath.Join(dir, "good-link")))
	must(os.Symlink("../secret.txt", filepath.Join(dir, "bad-link")))
	must(os.Symlink(filepath.Join(outer, "secret.txt"), filepath.Join(dir, "absolute-link")))
	must(os.Symlink("..", filepath.Join(dir, "up")))
	must(os.Symlink("sub", filepath.Join(dir, "dir-link")))
	must(os.Symlink("loop", filepath.Join(dir, "loop")))
	must(os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	must(syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	return dir
}

func TestNames(t *testing.T) {
	got, err := OpenFolder(populate(t)).Names()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"..odd name%2f.log", ".log", "a.log", "b.log", "good-link"}, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestNamesWithoutFolder(t *testing.T) {
	for _, dir := range []string{"", filepath.Join(t.TempDir(), "missing")} {
		if names, err := OpenFolder(dir).Names(); len(names) != 0 || err != nil {
			t.Errorf("names of %q are %q, %v", dir, names, err)
		}
		if _, err := OpenFolder(dir).Open("a.log"); !errors.Is(err, ErrNotFound) {
			t.Errorf("Open in %q: %v", dir, err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFolder(file).Names(); err == nil {
		t.Error("a file was listed as a folder")
	}
}

func TestOpenFile(t *testing.T) {
	dir := populate(t)
	folder := OpenFolder(dir)
	for path, want := range map[string]string{
		"a.log":                   "inside a\n",
		"./a.log":                 "inside a\n",
		"sub/c.log":               "inside c\n",
		"sub/../b.log":            "inside b\n",
		"missing/../b.log":        "inside b\n",
		"sub//c.log":              "inside c\n",
		"good-link":               "inside a\n",
		"dir-link/c.log":          "inside c\n",
		".log":                    "hidden\n",
		"..odd name%2f.log":       "odd\n",
		"../log/a.log":            "",
		"..":                      "",
		"../secret.txt":           "",
		"sub/../../secret.txt":    "",
		"up/secret.txt":           "",
		"bad-link":                "",
		"absolute-link":           "",
		"loop":                    "",
		"dangling":                "",
		"":                        "",
		".":                       "",
		"/":                       "",
		"sub":                     "",
		"sub/":                    "",
		"fifo":                    "",
		"missing.log":             "",
		"a.log/x":                 "",
		"a.log\x00":               "",
		"/etc/passwd":             "",
		dir + "/a.log":            "",
		`..\secret.txt`:           "",
		strings.Repeat("a", 5000): "",
	} {
		r, err := folder.Open(path)
		if want == "" {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("Open(%.40q): %v, want ErrNotFound", path, err)
			}
			if err != nil && !filepath.IsAbs(path) && strings.Contains(err.Error(), dir) {
				t.Errorf("the error of Open(%.40q) contains the location of the folder: %v", path, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("Open(%q): %v", path, err)
			continue
		}
		data, err := io.ReadAll(r)
		if string(data) != want || err != nil || r.Size() != int64(len(want)) || r.Name() != filepath.Base(path) {
			t.Errorf("Open(%q) reads %q, %v with name %q and size %d", path, data, err, r.Name(), r.Size())
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestReaderEndsAtItsSize(t *testing.T) {
	dir := populate(t)
	r, err := OpenFolder(dir).Open("a.log")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	appendTo(t, filepath.Join(dir, "a.log"), "more\n")
	var buf bytes.Buffer
	if n, err := io.Copy(&buf, r); n != r.Size() || err != nil || buf.String() != "inside a\n" {
		t.Errorf("copied %d bytes %q, %v", n, buf.String(), err)
	}
}

func TestRefusals(t *testing.T) {
	if err := refuse("x", &fs.PathError{Op: "open", Path: "/secret/x", Err: syscall.EACCES}); errors.Is(err, ErrNotFound) ||
		!errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "/secret") {
		t.Errorf("a missing permission gives %v", err)
	}
	if err := refuse("x", syscall.EMFILE); errors.Is(err, ErrNotFound) {
		t.Errorf("too many open files give %v", err)
	}
}

func FuzzOpen(f *testing.F) {
	for _, seed := range []string{
		"a.log", "../secret.txt", "sub/../../secret.txt", "up/secret.txt", "bad-link", "absolute-link", "/etc/passwd",
		"fifo", "", ".", "a.log\x00", "up/log/a.log", "dir-link/../../secret.txt", "..\\secret.txt", "good-link",
	} {
		f.Add(seed)
	}
	dir := populate(f)
	folder := OpenFolder(dir)
	inside := map[string]bool{"hidden\n": true, "inside a\n": true, "inside b\n": true, "inside c\n": true, "odd\n": true}
	f.Fuzz(func(t *testing.T, path string) {
		r, err := folder.Open(path)
		if err != nil {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("Open(%q): %v", path, err)
			}
			return
		}
		defer r.Close()
		data, err := io.ReadAll(r)
		if err != nil || !inside[string(data)] {
			t.Errorf("Open(%q) read %q, %v", path, data, err)
		}
	})
}
