// SPDX-License-Identifier: Apache-2.0

package java

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain proves that no test leaves a goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// waitFor waits until something is so, for as long as a loaded machine may need.
func waitFor(t testing.TB, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
		time.Sleep(time.Millisecond)
	}
}
