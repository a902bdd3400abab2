// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// conflictPause is how long to wait at most, after losing a race, until the directory knows the
// winner.
const conflictPause = 100 * time.Millisecond

// pingAnswer carries the incarnation of the node that answers.
type pingAnswer struct{ Incarnation string }

type pingRequest struct{}

// pingEndpoint checks whether a node with an id is alive.
var pingEndpoint = Endpoint[pingRequest, pingAnswer]{Name: "cluster.ping"}

// register writes the node's record. It fails if another live node has the id.
func (n *Node) register(ctx context.Context) error {
	c := n.cluster
	var first *sighting
	asserted := 0
	// looked is when the connection of the former node was last checked; absent is since when it is
	// not connected.
	var looked, absent time.Time
	for {
		changed := c.Changed()
		pause := conflictPause
		b, err := c.directory.current()
		if err == nil {
			s, known := c.directory.sighting(n.id)
			silence := time.Since(s.at)
			switch {
			case !known:
				n.revision, err = b.create(ctx, memberKey+n.id, n.record, c.lifetime(&n.record.Member))
				if err == nil {
					return nil
				}
			case s.record.Incarnation == "" || s.record.Gone || silence > c.options.HeartbeatTimeout:
				n.revision, err = b.update(ctx, memberKey+n.id, n.record, c.lifetime(&n.record.Member), s.revision)
				if err == nil {
					return nil
				}
			case first != nil && first.record.Incarnation == s.record.Incarnation && first.record.Beat != s.record.Beat:
				// The last heartbeat may have been under way when the node died.
				asserted++
				if asserted > 1 || n.answers(ctx) {
					return ErrDuplicateNode
				}
				first = &s
				pause = c.options.HeartbeatTimeout - silence + time.Millisecond
			case first == nil || first.record.Incarnation != s.record.Incarnation:
				if n.answers(ctx) {
					return ErrDuplicateNode
				}
				first, asserted = &s, 0
				n.logger.InfoContext(ctx, "waiting to learn whether the former node with the same id is alive", "silence", silence)
				fallthrough
			default:
				pause = c.options.HeartbeatTimeout - silence + time.Millisecond
			}
			if first != nil && err == nil && time.Since(looked) >= rejoinInterval {
				looked = time.Now()
				switch answers, gone := c.reach(ctx, n.id); {
				case answers:
					return ErrDuplicateNode
				case !gone:
					absent = time.Time{}
				case absent.IsZero():
					absent = looked
				case looked.Sub(absent) >= rejoinLimit:
					n.revision, err = b.update(ctx, memberKey+n.id, n.record, c.lifetime(&n.record.Member), s.revision)
					if err == nil {
						return nil
					}
				}
			}
			if first != nil {
				pause = min(pause, rejoinInterval)
			}
			if err != nil && !errors.Is(err, errConflict) {
				return fmt.Errorf("register: %w", err)
			}
		}
		timer := time.NewTimer(pause)
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("register: %w", errors.Join(ctx.Err(), c.directory.failure()))
		}
		timer.Stop()
	}
}

// answers reports whether a node with this id answers.
func (n *Node) answers(ctx context.Context) bool {
	answers, _ := n.cluster.reach(ctx, n.id)
	return answers
}

// sighting returns the last record seen of a node.
func (d *directory) sighting(id string) (sighting, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.members[id]
	return s, ok
}

// observe processes a change of the node's own record that the directory saw.
func (n *Node) observe(r record, revision uint64) {
	n.mu.Lock()
	if n.leaving || revision <= n.revision {
		n.mu.Unlock()
		return
	}
	// A tombstone of another incarnation may have replaced this one's lost record.
	own := r.Incarnation == n.incarnation || r.Tombstone
	if own {
		n.adopt(&r, revision)
	}
	n.mu.Unlock()
	switch {
	case own && r.Gone:
		n.comeBack()
	case own:
		wake(n.state)
	case r.Incarnation != "":
		n.lose()
	}
}

// adopt takes over the node's own record from the bucket. The caller holds mu.
func (n *Node) adopt(r *record, revision uint64) {
	n.revision = revision
	if !r.Tombstone {
		n.record.Member.adopt(r.Member)
	}
}

// comeBack makes the next heartbeat revoke that the node is gone.
func (n *Node) comeBack() {
	n.logger.Warn("other nodes took this one for gone")
	n.mu.Lock()
	n.returns++
	n.mu.Unlock()
	wake(n.state)
	n.wakeHeart()
}

// lose gives up the id for good.
func (n *Node) lose() {
	n.mu.Lock()
	if n.err != nil || n.leaving {
		n.mu.Unlock()
		return
	}
	n.err = ErrDuplicateNode
	close(n.lost)
	n.mu.Unlock()
	n.logger.Error("another node has taken over the id of this node, which therefore stops working")
	wake(n.state)
}

// beatLoop renews the record periodically.
func (n *Node) beatLoop() {
	ticker := time.NewTicker(n.cluster.options.HeartbeatInterval)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-n.loops.Done():
			return
		case <-ticker.C:
		case <-n.heart:
		}
		err := n.beat(n.loops)
		if n.loops.Err() != nil {
			return
		}
		if err != nil && !failing {
			n.logger.Warn("the node cannot assert its record", "error", err)
		}
		failing = err != nil
		if err == nil {
			n.claimant.check(n.loops)
		}
	}
}

// beat writes the record with a new heartbeat and the changes of administrators.
func (n *Node) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	b, err := n.cluster.directory.current()
	if err != nil {
		return err
	}
	var returns uint64
	for range maxConflicts {
		n.mu.Lock()
		if n.err != nil {
			n.mu.Unlock()
			return nil
		}
		n.record.Beat++
		if returns = n.returns; returns > n.returned {
			n.record.Returns++
		}
		n.record.Member.Status.LastHeartbeat = time.Now().UTC().Truncate(time.Millisecond)
		n.record.Member.Status.Healthy = n.fitness.unhealthy == nil
		n.record.Member.Status.Strained = n.fitness.strain != nil
		n.record.Member.Status.Refusing = n.fitness.refuses()
		r, revision := n.record, n.revision
		n.mu.Unlock()
		if revision == 0 {
			revision, err = b.create(ctx, memberKey+n.id, r, n.cluster.lifetime(&r.Member))
		} else {
			revision, err = b.update(ctx, memberKey+n.id, r, n.cluster.lifetime(&r.Member), revision)
		}
		if err == nil {
			n.asserted(revision, returns)
			return nil
		}
		if !errors.Is(err, errConflict) {
			return err
		}
		if err := n.reread(ctx, b); err != nil {
			return err
		}
	}
	return errConflict
}

// asserted records that the bucket has the record at the revision. returns is how often that record
// revokes that the node is gone.
func (n *Node) asserted(revision, returns uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.revision, n.assertion = revision, time.Now()
	if returns > n.returned {
		n.returned = returns
		wake(n.gone)
	}
}

// reread finds out why the record is no longer at this node's revision.
func (n *Node) reread(ctx context.Context, b *bucket) error {
	var r record
	revision, _, err := b.get(ctx, memberKey+n.id, &r)
	switch {
	case errors.Is(err, errAbsent):
		n.mu.Lock()
		n.revision = 0
		forgotten := time.Since(n.assertion) > tombstoneTTL/2
		n.mu.Unlock()
		if forgotten {
			n.comeBack()
		}
		return nil
	case err != nil:
		return err
	case r.Incarnation != "" && r.Incarnation != n.incarnation && !r.Tombstone:
		n.lose()
		return nil
	}
	n.mu.Lock()
	n.adopt(&r, revision)
	n.mu.Unlock()
	if r.Gone {
		n.comeBack()
		return nil
	}
	wake(n.state)
	return nil
}

// deregister replaces the record by a tombstone, so that the others see that the node has left. A
// record of another node stays.
func (n *Node) deregister(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	b, err := n.cluster.directory.current()
	if err != nil || !n.cluster.up.Load() {
		// The record expires by itself.
		return nil
	}
	for range maxConflicts {
		var r record
		revision, _, err := b.get(ctx, memberKey+n.id, &r)
		if errors.Is(err, errAbsent) || err == nil && r.Incarnation != n.incarnation {
			return nil
		}
		if err == nil {
			_, err = b.update(ctx, memberKey+n.id, tombstone(r), tombstoneTTL, revision)
		}
		if err == nil {
			return nil
		}
		if !errors.Is(err, errConflict) {
			n.logger.WarnContext(ctx, "the record of the node could not be removed and will expire", "error", err)
			return nil
		}
	}
	return nil
}
