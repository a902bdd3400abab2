// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
)

// A GroupInvitationStrategy defines who may invite users and whether they must accept.
type GroupInvitationStrategy int32

// A GroupJoinStrategy defines how users join a group by themselves.
type GroupJoinStrategy int32

// A GroupUpdateStrategy defines who may change something of a group.
type GroupUpdateStrategy int32

// The strategies, in the order known to clients.
const (
	InviteAllRequiringApproval GroupInvitationStrategy = iota
	InviteOwnerManagerMemberRequiringApproval
	InviteOwnerManagerRequiringApproval
	InviteOwnerRequiringApproval
	InviteAll
	InviteOwnerManagerMember
	InviteOwnerManager
	InviteOwner
)

// The ways into a group.
const (
	JoinByMembershipRequest GroupJoinStrategy = iota
	JoinByInvitation
	JoinByQuestion
	JoinByRequest
)

// Who may change something.
const (
	UpdateByAll GroupUpdateStrategy = iota
	UpdateByOwnerManagerMember
	UpdateByOwnerManager
	UpdateByOwner
)

// The names of the strategies in their order.
var (
	GroupInvitationStrategyNames = []string{
		"ALL_REQUIRING_APPROVAL", "OWNER_MANAGER_MEMBER_REQUIRING_APPROVAL", "OWNER_MANAGER_REQUIRING_APPROVAL", "OWNER_REQUIRING_APPROVAL",
		"ALL", "OWNER_MANAGER_MEMBER", "OWNER_MANAGER", "OWNER",
	}
	GroupJoinStrategyNames   = []string{"MEMBERSHIP_REQUEST", "INVITATION", "QUESTION", "JOIN_REQUEST"}
	GroupUpdateStrategyNames = []string{"ALL", "OWNER_MANAGER_MEMBER", "OWNER_MANAGER", "OWNER"}
)

func (s GroupInvitationStrategy) String() string { return enumName(GroupInvitationStrategyNames, s) }
func (s GroupJoinStrategy) String() string       { return enumName(GroupJoinStrategyNames, s) }
func (s GroupUpdateStrategy) String() string     { return enumName(GroupUpdateStrategyNames, s) }

// A GroupType contains common properties of groups: their size and permissions.
type GroupType struct {
	ID                       int64
	Name                     string
	GroupSizeLimit           int32
	InvitationStrategy       GroupInvitationStrategy
	JoinStrategy             GroupJoinStrategy
	GroupInfoUpdateStrategy  GroupUpdateStrategy
	MemberInfoUpdateStrategy GroupUpdateStrategy
	GuestSpeakable           bool
	SelfInfoUpdatable        bool
	EnableReadReceipt        bool
	MessageEditable          bool
}

// A GroupTypeChange describes a change. Nil fields stay unchanged.
type GroupTypeChange struct {
	Name                     *string
	GroupSizeLimit           *int32
	InvitationStrategy       *GroupInvitationStrategy
	JoinStrategy             *GroupJoinStrategy
	GroupInfoUpdateStrategy  *GroupUpdateStrategy
	MemberInfoUpdateStrategy *GroupUpdateStrategy
	GuestSpeakable           *bool
	SelfInfoUpdatable        *bool
	EnableReadReceipt        *bool
	MessageEditable          *bool
}

var groupTypes = newTable("group_type", "id name group_size_limit invitation_strategy join_strategy group_info_update_strategy "+
	"member_info_update_strategy guest_speakable self_info_updatable enable_read_receipt message_editable", func(t *GroupType) []any {
	return []any{
		&t.ID, &t.Name, &t.GroupSizeLimit, &t.InvitationStrategy, &t.JoinStrategy, &t.GroupInfoUpdateStrategy,
		&t.MemberInfoUpdateStrategy, &t.GuestSpeakable, &t.SelfInfoUpdatable, &t.EnableReadReceipt, &t.MessageEditable,
	}
})

// InsertGroupType stores a new type. It returns ErrDuplicateKey if an id exists.
func InsertGroupType(ctx context.Context, tx Tx, groupType GroupType) error {
	if err := groupTypes.insert(ctx, tx, groupType); err != nil {
		return fmt.Errorf("insert group type: %w", err)
	}
	return nil
}

// EnsureGroupType stores a type unless one with its id exists.
func EnsureGroupType(ctx context.Context, tx Tx, groupType GroupType) error {
	if _, err := groupTypes.put(ctx, tx, []GroupType{groupType}, "(id) DO NOTHING"); err != nil {
		return fmt.Errorf("ensure group type: %w", err)
	}
	return nil
}

// FindGroupTypes returns types in the order of their ids: those with the given ids, or all if ids
// is nil.
func FindGroupTypes(ctx context.Context, r Reader, ids []int64, page Page) ([]GroupType, error) {
	var selected conditions
	if ids != nil {
		selected = in("t.id", ids)
	}
	found, err := groupTypes.find(ctx, r, selected, page, "t.id")
	if err != nil {
		return nil, fmt.Errorf("find group types: %w", err)
	}
	return found, nil
}

// CountGroupTypes returns how many types there are.
func CountGroupTypes(ctx context.Context, r Reader) (int64, error) {
	return countRows(ctx, r, "group_type", nil)
}

// UpdateGroupTypes changes the types with the given ids.
func UpdateGroupTypes(ctx context.Context, tx Tx, ids []int64, change GroupTypeChange) (UpdateResult, error) {
	selected := in("t.id", ids)
	var c columnChanges
	setIf(&c, "name", change.Name)
	setIf(&c, "group_size_limit", change.GroupSizeLimit)
	setIf(&c, "invitation_strategy", change.InvitationStrategy)
	setIf(&c, "join_strategy", change.JoinStrategy)
	setIf(&c, "group_info_update_strategy", change.GroupInfoUpdateStrategy)
	setIf(&c, "member_info_update_strategy", change.MemberInfoUpdateStrategy)
	setIf(&c, "guest_speakable", change.GuestSpeakable)
	setIf(&c, "self_info_updatable", change.SelfInfoUpdatable)
	setIf(&c, "enable_read_receipt", change.EnableReadReceipt)
	setIf(&c, "message_editable", change.MessageEditable)
	result, _, err := c.updateMatched(ctx, tx, "group_type", "id", selected)
	return result, err
}

// DeleteGroupTypes deletes the types with the given ids and returns how many there were. Groups
// keep the ids of deleted types.
func DeleteGroupTypes(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deleteRows(ctx, tx, "group_type", in("t.id", ids))
}
