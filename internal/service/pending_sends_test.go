// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/link"
	"example.org/app/internal/service"
	"example.org/app/internal/wire"
)

// sendInTurn sends a message as a gateway does.
func (w *world) sendInTurn(from, to int64) {
	w.T.Helper()
	payload, err := proto.Marshal(requestOf(77, &wire.CreateMessageRequest{RecipientId: &to, Text: proto.String("hi")}))
	if err != nil {
		w.T.Fatal(err)
	}
	key := wire.PrivateConversationKey(from, to)
	answer, err := cluster.CallBy(w.T.Context(), w.nodes["gateway1"], link.HandleRequest, cluster.Route{Key: key}, &link.Request{
		UserID: from, Device: desktop, SessionID: 5, Payload: payload, Conversation: key,
	})
	if err != nil || answer.Code != int32(apierr.OK) {
		w.T.Fatalf("the answer is %v, %v", answer, err)
	}
}

// TestPendingSends proves that the response is sent after the notifications: the requester can rely
// on them even if the service is killed then.
func TestPendingSends(t *testing.T) {
	service.WaitForSends(t)
	w := newWorld(t)
	w.crowd(1, 2)
	w.online(2, desktop, "gateway2")
	answered := make(chan struct{})
	var mu sync.Mutex
	var events []string
	note := func(event string) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, event)
	}
	w.locating = sync.OnceFunc(func() {
		// Without waiting, the response arrives before the recipient is located.
		select {
		case <-answered:
		case <-time.After(100 * time.Millisecond):
		}
		note("located")
	})
	w.sendInTurn(1, 2)
	note("answered")
	close(answered)
	w.notifier.Flush()
	if want := []string{"located", "answered"}; !slices.Equal(events, want) {
		t.Errorf("the order was %q, want %q", events, want)
	}
}

// TestPendingSendsOfSlowGateway proves that a request is answered although the recipient's gateway
// does not answer.
func TestPendingSendsOfSlowGateway(t *testing.T) {
	w := newWorld(t)
	w.crowd(1, 2)
	w.online(2, desktop, "gateway2")
	release := w.hold("gateway2")
	for range 3 {
		w.sendInTurn(1, 2)
	}
	release()
	w.notifier.Flush()
	if n := w.calls["gateway2"]; n != 3 {
		t.Errorf("the gateway got %d messages, want 3", n)
	}
}
