// SPDX-License-Identifier: Apache-2.0

package java

import (
	"testing"
	"time"
)

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
