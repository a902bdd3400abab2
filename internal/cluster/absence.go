// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	// absenceInterval is how often a process checks that its neighbours are connected to NATS.
	absenceInterval = time.Second
	// neighbours is how many other nodes each process watches: those that follow it in the order of
	// the ids, wrapping around. Several, so that a node is still watched when its neighbours end at
	// the same time.
	neighbours = 2
	// rejoinInterval is how often a node that wants the id of another checks whether that one is
	// connected. After rejoinLimit without connection, its process counts as killed.
	rejoinInterval = 250 * time.Millisecond
	rejoinLimit    = time.Second
)

// A detector finds nodes that have died and marks them as gone in the bucket.
type detector struct {
	cluster *Cluster
	once    sync.Once
}

// start starts watching the neighbours. Further calls do nothing.
func (d *detector) start() {
	if !d.cluster.exclusive {
		d.once.Do(func() { d.cluster.group.Go(d.run) })
	}
}

// run marks the records of neighbours that have lost their connection to NATS for good, as a killed
// process does. Waiting for their heartbeats to expire would take much longer.
func (d *detector) run() {
	c := d.cluster
	ticker := time.NewTicker(absenceInterval)
	defer ticker.Stop()
	since := map[string]time.Time{}
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.unaware:
			d.enforce()
			continue
		case <-ticker.C:
		}
		d.enforce()
		// After an outage of NATS, every node gets time to reconnect.
		if watched := c.Synchronized(); watched.IsZero() || time.Since(watched) < c.options.AbsenceLimit {
			clear(since)
			continue
		}
		seen := map[string]time.Time{}
		for _, s := range d.neighbours() {
			life := s.record.Member.NodeID + "/" + s.record.Incarnation
			_, absent := c.reach(c.ctx, s.record.Member.NodeID)
			if !absent || !c.up.Load() {
				continue
			}
			if seen[life] = since[life]; seen[life].IsZero() {
				seen[life] = time.Now()
			}
			if time.Since(seen[life]) >= c.options.AbsenceLimit {
				d.markGone(s)
			}
		}
		since = seen
	}
}

// neighbours returns the nodes that this process watches.
func (d *detector) neighbours() (list []sighting) {
	c := d.cluster
	own := c.ownNodes()
	if len(own) == 0 {
		return nil
	}
	c.directory.mu.Lock()
	defer c.directory.mu.Unlock()
	var before []sighting
	ids := make([]string, 0, len(c.members))
	for id := range c.members {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		s := c.members[id]
		mine := slices.ContainsFunc(own, func(n *Node) bool { return n.id == id })
		switch {
		case mine || s.record.Incarnation == "" || s.record.Gone:
		case id < own[0].id:
			before = append(before, s)
		default:
			list = append(list, s)
		}
	}
	list = append(list, before...)
	return list[:min(len(list), neighbours)]
}

// markGone marks the record of a node as gone. If the node comes back, its next heartbeat finds the
// mark.
func (d *detector) markGone(s sighting) {
	s.record.Gone = true
	member := &s.record.Member
	written := d.write(member.NodeID, func(ctx context.Context, b *bucket) (uint64, error) {
		return b.update(ctx, memberKey+member.NodeID, s.record, d.cluster.lifetime(member), s.revision)
	})
	if written {
		d.cluster.logger.Warn("a node counts as gone", "id", member.NodeID)
	}
}

// enforce writes to the bucket which nodes count as gone: those that did not renew their records in
// time, those whose tombstone was lost, and those that are back and do not know that they counted
// as gone.
func (d *detector) enforce() {
	if d.cluster.exclusive || !d.cluster.up.Load() {
		return
	}
	marks, tombstones := d.cluster.due(time.Now())
	for _, s := range marks {
		d.markGone(s)
	}
	for _, r := range tombstones {
		d.addTombstone(r)
	}
}

// addTombstone writes a tombstone for a node without a record.
func (d *detector) addTombstone(r record) {
	id := r.Member.NodeID
	written := d.write(id, func(ctx context.Context, b *bucket) (uint64, error) {
		return b.create(ctx, memberKey+id, tombstone(r), tombstoneTTL)
	})
	if written {
		d.cluster.logger.Info("a node without a record counts as gone", "id", id)
	}
}

// write changes the record of a node. It reports false if another node changed the record first.
func (d *detector) write(id string, change func(ctx context.Context, b *bucket) (uint64, error)) bool {
	c := d.cluster
	ctx, cancel := context.WithTimeout(c.ctx, operationTimeout)
	defer cancel()
	b, err := c.directory.current()
	if err != nil {
		return false
	}
	if _, err = change(ctx, b); err != nil && !errors.Is(err, errConflict) && c.ctx.Err() == nil {
		c.logger.Warn("cannot note that a node is gone", "id", id, "error", err)
	}
	return err == nil
}
