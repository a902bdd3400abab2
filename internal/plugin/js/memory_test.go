// SPDX-License-Identifier: Apache-2.0

package js

import (
	"testing"

	"example.org/app/internal/plugin"
)

// TestCallsReturnMemory proves that calls leave nothing behind in the engine.
func TestCallsReturnMemory(t *testing.T) {
	h, _ := newHost(t, Options{})
	m := load(t, h, file(t, "greeter.js"))
	x := m.Extensions()[0]
	run := func(n int) {
		for i := range n {
			var r plugin.ClientRequest
			if _, err := x.Call(t.Context(), transform, []any{messageRequest("x")}, &r); err != nil {
				t.Fatal(err)
			}
			var ok bool
			if _, err := x.Call(t.Context(), authenticate, []any{plugin.UserLoginInfo{UserID: 1}}, &ok); err != nil {
				t.Fatal(err)
			}
			if i%10 == 0 {
				var result *plugin.RequestHandlerResult
				x.Call(t.Context(), handle, []any{&plugin.ClientRequest{UserID: int64(12 + i/10%4), Request: r.Request}}, &result)
			}
		}
	}
	n := 500
	if raceDetector {
		n = 20
	}
	run(n)
	before := m.Memory()
	run(6 * n)
	if grown := m.Memory() - before; grown > 64<<10 {
		t.Errorf("the engine grew by %d bytes in %d calls", grown, 6*n)
	}
}
