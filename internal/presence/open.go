// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"example.org/app/internal/sleep"
	"example.org/app/internal/wire"
)

// maxConflicts bounds how often a change is tried again because somebody else was faster.
const maxConflicts = 50

// Open registers a session of this process's gateway. decide is asked with what is known of the user, who may be
// offline; it may refuse with an error, which Open returns as it is, or name the device types whose sessions must go,
// best all that conflict, as there may be sessions at gateways that are cut off. The session of the same device type
// goes in any case. decide may be asked several times, as others may be faster, and nil means that nothing else has to
// go. A position is dropped if positions are not kept. The answer, the status and the session take effect together or
// not at all.
//
// replaced are the sessions that had to go, possibly at other gateways. Those gateways learn of it by themselves, but
// nobody waits for that. Others may replace the new session at any moment: see Owns.
func (d *Directory) Open(
	ctx context.Context, s Session, status wire.UserStatus, decide func(current Entry) (conflicts []wire.DeviceType, err error),
) (replaced []Session, err error) {
	if d.own == nil {
		return nil, errors.New("open a session: this process has no gateway")
	}
	s.gateway, s.NodeID = d.own.gateway, d.own.gateway.id
	if !d.options.Locations.Enabled {
		s.Position = nil
	}
	s.LoginDate = s.LoginDate.UTC().Truncate(time.Millisecond)
	d.own.begin(s.UserID)
	at, err := d.change(ctx, s.UserID, false, func(current content, live []Session, _ place) (*content, error) {
		// An attempt that nobody answered may have been carried out.
		live = slices.DeleteFunc(slices.Clone(live), s.is)
		var conflicts []wire.DeviceType
		if decide != nil {
			var err error
			if conflicts, err = decide(entryOf(s.UserID, current.status, live)); err != nil {
				return nil, &refusal{err}
			}
		}
		goes := func(other Session) bool { return other.Device == s.Device || slices.Contains(conflicts, other.Device) }
		for _, other := range live {
			if goes(other) && !slices.ContainsFunc(replaced, other.is) {
				replaced = append(replaced, other)
			}
		}
		next := slices.DeleteFunc(slices.Clone(current.sessions), goes)
		for i := range next {
			// The rules may have changed since that one was opened.
			next[i].excludes &^= devicesOf([]wire.DeviceType{s.Device})
		}
		s.excludes = devicesOf(conflicts) &^ devicesOf([]wire.DeviceType{s.Device})
		return &content{status: status, sessions: append(next, s)}, nil
	})
	if err != nil {
		// It may have been written all the same.
		d.own.end(s.UserID, nil, place{}, true)
		if r, ok := errors.AsType[*refusal](err); ok {
			return nil, r.err
		}
		return nil, fmt.Errorf("open a session of user %d: %w", s.UserID, err)
	}
	d.own.end(s.UserID, &s, at, false)
	for i := range replaced {
		d.table.forget(s.UserID, &replaced[i])
	}
	// Somebody may have replaced it before it was known as an own one.
	d.check(s.UserID)
	return replaced, nil
}

// refusal carries the error of decide through change.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }

// Close removes a session that this gateway opened. One that was replaced meanwhile is somebody else's and stays. What
// cannot be told to the others now is told to them as soon as possible.
func (d *Directory) Close(ctx context.Context, userID int64, device wire.DeviceType, sessionID int32) {
	if d.own == nil {
		return
	}
	gone := Session{UserID: userID, Device: device, ID: sessionID, gateway: d.own.gateway}
	if !d.own.remove(&gone) {
		return
	}
	_, err := d.change(ctx, userID, false, func(current content, _ []Session, _ place) (*content, error) {
		return without(current, func(s *Session) bool { return s.same(&gone) }), nil
	})
	d.table.forget(userID, &gone)
	if err != nil {
		d.own.mark(userID, true)
	}
}

// without returns the content without some sessions, or nil if there are none such.
func without(c content, gone func(*Session) bool) *content {
	next := content{status: c.status}
	for i := range c.sessions {
		if !gone(&c.sessions[i]) {
			next.sessions = append(next.sessions, c.sessions[i])
		}
	}
	if len(next.sessions) == len(c.sessions) {
		return nil
	}
	return &next
}

// SetStatus sets the status of a user who is online. It may be called on any node.
func (d *Directory) SetStatus(ctx context.Context, userID int64, status wire.UserStatus) (online bool, err error) {
	if status == wire.UserStatus_OFFLINE {
		return false, errors.New("set the status of a user: OFFLINE is not a status that can be set")
	}
	online, err = d.update(ctx, userID, func(current content) (*content, bool) {
		if len(current.sessions) == 0 {
			return nil, false
		}
		if current.status == status {
			return nil, true
		}
		current.status = status
		return &current, true
	})
	if err != nil {
		return false, fmt.Errorf("set the status of user %d: %w", userID, err)
	}
	return online, nil
}

// SetStatuses is SetStatus for many users. It returns how many of them are online.
func (d *Directory) SetStatuses(ctx context.Context, userIDs []int64, status wire.UserStatus) (online int, err error) {
	var count atomic.Int64
	err = forEach(ctx, userIDs, func(ctx context.Context, userID int64) error {
		ok, err := d.SetStatus(ctx, userID, status)
		if ok {
			count.Add(1)
		}
		return err
	})
	return int(count.Load()), err
}

// update changes the entry of a user who is online. When this node knows of none, it may just not have heard yet.
func (d *Directory) update(ctx context.Context, userID int64, fn func(current content) (next *content, online bool)) (online bool, err error) {
	for _, fresh := range []bool{false, true} {
		if !fresh && !d.table.watches(userID) {
			continue
		}
		_, err = d.change(ctx, userID, fresh, func(current content, _ []Session, _ place) (next *content, err error) {
			next, online = fn(current)
			return next, nil
		})
		if err != nil || online {
			return online, err
		}
	}
	return false, nil
}

// A place is where an entry was written: which life of the bucket, and at which revision.
type place struct{ epoch, revision uint64 }

// before reports whether what was written at p is older than what was written at q.
func (p place) before(q place) bool {
	return p.epoch < q.epoch || p.epoch == q.epoch && p.revision < q.revision
}

const (
	// electionTime is how long the servers of NATS may take to elect who leads the bucket after one of them was lost, with some to
	// spare: they wait for 4 to 9 seconds before. Nobody can answer meanwhile.
	electionTime = 15 * time.Second
	// attemptTime is after which time an operation that nobody answered is tried again: the one who was asked is gone.
	attemptTime = 2 * time.Second
)

// change replaces the content of a user's key by what fn returns; nil leaves it. fn gets the sessions of the key but
// for those of dead gateways, all live sessions that are known, which may be more while gateways announce theirs to
// a new bucket, and where the key was written. It is called again when somebody else was faster, and when nobody
// answered: then what it returned may have been written. fresh has the key read first. change returns where it wrote
// the key.
func (d *Directory) change(
	ctx context.Context, userID int64, fresh bool, fn func(current content, live []Session, at place) (*content, error),
) (place, error) {
	if d.options.Alone {
		return d.table.change(userID, fn)
	}
	patience, attempt := operationTimeout, 2*operationTimeout
	elect := d.node.Cluster().Replicas() > 1
	if elect {
		patience, attempt = electionTime, attemptTime
	}
	end := time.Now().Add(patience)
	for conflicts := 0; ; fresh = true {
		wait, cancel := context.WithDeadline(ctx, end)
		b, err := d.await(wait)
		cancel()
		if err != nil {
			return place{}, err
		}
		try, cancel := context.WithTimeout(ctx, attempt)
		at, failure, err := d.tryChange(try, b, userID, fresh, fn)
		cancel()
		if failure == nil {
			return at, err
		}
		if gone(failure) {
			wake(d.again)
		}
		delay := electionPause
		if errors.Is(failure, errConflict) {
			delay = conflictPause(conflicts)
			conflicts++
		} else if !elect || time.Now().After(end) {
			return place{}, unavailable(failure)
		}
		if conflicts >= maxConflicts {
			return place{}, unavailable(failure)
		}
		if err := sleep.For(ctx, delay); err != nil {
			return place{}, unavailable(err)
		}
	}
}

// tryChange is one attempt of change. failure is that of the bucket, err that of fn.
func (d *Directory) tryChange(
	ctx context.Context, b *bucket, userID int64, fresh bool, fn func(current content, live []Session, at place) (*content, error),
) (at place, failure, err error) {
	r := d.table.get(userID)
	if fresh {
		if r, failure = d.read(ctx, b, userID); failure != nil {
			return place{}, failure, nil
		}
	}
	var current content
	var revision uint64
	if r != nil {
		current.status = r.status
	}
	if r != nil && r.epoch == b.epoch {
		revision = r.revision
		current.sessions = undead(r.sessions)
	}
	next, err := fn(current, d.table.live(r), place{b.epoch, revision})
	if err != nil || next == nil {
		if !fresh && !d.table.watches(userID) {
			// Others may have written it since. What is written proves itself; this must be looked at once more.
			return place{}, errConflict, nil
		}
		return place{}, nil, err
	}
	if len(next.sessions) == 0 {
		if r == nil || r.epoch != b.epoch || len(r.sessions) == 0 {
			return place{}, nil, nil
		}
		revision, failure = b.remove(ctx, b.keyOf(userID), revision)
	} else {
		revision, failure = b.put(ctx, b.keyOf(userID), next.encode(), revision)
	}
	if failure != nil {
		return place{}, failure, nil
	}
	d.table.wrote(userID, *next, revision, b.epoch)
	return place{b.epoch, revision}, nil, nil
}

// undead returns the sessions whose gateways are not dead.
func undead(sessions []Session) []Session {
	rest := make([]Session, 0, len(sessions)+1)
	for i := range sessions {
		if !sessions[i].gateway.dead.Load() {
			rest = append(rest, sessions[i])
		}
	}
	return rest
}

// read returns what the bucket has of a user now, with the revision of the marker if the key was removed.
func (d *Directory) read(ctx context.Context, b *bucket, userID int64) (*record, error) {
	before := d.table.get(userID)
	value, revision, err := b.read(ctx, b.keyOf(userID))
	if err != nil {
		return nil, err
	}
	var c content
	if value != nil {
		if c, err = decode(userID, value, d.gateways.intern); err != nil {
			return nil, fmt.Errorf("decode the entry of user %d: %w", userID, err)
		}
	}
	now := d.table.get(userID)
	if now != before && now != nil && now.epoch == b.epoch && now.revision > revision {
		return now, nil // News came meanwhile.
	}
	return d.table.merge(now, c, revision, b.epoch), nil
}

// electionPause is how long to wait before the servers are asked again who are electing.
const electionPause = 200 * time.Millisecond

// conflictPause keeps those who compete for a key from doing so in step.
func conflictPause(conflicts int) time.Duration {
	if conflicts < 2 {
		return 0
	}
	return rand.N(time.Duration(min(conflicts, 20)) * time.Millisecond)
}

func entryOf(userID int64, status wire.UserStatus, live []Session) Entry {
	if len(live) == 0 {
		status = wire.UserStatus_OFFLINE
	}
	return Entry{UserID: userID, Status: status, Sessions: live}
}
