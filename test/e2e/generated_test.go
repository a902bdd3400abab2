// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.org/app/internal/app"
	"example.org/app/internal/app/apptest"
	"example.org/app/internal/config"
	"example.org/app/internal/role"
)

// TestGeneratedClient generates a client of the admin interface from the OpenAPI document of a
// server, compiles a program against its types and calls every operation with composite keys.
func TestGeneratedClient(t *testing.T) {
	t.Parallel()
	store := "app.store.url=sqlite:" + filepath.Join(t.TempDir(), "app.db")
	c, err := config.Load(config.Options{Home: t.TempDir(), Set: []string{
		store, "app.service.fake.user-count=100", "app.service.fake.group-count=2", "app.service.fake.message-count=0", "app.security.password.bcrypt-cost=4",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Fake(t.Context(), app.FakeOptions{Config: c}); err != nil {
		t.Fatal(err)
	}
	s := apptest.Start(t, []role.Role{role.Service}, store)
	folder := t.TempDir()
	source, err := filepath.Abs("generated")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"keys.ts", "tsconfig.json", "package.json"} {
		text, err := os.ReadFile(filepath.Join(source, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(source, "node_modules"), filepath.Join(folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{"node_modules/.bin/oazapfts", s.URL(role.Service) + "/openapi/docs", "client.ts"},
		{"node_modules/.bin/tsc", "--project", "."},
		{"node", "out/keys.js"},
	} {
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "APP_SERVICE="+s.URL(role.Service))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q (make unit installs what it needs): %v\n%s", command, err, out)
		}
		if command[0] == "node" && !strings.Contains(string(out), "every operation with composite keys was called") {
			t.Errorf("%s", out)
		}
	}
}
