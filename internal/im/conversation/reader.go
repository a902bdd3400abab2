// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/check"
	"example.org/app/internal/im/group"
	"example.org/app/internal/im/relationship"
	"example.org/app/internal/store"
)

// reading is a read date that a user sets.
type reading struct {
	at time.Time
	// back is true if an earlier date may replace a later one. Otherwise strict makes that an
	// error; it is false if the date is the server's own.
	back, strict bool
}

func (d *Directory) reading(said time.Time) (reading, error) {
	settings, now := d.opts.Settings().ReadReceipt, d.now()
	switch {
	case !settings.Enabled:
		return reading{}, apierr.New(apierr.UpdatingReadDateIsDisabled, "")
	case settings.UseServerTime:
		return reading{now, settings.AllowMoveReadDateForward, false}, nil
	}
	return reading{said, settings.AllowMoveReadDateForward, true}, check.NotFuture("readDate", &said, now)
}

func (r reading) check(set int64, err error) error {
	if err == nil && set == 0 && r.strict {
		return errReadDateBack()
	}
	return err
}

// ReadPrivate sets how far a user has read what another one wrote. done is false if the other never
// wrote to the user; nothing changes then.
func (d *Directory) ReadPrivate(ctx context.Context, userID, peerID int64, said time.Time) (done bool, at time.Time, _ error) {
	r, err := d.reading(said)
	if err != nil {
		return false, said, err
	}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		var err error
		if done, err = store.HasPrivateMessage(ctx, tx, peerID, userID); err != nil || !done {
			return err
		}
		return r.check(store.PutPrivateReadDates(ctx, tx, []store.PrivateConversationKey{{OwnerID: userID, TargetID: peerID}}, r.at, r.back))
	})
	return done && err == nil, r.at, err
}

// ReadGroup sets how far a member has read what was written to a group.
func (d *Directory) ReadGroup(ctx context.Context, userID, groupID int64, said time.Time) (at time.Time, _ error) {
	r, err := d.reading(said)
	if err != nil {
		return said, err
	}
	return r.at, d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := d.mayReadGroup(ctx, tx, userID, groupID); err != nil {
			return err
		}
		return r.check(store.PutGroupReadDates(ctx, tx, []store.GroupUserKey{{GroupID: groupID, UserID: userID}}, r.at, r.back))
	})
}

func (d *Directory) mayReadGroup(ctx context.Context, r store.Reader, userID, groupID int64) error {
	g, found, err := group.Get(ctx, r, groupID)
	if err != nil {
		return err
	}
	if !found {
		return apierr.New(apierr.UpdatingReadDateOfNonexistentGroupConversation, "")
	}
	member, err := group.IsMember(ctx, r, groupID, userID)
	if err != nil {
		return err
	}
	if !member {
		return apierr.New(apierr.NotGroupMemberToUpdateReadDateOfGroupConversation, "")
	}
	t, err := group.TypeOf(ctx, r, g.TypeID)
	if err != nil {
		return err
	}
	if !t.EnableReadReceipt {
		return apierr.New(apierr.UpdatingReadDateIsDisabledByGroup, "")
	}
	return nil
}

// MayType returns an error if a user may not send typing notifications to another user or to the
// members of a group.
func (d *Directory) MayType(ctx context.Context, userID int64, isGroup bool, targetID int64) error {
	if !d.opts.Settings().TypingStatus.Enabled {
		return apierr.New(apierr.UpdatingTypingStatusIsDisabled, "")
	}
	return d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if isGroup {
			member, err := group.IsMember(ctx, r, targetID, userID)
			if err == nil && !member {
				err = apierr.New(apierr.NotGroupMemberToSendTypingStatus, "")
			}
			return err
		}
		known, err := relationship.Knows(ctx, r, targetID, userID)
		if err == nil && !known {
			err = apierr.New(apierr.NotFriendToSendTypingStatus, "")
		}
		return err
	})
}

// Functions for other packages, within their transactions.

// NotePrivate moves the read dates of private conversations forward to a date.
func NotePrivate(ctx context.Context, tx store.Tx, at time.Time, keys ...store.PrivateConversationKey) error {
	_, err := store.PutPrivateReadDates(ctx, tx, distinctPrivate(keys), at, false)
	return err
}

// NoteGroup moves the read dates of group members forward to a date.
func NoteGroup(ctx context.Context, tx store.Tx, at time.Time, keys ...store.GroupUserKey) error {
	_, err := store.PutGroupReadDates(ctx, tx, distinctMembers(keys), at, false)
	return err
}

// DeleteOfUsers deletes the read dates of deleted users, their private conversations and their part
// in those of groups, and all settings about conversations with them.
func DeleteOfUsers(ctx context.Context, tx store.Tx, userIDs []int64) error {
	if _, err := store.DeletePrivateConversations(ctx, tx, store.PrivateConversationFilter{OwnerIDs: userIDs}); err != nil {
		return err
	}
	if err := store.DeleteConversationSettingsOfUsers(ctx, tx, userIDs); err != nil {
		return err
	}
	return store.DeleteGroupReadDatesOfUsers(ctx, tx, userIDs)
}

// DeleteOfGroups deletes the conversations of deleted groups and the settings about them.
func DeleteOfGroups(ctx context.Context, tx store.Tx, groupIDs []int64) error {
	if _, err := store.DeleteGroupConversations(ctx, tx, groupIDs); err != nil {
		return err
	}
	return store.DeleteConversationSettingsOfGroups(ctx, tx, groupIDs)
}
