// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"database/sql"
	"errors"
)

// A Row is one row of a result, valid until the function that receives it returns.
type Row interface {
	Scan(dest ...any) error
}

// sqlRow scans integers itself, most of which are ids: database/sql formats and parses each as
// text.
type sqlRow struct {
	*sql.Rows
	// dest are the destinations of the columns.
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

// integer is an int64 that scans itself.
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
