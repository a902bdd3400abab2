// SPDX-License-Identifier: Apache-2.0

// Package conversation holds the rules about conversations: read dates and who may send typing
// notifications. Messages are in package message.
package conversation

import (
	"cmp"
	"context"
	"slices"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// Options configure a Directory.
type Options struct {
	Store *store.DB
	// Settings returns the current rules.
	Settings func() config.Conversation
	// Clock is time.Now if it is nil.
	Clock func() time.Time
}

// Directory manages all conversations of the cluster. It has no cache.
type Directory struct{ opts Options }

// New returns the directory over a store.
func New(o Options) *Directory {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Directory{o}
}

func (d *Directory) now() time.Time { return d.opts.Clock().UTC().Truncate(time.Millisecond) }

// Selection selects conversations: the union of its parts.
type Selection struct {
	PrivateKeys []store.PrivateConversationKey
	// OwnerIDs selects all private conversations of these users.
	OwnerIDs []int64
	GroupIDs []int64
}

// Find returns the selected conversations that exist, each once.
func (d *Directory) Find(ctx context.Context, s Selection) (private []store.PrivateConversation, groups []store.GroupConversation, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		private, err = store.FindPrivateConversations(ctx, r, store.PrivateConversationFilter{Keys: s.PrivateKeys, OwnerIDs: s.OwnerIDs})
		if err != nil {
			return err
		}
		groups, err = store.FindGroupConversations(ctx, r, s.GroupIDs)
		return err
	})
	return private, groups, err
}

// Delete deletes the selected conversations, all or none, and returns their number. The
// conversation of a group counts as one.
func (d *Directory) Delete(ctx context.Context, s Selection) (deleted int64, err error) {
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		private, err := store.DeletePrivateConversations(ctx, tx, store.PrivateConversationFilter{Keys: s.PrivateKeys, OwnerIDs: s.OwnerIDs})
		if err != nil {
			return err
		}
		groups, err := store.DeleteGroupConversations(ctx, tx, s.GroupIDs)
		deleted = private + groups
		return err
	})
	if err != nil {
		return 0, err
	}
	return deleted, nil
}

// SetReadDate sets read dates for administrators, all or none; the conversations need not exist.
// Private read dates do not go back unless the settings allow it; those of group members are
// overwritten. A nil date means now.
func (d *Directory) SetReadDate(ctx context.Context, private []store.PrivateConversationKey, members []store.GroupUserKey, date *time.Time) error {
	now := d.now()
	if err := check.NotFuture("readDate", date, now); err != nil {
		return err
	}
	at, back := now, d.opts.Settings().ReadReceipt.AllowMoveReadDateForward
	if date != nil {
		at = *date
	}
	private, members = distinctPrivate(private), distinctMembers(members)
	if len(private)+len(members) == 0 {
		return nil
	}
	return d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		set, err := store.PutPrivateReadDates(ctx, tx, private, at, back)
		if err != nil {
			return err
		}
		if date != nil && set < int64(len(private)) {
			return errReadDateBack()
		}
		_, err = store.PutGroupReadDates(ctx, tx, members, at, true)
		return err
	})
}

func errReadDateBack() error {
	return apierr.New(apierr.MovingReadDateForwardIsDisabled, "")
}

// The keys are sorted so that concurrent callers do not deadlock.

func distinctPrivate(keys []store.PrivateConversationKey) []store.PrivateConversationKey {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b store.PrivateConversationKey) int {
		return cmp.Or(cmp.Compare(a.OwnerID, b.OwnerID), cmp.Compare(a.TargetID, b.TargetID))
	})
	return slices.Compact(keys)
}

func distinctMembers(keys []store.GroupUserKey) []store.GroupUserKey {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, func(a, b store.GroupUserKey) int {
		return cmp.Or(cmp.Compare(a.GroupID, b.GroupID), cmp.Compare(a.UserID, b.UserID))
	})
	return slices.Compact(keys)
}
