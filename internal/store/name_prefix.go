// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"strings"
	"unicode"

	"example.org/app/internal/store/sqldb"
)

// nameColumn returns the expression of the name indexes: A to Z in lower case, ordered by bytes.
// PostgreSQL's order and case conversion otherwise depend on the database.
func nameColumn(engine Engine) string {
	if engine == PostgreSQL {
		return `lower(t.name COLLATE "C")`
	}
	return "lower(t.name)"
}

// nameBeginsWith returns the condition that the name of a record begins with one of the spellings
// of a text.
func nameBeginsWith(engine Engine, text string) sqldb.SQL {
	var ranges []sqldb.SQL
	for _, prefix := range spellings(text) {
		column := nameColumn(engine)
		ranges = append(ranges, sqldb.New(column+" >= ? AND "+column+" < ?", prefix, prefix+string(unicode.MaxRune)))
	}
	return sqldb.New("(?)", sqldb.Join(ranges, " OR "))
}

// spellings returns the forms to search for. No engine reliably converts the case of letters other
// than A to Z, so a text with others is searched unchanged, in lower case, in upper case and
// capitalised.
func spellings(text string) []string {
	lower := strings.ToLower(text)
	list := []string{asciiLower(text), asciiLower(lower), asciiLower(strings.ToUpper(text)), asciiLower(capitalized(lower))}
	slices.Sort(list)
	return slices.Compact(list)
}

// asciiLower converts a name like the engines do.
func asciiLower(text string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, text)
}

// capitalized returns the text with the first letter of each word in title case.
func capitalized(text string) string {
	inWord := false
	return strings.Map(func(r rune) rune {
		begins := !inWord
		inWord = unicode.IsLetter(r) || unicode.IsMark(r)
		if begins {
			r = unicode.ToTitle(r)
		}
		return r
	}, text)
}
