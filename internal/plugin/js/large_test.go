// SPDX-License-Identifier: Apache-2.0

package js

import (
	"strings"
	"testing"

	"example.org/app/internal/plugin"
)

// TestAnswerThatIsTooLarge proves that an answer with more text than is taken fails, in one piece
// or in many, and that the next answers are read as before.
func TestAnswerThatIsTooLarge(t *testing.T) {
	h, log := newHost(t, Options{})
	m := load(t, h, script("", `transform(r) {
  if (r.clientIp == 'large') { r.clientIp = 'x'.repeat(40 << 20); }
  if (r.clientIp == 'most') { r.clientIp = 'x'.repeat(15 << 20); }
  if (r.clientIp == 'pieces') { r.clientIp = 'x'.repeat(9 << 20); r.request.createMessageRequest.text = r.clientIp; }
  if (r.clientIp == 'bytes') { r.request.createMessageRequest.records = [new Uint8Array(9 << 20), new Uint8Array(9 << 20)]; }
  return r;
}`))
	x := m.Extensions()[0]
	for _, address := range []string{"large", "127.0.0.1", "most", "pieces", "bytes", "large", "127.0.0.1"} {
		var result plugin.ClientRequest
		request := messageRequest("hello")
		request.ClientIP = address
		_, err := x.Call(t.Context(), transform, []any{request}, &result)
		switch address {
		case "127.0.0.1":
			if err != nil || result.ClientIP != address || result.Request.GetCreateMessageRequest().GetText() != "hello" {
				t.Errorf("the call ended with %v; %v", &result, err)
			}
		case "most":
			if err != nil || len(result.ClientIP) != 15<<20 {
				t.Errorf("%d bytes arrived, %v", len(result.ClientIP), err)
			}
		default:
			if err == nil || !strings.Contains(err.Error(), "the value has more than 16777216 bytes") {
				t.Errorf("%s: the call ended with %v", address, err)
			}
		}
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if strings.Contains(log.String(), "not freed") {
		t.Error(log)
	}
}
