// SPDX-License-Identifier: Apache-2.0

package message

import (
	"context"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// keyBatch is how many keys one transaction of the clean-up deletes.
const keyBatch = 5000

// remembered returns the stored key of a request that created a message.
func (d *Directory) remembered(m store.Message, key *Key) store.MessageKey {
	return store.MessageKey{SenderID: m.SenderID, Key: key.Value, MessageID: m.ID, ExpiryDate: d.now().Add(key.Lifetime)}
}

// recall returns the message that a request with the same key created, or the new one and false.
// Data that is delivered but not stored comes from the new one.
func (d *Directory) recall(ctx context.Context, r store.Reader, composed store.Message, key *Key) (m store.Message, existed bool, err error) {
	if key == nil {
		return composed, false, nil
	}
	known, existed, err := store.FindMessageKey(ctx, r, composed.SenderID, key.Value)
	if err != nil || !existed {
		return composed, false, err
	}
	composed.ID = known.MessageID
	found, err := store.FindMessages(ctx, r, store.MessageFilter{IDs: []int64{known.MessageID}}, store.MessagesByID, store.Page{})
	if err != nil || len(found) == 0 {
		return composed, true, err
	}
	stored := found[0]
	if stored.IsGroupMessage != composed.IsGroupMessage || stored.TargetID != composed.TargetID {
		return composed, true, apierr.New(apierr.IllegalArgument, "the key of the request is that of a message to somebody else")
	}
	if stored.Records == nil && stored.ReferenceID == nil {
		stored.Records = composed.Records
	}
	if stored.PreMessageID == nil {
		stored.PreMessageID = composed.PreMessageID
	}
	return stored, true, nil
}

// DeleteExpiredKeys deletes expired keys of requests and returns how many. One node at a time
// should call it.
func (d *Directory) DeleteExpiredKeys(ctx context.Context, db store.Writer) (deleted int64, err error) {
	now := d.now()
	for {
		var n int64
		err := db.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
			n, err = store.DeleteMessageKeys(ctx, tx, now, keyBatch)
			return err
		})
		if err != nil {
			return deleted, err
		}
		deleted += n
		if n < keyBatch {
			return deleted, nil
		}
	}
}
