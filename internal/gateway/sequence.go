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
	// sequenceAge is for how long at least it is known which messages of a conversation were delivered. It is more than a
	// service tries to reach a gateway.
	sequenceAge = 15 * time.Second
	// handoverPause is how long messages of a conversation wait when another service has it than before: the service before
	// may still deliver some.
	handoverPause = 300 * time.Millisecond
	// maxSkew is by how much the clocks of two nodes may differ.
	maxSkew = 250 * time.Millisecond
	// sequenceShards is how many parts the conversations are in, each with a lock of its own.
	sequenceShards = 32
	// maxRemembered is how many recipients of a message are remembered.
	maxRemembered = 100
	// quietAge is how long an outage must be over before the next one is logged.
	quietAge = 10 * time.Second
)

// sequences know which messages of conversations were delivered lately. One service at a time has a conversation and delivers
// its messages in their order. When another one gets it, or one was paused or cut off, both may deliver for a while.
type sequences struct {
	shards [sequenceShards]sequenceShard
}

type sequenceShard struct {
	mu         sync.Mutex
	young, old map[uint64]*sequence
	since      time.Time
}

// A sequence is the messages of a conversation.
type sequence struct {
	// mu is held while a message is handed to its recipients.
	mu sync.Mutex
	// forgotten says that it is not known what was delivered before.
	forgotten bool
	// last is the greatest id that was delivered, and service whose it was.
	last    int64
	service string
	// young and old are the last messages. The young ones have been collected since then.
	young, old []handed
	since      time.Time
	// held are messages that wait for those before them.
	held []*link.Delivery
}

// handed is a message that was delivered, or a part of its deliveries.
type handed struct {
	id int64
	// recipients are nil if they are too many to be remembered.
	recipients []int64
}

// find returns the sequence of the conversation of a message.
func (s *sequences) find(m *link.MessageOrder, now time.Time) *sequence {
	// What was delivered since the message was stored may be forgotten.
	forgotten := now.Sub(m.Stored) >= sequenceAge
	return s.shards[m.Conversation%sequenceShards].find(m.Conversation, forgotten, time.Now())
}

func (s *sequenceShard) find(conversation uint64, forgotten bool, now time.Time) *sequence {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.young == nil || now.Sub(s.since) > sequenceAge {
		s.old, s.young, s.since = s.young, map[uint64]*sequence{}, now
	}
	q := s.young[conversation]
	if q != nil {
		return q
	}
	if q = s.old[conversation]; q == nil {
		q = &sequence{since: now, forgotten: forgotten}
		if forgotten {
			return q // The next one is to know as little.
		}
	}
	s.young[conversation] = q
	return q
}

// A place is where a message belongs in a sequence.
type place int

const (
	// placeNext: it is newer than all that were delivered, or was delivered before.
	placeNext place = iota
	// placeLate: newer ones may have been delivered.
	placeLate
	// placeHeld: it waits; placeFirstHeld: it is the first that does.
	placeHeld
	placeFirstHeld
)

// add notes a message and says where it belongs. The sequence is locked.
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

// unseen returns the delivery for those who did not get the message before: a service that takes over from one that has ended
// cannot know how far that one came. It returns nil if there are none such. Whoever has connected since then has asked for what is
// new. The sequence is locked.
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

// note notes a message that is delivered. The sequence is locked.
func (q *sequence) note(d *link.Delivery, now time.Time) {
	m := d.Message
	if now.Sub(q.since) > sequenceAge {
		q.old, q.young, q.since = q.young, nil, now
	}
	if m.ID > q.last {
		q.last, q.service = m.ID, m.Service
	}
	h := handed{id: m.ID}
	if len(d.Recipients) <= maxRemembered {
		h.recipients = d.Recipients
	}
	q.young = append(q.young, h)
}

// take returns the messages that waited, in their order, and notes them. The sequence is locked.
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

// An outage is something that happens often for a while.
type outage struct {
	mu   sync.Mutex
	last time.Time
}

// begins notes that it happens and reports whether it is for the first time in a while.
func (o *outage) begins(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := o.last.IsZero() || now.Sub(o.last) > quietAge
	o.last = now
	return first
}
