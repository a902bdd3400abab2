// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A tokenKind is the kind of a token. Punctuators are distinguished by their text.
type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenPrivate
	tokenNumber
	tokenString
	tokenTemplate // A template or a part of one, after its start; the parser reads the rest.
	tokenPunctuator
)

// A lexer reads tokens. Only the parser knows whether a slash begins a regular expression.
type lexer struct {
	source string
	module bool
	pos    int

	// The current token: escaped is true if a name contains an escape sequence, newline if a line
	// ends before it.
	kind             tokenKind
	text             string
	start, end       int
	escaped, newline bool
	// lastEnd is the end of the previous token.
	lastEnd int
}

func (l *lexer) fail(text string) { panic(syntaxError{l.start, text}) }

func (l *lexer) skipHashbang() {
	if strings.HasPrefix(l.source, "#!") {
		l.skipLine()
	}
}

func (l *lexer) skipLine() {
	for l.pos < len(l.source) {
		c := l.source[l.pos]
		if c == '\n' || c == '\r' || c == 0xE2 && isSeparator(l.source[l.pos:]) {
			return
		}
		l.pos++
	}
}

// isSeparator reports whether a text begins with U+2028 or U+2029.
func isSeparator(s string) bool {
	return len(s) >= 3 && s[0] == 0xE2 && s[1] == 0x80 && (s[2] == 0xA8 || s[2] == 0xA9)
}

func (l *lexer) skipSpace() {
	for l.pos < len(l.source) {
		c := l.source[l.pos]
		switch {
		case c == '\n' || c == '\r':
			l.newline = true
			l.pos++
		case c == ' ' || c == '\t' || c == '\v' || c == '\f':
			l.pos++
		case c == '/' && strings.HasPrefix(l.source[l.pos:], "//"):
			l.skipLine()
		case c == '/' && strings.HasPrefix(l.source[l.pos:], "/*"):
			n := strings.Index(l.source[l.pos+2:], "*/")
			if n < 0 {
				l.start = l.pos
				l.fail("unterminated comment")
			}
			comment := l.source[l.pos : l.pos+2+n]
			if strings.ContainsAny(comment, "\n\r\u2028\u2029") {
				l.newline = true
			}
			l.pos += n + 4
		case !l.module && (c == '<' && strings.HasPrefix(l.source[l.pos:], "<!--") || c == '-' && strings.HasPrefix(l.source[l.pos:], "-->")):
			l.start = l.pos
			l.fail("comments of HTML are not known")
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(l.source[l.pos:])
			switch {
			case r == '\u2028' || r == '\u2029':
				l.newline = true
			case r != '\uFEFF' && !unicode.Is(unicode.Zs, r):
				return
			}
			l.pos += size
		default:
			return
		}
	}
}

// next reads the next token.
func (l *lexer) next() {
	l.lastEnd = l.end
	l.newline, l.escaped = false, false
	l.skipSpace()
	l.start = l.pos
	if l.pos >= len(l.source) {
		l.kind, l.text, l.end = tokenEnd, "", l.pos
		return
	}
	c := l.source[l.pos]
	switch {
	case isNameStart(c) || c == '\\' || c >= utf8.RuneSelf:
		l.kind = tokenName
		l.name()
	case c >= '0' && c <= '9' || c == '.' && l.pos+1 < len(l.source) && isDigit(l.source[l.pos+1]):
		l.kind = tokenNumber
		l.number()
	case c == '"' || c == '\'':
		l.kind = tokenString
		l.str(c)
	case c == '`':
		l.kind, l.text = tokenTemplate, "`"
		l.pos++
	case c == '#':
		l.kind = tokenPrivate
		l.pos++
		l.name()
	default:
		l.kind = tokenPunctuator
		l.punctuator(c)
	}
	l.end = l.pos
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isNameStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$'
}

// name reads a name, with its escape sequences replaced.
func (l *lexer) name() {
	from := l.pos
	for l.pos < len(l.source) && (isNameStart(l.source[l.pos]) || isDigit(l.source[l.pos])) {
		l.pos++
	}
	if l.pos == len(l.source) || l.source[l.pos] != '\\' && l.source[l.pos] < utf8.RuneSelf {
		if l.text = l.source[from:l.pos]; l.text == "" {
			l.fail("a name is missing")
		}
		return
	}
	var b strings.Builder
	b.WriteString(l.source[from:l.pos])
	for l.pos < len(l.source) {
		r, size := utf8.DecodeRuneInString(l.source[l.pos:])
		escape := r == '\\'
		if escape {
			if !strings.HasPrefix(l.source[l.pos:], `\u`) {
				l.fail("a backslash in a name")
			}
			l.escaped = true
			r, size = l.unicodeEscape(l.source[l.pos:])
		}
		first := b.Len() == 0
		if r != '$' && r != '_' && !unicode.IsLetter(r) && !unicode.Is(unicode.Nl, r) && !unicode.Is(unicode.Other_ID_Start, r) &&
			(first || !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r) && !unicode.Is(unicode.Mc, r) && !unicode.Is(unicode.Pc, r) && !unicode.Is(unicode.Other_ID_Continue, r) && r != '\u200C' && r != '\u200D') {
			if escape || first {
				l.fail("a character that no name has")
			}
			break
		}
		b.WriteRune(r)
		l.pos += size
	}
	l.text = b.String()
}

// unicodeEscape reads \uHHHH or \u{H…}.
func (l *lexer) unicodeEscape(s string) (r rune, size int) {
	digits := ""
	if strings.HasPrefix(s, `\u{`) {
		n := strings.IndexByte(s, '}')
		if n < 0 {
			l.fail("a bad escape sequence")
		}
		digits, size = s[3:n], n+1
	} else {
		if len(s) < 6 {
			l.fail("a bad escape sequence")
		}
		digits, size = s[2:6], 6
	}
	v, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || v > unicode.MaxRune {
		l.fail("a bad escape sequence")
	}
	return rune(v), size
}

func (l *lexer) number() {
	s := l.source
	from := l.pos
	if s[l.pos] == '0' && l.pos+1 < len(s) && strings.IndexByte("xXoObB", s[l.pos+1]) >= 0 {
		l.pos += 2
		l.digits(true)
	} else {
		l.digits(false)
		legacy := l.pos-from > 1 && s[from] == '0' && strings.IndexByte(s[from:l.pos], '.') < 0 && !strings.ContainsAny(s[from:l.pos], "89_")
		if !legacy && l.pos < len(s) && s[l.pos] == '.' {
			l.pos++
			l.digits(false)
		}
		if l.pos < len(s) && (s[l.pos] == 'e' || s[l.pos] == 'E') {
			l.pos++
			if l.pos < len(s) && (s[l.pos] == '+' || s[l.pos] == '-') {
				l.pos++
			}
			l.digits(false)
		}
	}
	if l.pos < len(s) && s[l.pos] == 'n' {
		l.pos++
	}
	l.text = s[from:l.pos]
	if l.pos < len(s) && (isNameStart(s[l.pos]) || isDigit(s[l.pos]) || s[l.pos] == '\\') {
		l.fail("a name follows a number")
	}
}

func (l *lexer) digits(hexadecimal bool) {
	for l.pos < len(l.source) {
		c := l.source[l.pos]
		letter := c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
		if !isDigit(c) && c != '_' && (!hexadecimal || !letter) {
			return
		}
		l.pos++
	}
}

// str reads a string; its text has the quotes.
func (l *lexer) str(quote byte) {
	from := l.pos
	for l.pos++; l.pos < len(l.source); l.pos++ {
		switch c := l.source[l.pos]; c {
		case quote:
			l.pos++
			l.text = l.source[from:l.pos]
			return
		case '\\':
			l.pos++
			if strings.HasPrefix(l.source[min(l.pos, len(l.source)):], "\r\n") {
				l.pos++
			}
		case '\n', '\r':
			l.fail("unterminated string")
		}
	}
	l.fail("unterminated string")
}

// value returns the value of a string token as a name. One that is no text is refused.
func (l *lexer) value(raw string) string {
	raw = raw[1 : len(raw)-1]
	if !strings.Contains(raw, `\`) {
		return raw
	}
	var units []uint16
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRuneInString(raw[i:])
		if r != '\\' {
			units = utf16.AppendRune(units, r)
			i += size
			continue
		}
		i++
		r, size = utf8.DecodeRuneInString(raw[i:])
		i += size
		switch r {
		case 'n':
			r = '\n'
		case 't':
			r = '\t'
		case 'r':
			r = '\r'
		case 'b':
			r = '\b'
		case 'f':
			r = '\f'
		case 'v':
			r = '\v'
		case 'u':
			r, size = l.unicodeEscape(raw[i-2:])
			i += size - 2
			if utf16.IsSurrogate(r) {
				units = append(units, uint16(r))
				continue
			}
		case 'x':
			if len(raw) < i+2 {
				l.fail("a bad escape sequence")
			}
			v, err := strconv.ParseUint(raw[i:i+2], 16, 8)
			if err != nil {
				l.fail("a bad escape sequence")
			}
			r, i = rune(v), i+2
		case '0', '1', '2', '3', '4', '5', '6', '7':
			if r != '0' || i < len(raw) && isDigit(raw[i]) {
				l.fail("an octal escape sequence")
			}
			r = 0
		case '\r', '\n', '\u2028', '\u2029':
			if r == '\r' && strings.HasPrefix(raw[i:], "\n") {
				i++
			}
			continue
		}
		units = utf16.AppendRune(units, r)
	}
	for _, r := range utf16.Decode(units) {
		if r == utf8.RuneError {
			l.fail("half of a character")
		}
	}
	return string(utf16.Decode(units))
}

// regexp reads a regular expression whose slash is the present token.
func (l *lexer) regexp() {
	inClass := false
	for l.pos = l.start + 1; ; l.pos++ {
		if l.pos >= len(l.source) {
			l.fail("unterminated regular expression")
		}
		c := l.source[l.pos]
		switch {
		case c == '\n' || c == '\r' || isSeparator(l.source[l.pos:]):
			l.fail("unterminated regular expression")
		case c == '\\':
			l.pos++
			if l.pos < len(l.source) && (l.source[l.pos] == '\n' || l.source[l.pos] == '\r') {
				l.fail("unterminated regular expression")
			}
		case c == '[':
			inClass = true
		case c == ']':
			inClass = false
		case c == '/' && !inClass:
			l.pos++
			for l.pos < len(l.source) && (isNameStart(l.source[l.pos]) || isDigit(l.source[l.pos])) {
				l.pos++
			}
			l.end = l.pos
			return
		}
	}
}

// template reads on in a template, until it ends, which it reports, or an expression begins.
func (l *lexer) template() (ended bool) {
	for l.pos < len(l.source) {
		switch c := l.source[l.pos]; {
		case c == '`':
			l.pos++
			l.end = l.pos
			return true
		case c == '\\':
			l.pos += 2
		case c == '$' && strings.HasPrefix(l.source[l.pos:], "${"):
			l.pos += 2
			l.end = l.pos
			return false
		default:
			l.pos++
		}
	}
	l.fail("unterminated template")
	return false
}

// punctuators are those with several characters, the longest first.
var punctuators = func() (by [128][]string) {
	for _, p := range []string{
		">>>=", "...", "===", "!==", "**=", "<<=", ">>=", ">>>", "&&=", "||=", "??=",
		"=>", "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<", ">>", "**",
	} {
		by[p[0]] = append(by[p[0]], p)
	}
	return by
}()

func (l *lexer) punctuator(c byte) {
	rest := l.source[l.pos:]
	for _, p := range punctuators[c] {
		if strings.HasPrefix(rest, p) && (p != "?." || len(rest) < 3 || !isDigit(rest[2])) {
			l.text = p
			l.pos += len(p)
			return
		}
	}
	if strings.IndexByte("{}()[];,<>+-*/%&|^!~?:=.@", c) < 0 {
		l.fail("an unexpected character")
	}
	l.text = rest[:1]
	l.pos++
}
