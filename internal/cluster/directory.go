// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// errUnknown is the state of a directory that has not been read yet.
var errUnknown = errors.New("the member records have not been read yet")

// A sighting is a record and when this process last saw it renewed, by its own clock.
type sighting struct {
	record   record
	revision uint64
	at       time.Time
}

// A leaseSighting is a lease and when this process last saw it renewed.
type leaseSighting struct {
	lease    lease
	revision uint64
	at       time.Time
}

// A MemberEvent describes a change. Before is nil for a new member, After for a removed one.
type MemberEvent struct{ Before, After *Member }

// A directory is this process's copy of the bucket, updated by a watch.
type directory struct {
	cluster *Cluster
	// ready is closed when the first copy is complete.
	ready chan struct{}
	again chan struct{}
	// unaware is signalled when a node is back that does not know that it counted as gone.
	unaware chan struct{}

	// generation counts the changes.
	generation atomic.Uint64

	mu     sync.Mutex
	bucket *bucket
	err    error
	// watched is the start of the current, gapless watch; zero while the connection is lost.
	watched time.Time
	members map[string]sighting
	// suspects are incarnations without a record. dead are those that count as gone until they
	// confirm that they know it.
	suspects map[life]suspect
	dead     map[life]deadLife
	lease    *leaseSighting
	// claim is the identity of the database that the cluster uses.
	claim string
	// changed is closed and replaced at each change.
	changed  chan struct{}
	watchers map[int]func(MemberEvent)
	next     int
}

func newDirectory(c *Cluster) *directory {
	return &directory{
		cluster: c, ready: make(chan struct{}), again: make(chan struct{}, 1), unaware: make(chan struct{}, 1), err: errUnknown,
		members: map[string]sighting{}, suspects: map[life]suspect{}, dead: map[life]deadLife{}, changed: make(chan struct{}), watchers: map[int]func(MemberEvent){},
	}
}

// resynchronise causes the bucket to be opened and read again.
func (d *directory) resynchronise() {
	select {
	case d.again <- struct{}{}:
	default:
	}
}

// touch wakes everybody who waits for a change.
func (d *directory) touch() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notify()
}

// lose records that the connection was lost and that changes may have been missed.
func (d *directory) lose() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watched = time.Time{}
	d.notify()
}

func (d *directory) notify() {
	d.generation.Add(1)
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *directory) failure() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// current returns the bucket, or an error if it is unusable.
func (d *directory) current() (*bucket, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return nil, d.err
	}
	return d.bucket, nil
}

// run keeps the copy up to date until the cluster is closed.
func (d *directory) run() {
	ctx := d.cluster.ctx
	for attempt := 0; ctx.Err() == nil; attempt++ {
		complete, err := d.watch(ctx)
		if complete {
			attempt = 0
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		d.fail(err)
		timer := time.NewTimer(reconnectDelay(min(attempt, 4)))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-d.again:
		}
		timer.Stop()
	}
}

// fail records that the copy is out of date. It logs only the first failure.
func (d *directory) fail(err error) {
	d.mu.Lock()
	first := d.err == nil
	if d.err == nil || errors.Is(d.err, errUnknown) {
		d.err = err
		d.notify()
	}
	d.mu.Unlock()
	if first {
		d.cluster.logger.Warn("the member records are not available", "error", err)
	}
}

// watch follows the bucket until it must be reopened, which is no error, or something fails.
func (d *directory) watch(ctx context.Context) (complete bool, err error) {
	b, err := openBucket(ctx, d.cluster)
	if err != nil {
		return false, err
	}
	now, err := b.now(ctx)
	if err == nil {
		err = d.cluster.measureClock(ctx, b)
	}
	if err != nil {
		return false, err
	}
	watchCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The context also ends the watch, so it must not have a deadline.
	limit := time.AfterFunc(operationTimeout, cancel)
	watcher, err := b.kv.WatchAll(watchCtx)
	if !limit.Stop() && err == nil {
		err = errors.New("the watch of the member records did not start in time")
	}
	if watcher != nil {
		defer drain(watcher)
	}
	if err != nil {
		return false, err
	}
	picture := map[string]sighting{}
	var found *leaseSighting
	var store claim
	for {
		select {
		case <-ctx.Done():
			return complete, nil
		case <-d.again:
			return complete, nil
		case entry, ok := <-watcher.Updates():
			switch {
			case !ok:
				return complete, errors.New("the watch of the member records ended")
			case entry == nil:
				complete = true
				d.replace(b, picture, found, store)
			case complete:
				d.apply(entry)
			default:
				at := time.Now().Add(-max(now.Sub(entry.Created()), 0))
				if id, ok := memberID(entry.Key()); ok {
					if r, ok := decode[record](d, entry); ok {
						picture[id] = sighting{record: r, revision: entry.Revision(), at: at}
					}
				} else if entry.Key() == claimKey {
					store, _ = decode[claim](d, entry)
				} else if l, ok := decode[lease](d, entry); ok && entry.Key() == leaderKey {
					found = &leaseSighting{lease: l, revision: entry.Revision(), at: at}
				}
			}
		}
	}
}

// drain stops a watcher and empties its channel; the library would block on it for ever.
func drain(watcher jetstream.KeyWatcher) {
	_ = watcher.Stop()
	limit := time.NewTimer(time.Second)
	defer limit.Stop()
	for {
		select {
		case _, ok := <-watcher.Updates():
			if !ok {
				return
			}
		case <-limit.C:
			return
		}
	}
}

// decode returns the value of an entry; ok is false if the key was removed or the value is invalid.
func decode[T any](d *directory, entry jetstream.KeyValueEntry) (value T, ok bool) {
	if entry.Operation() != jetstream.KeyValuePut {
		return value, false
	}
	if err := json.Unmarshal(entry.Value(), &value); err != nil {
		d.cluster.logger.Warn("ignored a record that cannot be decoded", "key", entry.Key(), "error", err)
		return value, false
	}
	return value, true
}

// replace replaces the whole copy and makes the own nodes renew their records.
func (d *directory) replace(b *bucket, picture map[string]sighting, found *leaseSighting, store claim) {
	d.mu.Lock()
	first := errors.Is(d.err, errUnknown)
	recovered := d.err != nil && !first
	d.err, d.bucket, d.watched = nil, b, b.opened
	old := d.members
	d.members, d.lease, d.claim = picture, found, store.Store
	for id, before := range old {
		if _, ok := picture[id]; !ok {
			d.updateLives(id, before, nil)
		}
	}
	for id, s := range picture {
		d.updateLives(id, old[id], &s.record)
	}
	if first {
		select {
		case <-d.ready:
		default:
			close(d.ready)
		}
	}
	d.notify()
	var events []MemberEvent
	for id, before := range old {
		after, ok := picture[id]
		events = appendEvent(events, memberOf(before, true), memberOf(after, ok))
	}
	for id, after := range picture {
		if _, ok := old[id]; !ok {
			events = appendEvent(events, nil, memberOf(after, true))
		}
	}
	watchers := slices.Collect(maps.Values(d.watchers))
	d.mu.Unlock()
	if recovered {
		d.cluster.logger.Info("the member records are available again")
	}
	for _, node := range d.cluster.ownNodes() {
		if s, ok := picture[node.ID()]; ok {
			node.observe(s.record, s.revision)
		}
		node.wakeHeart()
	}
	tell(watchers, events)
}

func memberOf(s sighting, ok bool) *Member {
	if !ok || s.record.Tombstone {
		return nil
	}
	return &s.record.Member
}

func appendEvent(events []MemberEvent, before, after *Member) []MemberEvent {
	if before == nil && after == nil || before != nil && after != nil && *before == *after {
		return events
	}
	return append(events, MemberEvent{Before: before, After: after})
}

func tell(watchers []func(MemberEvent), events []MemberEvent) {
	for _, event := range events {
		for _, watcher := range watchers {
			watcher(event)
		}
	}
}

// apply applies one change.
func (d *directory) apply(entry jetstream.KeyValueEntry) {
	if entry.Key() == leaderKey {
		l, ok := decode[lease](d, entry)
		d.mu.Lock()
		if ok {
			d.lease = &leaseSighting{lease: l, revision: entry.Revision(), at: time.Now()}
		} else {
			d.lease = nil
		}
		d.notify()
		d.mu.Unlock()
		return
	}
	if entry.Key() == claimKey {
		c, _ := decode[claim](d, entry)
		d.mu.Lock()
		d.claim = c.Store
		d.notify()
		d.mu.Unlock()
		for _, node := range d.cluster.ownNodes() {
			if node.claimant.store != "" && node.claimant.store != c.Store {
				node.wakeHeart()
			}
		}
		return
	}
	id, ok := memberID(entry.Key())
	if !ok {
		return
	}
	r, present := decode[record](d, entry)
	d.mu.Lock()
	before, known := d.members[id]
	if present {
		at := time.Now()
		if known && before.record.Incarnation == r.Incarnation && before.record.Beat == r.Beat {
			at = before.at
		}
		d.members[id] = sighting{record: r, revision: entry.Revision(), at: at}
		d.updateLives(id, before, &r)
	} else if known {
		delete(d.members, id)
		d.updateLives(id, before, nil)
	}
	events := appendEvent(nil, memberOf(before, known), memberOf(sighting{record: r}, present))
	d.notify()
	watchers := slices.Collect(maps.Values(d.watchers))
	d.mu.Unlock()
	for _, node := range d.cluster.ownNodes() {
		switch {
		case node.ID() != id:
		case present:
			node.observe(r, entry.Revision())
		default:
			node.wakeHeart()
		}
	}
	tell(watchers, events)
}

// member converts a sighting to a Member. A node without recent heartbeat is unhealthy, whatever
// its record says.
func (d *directory) member(s sighting) Member {
	m := s.record.Member
	if s.record.Incarnation != "" && (s.record.Gone || time.Since(s.at) > d.cluster.options.HeartbeatTimeout) {
		m.Status.Healthy = false
	}
	return m
}

// Members returns all known nodes in the order of their ids.
func (d *directory) Members() []Member {
	d.mu.Lock()
	defer d.mu.Unlock()
	members := make([]Member, 0, len(d.members))
	for _, s := range d.members {
		if !s.record.Tombstone {
			members = append(members, d.member(s))
		}
	}
	slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.NodeID, b.NodeID) })
	return members
}

// Member returns the node with the id.
func (d *directory) Member(id string) (Member, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.members[id]
	if !ok || s.record.Tombstone {
		return Member{}, false
	}
	return d.member(s), true
}

// Changed returns a channel that is closed at the next change of the members, the leader or the
// connection. Call it before reading the state, so that no change is missed.
func (d *directory) Changed() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changed
}

// WatchMembers calls fn for each change from now on, sequentially and in order; heartbeats count as
// changes. fn must return soon, because updates of the directory wait for it. stop ends the calls;
// one may still be running when it returns.
func (d *directory) WatchMembers(fn func(MemberEvent)) (stop func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := d.next
	d.next++
	d.watchers[key] = fn
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.watchers, key)
	}
}
