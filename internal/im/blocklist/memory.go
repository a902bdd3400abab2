// SPDX-License-Identifier: Apache-2.0

package blocklist

import "sync"

// shardBits is the binary logarithm of the number of shards. There are enough
// of them that readers hardly meet, and that a walk through one is short.
const (
	shardBits  = 6
	shardCount = 1 << shardBits
)

// An entry is a block. until is in milliseconds. seq is the number of the change
// that made it; 0 means that it is not in the store yet, and a negative number
// that a reading of the whole list has not come across it so far.
type entry struct{ until, seq int64 }

// memory is the mirror of a blocklist.
type memory struct{ shards [shardCount]shard }

type shard struct {
	mu      sync.RWMutex
	entries map[slot]entry
}

func newMemory() *memory {
	m := &memory{}
	for i := range m.shards {
		m.shards[i].entries = map[slot]entry{}
	}
	return m
}

// shard spreads neighbouring addresses and ids by a multiplication whose upper
// bits depend on all lower ones.
func (m *memory) shard(s slot) *shard {
	const odd = 0x9E3779B97F4A7C15
	return &m.shards[((s.low^s.high*odd)*odd)>>(64-shardBits)]
}

func (m *memory) get(s slot) (entry, bool) {
	sh := m.shard(s)
	sh.mu.RLock()
	e, ok := sh.entries[s]
	sh.mu.RUnlock()
	return e, ok
}

// apply makes the entry what a row of the store says, and reports whether that
// blocks somebody who was not blocked.
func (m *memory) apply(s slot, e entry, now int64) bool {
	sh := m.shard(s)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if e.until <= now {
		delete(sh.entries, s)
		return false
	}
	old, found := sh.entries[s]
	sh.entries[s] = e
	return !found || old.until <= now
}

// extend blocks until the given moment unless the block lasts longer already,
// before the store knows. It reports what it changed.
func (m *memory) extend(s slot, until, now int64) (changed, fresh bool) {
	sh := m.shard(s)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	old, found := sh.entries[s]
	if found && old.until >= until {
		return false, false
	}
	sh.entries[s] = entry{until: until}
	return true, !found || old.until <= now
}

// each walks through all entries. keep returns what an entry becomes, or false
// to drop it.
func (m *memory) each(keep func(entry) (entry, bool)) {
	for i := range m.shards {
		m.shards[i].each(keep)
	}
}

func (sh *shard) each(keep func(entry) (entry, bool)) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for s, e := range sh.entries {
		changed, ok := keep(e)
		switch {
		case !ok:
			delete(sh.entries, s)
		case changed != e:
			sh.entries[s] = changed
		}
	}
}

// mark marks the entries that the store is known to hold, so that dropMarked can
// tell which of them it holds no more. Entries are marked in place: a second
// list beside the first would take twice the memory, and an empty one would let
// everybody in until it is filled.
func (m *memory) mark() {
	m.each(func(e entry) (entry, bool) { return entry{e.until, -max(e.seq, -e.seq)}, true })
}

// dropMarked drops the entries that were not applied again since mark.
func (m *memory) dropMarked() {
	m.each(func(e entry) (entry, bool) { return e, e.seq >= 0 })
}

// dropUpTo drops the entries of all changes up to the one with this number.
func (m *memory) dropUpTo(seq int64) {
	m.each(func(e entry) (entry, bool) { return e, max(e.seq, -e.seq) > seq })
}

// sweep drops the entries of one shard that have ended.
func (m *memory) sweep(shard int, now int64) {
	m.shards[shard].each(func(e entry) (entry, bool) { return e, e.until > now })
}

func (m *memory) len() (n int) {
	for i := range m.shards {
		sh := &m.shards[i]
		sh.mu.RLock()
		n += len(sh.entries)
		sh.mu.RUnlock()
	}
	return n
}
