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

// groupHandlers answers requests about groups.
type groupHandlers struct {
	audiences
	directory *group.Directory
}

func (h groupHandlers) create(ctx context.Context, r *Request, body *wire.CreateGroupRequest) (Answer, error) {
	g, err := h.directory.Create(ctx, group.Creation{
		TypeID: body.TypeId, CreatorID: r.UserID, Name: &body.Name, Intro: body.Intro, Announcement: body.Announcement,
		MinimumScore: body.GetMinScore(), MuteEndDate: date(body.MuteEndDate), Attributes: fromWireMap(body.GetUserDefinedAttributes()),
		Key: r.once,
	})
	if err != nil {
		return Answer{}, err
	}
	return long(g.ID, Notification{Self: h.settings().Notification.GroupCreated.NotifyRequesterOtherOnlineSessions}), nil
}

func (h groupHandlers) delete(ctx context.Context, r *Request, body *wire.DeleteGroupRequest) (Answer, error) {
	members, err := h.directory.DeleteBy(ctx, r.UserID, body.GetGroupId())
	if err != nil {
		return Answer{}, err
	}
	flags := h.settings().Notification.GroupDeleted
	return told(flags.NotifyRequesterOtherOnlineSessions || flags.NotifyGroupMembers, onlyIf(flags.NotifyGroupMembers, users(members...))), nil
}

func (h groupHandlers) update(ctx context.Context, r *Request, body *wire.UpdateGroupRequest) (Answer, error) {
	var changed bool
	var err error
	if body.SuccessorId != nil {
		changed, err = h.directory.HandOver(ctx, r.UserID, body.GetGroupId(), body.GetSuccessorId(), body.GetQuitAfterTransfer())
	} else {
		changed, err = h.directory.UpdateBy(ctx, r.UserID, body.GetGroupId(), group.Edit{
			Name: body.Name, Intro: body.Intro, Announcement: body.Announcement, MinimumScore: body.MinScore, TypeID: body.TypeId,
			MuteEndDate: date(body.MuteEndDate), Attributes: fromWireMap(body.GetUserDefinedAttributes()),
		})
	}
	if err != nil || !changed {
		return Answer{}, err
	}
	flags := h.settings().Notification.GroupUpdated
	return Answer{Notifications: []Notification{h.inGroup(ctx, r, body.GetGroupId(), groupAudience{
		self: flags.NotifyRequesterOtherOnlineSessions, members: flags.NotifyGroupMembers,
	}, nil)}}, nil
}

func (h groupHandlers) query(ctx context.Context, _ *Request, body *wire.QueryGroupsRequest) (Answer, error) {
	if strings.TrimSpace(body.GetName()) != "" {
		return Answer{}, apierr.New(apierr.SearchingGroupIsDisabled, "")
	}
	found, err := h.directory.FindChanged(ctx, body.GetGroupIds(), date(body.LastUpdatedDate))
	if err != nil {
		return Answer{}, err
	}
	return Answer{Data: h.wireGroups(found, nil)}, nil
}

func (h groupHandlers) queryJoinedIDs(ctx context.Context, r *Request, body *wire.QueryJoinedGroupIdsRequest) (Answer, error) {
	found, version, err := h.directory.ListJoinedIDs(ctx, r.UserID, date(body.LastUpdatedDate))
	return listed(found, version, err, wireLongs)
}

func (h groupHandlers) queryJoinedInfos(ctx context.Context, r *Request, body *wire.QueryJoinedGroupInfosRequest) (Answer, error) {
	found, version, err := h.directory.ListJoined(ctx, r.UserID, date(body.LastUpdatedDate))
	return listed(found, version, err, h.wireGroups)
}

func (h groupHandlers) wireGroups(list []store.Group, version *int64) *wire.AppNotification_Data {
	return &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_GroupsWithVersion{
		GroupsWithVersion: &wire.GroupsWithVersion{Groups: convert(list, h.wireGroup), LastUpdatedDate: version},
	}}
}

// wireGroup converts a stored group to its wire form.
func (h groupHandlers) wireGroup(g store.Group) *wire.Group {
	out := &wire.Group{
		Id: &g.ID, TypeId: &g.TypeID, CreatorId: &g.CreatorID, OwnerId: &g.OwnerID, Name: g.Name, Intro: g.Intro, Announcement: g.Announcement,
		CreationDate: millis(g.CreationDate), LastUpdatedDate: millis(g.LastUpdatedDate), MuteEndDate: millisOrNil(g.MuteEndDate), Active: &g.IsActive,
	}
	if len(g.Attributes) > 0 {
		out.UserDefinedAttributes = toWireMap(h.directory.Attributes(g))
	}
	return out
}

// wireLongs returns ids with the version of their list.
func wireLongs(list []int64, version *int64) *wire.AppNotification_Data {
	return &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_LongsWithVersion{
		LongsWithVersion: &wire.LongsWithVersion{Longs: list, LastUpdatedDate: version},
	}}
}
