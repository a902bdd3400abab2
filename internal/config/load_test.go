// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestStoreURL(t *testing.T) {
	tests := map[string]string{
		"sqlite:data/app.db":            "sqlite:/srv/app/data/app.db",
		"sqlite:data/app.db?x=1":        "sqlite:/srv/app/data/app.db?x=1",
		"sqlite:@HOME/app.db":           "sqlite:/srv/app/app.db",
		"sqlite:/abs/app.db":            "sqlite:/abs/app.db",
		"sqlite:///abs/app.db":          "sqlite:///abs/app.db",
		"sqlite::memory:":               "sqlite::memory:",
		"sqlite:file:x?mode=memory":     "sqlite:file:x?mode=memory",
		"postgres://u:p@host/database":  "postgres://u:p@host/database",
		"postgres://u:@HOME@host/a?b=c": "postgres://u:@HOME@host/a?b=c",
	}
	for given, want := range tests {
		c, err := Load(Options{Home: "/srv/app", Set: []string{"app.store.url=" + given}})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Store.URL.Reveal(); got != want {
			t.Errorf("%s: got %q, want %q", given, got, want)
		}
	}
}

func TestFiles(t *testing.T) {
	home := t.TempDir()
	load := func(file string) (int32, error) {
		c, err := Load(Options{Home: home, File: file})
		if err != nil {
			return 0, err
		}
		return c.Service.AdminAPI.HTTP.Port, nil
	}
	if port, err := load(""); err != nil || port != 8510 {
		t.Errorf("without a file: got %d, %v", port, err)
	}
	if err := os.Mkdir(filepath.Join(home, "config"), 0o700); err != nil {
		t.Fatal(err)
	}
	standard := filepath.Join(home, "config", "application.yaml")
	for content, want := range map[string]int32{
		"app.service.adminApi.http.port: 1": 1,
		"":                                  8510,
		"# nothing\n":                       8510,
		"app:\n":                            8510,
	} {
		if err := os.WriteFile(standard, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if port, err := load(""); err != nil || port != want {
			t.Errorf("with %q: got %d, %v", content, port, err)
		}
	}
	explicit := writeFile(t, "app.service.adminApi.http.port: 2")
	if port, err := load(explicit); err != nil || port != 2 {
		t.Errorf("with an explicit file: got %d, %v", port, err)
	}

	missing := filepath.Join(home, "missing.yaml")
	_, err := load(missing)
	wantError(t, err, "missing.yaml: cannot read the configuration file: no such file or directory")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}

	// A directory is there but cannot be read as a file, even by root.
	if err := os.Remove(standard); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(standard, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = load("")
	wantError(t, err, "application.yaml: cannot read the configuration file: is a directory")
}
