// SPDX-License-Identifier: Apache-2.0

package js

import (
	"strings"
	"testing"

	"example.org/app/internal/plugin"
)

// TestAnswerThatFillsTheMemory proves that an answer that leaves no memory for anything else fails or arrives whole, and
// that the next answers are read as before.
func TestAnswerThatFillsTheMemory(t *testing.T) {
	h, log := newHost(t, Options{})
	m := load(t, h, script("", `transform(r) { if (r.clientIp == 'large') { r.clientIp = 'x'.repeat(40 << 20); } return r; }`))
	x := m.Extensions()[0]
	for _, address := range []string{"large", "127.0.0.1", "large", "127.0.0.1"} {
		var result plugin.ClientRequest
		request := messageRequest("hello")
		request.ClientIP = address
		_, err := x.Call(t.Context(), transform, []any{request}, &result)
		switch {
		case address == "large" && err == nil && len(result.ClientIP) != 40<<20:
			t.Errorf("%d characters arrived", len(result.ClientIP))
		case address != "large" && (err != nil || result.ClientIP != address || result.Request.GetCreateMessageRequest().GetText() != "hello"):
			t.Errorf("the call ended with %v; %v", &result, err)
		}
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), "not freed") {
		t.Error(log)
	}
}
