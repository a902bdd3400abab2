// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestInputIsCompiledLate proves that a start does not compile the inputs of operations that nobody
// asks for, and that a wrong one is found with the document.
func TestInputIsCompiledLate(t *testing.T) {
	a := New(Options{}, Handle(Operation{ID: "deleteAll", Method: http.MethodDelete, Path: "/all", Tag: "thing", Summary: "Delete", Access: Public},
		func(context.Context, *NoInput) (Done, error) { return Done{}, nil }))
	defer a.StopStreams()
	defer func() {
		if found := fmt.Sprint(recover()); !strings.Contains(found, `operation "deleteAll" (DELETE /all): a deletion needs a parameter tagged selector`) {
			t.Errorf("got %s", found)
		}
	}()
	a.Document()
}
