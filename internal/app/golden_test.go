// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"example.org/app/internal/config"
	"example.org/app/internal/role"
)

// golden compares a generated file with the one in the repository, so that reviewers see changes.
// make docs writes it.
func golden(t *testing.T, path string, want []byte) {
	t.Helper()
	path = filepath.Join("..", "..", path)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale: run make docs and look at the difference", path)
	}
}

func TestGoldenOpenAPI(t *testing.T) {
	for _, r := range role.All {
		golden(t, "docs/openapi/"+r.Name()+".json", append(OpenAPI(r), '\n'))
	}
}

func TestGoldenConfiguration(t *testing.T) {
	var b bytes.Buffer
	if err := config.WriteDoc(&b, "markdown"); err != nil {
		t.Fatal(err)
	}
	golden(t, "docs/configuration.md", b.Bytes())
}
