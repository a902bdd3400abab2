// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// MigrationLock is the key of the lock, for tests that hold it.
const MigrationLock int64 = migrationLock

// MigrateTo migrates an empty database to an earlier version and runs statements on it.
func MigrateTo(ctx context.Context, databaseURL string, version int64, statements ...string) (err error) {
	loc, err := parseURL(databaseURL)
	if err != nil {
		return err
	}
	var db *sql.DB
	dialect := goose.DialectSQLite3
	if loc.engine == SQLite {
		db, err = sqlitePool(loc, Options{}, url.Values{"_journal_mode": {"WAL"}})
	} else {
		dialect = goose.DialectPostgres
		var config *pgx.ConnConfig
		if config, err = pgx.ParseConfig(databaseURL); err == nil {
			db = stdlib.OpenDB(*config)
		}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	m, err := newMigrator(dialect, db, loc, Options{})
	if err == nil {
		_, err = m.provider.UpTo(ctx, version)
	}
	for _, statement := range statements {
		if err == nil {
			_, err = db.ExecContext(ctx, statement)
		}
	}
	return err
}

// Observing wraps a function like Write does for the observer.
func (db *DB) Observing(fn WriteFunc) WriteFunc {
	fn, _ = db.observing(fn)
	return fn
}

// Dialer returns the dial function for the hosts of a URL.
func Dialer(databaseURL string) (pgconn.DialFunc, error) {
	config, err := postgresConfig(databaseURL, Options{})
	if err != nil {
		return nil, err
	}
	return config.DialFunc, nil
}
