// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/group"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

func (d *Dispatcher) createGroupMembers(ctx context.Context, r *Request, body *wire.CreateGroupMembersRequest) (Answer, error) {
	err := d.Groups.AddMembersBy(ctx, r.UserID, body.GetGroupId(), group.Newcomers{
		UserIDs: body.GetUserIds(), Name: body.Name, Role: roleOf(body.Role), MuteEndDate: date(body.MuteEndDate),
	})
	if err != nil || len(body.GetUserIds()) == 0 {
		return Answer{}, err
	}
	return Answer{Notifications: []Notification{d.added(ctx, r, body.GetGroupId(), nil, body.GetUserIds()...)}}, nil
}

// roleOf is the role of a member that a client names; the numbers are the same.
func roleOf(role *wire.GroupMemberRole) *store.GroupMemberRole {
	if role == nil {
		return nil
	}
	return new(store.GroupMemberRole(*role))
}

func (d *Dispatcher) deleteGroupMembers(ctx context.Context, r *Request, body *wire.DeleteGroupMembersRequest) (Answer, error) {
	if body.SuccessorId != nil {
		return d.leaveToSuccessor(ctx, r, body)
	}
	removed, err := d.Groups.RemoveMembersBy(ctx, r.UserID, body.GetGroupId(), body.GetMemberIds())
	if err != nil || len(removed) == 0 {
		return Answer{}, err
	}
	return Answer{Notifications: []Notification{d.removed(ctx, r, body.GetGroupId(), removed...)}}, nil
}

// leaveToSuccessor hands a group over. Somebody is removed by it only if the owner wants to quit.
func (d *Dispatcher) leaveToSuccessor(ctx context.Context, r *Request, body *wire.DeleteGroupMembersRequest) (Answer, error) {
	quit := body.GetQuitAfterTransfer()
	if ids := body.GetMemberIds(); len(ids) > 0 {
		if len(ids) > 1 || ids[0] != r.UserID {
			return Answer{}, apierr.New(apierr.IllegalArgument, "memberIds: nobody else can be removed together with naming a successor")
		}
		// Existing clients name themselves when they leave.
		quit = quit || body.QuitAfterTransfer == nil
	}
	changed, err := d.Groups.HandOver(ctx, r.UserID, body.GetGroupId(), body.GetSuccessorId(), quit)
	if err != nil || !changed || !quit {
		return Answer{}, err
	}
	return Answer{Notifications: []Notification{d.removed(ctx, r, body.GetGroupId(), r.UserID)}}, nil
}

func (d *Dispatcher) updateGroupMember(ctx context.Context, r *Request, body *wire.UpdateGroupMemberRequest) (Answer, error) {
	changed, err := d.Groups.UpdateMemberBy(ctx, r.UserID, body.GetGroupId(), body.GetMemberId(), group.MemberEdit{
		Name: body.Name, Role: roleOf(body.Role), MuteEndDate: date(body.MuteEndDate),
	})
	if err != nil || !changed {
		return Answer{}, err
	}
	flags := d.Settings().Notification.GroupMemberInfoUpdated
	return Answer{Notifications: []Notification{d.inGroup(ctx, r, body.GetGroupId(), circle{
		self: flags.NotifyRequesterOtherOnlineSessions, concerned: []int64{body.GetMemberId()}, toConcerned: flags.NotifyUpdatedGroupMember,
		members: flags.NotifyOtherGroupMembers, others: true,
	}, nil)}}, nil
}

func (d *Dispatcher) queryGroupMembers(ctx context.Context, r *Request, body *wire.QueryGroupMembersRequest) (Answer, error) {
	data := func(list []store.GroupMember, version *int64) *wire.AppNotification_Data {
		members := convert(list, wireGroupMember)
		if body.GetWithStatus() {
			for _, m := range members {
				status, devices := d.onlineStatus(r, m.GetUserId())
				m.UserStatus, m.UsingDeviceTypes = &status, devices
			}
		}
		return &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_GroupMembersWithVersion{
			GroupMembersWithVersion: &wire.GroupMembersWithVersion{GroupMembers: members, LastUpdatedDate: version},
		}}
	}
	if len(body.GetMemberIds()) > 0 {
		found, err := d.Groups.SomeMembers(ctx, r.UserID, body.GetGroupId(), body.GetMemberIds())
		if err != nil || len(found) == 0 {
			return noContent, err
		}
		return Answer{Data: data(found, nil)}, nil
	}
	found, version, err := d.Groups.MemberList(ctx, r.UserID, body.GetGroupId(), date(body.LastUpdatedDate))
	return listed(found, version, err, data)
}

// wireGroupMember is a stored membership as clients see it.
func wireGroupMember(m store.GroupMember) *wire.GroupMember {
	return &wire.GroupMember{
		GroupId: &m.GroupID, UserId: &m.UserID, Name: m.Name, Role: wire.GroupMemberRole(m.Role).Enum(), JoinDate: millis(m.JoinDate),
		MuteEndDate: millisOrNil(m.MuteEndDate),
	}
}
