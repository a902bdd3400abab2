// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/api"
	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/presence"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
)

var heartbeatPattern = regexp.MustCompile(`"heartbeatTimestampSeconds":\d{10}\b`)

// ask sends a GET and compares the answer; want is the data, a part of the body
// after "~", or "" for 204.
func (h *harness) ask(t *testing.T, target, want string) {
	t.Helper()
	r := h.call("app", "GET", "/users/online-infos"+target, "")
	got := heartbeatPattern.ReplaceAllString(plain(r.body), `"heartbeatTimestampSeconds":SECONDS`)
	part, isPart := strings.CutPrefix(want, "~")
	switch {
	case want == "" && (r.status != 204 || got != ""), isPart && !strings.Contains(got, part), !isPart && want != "" && got != ok(want):
		t.Errorf("%s: %d %s\nwant %s", target, r.status, got, want)
	}
}

func TestUserOnlineInfos(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		for id := range 4 {
			h.must("app", "POST", "/users", fmt.Sprintf(`{"id":%d,"name":"user %d","password":"x"}`, id+1, id+1))
		}
		h.must("app", "DELETE", "/users?ids=4", "")
		h.ask(t, "/count", `{"total":0}`)
		h.ask(t, "/count?countByNodes=true", `{"total":0,"nodeIdToUserCount":{"gate":0,"other":0}}`)
		details := map[string]string{"token": "x"}
		h.gate.login(t, h.presence, wire.UserStatus_BUSY, presence.Session{
			UserID: 1, Device: wire.DeviceType_DESKTOP, ID: 11, Version: 1, IP: netip.MustParseAddr("10.0.0.1"), Details: details,
			LoginLocation: &presence.Location{
				Position: presence.Position{Longitude: 13.4, Latitude: -52.5, Date: time.UnixMilli(0)}, Details: details,
			},
		}, presence.Session{UserID: 9, Device: wire.DeviceType_UNKNOWN, ID: 13})
		h.other.login(t, h.presence, wire.UserStatus_INVISIBLE, presence.Session{UserID: 1, Device: wire.DeviceType_BROWSER, ID: 12})
		h.ask(t, "/count", `{"total":2}`)
		h.ask(t, "/count?countByNodes=true", `{"total":2,"nodeIdToUserCount":{"gate":2,"other":1}}`)

		one := `{"userId":1,"status":"INVISIBLE","sessions":[` +
			`{"id":11,"version":1,"deviceType":"DESKTOP","deviceDetails":{"token":"x"},"loginDate":"DATE",` +
			`"loginLocation":{"longitude":13.4,"latitude":-52.5,"timestamp":"DATE","details":{"token":"x"}},` +
			`"lastHeartbeatRequestDate":"DATE","lastRequestDate":"DATE","isSessionOpen":true,"ip":"10.0.0.1"},` +
			`{"id":12,"version":0,"deviceType":"BROWSER","deviceDetails":{},"loginDate":"DATE",` +
			`"lastHeartbeatRequestDate":"DATE","lastRequestDate":"DATE","isSessionOpen":true,"ip":""}]}`
		nine := `{"userId":9,"status":"BUSY","sessions":[{"id":13,"version":0,"deviceType":"UNKNOWN","deviceDetails":{},"loginDate":"DATE",` +
			`"lastHeartbeatRequestDate":"DATE","lastRequestDate":"DATE","isSessionOpen":true,"ip":""}]}`
		offline := func(id int) string { return fmt.Sprintf(`{"userId":%d,"status":"OFFLINE","sessions":[]}`, id) }
		h.ask(t, "/sessions", `~"code":1102`)
		h.ask(t, "/sessions?ids=", `~"code":1102`)
		h.ask(t, "/sessions?ids=8,4", `[]`)
		// Who is online is returned in any case; of the others those who exist.
		h.ask(t, "/sessions?ids=2,4,1,8,9", "["+offline(2)+","+one+","+nine+"]")
		h.ask(t, "/sessions?ids=8,4,2&returnNonExistingUsers=true", "["+offline(8)+","+offline(4)+","+offline(2)+"]")
		body := h.must("app", "GET", "/users/online-infos/sessions?ids=1", "").body
		for _, date := range []string{
			`"lastHeartbeatRequestDate":"2024-03-28T12:01:00.000+00:00","lastRequestDate":"2024-03-28T13:00:00.000+00:00"`,
			// When the gateway does not know, it is the login.
			`"lastHeartbeatRequestDate":"2024-03-28T12:00:00.000+00:00","lastRequestDate":"2024-03-28T12:00:00.000+00:00"`,
		} {
			if !strings.Contains(body, date) {
				t.Errorf("body %s\nlacks %s", body, date)
			}
		}

		info := func(node string) string {
			return fmt.Sprintf(`{"nodeId":%q,"heartbeatTimestampSeconds":SECONDS,"active":true}`, node)
		}
		h.ask(t, "/statuses", `~"code":1102`)
		h.ask(t, "/statuses?ids=8,4", "")
		h.ask(t, "/statuses?ids=1,8,2", `[{"userId":1,"userStatus":"INVISIBLE","deviceTypeToSessionInfo":{"BROWSER":`+info("other")+`,"DESKTOP":`+info("gate")+
			`},"offline":false},{"userId":2,"userStatus":"OFFLINE","deviceTypeToSessionInfo":{},"offline":true}]`)
		h.ask(t, "/statuses?ids=8&returnNonExistingUsers=true", `[{"userId":8,"userStatus":"OFFLINE","deviceTypeToSessionInfo":{},"offline":true}]`)
	})
}

func TestUserOnlineInfoUpdate(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		login := func() {
			h.gate.login(t, h.presence, wire.UserStatus_AVAILABLE,
				presence.Session{UserID: 1, Device: wire.DeviceType_DESKTOP, ID: 1}, presence.Session{UserID: 2, Device: wire.DeviceType_IOS, ID: 2})
			h.other.login(t, h.presence, wire.UserStatus_AVAILABLE, presence.Session{UserID: 1, Device: wire.DeviceType_IOS, ID: 3})
		}
		login()
		h.role(1, 1, "USER_ONLINE_INFO_QUERY")
		h.account("readers", 1)
		status := func(id int64, want wire.UserStatus) func(*harness) {
			return func(h *harness) {
				h.t.Helper()
				for _, d := range []*presence.Directory{h.presence, h.gate.presence, h.other.presence} {
					clustertest.Await(h.t, d.Node().Cluster(), "status "+want.String(), func() bool { e, _ := d.Lookup(id); return e.Status == want })
				}
			}
		}
		closed := func(gate, other []string, offline ...int64) func(*harness) {
			return func(h *harness) {
				h.t.Helper()
				h.gate.wantClosed(h.t, gate...)
				h.other.wantClosed(h.t, other...)
				awaitOffline(h.t, h.presence, offline...)
			}
		}
		const path = "/users/online-infos/statuses"
		done := `{"code":1000,"reason":"ok","timestamp":"DATE"}`
		body := func(status string) string { return fmt.Sprintf(`{"onlineStatus":%q}`, status) }
		h.play([]scenario{
			{"without permission", "readers", "PUT", path + "?ids=1", body("BUSY"), 401, "~USER_ONLINE_INFO_UPDATE", false, nil},
			{"without ids", "app", "PUT", path, body("BUSY"), 400, `~"code":1102`, false, nil},
			{"without status", "app", "PUT", path + "?ids=1", `{}`, 400, `~"code":1102`, false, nil},
			{"unknown status", "app", "PUT", path + "?ids=1", body("UNRECOGNIZED"), 400, `~"code":1102`, false, nil},
			{"unknown device type", "app", "PUT", path + "?ids=1&deviceTypes=TOASTER", body("OFFLINE"), 400, `~"code":1102`, false, closed(nil, nil)},
			{"nobody online", "app", "PUT", path + "?ids=8,9", body("AWAY"), 200, done, false, status(8, wire.UserStatus_OFFLINE)},
			{"status", "app", "PUT", path + "?ids=1,8,2", body("AWAY"), 200, done, false, status(2, wire.UserStatus_AWAY)},
			{"status of whatever device", "app", "PUT", path + "?ids=1&deviceTypes=ANDROID", body("INVISIBLE"), 200, done, false, status(1, wire.UserStatus_INVISIBLE)},
			{"nobody to close", "app", "PUT", path + "?ids=8", body("OFFLINE"), 200, done, false, closed(nil, nil)},
			{"close a device type", "app", "PUT", path + "?ids=1,2&deviceTypes=IOS,OTHERS", body("OFFLINE"), 200, done, false, closed([]string{"2/IOS/600"}, []string{"1/IOS/600"}, 2)},
			{"close all", "app", "PUT", path + "?ids=1,2", body("OFFLINE"), 200, done, false, closed([]string{"1/DESKTOP/600"}, nil, 1, 2)},
		})
	})
}

func TestUsersNearby(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		for id := range 4 {
			h.must("app", "POST", "/users", fmt.Sprintf(`{"id":%d,"name":"user %d","password":"x"}`, id+1, id+1))
		}
		h.must("app", "DELETE", "/users?ids=3", "")
		at := func(longitude float32) *presence.Position {
			return &presence.Position{Longitude: longitude, Latitude: 52.5, Date: loginDate}
		}
		h.gate.login(t, h.presence, wire.UserStatus_AVAILABLE,
			presence.Session{UserID: 1, Device: wire.DeviceType_DESKTOP, ID: 1, Position: at(13.4)},
			presence.Session{UserID: 2, Device: wire.DeviceType_IOS, ID: 2, Position: at(13.41)},
			presence.Session{UserID: 3, Device: wire.DeviceType_IOS, ID: 3, Position: at(13.405)},
			presence.Session{UserID: 5, Device: wire.DeviceType_IOS, ID: 5})
		h.other.login(t, h.presence, wire.UserStatus_AVAILABLE, presence.Session{UserID: 4, Device: wire.DeviceType_IOS, ID: 4, Position: at(13.5)})
		const of = "/nearby-users?userId=1&deviceType=DESKTOP"
		h.ask(t, "/nearby-users?deviceType=DESKTOP", `~"code":1102`)
		h.ask(t, "/nearby-users?userId=1", `~"code":1102`)
		h.ask(t, "/nearby-users?userId=1&deviceType=TOASTER", `~"code":1102`)
		h.ask(t, of+"&maxCount=0", "~0 must be at least 1")
		h.ask(t, of+"&maxCount=101", "~maxCount 101 must be 1 to 100")
		h.ask(t, of+"&maxDistance=0", "~0 must be at least 1")
		h.ask(t, of+"&maxDistance=10001", "~maxDistance 10001 must be 1 to 10000")
		h.ask(t, of, `[{"userId":3},{"userId":2},{"userId":4}]`)
		h.ask(t, of+"&maxCount=1", `[{"userId":3}]`)
		h.ask(t, of+"&maxDistance=500", `[{"userId":3}]`)
		h.ask(t, of+"&maxDistance=1", `[]`)
		h.ask(t, of+"&withDistance=true&withCoordinates=true&maxCount=2",
			`[{"userId":3,"longitude":13.405,"latitude":52.5,"distance":339},{"userId":2,"longitude":13.41,"latitude":52.5,"distance":677}]`)
		// Those without profile are left out.
		h.ask(t, of+"&withUserInfo=true&maxCount=2", `[{"userId":2,"info":{"id":2,"name":"user 2","intro":"","profileAccessStrategy":"ALL","roleId":0,`+
			`"registrationDate":"DATE","isActive":true}}]`)
		h.ask(t, "/nearby-users?userId=5&deviceType=IOS", `[]`)
		h.ask(t, "/nearby-users?userId=9&deviceType=IOS", `[]`)
		h.nearbyLimits.MaxCount, h.nearbyLimits.MaxMeters = 1, 100
		h.ask(t, of, `[]`)
		h.ask(t, of+"&maxCount=2", "~maxCount 2 must be 1 to 1")

		h.ask(t, "/locations?ids=1", `~"code":1102`)
		h.ask(t, "/locations?deviceType=IOS", `~"code":1102`)
		h.ask(t, "/locations?ids=5,9&deviceType=IOS", "")
		// The user has a position, whatever the device.
		h.ask(t, "/locations?ids=4,9,1&deviceType=IOS",
			`[{"userId":4,"deviceType":"IOS","longitude":13.5,"latitude":52.5},{"userId":1,"deviceType":"IOS","longitude":13.4,"latitude":52.5}]`)
	})
}

// TestUsersNearbyByDevice has positions of devices, and TestUsersNearbyOff none.
func TestUsersNearbyByDevice(t *testing.T) {
	h := newHarness(t, storetest.SQLite(t))
	service, gate, _ := startSessions(t, presence.Locations{Enabled: true, PerDevice: true})
	h.service = h.onlineInfos(service)
	position := &presence.Position{Longitude: 13.4, Latitude: 52.5, Date: loginDate}
	gate.login(t, service, wire.UserStatus_AVAILABLE,
		presence.Session{UserID: 1, Device: wire.DeviceType_DESKTOP, ID: 1, Position: position},
		presence.Session{UserID: 1, Device: wire.DeviceType_IOS, ID: 2, Position: position})
	h.ask(t, "/nearby-users?userId=1&deviceType=DESKTOP", `[{"userId":1,"deviceType":"IOS"}]`)
	h.ask(t, "/nearby-users?userId=1&deviceType=ANDROID", `[]`)
	h.ask(t, "/locations?ids=1&deviceType=IOS", `[{"userId":1,"deviceType":"IOS","longitude":13.4,"latitude":52.5}]`)
	h.ask(t, "/locations?ids=1&deviceType=ANDROID", "")
}

func TestUsersNearbyOff(t *testing.T) {
	h := newHarness(t, storetest.SQLite(t))
	service, _, _ := startSessions(t, presence.Locations{})
	h.service = h.onlineInfos(service)
	for _, target := range []string{"/nearby-users?userId=1&deviceType=DESKTOP", "/locations?ids=1&deviceType=IOS"} {
		r := h.call("app", "GET", "/users/online-infos"+target, "")
		if r.status != 510 || !strings.Contains(r.body, fmt.Sprintf(`"code":%d`, apierr.UserLocationRelatedFeaturesAreDisabled)) {
			t.Errorf("%s: %d %s", target, r.status, r.body)
		}
	}
}

// onlineInfos is the interface of a service over another picture.
func (h *harness) onlineInfos(d *presence.Directory) *admin.API {
	return admin.New(admin.Options{
		Title: "test", Version: "1.2.3", Tags: api.Tags, Translate: store.Code,
		Settings: func() *admin.Settings { return h.settings }, Authenticator: api.NewAuthenticator(h.directory, nil),
	}, api.ServiceOperations(api.Service{
		Users: h.Users, Presence: d, NearbyLimits: func() presence.NearbyLimits { return h.nearbyLimits },
	})...)
}
