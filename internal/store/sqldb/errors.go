// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// The errors, identical on both engines. Test for them with errors.Is; the driver's error stays in
// the chain.
var (
	// ErrDuplicateKey means that a row with the same key exists. A *DuplicateKeyError in the chain
	// says which key.
	ErrDuplicateKey = errors.New("duplicate key")
	// ErrForeignKey means that a row refers to a row that does not exist, or is still referenced.
	ErrForeignKey = errors.New("foreign key violated")
	// ErrInvalidValue means that a value cannot be stored: text with a NUL byte or invalid UTF-8, a
	// missing required value, a number out of range, or a value that is too big.
	ErrInvalidValue = errors.New("invalid value")
	// ErrTimeout means that a statement, a transaction, or waiting for a lock or the writer took
	// too long, or that the deadline of the caller's context passed.
	ErrTimeout = errors.New("time-out")
	// ErrNotFound means that the row does not exist.
	ErrNotFound = errors.New("not found")
	// ErrClosed means that the database was closed by Close.
	ErrClosed = errors.New("database is closed")
	// ErrUnavailable means that the database cannot be reached or cannot read or write its files.
	ErrUnavailable = errors.New("database is unavailable")
	// ErrOutcomeUnknown means that the connection to PostgreSQL broke during a commit, so that its
	// outcome is unknown. It is combined with ErrUnavailable.
	ErrOutcomeUnknown = errors.New("the outcome of the commit is unknown")
	// ErrNested means that Write was called with the context of a running Write function, which
	// would deadlock.
	ErrNested = errors.New("write inside a write function")
)

var kinds = []error{
	ErrDuplicateKey, ErrForeignKey, ErrInvalidValue, ErrTimeout, ErrNotFound, ErrClosed, ErrUnavailable, ErrNested,
}

// A DuplicateKeyError identifies the violated key. It is an ErrDuplicateKey.
type DuplicateKeyError struct {
	// Table is the name of the table, e.g. "admin".
	Table string
	// Constraint is "table_pkey" for a primary key and "table_column_key" for a unique column, on
	// both engines.
	Constraint string
	// Err is the driver's error.
	Err error
}

func (e *DuplicateKeyError) Error() string {
	return fmt.Sprintf("duplicate key: table %q, constraint %q", e.Table, e.Constraint)
}

func (e *DuplicateKeyError) Unwrap() error { return e.Err }

// Is makes every DuplicateKeyError an ErrDuplicateKey.
func (e *DuplicateKeyError) Is(target error) bool { return target == ErrDuplicateKey }

// Translate adds the typed error for err. It is the only function that knows the drivers' codes. A
// typed error, or one that is not from the database, is returned unchanged.
func Translate(err error) error {
	if err == nil {
		return nil
	}
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			return err
		}
	}
	if sqliteErr, ok := errors.AsType[*sqlite.Error](err); ok {
		return translateSQLite(err, sqliteErr)
	}
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return translatePostgres(err, pgErr)
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return typed(ErrNotFound, err)
	case errors.Is(err, context.DeadlineExceeded):
		return typed(ErrTimeout, err)
	case errors.Is(err, context.Canceled):
		return err
	case isConnectionError(err):
		return typed(ErrUnavailable, err)
	}
	return err
}

func typed(kind, err error) error {
	return fmt.Errorf("%w: %w", kind, err)
}

func isConnectionError(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	for _, target := range []error{
		driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	// pgx reports a connection that was lost earlier by an unexported error.
	return strings.Contains(err.Error(), "conn closed")
}

func translateSQLite(err error, cause *sqlite.Error) error {
	switch code := cause.Code(); code {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID:
		return sqliteDuplicate(err, code)
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return typed(ErrForeignKey, err)
	case sqlite3.SQLITE_CONSTRAINT_NOTNULL, sqlite3.SQLITE_CONSTRAINT_CHECK, sqlite3.SQLITE_CONSTRAINT_DATATYPE:
		return typed(ErrInvalidValue, err)
	default:
		switch code & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT:
			return typed(ErrTimeout, err)
		case sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH:
			return typed(ErrInvalidValue, err)
		case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY,
			sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CORRUPT,
			sqlite3.SQLITE_NOTADB:
			return typed(ErrUnavailable, err)
		}
	}
	return err
}

// sqliteDuplicate parses the columns in the message, "UNIQUE constraint failed: admin.login_name",
// and names the constraint like PostgreSQL.
func sqliteDuplicate(err error, code int) error {
	_, list, _ := strings.Cut(err.Error(), "constraint failed: ")
	// The driver repeats the phrase, once from the code and once from the message.
	if _, rest, ok := strings.Cut(list, "constraint failed: "); ok {
		list = rest
	}
	list, _, _ = strings.Cut(list, " (")
	table := ""
	var columns []string
	for name := range strings.SplitSeq(list, ", ") {
		owner, column, ok := strings.Cut(name, ".")
		if !ok {
			continue
		}
		table = owner
		columns = append(columns, column)
	}
	constraint := table + "_" + strings.Join(columns, "_") + "_key"
	if code != sqlite3.SQLITE_CONSTRAINT_UNIQUE {
		constraint = table + "_pkey"
	}
	return &DuplicateKeyError{Table: table, Constraint: constraint, Err: err}
}

func translatePostgres(err error, cause *pgconn.PgError) error {
	switch cause.Code {
	case "23505":
		table, constraint := cause.TableName, cause.ConstraintName
		if strings.HasPrefix(table, MessagePartitionPrefix) {
			table, constraint = "message", "message_pkey"
		}
		return &DuplicateKeyError{Table: table, Constraint: constraint, Err: err}
	case "23503":
		return typed(ErrForeignKey, err)
	case "23502", "23514", "54000":
		return typed(ErrInvalidValue, err)
	case "57014", "55P03", "25P03", "25P04", "40001", "40P01":
		return typed(ErrTimeout, err)
	case "57P01", "57P02", "57P03", "3D000", "28000", "28P01", "25006": // The last one is that of a standby.
		return typed(ErrUnavailable, err)
	}
	switch cause.Code[:min(2, len(cause.Code))] {
	case "22":
		return typed(ErrInvalidValue, err)
	case "08", "53", "58":
		return typed(ErrUnavailable, err)
	}
	return err
}

// mayBeCommitted reports whether a failed commit may have taken place: PostgreSQL did not report a
// rollback. A fatal error reports the end of the connection, and the commit may precede it. The
// driver's information about retries does not help: it forgets that the statement was sent when the
// connection is closed.
func mayBeCommitted(err error) bool {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused.Severity == "FATAL" || refused.Severity == "PANIC"
	}
	return !errors.Is(err, errTxAborted)
}

// isConflict reports whether PostgreSQL aborted the transaction because of a concurrent one; it
// must be retried.
func isConflict(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pgErr.Code == "40001" || pgErr.Code == "40P01")
}
