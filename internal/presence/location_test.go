// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"errors"
	"slices"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

func at(longitude, latitude float32, millis int64) Position {
	return Position{Longitude: longitude, Latitude: latitude, Date: time.UnixMilli(millis)}
}

func testPosition(t *testing.T, f *clustertest.Fabric) {
	perDevice := func(o *Options) { o.Locations.PerDevice = true }
	g, s := start(t, f.Options, "g", role.Gateway), start(t, f.Options, "s", role.Service)
	devices := start(t, f.Options, "devices", role.Service, perDevice)
	awaitPeers(t, devices, g, s)
	desktop, phone := session(1, wire.DeviceType_DESKTOP, 1, g), session(1, wire.DeviceType_IOS, 2, g)
	desktop.Position = &Position{Longitude: 13.400, Latitude: 52.5, Date: time.UnixMilli(1)}
	g.open(t, desktop)
	g.open(t, phone)
	for user := range int64(3) {
		g.open(t, session(10+user, wire.DeviceType_ANDROID, 3, g))
	}
	// A service may set the position of a session that it does not know yet.
	for _, set := range []struct {
		user   int64
		device wire.DeviceType
		Position
	}{
		{10, wire.DeviceType_ANDROID, at(13.401, 52.5, 1)},
		{11, wire.DeviceType_ANDROID, at(13.402, 52.5, 1)},
		{12, wire.DeviceType_ANDROID, at(0, 0, 1)},
		{12, wire.DeviceType_ANDROID, at(14.5, 52.5, 2)},
		{1, wire.DeviceType_IOS, at(13.403, 52.5, 2)},
	} {
		if online, err := s.SetPosition(t.Context(), set.user, set.device, set.Position); !online || err != nil {
			t.Fatal(online, err)
		}
	}
	if online, err := s.SetPosition(t.Context(), 1, wire.DeviceType_BROWSER, at(1, 1, 1)); online || err != nil {
		t.Errorf("a session that is not there: %v, %v", online, err)
	}
	if _, err := s.SetPosition(t.Context(), 1, wire.DeviceType_IOS, at(1, 86, 1)); apierr.From(err).Code != apierr.IllegalArgument {
		t.Errorf("a position off the map: %v", err)
	}
	nearby := func(p *peer, of SessionKey, center Position, count int, meters float64) (found []int64) {
		t.Helper()
		neighbours, err := p.Finder().Nearby(t.Context(), of, center, count, meters)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range neighbours {
			found = append(found, n.UserID)
		}
		return found
	}
	position := func(p *peer, userID int64, device wire.DeviceType) (Position, bool) {
		t.Helper()
		positions, err := p.Finder().Positions(t.Context(), []int64{userID}, device)
		if err != nil {
			t.Fatal(err)
		}
		found, ok := positions[userID]
		return found, ok
	}
	key := SessionKey{UserID: 10, Device: wire.DeviceType_ANDROID}
	for _, test := range []struct {
		name   string
		peer   *peer
		count  int
		meters float64
		want   []int64
	}{
		// The user's position is that of the phone, which is the latest.
		{"by user", s, 10, 1000, []int64{11, 1}},
		{"by user at the gateway", g, 10, 1000, []int64{11, 1}},
		{"the nearest only", s, 1, 1000, []int64{11}},
		{"not far", s, 10, 100, []int64{11}},
		{"far", s, 10, 1e6, []int64{11, 1, 12}},
		{"by device", devices, 10, 1000, []int64{1, 11, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.peer.await(t, "the neighbours", func() bool {
				center, ok := position(test.peer, 10, wire.DeviceType_ANDROID)
				return ok && slices.Equal(nearby(test.peer, key, center, test.count, test.meters), test.want)
			})
		})
	}
	neighbours, err := devices.Finder().Nearby(t.Context(), SessionKey{UserID: 1, Device: wire.DeviceType_IOS}, at(13.4, 52.5, 0), 1, 10)
	if err != nil || len(neighbours) != 1 || neighbours[0] != (Neighbour{1, wire.DeviceType_DESKTOP, 13.4, 52.5, 0}) {
		t.Errorf("another device of the same user: %+v, %v", neighbours, err)
	}
	if p, ok := position(devices, 1, wire.DeviceType_DESKTOP); !ok || p.Longitude != 13.4 {
		t.Errorf("position of the device is %+v", p)
	}
	if p, ok := position(s, 1, wire.DeviceType_DESKTOP); !ok || p.Longitude != 13.403 {
		t.Errorf("position of the user is %+v", p)
	}
	if _, ok := position(s, 99, wire.DeviceType_DESKTOP); ok {
		t.Error("somebody who is offline is somewhere")
	}
	// A session that has ended has no position.
	g.Close(t.Context(), 11, wire.DeviceType_ANDROID, 3)
	g.Close(t.Context(), 1, wire.DeviceType_IOS, 2)
	s.await(t, "the other position", func() bool {
		return slices.Equal(nearby(s, key, at(13.401, 52.5, 0), 10, 1000), []int64{1}) && s.positions.Len() == 3
	})
	devices.await(t, "fewer positions", func() bool { return devices.positions.Len() == 3 })
	g.Stop()
	if err := g.node.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*peer{s, devices} {
		p.await(t, "nobody", func() bool { return nearby(p, key, at(13.401, 52.5, 0), 10, 1e7) == nil && p.positions.Len() == 0 })
	}
}

func TestPositionsOff(t *testing.T) {
	g := start(t, clustertest.Embedded(t).Options, "g", role.Gateway, func(o *Options) { o.Locations = Locations{} })
	s := session(1, wire.DeviceType_DESKTOP, 1, g)
	s.Position = &Position{Longitude: 1}
	g.open(t, s)
	if e, _ := g.Lookup(1); e.Sessions[0].Position != nil {
		t.Error("the position was kept")
	}
	_, setErr := g.SetPosition(t.Context(), 1, wire.DeviceType_DESKTOP, at(1, 1, 1))
	_, getErr := g.Finder().Positions(t.Context(), []int64{1}, wire.DeviceType_DESKTOP)
	_, nearbyErr := g.Finder().Nearby(t.Context(), SessionKey{}, at(1, 1, 1), 10, 10)
	for _, err := range []error{setErr, getErr, nearbyErr} {
		if e, ok := errors.AsType[*apierr.Error](err); !ok || e.Code != apierr.UserLocationRelatedFeaturesAreDisabled {
			t.Errorf("error is %v", err)
		}
	}
}
