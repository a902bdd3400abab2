// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"context"
	"time"

	"example.org/app/internal/store"
)

const (
	// recordBatch is how many blocks share a transaction.
	recordBatch = 256
	// retryInterval is the pause after a failed write.
	retryInterval = time.Second
	// tidyInterval is how often empty counters are dropped.
	tidyInterval = time.Minute
	// lastChance bounds the last write when Run ends.
	lastChance = 5 * time.Second
)

// Run stores the blocks and drops empty counters, until ctx ends. Then it tries once to store the
// rest.
func (b *AutoBlocker[K]) Run(ctx context.Context) error {
	tidy := time.NewTicker(tidyInterval)
	defer tidy.Stop()
	pending := map[K]int64{}
	// After a failure, do not read the queue, so that it bounds the backlog.
	queue, retry := b.queue, (<-chan time.Time)(nil)
	reported := uint64(0)
	for {
		select {
		case <-ctx.Done():
			b.flush(pending)
			return nil
		case <-tidy.C:
			b.tidy()
			if n := b.dropped.Load(); n > reported {
				b.opts.Logger.Warn("blocks stay on this node because too many wait for the store", "blocks", n-reported)
				reported = n
			}
			continue
		case p := <-queue:
			b.gather(pending, p)
		case <-retry:
		}
		failing := retry != nil
		queue, retry = b.queue, nil
		if err := b.record(ctx, pending); err != nil {
			if !failing && ctx.Err() == nil {
				b.opts.Logger.Warn("blocks cannot be stored and stay on this node for now", "error", err)
			}
			queue, retry = nil, time.After(retryInterval)
		}
	}
}

// gather moves blocks from the queue to pending, up to the size of a batch.
func (b *AutoBlocker[K]) gather(pending map[K]int64, p block[K]) {
	for {
		pending[p.key] = max(pending[p.key], p.until)
		if len(pending) >= recordBatch {
			return
		}
		select {
		case p = <-b.queue:
		default:
			return
		}
	}
}

// flush stores the rest when the context of Run has ended.
func (b *AutoBlocker[K]) flush(pending map[K]int64) {
	ctx, cancel := context.WithTimeout(context.Background(), lastChance)
	defer cancel()
	for {
		select {
		case p := <-b.queue:
			b.gather(pending, p)
		default:
			if len(pending) == 0 {
				return
			}
		}
		if err := b.record(ctx, pending); err != nil {
			b.opts.Logger.Warn("blocks could not be stored and are lost for other nodes", "blocks", len(pending)+len(b.queue), "error", err)
			return
		}
	}
}

// record stores the pending blocks that have not expired, in one transaction, and clears pending.
func (b *AutoBlocker[K]) record(ctx context.Context, pending map[K]int64) error {
	now := b.list.now()
	byEnd := map[int64][]K{}
	for key, until := range pending {
		if until > now {
			byEnd[until] = append(byEnd[until], key)
		}
	}
	if len(byEnd) > 0 {
		err := b.list.change(ctx, func(ctx context.Context, tx store.Tx) error {
			for until, keys := range byEnd {
				if err := b.list.records.put(ctx, tx, keys, time.UnixMilli(until), true); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	clear(pending)
	return nil
}

// tidy drops empty counters.
func (b *AutoBlocker[K]) tidy() {
	now := b.list.now()
	rules := map[Cause]Rule{}
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, c := range b.counters {
		rule, known := rules[key.cause]
		if !known {
			rule = b.opts.Rule(key.cause)
			rules[key.cause] = rule
		}
		if rule.Enabled && len(rule.Levels) > 0 {
			c.forget(rule.Levels, now)
		}
		if c.total == 0 || !rule.Enabled {
			delete(b.counters, key)
		}
	}
}
