// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"database/sql/driver"

	"github.com/jackc/pgx/v5"

	"example.org/app/internal/store"
	"example.org/app/internal/store/sqldb"
)

// Exec runs a statement of a test; question marks are placeholders of arguments.
func Exec(ctx context.Context, tx store.Tx, statement string, args ...any) error {
	_, err := sqldb.Exec(ctx, tx, sqldb.New(statement, args...))
	return err
}

// First returns the first row of a test's query. If there is none, the error is a
// store.ErrNotFound.
func First(ctx context.Context, r store.Reader, statement string, dest ...any) error {
	return sqldb.First(ctx, r, sqldb.New(statement), dest...)
}

// List returns the only column of a test's query.
func List[T any](ctx context.Context, r store.Reader, statement string) ([]T, error) {
	return sqldb.List[T](ctx, r, sqldb.New(statement))
}

// Rows returns the rows of a test's query as values by column name.
func Rows(ctx context.Context, r store.Reader, statement string) ([]map[string]any, error) {
	var rows []map[string]any
	err := sqldb.Query(ctx, r, sqldb.New(statement), func(row sqldb.Row) error {
		columns, err := columnsOf(row)
		if err != nil {
			return err
		}
		values, dest := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := row.Scan(dest...); err != nil {
			return err
		}
		named := make(map[string]any, len(columns))
		for i, column := range columns {
			if v, ok := values[i].(driver.Valuer); ok { // A number of PostgreSQL.
				if values[i], err = v.Value(); err != nil {
					return err
				}
			}
			named[column] = values[i]
		}
		rows = append(rows, named)
		return nil
	})
	return rows, err
}

// columnsOf returns the names of the columns. The first statement of a transaction of PostgreSQL
// has rows of pgx, others those of database/sql.
func columnsOf(row sqldb.Row) ([]string, error) {
	rows, ok := row.(pgx.Rows)
	if !ok {
		return row.(interface{ Columns() ([]string, error) }).Columns()
	}
	var names []string
	for _, f := range rows.FieldDescriptions() {
		names = append(names, f.Name)
	}
	return names, nil
}
