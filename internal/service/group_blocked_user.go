// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

func (d *Dispatcher) createGroupBlockedUser(ctx context.Context, r *Request, body *wire.CreateGroupBlockedUserRequest) (Answer, error) {
	if err := d.Groups.BlockBy(ctx, r.UserID, body.GetGroupId(), body.GetUserId()); err != nil {
		return Answer{}, err
	}
	flags := d.Settings().Notification.GroupBlockedUserAdded
	return Answer{Notifications: []Notification{d.inGroup(ctx, r, body.GetGroupId(), circle{
		self: flags.NotifyRequesterOtherOnlineSessions, concerned: []int64{body.GetUserId()}, toConcerned: flags.NotifyBlockedUser,
		members: flags.NotifyGroupMembers,
	}, nil)}}, nil
}

func (d *Dispatcher) deleteGroupBlockedUser(ctx context.Context, r *Request, body *wire.DeleteGroupBlockedUserRequest) (Answer, error) {
	lifted, err := d.Groups.UnblockBy(ctx, r.UserID, body.GetGroupId(), body.GetUserId())
	if err != nil || !lifted {
		return Answer{}, err
	}
	flags := d.Settings().Notification.GroupBlockedUserRemoved
	return Answer{Notifications: []Notification{d.inGroup(ctx, r, body.GetGroupId(), circle{
		self: flags.NotifyRequesterOtherOnlineSessions, concerned: []int64{body.GetUserId()}, toConcerned: flags.NotifyUnblockedUser,
		members: flags.NotifyGroupMembers,
	}, nil)}}, nil
}

func (d *Dispatcher) queryGroupBlockedUserIDs(ctx context.Context, _ *Request, body *wire.QueryGroupBlockedUserIdsRequest) (Answer, error) {
	found, version, err := d.Groups.BlockedUserIDList(ctx, body.GetGroupId(), date(body.LastUpdatedDate))
	return listed(found, version, err, wireLongs)
}

func (d *Dispatcher) queryGroupBlockedUserInfos(ctx context.Context, _ *Request, body *wire.QueryGroupBlockedUserInfosRequest) (Answer, error) {
	blocked, version, err := d.Groups.BlockedUserIDList(ctx, body.GetGroupId(), date(body.LastUpdatedDate))
	if err != nil {
		return Answer{}, err
	}
	found, err := d.Users.Profiles(ctx, blocked, nil)
	return listed(found, version, err, func(list []store.User, version *int64) *wire.AppNotification_Data {
		return &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_UserInfosWithVersion{
			UserInfosWithVersion: &wire.UserInfosWithVersion{UserInfos: convert(list, d.wireUser), LastUpdatedDate: version},
		}}
	})
}
