// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/link"
	"example.org/app/internal/presence"
	"example.org/app/internal/wire"
)

// directory returns the directory of a node.
func (w *world) directory(node string) *presence.Directory {
	w.T.Helper()
	if d := w.directories[node]; d != nil {
		return d
	}
	ctx, cancel := context.WithTimeout(context.Background(), clustertest.Timeout)
	defer cancel()
	d, err := presence.Start(ctx, w.nodes[node], presence.Options{Locations: w.locations})
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(d.Stop)
	w.directories[node] = d
	return d
}

// login opens a session and waits until the service knows it.
func (w *world) login(userID int64, device wire.DeviceType, gateway string) session {
	w.T.Helper()
	_, err := w.directory(gateway).Open(w.T.Context(), presence.Session{UserID: userID, Device: device, ID: 5, LoginDate: w.Now}, wire.UserStatus_AVAILABLE, nil)
	if err != nil {
		w.T.Fatal(err)
	}
	w.eventually(func() bool {
		entry, _ := w.directory("service").Lookup(userID)
		_, known := entry.Session(device)
		return known
	})
	return w.online(userID, device, gateway)
}

// eventually waits until the condition holds.
func (w *world) eventually(condition func() bool) {
	w.T.Helper()
	for start := time.Now(); !condition(); runtime.Gosched() {
		if time.Since(start) > clustertest.Timeout {
			w.T.Fatal("the awaited condition did not come true")
		}
	}
}

// disconnections returns a function that returns what the gateways were asked to close.
func (w *world) disconnections() func() []link.Disconnection {
	w.T.Helper()
	var list []link.Disconnection
	for _, id := range []string{"gateway1", "gateway2"} {
		err := cluster.Handle(w.nodes[id], link.Disconnect, func(_ context.Context, d *link.Disconnection) (*link.Disconnected, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			list = append(list, *d)
			return &link.Disconnected{Sessions: 1}, nil
		})
		if err != nil {
			w.T.Fatal(err)
		}
	}
	return func() []link.Disconnection {
		w.mu.Lock()
		defer w.mu.Unlock()
		taken := list
		list = nil
		return taken
	}
}

func TestOnlineStatuses(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2, 3)
	w.login(1, desktop, "gateway1")
	w.login(2, android, "gateway1")
	w.login(2, desktop, "gateway2")
	want := func(userID int64, want ...*wire.UserOnlineStatus) {
		t.Helper()
		got := w.want(apierr.OK, userID, &wire.QueryUserOnlineStatusesRequest{UserIds: []int64{2, 3, 1}}).Data.GetUserOnlineStatuses()
		if all := (&wire.UserOnlineStatuses{Statuses: want}); !proto.Equal(got, all) {
			t.Errorf("user %d is told %v, want %v", userID, got, all)
		}
	}
	one := &wire.UserOnlineStatus{UserId: 1, DeviceTypes: []wire.DeviceType{desktop}}
	two := &wire.UserOnlineStatus{UserId: 2, DeviceTypes: []wire.DeviceType{desktop, android}}
	three := &wire.UserOnlineStatus{UserId: 3, UserStatus: wire.UserStatus_OFFLINE}
	want(1, two, three, one)
	w.want(apierr.NoContent, 1, &wire.QueryUserOnlineStatusesRequest{})

	w.want(apierr.OK, 2, &wire.UpdateUserOnlineStatusRequest{UserStatus: wire.UserStatus_INVISIBLE})
	two.UserStatus = wire.UserStatus_INVISIBLE
	want(1, two, three, one)
	w.Rules.User.RespondOfflineIfInvisible = true
	want(1, &wire.UserOnlineStatus{UserId: 2, UserStatus: wire.UserStatus_OFFLINE}, three, one)
	want(2, two, three, one)
}

func TestUpdateOnlineStatus(t *testing.T) {
	c := &circle{world: newWorld(t)}
	c.People(1, 2, 3, 4)
	closed := c.disconnections()
	c.login(1, desktop, "gateway1")
	c.phone = c.login(1, android, "gateway2")
	c.second, c.third = c.online(2, desktop, "gateway1"), c.online(3, desktop, "gateway2")
	fourth := c.online(4, desktop, "gateway2")
	c.Relate(1, 2, false)
	c.Relate(1, 3, true)
	c.Group(1, 2, 3)
	c.Group(3, 1, 4)
	next := func() *wire.UpdateUserOnlineStatusRequest {
		entry, _ := c.directory("service").Lookup(1)
		status := wire.UserStatus_BUSY
		if entry.Status == status {
			status = wire.UserStatus_AWAY
		}
		return &wire.UpdateUserOnlineStatusRequest{UserStatus: status}
	}
	related := &c.Rules.Notification.UserOnlineStatusUpdated
	members := &c.Rules.Notification.GroupMemberOnlineStatusUpdated.NotifyGroupMembers
	// The status is set regardless of the notifications.
	change := func() (proto.Message, proto.Message) { return next(), nil }
	c.switched(&related.NotifyRequesterOtherOnlineSessions, &related.NotifyNonBlockedRelatedUsers, change, c.second)
	c.switched(&related.NotifyRequesterOtherOnlineSessions, members, change, c.second, c.third, fourth)
	*members, related.NotifyNonBlockedRelatedUsers, related.NotifyRequesterOtherOnlineSessions = true, true, true
	last := next()
	c.want(apierr.OK, 1, last)
	c.wantNotified(1, last, c.phone, c.second, c.third, fourth) // Each once.
	if entry, _ := c.directory("service").Lookup(1); entry.Status != last.GetUserStatus() {
		t.Errorf("the status is %v, want %v", entry.Status, last.GetUserStatus())
	}

	// Users who are invisible to others see themselves.
	invisible := &wire.UpdateUserOnlineStatusRequest{UserStatus: wire.UserStatus_INVISIBLE}
	for _, test := range []struct {
		hide bool
		told wire.UserStatus
	}{{false, wire.UserStatus_INVISIBLE}, {true, wire.UserStatus_OFFLINE}} {
		c.Rules.User.RespondOfflineIfInvisible = test.hide
		c.want(apierr.OK, 1, invisible)
		for s, status := range map[session]wire.UserStatus{c.phone: wire.UserStatus_INVISIBLE, c.second: test.told, fourth: test.told} {
			got := c.received(s)
			if len(got) != 1 || got[0].GetRelayedRequest().GetUpdateUserOnlineStatusRequest().GetUserStatus() != status {
				t.Errorf("user %d got %v, want %v", s.user, got, status)
			}
		}
		c.forget()
	}

	c.want(apierr.IllegalArgument, 1, &wire.UpdateUserOnlineStatusRequest{UserStatus: 9})
	c.want(apierr.IllegalArgument, 1, &wire.UpdateUserOnlineStatusRequest{DeviceTypes: []wire.DeviceType{9}})
	c.want(apierr.OK, 2, invisible) // User 2 has no session: nothing is set and nobody notified.
	c.wantNotified(2, nil)
	if got := closed(); len(got) != 0 {
		t.Errorf("closed %v", got)
	}

	// OFFLINE closes sessions, including the one that sent the request.
	offline := &wire.UpdateUserOnlineStatusRequest{UserStatus: wire.UserStatus_OFFLINE, DeviceTypes: []wire.DeviceType{android}}
	for range 2 {
		c.want(apierr.OK, 1, offline)
		got := closed()
		if len(got) != 2 {
			t.Fatalf("closed %v", got)
		}
		for _, d := range got {
			if !slices.Equal(d.UserIDs, []int64{1}) || !slices.Equal(d.Devices, offline.GetDeviceTypes()) || d.Status != wire.ClosedByOtherDevice {
				t.Errorf("closed %+v", d)
			}
		}
		c.wantNotified(1, offline, c.phone, c.second, c.third, fourth)
		offline = &wire.UpdateUserOnlineStatusRequest{UserStatus: wire.UserStatus_OFFLINE}
	}
}

func TestNearbyUsers(t *testing.T) {
	for _, perDevice := range []bool{false, true} {
		w := newWorldWith(t, presence.Locations{Enabled: true, PerDevice: perDevice})
		w.nearby = presence.NearbyLimits{DefaultCount: 2, MaxCount: 3, DefaultMeters: 1000, MaxMeters: 2000}
		w.People(1, 2, 3)
		w.login(1, desktop, "gateway1")
		for i, at := range []float32{50.001, 50.002, 50.005, 50.015} {
			id := int64(i + 2) // Users 4 and 5 have no account.
			w.login(id, desktop, "gateway2")
			w.want(apierr.OK, id, &wire.UpdateUserLocationRequest{Latitude: at, Longitude: 10, Details: map[string]string{"place": "ignored"}})
		}
		here := &wire.QueryNearbyUsersRequest{Latitude: 50, Longitude: 10}
		near := func(change func(*wire.QueryNearbyUsersRequest)) []*wire.NearbyUser {
			t.Helper()
			request := proto.CloneOf(here)
			change(request)
			// Positions reach other nodes with a delay.
			w.eventually(func() bool {
				found, err := w.directory("service").Finder().Nearby(t.Context(), presence.SessionKey{UserID: 1}, presence.Position{Longitude: 10, Latitude: 50}, 10, 5000)
				return err == nil && len(found) == 4
			})
			return w.want(apierr.OK, 1, request).Data.GetNearbyUsers().GetNearbyUsers()
		}
		ids := func(list []*wire.NearbyUser) (ids []int64) {
			for _, n := range list {
				ids = append(ids, n.GetUserId())
			}
			return ids
		}
		plain := near(func(*wire.QueryNearbyUsersRequest) {})
		first := &wire.NearbyUser{UserId: 2}
		if perDevice {
			first.DeviceType = desktop.Enum()
		}
		if !slices.Equal(ids(plain), []int64{2, 3}) || !proto.Equal(plain[0], first) {
			t.Errorf("found %v, want %v first", plain, first)
		}
		all := near(func(r *wire.QueryNearbyUsersRequest) {
			r.MaxCount, r.WithCoordinates, r.WithDistance, r.WithUserInfo = proto.Int32(3), proto.Bool(true), proto.Bool(true), proto.Bool(true)
		})
		if !slices.Equal(ids(all), []int64{2, 3}) { // Users without profile are omitted.
			t.Fatalf("found %v", all)
		}
		if n := all[0]; n.GetDistance() != 111 || n.GetLocation().GetLongitude() != 10 || n.GetLocation().GetLatitude() != 50.001 || n.GetInfo().GetId() != 2 {
			t.Errorf("found %v", n)
		}
		if far := near(func(r *wire.QueryNearbyUsersRequest) { r.MaxCount, r.MaxDistance = proto.Int32(3), proto.Int32(2000) }); !slices.Equal(ids(far), []int64{2, 3, 4}) {
			t.Errorf("found %v", far)
		}
		// The requester's position is that of the request.
		if p, err := w.directory("service").Finder().Positions(t.Context(), []int64{1}, desktop); err != nil || p[1].Latitude != 50 || p[1].Longitude != 10 {
			t.Errorf("the requester is at %v: %v", p, err)
		}
		w.want(apierr.NoContent, 1, &wire.QueryNearbyUsersRequest{Latitude: -50, Longitude: 10})
		for name, request := range map[string]proto.Message{
			"none":      &wire.QueryNearbyUsersRequest{MaxCount: proto.Int32(0)},
			"many":      &wire.QueryNearbyUsersRequest{MaxCount: proto.Int32(4)},
			"no radius": &wire.QueryNearbyUsersRequest{MaxDistance: proto.Int32(0)},
			"far":       &wire.QueryNearbyUsersRequest{MaxDistance: proto.Int32(2001)},
			"latitude":  &wire.QueryNearbyUsersRequest{Latitude: 86},
			"longitude": &wire.UpdateUserLocationRequest{Longitude: -181},
			"pole":      &wire.UpdateUserLocationRequest{Latitude: -85.06},
		} {
			t.Run(name, func(t *testing.T) { w.want(apierr.IllegalArgument, 1, request) })
		}
	}
	w := newWorldWith(t, presence.Locations{})
	w.want(apierr.UserLocationRelatedFeaturesAreDisabled, 1, &wire.QueryNearbyUsersRequest{MaxCount: proto.Int32(-1)})
	w.want(apierr.UserLocationRelatedFeaturesAreDisabled, 1, &wire.UpdateUserLocationRequest{})
}
