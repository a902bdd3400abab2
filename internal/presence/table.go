// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"slices"
	"sync"
	"sync/atomic"

	"example.org/app/internal/wire"
)

// shardCount is a power of two, so that the shard of a user is a few bits of a product.
const shardCount = 256

// A record is what this process knows of a user. It is immutable.
type record struct {
	content
	revision, epoch uint64
	// stale are sessions of an earlier bucket that their gateways may not have announced to this
	// one yet.
	stale []Session
}

// place returns where the record was written.
func (r *record) place() place { return place{r.epoch, r.revision} }

// A table is this process's copy of the bucket. Look-ups hold the lock of one shard briefly.
type table struct {
	// epoch is the epoch of the current bucket. Records of earlier ones are used until the gateways
	// of their sessions have announced themselves again.
	epoch atomic.Uint64
	// partitions is the number of partitions of that bucket, at least one.
	partitions atomic.Int64
	// followed are the revisions that the watches of the partitions have reached.
	followed [shardCount]atomic.Uint64
	// watched says which partitions are followed. Of the others the table has what this process's
	// gateway wrote, as it was then. complete says for which of them the table has all sessions.
	watched, complete [shardCount]atomic.Bool
	shards            [shardCount]shard
	// changed is called for every replacement, with the shard's lock held, so that dependent data
	// follows records in order.
	changed func(userID int64, before, after *record)
}

type shard struct {
	mu      sync.RWMutex
	records map[int64]*record
	// Padding against false sharing.
	_ [32]byte
}

func newTable(changed func(userID int64, before, after *record)) *table {
	t := &table{changed: changed}
	t.split(1)
	for i := range t.shards {
		t.shards[i].records = map[int64]*record{}
	}
	return t
}

func (t *table) shard(userID int64) *shard {
	return &t.shards[spread(userID)>>56]
}

func (t *table) get(userID int64) *record {
	s := t.shard(userID)
	s.mu.RLock()
	r := s.records[userID]
	s.mu.RUnlock()
	return r
}

// counts reports whether a session of a record is open, as far as this process knows.
func (t *table) counts(r *record, s *Session, stale bool) bool {
	if !s.gateway.live.Load() {
		return false
	}
	epoch := t.epoch.Load()
	return !stale && r.epoch == epoch || s.gateway.announced.to(t.partition(s.UserID)) < epoch
}

// live returns the open sessions of a record. It allocates only if some are not open.
func (t *table) live(r *record) []Session {
	if r == nil {
		return nil
	}
	all := true
	for i := range r.sessions {
		all = all && t.counts(r, &r.sessions[i], false)
	}
	if all && len(r.stale) == 0 {
		return r.sessions
	}
	var live []Session
	for i := range r.sessions {
		if t.counts(r, &r.sessions[i], false) {
			live = append(live, r.sessions[i])
		}
	}
	for i := range r.stale {
		if t.counts(r, &r.stale[i], true) {
			live = append(live, r.stale[i])
		}
	}
	return live
}

// split sets the number of partitions. With one, all users are followed; after following all users,
// the table is complete for each partition.
func (t *table) split(partitions int) {
	before := t.partitions.Swap(int64(partitions))
	if before == int64(partitions) {
		return
	}
	known := partitions == 1 || before == 1 && t.epoch.Load() > 0
	for i := range partitions {
		t.watched[i].Store(known)
		t.complete[i].Store(known)
	}
}

// partition returns the partition of a user.
func (t *table) partition(userID int64) int { return partitionOf(userID, int(t.partitions.Load())) }

// watches reports whether the partition of a user is followed.
func (t *table) watches(userID int64) bool { return t.watched[t.partition(userID)].Load() }

// knows reports whether the table has all sessions of the partition of a user.
func (t *table) knows(userID int64) bool { return t.complete[t.partition(userID)].Load() }

// known splits the users into those of complete partitions and others.
func (t *table) known(userIDs []int64) (known, others []int64) {
	for _, userID := range userIDs {
		if t.knows(userID) {
			known = append(known, userID)
		} else {
			others = append(others, userID)
		}
	}
	return known, others
}

// follow records the revision that the watch of a partition has reached. Only the watch calls it.
func (t *table) follow(partition int, revision uint64) {
	if revision > t.followed[partition].Load() {
		t.followed[partition].Store(revision)
	}
}

// followedFor returns the revision that the watch of the user's partition has reached.
func (t *table) followedFor(userID int64) uint64 { return t.followed[t.partition(userID)].Load() }

// news stores a change from the watch. Nothing older can arrive afterwards, so a record without
// sessions is removed.
func (t *table) news(userID int64, c content, revision, epoch uint64) {
	s := t.shard(userID)
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.records[userID]
	// Readers with the lock see either none of this or all.
	t.follow(t.partition(userID), revision)
	if before != nil && (before.epoch > epoch || before.epoch == epoch && before.revision > revision) {
		return
	}
	after := t.merge(before, c, revision, epoch)
	if len(after.sessions) == 0 && len(after.stale) == 0 {
		after = nil
	}
	t.replace(s, userID, before, after)
}

// wrote stores what this process has written. The watch may already have delivered it, and even
// later changes.
func (t *table) wrote(userID int64, c content, revision, epoch uint64) {
	s := t.shard(userID)
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.records[userID]
	if epoch < t.epoch.Load() || before != nil && before.epoch == epoch && before.revision > revision {
		return
	}
	watched := t.watches(userID)
	if watched && revision <= t.followedFor(userID) {
		return
	}
	after := t.merge(before, c, revision, epoch)
	if !watched && !after.own() {
		after = nil
	}
	// A record without sessions stays until the watch has reached its revision; otherwise older
	// news would restore them.
	t.replace(s, userID, before, after)
}

// merge returns the successor of a record, which may be of an earlier bucket or nil.
func (t *table) merge(before *record, c content, revision, epoch uint64) *record {
	after := &record{content: c, revision: revision, epoch: epoch}
	if before == nil {
		return after
	}
	if before.epoch < epoch {
		after.stale = t.keepStale(before.sessions, c.sessions, epoch)
	}
	after.stale = append(after.stale, t.keepStale(before.stale, c.sessions, epoch)...)
	if len(c.sessions) == 0 {
		after.status = before.status
	}
	return after
}

// keepStale returns the sessions whose gateways have not announced themselves and that were not
// replaced.
func (t *table) keepStale(sessions, taken []Session, epoch uint64) (stale []Session) {
	for i := range sessions {
		g := sessions[i].gateway
		if g.live.Load() && g.announced.to(t.partition(sessions[i].UserID)) < epoch && index(taken, sessions[i].Device) < 0 {
			stale = append(stale, sessions[i])
		}
	}
	return stale
}

func (t *table) replace(s *shard, userID int64, before, after *record) {
	if after == nil {
		delete(s.records, userID)
	} else {
		s.records[userID] = after
	}
	t.changed(userID, before, after)
}

// forget removes a session that its gateway has ended, whatever the bucket contains.
func (t *table) forget(userID int64, gone *Session) {
	s := t.shard(userID)
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.records[userID]
	if before == nil {
		return
	}
	without := func(sessions []Session) []Session {
		return slices.DeleteFunc(slices.Clone(sessions), func(s Session) bool { return s.same(gone) })
	}
	after := *before
	after.sessions, after.stale = without(before.sessions), without(before.stale)
	switch {
	case len(after.sessions)+len(after.stale) == len(before.sessions)+len(before.stale):
	case !t.watches(userID) && !after.own():
		t.replace(s, userID, before, nil)
	default:
		t.replace(s, userID, before, &after)
	}
}

// own reports whether the record has sessions of this process's gateway.
func (r *record) own() bool {
	isOwn := func(s Session) bool { return s.gateway.own }
	return slices.ContainsFunc(r.sessions, isOwn) || slices.ContainsFunc(r.stale, isOwn)
}

// drop drops a partition that is no longer followed, except for what this process's gateway wrote.
func (t *table) drop(partition int) {
	t.complete[partition].Store(false)
	t.watched[partition].Store(false)
	t.followed[partition].Store(0)
	t.prunePartition(partition, func(_ int64, r *record) *record {
		if r.own() {
			return r
		}
		return nil
	})
}

// emptied returns the rest of a record whose key is gone.
func (r *record) emptied() *record {
	if len(r.stale) == 0 {
		return nil
	}
	return &record{content: content{status: r.status}, epoch: r.epoch, stale: r.stale}
}

// prune replaces every record by the result of keep; nil removes it.
func (t *table) prune(keep func(userID int64, r *record) *record) {
	for p := range int(t.partitions.Load()) {
		t.prunePartition(p, keep)
	}
}

// prunePartition is prune for one partition.
func (t *table) prunePartition(partition int, keep func(userID int64, r *record) *record) {
	first, end := t.shardsOf(partition)
	for i := first; i < end; i++ {
		s := &t.shards[i]
		s.mu.Lock()
		for userID, before := range s.records {
			if after := keep(userID, before); after != before {
				t.replace(s, userID, before, after)
			}
		}
		s.mu.Unlock()
	}
}

// each calls fn with every record, holding the lock of its shard.
func (t *table) each(fn func(userID int64, r *record)) {
	for p := range int(t.partitions.Load()) {
		t.eachOf(p, fn)
	}
}

// shardsOf returns the first shard of a partition and the one after its last.
func (t *table) shardsOf(partition int) (first, end int) {
	size := shardCount / int(t.partitions.Load())
	return partition * size, (partition + 1) * size
}

// eachOf is each for one partition.
func (t *table) eachOf(partition int, fn func(userID int64, r *record)) {
	first, end := t.shardsOf(partition)
	for i := first; i < end; i++ {
		s := &t.shards[i]
		s.mu.RLock()
		for userID, r := range s.records {
			fn(userID, r)
		}
		s.mu.RUnlock()
	}
}

// entry returns the entry of a record; ok is false for an offline user.
func (t *table) entry(userID int64, r *record) (e Entry, ok bool) {
	live := t.live(r)
	if len(live) == 0 {
		return Entry{UserID: userID, Status: wire.UserStatus_OFFLINE}, false
	}
	return Entry{UserID: userID, Status: r.status, Sessions: live}, true
}

// filled completes the initial values of a watch, which contain the partition's keys at a revision.
// It removes the records that disappeared while the partition was not watched.
func (t *table) filled(partition int, epoch, last uint64, seen map[int64]struct{}) {
	t.follow(partition, last)
	t.prunePartition(partition, func(userID int64, r *record) *record {
		if _, ok := seen[userID]; ok || r.epoch != epoch || r.revision > last {
			return r
		}
		return r.emptied()
	})
}
