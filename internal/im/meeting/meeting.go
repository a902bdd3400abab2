// SPDX-License-Identifier: Apache-2.0

// Package meeting holds the rules about meetings: who may invite whom, when a
// meeting may be, who may change, cancel and enter it. It does not hold meetings:
// whoever does is a Provider. Nor does it tell anybody of them.
package meeting

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/group"
	"example.org/app/internal/store"
)

// A Provider holds the meetings themselves: the places where participants see and
// hear each other. Its methods are called outside of transactions, and what it
// refuses with is what the caller is told. A method that it does not have fails
// with apierr.ConferenceNotImplemented.
type Provider interface {
	// Available reports whether there is somebody who holds meetings.
	Available() bool
	// Create opens a meeting that begins at once and returns what lets its creator
	// in; empty is nothing. A meeting that begins later is not created: somebody
	// accepts the invitation to it when it has begun.
	Create(ctx context.Context, requesterID int64, m store.Meeting, l Limits) (accessToken string, err error)
	// Cancel ends a meeting that its creator cancelled. It may not have begun, and
	// it may be cancelled more than once.
	Cancel(ctx context.Context, requesterID, meetingID int64) error
	// CountActive returns how many meetings that a user created are under way, and
	// false if nobody knows.
	CountActive(ctx context.Context, userID int64) (n int32, known bool, err error)
	// Accept lets somebody enter a meeting and returns what lets them in.
	Accept(ctx context.Context, requesterID, meetingID int64) (accessToken string, err error)
}

// Limits are what a Provider shall allow in a meeting.
type Limits struct {
	MaxParticipants int32
	// IdleTimeout is for how long a meeting goes on without anybody in it.
	IdleTimeout time.Duration
}

// limitsOf are the limits of a meeting of two users or of a group.
func limitsOf(m store.Meeting) Limits {
	if m.GroupID != nil {
		return Limits{MaxParticipants: 100, IdleTimeout: time.Hour}
	}
	return Limits{MaxParticipants: 2, IdleTimeout: time.Hour}
}

// Messages tells what the rules about meetings need to know of messages. Its
// methods are called inside transactions and use r alone.
type Messages interface {
	// MaySend refuses a user who may not send messages to a user or a group.
	MaySend(ctx context.Context, r store.Reader, senderID, targetID int64, toGroup bool) error
}

// Options are what a Directory is built from.
type Options struct {
	Store *store.DB
	// Settings returns the current rules.
	Settings func() config.Conference
	Messages Messages
	Provider Provider
	// Logger gets what a provider was not told; nil is silence.
	Logger *slog.Logger
	// Clock is time.Now if it is nil.
	Clock func() time.Time
}

// Directory knows all meetings of the cluster. It keeps nothing in memory.
type Directory struct{ opts Options }

// New returns the directory over a store.
func New(o Options) *Directory {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Directory{o}
}

func (d *Directory) now() time.Time { return d.opts.Clock().UTC().Truncate(time.Millisecond) }

// available refuses everything while nobody holds meetings.
func (d *Directory) available() error {
	if d.opts.Provider.Available() {
		return nil
	}
	return apierr.New(apierr.ConferenceNotImplemented, "")
}

// A role is what a user is to a meeting.
type role int

// The roles.
const (
	// stranger is nobody, who does not know whether the meeting exists.
	stranger role = iota
	invitee
	creator
)

// find returns a meeting and what a user is to it. Nobody knows of a meeting that
// does not exist.
func (d *Directory) find(ctx context.Context, r store.Reader, userID, meetingID int64) (store.Meeting, role, error) {
	m, err := store.FindMeeting(ctx, r, meetingID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return m, stranger, nil
	case err != nil:
		return m, stranger, err
	case m.CreatorID == userID:
		return m, creator, nil
	case m.UserID != nil && *m.UserID == userID:
		return m, invitee, nil
	case m.GroupID == nil:
		return m, stranger, nil
	}
	isMember, err := group.IsMember(ctx, r, *m.GroupID, userID)
	if isMember {
		return m, invitee, err
	}
	return m, stranger, err
}

// DeleteOfUsers deletes the meetings that deleted users have with single others,
// in the transaction that deletes them. Their meetings with groups go on.
func DeleteOfUsers(ctx context.Context, tx store.Tx, userIDs []int64) error {
	return store.DeletePrivateMeetings(ctx, tx, userIDs)
}

// DeleteOfGroups deletes the meetings of deleted groups, in the transaction that
// deletes them.
func DeleteOfGroups(ctx context.Context, tx store.Tx, groupIDs []int64) error {
	return store.DeleteGroupMeetings(ctx, tx, groupIDs)
}
