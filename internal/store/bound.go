// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"database/sql"
	"strings"
)

// The statements that every message needs are written by hand, with parameters, for SQLite: to build and to compile them
// would take several times as long as to run them. PostgreSQL spends its time elsewhere, so that they are built there.

// boundRows are the numbers of rows that such a statement has: a few texts serve any number of rows.
var boundRows = [...]int{16, 4, 1}

// A rowsStatement is a statement over a number of rows.
type rowsStatement struct {
	texts   [len(boundRows)]string
	columns int // parameters of a row
}

// newRowsStatement makes a statement that has the row, which holds the parameters, once for each row.
func newRowsStatement(head, row, tail string) *rowsStatement {
	s := &rowsStatement{columns: strings.Count(row, "?")}
	for i, rows := range boundRows {
		s.texts[i] = head + strings.Repeat(", "+row, rows)[2:] + tail
	}
	return s
}

// each calls run for as many rows at a time as a text of the statement has, with the arguments that add appends for them.
func (s *rowsStatement) each(rows int, add func(args []any, row int) []any, run func(text string, args []any) error) error {
	args := make([]any, 0, min(rows, boundRows[0])*s.columns)
	for i, next := 0, 0; next < rows; {
		if rows-next < boundRows[i] {
			i++
			continue
		}
		args = args[:0]
		for range boundRows[i] {
			args = add(args, next)
			next++
		}
		if err := run(s.texts[i], args); err != nil {
			return err
		}
	}
	return nil
}

// exec runs the statement for all rows and returns how many it changed.
func (s *rowsStatement) exec(ctx context.Context, c *txConn, rows int, add func(args []any, row int) []any) (changed int64, err error) {
	err = s.each(rows, add, func(text string, args []any) error {
		result, err := c.ExecContext(ctx, text, args...)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		changed += n
		return err
	})
	return changed, err
}

// query runs the statement for all rows and hands each row of the results to scan.
func (s *rowsStatement) query(ctx context.Context, c *txConn, rows int, add func(args []any, row int) []any, scan func(*sql.Rows) error) error {
	return s.each(rows, add, func(text string, args []any) (err error) {
		found, err := c.QueryContext(ctx, text, args...)
		if err != nil {
			return err
		}
		defer func() {
			if closed := found.Close(); err == nil {
				err = c.note(closed)
			}
		}()
		for found.Next() {
			if err := scan(found); err != nil {
				return err
			}
		}
		return c.note(found.Err())
	})
}

// boundConn returns the connection of a transaction that keeps statements with parameters compiled, if it does.
func boundConn(r Reader) (*txConn, bool) {
	q, ok := r.(queries)
	if !ok {
		return nil, false
	}
	c, ok := q.conn.(*txConn)
	return c, ok && c.statements != nil
}

// orNull makes no value of a pointer NULL.
func orNull[T any](value *T) any {
	if value == nil {
		return nil
	}
	return *value
}

// bytesOrNull makes no bytes NULL.
func bytesOrNull(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}
