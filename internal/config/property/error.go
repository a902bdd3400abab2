// SPDX-License-Identifier: Apache-2.0

package property

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is the first problem of a configuration. Its text is one line and contains no sensitive
// value.
type Error struct {
	// Source is the source of the problem: a file with a line, an environment variable or a flag.
	// It is empty for values from Merge and for a Config built in code.
	Source string
	// Property is the full name of the property, as far as known.
	Property string
	// Value is the printed value: quoted, shortened, and masked if it is sensitive. It is empty if
	// no single value is wrong or if the property is unknown, because then it may be a misspelt
	// secret.
	Value string
	// Rule is the violated rule.
	Rule string
	// Suggestion is the nearest known name for an unknown property, or empty.
	Suggestion string

	// err is the cause, for errors.Is.
	err error
}

// Error returns the problem in one line.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Source != "" {
		b.WriteString(e.Source + ": ")
	}
	b.WriteString(printableName(e.Property))
	if e.Value != "" {
		b.WriteString(" = " + e.Value)
	}
	if e.Property != "" || e.Value != "" {
		b.WriteString(": ")
	}
	b.WriteString(e.Rule)
	if e.Suggestion != "" {
		b.WriteString(", did you mean " + printableName(e.Suggestion) + "?")
	}
	return oneLine(b.String())
}

// Unwrap returns the cause, if there is one besides the rule.
func (e *Error) Unwrap() error { return e.err }

// Violation returns the error of a Validate method. The property is relative to the validated
// struct and may be empty for the struct as a whole; the caller of Validate completes it and adds
// the value.
func Violation(property, rule string) error {
	return &Error{Property: property, Rule: rule}
}

// unknownRule is the rule for unknown names.
const unknownRule = "unknown property"

// maxPrinted is the maximum length of a value or name in an error, in runes.
const maxPrinted = 100

// printableValue renders a value for an error.
func printableValue(text string, sensitive bool) string {
	if sensitive {
		return mask
	}
	if utf8.RuneCountInString(text) <= maxPrinted {
		return strconv.Quote(text)
	}
	return strconv.Quote(string([]rune(text)[:maxPrinted])) + "…"
}

// printableName formats a name for an error; invalid ones are quoted.
func printableName(name string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' || r == '"' || r == utf8.RuneError }
	if strings.ContainsFunc(name, odd) || utf8.RuneCountInString(name) > 2*maxPrinted {
		return printableValue(name, false)
	}
	return name
}

// oneLine replaces line breaks, which may occur in file names.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\u2028' || r == '\u2029' || unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}
