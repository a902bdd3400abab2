// SPDX-License-Identifier: Apache-2.0

// Package need skips or fails tests whose programs are missing on this machine. It is for tests
// only.
package need

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Variable is the environment variable with the required programs, separated by commas.
const Variable = "APP_TEST_REQUIRE"

// Skip skips the test because something is missing, or fails it if APP_TEST_REQUIRE names what is
// missing. make test prints the name in its last lines.
func Skip(t testing.TB, name string, reason any) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv(Variable), ","), name) {
		t.Fatalf("%s is missing, and %s names it: %v", name, Variable, reason)
	}
	t.Skipf("without %s: %v", name, reason)
}

// Time skips a test that takes seconds if make test-quick runs.
func Time(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes long")
	}
}
