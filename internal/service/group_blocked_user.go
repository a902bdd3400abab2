// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"slices"

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
	if err != nil || version == nil || len(blocked) == 0 {
		return listed[store.User](nil, version, err, nil)
	}
	found, err := d.Users.Find(ctx, store.UserFilter{IDs: blocked}, 0, 0)
	found = slices.DeleteFunc(found, func(u store.User) bool { return u.DeletionDate != nil })
	return listed(found, version, err, func(list []store.User, version *int64) *wire.AppNotification_Data {
		return &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_UserInfosWithVersion{
			UserInfosWithVersion: &wire.UserInfosWithVersion{UserInfos: convert(list, wireUserInfo), LastUpdatedDate: version},
		}}
	})
}

// wireUserInfo is a stored user as other users see it.
func wireUserInfo(u store.User) *wire.UserInfo {
	return &wire.UserInfo{
		Id: &u.ID, Name: &u.Name, Intro: &u.Intro, ProfilePicture: u.ProfilePicture,
		ProfileAccessStrategy: wire.ProfileAccessStrategy(u.ProfileAccessStrategy).Enum(),
		RegistrationDate:      millis(u.RegistrationDate), LastUpdatedDate: millis(u.LastUpdatedDate), Active: &u.IsActive,
	}
}
