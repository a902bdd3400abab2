// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"database/sql"
	"errors"
)

// A Row is one row of a result, valid until the function that it is handed to returns.
type Row interface {
	Scan(dest ...any) error
}

// sqlRow reads integers itself, most of which are ids: database/sql makes a text of each and parses it.
type sqlRow struct {
	*sql.Rows
	// dest is where the columns of a row go.
	dest []any
}

// Scan implements Row.
func (r *sqlRow) Scan(dest ...any) error {
	r.dest = append(r.dest[:0], dest...)
	for i, d := range dest {
		if p, ok := d.(*int64); ok {
			r.dest[i] = (*integer)(p)
		}
	}
	return r.Rows.Scan(r.dest...)
}

// integer is an int64 that reads itself.
type integer int64

var errNoInteger = errors.New("converting NULL to int64 is unsupported")

// Scan implements sql.Scanner.
func (i *integer) Scan(source any) error {
	if n, ok := source.(int64); ok {
		*i = integer(n)
		return nil
	}
	var converted sql.Null[int64]
	if err := converted.Scan(source); err != nil {
		return err
	}
	if !converted.Valid {
		return errNoInteger
	}
	*i = integer(converted.V)
	return nil
}

var _ Row = (*sqlRow)(nil)
