// SPDX-License-Identifier: Apache-2.0

package java

import (
	"testing"
	"time"
)

// waitFor waits until a condition holds, long enough for a loaded machine.
func waitFor(t testing.TB, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
		time.Sleep(time.Millisecond)
	}
}
