// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"slices"

	"example.org/app/internal/wire"
)

// circle says who is told of what happens in a group.
type circle struct {
	// self is whether the requester's other sessions are told in any case. They are told, too, if the members are, or
	// if the managers are and the requester is one of them.
	self bool
	// concerned are the users whom it is about, and toConcerned is whether they are told.
	concerned   []int64
	toConcerned bool
	// managers and members are whether the owner and the managers, or all members, are told.
	managers, members bool
	// others leaves those concerned to toConcerned even if they are members.
	others bool
}

// inGroup tells those in the circle of a group. A nil relay is the request as it came.
func (a audiences) inGroup(ctx context.Context, r *Request, groupID int64, c circle, relay *wire.AppRequest) Notification {
	n := Notification{Relay: relay, Self: c.self}
	switch {
	case c.members:
		n.Self = true
		n.To = a.membersOf(ctx, groupID)
		if c.others || c.toConcerned {
			n.To = without(n.To, c.concerned)
		}
	case c.managers:
		managers, err := a.members.Managers(ctx, groupID)
		if err != nil {
			a.logger.ErrorContext(ctx, "could not find out who manages a group", "group", groupID, "error", err)
		}
		n.Self = n.Self || slices.Contains(managers, r.UserID)
		n.To = users(managers...)
		if c.toConcerned {
			n.To = without(n.To, c.concerned)
		}
	}
	if c.toConcerned {
		n.To = both(n.To, users(slices.Compact(slices.Sorted(slices.Values(c.concerned)))...))
	}
	return n
}

// without is an audience but for some users.
func without(a Audience, some []int64) Audience {
	return func(yield func([]int64, error) bool) {
		for ids, err := range a {
			left := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return slices.Contains(some, id) })
			if (len(left) > 0 || err != nil) && !yield(left, err) {
				return
			}
		}
	}
}

// joined tells of new members, as if the requester had added them.
func (a audiences) joined(ctx context.Context, r *Request, groupID, userID int64) Notification {
	body := &wire.CreateGroupMembersRequest{GroupId: groupID, UserIds: []int64{userID}, Role: wire.GroupMemberRole_MEMBER.Enum()}
	relay := &wire.AppRequest{RequestId: r.RequestId, Kind: &wire.AppRequest_CreateGroupMembersRequest{CreateGroupMembersRequest: body}}
	return a.added(ctx, r, groupID, relay, userID)
}

// added tells of new members.
func (a audiences) added(ctx context.Context, r *Request, groupID int64, relay *wire.AppRequest, userIDs ...int64) Notification {
	flags := a.settings().Notification.GroupMemberAdded
	return a.inGroup(ctx, r, groupID, circle{
		self: flags.NotifyRequesterOtherOnlineSessions, concerned: userIDs, toConcerned: flags.NotifyAddedGroupMember,
		members: flags.NotifyOtherGroupMembers, others: true,
	}, relay)
}

// removed tells of members who left.
func (a audiences) removed(ctx context.Context, r *Request, groupID int64, userIDs ...int64) Notification {
	flags := a.settings().Notification.GroupMemberRemoved
	return a.inGroup(ctx, r, groupID, circle{
		self: flags.NotifyRequesterOtherOnlineSessions, concerned: userIDs, toConcerned: flags.NotifyRemovedGroupMember,
		members: flags.NotifyOtherGroupMembers, others: true,
	}, nil)
}
