// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"modernc.org/sqlite"
)

// revisionConnections is the number of connections dedicated to Revision.
const revisionConnections = 2

// journalSize limits the write-ahead log after a checkpoint: 64 MB.
const journalSize = "journal_size_limit(67108864)"

// sqliteEngine is a file with one connection for writing and some for reading.
type sqliteEngine struct {
	*writer
	read, revisions *sql.DB
	release         func() // releases the exclusive role; nil if there is none
}

// keepPrivate makes the file accessible only to its owner, whatever the folder allows. SQLite gives
// the files beside it the same mode.
func keepPrivate(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := file.Chmod(0o600); err != nil && !errors.Is(err, os.ErrPermission) {
		return errors.Join(err, file.Close())
	}
	for _, beside := range []string{path + "-wal", path + "-shm"} {
		// They may be left from a time when others could read the file.
		if err := os.Chmod(beside, 0o600); err != nil && !errors.Is(err, os.ErrPermission) && !errors.Is(err, os.ErrNotExist) {
			return errors.Join(err, file.Close())
		}
	}
	return file.Close()
}

func openSQLite(ctx context.Context, loc location, o Options) (_ *DB, err error) {
	if err := os.MkdirAll(filepath.Dir(loc.path), 0o700); err != nil {
		return nil, fmt.Errorf("create the folder: %w", err)
	}
	if err := keepPrivate(loc.path); err != nil {
		return nil, fmt.Errorf("create the file: %w", err)
	}
	release := func() {}
	if o.Exclusive != "" {
		if release, err = lockFile(ctx, loc.path+"."+o.Exclusive+".lock", o.LockTimeout); err != nil {
			if errors.Is(err, ErrTimeout) {
				err = fmt.Errorf("%w: another %s process uses the file; several of them need PostgreSQL", ErrTimeout, o.Exclusive)
			}
			return nil, err
		}
		defer func() {
			if err != nil {
				release()
			}
		}()
	}
	if err := migrateSQLite(ctx, loc, o); err != nil {
		return nil, err
	}
	read, err := sqlitePool(loc, o, url.Values{"_query_only": {"1"}})
	if err != nil {
		return nil, err
	}
	revisions, err := sqlitePool(loc, o, url.Values{"_query_only": {"1"}})
	if err != nil {
		return nil, errors.Join(err, read.Close())
	}
	// The rollback data of statements and savepoints is kept in memory, because it need not outlive
	// the process.
	write, err := sqlitePool(loc, o, url.Values{"_pragma": {journalSize, "temp_store(MEMORY)"}})
	if err != nil {
		return nil, errors.Join(err, read.Close(), revisions.Close())
	}
	read.SetMaxOpenConns(sqliteReaders())
	read.SetMaxIdleConns(sqliteReaders())
	revisions.SetMaxOpenConns(revisionConnections)
	revisions.SetMaxIdleConns(revisionConnections)
	w := newWriter(write, o)
	e := sqliteEngine{writer: w, read: read, revisions: revisions, release: release}
	// Connect before the owner starts, so that Open reports errors.
	err = w.connect(ctx)
	var db *DB
	if err == nil {
		db, err = newDB(ctx, SQLite, o, read, revisions, e, &w.counters)
	}
	if err != nil {
		w.disconnect()
		return nil, errors.Join(err, e.close())
	}
	go w.run()
	return db, nil
}

// sqliteReaders is the number of reading connections.
func sqliteReaders() int { return max(4, runtime.GOMAXPROCS(0)) }

// close is called after the owner has ended.
func (e sqliteEngine) close() error {
	defer e.release()
	return errors.Join(e.read.Close(), e.revisions.Close(), e.db.Close())
}

// sqlitePool returns a pool of connections to the file. It does not set the journal mode: that is a
// property of the file, and only the migration, which holds a lock, may change it.
func sqlitePool(loc location, o Options, more url.Values) (*sql.DB, error) {
	settings := url.Values{
		"_busy_timeout": {strconv.FormatInt(milliseconds(o.LockTimeout), 10)},
		"_foreign_keys": {"1"},
		"_synchronous":  {"FULL"},
		"_pragma":       {journalSize},
		"_dqs":          {"0"},
		"_error_rc":     {"1"},
	}
	for key, values := range more {
		settings[key] = values
	}
	// A file URI, with every special character of the path escaped: a plain path could not contain
	// a question mark.
	file := url.URL{Path: filepath.ToSlash(loc.path)}
	connector, err := sqlite.NewConnector("file:" + file.EscapedPath() + "?" + settings.Encode())
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(preparingConnector{connector}), nil
}

// milliseconds rounds up, because zero would mean "no limit" or "no wait".
func milliseconds(d time.Duration) int64 {
	return max(1, int64((d+time.Millisecond-1)/time.Millisecond))
}
