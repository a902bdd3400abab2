// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"example.org/app/internal/link"
)

const (
	// sequenceAge is how long delivered messages of a conversation are remembered at least. It is
	// longer than a service retries a delivery.
	sequenceAge = 15 * time.Second
	// handoverPause is how long messages of a conversation wait after its owner changed, because
	// the former owner may still deliver some.
	handoverPause = 300 * time.Millisecond
	// maxSkew is the tolerated difference between the clocks of two nodes.
	maxSkew = 250 * time.Millisecond
	// sequenceShards is the number of shards of the conversations, each with its own lock.
	sequenceShards = 32
	// maxRemembered is how many recipients of a message are remembered.
	maxRemembered = 100
	// quietAge is how long an outage must be over before another one is logged.
	quietAge = 10 * time.Second
)

// sequences track the recently delivered messages of conversations. Normally one service owns a
// conversation and delivers its messages in order. After a change of the owner, or if it was paused
// or disconnected, two may deliver for a while.
type sequences struct {
	shards [sequenceShards]sequenceShard
}

type sequenceShard struct {
	mu         sync.Mutex
	young, old map[uint64]*sequence
	since      time.Time
	// complete is the time since when all deliveries are remembered.
	complete time.Time
}

// begin empties the sequences of a gateway that starts.
func (s *sequences) begin(now time.Time) {
	for i := range s.shards {
		s.shards[i].complete = now
	}
}

// A sequence tracks the messages of a conversation.
type sequence struct {
	// mu is held during a delivery.
	mu sync.Mutex
	// forgotten is true if earlier deliveries are unknown.
	forgotten bool
	// last is the greatest delivered id, and service the node that delivered it.
	last    int64
	service string
	// young and old are two generations of delivered messages; since is when the young one began.
	young, old []handed
	since      time.Time
	// complete is the time since when all deliveries are remembered, if it is after that of the
	// shard.
	complete time.Time
	// held are messages that wait for earlier ones.
	held []*link.Delivery
}

// handed is a delivered message, or a part of its deliveries.
type handed struct {
	id int64
	// at is the time since origin.
	at time.Duration
	// recipients is nil if there are more than maxRemembered.
	recipients []int64
}

// find returns the sequence of a message's conversation.
func (s *sequences) find(m *link.MessageOrder, now time.Time) *sequence {
	// Deliveries since the message was stored may be forgotten.
	forgotten := now.Sub(m.Stored) >= sequenceAge
	return s.shards[m.Conversation%sequenceShards].find(m.Conversation, forgotten, time.Now())
}

// remember records the delivery of a message whose order does not matter.
func (s *sequences) remember(m *link.StoredMessage, recipients []int64) {
	now := time.Now()
	q := s.shards[m.Conversation%sequenceShards].find(m.Conversation, false, now)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.keep(handed{m.ID, now.Sub(origin), remembered(recipients)}, now)
}

func (s *sequenceShard) find(conversation uint64, forgotten bool, now time.Time) *sequence {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.young == nil || now.Sub(s.since) > sequenceAge {
		if s.old != nil {
			s.complete = s.since
		}
		s.old, s.young, s.since = s.young, map[uint64]*sequence{}, now
	}
	q := s.young[conversation]
	if q != nil {
		return q
	}
	if q = s.old[conversation]; q == nil {
		q = &sequence{since: now, forgotten: forgotten}
		if forgotten {
			return q // The next message has no more information.
		}
	}
	s.young[conversation] = q
	return q
}

// A place is the position of a message in a sequence.
type place int

const (
	// placeNext: newer than all delivered ones, or a repeated delivery.
	placeNext place = iota
	// placeLate: newer ones may have been delivered.
	placeLate
	// placeHeld: it must wait; placeFirstHeld: it is the first that must.
	placeHeld
	placeFirstHeld
)

// add adds a message and returns its place. The sequence is locked.
func (q *sequence) add(d *link.Delivery, now time.Time) place {
	m := d.Message
	switch {
	case q.forgotten:
		return placeLate
	case m.ID <= q.last && q.has(m.ID):
		q.note(d, now)
		return placeNext
	case m.ID < q.last:
		q.note(d, now)
		return placeLate
	case len(q.held) > 0:
		q.held = append(q.held, d)
		return placeHeld
	case q.service != "" && q.service != m.Service:
		q.held = append(q.held, d)
		return placeFirstHeld
	}
	q.note(d, now)
	return placeNext
}

// has reports whether a message was delivered. The sequence is locked.
func (q *sequence) has(id int64) bool {
	is := func(h handed) bool { return h.id == id }
	return slices.ContainsFunc(q.young, is) || slices.ContainsFunc(q.old, is)
}

// unseen returns the delivery for the recipients who did not get the message before, or nil if
// there are none: a service that takes over from one that has ended cannot know its progress.
// Clients that have connected since have queried what is new. The sequence is locked.
func (q *sequence) unseen(d *link.Delivery) *link.Delivery {
	var seen []int64
	if d.Message.ID <= q.last {
		for _, h := range q.young {
			if h.id == d.Message.ID {
				seen = append(seen, h.recipients...)
			}
		}
		for _, h := range q.old {
			if h.id == d.Message.ID {
				seen = append(seen, h.recipients...)
			}
		}
	}
	for _, other := range q.held {
		if other.Message.ID == d.Message.ID && len(other.Recipients) <= maxRemembered {
			seen = append(seen, other.Recipients...)
		}
	}
	if len(seen) == 0 {
		return d
	}
	rest := *d
	rest.Recipients = slices.DeleteFunc(slices.Clone(d.Recipients), func(id int64) bool { return slices.Contains(seen, id) })
	if len(rest.Recipients) == 0 {
		return nil
	}
	return &rest
}

// note records a delivered message. The sequence is locked.
func (q *sequence) note(d *link.Delivery, now time.Time) {
	m := d.Message
	if m.ID > q.last {
		q.last, q.service = m.ID, m.Service
	}
	q.keep(handed{m.ID, now.Sub(origin), remembered(d.Recipients)}, now)
}

// overtaken returns when a newer message than a late one may have been delivered for the last time.
// The sequence is locked.
func (q *sequence) overtaken(id int64, now time.Time) time.Time {
	at := now.Add(-sequenceAge).Sub(origin) // Earlier deliveries may be forgotten.
	for _, list := range [][]handed{q.young, q.old} {
		for _, h := range list {
			if h.id > id {
				at = max(at, h.at)
			}
		}
	}
	return origin.Add(at)
}

// keep adds a delivered message. The sequence is locked.
func (q *sequence) keep(h handed, now time.Time) {
	if now.Sub(q.since) > sequenceAge {
		if q.old != nil {
			q.complete = q.since
		}
		q.old, q.young, q.since = q.young, nil, now
	}
	q.young = append(q.young, h)
}

// remembered returns the recipients of a message, or nil if there are more than maxRemembered.
func remembered(recipients []int64) []int64 {
	if len(recipients) > maxRemembered {
		return nil
	}
	return recipients
}

// take returns the held messages in order and records them. The sequence is locked.
func (q *sequence) take() []*link.Delivery {
	held := q.held
	q.held = nil
	slices.SortStableFunc(held, func(a, b *link.Delivery) int { return cmp.Compare(a.Message.ID, b.Message.ID) })
	now := time.Now()
	for _, d := range held {
		q.note(d, now)
	}
	return held
}

// An outage is a period of frequent events.
type outage struct {
	mu   sync.Mutex
	last time.Time
}

// begins records an event and reports whether it is the first of an outage.
func (o *outage) begins(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := o.last.IsZero() || now.Sub(o.last) > quietAge
	o.last = now
	return first
}
