// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// Blocklist manages the blocked users of groups.
type Blocklist struct {
	records[store.GroupBlockedUserFilter, store.GroupBlockedUser]
	now func() time.Time
}

func newBlocklist(db *store.DB, now func() time.Time) *Blocklist {
	return &Blocklist{records[store.GroupBlockedUserFilter, store.GroupBlockedUser]{db, store.FindGroupBlockedUsers, store.CountGroupBlockedUsers}, now}
}

// Block blocks a user from joining a group. A member stays one. blockDate is the start of the
// block; nil means now.
func (b *Blocklist) Block(ctx context.Context, u store.GroupBlockedUser, blockDate *time.Time) (store.GroupBlockedUser, error) {
	now := b.now()
	u.BlockDate = deref(blockDate, now)
	if err := check.NotFuture("blockDate", blockDate, now); err != nil {
		return store.GroupBlockedUser{}, err
	}
	err := b.store.Write(ctx, func(ctx context.Context, tx store.Tx) error { return block(ctx, tx, u, now) })
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

// Update changes the blocks with these keys.
func (b *Blocklist) Update(ctx context.Context, keys []store.GroupUserKey, c store.GroupBlockedUserChange) (store.UpdateResult, error) {
	if c == (store.GroupBlockedUserChange{}) {
		return store.UpdateResult{}, nil
	}
	now := b.now()
	if err := check.NotFuture("blockDate", c.BlockDate, now); err != nil {
		return store.UpdateResult{}, err
	}
	var result store.UpdateResult
	err := b.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
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

// Unblock lifts the blocks with these keys.
func (b *Blocklist) Unblock(ctx context.Context, keys []store.GroupUserKey) (deleted int64, err error) {
	err = b.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		deleted, err = b.unblock(ctx, tx, keys)
		return err
	})
	return deleted, err
}

func (b *Blocklist) unblock(ctx context.Context, tx store.Tx, keys []store.GroupUserKey) (int64, error) {
	groups, err := store.DeleteGroupBlockedUsers(ctx, tx, keys)
	if err != nil {
		return 0, err
	}
	return int64(len(groups)), store.BumpGroupVersions(ctx, tx, store.GroupBlocklist, groups, b.now())
}

// IsBlocked reports whether a group blocks a user.
func IsBlocked(ctx context.Context, r store.Reader, groupID, userID int64) (bool, error) {
	n, err := store.CountGroupBlocks(ctx, r, []store.GroupUserKey{{GroupID: groupID, UserID: userID}})
	return n > 0, err
}

// BlockBy blocks a user from a group on behalf of a requester. A member is removed and therefore
// must rank below the requester.
func (b *Blocklist) BlockBy(ctx context.Context, requester, groupID, userID int64) error {
	if requester == userID {
		return apierr.New(apierr.IllegalArgument, "userId: nobody can block oneself")
	}
	if err := check.UserID("userId", userID); err != nil {
		return err
	}
	keys, now := []store.GroupUserKey{{GroupID: groupID, UserID: userID}}, b.now()
	return b.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		at, err := managed(ctx, tx, groupID, requester, apierr.NotGroupOwnerOrManagerToAddBlockedUser)
		if err != nil {
			return err
		}
		members, err := store.GetGroupMembers(ctx, tx, keys)
		if err != nil {
			return err
		}
		for _, m := range members {
			if !at.above(m) {
				return apierr.New(apierr.NotGroupOwnerToRemoveGroupOwnerOrManager, "user %d is %s of group %d", userID, m.Role, groupID)
			}
			if err := leave(ctx, tx, keys, now); err != nil {
				return err
			}
		}
		return block(ctx, tx, store.GroupBlockedUser{GroupUserKey: keys[0], BlockDate: now, RequesterID: requester}, now)
	})
}

// UnblockBy lifts the block of a user on behalf of a requester and reports
// whether there was one.
func (b *Blocklist) UnblockBy(ctx context.Context, requester, groupID, userID int64) (lifted bool, err error) {
	err = b.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := managed(ctx, tx, groupID, requester, apierr.NotGroupOwnerOrManagerToRemoveBlockedUser); err != nil {
			return err
		}
		n, err := b.unblock(ctx, tx, []store.GroupUserKey{{GroupID: groupID, UserID: userID}})
		lifted = n > 0
		return err
	})
	return lifted, err
}

// ListIDs returns the blocked users of a group.
func (b *Blocklist) ListIDs(ctx context.Context, groupID int64, since *time.Time) ([]int64, *time.Time, error) {
	return list[int64]{
		version: versionOfGroup(store.GroupBlocklist, groupID),
		items: func(ctx context.Context, r store.Reader) ([]int64, error) {
			blocked, err := store.FindGroupBlockedUsers(ctx, r, store.GroupBlockedUserFilter{GroupIDs: []int64{groupID}}, store.Page{})
			return convert(blocked, func(u store.GroupBlockedUser) int64 { return u.UserID }), err
		},
	}.read(ctx, b.store, since)
}
