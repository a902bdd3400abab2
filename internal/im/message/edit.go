// SPDX-License-Identifier: Apache-2.0

package message

import (
	"cmp"
	"context"
	"slices"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/check"
	"example.org/app/internal/im/group"
	"example.org/app/internal/store"
)

// Edit is a sender's change of a message. Nil fields stay unchanged.
type Edit struct {
	Text *string
	// Records replaces all records; an empty list removes them.
	Records *[][]byte
	// RecallDate recalls the message.
	RecallDate *time.Time
	// Origin is passed to the Deliverer.
	Origin any
	// Turn is the position of the edit in the conversation; nil means none.
	Turn *Turn
}

func (e Edit) edits() bool { return e.Text != nil || e.Records != nil }

// UpdateBySender edits or recalls a message for its sender. A recall creates a system message about
// it. An empty edit is only delivered.
func (d *Directory) UpdateBySender(ctx context.Context, senderID int64, device string, messageID int64, e Edit) error {
	now, settings := d.now(), d.opts.Settings()
	if err := checkEdit(e, settings, now); err != nil {
		return err
	}
	if err := e.Turn.enter(ctx); err != nil {
		return err
	}
	noticeIDs, err := d.noticeIDs(ctx, []int64{messageID}, e.RecallDate)
	if err != nil {
		return err
	}
	var m store.Message
	var notices []store.Message
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		found, err := store.FindMessages(ctx, tx, store.MessageFilter{IDs: []int64{messageID}, Deleted: new(false)}, store.MessagesByID, store.Page{})
		if err != nil {
			return err
		}
		if err := d.mayEdit(ctx, tx, senderID, found, e, settings, now); err != nil {
			return err
		}
		if m = found[0]; !e.edits() && e.RecallDate == nil {
			notices = nil
			return nil
		}
		modified, err := store.UpdateMessages(ctx, tx, []int64{messageID}, store.MessageChange{
			Text: e.Text, Records: e.keptRecords(settings), RecallDate: e.RecallDate, ModificationDate: now,
		})
		if err != nil {
			return err
		}
		notices, err = d.saveNotices(ctx, tx, recalled(slices.Clone(found), modified, e.RecallDate), noticeIDs, senderID, now, settings)
		return err
	})
	if err != nil {
		return err
	}
	e.Turn.pass()
	e.Turn.leave()
	d.deliver(ctx, Delivery{Event: Updated, Message: e.apply(m, now), Edit: e, SenderDevice: device, Origin: e.Origin, InTurn: e.Turn != nil})
	for _, notice := range notices {
		d.deliver(ctx, Delivery{Event: Created, Message: notice, SenderDevice: device, InTurn: e.Turn != nil})
	}
	return nil
}

// keptRecords returns the records to store, according to the settings for new messages.
func (e Edit) keptRecords(s config.Message) *[][]byte {
	if !s.PersistRecord {
		return nil
	}
	return e.Records
}

// apply returns the message after the edit.
func (e Edit) apply(m store.Message, now time.Time) store.Message {
	if e.Text != nil {
		m.Text = e.Text
	}
	if e.Records != nil {
		m.Records = *e.Records
	}
	if e.RecallDate != nil {
		m.RecallDate = e.RecallDate
	}
	if e.edits() || e.RecallDate != nil {
		m.ModificationDate = &now
	}
	return m
}

// checkEdit validates what does not depend on the message.
func checkEdit(e Edit, s config.Message, now time.Time) error {
	switch {
	case e.edits() && !s.AllowEditMessageBySender:
		return apierr.New(apierr.UpdatingMessageBySenderIsDisabled, "")
	case e.RecallDate != nil && !s.AllowRecallMessage:
		return apierr.New(apierr.RecallingMessageIsDisabled, "")
	}
	var records [][]byte
	if e.Records != nil {
		records = *e.Records
	}
	return cmp.Or(checkText(e.Text, s), checkRecords(records, s), check.NotFuture("recallDate", e.RecallDate, now))
}

// mayEdit returns an error if the user did not send the message, which need not exist, or its group
// forbids the edit.
func (d *Directory) mayEdit(ctx context.Context, r store.Reader, senderID int64, found []store.Message, e Edit, s config.Message, now time.Time) error {
	recalls := e.RecallDate != nil
	if len(found) == 0 || found[0].SenderID != senderID || found[0].IsSystemMessage {
		if recalls {
			return apierr.New(apierr.NotSenderToRecallMessage, "")
		}
		return apierr.New(apierr.NotSenderToUpdateMessage, "")
	}
	m := found[0]
	if most := time.Duration(s.AvailableRecallDurationSeconds) * time.Second; recalls && now.Sub(m.DeliveryDate) > most {
		return apierr.New(apierr.MessageRecallTimeout, "")
	}
	if !m.IsGroupMessage {
		return nil
	}
	g, exists, err := group.Get(ctx, r, m.TargetID)
	if err != nil {
		return err
	}
	active := exists && g.IsActive
	switch {
	case !active && recalls:
		return apierr.New(apierr.RecallMessageOfNonexistentGroup, "")
	case !active:
		return apierr.New(apierr.UpdateMessageOfNonexistentGroup, "")
	case !e.edits():
		return nil
	}
	t, err := group.TypeOf(ctx, r, g.TypeID)
	if err == nil && !t.MessageEditable {
		err = apierr.New(apierr.UpdatingGroupMessageBySenderIsDisabled, "")
	}
	return err
}
