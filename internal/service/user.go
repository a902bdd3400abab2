// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"strings"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/user"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// userHandlers answers requests about users.
type userHandlers struct {
	audiences
	directory *user.Directory
}

func (h userHandlers) queryProfiles(ctx context.Context, _ *Request, body *wire.QueryUserProfilesRequest) (Answer, error) {
	if strings.TrimSpace(body.GetName()) != "" {
		return Answer{}, apierr.New(apierr.SearchingUserIsDisabled, "")
	}
	found, err := h.directory.Profiles(ctx, body.GetUserIds(), date(body.LastUpdatedDate))
	if err != nil {
		return Answer{}, err
	}
	return Answer{Data: &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_UserInfosWithVersion{
		UserInfosWithVersion: &wire.UserInfosWithVersion{UserInfos: convert(found, h.wireUser)},
	}}}, nil
}

// wireUser converts a stored user to its wire form.
func (h userHandlers) wireUser(u store.User) *wire.UserInfo {
	out := &wire.UserInfo{
		Id: &u.ID, Name: &u.Name, Intro: &u.Intro, ProfilePicture: u.ProfilePicture,
		ProfileAccessStrategy: wire.ProfileAccessStrategy(u.ProfileAccessStrategy).Enum(), RegistrationDate: millis(u.RegistrationDate),
		LastUpdatedDate: millis(u.LastUpdatedDate), Active: &u.IsActive,
	}
	if len(u.UserDefinedAttributes) > 0 {
		out.UserDefinedAttributes = toWireMap(h.directory.Attributes(u))
	}
	return out
}

func (h userHandlers) update(ctx context.Context, r *Request, body *wire.UpdateUserRequest) (Answer, error) {
	c := user.OwnChange{
		Password: body.Password, Name: body.Name, Intro: body.Intro, ProfilePicture: body.ProfilePicture,
		UserDefinedAttributes: fromWireMap(body.GetUserDefinedAttributes()),
	}
	if body.ProfileAccessStrategy != nil {
		c.ProfileAccessStrategy = new(store.ProfileAccessStrategy(body.GetProfileAccessStrategy()))
	}
	changed, err := h.directory.ChangeOwn(ctx, r.UserID, c)
	if err != nil || !changed.Anything {
		return Answer{}, err
	}
	// No other session needs the password.
	relay := proto.CloneOf(r.AppRequest)
	relay.GetUpdateUserRequest().Password = nil
	flags := h.settings().Notification.UserInfoUpdated
	return Answer{Notifications: []Notification{{
		Relay: relay, Self: flags.NotifyRequesterOtherOnlineSessions,
		To: onlyIf(flags.NotifyNonBlockedRelatedUsers && changed.Profile, h.knownBy(ctx, r.UserID)),
	}}}, nil
}
