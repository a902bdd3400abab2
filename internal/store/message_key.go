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

// A MessageKey remembers what a request made, mostly a message, so that the same request makes no second one.
type MessageKey struct {
	SenderID int64
	// Key is unique among the requests of the sender.
	Key []byte
	// MessageID is the id of the message, or of what else the request made.
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

// keyOfRequest is the key of a context.
type keyOfRequest struct{}

// WithRequestKey gives the request of a context a key, which Remember stores. The MessageID of the key is not used.
func WithRequestKey(ctx context.Context, key MessageKey) context.Context {
	return context.WithValue(ctx, keyOfRequest{}, key)
}

// A KnownRequest is the error of a transaction whose request has made something before.
type KnownRequest struct {
	// IDs are those of what it made, at least one.
	IDs []int64
}

func (e *KnownRequest) Error() string { return fmt.Sprintf("the request has made %v before", e.IDs) }

// Remember stores what the request of the context makes in this transaction, if it has a key. It must come before everything
// that could refuse the request. If the key is known it returns a *KnownRequest.
func Remember(ctx context.Context, tx Tx, ids ...int64) error {
	key, ok := ctx.Value(keyOfRequest{}).(MessageKey)
	if !ok {
		return nil
	}
	if err := Recall(ctx, tx); err != nil {
		return err
	}
	for i, id := range ids {
		part := key.part(i)
		part.MessageID = id
		if err := InsertMessageKey(ctx, tx, part); err != nil {
			return err
		}
	}
	return nil
}

// Recall returns a *KnownRequest if the request of the context has a key that is known.
func Recall(ctx context.Context, r Reader) error {
	key, ok := ctx.Value(keyOfRequest{}).(MessageKey)
	if !ok {
		return nil
	}
	var ids []int64
	for {
		known, found, err := FindMessageKey(ctx, r, key.SenderID, key.part(len(ids)).Key)
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

// part is the key of the ith thing that a request makes.
func (k MessageKey) part(i int) MessageKey {
	if i > 0 {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(slices.Clone(k.Key), uint64(i)))
		k.Key = sum[:16]
	}
	return k
}
