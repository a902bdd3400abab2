// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
)

// A Fence is the right of a leader to act. It is a value and may be copied.
type Fence struct {
	number int64
	fenced func()
}

// Number returns the fencing number. It is greater than that of every earlier term.
func (f Fence) Number() int64 { return f.number }

// Check returns ErrFenced if another leader has taken over. Inside a write transaction it prevents
// a former leader from committing.
func (f Fence) Check(ctx context.Context, tx store.Tx) error {
	err := store.CheckLead(ctx, tx, f.number)
	if errors.Is(err, ErrFenced) && f.fenced != nil {
		f.fenced()
	}
	return err
}

// Leader returns the leader and its fencing number as this process sees them; ok is false if there
// is none.
func (d *directory) Leader() (leader Member, fence int64, ok bool) {
	seen := d.leaseSighting()
	if seen == nil || seen.lease.Fence == 0 || time.Since(seen.at) > d.cluster.options.LeaseTime {
		return Member{}, 0, false
	}
	leader, ok = d.Member(seen.lease.NodeID)
	return leader, seen.lease.Fence, ok
}

// IsLeader reports whether this node leads now. Work that two nodes must not do at once needs a
// Fence.
func (n *Node) IsLeader() bool { return n.election != nil && n.election.leads() }

// Elect chooses a leader and returns it. With id, that node becomes leader at once; errors are
// NonexistentMemberToBeLeader if it is unknown and NotQualifiedMemberToBeLeader if it may not lead.
// Without id the leader stays if it still qualifies, else the best candidate becomes leader;
// without candidate the error is NoQualifiedMemberToBeLeader.
func (c *Cluster) Elect(ctx context.Context, id *string) (Member, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, max(c.options.CallTimeout, 2*c.options.LeaseTime))
		defer cancel()
	}
	leader, _, led := c.Leader()
	if id == nil {
		candidates := c.candidates()
		if led && leader.qualified() {
			return leader, nil
		}
		if len(candidates) == 0 {
			return Member{}, apierr.New(apierr.NoQualifiedMemberToBeLeader, "")
		}
		id = &candidates[0].NodeID
	}
	s, ok := c.directory.sighting(*id)
	if !ok || s.record.Tombstone {
		return Member{}, apierr.New(apierr.NonexistentMemberToBeLeader, "")
	}
	target := c.directory.member(s)
	if !target.qualified() {
		return Member{}, apierr.New(apierr.NotQualifiedMemberToBeLeader, "")
	}
	if led && leader.NodeID != target.NodeID {
		request := &handOverRequest{NodeID: target.NodeID, Incarnation: s.record.Incarnation}
		if err := c.askToHandOver(ctx, leader.NodeID, request); err != nil {
			c.logger.WarnContext(ctx, "the leader does not hand over and is replaced", "leader", leader.NodeID, "error", err)
		}
	}
	answer, err := callNode(ctx, c, target.NodeID, leadEndpoint, &leadRequest{}, nil)
	if err != nil {
		return Member{}, err
	}
	return c.awaitLeader(ctx, target, answer.Fence)
}

// askToHandOver waits no longer than the lease lasts, because the leader may be dead.
func (c *Cluster) askToHandOver(ctx context.Context, leader string, request *handOverRequest) error {
	ctx, cancel := context.WithTimeout(ctx, c.options.LeaseTime)
	defer cancel()
	_, err := callNode(ctx, c, leader, handOverEndpoint, request, nil)
	return err
}

// awaitLeader waits until this process sees the leader that it elected.
func (c *Cluster) awaitLeader(ctx context.Context, target Member, fence int64) (Member, error) {
	for {
		changed := c.Changed()
		if leader, seen, ok := c.Leader(); ok && (leader.NodeID == target.NodeID || seen > fence) {
			return leader, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Member{}, unavailable(fmt.Errorf("wait for node %q to lead: %w", target.NodeID, ctx.Err()))
		}
	}
}

// RunAsLeader runs fn whenever this node becomes the leader. Its context ends when the lease is
// lost; fn must then return soon, because this node does not lead again before. If fn returns an
// error, it is called again after a pause while the term lasts. stop prevents further runs in later
// terms. Store writes of fn with its context are fenced: a node that was paused and has lost the
// lead writes nothing.
func (n *Node) RunAsLeader(name string, fn func(ctx context.Context, fence Fence) error) (stop func(), err error) {
	e := n.election
	if e == nil {
		return nil, fmt.Errorf("run %q as leader: node %q is no %s with a store", name, n.id, role.Service)
	}
	w := &work{name: name, fn: fn}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.works = append(e.works, w)
	if r := e.term; r != nil {
		r.group.Go(func() { w.run(r, n) })
	}
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.works = slices.DeleteFunc(e.works, func(other *work) bool { return other == w })
	}, nil
}
