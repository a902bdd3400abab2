// SPDX-License-Identifier: Apache-2.0

package need

import (
	"testing"
)

// outcome is a test that records how it was ended.
type outcome struct {
	testing.TB
	skipped, failed bool
}

func (o *outcome) Helper()               {}
func (o *outcome) Skipf(string, ...any)  { o.skipped = true }
func (o *outcome) Fatalf(string, ...any) { o.failed = true; panic(o) }

func TestSkip(t *testing.T) {
	for _, tt := range []struct {
		required        string
		skipped, failed bool
	}{
		{"", true, false},
		{"slapd", true, false},
		{"javascript", true, false},
		{"java", false, true},
		{"slapd,java", false, true},
	} {
		t.Setenv(Variable, tt.required)
		o := &outcome{TB: t}
		func() {
			defer func() { _ = recover() }()
			Skip(o, "java", "none was found")
		}()
		if o.skipped != tt.skipped || o.failed != tt.failed {
			t.Errorf("%s=%s: skipped %v, failed %v", Variable, tt.required, o.skipped, o.failed)
		}
	}
}
