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
	"example.org/app/internal/ids"
	"example.org/app/internal/im/conversation"
	"example.org/app/internal/im/group"
	"example.org/app/internal/im/message"
	"example.org/app/internal/im/relationship"
	"example.org/app/internal/im/user"
	"example.org/app/internal/password"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// world is the rules about messages over a real store with real neighbours.
type world struct {
	t             *testing.T
	db            *store.DB
	rules         config.Message
	reading       config.Conversation
	clock         time.Time
	users         *user.Directory
	relationships *relationship.Directory
	groups        *group.Directory
	conversations *conversation.Directory
	options       message.Options
	messages      *message.Directory
	elsewhere     bool
	before        func([]store.Message) ([]store.Message, error)

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
	w := &world{t: t, db: db, clock: time.Date(2024, 3, 28, 12, 0, 0, 0, time.UTC)}
	w.rules, w.reading = config.Default().Service.Message, config.Default().Service.Conversation
	generator, err := ids.New(1)
	if err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return w.clock }
	userRules := func() config.User { return config.Default().Service.User }
	w.relationships = relationship.New(relationship.Options{Store: db, IDs: generator, Settings: userRules, Clock: clock})
	w.users = user.New(user.Options{
		Store: db, IDs: generator, Settings: userRules, Clock: clock, Hasher: password.Hasher{Algorithm: password.SaltedSHA256},
		OnDelete: []func(context.Context, store.Tx, []int64) error{conversation.DeleteOfUsers, message.DeleteOfUsers},
	})
	w.groups, err = group.New(t.Context(), group.Options{
		Store: db, IDs: generator, Users: w.users, Clock: clock, Settings: func() config.Group { return config.Default().Service.Group },
		OnDelete: []func(context.Context, store.Tx, []int64) error{conversation.DeleteOfGroups, message.DeleteOfGroups},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.conversations = conversation.New(conversation.Options{Store: db, Groups: w.groups, Clock: clock, Settings: func() config.Conversation { return w.reading }})
	w.options = message.Options{
		Store: db, IDs: generator, Groups: w.groups, Clock: clock, Deliverer: w,
		Settings: func() config.Message { return w.rules }, ReadReceipts: func() config.ReadReceipt { return w.reading.ReadReceipt },
		HasAccounts: func() bool { return !w.elsewhere },
		BeforeDelete: func(_ context.Context, list []store.Message) ([]store.Message, error) {
			if w.before == nil {
				return list, nil
			}
			return w.before(list)
		},
		Sent: func(n int64) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.sent += n
		},
	}
	w.messages = message.New(w.options)
	return w
}

// Deliver makes the world the deliverer.
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

// people creates users.
func (w *world) people(userIDs ...int64) {
	w.t.Helper()
	for _, id := range userIDs {
		if _, err := w.users.Create(w.t.Context(), user.Creation{ID: &id}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// relate makes the owner know somebody, or block.
func (w *world) relate(owner, other int64, blocked bool) {
	w.t.Helper()
	c := relationship.Creation{RelationshipKey: store.RelationshipKey{OwnerID: owner, RelatedUserID: other}}
	if blocked {
		c.BlockDate = &w.clock
	}
	if err := w.relationships.Create(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
}

// group creates a group with an owner and members.
func (w *world) group(owner int64, members ...int64) int64 {
	w.t.Helper()
	g, err := w.groups.Create(w.t.Context(), group.Creation{CreatorID: owner})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, member := range members {
		m := store.GroupMember{GroupUserKey: store.GroupUserKey{GroupID: g.ID, UserID: member}, Role: store.GroupRegularMember}
		if _, err := w.groups.AddMember(w.t.Context(), m, nil); err != nil {
			w.t.Fatal(err)
		}
	}
	return g.ID
}

func (w *world) updateGroup(id int64, c store.GroupChange) {
	w.t.Helper()
	if r, err := w.groups.Update(w.t.Context(), []int64{id}, c); err != nil || r.Matched != 1 {
		w.t.Fatal(r, err)
	}
}

func (w *world) send(c message.Creation) store.Message {
	w.t.Helper()
	m, err := w.messages.Send(w.t.Context(), c)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *world) stored(id int64) (store.Message, bool) {
	w.t.Helper()
	found, err := w.messages.Find(w.t.Context(), store.MessageFilter{IDs: []int64{id}}, store.MessagesByID, 1, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(found) == 0 {
		return store.Message{}, false
	}
	return found[0], true
}

func (w *world) wantCode(what string, err error, want apierr.Code) {
	w.t.Helper()
	got := apierr.Code(0)
	if e, ok := errors.AsType[*apierr.Error](err); ok {
		got = e.Code
	} else if err != nil {
		w.t.Errorf("%s: %v", what, err)
		return
	}
	if got != want {
		w.t.Errorf("%s: %v (%v), want %v", what, got, err, want)
	}
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
		w.people(1, 2, 3, 4, 5)
		w.relate(2, 1, false)
		w.relate(3, 1, true)
		if _, err := w.users.Update(t.Context(), []int64{4}, user.Change{IsActive: new(false)}); err != nil {
			t.Fatal(err)
		}
		g := w.group(1, 2)
		send := func(what string, c message.Creation, want apierr.Code) {
			t.Helper()
			m, err := w.messages.Send(t.Context(), c)
			w.wantCode(what, err, want)
			if _, exists := w.stored(m.ID); err == nil && exists != w.rules.PersistMessage {
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
		w.rules.AllowSendMessagesToOneself = true
		send("to oneself", private(1, 1, "x"), 0)
		w.rules.CheckIfTargetActiveAndNotDeleted = false
		send("to nobody, unchecked", private(1, 99, "x"), 0)
		w.rules.AllowSendMessagesToStranger = false
		send("to a friend, no strangers", private(1, 2, "x"), 0)
		send("to a stranger, no strangers", private(2, 1, "x"), apierr.NotFriendToSendPrivateMessage)
		send("to somebody who blocks, no strangers", private(1, 3, "x"), apierr.NotFriendToSendPrivateMessage)
		system := private(0, 3, "x")
		system.IsSystemMessage, system.SenderID = true, nil
		send("of the server", system, 0)
		w.rules = config.Default().Service.Message

		send("by a member", toGroup(2, g, "x"), 0)
		send("by a guest", toGroup(3, g, "x"), apierr.NotSpeakableGroupGuestToSendMessage)
		send("to no group", toGroup(1, 99, "x"), apierr.SendMessageToInactiveGroup)
		if _, err := w.groups.UpdateTypes(t.Context(), []int64{0}, store.GroupTypeChange{GuestSpeakable: new(true)}); err != nil {
			t.Fatal(err)
		}
		send("by a guest where guests may speak", toGroup(3, g, "x"), 0)
		if _, err := w.groups.BlockUser(t.Context(), store.GroupBlockedUser{GroupUserKey: store.GroupUserKey{GroupID: g, UserID: 5}, RequesterID: 1}, nil); err != nil {
			t.Fatal(err)
		}
		send("by a blocked guest", toGroup(5, g, "x"), apierr.BlockedUserSendGroupMessage)
		key := []store.GroupUserKey{{GroupID: g, UserID: 2}}
		if _, err := w.groups.UpdateMembers(t.Context(), key, store.GroupMemberChange{MuteEndDate: new(w.clock.Add(time.Hour))}); err != nil {
			t.Fatal(err)
		}
		send("by a muted member", toGroup(2, g, "x"), apierr.MutedGroupMemberSendMessage)
		w.clock = w.clock.Add(2 * time.Hour)
		send("by a member who was muted", toGroup(2, g, "x"), 0)
		w.updateGroup(g, store.GroupChange{MuteEndDate: new(w.clock.Add(time.Hour))})
		send("to a muted group", toGroup(1, g, "x"), apierr.SendMessageToMutedGroup)
		w.updateGroup(g, store.GroupChange{MuteEndDate: new(w.clock.Add(-time.Hour)), IsActive: new(false)})
		send("to an inactive group", toGroup(1, g, "x"), apierr.SendMessageToInactiveGroup)
		system.IsGroupMessage, system.TargetID = true, g
		send("of the server to an inactive group", system, 0)
		w.rules.PersistMessage = false
		send("of the server, not stored", system, 0)
	})
}

func TestBadMessages(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	w.people(1, 2)
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
		"future delivery date": change(func(c *message.Creation) { c.DeliveryDate = new(w.clock.Add(time.Millisecond)) }),
	} {
		_, err := w.messages.Send(t.Context(), c)
		w.wantCode(name, err, apierr.IllegalArgument)
	}
	if n, err := w.messages.Count(t.Context(), store.MessageFilter{}); err != nil || n != 0 || w.sent != 0 || len(w.delivered) != 0 {
		t.Errorf("stored %d, sent %d, delivered %d: %v", n, w.sent, len(w.delivered), err)
	}
	w.send(change(func(c *message.Creation) { c.Text = new(strings.Repeat("👋", 250)) }))
	w.send(change(func(c *message.Creation) { c.Text, c.MayBeEmpty = nil, true }))
	w.rules.MaxTextLimit = 0
	_, err := w.messages.Send(t.Context(), private(1, 2, "x"))
	w.wantCode("limit 0", err, apierr.IllegalArgument)
}

// TestDelivery proves who gets what, and that nothing depends on it.
func TestDelivery(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.people(1, 2)
		g := w.group(1, 2)
		var many []store.GroupMember
		for i := range int64(2500) {
			many = append(many, store.GroupMember{GroupUserKey: store.GroupUserKey{GroupID: g, UserID: 1000 + i}, Role: store.GroupRegularMember, JoinDate: w.clock})
		}
		if err := w.db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error { return store.InsertGroupMembers(ctx, tx, many...) }); err != nil {
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
		w.rules.PersistMessage = false
		c.Deliver = true
		m = w.send(c)
		if _, exists := w.stored(m.ID); exists || m.ID == 0 || len(w.delivered) != 3 {
			t.Errorf("a message that is not stored: %+v", m)
		}
		w.rules.AllowSendMessagesToOneself = true
		w.send(private(1, 1, "note"))
		if len(w.reached[3]) != 0 {
			t.Errorf("a note to oneself reaches %v", w.reached[3])
		}
	})
}

func TestForward(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.people(1, 2, 3, 4)
		w.rules.PersistRecord = true
		c := private(1, 2, "original")
		c.Records, c.BurnAfter = [][]byte{{7}}, new(int32(9))
		original := w.send(c)
		g := w.group(1, 3)
		inGroup := w.send(toGroup(1, g, "in the group"))
		forward := func(what string, sender int64, reference int64, want apierr.Code) {
			t.Helper()
			c := private(sender, 4, "ignored")
			c.ReferenceID = &reference
			m, err := w.messages.Send(t.Context(), c)
			w.wantCode(what, err, want)
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
		if _, err := w.messages.Update(t.Context(), []int64{original.ID}, message.Change{RecallDate: &w.clock}); err != nil {
			t.Fatal(err)
		}
		forward("of a recalled one", 1, original.ID, apierr.NotMessageRecipientOrSenderToForwardMessage)
		w.rules.IsRecalledMessageVisible = true
		forward("of a recalled one that is visible", 1, original.ID, 0)
		if _, err := w.messages.Delete(t.Context(), []int64{original.ID}, nil); err != nil {
			t.Fatal(err)
		}
		forward("of a deleted one", 1, original.ID, apierr.NotMessageRecipientOrSenderToForwardMessage)
	})
}

func TestDatesAndIDs(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.people(1, 2)
		g := w.group(1, 2)
		c := private(2, 1, "x")
		c.DeliveryDate = new(w.clock.Add(-time.Hour))
		if m := w.send(c); !m.DeliveryDate.Equal(w.clock) || m.ConversationID != nil || m.SequenceID != nil {
			t.Errorf("sent %+v", m)
		}
		w.rules.TimeType, w.rules.UseConversationID = config.MessageClientTime, true
		w.rules.SequenceID = config.MessageSequenceID{UseSequenceIDForGroupConversation: true, UseSequenceIDForPrivateConversation: true}
		m := w.send(c)
		if !m.DeliveryDate.Equal(w.clock.Add(-time.Hour)) || string(m.ConversationID) != "\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02" || *m.SequenceID != 1 {
			t.Errorf("sent %+v", m)
		}
		// The date of the earlier message does not move the read date back.
		if got, _, err := w.conversations.Find(t.Context(), conversation.Selection{OwnerIDs: []int64{2}}); err != nil || len(got) != 1 || !got[0].ReadDate.Equal(w.clock) {
			t.Errorf("conversations %v: %v", got, err)
		}
		if m := w.send(private(1, 2, "x")); *m.SequenceID != 2 || !m.DeliveryDate.Equal(w.clock) {
			t.Errorf("sent %+v", m)
		}
		for want := range int32(3) {
			if m := w.send(toGroup(1, g, "x")); *m.SequenceID != want+1 || len(m.ConversationID) != 8 || int64(m.ConversationID[0]) != g&255 {
				t.Errorf("sent %+v", m)
			}
		}
		id := m.ID
		c.ID = &id
		if _, err := w.messages.Send(t.Context(), c); !errors.Is(err, store.ErrDuplicateKey) {
			t.Errorf("the same id again: %v", err)
		}
		if m := w.send(private(1, 2, "x")); *m.SequenceID != 3 {
			t.Errorf("a message that failed took a number: %d", *m.SequenceID)
		}
	})
}
