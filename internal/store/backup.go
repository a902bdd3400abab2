// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"

	"example.org/app/internal/store/sqldb"
)

// A Schema is what a database holds; see sqldb.Schema.
type Schema = sqldb.Schema

// Errors of backups; see package sqldb.
var (
	ErrNotSQLite = sqldb.ErrNotSQLite
	ErrExists    = sqldb.ErrExists
)

// Inspect reads the schema of a database without changing it; see sqldb.Inspect.
func Inspect(ctx context.Context, o Options, rows bool) (Schema, error) {
	return sqldb.Inspect(ctx, o, rows)
}

// Backup writes a copy of an SQLite database; see sqldb.Backup.
func Backup(ctx context.Context, o Options, to string) (Schema, error) {
	return sqldb.Backup(ctx, o, to)
}

// Restore replaces an SQLite database by a copy; see sqldb.Restore.
func Restore(ctx context.Context, o Options, from string, replace bool) (s Schema, kept string, err error) {
	return sqldb.Restore(ctx, o, from, replace)
}
