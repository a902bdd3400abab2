// SPDX-License-Identifier: Apache-2.0

package sqldb_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"example.org/app/internal/store/sqldb"
	"example.org/app/internal/store/storetest"
)

// engines are the databases for tests of Open, empty.
var engines = []struct {
	name   string
	driver string
	url    func(t testing.TB) string
}{
	{"sqlite", "sqlite", storetest.SQLiteURL},
	{"postgresql", "pgx", storetest.PostgreSQLURL},
}

// rawDB opens a database without the store.
func rawDB(t *testing.T, driver, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, strings.TrimPrefix(url, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// wantOneLine checks the form of an error that an operator reads.
func wantOneLine(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("there is no error")
	}
	if strings.ContainsAny(err.Error(), "\r\n") {
		t.Errorf("error has several lines: %q", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not contain %q", err, part)
		}
	}
}

func TestOpenRefusesURLs(t *testing.T) {
	for _, url := range []string{
		"", "app.db", "sqlite:", "sqlite::memory:", "sqlite:file:x?mode=memory", "mysql://u:secret@h/d", "sqlite:a\x00b",
		"postgres://u:secret@h:bad/d", "postgres://u:sec%zzret@h/d", "postgres://u:secret@h/d?sslmode=odd",
		"postgres://h/d?password=secret&sslmode=odd",
	} {
		_, err := sqldb.Open(t.Context(), sqldb.Options{URL: url})
		wantOneLine(t, err, "open database")
		if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "sec%zzret") {
			t.Errorf("URL %q: the password is in %q", url, err)
		}
	}
}

// TestOpenHidesPasswords fails to open in several ways and searches all output for the password.
func TestOpenHidesPasswords(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close() // Nothing listens on this port now.
	for _, password := range []string{"hunter2", "p%40ss%3Aword%2F", "a%20b"} {
		for _, rest := range []string{"@" + address + "/app", "@" + address + "/app?sslmode=disable"} {
			var log bytes.Buffer
			_, err := sqldb.Open(t.Context(), sqldb.Options{
				URL:     "postgres://joe:" + password + rest,
				Logger:  slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
				Timeout: 2 * time.Second,
			})
			wantOneLine(t, err, `open database "postgres://joe@`)
			if !errors.Is(err, sqldb.ErrUnavailable) {
				t.Errorf("error is %v, want unavailable", err)
			}
			for _, secret := range []string{password, "p@ss:word/", "a b"} {
				if strings.Contains(err.Error(), secret) || strings.Contains(log.String(), secret) {
					t.Errorf("password %q is in %q or %q", secret, err, log.String())
				}
			}
		}
	}
}

func TestOpenTwice(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			url := engine.url(t)
			const openers = 6
			databases := make([]*sqldb.DB, openers)
			var group sync.WaitGroup
			for i := range databases {
				group.Go(func() {
					var err error
					databases[i], err = sqldb.Open(context.Background(), sqldb.Options{URL: url, LockTimeout: time.Minute, MaxConnections: 2})
					if err != nil {
						t.Errorf("opener %d: %v", i, err)
					}
				})
			}
			group.Wait()
			for i, db := range databases {
				if db == nil {
					continue
				}
				// They share the database: each sees the others' writes.
				if err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Tx) error { return sqldb.BumpRevision(ctx, tx, "a") }); err != nil {
					t.Error(err)
				}
				if value, err := databases[0].Revision(t.Context(), "a"); err != nil || value != int64(i+1) {
					t.Errorf("revision is %d with error %v, want %d", value, err, i+1)
				}
			}
			for _, db := range databases {
				if db != nil {
					if err := db.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

func TestOpenRefusesNewerDatabase(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			url := engine.url(t)
			db, err := sqldb.Open(t.Context(), sqldb.Options{URL: url})
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			raw := rawDB(t, engine.driver, url)
			if _, err := raw.Exec("INSERT INTO schema_version (version_id, is_applied) VALUES (999, true)"); err != nil {
				t.Fatal(err)
			}
			_, err = sqldb.Open(t.Context(), sqldb.Options{URL: url})
			wantOneLine(t, err, "has schema version 999 but this program knows up to", ": start a newer program")
			newer, ok := errors.AsType[*sqldb.NewerError](err)
			if !ok || newer.Version != 999 || newer.Known < 1 {
				t.Errorf("error is %#v", newer)
			}
		})
	}
}

// TestOpenCreatesFolder also checks that special characters in a path are taken literally.
func TestOpenCreatesFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "odd ?name#%41&x=1 ü", "app.db")
	db := storetest.Open(t, sqldb.Options{URL: "sqlite:" + path})
	if err := db.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

func TestOpenBadFiles(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, bytes.Repeat([]byte("this is no database"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		"corrupt":            file,
		"a folder":           folder,
		"file as the folder": filepath.Join(file, "app.db"),
		"no such device":     "/dev/null/x/app.db",
	}
	if os.Geteuid() != 0 {
		// Permissions do not apply to root.
		closed := filepath.Join(folder, "closed")
		if err := os.Mkdir(closed, 0o500); err != nil {
			t.Fatal(err)
		}
		cases["unwritable folder"] = filepath.Join(closed, "app.db")
		cases["folder that cannot be made"] = filepath.Join(closed, "sub", "app.db")
	}
	for name, path := range cases {
		_, err := sqldb.Open(t.Context(), sqldb.Options{URL: "sqlite:" + path})
		if err == nil {
			t.Errorf("%s: opened", name)
			continue
		}
		wantOneLine(t, err, path)
	}
	content, err := os.ReadFile(file)
	if err != nil || !bytes.HasPrefix(content, []byte("this is no database")) {
		t.Errorf("the corrupt file was changed: %v", err)
	}
}

// TestOpenLockedDatabase locks an empty database like another process.
func TestOpenLockedDatabase(t *testing.T) {
	url := storetest.SQLiteURL(t)
	raw := rawDB(t, "sqlite", url)
	conn, err := raw.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(t.Context(), "BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	_, err = sqldb.Open(t.Context(), sqldb.Options{URL: url, LockTimeout: 60 * time.Millisecond})
	wantOneLine(t, err, "locked by another process for longer than 60ms", strings.TrimPrefix(url, "sqlite:"))
	if !errors.Is(err, sqldb.ErrTimeout) {
		t.Errorf("error is %v, want a time-out", err)
	}
	if waited := time.Since(start); waited > 5*time.Second {
		t.Errorf("gave up after %v", waited)
	}
	if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	storetest.Open(t, sqldb.Options{URL: url})
}

// TestOpenWaitsForMigration holds the migration lock of an empty database.
func TestOpenWaitsForMigration(t *testing.T) {
	url := storetest.PostgreSQLURL(t)
	raw := rawDB(t, "pgx", url)
	conn, err := raw.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(t.Context(), "SELECT pg_advisory_lock($1)", sqldb.MigrationLock); err != nil {
		t.Fatal(err)
	}
	_, err = sqldb.Open(t.Context(), sqldb.Options{URL: url, LockTimeout: 60 * time.Millisecond})
	wantOneLine(t, err, "another process migrates it for longer than 60ms")
	if !errors.Is(err, sqldb.ErrTimeout) {
		t.Errorf("error is %v, want a time-out", err)
	}
	if _, err := conn.ExecContext(t.Context(), "SELECT pg_advisory_unlock($1)", sqldb.MigrationLock); err != nil {
		t.Fatal(err)
	}
	storetest.Open(t, sqldb.Options{URL: url})
}

// TestFilesArePrivate proves that only the owner can read the data, whatever the permissions of the
// folder.
func TestFilesArePrivate(t *testing.T) {
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "app.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil { // as an older version created it
		t.Fatal(err)
	}
	db, err := sqldb.Open(t.Context(), sqldb.Options{URL: "sqlite:" + path, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v (%v)", e.Name(), info.Mode(), err)
		}
	}
}
