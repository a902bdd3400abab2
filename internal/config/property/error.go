// SPDX-License-Identifier: Apache-2.0

package property

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is the first problem of a configuration. Its text is one line and never
// holds a sensitive value.
type Error struct {
	// Source is where the problem came from: a file with a line, an environment
	// variable or a flag. It is empty for values that came through Merge and
	// for problems of a Config that was built by hand.
	Source string
	// Property is the full name of the property, as far as it is known.
	Property string
	// Value is the refused value as it is printed: quoted, shortened, and
	// masked if it is sensitive. It is empty if no single value is at fault or
	// if the property is unknown, because then it may be a misspelt secret.
	Value string
	// Rule says what is wrong or what would be right.
	Rule string
	// Suggestion is the nearest known name of an unknown property, or empty.
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

// Violation makes the error of a Validate method. The property is relative to
// the struct that is validated and may be empty for the struct as a whole;
// whoever called Validate completes it and adds the value.
func Violation(property, rule string) error {
	return &Error{Property: property, Rule: rule}
}

// unknownRule is the rule that an unknown name breaks.
const unknownRule = "unknown property"

// maxPrinted bounds how much of a value or name an error repeats, in runes.
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

// printableName renders a name for an error; odd ones come from outside.
func printableName(name string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' || r == '"' || r == utf8.RuneError }
	if strings.ContainsFunc(name, odd) || utf8.RuneCountInString(name) > 2*maxPrinted {
		return printableValue(name, false)
	}
	return name
}

// oneLine replaces line breaks, which may stand in file names.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\u2028' || r == '\u2029' || unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}
