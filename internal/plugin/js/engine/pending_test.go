// SPDX-License-Identifier: Apache-2.0

package engine

import "testing"

// TestNothingIsPendingAfterARun proves that an unhandled exception is dropped at the end of the
// run, with everything that it refers to.
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
