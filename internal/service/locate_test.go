// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/link"
	"example.org/app/internal/wire"
)

// TestUnknownRecipients sends a message to a user whose sessions cannot be located: every gateway
// is asked to close them, so that the client queries what it missed.
func TestUnknownRecipients(t *testing.T) {
	w := newWorld(t)
	w.crowd(1, 2)
	w.online(2, desktop, "gateway2")
	taken := w.disconnections()
	w.mu.Lock()
	w.unknown = []int64{2}
	w.mu.Unlock()
	w.want(apierr.OK, 1, &wire.CreateMessageRequest{RecipientId: proto.Int64(2), Text: proto.String("hi")})
	var list []link.Disconnection
	w.eventually(func() bool {
		list = append(list, taken()...)
		return len(list) >= 2
	})
	for _, d := range list {
		if !slices.Equal(d.UserIDs, []int64{2}) || d.Status != wire.ClosedServerUnavailable {
			t.Errorf("a gateway was told to close %+v", d)
		}
	}
}
