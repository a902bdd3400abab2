// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
)

// A MessageKey remembers which message a request made, so that the same request makes no second one.
type MessageKey struct {
	SenderID int64
	// Key is unique among the requests of the sender.
	Key       []byte
	MessageID int64
	// ExpiryDate is when the key may be forgotten.
	ExpiryDate time.Time
}

var messageKeys = newTable("message_key", "sender_id request_key message_id expiry_date", func(k *MessageKey) []any {
	return []any{&k.SenderID, &k.Key, &k.MessageID, (*millis)(&k.ExpiryDate)}
})

// InsertMessageKey remembers a request in the transaction that stores its message. A key that exists is an
// ErrDuplicateKey.
func InsertMessageKey(ctx context.Context, tx Tx, key MessageKey) error {
	if err := messageKeys.insert(ctx, tx, key); err != nil {
		return fmt.Errorf("insert the key of a message: %w", err)
	}
	return nil
}

// FindMessageKey returns what is remembered of a request, or false.
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

// DeleteMessageKeys forgets requests that expired before a date, at most limit of them, and returns how many.
func DeleteMessageKeys(ctx context.Context, tx Tx, before time.Time, limit int) (int64, error) {
	n, err := sqldb.Exec(ctx, tx, sqldb.New("DELETE FROM message_key WHERE (sender_id, request_key) IN "+
		"(SELECT sender_id, request_key FROM message_key WHERE expiry_date < ? ORDER BY expiry_date LIMIT ?)", before.UnixMilli(), limit))
	if err != nil {
		return 0, fmt.Errorf("delete the keys of messages: %w", err)
	}
	return n, nil
}
