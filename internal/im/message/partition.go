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
	// partitionsPerRetention is the number of partitions for the retained messages.
	partitionsPerRetention = 8
	// longestPartition is the maximum span of a partition in hours, and its span if messages never
	// expire.
	longestPartition = 365 * 24
	// leastAhead is how far ahead partitions exist at least.
	leastAhead = 6 * time.Hour
	// detachAttempts is how often detaching a partition is tried, with a pause between, while long
	// queries run.
	detachAttempts = 10
	detachPause    = time.Second
)

// partitionWidth returns the time span of a partition.
func partitionWidth(retentionHours int32) time.Duration {
	if retentionHours <= 0 {
		return longestPartition * time.Hour
	}
	hours := (int64(retentionHours) + partitionsPerRetention - 1) / partitionsPerRetention
	return time.Duration(min(hours, longestPartition)) * time.Hour
}

// partitioned reports whether messages are kept in partitions.
func (e expiry) partitioned() bool { return e.opts.Store.Engine() == store.PostgreSQL }

// prepare creates the partitions for future messages.
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
			// After a long time without a leader a gap is left: the messages of that time stay
			// where all are that have no partition.
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

// dropPartitions drops the partitions whose messages have all expired or, if BeforeDelete decides
// about each message, the empty ones. It returns about how many messages were deleted.
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
	// This includes those of an interrupted clean-up.
	err = e.db.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
		dropped, err = store.DropDetachedMessages(ctx, tx, since)
		return err
	})
	return dropped, err
}

// detach detaches a partition, with retries while queries run.
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
