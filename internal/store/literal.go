// SPDX-License-Identifier: Apache-2.0

package store

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// liftLiterals replaces the values that stand in a statement of SQLite by parameters, so that statements that differ in
// their values only become the same text and are compiled once. A value that it does not understand stays: the statement
// means the same, whichever values were replaced. It reports false for what is no statement that reads or writes rows, and
// for one with comments or parameters of its own.
func liftLiterals(query string) (text string, args []any, ok bool) {
	if !readsOrWrites(query) {
		return "", nil, false
	}
	var b strings.Builder
	b.Grow(len(query))
	ordering := false // Numbers in ORDER BY and GROUP BY may mean columns.
	for i := 0; i < len(query); {
		end, value := i+1, any(nil)
		switch c := query[i]; {
		case c == '\'':
			end, value = textLiteral(query, i)
		case c == '"' || c == '`':
			end = quotedEnd(query, i)
		case isDigit(c):
			end, value = numberLiteral(query, i)
		case isWord(c):
			end = wordEnd(query, i)
			word := query[i:end]
			switch {
			case strings.EqualFold(word, "x") && end < len(query) && query[end] == '\'':
				end, value = bytesLiteral(query, end)
			case strings.EqualFold(word, "by"):
				ordering = true
			case strings.EqualFold(word, "limit"):
				ordering = false
			}
		case c == ')':
			ordering = false
		case strings.IndexByte("?$:@;", c) >= 0, strings.HasPrefix(query[i:], "--"), strings.HasPrefix(query[i:], "/*"):
			return "", nil, false
		}
		if value == nil || ordering {
			b.WriteString(query[i:end])
		} else {
			b.WriteByte('?')
			args = append(args, value)
		}
		i = end
	}
	return b.String(), args, true
}

// readsOrWrites reports whether a statement reads or writes rows. In others, values cannot be parameters.
func readsOrWrites(query string) bool {
	verb := query[:wordEnd(query, 0)]
	for _, known := range []string{"SELECT", "INSERT", "UPDATE", "DELETE", "WITH"} {
		if strings.EqualFold(verb, known) {
			return true
		}
	}
	return false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWord reports whether a byte is part of a name or a keyword. A dot belongs to it so that what follows a table's name
// is not taken for a number.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_' || c == '.' || c >= 0x80
}

func wordEnd(query string, i int) int {
	for i < len(query) && isWord(query[i]) {
		i++
	}
	return i
}

// quotedEnd returns where a quoted text ends. A quote inside is written twice.
func quotedEnd(query string, start int) int {
	quote := query[start]
	for i := start + 1; i < len(query); i++ {
		if query[i] != quote {
			continue
		}
		if i+1 < len(query) && query[i+1] == quote {
			i++
			continue
		}
		return i + 1
	}
	return len(query)
}

func textLiteral(query string, start int) (end int, value any) {
	end = quotedEnd(query, start)
	if end-start < 2 || query[end-1] != '\'' {
		return end, nil
	}
	text := query[start+1 : end-1]
	if strings.Contains(text, "''") {
		text = strings.ReplaceAll(text, "''", "'")
	}
	return end, text
}

// bytesLiteral leaves no bytes as they are: as a parameter they would be NULL.
func bytesLiteral(query string, start int) (end int, value any) {
	end = quotedEnd(query, start)
	bytes, err := hex.DecodeString(strings.Trim(query[start:end], "'"))
	if err != nil || len(bytes) == 0 {
		return end, nil
	}
	return end, bytes
}

// numberLiteral replaces whole numbers only.
func numberLiteral(query string, start int) (end int, value any) {
	end = wordEnd(query, start)
	if number, err := strconv.ParseInt(query[start:end], 10, 64); err == nil {
		return end, number
	}
	return end, nil
}
