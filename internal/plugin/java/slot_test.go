// SPDX-License-Identifier: Apache-2.0

package java

import (
	"errors"
	"testing"
	"time"
)

// TestBackOffWithSpare verifies that a slot does not back off if a spare is ready, and that
// closing the host ends the wait.
func TestBackOffWithSpare(t *testing.T) {
	h, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	h.spare.session = &session{}
	if err := h.shared.pause(time.Hour); err != nil {
		t.Error(err)
	}
	h.spare.session = nil
	waited := make(chan error, 1)
	go func() { waited <- h.shared.pause(time.Hour) }()
	h.cancel()
	if err := <-waited; !errors.Is(err, errHostClosed) {
		t.Errorf("the error is %v", err)
	}
}
