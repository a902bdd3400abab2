// SPDX-License-Identifier: Apache-2.0

package message

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/check"
	"example.org/app/internal/im/conversation"
	"example.org/app/internal/im/group"
	"example.org/app/internal/im/relationship"
	"example.org/app/internal/store"
)

// Creation says what a new message shall be.
type Creation struct {
	// ID is generated if it is nil.
	ID *int64
	// IsSystemMessage makes it a message of the server, which needs no permission
	// of anybody. Clients must not send such messages.
	IsGroupMessage, IsSystemMessage bool
	// SenderID may be nil for system messages only, which are then from the server.
	SenderID *int64
	SenderIP netip.Addr
	// SenderDevice is the type of the device that the message comes from; see
	// Delivery.
	SenderDevice string
	// TargetID is a group or a user.
	TargetID int64
	Text     *string
	Records  [][]byte
	// MayBeEmpty allows a message that has neither text nor records.
	MayBeEmpty bool
	BurnAfter  *int32
	// ReferenceID forwards a message: text, records and burn time are those of that
	// message.
	ReferenceID, PreMessageID *int64
	// DeliveryDate is what a client says; nil is nothing.
	DeliveryDate *time.Time
	// Deliver is whether those who are online get the message at once.
	Deliver bool
	// Origin is what the message was made from. It is handed to the Deliverer as it is.
	Origin any
	// Turn is the place of the message in its conversation; nil is any.
	Turn *Turn
	// Key identifies the request among those of the sender; nil is no key.
	Key *Key
}

// A Key lets a request that comes more than once make one message. It is remembered in the transaction that stores the
// message.
type Key struct {
	// Value is what identifies the request.
	Value []byte
	// Lifetime is for how long it is remembered.
	Lifetime time.Duration
	// Repeated says that the request is sent again because nobody knows what became of it. If the message exists it is
	// delivered again, unless this process has done so: another one may have ended before. As long as the database does not
	// say whether it exists, nobody is told that it does not.
	Repeated bool
}

// unsettled reports whether a repeated request may still be carried out, or have been, by another process after an error: it
// may hold this one up.
func (k *Key) unsettled(err error) bool {
	return k != nil && k.Repeated && isAway(err)
}

// isAway reports whether an error says nothing of the message: the database did not answer, or not in time.
func isAway(err error) bool {
	return errors.Is(err, store.ErrTimeout) || errors.Is(err, store.ErrUnavailable)
}

// errUnsettled is what a sender is told whose message may be stored or not.
func errUnsettled(err error) error { return apierr.Wrap(apierr.ServerInternalError, err) }

const (
	// settlePause is how long a request waits before it is tried again.
	settlePause = 100 * time.Millisecond
	// settleLimit is for how long a message whose outcome is not known is tried for a sender who does not give up.
	settleLimit = 30 * time.Second
)

// Send stores a message, as far as the settings say, and delivers it. The result
// is the message as recipients see it. If the Key of the request is known, the
// result is the message that exists.
func (d *Directory) Send(ctx context.Context, c Creation) (store.Message, error) {
	settings := d.opts.Settings()
	composed, err := d.compose(c, settings)
	if err == nil {
		err = c.Turn.enter(ctx)
	}
	if err != nil {
		return store.Message{}, err
	}
	sent, existed, err := d.place(ctx, composed, settings, c)
	for c.Key.unsettled(err) {
		select {
		case <-time.After(settlePause):
			sent, existed, err = d.place(ctx, composed, settings, c)
		case <-ctx.Done():
			return store.Message{}, errUnsettled(err)
		}
	}
	if err != nil {
		return store.Message{}, err
	}
	c.Turn.pass()
	if !existed {
		d.opts.Sent(1)
	}
	c.Turn.leave()
	if c.Deliver && (!existed || c.Key.Repeated) && (c.Key == nil || d.delivered.first(sent.ID, time.Now())) {
		d.deliver(ctx, Delivery{
			Event: Created, Message: sent, SenderDevice: c.SenderDevice, Origin: c.Origin, InTurn: c.Turn != nil,
			InOrder: c.Turn != nil && c.ID == nil,
		})
	}
	return sent, nil
}

// place stores a message, together with others if that can be, unless one with its key exists.
func (d *Directory) place(ctx context.Context, composed store.Message, settings config.Message, c Creation) (sent store.Message, existed bool, err error) {
	if mayJoin(ctx, c) {
		return d.join(ctx, composed, settings, c)
	}
	if composed, err = d.identify(ctx, composed, c, settings); err != nil {
		return composed, false, err
	}
	return d.settle(ctx, composed, settings, c.Key, false)
}

// settle stores a message that has its id in a transaction of its own, unless one with the key exists. If the connection to
// the database breaks during the commit, or did so in an earlier attempt, which makes the message doubtful, it tries again
// until it is known whether the message is stored, so that nobody is told that it failed if it did not.
func (d *Directory) settle(ctx context.Context, m store.Message, settings config.Message, key *Key, doubtful bool) (sent store.Message, existed bool, err error) {
	limited, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	for {
		sent, existed, err = d.sendAlone(ctx, m, settings, key)
		doubtful = doubtful || errors.Is(err, store.ErrOutcomeUnknown)
		switch {
		case !doubtful:
			return sent, existed, err
		case key == nil && errors.Is(err, store.ErrDuplicateKey): // Nobody else has its id.
			return m, false, nil
		case !isAway(err):
			// A message that exists was stored by the earlier attempt: nobody has delivered it.
			return sent, existed && key.Repeated, err
		}
		select {
		case <-time.After(settlePause):
		case <-limited.Done():
			return m, false, errUnsettled(err)
		}
	}
}

// sendAlone stores a message in a transaction of its own, unless one with the key exists.
func (d *Directory) sendAlone(ctx context.Context, composed store.Message, settings config.Message, key *Key) (sent store.Message, existed bool, err error) {
	sent, existed, err = d.tryAlone(ctx, composed, settings, key)
	if key != nil && errors.Is(err, store.ErrDuplicateKey) {
		// A transaction that stored the same message was committed meanwhile.
		return d.tryAlone(ctx, composed, settings, key)
	}
	return sent, existed, err
}

func (d *Directory) tryAlone(ctx context.Context, composed store.Message, settings config.Message, key *Key) (sent store.Message, existed bool, err error) {
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if sent, existed, err = d.recall(ctx, tx, composed, key); err != nil || existed {
			return err
		}
		if key != nil && !sent.IsSystemMessage {
			// Another process may be about to store the message: this waits for the end of its transaction, and only then is it
			// known whether a refusal holds.
			if err := store.InsertMessageKey(ctx, tx, d.remembered(sent, key)); err != nil {
				return err
			}
		}
		if sent.ReferenceID != nil {
			if err := d.copyReferenced(ctx, tx, &sent, settings); err != nil {
				return err
			}
		}
		if sent.IsSystemMessage {
			return d.save(ctx, tx, &sent, settings)
		}
		isMember, err := d.maySend(ctx, tx, sent, settings)
		if err != nil {
			return err
		}
		if err := d.save(ctx, tx, &sent, settings); err != nil {
			return err
		}
		return d.noteRead(ctx, tx, sent, isMember)
	})
	return sent, existed, err
}

// identify gives a message that is not stored together with others its id.
func (d *Directory) identify(ctx context.Context, m store.Message, c Creation, s config.Message) (store.Message, error) {
	if c.ID != nil {
		m.ID = *c.ID
		return m, nil
	}
	return m, d.stamp(ctx, &m, s, time.Time{})
}

// stamp gives a message its id and, unless it has that of the client, its date, which is not before another one.
func (d *Directory) stamp(ctx context.Context, m *store.Message, s config.Message, notBefore time.Time) (err error) {
	if m.ID, err = d.opts.IDs.NextContext(ctx); err != nil || s.TimeType == config.MessageClientTime {
		return err
	}
	if m.DeliveryDate = d.now(); m.DeliveryDate.Before(notBefore) {
		m.DeliveryDate = notBefore
	}
	return nil
}

// compose checks what a message is made of, apart from others, and makes it but for its id.
func (d *Directory) compose(c Creation, s config.Message) (store.Message, error) {
	now := d.now()
	m := store.Message{
		IsGroupMessage: c.IsGroupMessage, IsSystemMessage: c.IsSystemMessage, DeliveryDate: now,
		Text: c.Text, SenderIP: c.SenderIP, TargetID: c.TargetID, Records: c.Records, BurnAfter: c.BurnAfter,
		ReferenceID: c.ReferenceID, PreMessageID: c.PreMessageID,
	}
	switch {
	case c.SenderID != nil:
		m.SenderID = *c.SenderID
	case !c.IsSystemMessage:
		return m, apierr.New(apierr.IllegalArgument, "senderId: is required")
	}
	if !c.IsSystemMessage {
		if err := check.UserID("senderId", m.SenderID); err != nil {
			return m, err
		}
	}
	if !c.IsGroupMessage {
		if err := check.UserID("targetId", m.TargetID); err != nil {
			return m, err
		}
	}
	if !c.MayBeEmpty && (c.Text == nil || *c.Text == "") && len(c.Records) == 0 {
		return m, apierr.New(apierr.IllegalArgument, "text and records: must not both be empty")
	}
	err := cmp.Or(checkText(c.Text, s), checkRecords(c.Records, s), checkBurnAfter(c.BurnAfter), check.NotFuture("deliveryDate", c.DeliveryDate, now))
	if err != nil {
		return m, err
	}
	if c.DeliveryDate != nil && s.TimeType == config.MessageClientTime {
		m.DeliveryDate = c.DeliveryDate.UTC().Truncate(time.Millisecond)
	}
	if s.UseConversationID {
		m.ConversationID = ConversationID(m)
	}
	return m, nil
}

// checkText refuses a text that is too long; unlike elsewhere, a limit of 0 is
// one.
func checkText(text *string, s config.Message) error {
	if text == nil {
		return nil
	}
	if n := check.Length(*text); n > int(s.MaxTextLimit) {
		return apierr.New(apierr.IllegalArgument, "text: must have at most %d characters, but has %d", s.MaxTextLimit, n)
	}
	return nil
}

func checkRecords(records [][]byte, s config.Message) error {
	size := 0
	for _, record := range records {
		size += len(record)
	}
	if size > int(s.MaxRecordsSizeBytes) {
		return apierr.New(apierr.IllegalArgument, "records: must have at most %d bytes together, but have %d", s.MaxRecordsSizeBytes, size)
	}
	return nil
}

func checkBurnAfter(seconds *int32) error {
	if seconds != nil && *seconds < 0 {
		return apierr.New(apierr.IllegalArgument, "burnAfter: %d must be at least 0", *seconds)
	}
	return nil
}

// ConversationID names the conversation of a message in the form that callers
// know.
func ConversationID(m store.Message) []byte {
	if m.IsGroupMessage {
		return binary.LittleEndian.AppendUint64(nil, uint64(m.TargetID))
	}
	id := binary.BigEndian.AppendUint64(nil, uint64(min(m.SenderID, m.TargetID)))
	return binary.BigEndian.AppendUint64(id, uint64(max(m.SenderID, m.TargetID)))
}

// copyReferenced copies what a forwarded message says. A user can forward only
// what it can read.
func (d *Directory) copyReferenced(ctx context.Context, r store.Reader, m *store.Message, s config.Message) error {
	found, err := store.FindMessages(ctx, r, store.MessageFilter{IDs: []int64{*m.ReferenceID}, Deleted: new(false)}, store.MessagesByID, store.Page{})
	if err != nil {
		return err
	}
	refused := apierr.New(apierr.NotMessageRecipientOrSenderToForwardMessage, "")
	if len(found) == 0 || found[0].RecallDate != nil && !s.IsRecalledMessageVisible {
		return refused
	}
	original := found[0]
	if !m.IsSystemMessage && original.SenderID != m.SenderID {
		reads := original.TargetID == m.SenderID
		if original.IsGroupMessage {
			if reads, err = group.IsMember(ctx, r, original.TargetID, m.SenderID); err != nil {
				return err
			}
		}
		if !reads {
			return refused
		}
	}
	m.Text, m.Records, m.BurnAfter = original.Text, original.Records, original.BurnAfter
	return nil
}

// maySend refuses a user who may not send a message, and reports whether the
// sender is a member of the group that it goes to.
func (d *Directory) maySend(ctx context.Context, r store.Reader, m store.Message, s config.Message) (isMember bool, err error) {
	if m.IsGroupMessage {
		speaker, err := d.opts.Members.Speaker(ctx, r, m.TargetID, m.SenderID)
		if err != nil {
			return false, err
		}
		return speaker.Member != nil, speaker.MaySend(s.CheckIfTargetActiveAndNotDeleted)
	}
	switch {
	case m.SenderID == m.TargetID && s.AllowSendMessagesToOneself:
		return false, nil
	case m.SenderID == m.TargetID:
		return false, apierr.New(apierr.SendingMessagesToOneselfIsDisabled, "")
	case !s.AllowSendMessagesToStranger:
		known, err := relationship.Knows(ctx, r, m.TargetID, m.SenderID)
		if err == nil && !known {
			err = apierr.New(apierr.NotFriendToSendPrivateMessage, "")
		}
		return false, err
	}
	recipients, err := store.FindMessageRecipients(ctx, r, []store.MessageRoute{routeOf(m)})
	if err != nil {
		return false, err
	}
	return false, d.mayReach(recipients[0], s)
}

func routeOf(m store.Message) store.MessageRoute {
	return store.MessageRoute{RecipientID: m.TargetID, SenderID: m.SenderID}
}

// mayReach refuses a private message that its recipient does not get.
func (d *Directory) mayReach(recipient store.MessageRecipient, s config.Message) error {
	switch {
	case s.CheckIfTargetActiveAndNotDeleted && d.opts.HasAccounts() && !recipient.Active:
		return apierr.New(apierr.MessageRecipientNotActive, "")
	case recipient.BlocksSender:
		return apierr.New(apierr.BlockedUserSendPrivateMessage, "")
	}
	return nil
}

// save numbers a message and stores of it what the settings say.
func (d *Directory) save(ctx context.Context, tx store.Tx, m *store.Message, s config.Message) error {
	if err := number(ctx, tx, m, s); err != nil {
		return err
	}
	if !s.PersistMessage {
		return nil
	}
	return store.InsertMessages(ctx, tx, keptOf(*m, s))
}

// keptOf is what is stored of a message.
func keptOf(kept store.Message, s config.Message) store.Message {
	if !s.PersistRecord && !kept.IsSystemMessage {
		kept.Records = nil
	}
	if !s.PersistPreMessageID {
		kept.PreMessageID = nil
	}
	if !s.PersistSenderIP {
		kept.SenderIP = netip.Addr{}
	}
	return kept
}

func number(ctx context.Context, tx store.Tx, m *store.Message, s config.Message) error {
	var n int32
	var err error
	switch {
	case m.IsGroupMessage && s.SequenceID.UseSequenceIDForGroupConversation:
		n, err = store.NextGroupSequence(ctx, tx, m.TargetID)
	case !m.IsGroupMessage && s.SequenceID.UseSequenceIDForPrivateConversation:
		n, err = store.NextPrivateSequence(ctx, tx, m.SenderID, m.TargetID)
	default:
		return nil
	}
	m.SequenceID = &n
	return err
}

// noteRead notes that whoever sends a message has read the conversation. Guests
// of a group have no part in its conversation.
func (d *Directory) noteRead(ctx context.Context, tx store.Tx, m store.Message, isMember bool) error {
	switch {
	case !d.notesRead():
		return nil
	case !m.IsGroupMessage:
		return conversation.NotePrivate(ctx, tx, m.DeliveryDate, store.PrivateConversationKey{OwnerID: m.SenderID, TargetID: m.TargetID})
	case isMember:
		return conversation.NoteGroup(ctx, tx, m.DeliveryDate, store.GroupUserKey{GroupID: m.TargetID, UserID: m.SenderID})
	}
	return nil
}

// notesRead reports whether whoever sends a message counts as having read the conversation.
func (d *Directory) notesRead() bool {
	receipts := d.opts.ReadReceipts()
	return receipts.Enabled && receipts.UpdateReadDateAfterMessageSent
}

// MaySend refuses a user who may not send messages to a user or a group.
func (d *Directory) MaySend(ctx context.Context, r store.Reader, senderID, targetID int64, toGroup bool) error {
	_, err := d.maySend(ctx, r, store.Message{IsGroupMessage: toGroup, SenderID: senderID, TargetID: targetID}, d.opts.Settings())
	return err
}
