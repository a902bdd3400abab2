// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"example.org/app/internal/store/sqldb"
)

// A MessageKey stores what a request created, mostly a message, so that a repeated request does not
// create it again.
type MessageKey struct {
	SenderID int64
	// Key is unique among the requests of the sender.
	Key []byte
	// MessageID is the id of the message, or of another object that the request created.
	MessageID int64
	// ExpiryDate is when the key may be deleted.
	ExpiryDate time.Time
}

var messageKeys = newTable("message_key", "sender_id request_key message_id expiry_date", func(k *MessageKey) []any {
	return []any{&k.SenderID, &k.Key, &k.MessageID, (*millis)(&k.ExpiryDate)}
})

// InsertMessageKey stores the key of a request in the transaction that stores its message. It
// returns ErrDuplicateKey if the key exists.
func InsertMessageKey(ctx context.Context, tx Tx, key MessageKey) error {
	if err := messageKeys.insert(ctx, tx, key); err != nil {
		return fmt.Errorf("insert the key of a message: %w", err)
	}
	return nil
}

// FindMessageKey returns the stored key of a request; the boolean is false if there is none.
func FindMessageKey(ctx context.Context, r Reader, sender int64, key []byte) (MessageKey, bool, error) {
	found, err := messageKeys.find(ctx, r, where("t.sender_id = ? AND t.request_key = ?", sender, bytesOf(key)), Page{})
	if err != nil {
		return MessageKey{}, false, fmt.Errorf("find the key of a message: %w", err)
	}
	if len(found) == 0 {
		return MessageKey{}, false, nil
	}
	return found[0], true, nil
}

// DeleteMessageKeys deletes keys that expired before a date, at most limit, and returns how many.
func DeleteMessageKeys(ctx context.Context, tx Tx, before time.Time, limit int) (int64, error) {
	n, err := sqldb.Exec(ctx, tx, sqldb.New("DELETE FROM message_key WHERE (sender_id, request_key) IN "+
		"(SELECT sender_id, request_key FROM message_key WHERE expiry_date < ? ORDER BY expiry_date LIMIT ?)", before.UnixMilli(), limit))
	if err != nil {
		return 0, fmt.Errorf("delete the keys of messages: %w", err)
	}
	return n, nil
}

// A KnownRequest is the error of a transaction whose request was carried out before.
type KnownRequest struct {
	// IDs are the ids of what it created, at least one.
	IDs []int64
}

func (e *KnownRequest) Error() string { return fmt.Sprintf("the request has made %v before", e.IDs) }

// Remember stores what a request creates in this transaction; a nil key stores nothing. It must
// precede everything that could refuse the request. If the key exists, it returns a *KnownRequest.
// The MessageID of the key is ignored.
func (k *MessageKey) Remember(ctx context.Context, tx Tx, ids ...int64) error {
	if k == nil {
		return nil
	}
	if err := k.Recall(ctx, tx); err != nil {
		return err
	}
	for i, id := range ids {
		part := k.part(i)
		part.MessageID = id
		if err := InsertMessageKey(ctx, tx, part); err != nil {
			return err
		}
	}
	return nil
}

// Recall returns a *KnownRequest if the key exists; a nil key never does.
func (k *MessageKey) Recall(ctx context.Context, r Reader) error {
	if k == nil {
		return nil
	}
	var ids []int64
	for {
		known, found, err := FindMessageKey(ctx, r, k.SenderID, k.part(len(ids)).Key)
		switch {
		case err != nil:
			return err
		case found:
			ids = append(ids, known.MessageID)
		case len(ids) > 0:
			return &KnownRequest{ids}
		default:
			return nil
		}
	}
}

// part returns the key of the i-th object that a request creates.
func (k *MessageKey) part(i int) MessageKey {
	part := *k
	if i > 0 {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(slices.Clone(k.Key), uint64(i)))
		part.Key = sum[:16]
	}
	return part
}
