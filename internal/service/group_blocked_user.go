// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"example.org/app/internal/im/group"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// groupBlocklistHandlers answers requests about the blocked users of groups.
type groupBlocklistHandlers struct {
	audiences
	blocklist *group.Blocklist
	users     userHandlers
}

func (h groupBlocklistHandlers) create(ctx context.Context, r *Request, body *wire.CreateGroupBlockedUserRequest) (Answer, error) {
	if err := h.blocklist.BlockBy(ctx, r.UserID, body.GetGroupId(), body.GetUserId()); err != nil {
		return Answer{}, err
	}
	flags := h.settings().Notification.GroupBlockedUserAdded
	return Answer{Notifications: []Notification{h.inGroup(ctx, r, body.GetGroupId(), groupAudience{
		self: flags.NotifyRequesterOtherOnlineSessions, concerned: []int64{body.GetUserId()}, toConcerned: flags.NotifyBlockedUser,
		members: flags.NotifyGroupMembers,
	}, nil)}}, nil
}

func (h groupBlocklistHandlers) delete(ctx context.Context, r *Request, body *wire.DeleteGroupBlockedUserRequest) (Answer, error) {
	lifted, err := h.blocklist.UnblockBy(ctx, r.UserID, body.GetGroupId(), body.GetUserId())
	if err != nil || !lifted {
		return Answer{}, err
	}
	flags := h.settings().Notification.GroupBlockedUserRemoved
	return Answer{Notifications: []Notification{h.inGroup(ctx, r, body.GetGroupId(), groupAudience{
		self: flags.NotifyRequesterOtherOnlineSessions, concerned: []int64{body.GetUserId()}, toConcerned: flags.NotifyUnblockedUser,
		members: flags.NotifyGroupMembers,
	}, nil)}}, nil
}

func (h groupBlocklistHandlers) queryIDs(ctx context.Context, _ *Request, body *wire.QueryGroupBlockedUserIdsRequest) (Answer, error) {
	found, version, err := h.blocklist.ListIDs(ctx, body.GetGroupId(), date(body.LastUpdatedDate))
	return listed(found, version, err, wireLongs)
}

func (h groupBlocklistHandlers) queryInfos(ctx context.Context, _ *Request, body *wire.QueryGroupBlockedUserInfosRequest) (Answer, error) {
	blocked, version, err := h.blocklist.ListIDs(ctx, body.GetGroupId(), date(body.LastUpdatedDate))
	if err != nil {
		return Answer{}, err
	}
	found, err := h.users.directory.Profiles(ctx, blocked, nil)
	return listed(found, version, err, func(list []store.User, version *int64) *wire.AppNotification_Data {
		return &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_UserInfosWithVersion{
			UserInfosWithVersion: &wire.UserInfosWithVersion{UserInfos: convert(list, h.users.wireUser), LastUpdatedDate: version},
		}}
	})
}
