// SPDX-License-Identifier: Apache-2.0

package message_test

import (
	"slices"
	"sync"
	"testing"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/conversation"
	"example.org/app/internal/im/message"
	"example.org/app/internal/store"
)

// TestStatements counts the statements per message, which determine the cost on PostgreSQL.
func TestStatements(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		const n = 64
		var members []int64
		for id := int64(2); id <= n; id++ {
			members = append(members, id)
		}
		w.People(append([]int64{1, 1000}, members...)...)
		g := w.Group(1, members...)
		private := func(sender int64) message.Creation {
			return message.Creation{SenderID: &sender, TargetID: 1000, Text: new("x"), Deliver: true}
		}
		toGroup := func(sender int64) message.Creation {
			c := private(sender)
			c.TargetID, c.IsGroupMessage = g, true
			return c
		}
		count := func(what string, want uint64, run func() error) {
			t.Helper()
			before := w.DB.Stats().Statements
			if err := run(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			if got := w.DB.Stats().Statements - before; got != want {
				t.Errorf("%s: %d statements, want %d", what, got, want)
			}
		}
		send := func(c message.Creation) func() error {
			return func() error {
				_, err := w.Messages.Send(t.Context(), c)
				return err
			}
		}
		together := func(list ...message.Creation) func() error {
			return func() error { return w.Messages.SendTogether(t.Context(), list...) }
		}
		var privates, groups []message.Creation
		for id := int64(1); id <= n; id++ {
			privates, groups = append(privates, private(id)), append(groups, toGroup(id))
		}
		// The recipient; the message; the read date.
		count("a private message", 3, send(private(1)))
		count("64 private messages together", 3, together(privates...))
		// The group, its type and the membership; the message; the read date; the version and the
		// ids of the members.
		count("the first message to a group", 7, send(toGroup(1)))
		count("another message to the group", 6, send(toGroup(2)))
		count("64 messages to a group together", 5, together(groups...))
		count("64 of each together", 8, together(slices.Concat(privates, groups)...))

		w.People(2000)
		if _, err := w.Groups.Members.Add(t.Context(), store.GroupMember{GroupUserKey: store.GroupUserKey{GroupID: g, UserID: 2000}, Role: store.GroupRegularMember}, nil); err != nil {
			t.Fatal(err)
		}
		count("a message after somebody joined", 7, send(toGroup(1)))
		if reached := w.reached[len(w.reached)-1]; len(reached) != n || !slices.Contains(reached, 2000) || slices.Contains(reached, 1) {
			t.Errorf("%d members got the message: %v", len(reached), reached)
		}
		if _, err := w.Groups.Members.Delete(t.Context(), []store.GroupUserKey{{GroupID: g, UserID: 2000}}); err != nil {
			t.Fatal(err)
		}
		count("a message after somebody left", 7, send(toGroup(1)))
		if reached := w.reached[len(w.reached)-1]; len(reached) != n-1 || slices.Contains(reached, 2000) {
			t.Errorf("%d members got the message: %v", len(reached), reached)
		}
	})
}

// TestSendToGroupTogether sends many messages of few users to a group concurrently. Each has its
// own outcome, the read dates follow, and no transaction is retried.
func TestSendToGroupTogether(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2, 3)
		g := w.Group(1, 2)
		before := w.DB.Stats().Retries
		const each = 40
		failures := make([]error, 3*each)
		var wg sync.WaitGroup
		for i := range failures {
			wg.Go(func() {
				_, failures[i] = w.Messages.Send(t.Context(), message.Creation{
					SenderID: new(int64(i%3 + 1)), TargetID: g, IsGroupMessage: true, Text: new("hello"), Deliver: true,
				})
			})
		}
		wg.Wait()
		for i, err := range failures {
			if i%3 == 2 {
				w.WantCode("a stranger", err, apierr.NotSpeakableGroupGuestToSendMessage)
			} else if err != nil {
				t.Errorf("message %d of user %d: %v", i, i%3+1, err)
			}
		}
		if n, err := w.Messages.Count(t.Context(), store.MessageFilter{TargetIDs: []int64{g}}); err != nil || n != 2*each {
			t.Errorf("%d messages are stored, want %d: %v", n, 2*each, err)
		}
		if len(w.reached) != 2*each {
			t.Errorf("%d messages were delivered, want %d", len(w.reached), 2*each)
		}
		_, found, err := w.Conversations.Find(t.Context(), conversation.Selection{GroupIDs: []int64{g}})
		if err != nil || len(found) != 1 || len(found[0].ReadDates) != 2 {
			t.Errorf("read dates are %v: %v", found, err)
		}
		if retries := w.DB.Stats().Retries - before; retries != 0 {
			t.Errorf("%d transactions were repeated", retries)
		}
	})
}
