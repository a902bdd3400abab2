// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// maxAtOnce bounds how many members a user may add or remove at once.
const maxAtOnce = 100

func checkCount(field string, userIDs []int64) error {
	if n := len(userIDs); n > maxAtOnce {
		return apierr.New(apierr.IllegalArgument, "%s: must have at most %d elements, but has %d", field, maxAtOnce, n)
	}
	return nil
}

// Newcomers are new members of a group.
type Newcomers struct {
	UserIDs []int64
	// Name is their name in the group; nil means none.
	Name *string
	// Role is their role; nil means plain member.
	Role *store.GroupMemberRole
	// MuteEndDate is the end of their mute; nil means none.
	MuteEndDate *time.Time
}

// AddBy adds users to a group on behalf of a requester, all or none. Users may add only themselves
// where the type of the group lets everybody join, and others where the type requires no consent.
func (m *Members) AddBy(ctx context.Context, requester, groupID int64, n Newcomers) error {
	if err := checkCount("userIds", n.UserIDs); err != nil {
		return err
	}
	now, role := m.now(), deref(n.Role, store.GroupRegularMember)
	var members []store.GroupMember
	oneself := false
	for _, userID := range firstOfEach(n.UserIDs) {
		if err := check.UserID("userIds", userID); err != nil {
			return err
		}
		oneself = oneself || userID == requester
		members = append(members, store.GroupMember{
			GroupUserKey: store.GroupUserKey{GroupID: groupID, UserID: userID}, Name: n.Name, Role: role, JoinDate: now, MuteEndDate: n.MuteEndDate,
		})
	}
	switch {
	case len(members) == 0:
		return nil
	case oneself && len(members) > 1:
		return apierr.New(apierr.IllegalArgument, "userIds: user %d cannot join together with others", requester)
	case oneself && role != store.GroupRegularMember:
		return apierr.New(apierr.IllegalArgument, "role: who joins becomes a MEMBER")
	case role != store.GroupManager && role != store.GroupRegularMember:
		return apierr.New(apierr.IllegalArgument, "role: those who are added become MEMBER or MANAGER")
	}
	return m.store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		at, err := standingOf(ctx, tx, groupID, requester)
		if err != nil {
			return err
		}
		if !at.active() {
			return apierr.New(apierr.AddUserToInactiveGroup, "")
		}
		if oneself {
			err = at.mayJoin()
		} else {
			err = at.mayAdd(role)
		}
		if err != nil {
			return err
		}
		return admit(ctx, tx, at, now, members...)
	})
}

// mayJoin returns an error if users cannot join the group by themselves.
func (at standing) mayJoin() error {
	switch at.kind.JoinStrategy {
	case store.JoinByMembershipRequest:
		return nil
	case store.JoinByInvitation:
		return apierr.New(apierr.UserJoinGroupWithoutAcceptingGroupInvitation, "")
	case store.JoinByQuestion:
		return apierr.New(apierr.UserJoinGroupWithoutAnsweringGroupQuestion, "")
	default:
		return apierr.New(apierr.UserJoinGroupWithoutSendingGroupJoinRequest, "")
	}
}

// mayAdd returns an error if the user may not add others with the role.
func (at standing) mayAdd(role store.GroupMemberRole) error {
	if InvitationNeedsApproval(at.kind.InvitationStrategy) {
		return apierr.New(apierr.AddUserToGroupRequiringUsersApproval, "")
	}
	err := at.mayLetIn(refusals{
		owner: apierr.NotGroupOwnerToAddGroupMember, manager: apierr.NotGroupOwnerOrManagerToAddGroupMember, member: apierr.NotGroupMemberToAddGroupMember,
	})
	if err == nil && role == store.GroupManager && !at.owns() {
		err = apierr.New(apierr.NotGroupOwnerToAddGroupManager, "")
	}
	return err
}

// admit adds members who are not blocked.
func admit(ctx context.Context, tx store.Tx, at standing, now time.Time, members ...store.GroupMember) error {
	users := convert(members, func(m store.GroupMember) int64 { return m.UserID })
	blocked, err := store.FindGroupBlockedUsers(ctx, tx, store.GroupBlockedUserFilter{GroupIDs: []int64{at.group.ID}, UserIDs: users}, store.Page{Limit: 1})
	if err != nil {
		return err
	}
	if len(blocked) > 0 {
		return apierr.New(apierr.AddBlockedUserToGroup, "user %d is blocked in group %d", blocked[0].UserID, at.group.ID)
	}
	return join(ctx, tx, at.group.ID, at.kind.GroupSizeLimit, now, members...)
}

// enter adds an invited or accepted user as a plain member. joined is false if it already was a
// member.
func enter(ctx context.Context, tx store.Tx, groupID, userID int64, now time.Time) (joined bool, err error) {
	at, err := standingOf(ctx, tx, groupID, userID)
	switch {
	case err != nil:
		return false, err
	case !at.active():
		return false, apierr.New(apierr.AddUserToInactiveGroup, "")
	case at.member != nil:
		return false, nil
	}
	return true, admit(ctx, tx, at, now, plainMember(groupID, userID, now))
}

func plainMember(groupID, userID int64, now time.Time) store.GroupMember {
	return store.GroupMember{
		GroupUserKey: store.GroupUserKey{GroupID: groupID, UserID: userID}, Role: store.GroupRegularMember, JoinDate: now,
	}
}
