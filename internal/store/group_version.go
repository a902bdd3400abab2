// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
)

// A GroupPart is a part of a group that clients cache.
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

// A groupVersion is the version record of a group: the date of each part's last change, and the
// number of members.
type groupVersion struct {
	groupID     int64
	date        time.Time
	memberCount int32
}

// groupVersions stores the record of a new group, whose parts all have the same date.
var groupVersions = newTable("group_version", "group_id info members blocklist join_requests questions invitations member_count", func(v *groupVersion) []any {
	date := (*millis)(&v.date)
	return []any{&v.groupID, date, date, date, date, date, date, &v.memberCount}
})

// InsertGroupVersion stores the version record of a new group with the date now and the number of
// members.
func InsertGroupVersion(ctx context.Context, tx Tx, group int64, now time.Time, members int32) error {
	return InsertGroupVersions(ctx, tx, now, map[int64]int32{group: members})
}

// BumpGroupVersions increments the date of a part of groups. The date increases with each change,
// even if the clock does not. Groups without a version record are skipped.
func BumpGroupVersions(ctx context.Context, tx Tx, part GroupPart, groups []int64, now time.Time) error {
	if len(groups) == 0 {
		return nil
	}
	if _, err := sqldb.Exec(ctx, tx, bumpGroupVersions(part, now).And(" WHERE ?", sqldb.In("t.group_id", uniqueSorted(groups)))); err != nil {
		return fmt.Errorf("bump group versions: %w", err)
	}
	return nil
}

// AddGroupMemberCount adds n, which may be negative, to the number of members of a group, and
// returns the result; it is 0 for a group without a version record.
func AddGroupMemberCount(ctx context.Context, tx Tx, group int64, n int, now time.Time) (int32, error) {
	var count int32
	err := sqldb.First(ctx, tx, bumpGroupVersions(GroupMembers, now).
		And(", member_count = t.member_count + ? WHERE t.group_id = ? RETURNING member_count", n, group), &count)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("add to the members of a group: %w", err)
	}
	return count, nil
}

// GroupRoom is the number of members of a group and its limit.
type GroupRoom struct {
	Members int32
	// Limit is the limit of the group's type; nil if the type does not exist.
	Limit *int32
}

// TakeGroupRoom adds n members to the count of a group and returns the result, or nil if the group
// does not exist or was deleted.
func TakeGroupRoom(ctx context.Context, tx Tx, group int64, n int, now time.Time) (*GroupRoom, error) {
	const (
		exists = "EXISTS (SELECT 1 FROM im_group AS g WHERE g.id = t.group_id AND g.deletion_date IS NULL)"
		limit  = "(SELECT y.group_size_limit FROM im_group AS g JOIN group_type AS y ON y.id = g.type_id WHERE g.id = group_id)"
	)
	var room GroupRoom
	err := sqldb.First(ctx, tx, bumpGroupVersions(GroupMembers, now).
		And(", member_count = t.member_count + ? WHERE t.group_id = ? AND "+exists+" RETURNING member_count, "+limit, n, group), &room.Members, &room.Limit)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("take room in group %d: %w", group, err)
	}
	return &room, nil
}

// bumpGroupVersions returns an update of the date of a part, without conditions.
func bumpGroupVersions(part GroupPart, now time.Time) sqldb.SQL {
	column, ms := sqldb.Name(part), now.UnixMilli()
	return sqldb.New("UPDATE group_version AS t SET ? = CASE WHEN t.? < ? THEN ? ELSE t.? + 1 END", column, column, ms, ms, column)
}

// FindGroupVersion returns when a part of a group changed last. A group without a version record
// returns ErrNotFound.
func FindGroupVersion(ctx context.Context, r Reader, part GroupPart, group int64) (time.Time, error) {
	var date millis
	err := sqldb.First(ctx, r, sqldb.New("SELECT t.? FROM group_version AS t WHERE t.group_id = ?", sqldb.Name(part), group), &date)
	if err != nil {
		return time.Time{}, fmt.Errorf("find group version: %w", err)
	}
	return time.Time(date), nil
}

// GroupMemberCount returns how many members a group has; a group without a version record has none.
func GroupMemberCount(ctx context.Context, r Reader, group int64) (int32, error) {
	var count int32
	err := sqldb.First(ctx, r, sqldb.New("SELECT t.member_count FROM group_version AS t WHERE t.group_id = ?", group), &count)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("count group members: %w", err)
	}
	return count, nil
}

// GroupMemberCounts returns how many members each of the groups has that has a version record.
func GroupMemberCounts(ctx context.Context, r Reader, groups []int64) (map[int64]int32, error) {
	counts := make(map[int64]int32, len(groups))
	err := sqldb.Query(ctx, r, sqldb.New("SELECT t.group_id, t.member_count FROM group_version AS t WHERE ?", sqldb.In("t.group_id", groups)),
		func(row sqldb.Row) error {
			var group int64
			var count int32
			err := row.Scan(&group, &count)
			counts[group] = count
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("count members of groups: %w", err)
	}
	return counts, nil
}

// DeleteGroupVersions deletes the version records of groups.
func DeleteGroupVersions(ctx context.Context, tx Tx, groups []int64) error {
	_, err := deleteRows(ctx, tx, "group_version", in("t.group_id", groups))
	return err
}
