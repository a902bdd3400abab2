// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
)

// TestDataIsPrivate checks that other users cannot read anything in the data folder of a running
// server, NATS included, even if the home folder is accessible.
func TestDataIsPrivate(t *testing.T) {
	a := apptest.Start(t, role.All)
	want(t, a, role.Service, http.MethodPost, "/users", `{"id":1}`, http.StatusOK)
	data := filepath.Join(a.Config().Current().Home(), "data")
	files := 0
	err := filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // Journals come and go.
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if !d.IsDir() {
			files++
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s has the mode %o", path, mode)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Errorf("there are no files in %s", data)
	}
}
