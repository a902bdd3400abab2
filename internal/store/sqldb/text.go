// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// CheckText refuses text that not every engine can store: text with a NUL byte and text that is not UTF-8. The error is
// an ErrInvalidValue.
func CheckText(text string) error {
	if strings.IndexByte(text, 0) >= 0 {
		return fmt.Errorf("%w: text must not contain a NUL byte", ErrInvalidValue)
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("%w: text must be UTF-8", ErrInvalidValue)
	}
	return nil
}

// checkValues applies CheckText to the texts among the values of a statement. The drivers would either store such text
// differently or fail with errors of their own.
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
