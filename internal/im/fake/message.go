// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"math/rand/v2"
	"time"

	"example.org/app/internal/im/message"
	"example.org/app/internal/store"
)

// chatMessages is how many messages, the first ones, are between chatters.
const chatMessages = 500

// messages creates messages, in order of time, and sets the read dates of their senders.
func (w *world) messages(ctx context.Context, tx store.Tx, first, last int64) error {
	random := w.random(partMessages, first)
	settings, receipts := w.Settings.Message, w.Settings.Conversation.ReadReceipt
	var list []store.Message
	private, members := map[store.PrivateConversationKey]time.Time{}, map[store.GroupUserKey]time.Time{}
	for id := first; id <= last; id++ {
		m := w.message(random, id)
		if settings.UseConversationID {
			m.ConversationID = message.ConversationID(m)
		}
		if err := w.number(ctx, tx, &m); err != nil {
			return err
		}
		list = append(list, m)
		if !receipts.Enabled || !receipts.UpdateReadDateAfterMessageSent {
			continue
		}
		// Later messages have later dates.
		if m.IsGroupMessage {
			members[store.GroupUserKey{GroupID: m.TargetID, UserID: m.SenderID}] = m.DeliveryDate
		} else {
			private[store.PrivateConversationKey{OwnerID: m.SenderID, TargetID: m.TargetID}] = m.DeliveryDate
		}
	}
	if err := store.InsertMessages(ctx, tx, list...); err != nil {
		return err
	}
	return store.PutConversations(ctx, tx, store.ReadDates{Private: private, Members: members})
}

// message returns a message that its sender may send.
func (w *world) message(random *rand.Rand, id int64) store.Message {
	m := store.Message{ID: id, Text: new(within(pick(random, lines), w.Settings.Message.MaxTextLimit))}
	// The messages are spread over the last month.
	m.DeliveryDate = w.ago(30*day - time.Duration(float64(30*day)*float64(id)/float64(w.Messages+1)))
	users := int64(w.Users)
	if id <= chatMessages {
		users = min(users, chatters)
	}
	m.IsGroupMessage = w.Groups > 0 && random.IntN(4) == 0
	switch {
	case m.IsGroupMessage && id <= chatMessages:
		m.TargetID, m.SenderID = 1, 1+random.Int64N(min(chatters, w.tenth()))
	case m.IsGroupMessage:
		m.TargetID = 1 + random.Int64N(int64(w.Groups))
		m.SenderID = w.owner(m.TargetID)
	default:
		m.SenderID, m.TargetID = w.pair(random, users)
	}
	return m
}

// pair returns a sender and a target among the first users who may write to each other. Users with
// near ids know each other.
func (w *world) pair(random *rand.Rand, users int64) (sender, target int64) {
	for {
		sender = 1 + random.Int64N(users)
		target = sender + 1 + random.Int64N(min(users-1, 20))
		if target > users {
			target -= users
		}
		if w.fit(sender) && w.fit(target) && !w.blocks(target, sender) {
			return sender, target
		}
	}
}

// number sets the sequence number of a message if these are enabled.
func (w *world) number(ctx context.Context, tx store.Tx, m *store.Message) error {
	var n int32
	var err error
	switch s := w.Settings.Message.SequenceID; {
	case m.IsGroupMessage && s.UseSequenceIDForGroupConversation:
		n, err = store.NextGroupSequence(ctx, tx, m.TargetID)
	case !m.IsGroupMessage && s.UseSequenceIDForPrivateConversation:
		n, err = store.NextPrivateSequence(ctx, tx, m.SenderID, m.TargetID)
	default:
		return nil
	}
	m.SequenceID = &n
	return err
}
