// SPDX-License-Identifier: Apache-2.0

package java

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeJava creates a folder that looks like a Java installation.
func fakeJava(t *testing.T, release, program string) string {
	t.Helper()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"bin/java": program}
	if release != "" {
		files["release"] = release
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func TestFind(t *testing.T) {
	old := fakeJava(t, "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"17.0.15\"\n", "")
	newer := fakeJava(t, "JAVA_VERSION=\"21.0.1\"\n", "")
	newest := fakeJava(t, "JAVA_VERSION=\"25\"\n", "")
	says := fakeJava(t, "", "#!/bin/sh\necho 'openjdk version \"22.0.2\" 2024-07-16' >&2\n")
	ancient := fakeJava(t, "", "#!/bin/sh\necho 'java version \"1.8.0_292\"' >&2\n")
	broken := fakeJava(t, "", "#!/bin/sh\nexit 1\n")
	empty := t.TempDir()

	for home, want := range map[string]int{newer: 21, newest: 25, says: 22} {
		if r, err := Find(t.Context(), home); err != nil || r.Feature != want {
			t.Errorf("it is %+v, %v", r, err)
		}
	}
	for home, want := range map[string]string{
		old: "it has Java 17.0.15, and plugins need 21 or newer", ancient: "it has Java 1.8.0_292", broken: "exit status 1", empty: "no such file",
	} {
		if _, err := Find(t.Context(), home); !errors.Is(err, ErrNoJava) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), home) {
			t.Errorf("the error is %v", err)
		}
	}

	for _, c := range []struct {
		name string
		list []candidate
		want int
		err  string
	}{
		{"preferred before newest", []candidate{{newer, true}, {newest, false}}, 21, ""},
		{"preferred is too old", []candidate{{old, true}, {newer, false}, {newest, false}, {says, false}}, 25, ""},
		{"none", []candidate{{empty, false}, {broken, true}}, 0, "there is none in JAVA_HOME"},
		{"too old", []candidate{{old, true}, {old, false}, {ancient, false}}, 0, "only Java 17.0.15 in " + old + ", Java 1.8.0_292 in "},
	} {
		r, err := choose(t.Context(), c.list)
		if r.Feature != c.want || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
	}
	t.Setenv("JAVA_HOME", newest)
	if r, err := Find(t.Context(), ""); err != nil || r.Feature != 25 {
		t.Errorf("JAVA_HOME is not seen: %+v, %v", r, err)
	}
}
