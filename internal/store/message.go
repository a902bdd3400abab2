// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"example.org/app/internal/store/sqldb"
)

// A Message is a message of a user or the server to a user or a group. The ids that it refers to
// need not exist.
type Message struct {
	ID int64
	// ConversationID identifies the conversation; nil means none.
	ConversationID                  []byte
	IsGroupMessage, IsSystemMessage bool
	DeliveryDate                    time.Time
	ModificationDate                *time.Time
	DeletionDate, RecallDate        *time.Time
	Text                            *string
	// SenderID is 0 for the server.
	SenderID int64
	// SenderIP is the sender's address; the zero Addr means unknown.
	SenderIP netip.Addr
	// TargetID is a group or a user.
	TargetID int64
	// Records are attachments of applications; nil and empty are the same.
	Records [][]byte
	// BurnAfter is the number of seconds after which readers must delete the message.
	BurnAfter                 *int32
	ReferenceID, PreMessageID *int64
	SequenceID                *int32
}

// A MessageChange describes a change. Nil fields stay unchanged.
type MessageChange struct {
	IsSystemMessage *bool
	Text            *string
	// Records replaces all records; an empty list removes them.
	Records    *[][]byte
	BurnAfter  *int32
	RecallDate *time.Time
	SenderIP   *netip.Addr
	// ModificationDate is set in the messages that change.
	ModificationDate time.Time
}

// packRecords joins records, each preceded by its length.
func packRecords(records [][]byte) []byte {
	if len(records) == 0 {
		return nil
	}
	size := 0
	for _, record := range records {
		size += binary.MaxVarintLen64 + len(record)
	}
	packed := make([]byte, 0, size)
	for _, record := range records {
		packed = append(binary.AppendUvarint(packed, uint64(len(record))), record...)
	}
	return packed
}

func unpackRecords(packed []byte) ([][]byte, error) {
	var records [][]byte
	for len(packed) > 0 {
		size, n := binary.Uvarint(packed)
		if n <= 0 || size > uint64(len(packed)-n) {
			return nil, fmt.Errorf("record %d is cut off", len(records))
		}
		end := n + int(size)
		records = append(records, packed[n:end:end])
		packed = packed[end:]
	}
	return records, nil
}

var messages = newTable("message", "id conversation_id is_group_message is_system_message delivery_date modification_date deletion_date recall_date "+
	"text sender_id sender_ip target_id records burn_after reference_id sequence_id pre_message_id", func(m *Message) []any {
	return []any{
		&m.ID, (*optionalBytes)(&m.ConversationID), &m.IsGroupMessage, &m.IsSystemMessage, (*millis)(&m.DeliveryDate),
		optionalMillis{&m.ModificationDate},
		optionalMillis{&m.DeletionDate},
		optionalMillis{&m.RecallDate},
		&m.Text, &m.SenderID,
		(*address)(&m.SenderIP), &m.TargetID, (*records)(&m.Records), &m.BurnAfter, &m.ReferenceID, &m.SequenceID, &m.PreMessageID,
	}
})

// InsertMessages stores new messages. It returns ErrDuplicateKey if an id exists.
func InsertMessages(ctx context.Context, tx Tx, list ...Message) error {
	if err := messages.insert(ctx, tx, list...); err != nil {
		return fmt.Errorf("insert messages: %w", err)
	}
	noteEvents(tx, MessageStored, list, storedEvent)
	return nil
}

// SaveMessages is InsertMessages together with the resulting read dates and the keys of the
// requests. The transaction itself does not see them; on PostgreSQL the commit returns their
// errors.
func SaveMessages(ctx context.Context, tx Tx, list []Message, read ReadDates, keys []MessageKey) error {
	statements, err := messages.inserts(sqldb.EngineOf(tx), list)
	if err != nil {
		return fmt.Errorf("save messages: %w", err)
	}
	dates, err := read.statements()
	if err != nil {
		return fmt.Errorf("save messages: %w", err)
	}
	remembered, err := messageKeys.inserts(sqldb.EngineOf(tx), keys)
	if err != nil {
		return fmt.Errorf("save messages: %w", err)
	}
	if err := sqldb.ExecLast(ctx, tx, slices.Concat(statements, dates, remembered)); err != nil {
		return fmt.Errorf("save messages: %w", err)
	}
	messages.created(tx, list)
	noteEvents(tx, MessageStored, list, storedEvent)
	return nil
}

// UpdateMessages changes the messages with the given ids and returns the ids of those that differ
// afterwards.
func UpdateMessages(ctx context.Context, tx Tx, ids []int64, change MessageChange) ([]int64, error) {
	var c columnChanges
	setIf(&c, "is_system_message", change.IsSystemMessage)
	setIf(&c, "text", change.Text)
	setIf(&c, "burn_after", change.BurnAfter)
	setIf(&c, "recall_date", millisOrNull(change.RecallDate))
	if change.Records != nil {
		c.setField("records", (*records)(change.Records))
	}
	if change.SenderIP != nil {
		c.setField("sender_ip", (*address)(change.SenderIP))
	}
	c.touch("modification_date", change.ModificationDate.UnixMilli())
	changed, err := c.update(ctx, tx, "message", "id", in("t.id", ids))
	noteEvents(tx, MessageUpdated, changed, messageEvent)
	return changed, err
}

// MarkMessagesDeleted sets, or replaces, the deletion date of the messages with the given ids, and
// returns how many changed.
func MarkMessagesDeleted(ctx context.Context, tx Tx, ids []int64, at time.Time) (int64, error) {
	var c columnChanges
	c.set("deletion_date", at.UnixMilli())
	changed, err := c.update(ctx, tx, "message", "id", in("t.id", ids))
	noteEvents(tx, MessageDeleted, changed, messageEvent)
	return int64(len(changed)), err
}

// DeleteMessages deletes the messages with the given ids and returns how many there were.
func DeleteMessages(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deletedIDs(ctx, tx, "message", ids, MessageDeleted, messageEvent)
}
