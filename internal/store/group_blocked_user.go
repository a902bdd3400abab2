// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"
)

// A GroupBlockedUser is a user blocked from a group.
type GroupBlockedUser struct {
	GroupUserKey
	BlockDate time.Time
	// RequesterID is who blocked the user.
	RequesterID int64
}

// A GroupBlockedUserFilter selects blocked users. Empty fields do not restrict; all others must
// match.
type GroupBlockedUserFilter struct {
	GroupIDs, UserIDs, RequesterIDs []int64
	BlockDate                       DateRange
}

// A GroupBlockedUserChange describes a change. Nil fields stay unchanged.
type GroupBlockedUserChange struct {
	BlockDate   *time.Time
	RequesterID *int64
}

var groupBlockedUsers = newTable("group_blocked_user", "group_id user_id block_date requester_id", func(u *GroupBlockedUser) []any {
	return []any{&u.GroupID, &u.UserID, (*millis)(&u.BlockDate), &u.RequesterID}
})

// InsertGroupBlockedUsers stores new blocks. It returns ErrDuplicateKey if it exists.
func InsertGroupBlockedUsers(ctx context.Context, tx Tx, users ...GroupBlockedUser) error {
	if err := groupBlockedUsers.insert(ctx, tx, users...); err != nil {
		return fmt.Errorf("insert blocked users of groups: %w", err)
	}
	return nil
}

func (f GroupBlockedUserFilter) conditions() (c conditions) {
	anyOf(&c, "t.group_id", f.GroupIDs)
	anyOf(&c, "t.user_id", f.UserIDs)
	anyOf(&c, "t.requester_id", f.RequesterIDs)
	c.and(f.BlockDate.conditions("t.block_date")...)
	return c
}

// FindGroupBlockedUsers returns the blocked users that match the filter, ordered by the date of the
// block, if the filter asks for it, group and user.
func FindGroupBlockedUsers(ctx context.Context, r Reader, filter GroupBlockedUserFilter, page Page) ([]GroupBlockedUser, error) {
	order := orderBy([]string{"t.group_id", "t.user_id"}, datedColumn{"t.block_date", filter.BlockDate})
	users, err := groupBlockedUsers.find(ctx, r, filter.conditions(), page, order...)
	if err != nil {
		return nil, fmt.Errorf("find blocked users of groups: %w", err)
	}
	return users, nil
}

// CountGroupBlockedUsers returns how many blocked users match the filter.
func CountGroupBlockedUsers(ctx context.Context, r Reader, filter GroupBlockedUserFilter) (int64, error) {
	return countRows(ctx, r, "group_blocked_user", filter.conditions())
}

// FindGroupBlocks returns those of the keys that are blocked.
func FindGroupBlocks(ctx context.Context, r Reader, keys []GroupUserKey) ([]GroupUserKey, error) {
	users, err := groupBlockedUsers.find(ctx, r, inKeys(keys), Page{})
	if err != nil {
		return nil, fmt.Errorf("find blocked users of groups: %w", err)
	}
	blocked := make([]GroupUserKey, len(users))
	for i, u := range users {
		blocked[i] = u.GroupUserKey
	}
	return blocked, nil
}

// CountGroupBlocks returns how many of the keys are blocked.
func CountGroupBlocks(ctx context.Context, r Reader, keys []GroupUserKey) (count int64, err error) {
	return countRows(ctx, r, "group_blocked_user", inKeys(keys))
}

// UpdateGroupBlockedUsers changes the blocks with the given keys. It returns the group of each
// changed block, so a group may occur more than once.
func UpdateGroupBlockedUsers(ctx context.Context, tx Tx, keys []GroupUserKey, change GroupBlockedUserChange) ([]int64, error) {
	var c columnChanges
	setIf(&c, "block_date", millisOrNull(change.BlockDate))
	setIf(&c, "requester_id", change.RequesterID)
	return c.update(ctx, tx, "group_blocked_user", "group_id", inKeys(keys))
}

// DeleteGroupBlockedUsers deletes the blocks with the given keys. It returns the group of each
// deleted block, so a group may occur more than once.
func DeleteGroupBlockedUsers(ctx context.Context, tx Tx, keys []GroupUserKey) ([]int64, error) {
	return deleted(ctx, tx, "group_blocked_user", "group_id", inKeys(keys))
}
