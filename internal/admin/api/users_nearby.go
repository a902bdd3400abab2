// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/presence"
	"example.org/app/internal/store"
)

// NearbyUser is a user in the vicinity of another one.
type NearbyUser struct {
	UserID     int64           `json:"userId" doc:"Id of the user." example:"1234567890123456789"`
	DeviceType *string         `json:"deviceType,omitempty" enum:"DESKTOP,BROWSER,IOS,ANDROID,OTHERS,UNKNOWN" doc:"Kind of device, if devices have positions of their own." example:"DESKTOP"`
	Longitude  *float32        `json:"longitude,omitempty" doc:"Degrees to the east, with withCoordinates." example:"13.4"`
	Latitude   *float32        `json:"latitude,omitempty" doc:"Degrees to the north, with withCoordinates." example:"52.5"`
	Distance   *int32          `json:"distance,omitempty" doc:"Metres, with withDistance." example:"120"`
	Info       *NearbyUserInfo `json:"info,omitempty" doc:"The profile, with withUserInfo."`
}

// NearbyUserInfo is the part of a user that everybody may see.
type NearbyUserInfo struct {
	ID                    int64          `json:"id" doc:"Id." example:"1234567890123456789"`
	Name                  string         `json:"name" doc:"Name." example:"Alice"`
	Intro                 string         `json:"intro" doc:"Introduction." example:"Hello!"`
	ProfilePicture        *string        `json:"profilePicture,omitempty" doc:"Where the profile picture is." example:"https://example.org/alice.png"`
	ProfileAccessStrategy string         `json:"profileAccessStrategy" enum:"ALL,ALL_EXCEPT_BLOCKED_USERS,FRIENDS" doc:"Who may see the profile." example:"ALL"`
	RoleID                int64          `json:"roleId" doc:"Id of the user role." example:"0"`
	RegistrationDate      admin.Date     `json:"registrationDate" doc:"When the user registered."`
	IsActive              bool           `json:"isActive" doc:"Whether the user may log in." example:"true"`
	UserDefinedAttributes map[string]any `json:"userDefinedAttributes,omitempty" doc:"Attributes that clients have stored with the user."`
}

func newNearbyUserInfo(u store.User) *NearbyUserInfo {
	return &NearbyUserInfo{
		ID: u.ID, Name: u.Name, Intro: u.Intro, ProfilePicture: u.ProfilePicture, ProfileAccessStrategy: u.ProfileAccessStrategy.String(),
		RoleID: u.RoleID, RegistrationDate: admin.NewDate(u.RegistrationDate), IsActive: u.IsActive, UserDefinedAttributes: u.UserDefinedAttributes,
	}
}

type nearbyUserQuery struct {
	UserID          int64  `query:"userId" required:"true" doc:"Id of the user around whom to search." example:"1"`
	DeviceType      string `query:"deviceType" required:"true" enum:"DESKTOP,BROWSER,IOS,ANDROID,OTHERS,UNKNOWN" doc:"Kind of device of the user." example:"DESKTOP"`
	MaxCount        *int16 `query:"maxCount" minimum:"1" doc:"How many to return at most, 1 to app.location.nearby-user-request.max-nearby-user-count; absent: default-max-nearby-user-count."`
	MaxDistance     *int32 `query:"maxDistance" minimum:"1" doc:"How many metres away at most, 1 to app.location.nearby-user-request.max-distance-meters; absent: default-max-distance-meters."`
	WithCoordinates bool   `query:"withCoordinates" default:"false" doc:"Whether to return the positions."`
	WithDistance    bool   `query:"withDistance" default:"false" doc:"Whether to return the distances."`
	WithUserInfo    bool   `query:"withUserInfo" default:"false" doc:"Whether to return the profiles; users without profile are left out."`
}

func (h userOnlineInfoHandlers) nearby(ctx context.Context, in *nearbyUserQuery) ([]NearbyUser, error) {
	device := deviceType(in.DeviceType)
	positions, err := h.presence.Finder().Positions(ctx, []int64{in.UserID}, device)
	if err != nil {
		return nil, err
	}
	center, known := positions[in.UserID]
	var asked *int32
	if in.MaxCount != nil {
		asked = new(int32(*in.MaxCount))
	}
	count, meters, err := h.limits().Check(asked, in.MaxDistance)
	if err != nil || !known {
		return []NearbyUser{}, err
	}
	found, err := h.presence.Finder().Nearby(ctx, presence.SessionKey{UserID: in.UserID, Device: device}, center, count, meters)
	if err != nil {
		return nil, err
	}
	var users map[int64]store.User
	if in.WithUserInfo && len(found) > 0 {
		if users, err = h.existing(ctx, resource.Convert(found, func(n presence.Neighbour) int64 { return n.UserID })); err != nil {
			return nil, err
		}
	}
	out := make([]NearbyUser, 0, len(found))
	for _, n := range found {
		u, ok := users[n.UserID]
		if in.WithUserInfo && !ok {
			continue
		}
		out = append(out, h.newNearbyUser(in, n, u))
	}
	return out, nil
}

func (h userOnlineInfoHandlers) newNearbyUser(in *nearbyUserQuery, n presence.Neighbour, u store.User) NearbyUser {
	out := NearbyUser{UserID: n.UserID}
	if h.presence.Locations().PerDevice {
		out.DeviceType = new(n.Device.String())
	}
	if in.WithCoordinates {
		out.Longitude, out.Latitude = &n.Longitude, &n.Latitude
	}
	if in.WithDistance {
		out.Distance = &n.Meters
	}
	if in.WithUserInfo {
		out.Info = newNearbyUserInfo(u)
	}
	return out
}

// UserPosition is where a user is.
type UserPosition struct {
	UserID     int64   `json:"userId" doc:"Id of the user." example:"1234567890123456789"`
	DeviceType string  `json:"deviceType" enum:"DESKTOP,BROWSER,IOS,ANDROID,OTHERS,UNKNOWN" doc:"Kind of device that was asked for." example:"DESKTOP"`
	Longitude  float32 `json:"longitude" doc:"Degrees to the east." example:"13.4"`
	Latitude   float32 `json:"latitude" doc:"Degrees to the north." example:"52.5"`
}

type userPositionQuery struct {
	IDs        []int64 `query:"ids" required:"true" uniqueItems:"true" doc:"Ids of users." example:"[1]"`
	DeviceType string  `query:"deviceType" required:"true" enum:"DESKTOP,BROWSER,IOS,ANDROID,OTHERS,UNKNOWN" doc:"Kind of device of the users." example:"DESKTOP"`
}

func (h userOnlineInfoHandlers) locations(ctx context.Context, in *userPositionQuery) (out []UserPosition, err error) {
	positions, err := h.presence.Finder().Positions(ctx, in.IDs, deviceType(in.DeviceType))
	if err != nil {
		return nil, err
	}
	for _, id := range in.IDs {
		if p, ok := positions[id]; ok {
			out = append(out, UserPosition{UserID: id, DeviceType: in.DeviceType, Longitude: p.Longitude, Latitude: p.Latitude})
		}
	}
	return out, nil
}
