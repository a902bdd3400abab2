// SPDX-License-Identifier: Apache-2.0

package session

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/wire"
)

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		n            *wire.AppNotification
		acknowledges bool
		failure      string
	}{
		"acknowledged": {&wire.AppNotification{RequestId: proto.Int64(2), Code: proto.Int32(codeOK)}, true, ""},
		"refused":      {&wire.AppNotification{RequestId: proto.Int64(2), Code: proto.Int32(1200)}, false, "the server answered a message with 1200"},
		"relayed":      {&wire.AppNotification{RequesterId: proto.Int64(7), RelayedRequest: &wire.AppRequest{}}, false, ""},
		"closed":       {&wire.AppNotification{CloseStatus: proto.Int32(202)}, false, "the server closes the session with status 202"},
		"closed, code": {&wire.AppNotification{Code: proto.Int32(1201), CloseStatus: proto.Int32(202)}, false, "the server closes the session with status 202"},
	} {
		c.n.Timestamp = 1
		payload, err := proto.Marshal(c.n)
		if err != nil {
			t.Fatal(err)
		}
		acknowledges, err := Judge(payload)
		if acknowledges != c.acknowledges || c.failure == "" != (err == nil) || err != nil && err.Error() != c.failure {
			t.Errorf("%s: %v, %v", name, acknowledges, err)
		}
	}
}
