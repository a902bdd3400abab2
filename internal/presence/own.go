// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"slices"
	"sync"
	"sync/atomic"
)

// own are the sessions of this process's gateway: what any bucket must contain of it.
type own struct {
	gateway *gateway
	// wake signals the goroutine that settles the marked users.
	wake chan struct{}

	mu       sync.Mutex
	sessions map[int64][]ownSession
	// opening counts the sessions of a user that are being registered and may or may not be in the
	// bucket.
	opening map[int64]int
	// marked are users whose key may be wrong. The value is true if this process's record of it may
	// be wrong, too.
	marked map[int64]bool
	// familiar are the services that know the own sessions of earlier buckets.
	familiar map[string]string

	// doubtful is true if news of own sessions may have been missed, so that all of them must be
	// compared with other processes.
	doubtful atomic.Bool

	// met is the epoch of the last bucket that has the own sessions and for which the services that
	// may not know them were found.
	met atomic.Uint64
}

// An ownSession is a session of this gateway and where it was opened. An entry that was written
// before that says nothing about it.
type ownSession struct {
	Session
	at place
}

func newOwn(g *gateway) *own {
	return &own{
		gateway: g, wake: make(chan struct{}, 1),
		sessions: map[int64][]ownSession{}, opening: map[int64]int{}, marked: map[int64]bool{},
	}
}

func (o *own) begin(userID int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.opening[userID]++
}

// end ends an opening that begin began, with the session that was opened, or nil. A session that a
// later login has already replaced here is not added.
func (o *own) end(userID int64, s *Session, at place, uncertain bool) {
	o.mu.Lock()
	if o.opening[userID]--; o.opening[userID] <= 0 {
		delete(o.opening, userID)
	}
	if s != nil && !slices.ContainsFunc(o.sessions[userID], func(other ownSession) bool { return other.Device == s.Device && at.before(other.at) }) {
		others := slices.DeleteFunc(slices.Clone(o.sessions[userID]), func(other ownSession) bool { return other.Device == s.Device })
		o.sessions[userID] = append(others, ownSession{*s, at})
	}
	if uncertain {
		o.marked[userID] = true
	}
	_, marked := o.marked[userID]
	o.mu.Unlock()
	if marked {
		wake(o.wake)
	}
}

// remove removes a session; ok is false if there is none.
func (o *own) remove(s *Session) (ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	sessions := o.sessions[s.UserID]
	i := slices.IndexFunc(sessions, func(own ownSession) bool { return own.same(s) })
	if i < 0 {
		return false
	}
	if len(sessions) == 1 {
		delete(o.sessions, s.UserID)
	} else {
		o.sessions[s.UserID] = slices.Delete(slices.Clone(sessions), i, i+1)
	}
	return true
}

func (o *own) mark(userID int64, uncertain bool) {
	o.mu.Lock()
	o.marked[userID] = o.marked[userID] || uncertain
	o.mu.Unlock()
	wake(o.wake)
}

// markAll marks the users of all own sessions.
func (o *own) markAll() {
	o.mu.Lock()
	for userID := range o.sessions {
		if !o.marked[userID] {
			o.marked[userID] = false
		}
	}
	o.mu.Unlock()
	wake(o.wake)
}

// take returns and clears the marked users.
func (o *own) take() map[int64]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	marked := o.marked
	o.marked = map[int64]bool{}
	return marked
}

// of returns the sessions of a user; settled is false while one is being opened.
func (o *own) of(userID int64) (sessions []ownSession, settled bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sessions[userID], o.opening[userID] == 0
}

// find returns the own session with the key.
func (o *own) find(key SessionKey) (s ownSession, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.sessions[key.UserID] {
		if s.Device == key.Device && s.ID == key.ID {
			return s, true
		}
	}
	return ownSession{}, false
}

// count returns how many sessions there are.
func (o *own) count() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, sessions := range o.sessions {
		n += len(sessions)
	}
	return n
}

// keys returns the keys of all sessions.
func (o *own) keys() (keys []SessionKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, sessions := range o.sessions {
		for i := range sessions {
			keys = append(keys, sessions[i].Key())
		}
	}
	return keys
}
