// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// A GroupBlockedUser is a user whom a group keeps out.
type GroupBlockedUser struct {
	GroupUserKey
	BlockDate time.Time
	// RequesterID is who blocked the user.
	RequesterID int64
}

// A GroupBlockedUserFilter selects blocked users. An empty field is no restriction; all fields must match.
type GroupBlockedUserFilter struct {
	GroupIDs, UserIDs, RequesterIDs []int64
	BlockDate                       DateRange
}

// A GroupBlockedUserChange says what to change. A nil field stays as it is.
type GroupBlockedUserChange struct {
	BlockDate   *time.Time
	RequesterID *int64
}

type groupBlockedUserRow struct {
	bun.BaseModel `bun:"table:group_blocked_user,alias:t"`
	GroupID       int64 `bun:"group_id,pk"`
	UserID        int64 `bun:"user_id,pk"`
	BlockDate     int64 `bun:"block_date"`
	RequesterID   int64 `bun:"requester_id"`
}

// InsertGroupBlockedUsers stores new blocks. One that exists is an ErrDuplicateKey.
func InsertGroupBlockedUsers(ctx context.Context, tx Tx, users ...GroupBlockedUser) error {
	rows := make([]groupBlockedUserRow, len(users))
	for i, u := range users {
		rows[i] = groupBlockedUserRow{GroupID: u.GroupID, UserID: u.UserID, BlockDate: u.BlockDate.UnixMilli(), RequesterID: u.RequesterID}
	}
	if err := insertRows(ctx, tx, rows); err != nil {
		return fmt.Errorf("insert blocked users of groups: %w", err)
	}
	return nil
}

func (f GroupBlockedUserFilter) conditions(engine Engine) (c conditions) {
	anyOf(&c, engine, "t.group_id", f.GroupIDs)
	anyOf(&c, engine, "t.user_id", f.UserIDs)
	anyOf(&c, engine, "t.requester_id", f.RequesterIDs)
	c.and(f.BlockDate.conditions("t.block_date")...)
	return c
}

// FindGroupBlockedUsers returns the blocked users that match the filter, ordered by the date of the block, if the filter
// asks for it, group and user.
func FindGroupBlockedUsers(ctx context.Context, r Reader, filter GroupBlockedUserFilter, page Page) ([]GroupBlockedUser, error) {
	var rows []groupBlockedUserRow
	order := orderBy([]string{"t.group_id", "t.user_id"}, datedColumn{"t.block_date", filter.BlockDate})
	query := pageOf(whereAll(r.NewSelect().Model(&rows), filter.conditions(r.Engine())), page, order...)
	if err := query.Scan(ctx); err != nil {
		return nil, fmt.Errorf("find blocked users of groups: %w", translate(err))
	}
	users := make([]GroupBlockedUser, len(rows))
	for i, row := range rows {
		users[i] = GroupBlockedUser{
			GroupUserKey: GroupUserKey{row.GroupID, row.UserID},
			BlockDate:    time.UnixMilli(row.BlockDate).UTC(), RequesterID: row.RequesterID,
		}
	}
	return users, nil
}

// CountGroupBlockedUsers returns how many blocked users match the filter.
func CountGroupBlockedUsers(ctx context.Context, r Reader, filter GroupBlockedUserFilter) (int64, error) {
	return countRows(ctx, r, "group_blocked_user", filter.conditions(r.Engine()))
}

// CountGroupBlocks returns how many of the keys are blocked.
func CountGroupBlocks(ctx context.Context, r Reader, keys []GroupUserKey) (count int64, err error) {
	return countRows(ctx, r, "group_blocked_user", conditions{inKeys(r.Engine(), keys)})
}

// UpdateGroupBlockedUsers changes the blocks with the given keys. It returns the group of each block that differs
// afterwards, so a group may appear more than once.
func UpdateGroupBlockedUsers(ctx context.Context, tx Tx, keys []GroupUserKey, change GroupBlockedUserChange) ([]int64, error) {
	var c columnChanges
	setIf(&c, "block_date", millisOrNull(change.BlockDate))
	setIf(&c, "requester_id", change.RequesterID)
	return c.update(ctx, tx, "group_blocked_user", "group_id", conditions{inKeys(tx.Engine(), keys)})
}

// DeleteGroupBlockedUsers lifts the blocks with the given keys. It returns the group of each block that there was, so a
// group may appear more than once.
func DeleteGroupBlockedUsers(ctx context.Context, tx Tx, keys []GroupUserKey) ([]int64, error) {
	var groups []int64
	query := tx.NewDelete().TableExpr("group_blocked_user AS t").Where("?", inKeys(tx.Engine(), keys)).Returning("group_id")
	if err := query.Scan(ctx, &groups); err != nil {
		return nil, fmt.Errorf("delete blocked users of groups: %w", translate(err))
	}
	return groups, nil
}
