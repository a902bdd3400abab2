// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// MemberEdit is a user's change of a member. Nil fields stay unchanged.
type MemberEdit struct {
	Name        *string
	Role        *store.GroupMemberRole
	MuteEndDate *time.Time
}

// UpdateBy changes a member on behalf of a requester, completely or not at all, and reports whether
// anything changed. Each kind of change has its own rules.
func (m *Members) UpdateBy(ctx context.Context, requester, groupID, userID int64, e MemberEdit) (changed bool, err error) {
	if e == (MemberEdit{}) {
		return false, nil
	}
	if e.Role != nil && (*e.Role == store.GroupOwner || e.Role.String() == "") {
		return false, apierr.New(apierr.IllegalArgument, "role: must be MANAGER, MEMBER, GUEST or ANONYMOUS_GUEST; hand the group over to make somebody the owner")
	}
	if e.MuteEndDate != nil && requester == userID {
		return false, apierr.New(apierr.IllegalArgument, "muteEndDate: nobody can mute oneself")
	}
	err = m.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		at, err := standingOf(ctx, tx, groupID, requester)
		if err != nil {
			return err
		}
		member, found, err := findMember(ctx, tx, groupID, userID)
		if err != nil {
			return err
		}
		var target *store.GroupMember
		if found {
			target = &member
		}
		if err := at.mayEdit(target, e); err != nil {
			return err
		}
		modified, err := store.UpdateGroupMembers(ctx, tx, []store.GroupUserKey{{GroupID: groupID, UserID: userID}},
			store.GroupMemberChange{Name: e.Name, Role: e.Role, MuteEndDate: e.MuteEndDate})
		if err != nil {
			return err
		}
		changed = len(modified) > 0
		return store.BumpGroupVersions(ctx, tx, store.GroupMembers, modified, m.now())
	})
	return changed, err
}

// mayEdit returns an error if a user may not change a member; target is nil if there is no such
// member.
func (at standing) mayEdit(target *store.GroupMember, e MemberEdit) error {
	if e.Role != nil {
		switch {
		case !at.active():
			return apierr.New(apierr.UpdateGroupMemberRoleOfNonexistentGroup, "")
		case !at.owns():
			return apierr.New(apierr.NotGroupOwnerToUpdateGroupMemberRole, "")
		case target == nil:
			return apierr.New(apierr.UpdateInfoOfNonexistentGroupMember, "")
		case target.Role == store.GroupOwner:
			return apierr.New(apierr.IllegalArgument, "role: user %d owns group %d; hand the group over to change that", target.UserID, target.GroupID)
		}
	}
	if e.MuteEndDate != nil {
		switch {
		case !at.active():
			return apierr.New(apierr.MuteGroupMemberOfNonexistentGroup, "")
		case at.member == nil:
			return apierr.New(apierr.NotGroupOwnerOrManagerToMuteGroupMember, "")
		case target == nil:
			return apierr.New(apierr.MuteNonexistentGroupMember, "")
		case !at.above(*target):
			return apierr.New(apierr.MuteGroupMemberWithRoleEqualToOrHigherThanRequester, "")
		}
	}
	if e.Name != nil {
		return at.mayRename(target)
	}
	return nil
}

// mayRename returns an error if a user may not change the name of a member in the group.
func (at standing) mayRename(target *store.GroupMember) error {
	switch {
	case !at.active():
		return apierr.New(apierr.UpdateGroupMemberInfoOfNonexistentGroup, "")
	case target == nil:
		return apierr.New(apierr.UpdateInfoOfNonexistentGroupMember, "")
	case at.member != nil && at.member.UserID == target.UserID && at.kind.SelfInfoUpdatable:
		return nil
	}
	return at.mayChange(at.kind.MemberInfoUpdateStrategy, refusals{
		owner: apierr.NotGroupOwnerToUpdateGroupMemberInfo, manager: apierr.NotGroupOwnerOrManagerToUpdateGroupMemberInfo,
		member: apierr.NotGroupMemberToUpdateGroupMemberInfo,
	})
}
