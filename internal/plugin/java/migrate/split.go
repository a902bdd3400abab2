// SPDX-License-Identifier: Apache-2.0

package migrate

import "strings"

// A kind is the kind of a part of a source file.
type kind int

const (
	code kind = iota
	comment
	quoted
)

// A part is a piece of a source of one kind.
type part struct {
	kind kind
	text string
}

// split splits a source file into code, comments and string literals. If nested is true, comments
// nest, as in Kotlin and Scala.
func split(source string, nested bool) []part {
	var parts []part
	begin := 0
	end := func(at int, k kind) {
		if at > begin {
			parts = append(parts, part{k, source[begin:at]})
		}
		begin = at
	}
	for i := 0; i < len(source); {
		k, n := code, 1
		rest := source[i:]
		switch {
		case strings.HasPrefix(rest, "//"):
			k, n = comment, upTo(rest, "\n", 0)
			n = len(strings.TrimSuffix(rest[:n], "\n"))
		case strings.HasPrefix(rest, "/*"):
			k, n = comment, commentLength(rest, nested)
		case strings.HasPrefix(rest, `"""`):
			k, n = quoted, upTo(rest, `"""`, 3)
		case rest[0] == '"':
			k, n = quoted, quotedLength(rest)
		case rest[0] == '\'':
			// Scala and Kotlin have other uses of the sign: only what is short is a character.
			if q := quotedLength(rest); q <= len(`'\u0000'`) {
				k, n = quoted, q
			}
		}
		if k != code {
			end(i, code)
			end(i+n, k)
		}
		i += n
	}
	end(len(source), code)
	return parts
}

// upTo returns the length of s up to and including the first end at or after from.
func upTo(s, end string, from int) int {
	if i := strings.Index(s[from:], end); i >= 0 {
		return from + i + len(end)
	}
	return len(s)
}

func commentLength(s string, nested bool) int {
	depth := 1
	for i := 2; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], "*/"):
			if depth--; depth == 0 || !nested {
				return i + 2
			}
			i++
		case strings.HasPrefix(s[i:], "/*"):
			depth++
			i++
		}
	}
	return len(s)
}

// quotedLength returns the length of a literal that begins with a quote. It ends at the end of the
// line at the latest.
func quotedLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\n':
			return i
		case s[0]:
			return i + 1
		}
	}
	return len(s)
}
