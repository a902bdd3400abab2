// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// standing is the relation of a user to a group.
type standing struct {
	// exists is true if the group exists and is not deleted.
	exists bool
	group  store.Group
	kind   store.GroupType
	// member is nil if the user is no member.
	member *store.GroupMember
}

func standingOf(ctx context.Context, r store.Reader, groupID, userID int64) (at standing, err error) {
	if at.group, at.exists, err = Get(ctx, r, groupID); err != nil || !at.exists {
		return at, err
	}
	if at.kind, err = TypeOf(ctx, r, at.group.TypeID); err != nil {
		return at, err
	}
	member, found, err := findMember(ctx, r, groupID, userID)
	if found {
		at.member = &member
	}
	return at, err
}

// active reports whether the group exists and is active.
func (at standing) active() bool { return at.exists && at.group.IsActive }

// owns reports whether the user owns the group.
func (at standing) owns() bool { return at.member != nil && at.member.Role == store.GroupOwner }

// manages reports whether the user is the owner or a manager.
func (at standing) manages() bool { return at.member != nil && at.member.Role <= store.GroupManager }

// above reports whether the user ranks above a member.
func (at standing) above(m store.GroupMember) bool {
	return at.member != nil && at.member.Role < m.Role
}

// refusals are the codes for users without the role that a strategy requires: owner, manager or
// member.
type refusals struct{ owner, manager, member apierr.Code }

// mayChange returns an error if the strategy forbids the user a change. A strategy for all includes
// users who are no members.
func (at standing) mayChange(s store.GroupUpdateStrategy, codes refusals) error {
	if s == store.UpdateByAll || at.member != nil && MayUpdate(s, at.member.Role) {
		return nil
	}
	switch s {
	case store.UpdateByOwner:
		return apierr.New(codes.owner, "")
	case store.UpdateByOwnerManager:
		return apierr.New(codes.manager, "")
	default:
		return apierr.New(codes.member, "")
	}
}

// mayLetIn returns an error if the user may not bring others into the group.
func (at standing) mayLetIn(codes refusals) error {
	return at.mayChange(store.GroupUpdateStrategy(at.kind.InvitationStrategy%store.InviteAll), codes)
}

// managed returns an error, with the code, for a user who neither owns nor manages a group.
func managed(ctx context.Context, r store.Reader, groupID, userID int64, code apierr.Code) (standing, error) {
	at, err := standingOf(ctx, r, groupID, userID)
	if err == nil && !at.manages() {
		err = apierr.New(code, "")
	}
	return at, err
}
