// SPDX-License-Identifier: Apache-2.0

// Package meeting holds the rules about meetings: invitations, dates, changes, cancelling and
// joining. A Provider holds the meetings themselves. The package notifies nobody.
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

// A Provider holds the meetings themselves, where participants see and hear each other. Its methods
// are called outside of transactions, and the caller gets their errors. A method that is not
// implemented returns apierr.ConferenceNotImplemented.
type Provider interface {
	// Available reports whether a provider exists.
	Available() bool
	// Create opens a meeting that begins at once and returns the access token of its creator, which
	// may be empty. It is not called for a meeting that begins later, which the first accepted
	// invitation after its start opens.
	Create(ctx context.Context, requesterID int64, m store.Meeting, l Limits) (accessToken string, err error)
	// Cancel ends a meeting that its creator cancelled. It may not have begun, and may already be
	// cancelled.
	Cancel(ctx context.Context, requesterID, meetingID int64) error
	// CountActive returns how many meetings of a user are active; known is false if that is
	// unknown.
	CountActive(ctx context.Context, userID int64) (n int32, known bool, err error)
	// Accept lets a user join a meeting and returns the access token.
	Accept(ctx context.Context, requesterID, meetingID int64) (accessToken string, err error)
}

// Limits are limits that a Provider must enforce.
type Limits struct {
	MaxParticipants int32
	// IdleTimeout is how long a meeting continues without participants.
	IdleTimeout time.Duration
}

// limitsOf returns the limits of a meeting of two users or of a group.
func limitsOf(m store.Meeting) Limits {
	if m.GroupID != nil {
		return Limits{MaxParticipants: 100, IdleTimeout: time.Hour}
	}
	return Limits{MaxParticipants: 2, IdleTimeout: time.Hour}
}

// Messages provides the rules about messages. Its methods are called inside transactions and must
// use only r.
type Messages interface {
	// MaySend returns an error if a user may not send messages to a user or a group.
	MaySend(ctx context.Context, r store.Reader, senderID, targetID int64, toGroup bool) error
}

// Options are what a Directory is built from.
type Options struct {
	Store *store.DB
	// Settings returns the current rules.
	Settings func() config.Conference
	Messages Messages
	Provider Provider
	// Logger logs failed calls of the provider; nil discards them.
	Logger *slog.Logger
	// Clock is time.Now if it is nil.
	Clock func() time.Time
}

// Directory manages all meetings of the cluster. It has no cache.
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

// available returns an error if there is no provider.
func (d *Directory) available() error {
	if d.opts.Provider.Available() {
		return nil
	}
	return apierr.New(apierr.ConferenceNotImplemented, "")
}

// A role is the role of a user in a meeting.
type role int

// The roles.
const (
	// stranger is not invited and must not learn whether the meeting exists.
	stranger role = iota
	invitee
	creator
)

// find returns a meeting and the role of a user in it. A meeting that does not exist has only
// strangers.
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

// DeleteOfUsers deletes the meetings of deleted users with another user, in the transaction that
// deletes them. Their meetings with groups stay.
func DeleteOfUsers(ctx context.Context, tx store.Tx, userIDs []int64) error {
	return store.DeletePrivateMeetings(ctx, tx, userIDs)
}

// DeleteOfGroups deletes the meetings of deleted groups, in the transaction that
// deletes them.
func DeleteOfGroups(ctx context.Context, tx store.Tx, groupIDs []int64) error {
	return store.DeleteGroupMeetings(ctx, tx, groupIDs)
}
