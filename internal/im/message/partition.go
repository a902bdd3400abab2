// SPDX-License-Identifier: Apache-2.0

package message

import (
	"context"
	"errors"
	"time"

	"example.org/app/internal/ids"
	"example.org/app/internal/sleep"
	"example.org/app/internal/store"
)

const (
	// partitionsPerRetention is how many partitions hold the messages that are kept.
	partitionsPerRetention = 8
	// longestPartition is how many hours of messages a partition holds at most, and how many it holds if messages are kept for ever.
	longestPartition = 365 * 24
	// leastAhead is for how long there are partitions at least.
	leastAhead = 6 * time.Hour
	// detachAttempts is how often a partition is tried to be detached, with a pause between, while long queries run.
	detachAttempts = 10
	detachPause    = time.Second
)

// partitionWidth returns how long the span of time is whose messages a partition holds.
func partitionWidth(retentionHours int32) time.Duration {
	if retentionHours <= 0 {
		return longestPartition * time.Hour
	}
	hours := (int64(retentionHours) + partitionsPerRetention - 1) / partitionsPerRetention
	return time.Duration(min(hours, longestPartition)) * time.Hour
}

// partitioned reports whether messages are kept in partitions.
func (e expiry) partitioned() bool { return e.opts.Store.Engine() == store.PostgreSQL }

// prepare makes the partitions for the messages that come next.
func (e expiry) prepare(ctx context.Context) (made int64, err error) {
	if !e.partitioned() {
		return 0, nil
	}
	now, width := e.now, partitionWidth(e.opts.Settings().MessageRetentionPeriodHours)
	for end := now.Add(max(2*width, leastAhead)); ; made++ {
		done := false
		err := e.db.Write(ctx, func(ctx context.Context, tx store.Tx) error {
			list, err := store.FindMessagePartitions(ctx, tx)
			if err != nil {
				return err
			}
			from := now.Truncate(time.Hour)
			// After a long time without a leader a gap is left: the messages of that time stay where all are that have no partition.
			if n := len(list); n > 0 && list[n-1].To >= ids.First(now.Add(-width)) {
				from = ids.Time(list[n-1].To)
			}
			if done = !from.Before(end); done {
				return nil
			}
			return store.CreateMessagePartition(ctx, tx, from, from.Add(width))
		})
		if err != nil || done {
			return made, err
		}
	}
}

// dropPartitions drops the partitions whose messages are all kept no longer, or, if each message is decided about, those that
// are empty. It returns about how many messages are gone.
func (e expiry) dropPartitions(ctx context.Context, before time.Time, empty bool) (dropped int64, err error) {
	since := &before
	if empty {
		since = nil
	}
	var list []store.MessagePartition
	err = e.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
		list, err = store.FindMessagePartitions(ctx, r)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, p := range list {
		if p.To > ids.First(before) {
			break
		}
		var needed bool
		err := e.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
			needed, err = p.HoldsMessages(ctx, r, since)
			return err
		})
		if err == nil && !needed {
			err = e.detach(ctx, p)
		}
		switch {
		case errors.Is(err, store.ErrTimeout):
			e.opts.Logger.WarnContext(ctx, "could not detach a partition of messages because of long queries; the next clean-up tries again",
				"partition", p.Name, "error", err)
		case err != nil:
			return 0, err
		}
	}
	// Those of a clean-up that was interrupted are dropped as well.
	err = e.db.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
		dropped, err = store.DropDetachedMessages(ctx, tx, since)
		return err
	})
	return dropped, err
}

// detach detaches a partition, with some patience for queries that run.
func (e expiry) detach(ctx context.Context, p store.MessagePartition) error {
	for attempt := 1; ; attempt++ {
		err := e.db.Write(ctx, func(ctx context.Context, tx store.Tx) error { return store.DetachMessagePartition(ctx, tx, p) })
		if !errors.Is(err, store.ErrTimeout) || attempt == detachAttempts {
			return err
		}
		if err := sleep.For(ctx, detachPause); err != nil {
			return err
		}
	}
}
