// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
)

// The query builder writes values into the text of a query, and its own writer of strings silently drops NUL bytes
// and replaces what is not UTF-8. These dialects keep every byte, and checkText refuses the finished query, so that
// the caller hears that its value cannot be stored instead of reading back another one.

type sqliteDialect struct{ *sqlitedialect.Dialect }

func (sqliteDialect) AppendString(b []byte, s string) []byte { return appendText(b, s) }

type postgresDialect struct{ *pgdialect.Dialect }

func (postgresDialect) AppendString(b []byte, s string) []byte { return appendText(b, s) }

func appendText(b []byte, s string) []byte {
	b = append(b, '\'')
	for i := range len(s) {
		if s[i] == '\'' {
			b = append(b, '\'')
		}
		b = append(b, s[i])
	}
	return append(b, '\'')
}

// checkText refuses a query that holds a NUL byte or is not UTF-8: no query of ours does by itself, so that a value
// must be the cause.
func checkText(query string) error {
	if strings.IndexByte(query, 0) >= 0 {
		return fmt.Errorf("%w: text must not contain a NUL byte", ErrInvalidValue)
	}
	if !utf8.ValidString(query) {
		return fmt.Errorf("%w: text must be UTF-8", ErrInvalidValue)
	}
	return nil
}
