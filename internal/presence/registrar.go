// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/wire"
)

// A registrar opens and closes the sessions of this process's gateway, and keeps the bucket in line
// with them.
type registrar struct {
	cluster *cluster.Cluster
	own     *own
	table   *table
	writer  *writer
	current *current
	// holder has the connections; nil until Attach.
	holder atomic.Pointer[Holder]
	logger *slog.Logger
}

// open is Directory.Open.
func (reg *registrar) open(
	ctx context.Context, s Session, status wire.UserStatus, decide func(current Entry) (conflicts []wire.DeviceType, err error),
) (replaced []Session, err error) {
	s.gateway, s.NodeID = reg.own.gateway, reg.own.gateway.id
	s.LoginDate = s.LoginDate.UTC().Truncate(time.Millisecond)
	reg.own.begin(s.UserID)
	at, err := reg.writer.change(ctx, s.UserID, false, func(current content, live []Session, _ place) (*content, error) {
		// An attempt without response may have been carried out.
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
			// The rules may have changed since that session was opened.
			next[i].excludes &^= devicesOf([]wire.DeviceType{s.Device})
		}
		s.excludes = devicesOf(conflicts) &^ devicesOf([]wire.DeviceType{s.Device})
		return &content{status: status, sessions: append(next, s)}, nil
	})
	if err != nil {
		// It may have been written nevertheless.
		reg.own.end(s.UserID, nil, place{}, true)
		if r, ok := errors.AsType[*refusal](err); ok {
			return nil, r.err
		}
		return nil, fmt.Errorf("open a session of user %d: %w", s.UserID, err)
	}
	reg.own.end(s.UserID, &s, at, false)
	for i := range replaced {
		reg.table.forget(s.UserID, &replaced[i])
	}
	// It may have been replaced before it was an own session.
	reg.check(s.UserID)
	return replaced, nil
}

// refusal passes the error of decide through change.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }

// close is Directory.Close.
func (reg *registrar) close(ctx context.Context, key SessionKey) {
	gone := Session{UserID: key.UserID, Device: key.Device, ID: key.ID, gateway: reg.own.gateway}
	if !reg.own.remove(&gone) {
		return
	}
	_, err := reg.writer.change(ctx, key.UserID, false, func(current content, _ []Session, _ place) (*content, error) {
		return without(current, func(s *Session) bool { return s.same(&gone) }), nil
	})
	reg.table.forget(key.UserID, &gone)
	if err != nil {
		reg.own.mark(key.UserID, true)
	}
}

// owns is Directory.Owns.
func (reg *registrar) owns(key SessionKey) bool {
	_, ok := reg.own.find(key)
	return ok
}

// check compares the record of a user with the own sessions and marks differences.
func (reg *registrar) check(userID int64) {
	sessions, settled := reg.own.of(userID)
	r := reg.table.get(userID)
	if r == nil && len(sessions) == 0 || !settled {
		return
	}
	if r != nil && r.epoch < reg.table.epoch.Load() {
		// A new bucket was opened while the old one was written.
		reg.own.mark(userID, false)
		return
	}
	for i := range sessions {
		own := &sessions[i]
		switch {
		case r != nil && r.place().before(own.at):
			// The news of its opening, or of what followed, has not arrived yet.
		case r != nil && rival(r.sessions, &own.Session) != nil:
			reg.lose(&own.Session)
		case r == nil || !slices.ContainsFunc(r.sessions, own.is):
			reg.own.mark(userID, false)
		}
	}
	if r != nil && slices.ContainsFunc(r.sessions, func(s Session) bool { return reg.foreign(sessions, &s) }) {
		reg.own.mark(userID, false)
	}
}

// foreign reports whether a session in the bucket claims to be of this gateway and is not.
func (reg *registrar) foreign(sessions []ownSession, s *Session) bool {
	return s.gateway == reg.own.gateway && !slices.ContainsFunc(sessions, func(own ownSession) bool { return own.same(s) })
}

// settle writes this gateway's sessions of a user to the key. Own sessions that were replaced by,
// or had to end for, a live session elsewhere are lost.
func (reg *registrar) settle(ctx context.Context, userID int64, fresh bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var lost []Session
	_, err := reg.writer.change(ctx, userID, fresh, func(current content, _ []Session, at place) (*content, error) {
		lost = nil
		sessions, settled := reg.own.of(userID)
		if !settled {
			return nil, nil // Open settles it when it is done.
		}
		next := content{status: current.status}
		changed := false
		for i := range current.sessions {
			if reg.foreign(sessions, &current.sessions[i]) {
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
				// If the key is newer than this process's record, this fails and the key is read.
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
		reg.lose(&lost[i])
	}
	return nil
}

// lose removes an own session that one elsewhere has replaced.
func (reg *registrar) lose(s *Session) {
	if !reg.own.remove(s) {
		return
	}
	reg.table.forget(s.UserID, s)
	reg.logger.Debug("a session was replaced by one of another gateway", "userId", s.UserID, "device", s.Device.String())
	if h := reg.holder.Load(); h != nil {
		(*h).Lost(s.UserID, s.Device, s.ID)
	}
}

// activityOf returns the activity from the holder.
func (reg *registrar) activityOf(userID int64, device wire.DeviceType, sessionID int32) (Activity, bool) {
	h := reg.holder.Load()
	if h == nil {
		return Activity{}, false
	}
	return (*h).Activity(userID, device, sessionID)
}
