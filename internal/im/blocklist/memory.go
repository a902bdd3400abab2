// SPDX-License-Identifier: Apache-2.0

package blocklist

import "sync"

// shardBits is the binary logarithm of the number of shards: enough that readers hardly contend,
// and that a scan of one is short.
const (
	shardBits  = 6
	shardCount = 1 << shardBits
)

// An entry is a block. until is in milliseconds. seq is the number of its change; 0 means that it
// is not stored yet, and a negative number that the current reading of the whole list has not found
// it so far.
type entry struct{ until, seq int64 }

// memory is the copy of a blocklist.
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

// shard returns the shard of a slot. The multiplication spreads neighbouring addresses and ids: its
// upper bits depend on all lower ones.
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

// apply applies a row of the store and reports whether it newly blocks a client.
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

// extend blocks until the given time unless the block lasts longer already, before it is stored. It
// reports what changed.
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

// each visits all entries. keep returns the new value of an entry, or false to drop it.
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

// mark marks the entries known to be stored, so that dropMarked can drop those that the store no
// longer has. They are marked in place: a second list would double the memory, and an empty one
// would admit everybody until it is filled.
func (m *memory) mark() {
	m.each(func(e entry) (entry, bool) { return entry{e.until, -max(e.seq, -e.seq)}, true })
}

// dropMarked drops the entries that were not applied since mark.
func (m *memory) dropMarked() {
	m.each(func(e entry) (entry, bool) { return e, e.seq >= 0 })
}

// dropUpTo drops the entries of all changes up to this number.
func (m *memory) dropUpTo(seq int64) {
	m.each(func(e entry) (entry, bool) { return e, max(e.seq, -e.seq) > seq })
}

// sweep drops the expired entries of one shard.
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
