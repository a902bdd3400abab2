// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/cluster"
	"example.org/app/internal/ids"
	"example.org/app/internal/link"
	"example.org/app/internal/wire"
	"example.org/app/test/client"
)

// TestCloseUnaware lists messages of a killed service to a gateway: it closes the sessions that
// were open when a message was stored and did not get it.
func TestCloseUnaware(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	const conversation = 7
	payload, err := proto.Marshal(&wire.AppNotification{RequesterId: proto.Int64(9)})
	if err != nil {
		t.Fatal(err)
	}
	deliver := func(d *link.Delivery) {
		t.Helper()
		d.Notification = payload
		if _, err := cluster.CallNode(t.Context(), w.service, "g", link.Deliver, d); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want int, id int64, users ...int64) {
		t.Helper()
		got, err := cluster.CallNode(t.Context(), w.service, "g", link.CloseUnaware, &link.Undelivered{
			Conversations: []link.UndeliveredConversation{{Conversation: conversation, MessageIDs: []int64{id}, UserIDs: users}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got.Sessions != want {
			t.Errorf("%d sessions were closed, not %d", got.Sessions, want)
		}
	}
	tooOld := ids.First(time.Now().Add(-time.Hour))
	alice, bob := client.LogIn(t, m.ws, 1), client.LogIn(t, m.tcp, 2)
	check(0, tooOld, 1, 2) // It is unknown who got it.
	// The gateway remembers everything since long ago.
	m.sequences.begin(time.Now().Add(-24 * time.Hour))
	check(0, tooOld, 1, 2) // They have connected since.
	first := ids.First(time.Now())
	everybody := make([]int64, maxRemembered+1)
	for i := range everybody {
		everybody[i] = int64(i + 1)
	}
	deliver(&link.Delivery{Recipients: everybody, Message: &link.MessageOrder{Conversation: conversation, ID: first, Service: "a", Stored: time.Now()}})
	deliver(&link.Delivery{Recipients: []int64{1}, Message: &link.MessageOrder{Conversation: conversation, ID: first + 1, Service: "a", Stored: time.Now()}})
	deliver(&link.Delivery{Recipients: []int64{1, 2}, Stored: &link.StoredMessage{Conversation: conversation, ID: first - 1}})
	// A message that is held back counts as delivered.
	deliver(&link.Delivery{Recipients: []int64{1, 2}, Message: &link.MessageOrder{Conversation: conversation, ID: first + 2, Service: "b", Stored: time.Now()}})
	for range 2 {
		check(0, first-1, 1, 2)
		check(0, first, 1, 2)
		check(0, first+2, 1, 2, 3)
	}
	sentBy := func(want int, sender int64) {
		t.Helper()
		got, err := cluster.CallNode(t.Context(), w.service, "g", link.CloseUnaware, &link.Undelivered{
			Conversations: []link.UndeliveredConversation{{Conversation: conversation, MessageIDs: []int64{first + 4}, SenderID: sender}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got.Sessions != want {
			t.Errorf("%d sessions of the sender were closed, not %d", got.Sessions, want)
		}
	}
	sentBy(0, 1) // It has only the session from which it sent the message.
	carol, phone := client.LogIn(t, m.ws, 3), client.LogIn(t, m.tcp, 3, client.With(wire.DeviceType_IOS))
	sentBy(2, 3)
	carol.Closed(wire.ClosedServerUnavailable)
	phone.Closed(wire.ClosedServerUnavailable)
	check(1, first+1, 1, 2)
	bob.Closed(wire.ClosedServerUnavailable)
	check(1, first+3, 1, 2)
	alice.Closed(wire.ClosedServerUnavailable)
}

// TestCloseAfterStall asks a gateway that was paused about a killed service: it closes the sessions
// that began before the pause ended, unless the service was running long after that.
func TestCloseAfterStall(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	check := func(want int, alive time.Time) {
		t.Helper()
		got, err := cluster.CallNode(t.Context(), w.service, "g", link.CloseUnaware, &link.Undelivered{Alive: alive})
		if err != nil {
			t.Fatal(err)
		}
		if got.Sessions != want {
			t.Errorf("%d sessions were closed, not %d", got.Sessions, want)
		}
	}
	alice := client.LogIn(t, m.ws, 1)
	check(0, time.Now()) // It was not paused.
	time.Sleep(10 * time.Millisecond)
	m.stalls.note(time.Now().Add(-stallTime))
	m.stalls.note(time.Now())
	time.Sleep(10 * time.Millisecond)
	bob := client.LogIn(t, m.tcp, 2)
	check(0, time.Time{})
	check(0, time.Now().Add(time.Minute))
	check(1, time.Now())
	alice.Closed(wire.ClosedServerUnavailable)
	check(0, time.Now())
	if err := bob.Err(); err != nil {
		t.Errorf("a session that began later ended: %v", err)
	}
}

// TestRecipientsAreForgotten advances the time: a gateway does not claim to know about deliveries
// that it may have forgotten.
func TestRecipientsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sequences
		s.begin(time.Now())
		const step = sequenceAge / 10
		delivered := map[int64]time.Time{}
		for i := range int64(200) {
			conversation := uint64(1 + sequenceShards*(i%3))
			if i%2 == 0 { // The messages with odd ids are not delivered.
				d := &link.Delivery{Recipients: []int64{i}, Message: &link.MessageOrder{Conversation: conversation, ID: i, Service: "a", Stored: time.Now()}}
				s.find(d.Message, time.Now()).add(d, time.Now())
			}
			delivered[i] = time.Now()
			time.Sleep(step)
			for id, at := range delivered {
				age := time.Since(at)
				to, known := s.recipients(uint64(1+sequenceShards*(id%3)), id, age)
				switch {
				case !known && age+maxSkew < sequenceAge:
					t.Fatalf("a message of %v ago is forgotten", age)
				case known && to.has(id) != (id%2 == 0):
					t.Fatalf("message %d, of %v ago: delivered is %v", id, age, to.has(id))
				case known && age > 4*sequenceAge:
					t.Fatalf("a message of %v ago is remembered", age)
				}
			}
		}
	})
}
