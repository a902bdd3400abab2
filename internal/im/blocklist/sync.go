// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/store"
)

const (
	// chunk is how many rows are read at a time.
	chunk = 10_000
	// sweepBatch is how many rows one transaction of Sweep removes.
	sweepBatch = 1000
	// sweepAge is how long a row stays after its block has ended. A node that cannot reach the
	// store for longer reads the whole list afterwards.
	sweepAge = 10 * time.Minute
	// maxAttempts bounds how often a reading is repeated because rows were swept concurrently; the
	// rest is read the next time.
	maxAttempts = 3
)

// Refresh updates the memory from the store. Without changes it costs one short query. It is for
// callers that learn of a change before Run polls.
func (l *List[K]) Refresh(ctx context.Context) error {
	revision, err := l.opts.Store.Revision(ctx, l.records.revision())
	if err != nil {
		return fmt.Errorf("read blocked clients: %w", err)
	}
	if l.seen.Load() >= revision {
		return nil
	}
	blocked, err := l.catchUp(ctx, revision)
	l.notify(blocked)
	if err != nil {
		return fmt.Errorf("read blocked clients: %w", err)
	}
	return nil
}

// catchUp reads the changes up to at least a revision, and returns the newly blocked clients.
func (l *List[K]) catchUp(ctx context.Context, revision int64) (blocked []K, err error) {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	if l.seen.Load() >= revision {
		return nil, nil
	}
	for range maxAttempts {
		if err := l.read(ctx, &blocked); err != nil {
			return blocked, err
		}
		if !l.stale {
			break
		}
	}
	return blocked, nil
}

// read reads the changes since the last time, or the whole list if some are no longer available. It
// reads the numbers first: after a concurrent change the memory is newer than they say, and the
// next call reads again.
func (l *List[K]) read(ctx context.Context, blocked *[]K) error {
	before, err := l.state(ctx)
	if err != nil {
		return err
	}
	whole := l.stale || before.Swept > l.position
	from := l.position
	if whole {
		// If anything fails below, the marks exist and must be handled.
		l.stale = true
		l.memory.mark()
		from = 0
	}
	if before.Cleared > l.cleared {
		l.memory.dropUpTo(before.Cleared)
		l.cleared = before.Cleared
	}
	last, err := l.apply(ctx, max(from, before.Cleared), blocked)
	if err != nil {
		return err
	}
	complete := l.position
	if whole {
		l.memory.dropMarked()
		complete = before.Revision
	}
	after, err := l.state(ctx)
	if err != nil {
		return err
	}
	// Rows that changed after they were read may have been swept before they were read again.
	l.stale = after.Swept > complete
	l.position = max(before.Revision, last)
	if !l.stale {
		l.seen.Store(before.Revision)
	}
	return nil
}

func (l *List[K]) state(ctx context.Context) (state store.BlocklistState, err error) {
	err = l.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		state, err = l.records.state(ctx, r)
		return err
	})
	return state, err
}

// apply applies the rows after a number in order, and returns the last number. Rows that became
// invalid because the list was emptied meanwhile are dropped by the next read.
func (l *List[K]) apply(ctx context.Context, after int64, blocked *[]K) (last int64, err error) {
	last = after
	next := l.records.changes(after, chunk)
	now := l.now()
	tell := l.subscribers.Load() != nil
	for n := chunk; n == chunk; {
		err := l.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
			n, err = next(ctx, r, func(key K, end, seq int64) {
				last = seq
				if l.memory.apply(slotOf(key), entry{end, seq}, now) && tell {
					*blocked = append(*blocked, key)
				}
			})
			return err
		})
		if err != nil {
			return last, err
		}
	}
	return last, nil
}

// Run follows the changes of other nodes and drops expired blocks, until ctx ends.
func (l *List[K]) Run(ctx context.Context) error {
	tick := 0
	return store.Watch(ctx, l.opts.Interval, l.opts.Logger, "blocked clients", func(ctx context.Context) error {
		l.memory.sweep(tick%shardCount, l.now())
		tick++
		return l.Refresh(ctx)
	})
}

// Sweep deletes rows from the store that have been obsolete for some minutes, in short
// transactions, and returns their number. One node of the cluster should call it periodically.
func (l *List[K]) Sweep(ctx context.Context, db store.Writer) (int64, error) {
	before := l.opts.Clock().Add(-sweepAge)
	for total := int64(0); ; {
		var n int64
		err := db.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
			n, err = l.records.sweep(ctx, tx, before, sweepBatch)
			return err
		})
		if err != nil {
			return total, fmt.Errorf("sweep the blocklist: %w", err)
		}
		if total += n; n < sweepBatch {
			return total, nil
		}
	}
}
