// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.org/app/internal/wire"
)

// announcers is how many entries a gateway writes at a time when it announces its sessions.
const announcers = 64

// own are the sessions of this process's gateway: what the bucket must say of it, whatever happens to the bucket.
type own struct {
	gateway *gateway
	// wake is for the goroutine that settles what is marked.
	wake chan struct{}

	mu       sync.Mutex
	sessions map[int64][]ownSession
	// opening counts the sessions of a user that are being registered and may be in the bucket or not.
	opening map[int64]int
	// marked are users whose key may not say what it must; true if the record of it cannot be trusted either.
	marked map[int64]bool
	// familiar are the services that know the own sessions of earlier buckets.
	familiar map[string]string

	// doubtful says that news of own sessions may have been missed, so that all of them are to be compared with what is known elsewhere.
	doubtful atomic.Bool

	// met is the epoch of the last bucket that has the own sessions and in which the services that may not know them were found.
	met atomic.Uint64
}

// An ownSession is a session of this gateway and where it was opened: an entry that was written before that tells nothing
// of it.
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

// end ends what begin began, with the session that was opened, if any. One that was replaced by a later one meanwhile,
// whose login came here first, is not an own session any more.
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

// remove forgets a session; ok is false if there is none such.
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

// markAll has every own session compared with the bucket.
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

// take returns who is marked.
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

// Owns reports whether a session that this gateway opened is still the one of its user and device type, as far as is known.
// When that ends, Holder.Lost is called: a gateway that asks after it has made the session findable misses nothing.
func (d *Directory) Owns(key SessionKey) bool {
	if d.own == nil {
		return false
	}
	_, ok := d.own.find(key)
	return ok
}

// check compares the record of a user with the own sessions and has the differences settled.
func (d *Directory) check(userID int64) {
	if d.own == nil {
		return
	}
	sessions, settled := d.own.of(userID)
	r := d.table.get(userID)
	if r == nil && len(sessions) == 0 || !settled {
		return
	}
	if r != nil && r.epoch < d.table.epoch.Load() {
		// A new bucket came while it was written to the old one.
		d.own.mark(userID, false)
		return
	}
	for i := range sessions {
		own := &sessions[i]
		switch {
		case r != nil && r.place().before(own.at):
			// The news of its opening are still to come, or those of what followed it.
		case r != nil && rival(r.sessions, &own.Session) != nil:
			d.lose(&own.Session)
		case r == nil || !slices.ContainsFunc(r.sessions, own.is):
			d.own.mark(userID, false)
		}
	}
	if r != nil && slices.ContainsFunc(r.sessions, func(s Session) bool { return d.foreign(sessions, &s) }) {
		d.own.mark(userID, false)
	}
}

// foreign reports whether a session claims to be of this gateway and is not.
func (d *Directory) foreign(sessions []ownSession, s *Session) bool {
	return s.gateway == d.own.gateway && !slices.ContainsFunc(sessions, func(own ownSession) bool { return own.same(s) })
}

// announceLoop settles what is marked, many at a time, and says so when a new bucket knows all own sessions.
func (d *Directory) announceLoop() {
	failing := false
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-d.own.wake:
		}
		_, err := d.await(d.ctx)
		if err == nil {
			err = d.announce()
		}
		if err == nil {
			failing = false
			continue
		}
		if !failing && d.ctx.Err() == nil {
			d.logger.Warn("sessions of this gateway could not be announced", "error", err)
		}
		failing = true
		timer := time.NewTimer(retryMax)
		select {
		case <-d.ctx.Done():
		case <-timer.C:
			wake(d.own.wake)
		case <-d.own.wake:
			wake(d.own.wake)
		}
		timer.Stop()
	}
}

// announce settles what is marked now.
func (d *Directory) announce() error {
	// Together, so that what a new bucket must be told is not mistaken for what the old one was told.
	d.mu.Lock()
	b, marked := d.bucket, d.own.take()
	d.mu.Unlock()
	err := forEach(d.ctx, slices.Collect(maps.Keys(marked)), func(ctx context.Context, userID int64) error {
		err := d.settle(ctx, userID, marked[userID])
		if err != nil {
			d.own.mark(userID, marked[userID])
		}
		return err
	})
	// The news of the announcement may come before those who do not know the sessions are found.
	if err != nil || d.own.met.Load() >= b.epoch {
		return err
	}
	if !d.options.Alone {
		if err := b.announce(d.ctx, d.own.gateway); err != nil {
			return err
		}
	}
	if err := d.meetStrangers(b); err != nil {
		return err
	}
	d.own.gateway.announced.toAll(b.epoch)
	return nil
}

// forEach calls fn for the users, some at a time, and returns the first error. After one it still calls fn, with a
// context that has ended.
func forEach(ctx context.Context, users []int64, fn func(ctx context.Context, userID int64) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	var mu sync.Mutex
	var failure error
	next := make(chan int64)
	for range min(announcers, len(users)) {
		group.Go(func() {
			for userID := range next {
				if err := fn(ctx, userID); err != nil {
					mu.Lock()
					if failure == nil {
						failure = err
					}
					mu.Unlock()
					cancel()
				}
			}
		})
	}
	for _, userID := range users {
		next <- userID
	}
	close(next)
	group.Wait()
	return failure
}

// settle makes the key of a user say of this gateway what it must. Own sessions whose place belongs to a live session
// elsewhere, or that had to go for one, are lost.
func (d *Directory) settle(ctx context.Context, userID int64, fresh bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var lost []Session
	_, err := d.change(ctx, userID, fresh, func(current content, _ []Session, at place) (*content, error) {
		lost = nil
		sessions, settled := d.own.of(userID)
		if !settled {
			return nil, nil // Open looks at it when it is done.
		}
		next := content{status: current.status}
		changed := false
		for i := range current.sessions {
			if d.foreign(sessions, &current.sessions[i]) {
				changed = true
				continue
			}
			next.sessions = append(next.sessions, current.sessions[i])
		}
		for i := range sessions {
			switch own := &sessions[i]; {
			case rival(next.sessions, &own.Session) != nil && !at.before(own.at):
				lost = append(lost, own.Session)
			case !slices.ContainsFunc(next.sessions, own.is):
				// Where the key is newer than what is known of it, this fails and it is read.
				next.sessions = append(slices.DeleteFunc(next.sessions, func(s Session) bool { return s.Device == own.Device }), own.Session)
				changed = true
			}
		}
		if !changed {
			return nil, nil
		}
		return &next, nil
	})
	if err != nil {
		return err
	}
	for i := range lost {
		d.lose(&lost[i])
	}
	return nil
}

// lose gives up an own session for one elsewhere.
func (d *Directory) lose(s *Session) {
	if !d.own.remove(s) {
		return
	}
	d.table.forget(s.UserID, s)
	d.logger.Debug("a session was replaced by one of another gateway", "userId", s.UserID, "device", s.Device.String())
	if h := d.holder.Load(); h != nil {
		(*h).Lost(s.UserID, s.Device, s.ID)
	}
}

// activityOf asks the holder.
func (d *Directory) activityOf(userID int64, device wire.DeviceType, sessionID int32) (Activity, bool) {
	h := d.holder.Load()
	if h == nil {
		return Activity{}, false
	}
	return (*h).Activity(userID, device, sessionID)
}
