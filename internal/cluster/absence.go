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
	// absenceInterval is how often a process looks whether its neighbours are connected to NATS.
	absenceInterval = time.Second
	// neighbours is how many other nodes each process looks after: those that follow it in the order of the ids, and after
	// the last one the first. When neighbouring nodes end at the same time, each still has somebody.
	neighbours = 2
	// rejoinInterval is how often a node that wants the id of another looks whether that is connected, and rejoinLimit for
	// how long it must not be: its process was killed.
	rejoinInterval = 250 * time.Millisecond
	rejoinLimit    = time.Second
)

// A detector finds nodes that are gone, and makes the bucket say so.
type detector struct {
	cluster *Cluster
	once    sync.Once
}

// start begins to look after neighbours, once.
func (d *detector) start() {
	if !d.cluster.exclusive {
		d.once.Do(func() { d.cluster.group.Go(d.run) })
	}
}

// run marks the records of neighbours that have lost their connection to NATS for good, as a process that was
// killed: their heartbeats would be waited for much longer.
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
		// After an outage of NATS everybody gets time to connect again.
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

// neighbours returns the nodes that this process looks after.
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

// markGone notes in the record of a node that it is gone. Should the node come back, it finds that by its next heartbeat.
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

// enforce makes the bucket say which nodes count as gone: those that did not assert themselves in all the time that they had, those
// whose tombstone was lost, and those that are back and do not know.
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

// addTombstone makes a tombstone for a node without a record.
func (d *detector) addTombstone(r record) {
	id := r.Member.NodeID
	written := d.write(id, func(ctx context.Context, b *bucket) (uint64, error) {
		return b.create(ctx, memberKey+id, tombstone(r), tombstoneTTL)
	})
	if written {
		d.cluster.logger.Info("a node without a record counts as gone", "id", id)
	}
}

// write changes the record of a node and reports whether it did. Somebody else may have changed it before.
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
