// SPDX-License-Identifier: Apache-2.0

// Package check holds the rules about single values that several packages of the domain share, such
// as the maximum length of a text. It does not know where the values come from.
package check

import (
	"time"
	"unicode/utf16"

	"example.org/app/internal/apierr"
)

// Length returns the length of a text as the limits count it: in UTF-16 units,
// as the callers' languages do.
func Length(text string) int {
	n := 0
	for _, r := range text {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

// MaxLength returns an error if the text is longer than the limit; 0 means no limit. The error does
// not contain the text, which may be a password.
func MaxLength(field, text string, limit int32) error {
	// A text has at most as many units as bytes.
	if limit <= 0 || len(text) <= int(limit) {
		return nil
	}
	if n := Length(text); n > int(limit) {
		return apierr.New(apierr.IllegalArgument, "%s: must have at most %d characters, but has %d", field, limit, n)
	}
	return nil
}

// NotFuture returns an error if the date is after now; nil means no date.
func NotFuture(field string, date *time.Time, now time.Time) error {
	if date == nil || !date.After(now) {
		return nil
	}
	return apierr.New(apierr.IllegalArgument, "%s: %s must not be in the future", field, date.UTC().Format(time.RFC3339))
}

// UserID returns an error for the id 0, which stands for the server itself.
func UserID(field string, id int64) error {
	if id != 0 {
		return nil
	}
	return apierr.New(apierr.IllegalArgument, "%s: 0 cannot be the id of a user", field)
}
