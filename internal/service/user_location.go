// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"example.org/app/internal/apierr"
	"example.org/app/internal/presence"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// updateLocation sets the position of the requester's session. Other details of the location are
// not stored.
func (h presenceHandlers) updateLocation(ctx context.Context, r *Request, body *wire.UpdateUserLocationRequest) (Answer, error) {
	return Answer{}, h.place(ctx, r, presence.Position{Longitude: body.GetLongitude(), Latitude: body.GetLatitude()})
}

// place stores the position of the requester.
func (h presenceHandlers) place(ctx context.Context, r *Request, p presence.Position) error {
	p.Date = h.clock()
	// A session that has just ended has no position.
	_, err := h.directory.SetPosition(ctx, r.UserID, r.Device, p)
	return err
}

// queryNearby finds users near the requester and sets the requester's position to that of the
// request.
func (h presenceHandlers) queryNearby(ctx context.Context, r *Request, body *wire.QueryNearbyUsersRequest) (Answer, error) {
	if !h.directory.Locations().Enabled {
		return Answer{}, apierr.New(apierr.UserLocationRelatedFeaturesAreDisabled, "")
	}
	count, meters, err := h.limits().Check(body.MaxCount, body.MaxDistance)
	if err != nil {
		return Answer{}, err
	}
	center := presence.Position{Longitude: body.GetLongitude(), Latitude: body.GetLatitude()}
	if err := h.place(ctx, r, center); err != nil {
		return Answer{}, err
	}
	found, err := h.directory.Finder().Nearby(ctx, presence.SessionKey{UserID: r.UserID, Device: r.Device, ID: r.SessionID}, center, count, meters)
	if err != nil {
		return Answer{}, err
	}
	profiles := make(map[int64]store.User, len(found))
	if body.GetWithUserInfo() {
		known, err := h.users.directory.Profiles(ctx, convert(found, func(n presence.Neighbour) int64 { return n.UserID }), nil)
		if err != nil {
			return Answer{}, err
		}
		for _, u := range known {
			profiles[u.ID] = u
		}
	}
	var list []*wire.NearbyUser
	for _, n := range found {
		profile, exists := profiles[n.UserID]
		if body.GetWithUserInfo() && !exists {
			continue
		}
		list = append(list, h.wireNeighbour(body, n, profile))
	}
	if len(list) == 0 {
		return noContent, nil
	}
	return Answer{Data: &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_NearbyUsers{NearbyUsers: &wire.NearbyUsers{NearbyUsers: list}}}}, nil
}

// wireNeighbour converts a neighbour to its wire form, with the requested details.
func (h presenceHandlers) wireNeighbour(body *wire.QueryNearbyUsersRequest, n presence.Neighbour, profile store.User) *wire.NearbyUser {
	out := &wire.NearbyUser{UserId: n.UserID}
	if h.directory.Locations().PerDevice {
		out.DeviceType = n.Device.Enum()
	}
	if body.GetWithCoordinates() {
		out.Location = &wire.UserLocation{Latitude: n.Latitude, Longitude: n.Longitude}
	}
	if body.GetWithDistance() {
		out.Distance = &n.Meters
	}
	if body.GetWithUserInfo() {
		out.Info = h.users.wireUser(profile)
	}
	return out
}
