// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrNotSQLite means that the database has no file that this program can copy.
var ErrNotSQLite = errors.New("only SQLite databases are copied by this program: use pg_dump and pg_restore for PostgreSQL")

// ErrExists means that the target file exists.
var ErrExists = errors.New("the file exists already")

// Backup writes a copy of an SQLite database to a new file. Servers may continue to use the
// database: the copy is a consistent snapshot with every transaction that was committed before the
// call. The copy is checked before it gets its name, so that a file with that name is always
// complete.
func Backup(ctx context.Context, o Options, to string) (s Schema, err error) {
	loc, err := sqliteLocation(o)
	if err != nil {
		return s, err
	}
	if _, err := os.Stat(loc.path); err != nil {
		return s, loc.failure(err)
	}
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("back up to %q: %w", to, errors.Join(ErrExists, err))
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return s, fmt.Errorf("back up to %q: %w", to, err)
	}
	part := to + ".part"
	defer func() { _ = os.Remove(part) }()
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("back up to %q: %w", to, err)
	}
	if err := copyInto(ctx, loc, o, part); err != nil {
		return s, fmt.Errorf("back up to %q: %w", to, Translate(err))
	}
	if s, err = Verify(ctx, o, part); err != nil {
		return s, fmt.Errorf("back up to %q: check the copy: %w", to, err)
	}
	if err := publish(part, to); err != nil {
		return s, fmt.Errorf("back up to %q: %w", to, err)
	}
	return s, nil
}

func sqliteLocation(o Options) (location, error) {
	loc, err := parseURL(o.URL)
	if err == nil && loc.engine != SQLite {
		err = loc.failure(ErrNotSQLite)
	}
	return loc, err
}

// copyInto copies the committed state, without blocking readers and writers.
func copyInto(ctx context.Context, loc location, o Options, file string) (err error) {
	db, err := sqlitePool(loc, o, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", file)
	return err
}

// Verify checks that a file is a complete database of this or an older version of the program, and
// returns its schema.
func Verify(ctx context.Context, o Options, file string) (s Schema, err error) {
	o.URL = "sqlite:" + file
	if s, err = Inspect(ctx, o, true); err != nil {
		return s, err
	}
	switch {
	case s.Version == 0:
		return s, fmt.Errorf("%q is no database of this program: it has no schema version", file)
	case s.Version > s.Known:
		return s, &NewerError{Database: file, Version: s.Version, Known: s.Known}
	}
	loc, err := parseURL(o.URL)
	if err != nil {
		return s, err
	}
	db, err := sqlitePool(loc, o, url.Values{"_query_only": {"1"}})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return s, verify(ctx, db, file)
}

func verify(ctx context.Context, db *sql.DB, file string) error {
	problems, err := strs(ctx, db, "PRAGMA integrity_check(5)")
	if err != nil {
		return Translate(err)
	}
	if len(problems) != 1 || problems[0] != "ok" {
		return fmt.Errorf("%q is damaged: %s", file, strings.Join(problems, "; "))
	}
	orphans, err := strs(ctx, db, `SELECT DISTINCT "table" FROM pragma_foreign_key_check`)
	if err != nil {
		return Translate(err)
	}
	if len(orphans) > 0 {
		return fmt.Errorf("%q is damaged: rows of %s belong to nothing", file, strings.Join(orphans, ", "))
	}
	return nil
}

// Restore replaces an SQLite database, which no service may be using, by a copy that Backup made.
// An existing database is renamed and its new name returned; without replace it is an error.
func Restore(ctx context.Context, o Options, from string, replace bool) (s Schema, kept string, err error) {
	loc, err := sqliteLocation(o)
	if err != nil {
		return s, "", err
	}
	if s, err = Verify(ctx, o, from); err != nil {
		return s, "", fmt.Errorf("restore from %q: %w", from, err)
	}
	if err := os.MkdirAll(filepath.Dir(loc.path), 0o700); err != nil {
		return s, "", fmt.Errorf("restore from %q: %w", from, err)
	}
	release, err := lockFile(ctx, loc.path+"."+o.Exclusive+".lock", o.LockTimeout)
	if err != nil {
		if errors.Is(err, ErrTimeout) {
			err = fmt.Errorf("%w: a %s process uses the database: stop it first", ErrTimeout, o.Exclusive)
		}
		return s, "", loc.failure(err)
	}
	defer release()
	part := loc.path + ".restore"
	defer func() { _ = os.Remove(part) }()
	if err := copyFile(part, from); err != nil {
		return s, "", fmt.Errorf("restore from %q: %w", from, err)
	}
	if kept, err = setAside(loc.path, replace); err != nil {
		return s, "", loc.failure(err)
	}
	if err := publish(part, loc.path); err != nil {
		return s, kept, loc.failure(err)
	}
	return s, kept, nil
}

// setAside renames a database and SQLite's files beside it, and returns the new name, or "" if
// there is no database.
func setAside(path string, replace bool) (string, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		// A leftover log would be applied to the new database.
		return "", removeAll(path+"-wal", path+"-shm")
	} else if err != nil {
		return "", err
	}
	if !replace {
		return "", ErrExists
	}
	kept := fmt.Sprintf("%s.before-%s", path, time.Now().UTC().Format("20060102T150405.000Z"))
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := os.Rename(path+suffix, kept+suffix); err != nil && (suffix == "" || !errors.Is(err, fs.ErrNotExist)) {
			return "", err
		}
	}
	return kept, nil
}

func removeAll(paths ...string) error {
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// copyFile copies a file and flushes it to disk.
func copyFile(to, from string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if _, err := io.Copy(target, source); err != nil {
		return err
	}
	return target.Sync()
}

// publish renames a complete file durably.
func publish(part, name string) error {
	file, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close(), os.Chmod(part, 0o600)); err != nil {
		return err
	}
	if err := os.Rename(part, name); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
