// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/im/user"
	"example.org/app/internal/link"
	"example.org/app/internal/permission"
	"example.org/app/internal/presence"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

const userOnlineInfoTag = "UserOnlineInfoController"

type userOnlineInfoHandlers struct {
	presence *presence.Directory
	users    *user.Directory
	limits   func() presence.NearbyLimits
	lifetime func() time.Duration
}

func userOnlineInfoOperations(s Service) []*admin.Operation {
	h := userOnlineInfoHandlers{s.Presence, s.Users, s.NearbyLimits, s.DetailsLifetime}
	const path = "/users/online-infos"
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "queryOnlineUserCount", Method: http.MethodGet, Path: path + "/count", Tag: userOnlineInfoTag, Permission: permission.StatisticsUserQuery,
			Summary:     "Count online users",
			Description: "Counts the users who are online, and on request how many of them each gateway has. A user with sessions at several gateways counts at each of them.",
		}, h.count),
		admin.Handle(admin.Operation{
			ID: "queryUserSessions", Method: http.MethodGet, Path: path + "/sessions", Tag: userOnlineInfoTag, Permission: permission.UserOnlineInfoQuery,
			EmptyIsOK: true, Summary: "Query sessions",
			Description: "Returns the sessions of users. Users without session appear as `OFFLINE`, if they exist or the query includes nonexistent users.",
		}, h.sessions),
		admin.Handle(admin.Operation{
			ID: "queryUserStatuses", Method: http.MethodGet, Path: path + "/statuses", Tag: userOnlineInfoTag, Permission: permission.UserOnlineInfoQuery,
			Summary: "Query statuses", Description: "Returns the statuses of users and at which gateways their devices are.",
		}, h.statuses),
		admin.Handle(admin.Operation{
			ID: "queryUsersNearby", Method: http.MethodGet, Path: path + "/nearby-users", Tag: userOnlineInfoTag, Permission: permission.UserOnlineInfoQuery,
			EmptyIsOK: true, Summary: "Query users nearby",
			Description: "Returns the users near a user, the nearest first. The result is empty if the position of the user is not known.",
			Errors:      []apierr.Code{apierr.UserLocationRelatedFeaturesAreDisabled},
		}, h.nearby),
		admin.Handle(admin.Operation{
			ID: "queryUserLocations", Method: http.MethodGet, Path: path + "/locations", Tag: userOnlineInfoTag, Permission: permission.UserOnlineInfoQuery,
			Summary: "Query positions",
			Description: "Returns the latest positions of users who are online. Unless devices have positions of their own " +
				"(`app.location.treat-user-id-and-device-type-as-unique-user`), the device type makes no difference.",
			Errors: []apierr.Code{apierr.UserLocationRelatedFeaturesAreDisabled},
		}, h.locations),
		admin.Handle(admin.Operation{
			ID: "updateUserStatuses", Method: http.MethodPut, Path: path + "/statuses", Tag: userOnlineInfoTag, Permission: permission.UserOnlineInfoUpdate,
			Summary: "Update statuses",
			Description: "Sets the status of online users. `OFFLINE` closes their sessions instead, or only those of the device types; " +
				"their clients receive the close status 600.",
		}, h.update),
	}
}

// OnlineUserCount is how many users are online.
type OnlineUserCount struct {
	Total             int32            `json:"total" doc:"How many users are online." example:"3"`
	NodeIDToUserCount map[string]int32 `json:"nodeIdToUserCount,omitzero" doc:"How many users each gateway has."`
}

type onlineUserCountQuery struct {
	CountByNodes bool `query:"countByNodes" default:"false" doc:"Whether to count for each gateway too."`
}

func (h userOnlineInfoHandlers) count(ctx context.Context, in *onlineUserCountQuery) (OnlineUserCount, error) {
	total, nodes, err := h.presence.Finder().Count(ctx)
	if err != nil {
		return OnlineUserCount{}, err
	}
	c := OnlineUserCount{Total: int32(total)}
	if !in.CountByNodes {
		return c, nil
	}
	c.NodeIDToUserCount = map[string]int32{}
	for _, m := range h.presence.Node().Cluster().Members() {
		if m.Type == role.Gateway && m.Status.HasJoined {
			c.NodeIDToUserCount[m.NodeID] = 0
		}
	}
	for id, n := range nodes {
		c.NodeIDToUserCount[id] = int32(n)
	}
	return c, nil
}

type onlineInfoQuery struct {
	IDs                    []int64 `query:"ids" required:"true" uniqueItems:"true" doc:"Ids of users." example:"[1]"`
	ReturnNonExistingUsers bool    `query:"returnNonExistingUsers" default:"false" doc:"Whether to return ids of users who are offline and do not exist."`
}

// entries returns what is known of the users, in the order of the ids.
func (h userOnlineInfoHandlers) entries(ctx context.Context, in *onlineInfoQuery) (entries []presence.Entry, err error) {
	if entries, err = h.presence.Finder().Lookup(ctx, in.IDs); err != nil {
		return nil, err
	}
	var offline []int64
	for i := range entries {
		if len(entries[i].Sessions) == 0 {
			offline = append(offline, entries[i].UserID)
		}
	}
	if in.ReturnNonExistingUsers || len(offline) == 0 {
		return entries, nil
	}
	existing, err := h.existing(ctx, offline)
	if err != nil {
		return nil, err
	}
	kept := entries[:0]
	for _, e := range entries {
		if _, ok := existing[e.UserID]; ok || len(e.Sessions) > 0 {
			kept = append(kept, e)
		}
	}
	return kept, nil
}

// existing returns those of the users who exist and are not deleted.
func (h userOnlineInfoHandlers) existing(ctx context.Context, ids []int64) (map[int64]store.User, error) {
	found, err := h.users.Find(ctx, store.UserFilter{IDs: ids}, len(ids), 0)
	if err != nil {
		return nil, err
	}
	users := make(map[int64]store.User, len(found))
	for _, u := range found {
		if u.DeletionDate == nil {
			users[u.ID] = u
		}
	}
	return users, nil
}

// UserSessions are the sessions of a user.
type UserSessions struct {
	UserID   int64         `json:"userId" doc:"Id of the user." example:"1234567890123456789"`
	Status   string        `json:"status" enum:"AVAILABLE,OFFLINE,INVISIBLE,BUSY,DO_NOT_DISTURB,AWAY,BE_RIGHT_BACK" doc:"Status of the user." example:"AVAILABLE"`
	Sessions []UserSession `json:"sessions" doc:"The sessions, one for each device type at most."`
}

// UserSession is one session of a user.
type UserSession struct {
	ID                       int32             `json:"id" doc:"Id of the session." example:"123456789"`
	Version                  int32             `json:"version" doc:"Version of the client protocol." example:"1"`
	DeviceType               string            `json:"deviceType" enum:"DESKTOP,BROWSER,IOS,ANDROID,OTHERS,UNKNOWN" doc:"Kind of device." example:"DESKTOP"`
	DeviceDetails            map[string]string `json:"deviceDetails" doc:"Details of the device from the client, if they are configured to be kept and have not expired."`
	LoginDate                admin.Date        `json:"loginDate" doc:"When the session began."`
	LoginLocation            *UserLocation     `json:"loginLocation,omitempty" doc:"Where the client was when the session began."`
	LastHeartbeatRequestDate admin.Date        `json:"lastHeartbeatRequestDate" doc:"When the last heartbeat came."`
	LastRequestDate          admin.Date        `json:"lastRequestDate" doc:"When the last request came."`
	IsSessionOpen            bool              `json:"isSessionOpen" doc:"Whether the session is open." example:"true"`
	IP                       string            `json:"ip" doc:"Address of the client." example:"203.0.113.7"`
}

// UserLocation is a position with what the client says about it.
type UserLocation struct {
	Longitude float32           `json:"longitude" doc:"Degrees to the east." example:"13.4"`
	Latitude  float32           `json:"latitude" doc:"Degrees to the north." example:"52.5"`
	Timestamp admin.Date        `json:"timestamp" doc:"When the client was there."`
	Details   map[string]string `json:"details" doc:"What the client says about it."`
}

func (h userOnlineInfoHandlers) sessions(ctx context.Context, in *onlineInfoQuery) ([]UserSessions, error) {
	entries, err := h.entries(ctx, in)
	if err != nil {
		return nil, err
	}
	var all []presence.Session
	for _, e := range entries {
		all = append(all, e.Sessions...)
	}
	activities := h.presence.Activities(ctx, all)
	lifetime, now := time.Duration(0), time.Now()
	if h.lifetime != nil {
		lifetime = h.lifetime()
	}
	return resource.Convert(entries, func(e presence.Entry) UserSessions {
		return UserSessions{UserID: e.UserID, Status: e.Status.String(), Sessions: resource.Convert(e.Sessions, func(s presence.Session) UserSession {
			a, ok := activities[s.Key()]
			if !ok {
				a = presence.Activity{LastHeartbeat: s.LoginDate, LastRequest: s.LoginDate}
			}
			s.Details = s.KeptDetails(now, lifetime)
			return newUserSession(s, a)
		})}
	}), nil
}

func newUserSession(s presence.Session, a presence.Activity) UserSession {
	ip := ""
	if s.IP.IsValid() {
		ip = s.IP.String()
	}
	return UserSession{
		ID: s.ID, Version: s.Version, DeviceType: s.Device.String(), DeviceDetails: given(s.Details),
		LoginDate: admin.NewDate(s.LoginDate), LoginLocation: newUserLocation(s.LoginLocation),
		LastHeartbeatRequestDate: admin.NewDate(a.LastHeartbeat), LastRequestDate: admin.NewDate(a.LastRequest),
		IsSessionOpen: true, IP: ip,
	}
}

func newUserLocation(l *presence.Location) *UserLocation {
	if l == nil {
		return nil
	}
	return &UserLocation{Longitude: l.Longitude, Latitude: l.Latitude, Timestamp: admin.NewDate(l.Date), Details: given(l.Details)}
}

// given is a map that is written even if it is empty.
func given(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// UserSessionsStatus is the status of a user and where the user is online.
type UserSessionsStatus struct {
	UserID                  int64                        `json:"userId" doc:"Id of the user." example:"1234567890123456789"`
	UserStatus              string                       `json:"userStatus" enum:"AVAILABLE,OFFLINE,INVISIBLE,BUSY,DO_NOT_DISTURB,AWAY,BE_RIGHT_BACK" doc:"Status of the user." example:"AVAILABLE"`
	DeviceTypeToSessionInfo map[string]DeviceSessionInfo `json:"deviceTypeToSessionInfo" doc:"Where the devices are online, by kind of device."`
	Offline                 bool                         `json:"offline" doc:"Whether the status is OFFLINE." example:"false"`
}

// DeviceSessionInfo says where a device is online.
type DeviceSessionInfo struct {
	NodeID                    string `json:"nodeId" doc:"Id of the gateway." example:"first-gateway"`
	HeartbeatTimestampSeconds int64  `json:"heartbeatTimestampSeconds" doc:"Time of the last sign of life of the gateway, in seconds since 1970." example:"1700000000"`
	Active                    bool   `json:"active" doc:"Whether the gateway is connected." example:"true"`
}

func (h userOnlineInfoHandlers) statuses(ctx context.Context, in *onlineInfoQuery) ([]UserSessionsStatus, error) {
	entries, err := h.entries(ctx, in)
	if err != nil {
		return nil, err
	}
	heartbeats := map[string]time.Time{}
	for _, m := range h.presence.Node().Cluster().Members() {
		heartbeats[m.NodeID] = m.Status.LastHeartbeat
	}
	return resource.Convert(entries, func(e presence.Entry) UserSessionsStatus {
		devices := map[string]DeviceSessionInfo{}
		for _, s := range e.Sessions {
			heartbeat, ok := heartbeats[s.NodeID]
			if !ok {
				heartbeat = s.LoginDate
			}
			devices[s.Device.String()] = DeviceSessionInfo{NodeID: s.NodeID, HeartbeatTimestampSeconds: heartbeat.Unix(), Active: true}
		}
		return UserSessionsStatus{
			UserID: e.UserID, UserStatus: e.Status.String(), DeviceTypeToSessionInfo: devices, Offline: e.Status == wire.UserStatus_OFFLINE,
		}
	}), nil
}

// userStatusUpdate is the body of PUT /users/online-infos/statuses.
type userStatusUpdate struct {
	OnlineStatus string `json:"onlineStatus" enum:"AVAILABLE,OFFLINE,INVISIBLE,BUSY,DO_NOT_DISTURB,AWAY,BE_RIGHT_BACK" doc:"The new status; OFFLINE closes sessions." example:"OFFLINE"`
}

type userStatusUpdateInput struct {
	IDs         []int64  `query:"ids" required:"true" uniqueItems:"true" selector:"true" doc:"Ids of users." example:"[1]"`
	DeviceTypes []string `query:"deviceTypes" uniqueItems:"true" enum:"DESKTOP,BROWSER,IOS,ANDROID,OTHERS,UNKNOWN" doc:"The device types whose sessions are closed by OFFLINE; absent: all." example:"[\"DESKTOP\"]"`
	Body        userStatusUpdate
}

func (h userOnlineInfoHandlers) update(ctx context.Context, in *userStatusUpdateInput) (admin.Done, error) {
	if status := wire.UserStatus(wire.UserStatus_value[in.Body.OnlineStatus]); status != wire.UserStatus_OFFLINE {
		_, err := h.presence.SetStatuses(ctx, in.IDs, status)
		return admin.Done{}, err
	}
	devices := resource.Convert(in.DeviceTypes, deviceType)
	_, err := h.presence.Disconnect(ctx, link.Disconnection{UserIDs: in.IDs, Devices: devices, Status: wire.ClosedByAdmin})
	return admin.Done{}, err
}

func deviceType(name string) wire.DeviceType { return wire.DeviceType(wire.DeviceType_value[name]) }
