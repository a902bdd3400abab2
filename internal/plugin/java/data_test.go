// SPDX-License-Identifier: Apache-2.0

package java

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestDataName verifies that each id has a unique folder name that is a valid file name.
func TestDataName(t *testing.T) {
	for id, want := range map[string]string{
		"word-filter": "word-filter", "com.example": "com.example", "..": "%2E.", ".": "%2E", "../up": "%2E.%2Fup", "a/b": "a%2Fb", `a\b`: "a%5Cb", "ä b": "%C3%A4%20b", "a:b": "a:b",
	} {
		if got := dataName(id); got != want {
			t.Errorf("%q is %q", id, got)
		}
	}
	seen := map[string]string{}
	for _, id := range []string{strings.Repeat("界", 128), strings.Repeat("界", 127) + "x", strings.Repeat("a", 128), "%2E", "."} {
		name := dataName(id)
		if len(name) > maxDataName || filepath.Base(name) != name || seen[name] != "" {
			t.Errorf("%q is %q", id, name)
		}
		seen[name] = id
	}
}
