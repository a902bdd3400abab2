// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/wire"
)

// sessionsOf is the sessions of a user as administrators see them.
type sessionsOf struct {
	UserID   int64
	Status   string
	Sessions []struct {
		ID            int32
		DeviceType    string
		IP            string
		IsSessionOpen bool

		LoginDate, LastHeartbeatRequestDate time.Time
	}
}

func onlineInfos(s *stage) {
	count := func() (n struct{ Total int }) {
		s.data("/users/online-infos/count", &n)
		return n
	}
	id := s.user()
	// Sessions of earlier scenarios end by themselves.
	s.eventually("nobody is online", func() bool { return count().Total == 0 })
	a, b := s.pair(id)
	infos := [2]*wire.UserSession{a.SessionInfo(), b.SessionInfo()}
	s.eventually("the user is online", func() bool { return count().Total == 1 })
	sessions := func() (list []sessionsOf) {
		s.data(fmt.Sprintf("/users/online-infos/sessions?ids=%d", id), &list)
		return list
	}
	s.eventually("both sessions are seen", func() bool { list := sessions(); return len(list) == 1 && len(list[0].Sessions) == 2 })
	for _, session := range sessions()[0].Sessions {
		want := infos[0]
		if session.DeviceType == android.String() {
			want = infos[1]
		}
		if !session.LastHeartbeatRequestDate.Equal(session.LoginDate) || session.LoginDate.IsZero() {
			s.Errorf("before the first heartbeat its date is %s, the login was at %s", session.LastHeartbeatRequestDate, session.LoginDate)
		}
		if strconv.Itoa(int(session.ID)) != want.GetSessionId() || session.IP != "127.0.0.1" || !session.IsSessionOpen {
			s.Errorf("the session is %+v, the client was told %v", session, want)
		}
	}
	s.ask(http.MethodPut, fmt.Sprintf("%s/users/online-infos/statuses?ids=%d", s.Service, id), `{"onlineStatus":"BUSY"}`)
	s.eventually("the user is busy for everybody", func() bool {
		statuses := a.Request(&wire.QueryUserOnlineStatusesRequest{UserIds: []int64{id}}).GetData().GetUserOnlineStatuses().GetStatuses()
		return len(statuses) == 1 && statuses[0].GetUserStatus() == wire.UserStatus_BUSY && len(statuses[0].GetDeviceTypes()) == 2
	})
	a.Request(&wire.UpdateUserOnlineStatusRequest{UserStatus: wire.UserStatus_AWAY})
	status := func() (list []struct {
		UserStatus              string
		DeviceTypeToSessionInfo map[string]any
	},
	) {
		s.data(fmt.Sprintf("/users/online-infos/statuses?ids=%d", id), &list)
		return list
	}
	s.eventually("the administrator sees the status", func() bool { list := status(); return len(list) == 1 && list[0].UserStatus == "AWAY" })
	s.ask(http.MethodPut, fmt.Sprintf("%s/users/online-infos/statuses?ids=%d&deviceTypes=ANDROID", s.Service, id), `{"onlineStatus":"OFFLINE"}`)
	closed(wire.ClosedByAdmin, b)
	s.eventually("one session is left", func() bool { list := status(); return len(list) == 1 && len(list[0].DeviceTypeToSessionInfo) == 1 })
	s.ask(http.MethodPut, fmt.Sprintf("%s/users/online-infos/statuses?ids=%d", s.Service, id), `{"onlineStatus":"OFFLINE"}`)
	closed(wire.ClosedByAdmin, a)
	s.eventually("the user is offline", func() bool { list := status(); return len(list) == 1 && list[0].UserStatus == "OFFLINE" })
}

func positions(s *stage) {
	here, near, far := s.user(), s.user(), s.user()
	a, b, c := s.login(s.first(), here, desktop), s.login(s.last(), near, desktop), s.login(s.last(), far, desktop)
	b.Request(&wire.UpdateUserLocationRequest{Latitude: 52.501, Longitude: 13.4})
	c.Request(&wire.UpdateUserLocationRequest{Latitude: 40, Longitude: 13.4})
	// Other nodes receive positions a little later.
	s.eventually("the neighbour is found", func() bool {
		n := a.Response(&wire.QueryNearbyUsersRequest{Latitude: 52.5, Longitude: 13.4, WithDistance: proto.Bool(true)})
		found := n.GetData().GetNearbyUsers().GetNearbyUsers()
		if n.GetCode() != int32(apierr.OK) && n.GetCode() != int32(apierr.NoContent) || len(found) > 1 {
			s.Fatalf("users nearby: %v", n)
		}
		return len(found) == 1 && found[0].GetUserId() == near && found[0].GetDistance() == 111
	})
	var nearby []struct {
		UserID    int64
		Longitude float32
		Info      struct{ ID int64 }
	}
	s.eventually("the administrator finds the neighbour", func() bool {
		s.data(fmt.Sprintf("/users/online-infos/nearby-users?userId=%d&deviceType=DESKTOP&withCoordinates=true&withUserInfo=true", here), &nearby)
		return len(nearby) == 1
	})
	if n := nearby[0]; n.UserID != near || n.Longitude != 13.4 || n.Info.ID != near {
		s.Errorf("the administrator finds %+v", n)
	}
	var located []struct {
		UserID              int64
		Latitude, Longitude float32
	}
	s.eventually("the administrator sees both positions", func() bool {
		s.data(fmt.Sprintf("/users/online-infos/locations?ids=%d,%d&deviceType=DESKTOP", here, far), &located)
		return len(located) == 2
	})
	if located[0].Latitude != 52.5 || located[1].Latitude != 40 {
		s.Errorf("the administrator sees %+v", located)
	}
	b.Close()
	s.eventually("who has gone is not near", func() bool {
		return a.Response(&wire.QueryNearbyUsersRequest{Latitude: 52.5, Longitude: 13.4}).GetCode() == int32(apierr.NoContent)
	})
}
