// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/role"
)

// maxConflicts bounds the retries of a change that conflicts with others.
const maxConflicts = 50

// lifetime returns how long a record of this member lasts from now; zero means for ever. A change
// by an administrator does not prolong the life of a silent node.
func (d *directory) lifetime(m *Member) time.Duration {
	if m.Seed {
		return 0
	}
	return max(d.cluster.options.MemberTTL-max(time.Since(m.Status.LastHeartbeat), 0), time.Second)
}

// AddMember adds the record of a node that has not joined. A node that joins with its id takes the
// record over and replaces its data with its own. It returns ErrMemberExists if the id has a
// record.
func (d *directory) AddMember(ctx context.Context, m Member) error {
	if err := CheckNodeID(m.NodeID); err != nil {
		return apierr.New(apierr.IllegalArgument, "%v", err)
	}
	if m.LeaderEligible && m.Type != role.Service {
		return apierr.New(apierr.IllegalArgument, "only a node of type %s can be eligible as leader", role.Service)
	}
	m.ClusterID = d.cluster.options.ClusterID
	m.Status.HasJoined = false
	m.Status.LastHeartbeat = time.Now().UTC()
	if m.RegistrationDate.IsZero() {
		m.RegistrationDate = m.Status.LastHeartbeat
	}
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	b, err := d.current()
	if err != nil {
		return unavailable(err)
	}
	_, err = b.create(ctx, memberKey+m.NodeID, record{Member: m}, d.lifetime(&m))
	if errors.Is(err, errConflict) {
		// The id of a node that has left is free.
		var r record
		if revision, _, getErr := b.get(ctx, memberKey+m.NodeID, &r); getErr == nil && r.Tombstone {
			_, err = b.update(ctx, memberKey+m.NodeID, record{Member: m}, d.lifetime(&m), revision)
		}
	}
	if errors.Is(err, errConflict) {
		return fmt.Errorf("add member %q: %w", m.NodeID, ErrMemberExists)
	}
	if err != nil {
		return unavailable(fmt.Errorf("add member %q: %w", m.NodeID, err))
	}
	return nil
}

// UpdateMember changes the record of a node, live or not. A live node adopts the change and keeps
// it until it leaves. It returns ErrUnknownMember if the id has no record.
func (d *directory) UpdateMember(ctx context.Context, id string, change MemberChange) error {
	if CheckNodeID(id) != nil {
		return fmt.Errorf("update member %q: %w", id, ErrUnknownMember)
	}
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	b, err := d.current()
	if err != nil {
		return unavailable(err)
	}
	for range maxConflicts {
		var r record
		revision, _, err := b.get(ctx, memberKey+id, &r)
		if errors.Is(err, errAbsent) || err == nil && r.Tombstone {
			return fmt.Errorf("update member %q: %w", id, ErrUnknownMember)
		}
		if err == nil {
			change.apply(&r.Member)
			if r.Member.LeaderEligible && r.Member.Type != role.Service {
				return apierr.New(apierr.IllegalArgument, "only a node of type %s can be eligible as leader", role.Service)
			}
			_, err = b.update(ctx, memberKey+id, r, d.lifetime(&r.Member), revision)
		}
		if err == nil {
			return nil
		}
		if !errors.Is(err, errConflict) {
			return unavailable(fmt.Errorf("update member %q: %w", id, err))
		}
	}
	return unavailable(fmt.Errorf("update member %q: %w", id, errConflict))
}

// RemoveMembers deletes the records of the nodes and returns how many there were. A live node
// registers again at once.
func (d *directory) RemoveMembers(ctx context.Context, ids []string) (removed int, err error) {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	b, err := d.current()
	if err != nil {
		return 0, unavailable(err)
	}
	for _, id := range ids {
		if CheckNodeID(id) != nil {
			continue
		}
		ok, err := b.removeLatest(ctx, memberKey+id)
		if err != nil {
			return removed, unavailable(fmt.Errorf("remove member %q: %w", id, err))
		}
		if ok {
			removed++
		}
	}
	return removed, nil
}

// removeLatest removes the record at its current revision; ok is false if there is none.
func (b *bucket) removeLatest(ctx context.Context, key string) (ok bool, err error) {
	for range maxConflicts {
		var r record
		revision, _, err := b.get(ctx, key, &r)
		if errors.Is(err, errAbsent) || err == nil && r.Tombstone {
			return false, nil
		}
		if err == nil {
			err = b.remove(ctx, key, revision)
		}
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, errConflict) {
			return false, err
		}
	}
	return false, errConflict
}

// unavailable returns the error for the caller of an operation that the fabric did not perform.
func unavailable(err error) error {
	e := apierr.Wrap(apierr.ServerUnavailable, err)
	switch {
	case errors.Is(err, ErrNoNode):
		e.Reason = "no other node of the cluster can be reached for this now"
	case errors.Is(err, ErrTimeout), errors.Is(err, ErrLost):
		e.Reason = "another node of the cluster did not answer in time"
	}
	return e
}
