// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"time"

	"example.org/app/internal/role"
)

// Life returns the incarnation of the node that has this id now, as far as this process knows, or
// "".
func (d *directory) Life(id string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.members[id]; ok && !s.record.Tombstone {
		return s.record.Incarnation
	}
	return ""
}

// Lives returns the incarnations of the members of a role by id, as far as this process knows.
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

// ReadLives returns the same from the bucket, so that it contains every node that joined before the
// call.
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

// resendable returns the incarnation of the node if requests to it may be resent under their
// number, else "".
func (d *directory) resendable(id string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.members[id]; ok && !s.record.Tombstone && s.record.Protocol.recognises() {
		return s.record.Incarnation
	}
	return ""
}

// Synchronized returns when the current copy of the members was read, which happens again after
// each lost connection. It is zero while the copy is out of date.
func (d *directory) Synchronized() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return time.Time{}
	}
	return d.watched
}

// Alive reports whether a node with this incarnation has a record, sent a heartbeat within
// Options.MemberTTL and does not count as gone. If alive is false and certain too, that may only be
// missing information. certain means that the bucket recorded that the node is gone or has left, so
// that it learns this should it come back, or that another incarnation has replaced it.
//
// Calling Alive for an incarnation without a record starts the decision whether it is gone. An
// empty incarnation stands for an unknown one.
func (d *directory) Alive(id, incarnation string) (alive, certain bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := life{id, incarnation}
	if _, ok := d.dead[l]; ok {
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
		// Another incarnation in its place is proof enough.
		return false, true
	case d.cluster.exclusive:
		return false, true
	}
	if _, known := d.suspects[l]; ok && s.record.Incarnation == incarnation {
		d.suspect(id, &s)
	} else if !known {
		d.suspects[l] = suspect{since: time.Now(), record: d.unknown(l)}
	}
	return false, false
}
