// SPDX-License-Identifier: Apache-2.0

package property

import "testing"

func TestRedactURL(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		"https://host/a.js":                  "https://host/a.js",
		"https://user:pass@host:8443/a%20b":  "https://***@host:8443/a%20b",
		"https://token@host/":                "https://***@host/",
		"https://host/a?token=x&b=1":         "https://host/a?token=***&b=***",
		"https://host/a?justatoken":          "https://host/a?***",
		"https://host/a?a=1&&b=2#fragment":   "https://host/a?a=***&b=***#***",
		"file:///etc/passwd":                 "file:///etc/passwd",
		"//host/path":                        "//host/path",
		"mailto:somebody":                    "***",
		"user:pass@host/path":                "***",
		"https://user:pa ss@host/\x7f":       "***",
		"https://us%er:pass@host/":           "***",
		"https://[::1]:80/?X-Amz-Signature=": "https://[::1]:80/?X-Amz-Signature=***",
	} {
		if got := RedactURL(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
