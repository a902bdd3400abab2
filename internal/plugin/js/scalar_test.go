// SPDX-License-Identifier: Apache-2.0

package js

import (
	"strconv"
	"testing"
)

// FuzzParseInt compares parseInt with the standard library.
func FuzzParseInt(f *testing.F) {
	for _, text := range []string{
		"", "-", "+", "0", "-0", "+7", "00000000000000000000007", "999999999999999999", "9223372036854775807", "9223372036854775808",
		"-9223372036854775808", "-9223372036854775809", "9999999999999999999", "18446744073709551616", "1_0", "1e3", " 1", "1 ", "0x1", "--1", "\u0661",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, err := strconv.ParseInt(text, 10, 64)
		if n, ok := parseInt([]byte(text)); ok != (err == nil) || ok && n != want {
			t.Errorf("%q: %d %v, want %d, %v", text, n, ok, want, err)
		}
	})
}
