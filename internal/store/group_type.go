// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// A GroupInvitationStrategy says who may bring users into a group and whether these must agree.
type GroupInvitationStrategy int32

// A GroupJoinStrategy says how users get into a group by themselves.
type GroupJoinStrategy int32

// A GroupUpdateStrategy says who may change something of a group.
type GroupUpdateStrategy int32

// The strategies, in the order that clients know.
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

// A GroupType is what groups have in common: their size and who may do what.
type GroupType struct {
	bun.BaseModel            `bun:"table:group_type,alias:t"`
	ID                       int64                   `bun:"id,pk"`
	Name                     string                  `bun:"name"`
	GroupSizeLimit           int32                   `bun:"group_size_limit"`
	InvitationStrategy       GroupInvitationStrategy `bun:"invitation_strategy"`
	JoinStrategy             GroupJoinStrategy       `bun:"join_strategy"`
	GroupInfoUpdateStrategy  GroupUpdateStrategy     `bun:"group_info_update_strategy"`
	MemberInfoUpdateStrategy GroupUpdateStrategy     `bun:"member_info_update_strategy"`
	GuestSpeakable           bool                    `bun:"guest_speakable"`
	SelfInfoUpdatable        bool                    `bun:"self_info_updatable"`
	EnableReadReceipt        bool                    `bun:"enable_read_receipt"`
	MessageEditable          bool                    `bun:"message_editable"`
}

// A GroupTypeChange says what to change. A nil field stays as it is.
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

// InsertGroupType stores a new type. An id that exists is an ErrDuplicateKey.
func InsertGroupType(ctx context.Context, tx Tx, groupType GroupType) error {
	if _, err := tx.NewInsert().Model(&groupType).Returning("NULL").Exec(ctx); err != nil {
		return fmt.Errorf("insert group type: %w", err)
	}
	return nil
}

// EnsureGroupType stores a type unless there is one with its id.
func EnsureGroupType(ctx context.Context, tx Tx, groupType GroupType) error {
	if _, err := tx.NewInsert().Model(&groupType).On("CONFLICT (id) DO NOTHING").Returning("NULL").Exec(ctx); err != nil {
		return fmt.Errorf("ensure group type: %w", err)
	}
	return nil
}

// FindGroupTypes returns types in the order of their ids: those with the given ids, or all if ids is nil.
func FindGroupTypes(ctx context.Context, r Reader, ids []int64, page Page) ([]GroupType, error) {
	found := []GroupType{}
	query := r.NewSelect().Model(&found)
	if ids != nil {
		query = query.Where("?", In(r.Engine(), "t.id", ids))
	}
	if err := page.apply(query, "t.id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("find group types: %w", translate(err))
	}
	return found, nil
}

// CountGroupTypes returns how many types there are.
func CountGroupTypes(ctx context.Context, r Reader) (int64, error) {
	return countRows(ctx, r, "group_type", nil)
}

// UpdateGroupTypes changes the types with the given ids.
func UpdateGroupTypes(ctx context.Context, tx Tx, ids []int64, change GroupTypeChange) (UpdateResult, error) {
	selected := conditions{In(tx.Engine(), "t.id", ids)}
	matched, err := countRows(ctx, tx, "group_type", selected)
	if err != nil || matched == 0 {
		return UpdateResult{}, err
	}
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
	modified, err := c.update(ctx, tx, "group_type", "id", selected)
	return UpdateResult{Matched: matched, Modified: int64(len(modified))}, err
}

// DeleteGroupTypes deletes the types with the given ids and returns how many there were. Groups keep the ids of deleted
// types.
func DeleteGroupTypes(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deleteRows(ctx, tx, "group_type", conditions{In(tx.Engine(), "t.id", ids)})
}
