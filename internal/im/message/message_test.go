// SPDX-License-Identifier: Apache-2.0

package message_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/conversation"
	"example.org/app/internal/im/imtest"
	"example.org/app/internal/im/message"
	"example.org/app/internal/im/user"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// world holds the rules about messages over a real store with the other real rules.
type world struct {
	*imtest.World
	options   message.Options
	elsewhere bool
	before    func([]store.Message) ([]store.Message, error)

	mu        sync.Mutex
	delivered []message.Delivery
	reached   [][]int64
	failure   error
	sent      int64
}

func onBothEngines(t *testing.T, test func(*testing.T, *world)) {
	t.Run("SQLite", func(t *testing.T) { test(t, newWorld(t, storetest.SQLite(t))) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, newWorld(t, storetest.PostgreSQL(t))) })
}

func newWorld(t *testing.T, db *store.DB) *world {
	t.Helper()
	w := &world{}
	w.World = imtest.New(t, db, imtest.Changes{Messages: func(o *message.Options) {
		o.Deliverer, o.HasAccounts = w, func() bool { return !w.elsewhere }
		o.BeforeDelete = func(_ context.Context, list []store.Message) ([]store.Message, error) {
			if w.before == nil {
				return list, nil
			}
			return w.before(list)
		}
		o.Sent = func(n int64) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.sent += n
		}
		w.options = *o
	}})
	return w
}

// Deliver implements message.Deliverer.
func (w *world) Deliver(_ context.Context, d message.Delivery) error {
	var all []int64
	for part, err := range d.Recipients {
		if err != nil {
			return err
		}
		all = append(all, part...)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.delivered, w.reached = append(w.delivered, d), append(w.reached, all)
	return w.failure
}

func (w *world) send(c message.Creation) store.Message {
	w.T.Helper()
	m, err := w.Messages.Send(w.T.Context(), c)
	if err != nil {
		w.T.Fatal(err)
	}
	return m
}

func (w *world) stored(id int64) (store.Message, bool) {
	w.T.Helper()
	found, err := w.Messages.Find(w.T.Context(), store.MessageFilter{IDs: []int64{id}}, store.MessagesByID, 1, 0)
	if err != nil {
		w.T.Fatal(err)
	}
	if len(found) == 0 {
		return store.Message{}, false
	}
	return found[0], true
}

func private(sender, target int64, text string) message.Creation {
	return message.Creation{SenderID: &sender, TargetID: target, Text: &text, Deliver: true}
}

func toGroup(sender, target int64, text string) message.Creation {
	c := private(sender, target, text)
	c.IsGroupMessage = true
	return c
}

func TestWhoMaySend(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2, 3, 4, 5)
		w.Relate(2, 1, false)
		w.Relate(3, 1, true)
		if _, err := w.Users.Update(t.Context(), []int64{4}, user.Change{IsActive: new(false)}); err != nil {
			t.Fatal(err)
		}
		g := w.Group(1, 2)
		send := func(what string, c message.Creation, want apierr.Code) {
			t.Helper()
			m, err := w.Messages.Send(t.Context(), c)
			w.WantCode(what, err, want)
			if _, exists := w.stored(m.ID); err == nil && exists != w.Rules.Message.PersistMessage {
				t.Errorf("%s: stored: %v", what, exists)
			}
		}
		send("to a friend", private(1, 2, "x"), 0)
		send("to a stranger", private(2, 1, "x"), 0)
		send("to somebody who blocks the sender", private(1, 3, "x"), apierr.BlockedUserSendPrivateMessage)
		send("to somebody inactive", private(1, 4, "x"), apierr.MessageRecipientNotActive)
		send("to nobody", private(1, 99, "x"), apierr.MessageRecipientNotActive)
		w.elsewhere = true
		send("to somebody whose account is elsewhere", private(1, 99, "x"), 0)
		w.elsewhere = false
		send("to oneself", private(1, 1, "x"), apierr.SendingMessagesToOneselfIsDisabled)
		w.Rules.Message.AllowSendMessagesToOneself = true
		send("to oneself", private(1, 1, "x"), 0)
		w.Rules.Message.CheckIfTargetActiveAndNotDeleted = false
		send("to nobody, unchecked", private(1, 99, "x"), 0)
		w.Rules.Message.AllowSendMessagesToStranger = false
		send("to a friend, no strangers", private(1, 2, "x"), 0)
		send("to a stranger, no strangers", private(2, 1, "x"), apierr.NotFriendToSendPrivateMessage)
		send("to somebody who blocks, no strangers", private(1, 3, "x"), apierr.NotFriendToSendPrivateMessage)
		system := private(0, 3, "x")
		system.IsSystemMessage, system.SenderID = true, nil
		send("of the server", system, 0)
		w.Rules.Message = config.Default().Service.Message

		send("by a member", toGroup(2, g, "x"), 0)
		send("by a guest", toGroup(3, g, "x"), apierr.NotSpeakableGroupGuestToSendMessage)
		send("to no group", toGroup(1, 99, "x"), apierr.SendMessageToInactiveGroup)
		if _, err := w.Groups.Types.Update(t.Context(), []int64{0}, store.GroupTypeChange{GuestSpeakable: new(true)}); err != nil {
			t.Fatal(err)
		}
		send("by a guest where guests may speak", toGroup(3, g, "x"), 0)
		if _, err := w.Groups.Blocklist.Block(t.Context(), store.GroupBlockedUser{GroupUserKey: store.GroupUserKey{GroupID: g, UserID: 5}, RequesterID: 1}, nil); err != nil {
			t.Fatal(err)
		}
		send("by a blocked guest", toGroup(5, g, "x"), apierr.BlockedUserSendGroupMessage)
		key := []store.GroupUserKey{{GroupID: g, UserID: 2}}
		if _, err := w.Groups.Members.Update(t.Context(), key, store.GroupMemberChange{MuteEndDate: new(w.Now.Add(time.Hour))}); err != nil {
			t.Fatal(err)
		}
		send("by a muted member", toGroup(2, g, "x"), apierr.MutedGroupMemberSendMessage)
		w.Now = w.Now.Add(2 * time.Hour)
		send("by a member who was muted", toGroup(2, g, "x"), 0)
		w.UpdateGroup(g, store.GroupChange{MuteEndDate: new(w.Now.Add(time.Hour))})
		send("to a muted group", toGroup(1, g, "x"), apierr.SendMessageToMutedGroup)
		w.UpdateGroup(g, store.GroupChange{MuteEndDate: new(w.Now.Add(-time.Hour)), IsActive: new(false)})
		send("to an inactive group", toGroup(1, g, "x"), apierr.SendMessageToInactiveGroup)
		system.IsGroupMessage, system.TargetID = true, g
		send("of the server to an inactive group", system, 0)
		w.Rules.Message.PersistMessage = false
		send("of the server, not stored", system, 0)
	})
}

func TestBadMessages(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	w.People(1, 2)
	change := func(f func(*message.Creation)) message.Creation {
		c := private(1, 2, "x")
		f(&c)
		return c
	}
	for name, c := range map[string]message.Creation{
		"no sender":            change(func(c *message.Creation) { c.SenderID = nil }),
		"sender 0":             change(func(c *message.Creation) { c.SenderID = new(int64) }),
		"target 0":             change(func(c *message.Creation) { c.TargetID = 0 }),
		"nothing in it":        change(func(c *message.Creation) { c.Text = nil }),
		"empty text":           change(func(c *message.Creation) { c.Text = new("") }),
		"empty records":        change(func(c *message.Creation) { c.Text, c.Records = nil, [][]byte{} }),
		"long text":            change(func(c *message.Creation) { c.Text = new(strings.Repeat("x", 501)) }),
		"long text of emoji":   change(func(c *message.Creation) { c.Text = new(strings.Repeat("👋", 251)) }),
		"big records":          change(func(c *message.Creation) { c.Records = [][]byte{make([]byte, 15728640), {1}} }),
		"negative burn time":   change(func(c *message.Creation) { c.BurnAfter = new(int32(-1)) }),
		"future delivery date": change(func(c *message.Creation) { c.DeliveryDate = new(w.Now.Add(time.Millisecond)) }),
	} {
		_, err := w.Messages.Send(t.Context(), c)
		w.WantCode(name, err, apierr.IllegalArgument)
	}
	if n, err := w.Messages.Count(t.Context(), store.MessageFilter{}); err != nil || n != 0 || w.sent != 0 || len(w.delivered) != 0 {
		t.Errorf("stored %d, sent %d, delivered %d: %v", n, w.sent, len(w.delivered), err)
	}
	w.send(change(func(c *message.Creation) { c.Text = new(strings.Repeat("👋", 250)) }))
	w.send(change(func(c *message.Creation) { c.Text, c.MayBeEmpty = nil, true }))
	w.Rules.Message.MaxTextLimit = 0
	_, err := w.Messages.Send(t.Context(), private(1, 2, "x"))
	w.WantCode("limit 0", err, apierr.IllegalArgument)
}

// TestDelivery checks who gets what, and that a failed delivery has no effect.
func TestDelivery(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2)
		g := w.Group(1, 2)
		var many []store.GroupMember
		for i := range int64(2500) {
			many = append(many, store.GroupMember{GroupUserKey: store.GroupUserKey{GroupID: g, UserID: 1000 + i}, Role: store.GroupRegularMember, JoinDate: w.Now})
		}
		if err := w.DB.Write(t.Context(), func(ctx context.Context, tx store.Tx) error { return store.InsertGroupMembers(ctx, tx, many...) }); err != nil {
			t.Fatal(err)
		}
		w.failure = errors.New("the network is down")
		w.send(toGroup(2, g, "to all"))
		if got := w.reached[0]; len(got) != 2501 || slices.Contains(got, 2) || !slices.IsSorted(got) {
			t.Errorf("%d recipients", len(got))
		}
		c := private(1, 2, "x")
		c.SenderDevice, c.Records, c.PreMessageID = "IOS", [][]byte{{1}}, new(int64(5))
		m := w.send(c)
		d := w.delivered[1]
		if !slices.Equal(w.reached[1], []int64{2}) || d.SenderDevice != "IOS" || d.Event != message.Created || d.Message.Records == nil || d.Message.PreMessageID == nil {
			t.Errorf("delivered %+v to %v", d, w.reached[1])
		}
		if kept, _ := w.stored(m.ID); kept.Records != nil || kept.PreMessageID != nil {
			t.Errorf("stored %+v", kept)
		}
		c.Deliver = false
		w.send(c)
		if len(w.delivered) != 2 || w.sent != 3 {
			t.Errorf("%d deliveries, %d sent", len(w.delivered), w.sent)
		}
		w.Rules.Message.PersistMessage = false
		c.Deliver = true
		m = w.send(c)
		if _, exists := w.stored(m.ID); exists || m.ID == 0 || len(w.delivered) != 3 {
			t.Errorf("a message that is not stored: %+v", m)
		}
		w.Rules.Message.AllowSendMessagesToOneself = true
		w.send(private(1, 1, "note"))
		if len(w.reached[3]) != 0 {
			t.Errorf("a note to oneself reaches %v", w.reached[3])
		}
	})
}

func TestForward(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2, 3, 4)
		w.Rules.Message.PersistRecord = true
		c := private(1, 2, "original")
		c.Records, c.BurnAfter = [][]byte{{7}}, new(int32(9))
		original := w.send(c)
		g := w.Group(1, 3)
		inGroup := w.send(toGroup(1, g, "in the group"))
		forward := func(what string, sender int64, reference int64, want apierr.Code) {
			t.Helper()
			c := private(sender, 4, "ignored")
			c.ReferenceID = &reference
			m, err := w.Messages.Send(t.Context(), c)
			w.WantCode(what, err, want)
			if err != nil {
				return
			}
			from, _ := w.stored(reference)
			kept, _ := w.stored(m.ID)
			if *kept.Text != *from.Text || !slices.EqualFunc(kept.Records, from.Records, slices.Equal) || *kept.ReferenceID != reference || (kept.BurnAfter == nil) != (from.BurnAfter == nil) {
				t.Errorf("%s: forwarded as %+v", what, kept)
			}
		}
		forward("by the sender", 1, original.ID, 0)
		forward("by the recipient", 2, original.ID, 0)
		forward("by somebody else", 3, original.ID, apierr.NotMessageRecipientOrSenderToForwardMessage)
		forward("by a member", 3, inGroup.ID, 0)
		forward("by no member", 2, inGroup.ID, apierr.NotMessageRecipientOrSenderToForwardMessage)
		forward("of nothing", 1, 99, apierr.NotMessageRecipientOrSenderToForwardMessage)
		if _, err := w.Messages.Update(t.Context(), []int64{original.ID}, message.Change{RecallDate: &w.Now}); err != nil {
			t.Fatal(err)
		}
		forward("of a recalled one", 1, original.ID, apierr.NotMessageRecipientOrSenderToForwardMessage)
		w.Rules.Message.IsRecalledMessageVisible = true
		forward("of a recalled one that is visible", 1, original.ID, 0)
		if _, err := w.Messages.Delete(t.Context(), []int64{original.ID}, nil); err != nil {
			t.Fatal(err)
		}
		forward("of a deleted one", 1, original.ID, apierr.NotMessageRecipientOrSenderToForwardMessage)
	})
}

func TestDatesAndIDs(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2)
		g := w.Group(1, 2)
		c := private(2, 1, "x")
		c.DeliveryDate = new(w.Now.Add(-time.Hour))
		if m := w.send(c); !m.DeliveryDate.Equal(w.Now) || m.ConversationID != nil || m.SequenceID != nil {
			t.Errorf("sent %+v", m)
		}
		w.Rules.Message.TimeType, w.Rules.Message.UseConversationID = config.MessageClientTime, true
		w.Rules.Message.SequenceID = config.MessageSequenceID{UseSequenceIDForGroupConversation: true, UseSequenceIDForPrivateConversation: true}
		m := w.send(c)
		if !m.DeliveryDate.Equal(w.Now.Add(-time.Hour)) || string(m.ConversationID) != "\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02" || *m.SequenceID != 1 {
			t.Errorf("sent %+v", m)
		}
		// The date of the earlier message does not move the read date back.
		if got, _, err := w.Conversations.Find(t.Context(), conversation.Selection{OwnerIDs: []int64{2}}); err != nil || len(got) != 1 || !got[0].ReadDate.Equal(w.Now) {
			t.Errorf("conversations %v: %v", got, err)
		}
		if m := w.send(private(1, 2, "x")); *m.SequenceID != 2 || !m.DeliveryDate.Equal(w.Now) {
			t.Errorf("sent %+v", m)
		}
		for want := range int32(3) {
			if m := w.send(toGroup(1, g, "x")); *m.SequenceID != want+1 || len(m.ConversationID) != 8 || int64(m.ConversationID[0]) != g&255 {
				t.Errorf("sent %+v", m)
			}
		}
		id := m.ID
		c.ID = &id
		if _, err := w.Messages.Send(t.Context(), c); !errors.Is(err, store.ErrDuplicateKey) {
			t.Errorf("the same id again: %v", err)
		}
		if m := w.send(private(1, 2, "x")); *m.SequenceID != 3 {
			t.Errorf("a message that failed took a number: %d", *m.SequenceID)
		}
	})
}
