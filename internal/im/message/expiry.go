// SPDX-License-Identifier: Apache-2.0

package message

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/store"
)

// expiryBatch bounds how many messages one transaction of the clean-up deletes and
// how many are in memory at once.
const expiryBatch = 500

// DeleteExpired deletes the messages that are kept no longer, those that
// BeforeDelete agrees to, and returns how many. It is the job of one node at a
// time, and can be stopped and repeated at will.
func (d *Directory) DeleteExpired(ctx context.Context, db store.Writer) (deleted int64, err error) {
	hours := d.opts.Settings().MessageRetentionPeriodHours
	if hours <= 0 {
		return 0, nil
	}
	// Milliseconds, because so many hours may be no time.Duration.
	before := time.UnixMilli(d.now().UnixMilli() - int64(hours)*time.Hour.Milliseconds())
	var last *store.Message
	for {
		var expired []store.Message
		err := d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
			expired, err = store.FindMessagesBefore(ctx, r, before, last, expiryBatch)
			return err
		})
		if err != nil || len(expired) == 0 {
			return deleted, err
		}
		last = &expired[len(expired)-1]
		n, err := d.expire(ctx, db, expired)
		deleted += n
		if err != nil {
			return deleted, err
		}
	}
}

func (d *Directory) expire(ctx context.Context, db store.Writer, expired []store.Message) (deleted int64, err error) {
	if d.opts.BeforeDelete != nil {
		if expired, err = d.opts.BeforeDelete(ctx, expired); err != nil {
			return 0, fmt.Errorf("delete expired messages: %w", err)
		}
	}
	if len(expired) == 0 {
		return 0, nil
	}
	messageIDs := make([]int64, len(expired))
	for i, m := range expired {
		messageIDs[i] = m.ID
	}
	err = db.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		deleted, err = store.DeleteMessages(ctx, tx, messageIDs)
		return err
	})
	if err != nil {
		return 0, err
	}
	return deleted, nil
}
