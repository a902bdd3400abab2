// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// JetStream returns the engine behind the member records, for packages below this one that keep a bucket of their own.
func (c *Cluster) JetStream() jetstream.JetStream { return c.js }

// Replicas returns how many copies a NATS cluster shall keep of a bucket.
func (c *Cluster) Replicas() int { return max(c.options.Replicas, 1) }

// HeartbeatTimeout returns the silence after which a node counts as unhealthy. It is also how long nodes may take to
// assert themselves after the fabric came back.
func (c *Cluster) HeartbeatTimeout() time.Duration { return c.options.HeartbeatTimeout }

// Incarnation returns what tells this life of the node from the next one with the same id.
func (n *Node) Incarnation() string { return n.incarnation }

// Life returns the incarnation of the node that has this id now, as far as is known; it is empty for none.
func (c *Cluster) Life(id string) string {
	d := c.directory
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.members[id]; ok {
		return s.record.Incarnation
	}
	return ""
}

// resendable returns the incarnation of the node that has this id if requests to it may be sent again under their number, else
// "".
func (c *Cluster) resendable(id string) string {
	d := c.directory
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.members[id]; ok && s.record.Protocol.recognises() {
		return s.record.Incarnation
	}
	return ""
}

// Synchronized returns when the present picture of the members was read, which happens again whenever the connection
// was lost. It is zero while there is none that is up to date.
func (c *Cluster) Synchronized() time.Time {
	d := c.directory
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return time.Time{}
	}
	return d.watched
}

// Alive reports whether a node with this incarnation has a record, was heard of within Options.MemberTTL and is connected,
// as far as others know. A node
// that is not alive may be so for want of news only: certain says that the members have been watched without a gap
// for so long that every living node has asserted itself.
func (c *Cluster) Alive(id, incarnation string) (alive, certain bool) {
	d := c.directory
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.members[id]
	if ok && s.record.Incarnation == incarnation && time.Since(s.at) <= c.options.MemberTTL {
		return !s.record.Gone, true
	}
	if d.err != nil || d.watched.IsZero() || !c.up.Load() {
		return false, false
	}
	// Another life in the place of this one is proof enough.
	replaced := ok && s.record.Incarnation != "" && s.record.Incarnation != incarnation
	return false, replaced || time.Since(d.watched) > c.options.HeartbeatTimeout
}
