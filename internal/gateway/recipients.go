// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"slices"
	"time"
)

// An audience is the set of users to whom a message was delivered.
type audience struct {
	everybody bool
	users     []int64
}

func (a audience) has(user int64) bool { return a.everybody || slices.Contains(a.users, user) }

// add adds recipients; nil means more than are remembered, and so everybody.
func (a *audience) add(recipients []int64) {
	a.everybody = a.everybody || recipients == nil
	a.users = append(a.users, recipients...)
}

// recipients returns to whom a message was delivered that is of the given age. known is false if
// that may be forgotten.
func (s *sequences) recipients(conversation uint64, id int64, age time.Duration) (to audience, known bool) {
	now := time.Now()
	q, complete := s.shards[conversation%sequenceShards].peek(conversation)
	if q != nil {
		q.mu.Lock()
		defer q.mu.Unlock()
		found := false
		for _, h := range slices.Concat(q.old, q.young) {
			if h.id == id {
				found = true
				to.add(h.recipients)
			}
		}
		for _, d := range q.held {
			if d.Message.ID == id {
				found = true
				to.add(remembered(d.Recipients))
			}
		}
		if found {
			return to, true
		}
		if q.complete.After(complete) {
			complete = q.complete
		}
	}
	return to, now.Sub(complete) > age+maxSkew
}

// peek returns the sequence of a conversation, or nil, and the time since when all deliveries in
// conversations of the shard are remembered.
func (s *sequenceShard) peek(conversation uint64) (q *sequence, complete time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q = s.young[conversation]; q == nil {
		q = s.old[conversation]
	}
	return q, s.complete
}
