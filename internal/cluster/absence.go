// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
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

// startAbsence begins to look after neighbours, once.
func (c *Cluster) startAbsence() {
	if !c.exclusive {
		c.absence.Do(func() { c.group.Go(c.absenceLoop) })
	}
}

// absenceLoop marks the records of neighbours that have lost their connection to NATS for good, as a process that was
// killed: their heartbeats would be waited for much longer.
func (c *Cluster) absenceLoop() {
	ticker := time.NewTicker(absenceInterval)
	defer ticker.Stop()
	since := map[string]time.Time{}
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.directory.unaware:
			c.bury()
			continue
		case <-ticker.C:
		}
		c.bury()
		// After an outage of NATS everybody gets time to connect again.
		if watched := c.Synchronized(); watched.IsZero() || time.Since(watched) < c.options.AbsenceLimit {
			clear(since)
			continue
		}
		seen := map[string]time.Time{}
		for _, s := range c.neighbours() {
			life := s.record.Member.NodeID + "/" + s.record.Incarnation
			_, absent := c.reach(c.ctx, s.record.Member.NodeID)
			if !absent || !c.up.Load() {
				continue
			}
			if seen[life] = since[life]; seen[life].IsZero() {
				seen[life] = time.Now()
			}
			if time.Since(seen[life]) >= c.options.AbsenceLimit {
				c.markGone(s)
			}
		}
		since = seen
	}
}

// neighbours returns the nodes that this process looks after.
func (c *Cluster) neighbours() (list []sighting) {
	own := c.ownNodes()
	if len(own) == 0 {
		return nil
	}
	d := c.directory
	d.mu.Lock()
	defer d.mu.Unlock()
	var before []sighting
	ids := make([]string, 0, len(d.members))
	for id := range d.members {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		s := d.members[id]
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

// reach asks whether a node of another process answers. absent means that it certainly is not connected to NATS, which is
// more than that it does not answer.
func (c *Cluster) reach(ctx context.Context, id string) (answers, absent bool) {
	ctx, cancel := context.WithTimeout(ctx, min(absenceInterval, c.options.HeartbeatTimeout))
	defer cancel()
	reply, err := c.request(ctx, target{subject: c.nodeSubject(id, pingEndpoint.Name)}, []byte("{}"))
	return err == nil && failureIn(reply) == nil, errors.Is(err, nats.ErrNoResponders)
}

// markGone notes in the record of a node that it is gone. Should the node come back, it finds that by its next heartbeat.
func (c *Cluster) markGone(s sighting) {
	ctx, cancel := context.WithTimeout(c.ctx, operationTimeout)
	defer cancel()
	b, err := c.directory.current()
	if err != nil {
		return
	}
	s.record.Gone = true
	id := s.record.Member.NodeID
	switch _, err := b.update(ctx, memberKey+id, s.record, c.lifetime(&s.record.Member), s.revision); {
	case err == nil:
		c.logger.Warn("a node counts as gone", "id", id)
	case !errors.Is(err, errConflict) && c.ctx.Err() == nil:
		c.logger.Warn("cannot note that a node is gone", "id", id, "error", err)
	}
}

// DeclaredGone receives a value when other nodes took this one for gone and it was not: they may have done without what it
// holds for them. It has taken that back by then. There is one receiver.
func (n *Node) DeclaredGone() <-chan struct{} { return n.gone }
