// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"example.org/app/internal/role"
)

// A node that counts as gone may only be cut off: it goes on with what it holds for others, who do without it. So nobody takes
// a node for gone before the bucket says so, in a record that the node finds when it comes back. A node without a record gets a
// tombstone, which is such a record and no member; one that leaves makes its own. Whoever asserts the record first wins, the
// node or the process that makes the tombstone.
//
// The bucket may be lost, and the tombstone with it. Therefore every process remembers who counts as gone until the record of
// the node says that it knows: its Returns are more than they were. A node that is back and does not know is marked again.

// tombstoneTTL is how long a tombstone lasts, and how long processes remember who counts as gone. A node that finds no record
// after half of that time takes itself for one that was gone.
const tombstoneTTL = 24 * time.Hour

// A life is one incarnation of a node.
type life struct{ id, incarnation string }

// A doubt is a life without a record: since when it has asserted itself no more, and its last record.
type doubt struct {
	since  time.Time
	record record
}

// A departure is a life that counts as gone: since when, and its last record.
type departure struct {
	since  time.Time
	record record
}

// tombstone returns what replaces a record.
func tombstone(r record) record {
	r.Gone, r.Tombstone = true, true
	return r
}

// unknown returns the record of a life that this process has never seen. Nothing is known of it but that somebody asks for it.
func (d *directory) unknown(l life) record {
	return record{Incarnation: l.incarnation, Member: Member{
		ClusterID: d.cluster.options.ClusterID, NodeID: l.id, Type: role.Gateway, Status: Status{Active: true},
	}}
}

// doubt notes that the record of a life has vanished. The caller holds mu.
func (d *directory) doubt(id string, s *sighting) {
	l := life{id, s.record.Incarnation}
	if _, gone := d.gone[l]; !gone && l.incarnation != "" {
		d.doubted[l] = doubt{since: s.at, record: s.record}
	}
}

// judge takes note of what the record of a node, which may be nil, says about its life and the one before. The caller holds mu.
func (d *directory) judge(id string, last sighting, r *record) {
	former := life{id, last.record.Incarnation}
	switch _, gone := d.gone[former]; {
	case former.incarnation == "" || gone:
	case r == nil:
		d.doubt(id, &last)
	case r.Incarnation != "" && r.Incarnation != former.incarnation:
		// Another life has its place.
		delete(d.doubted, former)
		d.gone[former] = departure{since: time.Now(), record: last.record}
	}
	if r == nil || r.Incarnation == "" {
		return
	}
	l := life{id, r.Incarnation}
	delete(d.doubted, l)
	before, gone := d.gone[l]
	switch {
	case r.Gone:
		if !gone {
			before.since = time.Now()
		}
		returns := max(r.Returns, before.record.Returns)
		before.record = *r
		before.record.Returns = returns
		d.gone[l] = before
	case gone && (r.Returns == 0 || r.Returns > before.record.Returns):
		delete(d.gone, l)
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
	for l, doubt := range d.doubted {
		s, ok := d.members[l.id]
		switch {
		case ok && s.record.Incarnation != "" && s.record.Incarnation != l.incarnation:
			delete(d.doubted, l)
		case now.Sub(d.watched) <= limit || now.Sub(doubt.since) <= limit:
		case !ok:
			tombstones = append(tombstones, doubt.record)
		case s.record.Incarnation == l.incarnation && now.Sub(s.at) > d.cluster.options.MemberTTL:
			marks = append(marks, s)
		}
	}
	lost := map[string]departure{}
	for l, departure := range d.gone {
		s, ok := d.members[l.id]
		switch {
		case ok && s.record.Incarnation == l.incarnation && !s.record.Gone:
			marks = append(marks, s)
		case now.Sub(departure.since) > tombstoneTTL:
			delete(d.gone, l)
		case !ok && departure.since.After(lost[l.id].since):
			lost[l.id] = departure
		}
	}
	for l := range d.doubted {
		delete(lost, l.id) // A later life may be about to assert itself.
	}
	for _, departure := range lost {
		tombstones = append(tombstones, departure.record)
	}
	return marks, tombstones
}
