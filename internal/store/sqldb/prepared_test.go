// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"database/sql/driver"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"
	"time"
)

// TestSQLiteKeepsStatementsPrepared checks that a text is prepared once for each connection, and that old ones go.
func TestSQLiteKeepsStatementsPrepared(t *testing.T) {
	loc, err := parseURL("sqlite:" + filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	pool, err := sqlitePool(loc, Options{LockTimeout: time.Second}, url.Values{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}()
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
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
