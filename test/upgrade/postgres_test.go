// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"maps"
	"os/exec"
	"path/filepath"
	"testing"

	"example.org/app/internal/app"
	"example.org/app/internal/config"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
	"example.org/app/test/need"
)

// program finds a program of PostgreSQL, which Debian installs outside of PATH.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	found, globErr := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if globErr != nil || len(found) == 0 {
		need.Skip(t, "postgresql", err)
	}
	return found[len(found)-1]
}

// TestPostgreSQLBackup follows docs/deployment.md: a restored dump has as many rows in every table
// as the original.
func TestPostgreSQLBackup(t *testing.T) {
	dump, restore := program(t, "pg_dump"), program(t, "pg_restore")
	original, restored := storetest.PostgreSQLURL(t), storetest.PostgreSQLURL(t)
	c, err := config.Load(config.Options{Home: t.TempDir(), Set: []string{
		"app.store.url=" + original, "app.service.fake.user-count=20", "app.service.fake.group-count=2", "app.service.fake.message-count=30",
		"app.security.password.bcrypt-cost=4",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Fake(t.Context(), app.FakeOptions{Config: c}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "app.dump")
	for _, cmd := range [][]string{
		{dump, "--format=custom", "--file=" + file, original},
		{restore, "--clean", "--if-exists", "--no-owner", "--dbname=" + restored, file},
	} {
		if out, err := exec.CommandContext(t.Context(), cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", cmd[:3], err, out)
		}
	}
	before, err := store.Inspect(t.Context(), store.Options{URL: original}, true)
	if err != nil {
		t.Fatal(err)
	}
	after, err := store.Inspect(t.Context(), store.Options{URL: restored}, true)
	if err != nil {
		t.Fatal(err)
	}
	if before.Version != before.Known || after.Version != before.Version || len(before.Rows) < 10 || !maps.Equal(before.Rows, after.Rows) {
		t.Errorf("the original is %+v, what was restored is %+v", before, after)
	}
}
