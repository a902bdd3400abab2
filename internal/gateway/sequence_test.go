// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/cluster"
	"example.org/app/internal/link"
	"example.org/app/internal/wire"
	"example.org/app/test/client"
	"example.org/app/test/need"
)

// TestLateMessage delivers messages of one conversation out of order, as two owners may: no client
// gets an older message after a newer one.
func TestLateMessage(t *testing.T) {
	need.Time(t)
	w := newWorld(t)
	m := w.gateway("g")
	m.handover = 3 * time.Second
	stored := w.service.Cluster().Now()
	deliver := func(text string, conversation uint64, id int64, service string, users ...int64) {
		t.Helper()
		payload, _ := proto.Marshal(&wire.AppNotification{
			RelayedRequest: &wire.AppRequest{Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: &wire.CreateMessageRequest{Text: &text}}},
		})
		_, err := cluster.CallNode(t.Context(), w.service, "g", link.Deliver, &link.Delivery{
			Notification: payload, Recipients: users, Message: &link.MessageOrder{Conversation: conversation, ID: id, Service: service, Stored: stored},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	expect := func(c *client.Tester, texts ...string) {
		t.Helper()
		for _, want := range texts {
			if got := c.Relayed(createMessage).RelayedRequest.GetCreateMessageRequest().GetText(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
	alice, bob := client.LogIn(t, m.ws, 1), client.LogIn(t, m.tcp, 2)
	deliver("1", 7, 10, "a", 1, 2)
	// Another service continues before the first one has delivered everything.
	deliver("4", 7, 40, "b", 1, 2)
	deliver("2", 7, 20, "a", 1, 2)
	deliver("3", 7, 30, "a", 1, 2)
	deliver("5", 7, 50, "b", 1, 2)
	expect(alice, "1", "2", "3", "4", "5")
	expect(bob, "1", "2", "3", "4", "5")
	// A repeated delivery, from a service that does not know of the first one, goes to the
	// recipients who did not get it.
	carol := client.LogIn(t, m.ws, 3)
	deliver("3 again", 7, 30, "b", 1, 2, 3)
	deliver("3 again", 7, 30, "b", 1, 2)
	deliver("3 for the last time", 7, 30, "b", 3)
	expect(carol, "3 again")
	// It may also be repeated while it is held.
	deliver("6", 7, 60, "a", 1, 2, 3)
	deliver("6 again", 7, 60, "c", 2, 1)
	// Messages of other conversations have no effect.
	deliver("other", 8, 1, "a", 1, 2, 3)
	expect(alice, "other", "6")
	expect(bob, "other", "6")
	expect(carol, "other", "6")
	// A late message affects the recipients who were connected when it was stored.
	stored = w.service.Cluster().Now()
	for !w.service.Cluster().Now().After(stored.Add(maxSkew)) {
		time.Sleep(maxSkew / 4)
	}
	phone := client.LogIn(t, m.tcp, 1, client.With(wire.DeviceType_IOS))
	deliver("3.5", 7, 35, "a", 1)
	alice.Closed(wire.ClosedServerUnavailable)
	expect(phone, "3.5")
	deliver("7", 7, 70, "a", 2)
	expect(bob, "7")
	// A client that has connected since gets it unless it has got a newer one.
	deliver("8", 7, 80, "a", 1)
	expect(phone, "8")
	tablet := client.LogIn(t, m.ws, 1, client.With(wire.DeviceType_ANDROID))
	deliver("7.3", 7, 73, "a", 1)
	phone.Closed(wire.ClosedServerUnavailable)
	expect(tablet, "7.3")
	deliver("7.4", 7, 74, "a", 1)
	expect(tablet, "7.4")
	deliver("7.2", 7, 72, "a", 1)
	tablet.Closed(wire.ClosedServerUnavailable)
	// If it is older than what is remembered, that is unknown.
	stored = stored.Add(-sequenceAge)
	web := client.LogIn(t, m.ws, 1)
	deliver("0", 9, 1, "a", 1)
	expect(web, "0")
}

// TestSequenceIsForgotten advances the time: what is remembered of conversations is bounded.
func TestSequenceIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sequences
		add := func(conversation uint64, id int64) place {
			d := &link.Delivery{Message: &link.MessageOrder{Conversation: conversation, ID: id, Service: "a", Stored: time.Now()}}
			return s.find(d.Message, time.Now()).add(d, time.Now())
		}
		for i := range int64(1000) {
			if place := add(1, i+1); place != placeNext {
				t.Fatalf("message %d has place %d", i, place)
			}
			add(uint64(sequenceShards*(i+2)+1), 1)
			time.Sleep(sequenceAge / 10)
		}
		shard := &s.shards[1]
		if n := len(shard.young) + len(shard.old); n > 50 {
			t.Errorf("%d conversations are kept", n)
		}
		if q := shard.young[1]; len(q.young)+len(q.old) > 50 {
			t.Errorf("%d messages of a conversation are kept", len(q.young)+len(q.old))
		}
		if place := add(1, 999); place != placeNext {
			t.Error("a message that was delivered before is late")
		}
		if place := add(1, 1); place != placeLate {
			t.Error("a message after newer ones is not late")
		}
		// Deliveries since it was stored are forgotten.
		old := &link.Delivery{Message: &link.MessageOrder{Conversation: 3, ID: 1, Service: "a", Stored: time.Now().Add(-sequenceAge)}}
		for range 2 {
			if place := s.find(old.Message, time.Now()).add(old, time.Now()); place != placeLate {
				t.Error("a message that took too long is not late")
			}
		}
	})
}
