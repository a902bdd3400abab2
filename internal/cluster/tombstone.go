// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"example.org/app/internal/role"
)

// A node that counts as gone may only be disconnected: it continues with what it holds for the
// others, which act without it. So a node counts as gone only when the bucket says so, in a record
// that it finds when it comes back. A node without a record gets a tombstone, which is such a
// record and no member; a node that leaves writes its own. The first write decides, that of the
// node or that of the process that writes the tombstone.
//
// The bucket may be lost, and the tombstone with it. Therefore every process remembers which nodes
// count as gone until their records confirm that they know it, by an increased Returns. A node that
// is back and does not know is marked again.

// tombstoneTTL is how long a tombstone lasts, and how long processes remember that a node counts as
// gone. A node that finds no record after half of that time assumes that it counted as gone.
const tombstoneTTL = 24 * time.Hour

// A life is one incarnation of a node.
type life struct{ id, incarnation string }

// A suspect is an incarnation without a record: its last record, and since when it is missing.
type suspect struct {
	since  time.Time
	record record
}

// A deadLife is an incarnation that counts as gone: its last record, and since when.
type deadLife struct {
	since  time.Time
	record record
}

// tombstone returns the tombstone that replaces a record.
func tombstone(r record) record {
	r.Gone, r.Tombstone = true, true
	return r
}

// unknown returns the record of an incarnation that this process has never seen and that a caller
// asks for.
func (d *directory) unknown(l life) record {
	return record{Incarnation: l.incarnation, Member: Member{
		ClusterID: d.cluster.options.ClusterID, NodeID: l.id, Type: role.Gateway, Status: Status{Active: true},
	}}
}

// suspect records that the record of an incarnation has vanished. The caller holds mu.
func (d *directory) suspect(id string, s *sighting) {
	l := life{id, s.record.Incarnation}
	if _, gone := d.dead[l]; !gone && l.incarnation != "" {
		d.suspects[l] = suspect{since: s.at, record: s.record}
	}
}

// updateLives updates what is known of an incarnation and the one before it from the record of a
// node, which may be nil. The caller holds mu.
func (d *directory) updateLives(id string, last sighting, r *record) {
	former := life{id, last.record.Incarnation}
	switch _, gone := d.dead[former]; {
	case former.incarnation == "" || gone:
	case r == nil:
		d.suspect(id, &last)
	case r.Incarnation != "" && r.Incarnation != former.incarnation:
		// Another incarnation has replaced it.
		delete(d.suspects, former)
		d.dead[former] = deadLife{since: time.Now(), record: last.record}
	}
	if r == nil || r.Incarnation == "" {
		return
	}
	l := life{id, r.Incarnation}
	delete(d.suspects, l)
	before, gone := d.dead[l]
	switch {
	case r.Gone:
		if !gone {
			before.since = time.Now()
		}
		returns := max(r.Returns, before.record.Returns)
		before.record = *r
		before.record.Returns = returns
		d.dead[l] = before
	case gone && (r.Returns == 0 || r.Returns > before.record.Returns):
		delete(d.dead, l)
	case gone:
		wake(d.unaware)
	}
}

// due returns the records that must be marked, and those of nodes that get a tombstone.
func (d *directory) due(now time.Time) (marks []sighting, tombstones []record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	limit := d.cluster.options.HeartbeatTimeout
	if d.err != nil || d.watched.IsZero() {
		return nil, nil
	}
	for l, missing := range d.suspects {
		s, ok := d.members[l.id]
		switch {
		case ok && s.record.Incarnation != "" && s.record.Incarnation != l.incarnation:
			delete(d.suspects, l)
		case now.Sub(d.watched) <= limit || now.Sub(missing.since) <= limit:
		case !ok:
			tombstones = append(tombstones, missing.record)
		case s.record.Incarnation == l.incarnation && now.Sub(s.at) > d.cluster.options.MemberTTL:
			marks = append(marks, s)
		}
	}
	lost := map[string]deadLife{}
	for l, gone := range d.dead {
		s, ok := d.members[l.id]
		switch {
		case ok && s.record.Incarnation == l.incarnation && !s.record.Gone:
			marks = append(marks, s)
		case now.Sub(gone.since) > tombstoneTTL:
			delete(d.dead, l)
		case !ok && gone.since.After(lost[l.id].since):
			lost[l.id] = gone
		}
	}
	for l := range d.suspects {
		delete(lost, l.id) // A later incarnation may be about to write its record.
	}
	for _, gone := range lost {
		tombstones = append(tombstones, gone.record)
	}
	return marks, tombstones
}
