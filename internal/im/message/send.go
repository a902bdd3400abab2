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

// Creation defines a new message.
type Creation struct {
	// ID is generated if it is nil.
	ID *int64
	// IsSystemMessage makes it a message of the server, which is not subject to permissions.
	// Clients must not send such messages.
	IsGroupMessage, IsSystemMessage bool
	// SenderID may be nil only for system messages, which then come from the server.
	SenderID *int64
	SenderIP netip.Addr
	// SenderDevice is the type of the sending device; see Delivery.
	SenderDevice string
	// TargetID is a group or a user.
	TargetID int64
	Text     *string
	Records  [][]byte
	// MayBeEmpty allows a message that has neither text nor records.
	MayBeEmpty bool
	BurnAfter  *int32
	// ReferenceID forwards a message: text, records and burn time are copied from it.
	ReferenceID, PreMessageID *int64
	// DeliveryDate is the client's date; nil means none.
	DeliveryDate *time.Time
	// Deliver is true if online recipients get the message at once.
	Deliver bool
	// Origin is passed to the Deliverer.
	Origin any
	// Turn is the position of the message in its conversation; nil means none.
	Turn *Turn
	// Key identifies the request among those of the sender; nil means none.
	Key *Key
}

// A Key makes a repeated request create only one message. It is stored in the transaction that
// stores the message.
type Key struct {
	// Value is what identifies the request.
	Value []byte
	// Lifetime is how long the key is stored.
	Lifetime time.Duration
	// Repeated is true if the request is sent again because its outcome is unknown. An existing
	// message is delivered again unless this process has delivered it, because another process may
	// have ended before. No error is returned until the database says whether the message exists.
	Repeated bool
}

// unsettled reports whether, after an error, another process may still carry out a repeated
// request, or have done so: it may be blocking this one.
func (k *Key) unsettled(err error) bool {
	return k != nil && k.Repeated && isAway(err)
}

// isAway reports whether the error says nothing about the message: the database was not asked, or
// did not answer in time.
func isAway(err error) bool {
	return errors.Is(err, store.ErrTimeout) || errors.Is(err, store.ErrUnavailable) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// errUnsettled returns the sender's error for a message with unknown outcome.
func errUnsettled(err error) error { return apierr.Wrap(apierr.ServerInternalError, err) }

const (
	// settlePause is the pause before a retry.
	settlePause = 100 * time.Millisecond
	// settleLimit is how long the outcome of a message is investigated for a sender without
	// deadline.
	settleLimit = 30 * time.Second
)

// Send stores a message, depending on the settings, and delivers it. It returns the message as
// recipients see it. If the Key of the request is known, it returns the existing message.
func (d *Directory) Send(ctx context.Context, c Creation) (store.Message, error) {
	settings := d.opts.Settings()
	composed, err := d.compose(c, settings)
	if err == nil {
		err = c.Turn.enter(ctx)
	}
	switch {
	case c.Key.unsettled(err):
		return store.Message{}, errUnsettled(err)
	case err != nil:
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
	switch {
	case c.Key != nil && c.Key.Repeated && errors.Is(err, store.ErrClosed): // Asking again is useless.
		return store.Message{}, errUnsettled(err)
	case err != nil:
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

// place stores a message, in a batch if possible, unless one with its key exists.
func (d *Directory) place(ctx context.Context, composed store.Message, settings config.Message, c Creation) (sent store.Message, existed bool, err error) {
	if mayJoin(ctx, c) {
		return d.join(ctx, composed, settings, c)
	}
	if composed, err = d.identify(ctx, composed, c, settings); err != nil {
		return composed, false, err
	}
	return d.settle(ctx, composed, settings, c.Key, false)
}

// settle stores a message with an id in its own transaction, unless one with its key exists. If the
// database connection breaks during the commit, or did so in an earlier attempt, which makes the
// message doubtful, it retries until the outcome is known, so that no sender gets an error for a
// stored message.
func (d *Directory) settle(ctx context.Context, m store.Message, settings config.Message, key *Key, doubtful bool) (sent store.Message, existed bool, err error) {
	limited, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	for {
		sent, existed, err = d.sendAlone(ctx, m, settings, key)
		doubtful = doubtful || errors.Is(err, store.ErrOutcomeUnknown)
		switch {
		case !doubtful:
			return sent, existed, err
		case key == nil && errors.Is(err, store.ErrDuplicateKey): // No other message has its id.
			return m, false, nil
		case !isAway(err):
			// An existing message was stored by the earlier attempt and not delivered yet.
			return sent, existed && key.Repeated, err
		}
		select {
		case <-time.After(settlePause):
		case <-limited.Done():
			return m, false, errUnsettled(err)
		}
	}
}

// sendAlone stores a message in its own transaction, unless one with its key exists.
func (d *Directory) sendAlone(ctx context.Context, composed store.Message, settings config.Message, key *Key) (sent store.Message, existed bool, err error) {
	sent, existed, err = d.tryAlone(ctx, composed, settings, key)
	if key != nil && errors.Is(err, store.ErrDuplicateKey) {
		// A transaction that stored the same message was committed concurrently.
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
			// Another process may be about to store the message: wait for the end of its
			// transaction, because only then is a refusal certain.
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

// identify sets the id of a message that is not stored in a batch.
func (d *Directory) identify(ctx context.Context, m store.Message, c Creation, s config.Message) (store.Message, error) {
	if c.ID != nil {
		m.ID = *c.ID
		return m, nil
	}
	return m, d.stamp(ctx, &m, s, time.Time{})
}

// stamp sets the id of a message and, unless the client's is used, its date, which is at least
// notBefore.
func (d *Directory) stamp(ctx context.Context, m *store.Message, s config.Message, notBefore time.Time) (err error) {
	if m.ID, err = d.opts.IDs.NextContext(ctx); err != nil || s.TimeType == config.MessageClientTime {
		return err
	}
	if m.DeliveryDate = d.now(); m.DeliveryDate.Before(notBefore) {
		m.DeliveryDate = notBefore
	}
	return nil
}

// compose validates the properties of a message and returns it, without an id.
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

// checkText returns an error if a text is too long; unlike elsewhere, 0 is a limit.
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

// ConversationID returns the id of a message's conversation in its public form.
func ConversationID(m store.Message) []byte {
	if m.IsGroupMessage {
		return binary.LittleEndian.AppendUint64(nil, uint64(m.TargetID))
	}
	id := binary.BigEndian.AppendUint64(nil, uint64(min(m.SenderID, m.TargetID)))
	return binary.BigEndian.AppendUint64(id, uint64(max(m.SenderID, m.TargetID)))
}

// copyReferenced copies the content of a forwarded message, which the user must be able to read.
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

// maySend returns an error if the message may not be sent, and reports whether the sender is a
// member of its group.
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

// mayReach returns an error if the recipient does not accept the private message.
func (d *Directory) mayReach(recipient store.MessageRecipient, s config.Message) error {
	switch {
	case s.CheckIfTargetActiveAndNotDeleted && d.opts.HasAccounts() && !recipient.Active:
		return apierr.New(apierr.MessageRecipientNotActive, "")
	case recipient.BlocksSender:
		return apierr.New(apierr.BlockedUserSendPrivateMessage, "")
	}
	return nil
}

// save numbers a message and stores it, depending on the settings.
func (d *Directory) save(ctx context.Context, tx store.Tx, m *store.Message, s config.Message) error {
	if err := number(ctx, tx, m, s); err != nil {
		return err
	}
	if !s.PersistMessage {
		return nil
	}
	return store.InsertMessages(ctx, tx, keptOf(*m, s))
}

// keptOf returns the stored part of a message.
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

// noteRead moves the sender's read date of the conversation forward. Guests of a group have none.
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

// notesRead reports whether sending a message moves the sender's read date.
func (d *Directory) notesRead() bool {
	receipts := d.opts.ReadReceipts()
	return receipts.Enabled && receipts.UpdateReadDateAfterMessageSent
}

// MaySend returns an error if a user may not send messages to a user or a group.
func (d *Directory) MaySend(ctx context.Context, r store.Reader, senderID, targetID int64, toGroup bool) error {
	_, err := d.maySend(ctx, r, store.Message{IsGroupMessage: toGroup, SenderID: senderID, TargetID: targetID}, d.opts.Settings())
	return err
}
