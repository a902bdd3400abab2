// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Exec runs a statement and returns the number of changed rows.
func Exec(ctx context.Context, tx Tx, s SQL) (changed int64, err error) {
	return tx.session().exec(ctx, s)
}

// ExecAll runs statements in order and returns their total number of changed rows. They are sent to
// PostgreSQL together.
func ExecAll(ctx context.Context, tx Tx, list []SQL) (changed int64, err error) {
	return tx.session().execAll(ctx, list)
}

// ExecLast runs statements whose effect the function does not see. PostgreSQL gets them together
// with the commit, which returns their error.
func ExecLast(ctx context.Context, tx Tx, list []SQL) error {
	return tx.session().execLast(ctx, list)
}

// InsertLast inserts a row at the end of the function, right before the commit, which returns its
// error. The statement is head and row, the text of its values, which are int64, string, non-empty
// []byte or nil. PostgreSQL gets it together with the commit; on SQLite the rows of all functions
// that share a commit are inserted by a few statements.
func InsertLast(tx Tx, head, row string, args []any) error {
	return tx.session().insertLast(lastRow{head, row, args})
}

// QueryBoth is Query for two statements, which are sent to PostgreSQL together.
func QueryBoth(ctx context.Context, tx Tx, first SQL, scanFirst func(Row) error, second SQL, scanSecond func(Row) error) error {
	return tx.session().queryBoth(ctx, first, scanFirst, second, scanSecond)
}

// Query runs a statement and calls scan for each row of its result. An error of scan ends it. No
// other statement may run until Query returns.
func Query(ctx context.Context, r Reader, s SQL, scan func(Row) error) error {
	return r.session().query(ctx, s, scan)
}

// List runs a statement and returns the single column of its result. The list is never nil.
func List[T any](ctx context.Context, r Reader, s SQL) ([]T, error) {
	list := []T{}
	err := Query(ctx, r, s, func(row Row) error {
		var value T
		if err := row.Scan(&value); err != nil {
			return err
		}
		list = append(list, value)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// First runs a statement and scans the first row of its result into dest. It returns ErrNotFound if
// there is no row.
func First(ctx context.Context, r Reader, s SQL, dest ...any) error {
	found := false
	err := Query(ctx, r, s, func(row Row) error {
		if found {
			return nil
		}
		found = true
		return row.Scan(dest...)
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: %w", ErrNotFound, sql.ErrNoRows)
	}
	return err
}

// Within runs a scan for at most limit, including waiting, and reports whether it was completed.
// PostgreSQL itself cancels a slow statement: cancelling it from here would cost the connection and
// might not stop it. Inside a transaction, which the cancellation would abort, nothing is run.
func Within(ctx context.Context, r Reader, limit time.Duration, fn func(ctx context.Context, r Reader) error) (ended bool, err error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	end, err := r.session().beginScan(limited)
	if err != nil {
		return false, ctx.Err()
	}
	defer end()
	s := *r.session()
	if s.engine == SQLite {
		if err := fn(limited, r); err == nil || limited.Err() == nil || ctx.Err() != nil {
			return true, err
		}
		return false, nil
	}
	pool, ok := s.conn.(*sql.DB)
	deadline, _ := limited.Deadline()
	if !ok {
		return false, nil
	}
	ended, err = s.limited(ctx, pool, deadline, fn)
	if err != nil && s.spare != nil && ctx.Err() == nil && s.failed(err) {
		ended, err = s.limited(ctx, s.spare, deadline, fn)
	}
	return ended, err
}

// limited runs fn in a transaction whose statements PostgreSQL cancels at the deadline.
func (s session) limited(ctx context.Context, pool *sql.DB, deadline time.Time, fn func(ctx context.Context, r Reader) error) (ended bool, err error) {
	limit := time.Until(deadline)
	if limit < time.Millisecond { // PostgreSQL counts in milliseconds.
		return false, nil
	}
	tx, err := pool.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, "SET LOCAL statement_timeout = "+strconv.FormatInt(milliseconds(limit), 10)); err != nil {
		return false, err
	}
	// A failed statement fails the transaction, so no other server may run it instead.
	s.conn, s.spare = tx, nil
	err = fn(ctx, &s)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == "57014" {
		return false, nil
	}
	return true, err
}

// Explain returns the text of the first statement that find runs, which gets no result, and the
// engine's plan for it, line by line. PostgreSQL executes it and reports the rows of each step.
func Explain(ctx context.Context, r Reader, find func(ctx context.Context, r Reader) error) (text string, plan []string, err error) {
	s := *r.session()
	s.explain = &explanation{}
	if err := find(ctx, &s); s.explain.text == "" {
		return "", nil, fmt.Errorf("explain: no statement was run: %w", err)
	}
	e, prefix := s.explain, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) "
	if s.engine == SQLite {
		prefix = "EXPLAIN QUERY PLAN "
	}
	err = r.session().queryText(ctx, prefix+e.text, e.values, func(row Row) error {
		var line string
		dest := []any{&line}
		if s.engine == SQLite {
			dest = []any{new(any), new(any), new(any), &line}
		}
		if err := row.Scan(dest...); err != nil {
			return err
		}
		plan = append(plan, line)
		return nil
	})
	return e.text, plan, err
}
