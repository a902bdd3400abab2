// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// TestSilentGateway blocks a gateway: users elsewhere get their messages, and users there get them
// in order when it answers again.
func TestSilentGateway(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2, 3)
	there, here := w.online(2, desktop, "gateway1"), w.online(3, desktop, "gateway2")
	release := w.hold("gateway1")
	say := func(recipient int64, text string) {
		w.want(apierr.OK, 1, &wire.CreateMessageRequest{RecipientId: &recipient, Text: &text})
	}
	var texts []string
	for i := range 5 {
		texts = append(texts, fmt.Sprint(i))
		say(2, texts[i])
		say(3, texts[i])
	}
	got := func(s session) (all []string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, n := range w.inbox[s] {
			all = append(all, n.GetRelayedRequest().GetCreateMessageRequest().GetText())
		}
		return all
	}
	w.eventually(func() bool { return slices.Equal(got(here), texts) })
	if early := got(there); len(early) != 0 {
		t.Errorf("a gateway that was held has delivered %q", early)
	}
	release()
	w.eventually(func() bool { return slices.Equal(got(there), texts) })
}

// TestBigGroup counts the calls for a message to a thousand members.
func TestBigGroup(t *testing.T) {
	const members = 1000
	w := newWorld(t)
	w.People(1)
	id := w.groupOf(store.GroupType{GroupSizeLimit: 2 * members}, 1)
	err := w.DB.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		var list []store.GroupMember
		for i := range int64(members) {
			list = append(list, store.GroupMember{GroupUserKey: store.GroupUserKey{GroupID: id, UserID: i + 2}, Role: store.GroupRegularMember, JoinDate: w.Now})
		}
		return store.InsertGroupMembers(ctx, tx, list...)
	})
	if err != nil {
		t.Fatal(err)
	}
	w.notifier.Flush()
	w.mu.Lock()
	for i := range int64(members) {
		w.sessions = append(w.sessions, session{fmt.Sprintf("gateway%d", i%2+1), i + 2, desktop})
	}
	w.mu.Unlock()
	w.want(apierr.OK, 1, &wire.CreateMessageRequest{GroupId: &id, Text: proto.String("all")})
	w.notifier.Flush()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls["gateway1"] != 1 || w.calls["gateway2"] != 1 {
		t.Errorf("the gateways were called %v", w.calls)
	}
	for s, list := range w.inbox {
		if len(list) != 1 {
			t.Errorf("the session %v got %d messages", s, len(list))
		}
	}
	if len(w.inbox) != members {
		t.Errorf("%d sessions got the message, want %d", len(w.inbox), members)
	}
}
