// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"modernc.org/sqlite"
)

// sqliteConnOf opens a file and returns a connection of its pool.
func sqliteConnOf(t *testing.T) *sql.Conn {
	t.Helper()
	loc, err := parseURL("sqlite:" + filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	pool, err := sqlitePool(loc, Options{LockTimeout: time.Second}, url.Values{})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(conn.Close(), pool.Close()); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// TestSQLiteKeepsStatementsPrepared checks that a text is prepared once per connection, and that
// old ones are evicted.
func TestSQLiteKeepsStatementsPrepared(t *testing.T) {
	conn := sqliteConnOf(t)
	kept := func() (n int, first driver.Stmt) {
		_ = conn.Raw(func(c any) error {
			p := c.(*preparingConn)
			n = p.recent.Len()
			if found, ok := p.byText["SELECT ?"]; ok {
				first = found.Value.(prepared).statement
			}
			return nil
		})
		return n, first
	}
	query := func(text string, arg int) {
		t.Helper()
		var got int
		if err := conn.QueryRowContext(t.Context(), text, arg).Scan(&got); err != nil || got != arg {
			t.Fatalf("%s with %d: got %d with error %v", text, arg, got, err)
		}
	}
	query("SELECT ?", 1)
	_, statement := kept()
	query("SELECT ?", 2)
	if n, again := kept(); n != 1 || again == nil || again != statement {
		t.Errorf("%d statements are kept, and the statement was prepared again: %v", n, again != statement)
	}
	for i := range maxPrepared {
		query(fmt.Sprintf("SELECT ? + %d - %d", i, i), i)
	}
	if n, gone := kept(); n != maxPrepared || gone != nil {
		t.Errorf("%d statements are kept, the oldest among them: %v", n, gone != nil)
	}
	query("SELECT ?", 3)
}

// TestSQLiteCompilesOnce checks that SQLite compiles a text once, whatever is bound. With bare
// parameters it would look at the values of a limit and of unindexed columns, and recompile the
// statement for each run.
func TestSQLiteCompilesOnce(t *testing.T) {
	conn := sqliteConnOf(t)
	if _, err := conn.ExecContext(t.Context(), "CREATE TABLE number (id integer PRIMARY KEY, name text)"); err != nil {
		t.Fatal(err)
	}
	query := New("SELECT id FROM number WHERE id > ? AND name = ? ORDER BY id LIMIT ? OFFSET ?", 1, "a", 2, 3)
	text, _, err := query.render(SQLite)
	if err != nil {
		t.Fatal(err)
	}
	compiled := 0
	err = conn.Raw(func(c any) error {
		registerer, ok := c.(*preparingConn).sqliteConn.(sqlite.AuthorizerRegisterer)
		if !ok {
			return errors.New("the driver tells nobody what is compiled")
		}
		return registerer.RegisterAuthorizer(func(action sqlite.AuthorizerActionCode, _, _, _, _ string) sqlite.AuthorizerReturnCode {
			if action == sqlite.AuthSelect {
				compiled++
			}
			return sqlite.AuthorizerOK
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		rows, err := conn.QueryContext(t.Context(), text, i, fmt.Sprint(i), i+1, i)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			t.Error("there is a row")
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if compiled != 1 {
		t.Errorf("%q was compiled %d times", text, compiled)
	}
}
