// SPDX-License-Identifier: Apache-2.0

package service

import (
	"cmp"
	"context"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/group"
	"example.org/app/internal/presence"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// groupMemberHandlers answers requests about the members of groups.
type groupMemberHandlers struct {
	audiences
	groups *group.Directory
	online presenceHandlers
}

func (h groupMemberHandlers) create(ctx context.Context, r *Request, body *wire.CreateGroupMembersRequest) (Answer, error) {
	err := h.groups.Members.AddBy(ctx, r.UserID, body.GetGroupId(), group.Newcomers{
		UserIDs: body.GetUserIds(), Name: body.Name, Role: roleOf(body.Role), MuteEndDate: date(body.MuteEndDate),
	})
	if err != nil || len(body.GetUserIds()) == 0 {
		return Answer{}, err
	}
	return Answer{Notifications: []Notification{h.added(ctx, r, body.GetGroupId(), nil, body.GetUserIds()...)}}, nil
}

// roleOf converts the role of a member from its wire form; the numbers are the same.
func roleOf(role *wire.GroupMemberRole) *store.GroupMemberRole {
	if role == nil {
		return nil
	}
	return new(store.GroupMemberRole(*role))
}

func (h groupMemberHandlers) delete(ctx context.Context, r *Request, body *wire.DeleteGroupMembersRequest) (Answer, error) {
	if body.SuccessorId != nil {
		return h.leaveToSuccessor(ctx, r, body)
	}
	removed, err := h.groups.Members.RemoveBy(ctx, r.UserID, body.GetGroupId(), body.GetMemberIds())
	if err != nil || len(removed) == 0 {
		return Answer{}, err
	}
	return Answer{Notifications: []Notification{h.removed(ctx, r, body.GetGroupId(), removed...)}}, nil
}

// leaveToSuccessor transfers the ownership of a group. The owner is removed only if that is
// requested.
func (h groupMemberHandlers) leaveToSuccessor(ctx context.Context, r *Request, body *wire.DeleteGroupMembersRequest) (Answer, error) {
	quit := body.GetQuitAfterTransfer()
	if ids := body.GetMemberIds(); len(ids) > 0 {
		if len(ids) > 1 || ids[0] != r.UserID {
			return Answer{}, apierr.New(apierr.IllegalArgument, "memberIds: nobody else can be removed together with naming a successor")
		}
		// Existing clients name themselves when they leave.
		quit = quit || body.QuitAfterTransfer == nil
	}
	changed, err := h.groups.HandOver(ctx, r.UserID, body.GetGroupId(), body.GetSuccessorId(), quit)
	if err != nil || !changed || !quit {
		return Answer{}, err
	}
	return Answer{Notifications: []Notification{h.removed(ctx, r, body.GetGroupId(), r.UserID)}}, nil
}

func (h groupMemberHandlers) update(ctx context.Context, r *Request, body *wire.UpdateGroupMemberRequest) (Answer, error) {
	changed, err := h.groups.Members.UpdateBy(ctx, r.UserID, body.GetGroupId(), body.GetMemberId(), group.MemberEdit{
		Name: body.Name, Role: roleOf(body.Role), MuteEndDate: date(body.MuteEndDate),
	})
	if err != nil || !changed {
		return Answer{}, err
	}
	flags := h.settings().Notification.GroupMemberInfoUpdated
	return Answer{Notifications: []Notification{h.inGroup(ctx, r, body.GetGroupId(), groupAudience{
		self: flags.NotifyRequesterOtherOnlineSessions, concerned: []int64{body.GetMemberId()}, toConcerned: flags.NotifyUpdatedGroupMember,
		members: flags.NotifyOtherGroupMembers, others: true,
	}, nil)}}, nil
}

func (h groupMemberHandlers) query(ctx context.Context, r *Request, body *wire.QueryGroupMembersRequest) (Answer, error) {
	var failure error
	data := func(list []store.GroupMember, version *int64) *wire.AppNotification_Data {
		members := convert(list, wireGroupMember)
		if body.GetWithStatus() {
			var entries []presence.Entry
			entries, failure = h.online.directory.Finder().Lookup(ctx, convert(list, func(m store.GroupMember) int64 { return m.UserID }))
			for i := range entries {
				status, devices := h.online.status(r, entries[i])
				members[i].UserStatus, members[i].UsingDeviceTypes = &status, devices
			}
		}
		return &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_GroupMembersWithVersion{
			GroupMembersWithVersion: &wire.GroupMembersWithVersion{GroupMembers: members, LastUpdatedDate: version},
		}}
	}
	if len(body.GetMemberIds()) > 0 {
		found, err := h.groups.Members.FindSome(ctx, r.UserID, body.GetGroupId(), body.GetMemberIds())
		if err != nil || len(found) == 0 {
			return noContent, err
		}
		return Answer{Data: data(found, nil)}, failure
	}
	found, version, err := h.groups.Members.List(ctx, r.UserID, body.GetGroupId(), date(body.LastUpdatedDate))
	answer, err := listed(found, version, err, data)
	return answer, cmp.Or(err, failure)
}

// wireGroupMember converts a stored membership to its wire form.
func wireGroupMember(m store.GroupMember) *wire.GroupMember {
	return &wire.GroupMember{
		GroupId: &m.GroupID, UserId: &m.UserID, Name: m.Name, Role: wire.GroupMemberRole(m.Role).Enum(), JoinDate: millis(m.JoinDate),
		MuteEndDate: millisOrNil(m.MuteEndDate),
	}
}
