// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.org/app/internal/config/property"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// writeFile makes a configuration file and returns its name.
func writeFile(t testing.TB, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// wantError checks the type and the exact text of an error. The directory of a
// file is not compared.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	var e *property.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %T %v, want a *property.Error: %q", err, err, want)
	}
	got := err.Error()
	if dir, file := filepath.Split(e.Source); dir != "" {
		got = strings.Replace(got, e.Source, file, 1)
	}
	if got != want {
		t.Errorf("wrong error\n got: %s\nwant: %s", got, want)
	}
}
