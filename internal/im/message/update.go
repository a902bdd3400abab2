// SPDX-License-Identifier: Apache-2.0

package message

import (
	"cmp"
	"context"
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// Change is an administrator's change of messages. Nil fields stay unchanged.
type Change struct {
	IsSystemMessage *bool
	Text            *string
	// Records replaces all records; an empty list removes them.
	Records   *[][]byte
	BurnAfter *int32
	// RecallDate recalls the messages.
	RecallDate *time.Time
	SenderIP   *netip.Addr

	// SenderID and SenderDevice identify who recalls; nil and empty mean the server.
	SenderID     *int64
	SenderDevice string
}

func (c Change) nothing() bool {
	return c.IsSystemMessage == nil && c.Text == nil && c.Records == nil && c.BurnAfter == nil && c.RecallDate == nil && c.SenderIP == nil
}

// Update changes the messages with these ids, all or none. Each recall sends a system message about
// it to the message's target.
func (d *Directory) Update(ctx context.Context, messageIDs []int64, c Change) (result store.UpdateResult, err error) {
	if c.nothing() {
		return store.UpdateResult{}, nil
	}
	now, settings := d.now(), d.opts.Settings()
	err = cmp.Or(checkText(c.Text, settings), checkBurnAfter(c.BurnAfter), check.NotFuture("recallDate", c.RecallDate, now))
	if err == nil && c.Records != nil {
		err = checkRecords(*c.Records, settings)
	}
	if err != nil {
		return store.UpdateResult{}, err
	}
	var sender int64
	if c.SenderID != nil {
		sender = *c.SenderID
	}
	noticeIDs, err := d.noticeIDs(ctx, messageIDs, c.RecallDate)
	if err != nil {
		return store.UpdateResult{}, err
	}
	change := store.MessageChange{
		IsSystemMessage: c.IsSystemMessage, Text: c.Text, Records: c.Records, BurnAfter: c.BurnAfter, RecallDate: c.RecallDate,
		SenderIP: c.SenderIP, ModificationDate: now,
	}
	var notices []store.Message
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		filter := store.MessageFilter{IDs: messageIDs}
		matched, err := store.CountMessages(ctx, tx, filter)
		if err != nil {
			return err
		}
		var found []store.Message
		if c.RecallDate != nil {
			if found, err = store.FindMessages(ctx, tx, filter, store.MessagesByID, store.Page{}); err != nil {
				return err
			}
		}
		modified, err := store.UpdateMessages(ctx, tx, messageIDs, change)
		if err != nil {
			return err
		}
		result = store.UpdateResult{Matched: matched, Modified: int64(len(modified))}
		notices, err = d.saveNotices(ctx, tx, recalled(found, modified, c.RecallDate), noticeIDs, sender, now, settings)
		return err
	})
	if err != nil {
		return store.UpdateResult{}, err
	}
	for _, notice := range notices {
		d.deliver(ctx, Delivery{Event: Created, Message: notice, SenderDevice: c.SenderDevice})
	}
	return result, nil
}

// noticeIDs returns an id for each possible notice. Ids are made outside of transactions, because
// that may block.
func (d *Directory) noticeIDs(ctx context.Context, messageIDs []int64, recall *time.Time) ([]int64, error) {
	if recall == nil {
		return nil, nil
	}
	list := make([]int64, len(messageIDs))
	for i := range list {
		var err error
		if list[i], err = d.opts.IDs.NextContext(ctx); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// recalled returns the modified messages whose recall date changed.
func recalled(before []store.Message, modified []int64, date *time.Time) []store.Message {
	if date == nil {
		return nil
	}
	return slices.DeleteFunc(before, func(m store.Message) bool {
		return !slices.Contains(modified, m.ID) || m.RecallDate != nil && m.RecallDate.UnixMilli() == date.UnixMilli()
	})
}

// saveNotices stores the system messages about recalled messages.
func (d *Directory) saveNotices(ctx context.Context, tx store.Tx, messages []store.Message, noticeIDs []int64, sender int64, now time.Time, s config.Message) ([]store.Message, error) {
	var notices []store.Message
	for i, m := range messages {
		notice := store.Message{
			ID: noticeIDs[i], IsGroupMessage: m.IsGroupMessage, IsSystemMessage: true, DeliveryDate: now,
			SenderID: sender, TargetID: m.TargetID, Records: recallRecords(m.ID),
		}
		if s.UseConversationID {
			notice.ConversationID = ConversationID(notice)
		}
		if err := d.save(ctx, tx, &notice, s); err != nil {
			return nil, err
		}
		notices = append(notices, notice)
	}
	return notices, nil
}

// recallType is the first record of a system message about a recall.
const recallType = 1

// recallRecords returns the records of such a message: its type and the id of the recalled message.
func recallRecords(messageID int64) [][]byte {
	return [][]byte{{recallType}, binary.BigEndian.AppendUint64(nil, uint64(messageID))}
}
