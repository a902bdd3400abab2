// SPDX-License-Identifier: Apache-2.0

package main

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// runApp runs the program and returns its output and exit code.
func runApp(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := command(t, nil, args...)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// createUser creates a user and reports whether the server acknowledged it.
func (s *server) createUser(id int) bool {
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.service+"/users", strings.NewReader(fmt.Sprintf(`{"id":%d,"name":"user %d"}`, id, id)))
	if err != nil {
		s.t.Error(err)
		return false
	}
	req.SetBasicAuth("app", "app")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// TestBackupAndRestore backs up a server under writes and continues elsewhere with the copy.
func TestBackupAndRestore(t *testing.T) {
	home, backups := t.TempDir(), t.TempDir()
	quiet := []string{"--set=app.security.password.bcrypt-cost=4", "--set=app.service.admin-api.rate-limiting.capacity=1000000", "--set=app.service.admin-api.rate-limiting.initial-tokens=1000000"}
	s := run(t, home, quiet...)
	const before = 50
	for id := 1; id <= before; id++ {
		if !s.createUser(id) {
			t.Fatalf("user %d was not created", id)
		}
	}
	stop, done := make(chan struct{}), sync.WaitGroup{}
	done.Go(func() {
		for id := before + 1; ; id++ {
			select {
			case <-stop:
				return
			default:
				s.createUser(id)
			}
		}
	})
	file := filepath.Join(backups, "new", "app.db")
	out, code := runApp(t, "backup", "--home", home, file)
	close(stop)
	done.Wait()
	if code != 0 || !regexp.MustCompile(`^wrote .*app\.db: schema version \d+, \d+ rows\n$`).MatchString(out) {
		t.Fatalf("backup: %d %s", code, out)
	}
	if out, code := runApp(t, "backup", "--home", home, file); code != 1 || !strings.Contains(out, "the file exists already") {
		t.Errorf("a backup over another: %d %s", code, out)
	}
	if out, code := runApp(t, "restore", "--home", home, "--replace", "--set=app.store.lock-timeout-millis=100", file); code != 1 || !strings.Contains(out, "stop it first") {
		t.Errorf("restore under a running server: %d %s", code, out)
	}
	s.Process.Signal(syscall.SIGTERM)
	s.wait()
	if out, code := runApp(t, "restore", "--home", home, file); code != 1 || !strings.Contains(out, "--replace") {
		t.Errorf("restore over a database: %d %s", code, out)
	}
	if out, code := runApp(t, "restore", "--home", home, "--replace", file); code != 0 || !strings.Contains(out, "app.db.before-") {
		t.Errorf("restore with --replace: %d %s", code, out)
	}

	elsewhere := filepath.Join(t.TempDir(), "srv")
	if out, code := runApp(t, "restore", "--home", elsewhere, file); code != 0 || !strings.Contains(out, "restored") {
		t.Fatalf("restore: %d %s", code, out)
	}
	restored := run(t, elsewhere, quiet...)
	if status, body := restored.get(fmt.Sprintf("/users?ids=1,%d", before), "app"); status != 200 || !strings.Contains(body, fmt.Sprintf(`"user %d"`, before)) {
		t.Errorf("after the restore: %d %s", status, body)
	}
	if !restored.createUser(1_000_000) {
		t.Error("the restored server does not write")
	}
	if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
		t.Errorf("left beside the backup are %v (%v)", entries, err)
	}
}

// TestRestoreRefusesWhatIsNoBackup tries files that are not backups, and damaged ones.
func TestRestoreRefusesWhatIsNoBackup(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	if out, code := runApp(t, "migrate", "up", "--home", home); code != 0 || !strings.Contains(out, "had schema version 0") {
		t.Fatalf("migrate up: %d %s", code, out)
	}
	whole := filepath.Join(dir, "whole.db")
	if out, code := runApp(t, "backup", "--home", home, whole); code != 0 {
		t.Fatalf("backup: %d %s", code, out)
	}
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	newer := filepath.Join(dir, "newer.db")
	damaged := append([]byte(nil), data...)
	for i := 4096; i < len(damaged); i += 4096 {
		copy(damaged[i:], "this is not a page of a database")
	}
	files := map[string][]byte{"text.db": []byte("hello"), "empty.db": nil, "cut.db": data[:len(data)/2], "damaged.db": damaged, "newer.db": data}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	makeNewer(t, newer)
	for name := range files {
		target := t.TempDir()
		out, code := runApp(t, "restore", "--home", target, filepath.Join(dir, name))
		if code != 1 || strings.Count(out, "\n") != 1 {
			t.Errorf("%s: %d %s", name, code, out)
		}
		if _, err := os.Stat(filepath.Join(target, "data", "app.db")); err == nil {
			t.Errorf("%s was restored", name)
		}
	}
	if out, code := runApp(t, "restore", "--home", t.TempDir(), filepath.Join(dir, "missing.db")); code != 1 || !strings.Contains(out, "no such file") {
		t.Errorf("a missing file: %d %s", code, out)
	}
	if out, code := runApp(t, "backup", "--set=app.store.url=postgres://app:hunter2@127.0.0.1:1/app", filepath.Join(dir, "pg.db")); code != 1 || !strings.Contains(out, "pg_dump") || strings.Contains(out, "hunter2") {
		t.Errorf("backup of PostgreSQL: %d %s", code, out)
	}
	if out, code := runApp(t, "backup", "--home", t.TempDir(), filepath.Join(dir, "none.db")); code != 1 || !strings.Contains(out, "--home") {
		t.Errorf("backup of no database: %d %s", code, out)
	}
}

// makeNewer gives a database the schema version of a newer program.
func makeNewer(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("INSERT INTO schema_version (version_id, is_applied) VALUES (99999, 1)"); err != nil {
		t.Fatal(err)
	}
}

// TestMigrate shows the status of a database before and after its migration, and refuses one of a
// newer program.
func TestMigrate(t *testing.T) {
	home := t.TempDir()
	if out, code := runApp(t, "migrate", "status", "--home", home); code != 1 || !strings.Contains(out, "it is created when the server starts") {
		t.Errorf("status without a database: %d %s", code, out)
	}
	if out, code := runApp(t, "migrate", "up", "--home", home); code != 0 || !strings.Contains(out, "applied 00001_admin\n") && !strings.Contains(out, "had schema version 0") {
		t.Errorf("up: %d %s", code, out)
	}
	if out, code := runApp(t, "migrate", "status", "--rows", "--home", home); code != 0 || strings.Contains(out, "pending") || !regexp.MustCompile(`\n +0 \w+\n`).MatchString(out) {
		t.Errorf("status: %d %s", code, out)
	}
	makeNewer(t, filepath.Join(home, "data", "app.db"))
	if out, code := runApp(t, "migrate", "status", "--home", home); code != 1 || !strings.Contains(out, "start a newer program") {
		t.Errorf("status of a newer database: %d %s", code, out)
	}
	args := append([]string{"--home", home, "--set=app.logging.console.enabled=false"}, freePorts...)
	if out, code := runApp(t, args...); code != 1 || !strings.Contains(out, "has schema version 99999 but this program knows up to") {
		t.Errorf("start on a newer database: %d %s", code, out)
	}
}
