// SPDX-License-Identifier: Apache-2.0

package app

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"example.org/app/internal/plugin/javasdk"
)

func TestGoldenTypings(t *testing.T) {
	files, err := Typings()
	if err != nil {
		t.Fatal(err)
	}
	for path, data := range files {
		golden(t, path, data)
	}
	// Folders of generated Java contain no stale files.
	root := filepath.Join("..", "..")
	for _, folder := range []string{javasdk.APIFolder, javasdk.HostFolder} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil || files[filepath.ToSlash(name)] != nil {
				return err
			}
			if os.Getenv("UPDATE_GOLDEN") != "" {
				return os.Remove(path)
			}
			t.Errorf("%s is not generated any more: run make docs", name)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
