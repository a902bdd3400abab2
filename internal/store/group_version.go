// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// A GroupPart is a part of a group that clients keep a copy of.
type GroupPart string

// The parts of a group.
const (
	GroupInfo         GroupPart = "info"
	GroupMembers      GroupPart = "members"
	GroupBlocklist    GroupPart = "blocklist"
	GroupJoinRequests GroupPart = "join_requests"
	GroupQuestions    GroupPart = "questions"
	GroupInvitations  GroupPart = "invitations"
)

type groupVersionRow struct {
	bun.BaseModel `bun:"table:group_version,alias:t"`
	GroupID       int64 `bun:"group_id,pk"`
	Info          int64 `bun:"info"`
	Members       int64 `bun:"members"`
	Blocklist     int64 `bun:"blocklist"`
	JoinRequests  int64 `bun:"join_requests"`
	Questions     int64 `bun:"questions"`
	Invitations   int64 `bun:"invitations"`
	MemberCount   int32 `bun:"member_count"`
}

// InsertGroupVersion stores the version record of a new group: all parts date from now, and there are so many members.
func InsertGroupVersion(ctx context.Context, tx Tx, group int64, now time.Time, members int32) error {
	ms := now.UnixMilli()
	row := groupVersionRow{
		GroupID: group, Info: ms, Members: ms, Blocklist: ms, JoinRequests: ms, Questions: ms, Invitations: ms, MemberCount: members,
	}
	if _, err := tx.NewInsert().Model(&row).Returning("NULL").Exec(ctx); err != nil {
		return fmt.Errorf("insert group version: %w", err)
	}
	return nil
}

// BumpGroupVersions notes that a part of groups has changed. The date of a part grows with each change, even if the clock
// does not. Groups without a version record are left out.
func BumpGroupVersions(ctx context.Context, tx Tx, part GroupPart, groups []int64, now time.Time) error {
	if len(groups) == 0 {
		return nil
	}
	query := bumpGroupVersions(tx, part, now).Where("?", In(tx.Engine(), "t.group_id", uniqueSorted(groups)))
	if _, err := query.Exec(ctx); err != nil {
		return fmt.Errorf("bump group versions: %w", err)
	}
	return nil
}

// AddGroupMemberCount notes that members came to a group or, if n is negative, left it, and returns how many it has now; a
// group without a version record has none.
func AddGroupMemberCount(ctx context.Context, tx Tx, group int64, n int, now time.Time) (int32, error) {
	var count []int32
	query := bumpGroupVersions(tx, GroupMembers, now).Where("t.group_id = ?", group).Set("member_count = t.member_count + ?", n)
	if err := query.Returning("member_count").Scan(ctx, &count); err != nil {
		return 0, fmt.Errorf("add to the members of a group: %w", translate(err))
	}
	if len(count) == 0 {
		return 0, nil
	}
	return count[0], nil
}

// GroupRoom says how many members a group has and may have.
type GroupRoom struct {
	Members int32 `bun:"member_count"`
	// Limit is that of the type of the group; nil if the type does not exist.
	Limit *int32 `bun:"group_size_limit"`
}

// TakeGroupRoom notes that n members come to a group and returns the room that it has then, or nil if there is no such
// group or it was deleted.
func TakeGroupRoom(ctx context.Context, tx Tx, group int64, n int, now time.Time) (*GroupRoom, error) {
	const (
		exists = "EXISTS (SELECT 1 FROM im_group AS g WHERE g.id = t.group_id AND g.deletion_date IS NULL)"
		limit  = "(SELECT y.group_size_limit FROM im_group AS g JOIN group_type AS y ON y.id = g.type_id WHERE g.id = group_id) AS group_size_limit"
	)
	var room []GroupRoom
	query := bumpGroupVersions(tx, GroupMembers, now).Where("t.group_id = ?", group).Where(exists).Set("member_count = t.member_count + ?", n)
	if err := query.Returning("member_count, "+limit).Scan(ctx, &room); err != nil {
		return nil, fmt.Errorf("take room in group %d: %w", group, translate(err))
	}
	if len(room) == 0 {
		return nil, nil
	}
	return &room[0], nil
}

func bumpGroupVersions(tx Tx, part GroupPart, now time.Time) *bun.UpdateQuery {
	column, ms := bun.Ident(part), now.UnixMilli()
	return tx.NewUpdate().TableExpr("group_version AS t").Set("? = CASE WHEN t.? < ? THEN ? ELSE t.? + 1 END", column, column, ms, ms, column)
}

// FindGroupVersion returns when a part of a group changed last. A group without a version record is an ErrNotFound.
func FindGroupVersion(ctx context.Context, r Reader, part GroupPart, group int64) (time.Time, error) {
	var ms int64
	err := r.NewSelect().TableExpr("group_version AS t").ColumnExpr("t.?", bun.Ident(part)).Where("t.group_id = ?", group).Scan(ctx, &ms)
	if err != nil {
		return time.Time{}, fmt.Errorf("find group version: %w", translate(err))
	}
	return time.UnixMilli(ms).UTC(), nil
}

// GroupMemberCount returns how many members a group has; a group without a version record has none.
func GroupMemberCount(ctx context.Context, r Reader, group int64) (int32, error) {
	var count int32
	err := r.NewSelect().TableExpr("group_version AS t").Column("t.member_count").Where("t.group_id = ?", group).Scan(ctx, &count)
	if err = translate(err); err != nil && !errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("count group members: %w", err)
	}
	return count, nil
}

// GroupMemberCounts returns how many members each of the groups has that has a version record.
func GroupMemberCounts(ctx context.Context, r Reader, groups []int64) (map[int64]int32, error) {
	var rows []groupVersionRow
	err := r.NewSelect().Model(&rows).Column("group_id", "member_count").Where("?", In(r.Engine(), "t.group_id", groups)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("count members of groups: %w", translate(err))
	}
	counts := make(map[int64]int32, len(rows))
	for _, row := range rows {
		counts[row.GroupID] = row.MemberCount
	}
	return counts, nil
}

// DeleteGroupVersions deletes the version records of groups.
func DeleteGroupVersions(ctx context.Context, tx Tx, groups []int64) error {
	_, err := deleteRows(ctx, tx, "group_version", conditions{In(tx.Engine(), "t.group_id", groups)})
	return err
}
