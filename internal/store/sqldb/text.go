// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// CheckText returns ErrInvalidValue for text that not every engine can store: with a NUL byte or
// invalid UTF-8.
func CheckText(text string) error {
	if strings.IndexByte(text, 0) >= 0 {
		return textError("text must not contain the character U+0000")
	}
	if !utf8.ValidString(text) {
		return textError("text must be UTF-8")
	}
	return nil
}

// textError is the rule that a text violates.
type textError string

func (e textError) Error() string { return ErrInvalidValue.Error() + ": " + string(e) }

func (e textError) Unwrap() error { return ErrInvalidValue }

// TextProblem returns the rule that a refused text violates, for error messages.
func TextProblem(err error) (rule string, ok bool) {
	e, ok := errors.AsType[textError](err)
	return string(e), ok
}

// checkValues applies CheckText to the texts among the values of a statement. Otherwise the drivers
// would store such text differently or return errors of their own.
func checkValues(values []any) error {
	for _, value := range values {
		var err error
		switch v := value.(type) {
		case string:
			err = CheckText(v)
		case *string:
			if v != nil {
				err = CheckText(*v)
			}
		case []string:
			for _, text := range v {
				if err = CheckText(text); err != nil {
					break
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
