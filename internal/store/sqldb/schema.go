// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// MessagePartitionPrefix is the prefix of the partitions of the table message on PostgreSQL.
const MessagePartitionPrefix = "message_part_"

// A Schema is the result of Inspect.
type Schema struct {
	Engine Engine
	// Database identifies the database, without a password.
	Database string
	// Version is the version of the schema, 0 for an empty database; Known is the newest one of
	// this program.
	Version, Known int64
	// Pending are the names of the pending migrations, in order.
	Pending []string
	// Rows has the number of rows of each table, if requested.
	Rows map[string]int64
}

// Inspect reads the schema of a database without changing or creating anything. On SQLite the error
// for a missing database wraps fs.ErrNotExist. With rows, it counts the rows of every table, which
// takes as long as reading them.
func Inspect(ctx context.Context, o Options, rows bool) (s Schema, err error) {
	loc, err := parseURL(o.URL)
	if err != nil {
		return s, err
	}
	defer func() {
		if err != nil {
			err = loc.failure(Translate(err))
		}
	}()
	s = Schema{Engine: loc.engine, Database: loc.name}
	db, err := openToInspect(loc, o)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if s.Version, err = currentVersion(ctx, db, versionTableQuery(loc.engine)); err != nil {
		return s, err
	}
	if s.Known, s.Pending, err = pendingMigrations(loc.engine, s.Version); err != nil || !rows || s.Version == 0 {
		return s, err
	}
	s.Rows, err = countRows(ctx, db, loc.engine)
	return s, err
}

// openToInspect opens a database read only.
func openToInspect(loc location, o Options) (*sql.DB, error) {
	if loc.engine == SQLite {
		if _, err := os.Stat(loc.path); err != nil {
			return nil, err
		}
		return sqlitePool(loc, o, url.Values{"_query_only": {"1"}})
	}
	config, err := pgx.ParseConfig(o.URL)
	if err != nil {
		return nil, fmt.Errorf("read the URL: %s", err.Error()) //nolint:errorlint // The chain would hold the password.
	}
	// No statement runs twice, and there may be a pooler.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	return stdlib.OpenDB(*config), nil
}

// versionTableQuery returns the query that checks for the table of migrations.
func versionTableQuery(e Engine) string {
	if e == SQLite {
		return "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '" + versionTable + "'"
	}
	return "SELECT count(*) WHERE to_regclass('" + versionTable + "') IS NOT NULL"
}

// pendingMigrations returns the newest version of an engine and the names of the migrations after a
// version.
func pendingMigrations(engine Engine, version int64) (known int64, pending []string, err error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return 0, nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		if !isFor(engine, name) {
			continue
		}
		name = strings.TrimPrefix(name, "migrations/")
		name = strings.TrimSuffix(strings.TrimSuffix(name, engineSuffixes[engine]), ".sql")
		var number int64
		if _, err := fmt.Sscanf(name, "%d_", &number); err != nil {
			return 0, nil, fmt.Errorf("migration %q: %w", name, err)
		}
		known = max(known, number)
		if number > version {
			pending = append(pending, name)
		}
	}
	return known, pending, nil
}

// countRows counts the rows of every table except that of the migrations.
func countRows(ctx context.Context, db *sql.DB, e Engine) (map[string]int64, error) {
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
	if e == PostgreSQL {
		query = "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition"
	}
	tables, err := strs(ctx, db, query)
	if err != nil {
		return nil, err
	}
	rows := map[string]int64{}
	for _, table := range tables {
		if table == versionTable {
			continue
		}
		var n int64
		// The names come from the database itself.
		if err := db.QueryRowContext(ctx, `SELECT count(*) FROM "`+strings.ReplaceAll(table, `"`, `""`)+`"`).Scan(&n); err != nil {
			return nil, fmt.Errorf("count the rows of %q: %w", table, err)
		}
		rows[table] = n
	}
	return rows, nil
}

// strs returns the texts that a query selects.
func strs(ctx context.Context, db *sql.DB, query string) (list []string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}
