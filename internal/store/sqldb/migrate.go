// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

const (
	// versionTable is the table with the version of the schema.
	versionTable = "schema_version"
	// migrationLock is the key of the advisory lock for migrating PostgreSQL databases. It is
	// arbitrary but must not change.
	migrationLock = 0x6170702d736368
)

// A NewerError means that the database was migrated by a newer program.
type NewerError struct {
	Database string
	// Version is the version of the database, Known the newest one of this program.
	Version, Known int64
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("database %q has schema version %d but this program knows up to %d: start a newer program",
		e.Database, e.Version, e.Known)
}

// engineFiles are the migrations of one engine. Files ending in ".sqlite.sql" or ".postgres.sql"
// are for one engine, the others for both.
type engineFiles struct {
	fs.FS
	engine Engine
}

// ReadDir implements fs.ReadDirFS.
func (f engineFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(f.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !isFor(f.engine, e.Name()) }), err
}

// engineSuffixes are the suffixes of migrations for one engine.
var engineSuffixes = map[Engine]string{SQLite: ".sqlite.sql", PostgreSQL: ".postgres.sql"}

// isFor reports whether a migration file is for an engine.
func isFor(engine Engine, name string) bool {
	for other, suffix := range engineSuffixes {
		if other != engine && strings.HasSuffix(name, suffix) {
			return false
		}
	}
	return true
}

// migrator migrates one database to the newest version.
type migrator struct {
	provider *goose.Provider
	loc      location
	options  Options
}

func newMigrator(dialect goose.Dialect, db *sql.DB, loc location, o Options, more ...goose.ProviderOption) (migrator, error) {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return migrator{}, err
	}
	files = engineFiles{files, loc.engine}
	more = append(more, goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	provider, err := goose.NewProvider(dialect, db, files, more...)
	return migrator{provider: provider, loc: loc, options: o}, err
}

// known returns the newest version of this program.
func (m migrator) known() int64 {
	sources := m.provider.ListSources()
	return sources[len(sources)-1].Version
}

// check returns a *NewerError for a version that this program does not know.
func (m migrator) check(version int64) error {
	if known := m.known(); version > known {
		return &NewerError{Database: m.loc.name, Version: version, Known: known}
	}
	return nil
}

// up applies pending migrations. It checks the version again afterwards: a newer program may have
// migrated concurrently.
func (m migrator) up(ctx context.Context) error {
	results, err := m.provider.Up(ctx)
	if err != nil {
		return fmt.Errorf("migrate the schema: %w", err)
	}
	for _, result := range results {
		m.options.Logger.InfoContext(ctx, "migrated the database", "database", m.loc.name,
			"version", result.Source.Version, "duration", result.Duration)
	}
	version, err := m.provider.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	return m.check(version)
}

// currentVersion reads the version without creating or locking anything; 0 means an empty database.
func currentVersion(ctx context.Context, db *sql.DB, tableQuery string) (int64, error) {
	var tables int
	if err := db.QueryRowContext(ctx, tableQuery).Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	var version sql.NullInt64
	err := db.QueryRowContext(ctx, "SELECT max(version_id) FROM "+versionTable).Scan(&version)
	return version.Int64, err
}

// migrateSQLite migrates under a file lock next to the database, which is released when a process
// dies.
func migrateSQLite(ctx context.Context, loc location, o Options) (err error) {
	unlock, err := lockFile(ctx, loc.path+".lock", o.LockTimeout)
	if err != nil {
		return err
	}
	defer unlock()
	db, err := sqlitePool(loc, o, url.Values{"_journal_mode": {"WAL"}, "_txlock": {"immediate"}})
	if err != nil {
		return err
	}
	defer func() { err = sqliteLocked(errors.Join(err, db.Close()), loc, o) }()
	m, err := newMigrator(goose.DialectSQLite3, db, loc, o)
	if err != nil {
		return err
	}
	version, err := currentVersion(ctx, db, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '"+versionTable+"'")
	if err != nil {
		return err
	}
	if version == m.known() {
		return nil
	}
	if err := m.check(version); err != nil {
		return err
	}
	// The library retries its first statement for seconds if the file is locked, so wait here.
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := tx.Rollback(); err != nil {
		return err
	}
	return m.up(ctx)
}

// sqliteLocked explains the driver's "database is locked".
func sqliteLocked(err error, loc location, o Options) error {
	if err = Translate(err); errors.Is(err, ErrTimeout) && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: file %q is locked by another process for longer than %v: %w", ErrTimeout, loc.path, o.LockTimeout, err)
	}
	return err
}

// migratePostgres migrates under an advisory lock of the server. Its connections have no statement
// time-outs, because a migration may take long.
func migratePostgres(ctx context.Context, config *pgx.ConnConfig, loc location, o Options) (err error) {
	// No statement runs twice, and there may be a pooler.
	config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	db := sql.OpenDB(unlimitedConnector{stdlib.GetConnector(*config)})
	defer func() { err = errors.Join(err, db.Close()) }()
	m, err := newMigrator(goose.DialectPostgres, db, loc, o)
	if err != nil {
		return err
	}
	version, err := currentVersion(ctx, db, versionTableQuery(PostgreSQL))
	if err != nil {
		return err
	}
	if version == m.known() {
		return nil
	}
	if err := m.check(version); err != nil {
		return err
	}
	unlock, err := lockMigration(ctx, db, o.LockTimeout)
	if err != nil {
		return err
	}
	return errors.Join(m.up(ctx), unlock())
}

// lockMigration waits for the lock for migrating a PostgreSQL database. The lock belongs to a
// transaction on its own connection: it is released when a node dies, and does not stay with a
// server process of a pooler.
func lockMigration(ctx context.Context, db *sql.DB, timeout time.Duration) (unlock func() error, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	if _, err = tx.ExecContext(ctx, "SET LOCAL lock_timeout = "+strconv.FormatInt(milliseconds(timeout), 10)); err == nil {
		_, err = tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock("+strconv.FormatInt(migrationLock, 10)+")")
	}
	if err == nil {
		return tx.Rollback, nil
	}
	if err = Translate(err); errors.Is(err, ErrTimeout) && ctx.Err() == nil {
		err = fmt.Errorf("%w: another process migrates it for longer than %v: %w", ErrTimeout, timeout, err)
	}
	return nil, errors.Join(err, tx.Rollback())
}
