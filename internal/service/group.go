// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"strings"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/group"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

func (d *Dispatcher) createGroup(ctx context.Context, r *Request, body *wire.CreateGroupRequest) (Answer, error) {
	g, err := d.Groups.Create(ctx, group.Creation{
		TypeID: body.TypeId, CreatorID: r.UserID, Name: &body.Name, Intro: body.Intro, Announcement: body.Announcement,
		MinimumScore: body.GetMinScore(), MuteEndDate: date(body.MuteEndDate), Attributes: fromWireMap(body.GetUserDefinedAttributes()),
		Key: r.once,
	})
	if err != nil {
		return Answer{}, err
	}
	return long(g.ID, Notification{Self: d.Settings().Notification.GroupCreated.NotifyRequesterOtherOnlineSessions}), nil
}

func (d *Dispatcher) deleteGroup(ctx context.Context, r *Request, body *wire.DeleteGroupRequest) (Answer, error) {
	members, err := d.Groups.DeleteBy(ctx, r.UserID, body.GetGroupId())
	if err != nil {
		return Answer{}, err
	}
	flags := d.Settings().Notification.GroupDeleted
	return Answer{Notifications: []Notification{{
		Self: flags.NotifyRequesterOtherOnlineSessions || flags.NotifyGroupMembers, To: onlyIf(flags.NotifyGroupMembers, users(members...)),
	}}}, nil
}

func (d *Dispatcher) updateGroup(ctx context.Context, r *Request, body *wire.UpdateGroupRequest) (Answer, error) {
	var changed bool
	var err error
	if body.SuccessorId != nil {
		changed, err = d.Groups.HandOver(ctx, r.UserID, body.GetGroupId(), body.GetSuccessorId(), body.GetQuitAfterTransfer())
	} else {
		changed, err = d.Groups.UpdateBy(ctx, r.UserID, body.GetGroupId(), group.Edit{
			Name: body.Name, Intro: body.Intro, Announcement: body.Announcement, MinimumScore: body.MinScore, TypeID: body.TypeId,
			MuteEndDate: date(body.MuteEndDate), Attributes: fromWireMap(body.GetUserDefinedAttributes()),
		})
	}
	if err != nil || !changed {
		return Answer{}, err
	}
	flags := d.Settings().Notification.GroupUpdated
	return Answer{Notifications: []Notification{d.inGroup(ctx, r, body.GetGroupId(), circle{
		self: flags.NotifyRequesterOtherOnlineSessions, members: flags.NotifyGroupMembers,
	}, nil)}}, nil
}

func (d *Dispatcher) queryGroups(ctx context.Context, _ *Request, body *wire.QueryGroupsRequest) (Answer, error) {
	if strings.TrimSpace(body.GetName()) != "" {
		return Answer{}, apierr.New(apierr.SearchingGroupIsDisabled, "")
	}
	found, err := d.Groups.ChangedGroups(ctx, body.GetGroupIds(), date(body.LastUpdatedDate))
	if err != nil {
		return Answer{}, err
	}
	return Answer{Data: d.wireGroups(found, nil)}, nil
}

func (d *Dispatcher) queryJoinedGroupIDs(ctx context.Context, r *Request, body *wire.QueryJoinedGroupIdsRequest) (Answer, error) {
	found, version, err := d.Groups.JoinedGroupIDList(ctx, r.UserID, date(body.LastUpdatedDate))
	return listed(found, version, err, wireLongs)
}

func (d *Dispatcher) queryJoinedGroupInfos(ctx context.Context, r *Request, body *wire.QueryJoinedGroupInfosRequest) (Answer, error) {
	found, version, err := d.Groups.JoinedGroupList(ctx, r.UserID, date(body.LastUpdatedDate))
	return listed(found, version, err, d.wireGroups)
}

func (d *Dispatcher) wireGroups(list []store.Group, version *int64) *wire.AppNotification_Data {
	return &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_GroupsWithVersion{
		GroupsWithVersion: &wire.GroupsWithVersion{Groups: convert(list, d.wireGroup), LastUpdatedDate: version},
	}}
}

// wireGroup is a stored group as clients see it.
func (d *Dispatcher) wireGroup(g store.Group) *wire.Group {
	out := &wire.Group{
		Id: &g.ID, TypeId: &g.TypeID, CreatorId: &g.CreatorID, OwnerId: &g.OwnerID, Name: g.Name, Intro: g.Intro, Announcement: g.Announcement,
		CreationDate: millis(g.CreationDate), LastUpdatedDate: millis(g.LastUpdatedDate), MuteEndDate: millisOrNil(g.MuteEndDate), Active: &g.IsActive,
	}
	if len(g.Attributes) > 0 {
		out.UserDefinedAttributes = toWireMap(d.Groups.Attributes(g))
	}
	return out
}

// wireLongs are ids with the version of their list.
func wireLongs(list []int64, version *int64) *wire.AppNotification_Data {
	return &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_LongsWithVersion{
		LongsWithVersion: &wire.LongsWithVersion{Longs: list, LastUpdatedDate: version},
	}}
}
