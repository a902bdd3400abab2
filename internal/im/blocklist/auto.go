// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// A Cause is a kind of offence for automatic blocking.
type Cause uint8

// The causes.
const (
	// CorruptedFrame is an invalid frame.
	CorruptedFrame Cause = iota
	// CorruptedRequest is a frame without a valid request.
	CorruptedRequest
	// FrequentRequest exceeds the rate limit.
	FrequentRequest
)

// A Level defines how many triggers lead to a block and how long it lasts.
type Level struct {
	// Duration is how long the block lasts.
	Duration time.Duration
	// Forget is the time after which one trigger is forgotten; 0 means never.
	Forget time.Duration
	// Threshold is how many triggers lead to the block; less than 1 means 1.
	Threshold int
}

// A Rule defines the consequences of a cause. Without levels there are none.
type Rule struct {
	Enabled bool
	Levels  []Level
}

// AutoOptions configure an AutoBlocker.
type AutoOptions struct {
	// Rule returns the current rule of a cause. It is called for every trigger.
	Rule   func(Cause) Rule
	Logger *slog.Logger
}

// An AutoBlocker blocks clients after repeated offences.
//
// Each client has an independent counter for each cause. A counter starts at the first level of its
// rule, and a trigger increments it. When the level's threshold is reached since the counter
// started or since its last block, the client is blocked for the level's duration from now, and the
// counter moves to the next level; on the last level it stays. So with the thresholds 5, 1 and 1
// the fifth trigger blocks for the first duration, the next one for the second, and each further
// one for the third. Triggers of a blocked client count as well, so that a client that does not
// stop is blocked ever longer.
//
// For every Forget of the current level that passes, one trigger is forgotten: one of those that
// count towards the next block, and one of the total. When all are forgotten, the counter starts
// again at the first level. The total is limited to the sum of all thresholds, which bounds the
// time until then. No trigger is forgotten while the counter's own block lasts, because a blocked
// client cannot offend. If that block is lifted early, the counter is reset.
//
// An automatic block never shortens an existing block. It takes effect on this node at once, and
// Run stores it for the others; if the store is unavailable for so long that the queue is full, the
// block stays on this node.
//
// Nothing is counted while the list or the rule is disabled. The number of counters is bounded; if
// there are too many, one with few triggers, in a sample, is dropped.
type AutoBlocker[K Key] struct {
	list    *List[K]
	opts    AutoOptions
	queue   chan block[K]
	dropped atomic.Uint64

	mu       sync.Mutex
	counters map[counterKey]*counter
}

const (
	// maxCounters bounds the memory for counters to some ten megabytes.
	maxCounters = 100_000
	// evictionSample is how many counters are sampled to find one to drop.
	evictionSample = 16
	// queueSize is how many blocks can wait for the store.
	queueSize = 4096
)

// A block is waiting to be stored.
type block[K Key] struct {
	key   K
	until int64
}

type counterKey struct {
	slot  slot
	cause Cause
}

// A counter counts the triggers of one client for one cause. Times are in
// milliseconds.
type counter struct {
	level int
	// since is how many triggers count towards the next block, total how many are not forgotten.
	since, total int
	// from is the start of the time until the next trigger is forgotten. During a block of the
	// counter it is the end of the block.
	from int64
	// until is the end of the last block of the counter.
	until int64
}

// NewAutoBlocker returns an AutoBlocker for the list. Run must be called to store its blocks.
func NewAutoBlocker[K Key](list *List[K], opts AutoOptions) *AutoBlocker[K] {
	return &AutoBlocker[K]{list: list, opts: opts, queue: make(chan block[K], queueSize), counters: map[counterKey]*counter{}}
}

// Trigger records an offence of a client, and reports whether the client is blocked now, for this
// or another reason. It does not block the caller.
func (b *AutoBlocker[K]) Trigger(key K, cause Cause) bool {
	if !valid(key) || !b.list.Enabled() {
		return false
	}
	key = b.list.client(key)
	rule := b.opts.Rule(cause)
	if !rule.Enabled || len(rule.Levels) == 0 {
		return b.list.BlockedNow(key)
	}
	now := b.list.now()
	blocked := b.list.BlockedNow(key)
	until := b.count(counterKey{slotOf(key), cause}, rule.Levels, now, blocked)
	if until == 0 {
		return blocked
	}
	changed, fresh := b.list.memory.extend(slotOf(key), until, now)
	if changed {
		b.enqueue(block[K]{key, until})
	}
	if fresh {
		b.list.notify([]K{key})
	}
	return true
}

func (b *AutoBlocker[K]) enqueue(p block[K]) {
	select {
	case b.queue <- p:
	default:
		b.dropped.Add(1)
	}
}

// Dropped returns how many blocks were not stored because the queue was full.
func (b *AutoBlocker[K]) Dropped() uint64 { return b.dropped.Load() }

// Counters returns how many counters there are.
func (b *AutoBlocker[K]) Counters() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.counters)
}

// count adds a trigger to a counter and returns the end of the resulting block; 0 means none.
func (b *AutoBlocker[K]) count(key counterKey, levels []Level, now int64, blocked bool) (until int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.counters[key]
	if c == nil {
		if len(b.counters) >= maxCounters {
			b.evict()
		}
		c = &counter{}
		b.counters[key] = c
	}
	if now < c.until && !blocked {
		*c = counter{}
	}
	c.forget(levels, now)
	return c.add(levels, now)
}

// evict drops the counter with the fewest triggers of a sample.
func (b *AutoBlocker[K]) evict() {
	var least counterKey
	var found *counter
	n := 0
	for key, c := range b.counters {
		if found == nil || c.total < found.total || c.total == found.total && c.from < found.from {
			least, found = key, c
		}
		if n++; n == evictionSample {
			break
		}
	}
	delete(b.counters, least)
}

// forget removes expired triggers.
func (c *counter) forget(levels []Level, now int64) {
	c.level = min(c.level, len(levels)-1)
	interval := levels[c.level].Forget.Milliseconds()
	if interval <= 0 || now < c.from {
		return
	}
	n := (now - c.from) / interval
	c.from += n * interval
	if n >= int64(c.total) {
		*c = counter{until: c.until}
		return
	}
	c.total -= int(n)
	c.since = max(0, c.since-int(n))
}

// add counts a trigger.
func (c *counter) add(levels []Level, now int64) (until int64) {
	if c.total == 0 {
		c.from = now
	}
	most := 0
	for _, l := range levels {
		most += max(l.Threshold, 1)
	}
	c.total = min(c.total+1, most)
	c.since++
	level := levels[c.level]
	if c.since < max(level.Threshold, 1) {
		return 0
	}
	c.since = 0
	c.until = endAfter(now, level.Duration.Milliseconds())
	c.from = c.until
	c.level = min(c.level+1, len(levels)-1)
	return c.until
}
