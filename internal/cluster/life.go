// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"time"

	"example.org/app/internal/role"
)

// Life returns the incarnation of the node that has this id now, as far as is known; it is empty for none.
func (d *directory) Life(id string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.members[id]; ok && !s.record.Tombstone {
		return s.record.Incarnation
	}
	return ""
}

// Lives returns the incarnations of the members of a role by their ids, as far as is known.
func (d *directory) Lives(kind role.Role) map[string]string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lives := map[string]string{}
	for id, s := range d.members {
		if s.record.Member.Type == kind && s.record.Incarnation != "" && !s.record.Tombstone {
			lives[id] = s.record.Incarnation
		}
	}
	return lives
}

// ReadLives returns the same from the bucket, so that everybody is in it who has joined before.
func (d *directory) ReadLives(ctx context.Context, kind role.Role) (map[string]string, error) {
	b, err := d.current()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	lives := map[string]string{}
	_, err = b.anyMember(ctx, func(id string, _ uint64, r record) bool {
		if r.Member.Type == kind {
			lives[id] = r.Incarnation
		}
		return false
	})
	return lives, err
}

// resendable returns the incarnation of the node that has this id if requests to it may be sent again under their number, else
// "".
func (d *directory) resendable(id string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.members[id]; ok && !s.record.Tombstone && s.record.Protocol.recognises() {
		return s.record.Incarnation
	}
	return ""
}

// Synchronized returns when the present picture of the members was read, which happens again whenever the connection
// was lost. It is zero while there is none that is up to date.
func (d *directory) Synchronized() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return time.Time{}
	}
	return d.watched
}

// Alive reports whether a node with this incarnation has a record, was heard of within Options.MemberTTL and does not count
// as gone. A node that is not alive may be so for want of news only. certain says that the bucket said that it counts as gone,
// or has left, so that it learns of that should it come back, or that another life has its place.
//
// Asking for a life without a record begins to decide whether it is gone. An empty incarnation stands for a life that is not
// known.
func (d *directory) Alive(id, incarnation string) (alive, certain bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := life{id, incarnation}
	if _, ok := d.gone[l]; ok {
		return false, true
	}
	s, ok := d.members[id]
	if ok && s.record.Incarnation == incarnation && time.Since(s.at) <= d.cluster.options.MemberTTL {
		return true, true
	}
	if d.err != nil || d.watched.IsZero() || !d.cluster.up.Load() {
		return false, false
	}
	switch {
	case incarnation == "":
		return false, !ok && time.Since(d.watched) > d.cluster.options.HeartbeatTimeout
	case ok && s.record.Incarnation != "" && s.record.Incarnation != incarnation:
		// Another life in the place of this one is proof enough.
		return false, true
	case d.cluster.exclusive:
		return false, true
	}
	if _, known := d.doubted[l]; ok && s.record.Incarnation == incarnation {
		d.doubt(id, &s)
	} else if !known {
		d.doubted[l] = doubt{since: time.Now(), record: d.unknown(l)}
	}
	return false, false
}
