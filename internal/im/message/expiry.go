// SPDX-License-Identifier: Apache-2.0

package message

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/store"
)

// expiryBatch is how many messages one transaction of the clean-up deletes, and so the number in
// memory.
const expiryBatch = 500

// DeleteExpired deletes the expired messages that BeforeDelete approves, and returns how many. One
// node at a time should call it; it can be interrupted and repeated.
//
// If messages are partitioned, and BeforeDelete need not be called for each, whole partitions are
// dropped. Single messages are deleted only if they are older by the width of a partition: those
// whose ids do not contain their time, and those from before partitioning. The number is an
// estimate then.
func (d *Directory) DeleteExpired(ctx context.Context, db store.Writer) (deleted int64, err error) {
	return expiry{d.opts, d.now(), db}.run(ctx)
}

// PreparePartitions creates partitions for future messages, if the database has partitions, and
// returns how many. Messages without partition are stored, too; the next run moves them.
func (d *Directory) PreparePartitions(ctx context.Context, db store.Writer) (made int64, err error) {
	return expiry{d.opts, d.now(), db}.prepare(ctx)
}

// An expiry is one run of the clean-up.
type expiry struct {
	opts Options
	now  time.Time
	db   store.Writer
}

func (e expiry) run(ctx context.Context) (deleted int64, err error) {
	hours := e.opts.Settings().MessageRetentionPeriodHours
	if hours <= 0 {
		return 0, nil
	}
	// Milliseconds, because the hours may overflow a time.Duration.
	before := time.UnixMilli(e.now.UnixMilli() - int64(hours)*time.Hour.Milliseconds())
	if !e.partitioned() {
		return e.deleteBefore(ctx, before)
	}
	each, err := e.decidesAboutEach(ctx)
	switch {
	case err != nil:
		return 0, err
	case each:
		if deleted, err = e.deleteBefore(ctx, before); err == nil {
			_, err = e.dropPartitions(ctx, before, true)
		}
		return deleted, err
	}
	if deleted, err = e.dropPartitions(ctx, before, false); err != nil {
		return deleted, err
	}
	more, err := e.deleteBefore(ctx, before.Add(-partitionWidth(hours)))
	return deleted + more, err
}

// decidesAboutEach reports whether BeforeDelete must be called with each expired message.
func (e expiry) decidesAboutEach(ctx context.Context) (each bool, err error) {
	if e.opts.BeforeDelete != nil && (e.opts.AsksBeforeDelete == nil || e.opts.AsksBeforeDelete()) {
		return true, nil
	}
	err = e.db.Write(ctx, func(_ context.Context, tx store.Tx) error {
		each = store.WantsEvents(tx)
		return nil
	})
	return each, err
}

// deleteBefore deletes the messages delivered before a date one by one.
func (e expiry) deleteBefore(ctx context.Context, before time.Time) (deleted int64, err error) {
	var last *store.Message
	for {
		var expired []store.Message
		err := e.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
			expired, err = store.FindMessagesBefore(ctx, r, before, last, expiryBatch)
			return err
		})
		if err != nil || len(expired) == 0 {
			return deleted, err
		}
		last = &expired[len(expired)-1]
		n, err := e.delete(ctx, expired)
		deleted += n
		if err != nil {
			return deleted, err
		}
	}
}

func (e expiry) delete(ctx context.Context, expired []store.Message) (deleted int64, err error) {
	if e.opts.BeforeDelete != nil {
		if expired, err = e.opts.BeforeDelete(ctx, expired); err != nil {
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
	err = e.db.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		deleted, err = store.DeleteMessages(ctx, tx, messageIDs)
		return err
	})
	if err != nil {
		return 0, err
	}
	return deleted, nil
}
