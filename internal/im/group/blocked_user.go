// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// BlockUser keeps a user out of a group. A member stays one. blockDate is when
// the block began; nil is now.
func (d *Directory) BlockUser(ctx context.Context, u store.GroupBlockedUser, blockDate *time.Time) (store.GroupBlockedUser, error) {
	now := d.now()
	u.BlockDate = deref(blockDate, now)
	if err := check.NotFuture("blockDate", blockDate, now); err != nil {
		return store.GroupBlockedUser{}, err
	}
	err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error { return block(ctx, tx, u, now) })
	if err != nil {
		return store.GroupBlockedUser{}, err
	}
	return u, nil
}

func block(ctx context.Context, tx store.Tx, u store.GroupBlockedUser, now time.Time) error {
	if err := store.InsertGroupBlockedUsers(ctx, tx, u); err != nil {
		return err
	}
	return store.BumpGroupVersions(ctx, tx, store.GroupBlocklist, []int64{u.GroupID}, now)
}

// FindBlockedUsers returns blocked users in the order of group and user, or of
// the date of the block if the filter asks for it.
func (d *Directory) FindBlockedUsers(ctx context.Context, f store.GroupBlockedUserFilter, limit, offset int) ([]store.GroupBlockedUser, error) {
	return find(ctx, d, f, limit, offset, store.FindGroupBlockedUsers)
}

// FindBlockedUserPage returns a page of blocked users and how many there are, as
// far as store.ForTotal counts.
func (d *Directory) FindBlockedUserPage(ctx context.Context, f store.GroupBlockedUserFilter, page store.Page) (int64, []store.GroupBlockedUser, error) {
	return findPage(ctx, d, f, page, store.CountGroupBlockedUsers, store.FindGroupBlockedUsers)
}

// UpdateBlockedUsers changes the blocks with these keys.
func (d *Directory) UpdateBlockedUsers(ctx context.Context, keys []store.GroupUserKey, c store.GroupBlockedUserChange) (store.UpdateResult, error) {
	if c == (store.GroupBlockedUserChange{}) {
		return store.UpdateResult{}, nil
	}
	now := d.now()
	if err := check.NotFuture("blockDate", c.BlockDate, now); err != nil {
		return store.UpdateResult{}, err
	}
	var result store.UpdateResult
	err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		matched, err := store.CountGroupBlocks(ctx, tx, keys)
		if err != nil {
			return err
		}
		modified, err := store.UpdateGroupBlockedUsers(ctx, tx, keys, c)
		if err != nil {
			return err
		}
		result = store.UpdateResult{Matched: matched, Modified: int64(len(modified))}
		return store.BumpGroupVersions(ctx, tx, store.GroupBlocklist, modified, now)
	})
	return result, err
}

// UnblockUsers lifts the blocks with these keys.
func (d *Directory) UnblockUsers(ctx context.Context, keys []store.GroupUserKey) (deleted int64, err error) {
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		deleted, err = d.unblock(ctx, tx, keys)
		return err
	})
	return deleted, err
}

func (d *Directory) unblock(ctx context.Context, tx store.Tx, keys []store.GroupUserKey) (int64, error) {
	groups, err := store.DeleteGroupBlockedUsers(ctx, tx, keys)
	if err != nil {
		return 0, err
	}
	return int64(len(groups)), store.BumpGroupVersions(ctx, tx, store.GroupBlocklist, groups, d.now())
}

// IsBlocked reports whether a group keeps a user out.
func (d *Directory) IsBlocked(ctx context.Context, r store.Reader, groupID, userID int64) (bool, error) {
	n, err := store.CountGroupBlocks(ctx, r, []store.GroupUserKey{{GroupID: groupID, UserID: userID}})
	return n > 0, err
}
