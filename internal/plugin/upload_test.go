// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/apierr"
)

// files are the names of all files in the folder.
func (f *Folder) all(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestUpload(t *testing.T) {
	w := newWorld(t)
	w.scripts("a", "b", "c", "d")
	w.host.scripts["b2"] = script{id: "b", version: "2", extensions: []functions{adding(2)}}
	w.host.scripts["bad b"] = script{id: "b", extensions: []functions{{class: "Transformer", hooks: map[Hook]func(context.Context) error{
		Start: func(context.Context) error { return errors.New("no database") },
	}}}}
	f := w.folder(map[string]string{"b.js": "b"})
	if err := f.Load(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	b, _ := w.Find("b")
	w.do(b, Start)
	const hash = "84a516841ba77a5b4648de2cd0dfcb30ea46dbb4" // of "c"
	for _, tt := range []struct {
		name   string
		upload Upload
		code   apierr.Code // 0 is success
		reason string
		path   string
		files  string
	}{
		{"not saved", Upload{Name: "a.js", Data: []byte("a")}, 0, "", "", "b.js"},
		{"again", Upload{Name: "a.js", Data: []byte("a"), Save: true}, apierr.DuplicateResource, `a plugin with the id "a" is loaded already`, "", "b.js"},
		{"empty", Upload{Data: []byte(" \n")}, apierr.IllegalArgument, "the plugin is empty", "", "b.js"},
		{"no plugin", Upload{Name: "x", Data: []byte("x"), Save: true}, apierr.IllegalArgument, "x.js: line 1: this is not a plugin", "", "b.js"},
		{"saved by its hash", Upload{Data: []byte("c"), Save: true}, 0, "", "_network_." + hash + ".js", "_network_." + hash + ".js b.js"},
		{"saved by its name", Upload{Name: "d.js", Data: []byte("d"), Save: true}, 0, "", "_network_.d.js", "_network_." + hash + ".js _network_.d.js b.js"},
		{"name in use", Upload{Name: "d", Data: []byte("b2"), Save: true}, apierr.DuplicateResource, "", "", "_network_." + hash + ".js _network_.d.js b.js"},
		{"replaced, not started", Upload{Data: []byte("bad b"), Save: true, Replace: true}, apierr.IllegalArgument, "no database", "", "_network_." + hash + ".js _network_.d.js b.js"},
		{"replaced in its file", Upload{Name: "other", Data: []byte("b2"), Save: true, Replace: true}, 0, "", "b.js", "_network_." + hash + ".js _network_.d.js b.js"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.upload.Language = JavaScript
			checks, checkErrs := f.Check(t.Context(), tt.upload)
			checked, checkErr := checks[0], checkErrs[0]
			p, err := f.Add(t.Context(), tt.upload)
			if tt.code == 0 {
				if err != nil || checkErr != nil || checked.ID != p.ID || checked.Replaced != p.Replaced {
					t.Fatalf("%v, checked %v", err, checkErr)
				}
				if want := filepath.Join(f.dir, tt.path); tt.path != "" && p.Path != want || tt.path == "" && p.Path != "" {
					t.Errorf("it is in %q", p.Path)
				}
			} else if e := apierr.From(err); err == nil || e.Code != tt.code || !strings.Contains(e.Reason, tt.reason) {
				t.Errorf("the error is %v", err)
			}
			if got := strings.Join(f.all(t), " "); got != tt.files {
				t.Errorf("the files are %s", got)
			}
		})
	}
	b, _ = w.Find("b")
	if data, err := os.ReadFile(b.Path); err != nil || string(data) != "b2" || b.Extensions()[0].State != Started {
		t.Errorf("%q, %v, %+v", data, err, b.Extensions())
	}
	w.scripts("e")
	if _, err := f.Add(t.Context(), Upload{Language: JavaScript, Name: "d", Data: []byte("e"), Save: true}); apierr.From(err).Reason != `the file "_network_.d.js" exists already` {
		t.Errorf("the error is %v", err)
	}
	if _, loaded := w.Find("e"); loaded {
		t.Error("a plugin that could not be saved is loaded")
	}
	if _, errs := f.Check(t.Context(), Upload{Language: JavaScript, Name: "d", Data: []byte("e"), Save: true}); apierr.From(errs[0]).Reason != `the file "_network_.d.js" exists already` {
		t.Errorf("the errors are %v", errs)
	}
	if err := f.Delete(t.Context(), "d", true); err != nil {
		t.Error(err)
	}
	if err := f.Delete(t.Context(), "a", true); err != nil {
		t.Error(err)
	}
	if err := f.Delete(t.Context(), "b", false); err != nil {
		t.Error(err)
	}
	if err := f.Delete(t.Context(), "b", false); apierr.From(err).Code != apierr.ResourceNotFound {
		t.Error(err)
	}
	if got := f.all(t); !slices.Equal(got, []string{"_network_." + hash + ".js", "b.js"}) {
		t.Errorf("the files are %s", got)
	}
}

// TestUploadsAreAddedTogether proves that the file of a replaced plugin is what it was when another
// upload fails.
func TestUploadsAreAddedTogether(t *testing.T) {
	w := newWorld(t)
	w.scripts("a", "b", "c")
	w.host.scripts["a2"] = script{id: "a", version: "2", extensions: []functions{adding(2)}}
	f := w.folder(map[string]string{"a.js": "a", "_network_.taken.js": "nothing"})
	if err := f.Load(t.Context(), false); err == nil {
		t.Fatal("everything is a plugin")
	}
	upload := func(name, data string) Upload {
		return Upload{Language: JavaScript, Name: name, Data: []byte(data), Save: true, Replace: true}
	}
	added, errs := f.AddAll(t.Context(), upload("b", "b"), upload("a", "a2"), upload("taken", "c"))
	if added != nil || errs[0] != nil || errs[1] != nil || apierr.From(errs[2]).Reason != `the file "_network_.taken.js" exists already` {
		t.Errorf("%v, %v", added, errs)
	}
	if data, err := os.ReadFile(filepath.Join(f.dir, "a.js")); err != nil || string(data) != "a" {
		t.Errorf("the file of the old version holds %q, %v", data, err)
	}
	if got := f.all(t); !slices.Equal(got, []string{"_network_.taken.js", "a.js"}) || !slices.Equal(w.ids(), []string{"a"}) || w.host.open != 1 {
		t.Errorf("the files are %s, loaded are %s, %d modules are open", got, w.ids(), w.host.open)
	}
	if added, errs = f.AddAll(t.Context(), upload("b", "b"), upload("a", "a2"), upload("free", "c")); errs != nil || len(added) != 3 || !added[1].Replaced {
		t.Errorf("%v, %v", added, errs)
	}
	if data, err := os.ReadFile(filepath.Join(f.dir, "a.js")); err != nil || string(data) != "a2" || !slices.Equal(w.ids(), []string{"a", "b", "c"}) {
		t.Errorf("the file of the new version holds %q, %v; loaded are %s", data, err, w.ids())
	}
}

func TestNamesOfUploads(t *testing.T) {
	w := newWorld(t)
	w.scripts("a")
	f := w.folder(nil)
	for _, name := range []string{".", "..", "../a.js", "a/b.js", `a\b.js`, ".hidden.js", ".js", "nul\x00.js", "line\n.js", "\xff.js", strings.Repeat("n", 201)} {
		if _, err := f.Add(t.Context(), Upload{Language: JavaScript, Name: name, Data: []byte("a"), Save: true}); apierr.From(err).Code != apierr.IllegalArgument {
			t.Errorf("%q was saved: %v", name, err)
		}
	}
	if got := f.all(t); len(got) > 0 {
		t.Errorf("the files are %s", got)
	}
}
