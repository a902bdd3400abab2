// SPDX-License-Identifier: Apache-2.0

package engine

import "testing"

// TestNothingIsPendingAfterARun proves that an exception that nobody took does not outlive the run, and what it holds with
// it.
func TestNothingIsPendingAfterARun(t *testing.T) {
	e, err := New(Limits{})
	if err != nil {
		t.Fatal(err)
	}
	err = e.Run(func() bool { return false }, func() {
		if v := e.Eval("test.js", "throw new Error('unseen')"); !IsFailed(v) {
			t.Error("it did not throw")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if left := e.Close(); left != 0 {
		t.Errorf("%d objects are left", left)
	}
}
