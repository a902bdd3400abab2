// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
)

// A GroupMemberRole is the role of a member; smaller values rank higher.
type GroupMemberRole int32

// The roles of members.
const (
	GroupOwner GroupMemberRole = iota
	GroupManager
	GroupRegularMember
	GroupGuest
	GroupAnonymousGuest
)

// GroupMemberRoleNames are the names of the roles in their order.
var GroupMemberRoleNames = []string{"OWNER", "MANAGER", "MEMBER", "GUEST", "ANONYMOUS_GUEST"}

func (r GroupMemberRole) String() string { return enumName(GroupMemberRoleNames, r) }

// A GroupMember is the membership of a user in a group.
type GroupMember struct {
	GroupUserKey
	// Name is the member's name in the group; nil means none.
	Name        *string
	Role        GroupMemberRole
	JoinDate    time.Time
	MuteEndDate *time.Time
}

// A GroupMemberFilter selects memberships. Empty fields do not restrict; all others must match.
type GroupMemberFilter struct {
	GroupIDs, UserIDs     []int64
	Roles                 []GroupMemberRole
	JoinDate, MuteEndDate DateRange
}

// A GroupMemberChange describes a change. Nil fields stay unchanged.
type GroupMemberChange struct {
	Name        *string
	Role        *GroupMemberRole
	JoinDate    *time.Time
	MuteEndDate *time.Time
}

var groupMembers = newTable("group_member", "group_id user_id name role join_date mute_end_date", func(m *GroupMember) []any {
	return []any{&m.GroupID, &m.UserID, &m.Name, &m.Role, (*millis)(&m.JoinDate), optionalMillis{&m.MuteEndDate}}
})

// InsertGroupMembers stores new memberships. It returns ErrDuplicateKey if one exists, and for a
// second owner.
func InsertGroupMembers(ctx context.Context, tx Tx, members ...GroupMember) error {
	if err := groupMembers.insert(ctx, tx, members...); err != nil {
		return fmt.Errorf("insert group members: %w", err)
	}
	noteEvents(tx, MemberJoined, members, memberEvent)
	return nil
}

func (f GroupMemberFilter) conditions() (c conditions) {
	anyOf(&c, "t.group_id", f.GroupIDs)
	anyOf(&c, "t.user_id", f.UserIDs)
	anyOf(&c, "t.role", numbers(f.Roles))
	c.and(f.JoinDate.conditions("t.join_date")...)
	c.and(f.MuteEndDate.conditions("t.mute_end_date")...)
	return c
}

// numbers are the values of an enumeration as In takes them.
func numbers[E ~int32](values []E) []int32 {
	list := make([]int32, len(values))
	for i, value := range values {
		list[i] = int32(value)
	}
	return list
}

// FindGroupMembers returns the memberships that match the filter, ordered by the date that the
// filter asks for, if any, group and user.
func FindGroupMembers(ctx context.Context, r Reader, filter GroupMemberFilter, page Page) ([]GroupMember, error) {
	order := orderBy(groupMemberOrder, datedColumn{"t.join_date", filter.JoinDate}, datedColumn{"t.mute_end_date", filter.MuteEndDate})
	return selectGroupMembers(ctx, r, filter.conditions(), order, page)
}

var groupMemberOrder = []string{"t.group_id", "t.user_id"}

func selectGroupMembers(ctx context.Context, r Reader, c conditions, order []string, page Page) ([]GroupMember, error) {
	members, err := groupMembers.find(ctx, r, c, page, order...)
	if err != nil {
		return nil, fmt.Errorf("find group members: %w", err)
	}
	return members, nil
}

// GetGroupMembers returns the memberships with the given keys that exist, ordered by group and
// user.
func GetGroupMembers(ctx context.Context, r Reader, keys []GroupUserKey) ([]GroupMember, error) {
	return selectGroupMembers(ctx, r, inKeys(keys), groupMemberOrder, Page{})
}

// GroupMembersAfter returns memberships after a key, ordered by group and user, at most limit:
// those of one group if group is given, else all.
func GroupMembersAfter(ctx context.Context, r Reader, group *int64, after *GroupUserKey, limit int) ([]GroupMember, error) {
	var c conditions
	if group != nil {
		c.when("t.group_id = ?", *group)
	}
	switch {
	case after != nil && group != nil:
		c.when("t.user_id > ?", after.UserID)
	case after != nil:
		c.when("(t.group_id, t.user_id) > (?, ?)", after.GroupID, after.UserID)
	}
	return selectGroupMembers(ctx, r, c, groupMemberOrder, Page{Limit: limit})
}

// GroupMemberIDsAfter returns the members of a group with ids greater than after, in ascending
// order, at most limit. A nil id means the beginning.
func GroupMemberIDsAfter(ctx context.Context, r Reader, group int64, after *int64, limit int) ([]int64, error) {
	c := where("t.group_id = ?", group)
	if after != nil {
		c.when("t.user_id > ?", *after)
	}
	ids, err := sqldb.List[int64](ctx, r, pageOf(sqldb.New("SELECT t.user_id FROM group_member AS t?", c.clause()), Page{Limit: limit}, "t.user_id"))
	if err != nil {
		return nil, fmt.Errorf("find ids of group members: %w", err)
	}
	return ids, nil
}

// JoinedGroupIDs returns the groups that a user is a member of, in ascending order.
func JoinedGroupIDs(ctx context.Context, r Reader, user int64) ([]int64, error) {
	ids, err := sqldb.List[int64](ctx, r, sqldb.New("SELECT t.group_id FROM group_member AS t WHERE t.user_id = ? ORDER BY t.group_id", user))
	if err != nil {
		return nil, fmt.Errorf("find joined groups: %w", err)
	}
	return ids, nil
}

// CountGroupMembers returns how many memberships match the filter.
func CountGroupMembers(ctx context.Context, r Reader, filter GroupMemberFilter) (int64, error) {
	return countRows(ctx, r, "group_member", filter.conditions())
}

// UpdateGroupMembers changes the memberships with the given keys. It returns the group of each
// changed membership, so a group may occur more than once.
func UpdateGroupMembers(ctx context.Context, tx Tx, keys []GroupUserKey, change GroupMemberChange) ([]int64, error) {
	var c columnChanges
	setIf(&c, "name", change.Name)
	setIf(&c, "role", change.Role)
	setIf(&c, "join_date", millisOrNull(change.JoinDate))
	setIf(&c, "mute_end_date", millisOrNull(change.MuteEndDate))
	return c.update(ctx, tx, "group_member", "group_id", inKeys(keys))
}

// DeleteGroupMembers deletes the memberships with the given keys and returns how many there were.
func DeleteGroupMembers(ctx context.Context, tx Tx, keys []GroupUserKey) (int64, error) {
	if !WantsEvents(tx) {
		return deleteRows(ctx, tx, "group_member", inKeys(keys))
	}
	gone, err := membersLeft(ctx, tx, inKeys(keys))
	return int64(len(gone)), err
}

// DeleteMembersOfGroups deletes all memberships of groups and returns the user of each.
func DeleteMembersOfGroups(ctx context.Context, tx Tx, groups []int64) ([]int64, error) {
	if !WantsEvents(tx) {
		return deleted(ctx, tx, "group_member", "user_id", in("t.group_id", groups))
	}
	gone, err := membersLeft(ctx, tx, in("t.group_id", groups))
	users := make([]int64, len(gone))
	for i, m := range gone {
		users[i] = m.UserID
	}
	return users, err
}

// membersLeft deletes memberships and adds events for them.
func membersLeft(ctx context.Context, tx Tx, selected conditions) ([]GroupMember, error) {
	gone, err := groupMembers.delete(ctx, tx, selected)
	if err != nil {
		return nil, fmt.Errorf("delete from \"group_member\": %w", err)
	}
	noteEvents(tx, MemberLeft, gone, memberEvent)
	return gone, nil
}
