// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"github.com/uptrace/bun"
)

// A Message is what a user or the server wrote to a user or a group. Nobody it refers to need exist.
type Message struct {
	ID int64
	// ConversationID names the conversation; nil is none.
	ConversationID                  []byte
	IsGroupMessage, IsSystemMessage bool
	DeliveryDate                    time.Time
	ModificationDate                *time.Time
	DeletionDate, RecallDate        *time.Time
	Text                            *string
	// SenderID is 0 for the server.
	SenderID int64
	// SenderIP is where the message came from; the zero Addr is unknown.
	SenderIP netip.Addr
	// TargetID is a group or a user.
	TargetID int64
	// Records are what applications attach; none and an empty list are the same.
	Records [][]byte
	// BurnAfter is after how many seconds readers shall forget the message.
	BurnAfter                 *int32
	ReferenceID, PreMessageID *int64
	SequenceID                *int32
}

// A MessageChange says what to change. A nil field stays as it is.
type MessageChange struct {
	IsSystemMessage *bool
	Text            *string
	// Records replaces all records; an empty list removes them.
	Records    *[][]byte
	BurnAfter  *int32
	RecallDate *time.Time
	SenderIP   *netip.Addr
	// ModificationDate is given to the messages that differ after the change.
	ModificationDate time.Time
}

type messageRow struct {
	bun.BaseModel    `bun:"table:message,alias:t"`
	ID               int64   `bun:"id,pk"`
	ConversationID   []byte  `bun:"conversation_id"`
	IsGroupMessage   bool    `bun:"is_group_message"`
	IsSystemMessage  bool    `bun:"is_system_message"`
	DeliveryDate     int64   `bun:"delivery_date"`
	ModificationDate *int64  `bun:"modification_date"`
	DeletionDate     *int64  `bun:"deletion_date"`
	RecallDate       *int64  `bun:"recall_date"`
	Text             *string `bun:"text"`
	SenderID         int64   `bun:"sender_id"`
	SenderIP         []byte  `bun:"sender_ip"`
	TargetID         int64   `bun:"target_id"`
	Records          []byte  `bun:"records"`
	BurnAfter        *int32  `bun:"burn_after"`
	ReferenceID      *int64  `bun:"reference_id"`
	SequenceID       *int32  `bun:"sequence_id"`
	PreMessageID     *int64  `bun:"pre_message_id"`
}

func newMessageRow(m Message) messageRow {
	return messageRow{
		ID: m.ID, ConversationID: m.ConversationID, IsGroupMessage: m.IsGroupMessage, IsSystemMessage: m.IsSystemMessage,
		DeliveryDate: m.DeliveryDate.UnixMilli(), ModificationDate: millisOrNull(m.ModificationDate),
		DeletionDate: millisOrNull(m.DeletionDate), RecallDate: millisOrNull(m.RecallDate), Text: m.Text,
		SenderID: m.SenderID, SenderIP: addrBytes(m.SenderIP), TargetID: m.TargetID, Records: packRecords(m.Records),
		BurnAfter: m.BurnAfter, ReferenceID: m.ReferenceID, SequenceID: m.SequenceID, PreMessageID: m.PreMessageID,
	}
}

func (row messageRow) message() (Message, error) {
	m := Message{
		ID: row.ID, ConversationID: row.ConversationID, IsGroupMessage: row.IsGroupMessage, IsSystemMessage: row.IsSystemMessage,
		DeliveryDate: time.UnixMilli(row.DeliveryDate).UTC(), ModificationDate: timeOrNil(row.ModificationDate),
		DeletionDate: timeOrNil(row.DeletionDate), RecallDate: timeOrNil(row.RecallDate), Text: row.Text,
		SenderID: row.SenderID, TargetID: row.TargetID,
		BurnAfter: row.BurnAfter, ReferenceID: row.ReferenceID, SequenceID: row.SequenceID, PreMessageID: row.PreMessageID,
	}
	if row.SenderIP != nil {
		ip, ok := netip.AddrFromSlice(row.SenderIP)
		if !ok {
			return m, fmt.Errorf("read message %d: the sender's address has %d bytes", row.ID, len(row.SenderIP))
		}
		m.SenderIP = ip
	}
	var err error
	if m.Records, err = unpackRecords(row.Records); err != nil {
		return m, fmt.Errorf("read message %d: %w", row.ID, err)
	}
	return m, nil
}

func messages(rows []messageRow) ([]Message, error) {
	list := make([]Message, len(rows))
	for i, row := range rows {
		var err error
		if list[i], err = row.message(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// addrBytes are the 4 or 16 bytes of an address; an IPv4 address that is written as an IPv6 one has 4.
func addrBytes(ip netip.Addr) []byte {
	if !ip.IsValid() {
		return nil
	}
	return ip.Unmap().AsSlice()
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

// insertMessages may leave some rows behind when it fails, because the transaction fails with it: SQLite need not be able to
// undo the statement alone.
var insertMessages = newRowsStatement(
	"INSERT OR FAIL INTO message (id, conversation_id, is_group_message, is_system_message, delivery_date, modification_date, deletion_date, recall_date, "+
		"text, sender_id, sender_ip, target_id, records, burn_after, reference_id, sequence_id, pre_message_id) VALUES ",
	"(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", "",
)

// appendArgs appends the arguments of insertMessages.
func (row *messageRow) appendArgs(args []any) []any {
	return append(args,
		row.ID, bytesOrNull(row.ConversationID), row.IsGroupMessage, row.IsSystemMessage, row.DeliveryDate, orNull(row.ModificationDate),
		orNull(row.DeletionDate), orNull(row.RecallDate), orNull(row.Text), row.SenderID, bytesOrNull(row.SenderIP), row.TargetID,
		bytesOrNull(row.Records), orNull(row.BurnAfter), orNull(row.ReferenceID), orNull(row.SequenceID), orNull(row.PreMessageID))
}

// InsertMessages stores new messages. An id that exists is an ErrDuplicateKey.
func InsertMessages(ctx context.Context, tx Tx, messages ...Message) error {
	rows := make([]messageRow, len(messages))
	for i, m := range messages {
		rows[i] = newMessageRow(m)
	}
	var err error
	if c, ok := boundConn(tx); ok {
		_, err = insertMessages.exec(ctx, c, len(rows), func(args []any, i int) []any { return rows[i].appendArgs(args) })
	} else {
		err = insertRows(ctx, tx, rows)
	}
	if err != nil {
		return fmt.Errorf("insert messages: %w", err)
	}
	return nil
}

// UpdateMessages changes the messages with the given ids and returns the ids of those that differ afterwards.
func UpdateMessages(ctx context.Context, tx Tx, ids []int64, change MessageChange) ([]int64, error) {
	var c columnChanges
	setIf(&c, "is_system_message", change.IsSystemMessage)
	setIf(&c, "text", change.Text)
	setIf(&c, "burn_after", change.BurnAfter)
	setIf(&c, "recall_date", millisOrNull(change.RecallDate))
	if change.Records != nil {
		c.set("records", packRecords(*change.Records))
	}
	if change.SenderIP != nil {
		c.set("sender_ip", addrBytes(*change.SenderIP))
	}
	c.touch("modification_date", change.ModificationDate.UnixMilli())
	return c.update(ctx, tx, "message", "id", conditions{In(tx.Engine(), "t.id", ids)})
}

// MarkMessagesDeleted gives the messages with the given ids a deletion date, again if they have one, and returns how
// many got another one.
func MarkMessagesDeleted(ctx context.Context, tx Tx, ids []int64, at time.Time) (int64, error) {
	var c columnChanges
	c.set("deletion_date", at.UnixMilli())
	changed, err := c.update(ctx, tx, "message", "id", conditions{In(tx.Engine(), "t.id", ids)})
	return int64(len(changed)), err
}

// DeleteMessages deletes the messages with the given ids and returns how many there were.
func DeleteMessages(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deleteRows(ctx, tx, "message", conditions{In(tx.Engine(), "t.id", ids)})
}
