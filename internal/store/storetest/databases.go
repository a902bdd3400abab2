// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.org/app/internal/store"
)

// PostgreSQL opens a fresh PostgreSQL database with the newest schema.
func PostgreSQL(t testing.TB) *store.DB {
	t.Helper()
	return Open(t, store.Options{URL: MigratedURL(t), Timeout: timeout, LockTimeout: timeout})
}

// MigratedURL returns the URL of a PostgreSQL database with the newest schema and no rows.
func MigratedURL(t testing.TB) string {
	t.Helper()
	name, err := migrated.take()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := migrated.giveBack(name); err != nil {
			t.Error(err)
		}
	})
	return databaseURL(name)
}

// PostgreSQLURL returns the URL of a fresh and empty PostgreSQL database.
func PostgreSQLURL(t testing.TB) string {
	t.Helper()
	name, err := createDatabase("template0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drop(name); err != nil {
			t.Error(err)
		}
	})
	return databaseURL(name)
}

// migrated is the pool of databases with the newest schema.
var migrated pool

// A pool reuses databases with the newest schema. A database consists of hundreds of files, which
// are slow to create and remove, so one whose test has changed only rows is cleared and reused.
type pool struct {
	mu sync.Mutex
	// template is the database that the others are copied from, shape its fingerprint, and reset
	// the statements that clear a copy.
	template, shape, reset string
	free                   []string
}

// take returns the name of a database.
func (p *pool) take() (string, error) {
	name, err := p.takeFree()
	if name == "" && err == nil {
		name, err = createDatabase(p.template)
	}
	return name, err
}

// takeFree returns a free database, or "" if there is none. The template exists then.
func (p *pool) takeFree() (name string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		name, p.free = p.free[n-1], p.free[:n-1]
		return name, nil
	}
	if p.template == "" {
		if err := p.makeTemplate(); err != nil {
			return "", fmt.Errorf("make the template of databases: %w", err)
		}
	}
	return "", nil
}

// makeTemplate migrates one database, which is faster than migrating each. The caller holds the
// lock.
func (p *pool) makeTemplate() error {
	name, err := createDatabase("template0")
	if err != nil {
		return err
	}
	ctx := context.Background()
	db, err := store.Open(ctx, store.Options{URL: databaseURL(name), Timeout: timeout, LockTimeout: timeout})
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, databaseURL(name))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var tables []string
	err = conn.QueryRow(ctx, "SELECT array_agg(quote_ident(relname)) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')").Scan(&tables)
	if err != nil {
		return err
	}
	var reset, rows strings.Builder
	reset.WriteString("SET session_replication_role = replica;") // The order of the tables does not matter then.
	for _, table := range tables {
		var has bool
		if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+table+")").Scan(&has); err != nil {
			return err
		}
		if has {
			fmt.Fprintf(&rows, " || (SELECT coalesce(md5(string_agg(t::text, ',' ORDER BY t::text)), '') FROM %s AS t)", table)
		} else {
			fmt.Fprintf(&reset, "DELETE FROM %s;", table)
		}
	}
	reset.WriteString("SELECT setval(s.oid, 1, false) FROM pg_class AS s WHERE s.relnamespace = 'public'::regnamespace AND s.relkind = 'S'")
	// Rows of the schema, columns, rules and statistics must be those of the template, and few
	// pages in use.
	shape := "SELECT (SELECT concat_ws(',', count(*), max(oid::bigint), sum(relnatts), sum(relchecks)) FROM pg_class)"
	for _, catalog := range []string{"pg_attribute", "pg_constraint", "pg_index", "pg_trigger", "pg_proc", "pg_statistic", "pg_db_role_setting"} {
		shape += " || '/' || (SELECT count(*) FROM " + catalog + ")"
	}
	shape += " || '/' || (SELECT pg_database_size(current_database()) < 16 << 20)" + rows.String()
	var looks string
	if err := conn.QueryRow(ctx, shape).Scan(&looks); err != nil {
		return err
	}
	p.template, p.reset = name, reset.String()
	p.shape = fmt.Sprintf("SELECT (%s) = '%s'", shape, looks)
	return nil
}

// giveBack clears a database for the next test, or drops it if that fails.
func (p *pool) giveBack(name string) error {
	if !p.empty(name) {
		return drop(name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, name)
	return nil
}

// empty deletes all rows of a database and reports whether it is like a new one.
func (p *pool) empty(name string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, databaseURL(name))
	if err != nil {
		return false // The test may have stopped the server or dropped the database.
	}
	defer func() { _ = conn.Close(ctx) }()
	// Connections that the test has closed end soon; any others may write later.
	var alone, alike bool
	for deadline := time.Now().Add(time.Second); !alone && time.Now().Before(deadline); {
		err := conn.QueryRow(ctx, "SELECT count(*) = 1 FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'").Scan(&alone)
		if err != nil {
			return false
		}
		if !alone {
			time.Sleep(5 * time.Millisecond)
		}
	}
	if !alone || conn.QueryRow(ctx, p.shape).Scan(&alike) != nil || !alike {
		return false
	}
	_, err = conn.Exec(ctx, p.reset)
	return err == nil
}

// dropDatabases drops the databases on a server that outlives the tests. A private one is removed
// with all databases.
func dropDatabases() error {
	if hasPrivateServer() {
		return nil
	}
	var errs []error
	for _, name := range append(slices.Clone(migrated.free), migrated.template) {
		if name != "" {
			errs = append(errs, drop(name))
		}
	}
	return errors.Join(errs...)
}

func createDatabase(template string) (string, error) {
	name := "app_test_" + strings.ToLower(rand.Text())
	return name, administer("CREATE DATABASE " + name + " TEMPLATE " + template)
}

func drop(name string) error { return administer("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)") }

// databaseURL returns the URL of a database of the server.
func databaseURL(name string) string {
	own := *shared.url
	own.Path = "/" + name
	return own.String()
}

// administer runs a statement in the server's default database.
func administer(statement string) error {
	base, err := serverURL()
	if err != nil {
		return err
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, base.String())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}
