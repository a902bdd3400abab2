// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"slices"

	"example.org/app/internal/wire"
)

// groupAudience selects who is notified of a change in a group.
type groupAudience struct {
	// self selects the requester's other sessions. They are notified, too, if the members are, or
	// if the managers are and the requester is one of them.
	self bool
	// concerned are the users whom it is about; toConcerned selects them.
	concerned   []int64
	toConcerned bool
	// managers selects the owner and the managers, members all members.
	managers, members bool
	// others excludes those concerned from the members; only toConcerned selects them then.
	others bool
}

// inGroup returns the notification for an audience in a group. A nil relay means the request
// itself.
func (a audiences) inGroup(ctx context.Context, r *Request, groupID int64, c groupAudience, relay *wire.AppRequest) Notification {
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
		n.Self = n.Self || slices.Contains(managers, r.UserID)
		n.To = users(managers...)
		if err != nil {
			n.To = a.managersOf(ctx, groupID)
		}
		if c.toConcerned {
			n.To = without(n.To, c.concerned)
		}
	}
	if c.toConcerned {
		n.To = both(n.To, users(slices.Compact(slices.Sorted(slices.Values(c.concerned)))...))
	}
	return n
}

// without returns an audience except some users.
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

// joined returns the notification of a new member, as if the requester had added it.
func (a audiences) joined(ctx context.Context, r *Request, groupID, userID int64) Notification {
	body := &wire.CreateGroupMembersRequest{GroupId: groupID, UserIds: []int64{userID}, Role: wire.GroupMemberRole_MEMBER.Enum()}
	relay := &wire.AppRequest{RequestId: r.RequestId, Kind: &wire.AppRequest_CreateGroupMembersRequest{CreateGroupMembersRequest: body}}
	return a.added(ctx, r, groupID, relay, userID)
}

// added returns the notification of new members.
func (a audiences) added(ctx context.Context, r *Request, groupID int64, relay *wire.AppRequest, userIDs ...int64) Notification {
	flags := a.settings().Notification.GroupMemberAdded
	return a.inGroup(ctx, r, groupID, groupAudience{
		self: flags.NotifyRequesterOtherOnlineSessions, concerned: userIDs, toConcerned: flags.NotifyAddedGroupMember,
		members: flags.NotifyOtherGroupMembers, others: true,
	}, relay)
}

// removed returns the notification of members who left.
func (a audiences) removed(ctx context.Context, r *Request, groupID int64, userIDs ...int64) Notification {
	flags := a.settings().Notification.GroupMemberRemoved
	return a.inGroup(ctx, r, groupID, groupAudience{
		self: flags.NotifyRequesterOtherOnlineSessions, concerned: userIDs, toConcerned: flags.NotifyRemovedGroupMember,
		members: flags.NotifyOtherGroupMembers, others: true,
	}, nil)
}
