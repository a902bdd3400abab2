// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/config"
	"example.org/app/internal/gateway/login"
	"example.org/app/internal/wire"
	"example.org/app/test/client"
)

// TestLoginChecks makes logins with one error, or with several to test their precedence.
func TestLoginChecks(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g", func(c *config.Config) {
		c.Gateway.SimultaneousLogin.Strategy = "ALLOW_ONE_DEVICE_OF_DESKTOP_AND_ONE_DEVICE_OF_MOBILE_ONLINE"
		c.Gateway.SimultaneousLogin.AllowDeviceTypeOthersLogin = false
	})
	m.options.Authenticator = refusing{m.options.Authenticator}
	for name, test := range map[string]struct {
		code int32
		set  func(*wire.CreateSessionRequest)
	}{
		"everything is right":  {1000, func(*wire.CreateSessionRequest) {}},
		"version":              {2000, func(r *wire.CreateSessionRequest) { r.Version = 2; r.DeviceType = wire.DeviceType_BROWSER }},
		"version 0":            {2000, func(r *wire.CreateSessionRequest) { r.Version = 0 }},
		"browser":              {2013, func(r *wire.CreateSessionRequest) { r.DeviceType = wire.DeviceType_BROWSER; r.UserId = 0 }},
		"others":               {2013, func(r *wire.CreateSessionRequest) { r.DeviceType = wire.DeviceType_OTHERS }},
		"device of the future": {1000, func(r *wire.CreateSessionRequest) { r.DeviceType = 77 }},
		"user 0":               {2011, func(r *wire.CreateSessionRequest) { r.UserId = 0 }},
		"password": {2011, func(r *wire.CreateSessionRequest) {
			r.Password, r.UserStatus = proto.String("wrong"), wire.UserStatus_OFFLINE.Enum()
		}},
		"offline":              {1102, func(r *wire.CreateSessionRequest) { r.UserStatus = wire.UserStatus_OFFLINE.Enum() }},
		"status of the future": {1000, func(r *wire.CreateSessionRequest) { r.UserStatus = wire.UserStatus(99).Enum() }},
		"longitude":            {1102, func(r *wire.CreateSessionRequest) { r.Location = &wire.UserLocation{Longitude: 180.1} }},
		"latitude":             {1102, func(r *wire.CreateSessionRequest) { r.Location = &wire.UserLocation{Latitude: -85.1} }},
		"no number":            {1102, func(r *wire.CreateSessionRequest) { r.Location = &wire.UserLocation{Latitude: float32(math.NaN())} }},
		"a place": {1000, func(r *wire.CreateSessionRequest) {
			r.Location = &wire.UserLocation{Longitude: -180, Latitude: 85.05, Timestamp: proto.Int64(5), Details: map[string]string{"a": "b"}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := client.Connect(t, m.tcp)
			c.RefusedLogin(test.code, 5, test.set)
			if test.code != 1000 {
				c.MustLogin(5) // A refused login does not end the connection.
			}
			c.Close()
			eventually(t, "the session is gone", func() bool { return len(m.sessions.of(5)) == 0 })
		})
	}
}

// refusing refuses a password.
type refusing struct{ Authenticator }

func (r refusing) Authenticate(ctx context.Context, q *login.Request) (*login.Permissions, error) {
	if q.Password != nil && *q.Password == "wrong" {
		return nil, apierr.New(apierr.LoginAuthenticationFailed, "")
	}
	return r.Authenticator.Authenticate(ctx, q)
}

func TestLoginOfBlocked(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	c := client.LogIn(t, m.ws, 1)
	other := client.LogIn(t, m.ws, 2)
	if err := m.options.BlockedUsers.Block(t.Context(), []int64{1}, 1e6); err != nil {
		t.Fatal(err)
	}
	c.Closed(wire.ClosedUserBlocked)
	again := client.Connect(t, m.tcp)
	again.Must(again.SendPayload(client.Payload(1, &wire.CreateSessionRequest{Version: 1, UserId: 1})))
	again.Dropped()
	other.Beat()

	if err := m.options.BlockedIPs.Block(t.Context(), []netip.Addr{loopback}, 1e6); err != nil {
		t.Fatal(err)
	}
	other.Closed(wire.ClosedUserBlocked)
	late, err := client.Dial(t.Context(), m.tcp, client.Options{})
	if err == nil {
		<-late.Done()
		late.Close()
	}
	if late, err := client.Dial(t.Context(), m.ws, client.Options{}); err == nil {
		late.Close()
		t.Error("a blocked address opened a WebSocket")
	}
}

func TestConflicts(t *testing.T) {
	const all = "ALLOW_ONE_DEVICE_FOR_ALL_DEVICE_TYPES_ONLINE"
	const mobile = "ALLOW_ONE_DEVICE_OF_DESKTOP_AND_ONE_DEVICE_OF_BROWSER_AND_ONE_DEVICE_OF_MOBILE_ONLINE"
	desktop, browser, ios, android := wire.DeviceType_DESKTOP, wire.DeviceType_BROWSER, wire.DeviceType_IOS, wire.DeviceType_ANDROID
	w := newWorld(t)
	gateways := []*member{w.gateway("a"), w.gateway("b")}
	user := int64(100)
	for _, test := range []struct {
		name     string
		strategy config.LoginStrategy
		keep     bool
		old      []wire.DeviceType
		login    wire.DeviceType
		code     int32
		kicked   []wire.DeviceType
	}{
		{"same", "ALLOW_ONE_DEVICE_OF_EACH_DEVICE_TYPE_ONLINE", false, []wire.DeviceType{desktop, browser}, desktop, 1000, []wire.DeviceType{desktop}},
		{"same, refused", "ALLOW_ONE_DEVICE_OF_EACH_DEVICE_TYPE_ONLINE", true, []wire.DeviceType{desktop}, desktop, 2100, nil},
		{"other, no conflict", "ALLOW_ONE_DEVICE_OF_EACH_DEVICE_TYPE_ONLINE", true, []wire.DeviceType{desktop, ios}, android, 1000, nil},
		{"all", all, false, []wire.DeviceType{desktop}, browser, 1000, []wire.DeviceType{desktop}},
		{"all, refused", all, true, []wire.DeviceType{desktop}, browser, 2100, nil},
		{"mobile", mobile, false, []wire.DeviceType{desktop, ios, browser}, android, 1000, []wire.DeviceType{ios}},
		{"mobile, refused", mobile, true, []wire.DeviceType{desktop, ios}, android, 2100, nil},
	} {
		for _, where := range [][2]int{{0, 0}, {0, 1}} {
			t.Run(test.name+" "+strconv.Itoa(where[1]), func(t *testing.T) {
				user++
				for _, g := range gateways {
					if err := g.live.Update(func(c *config.Config) error {
						c.Gateway.SimultaneousLogin.Strategy = test.strategy
						c.Gateway.SimultaneousLogin.LoginConflictStrategy = config.DisconnectLoggedInDevices
						if test.keep {
							c.Gateway.SimultaneousLogin.LoginConflictStrategy = config.DisconnectLoggingInDevice
						}
						return nil
					}); err != nil {
						t.Fatal(err)
					}
				}
				clients := map[wire.DeviceType]*client.Tester{}
				for _, device := range test.old {
					clients[device] = client.LogIn(t, gateways[where[0]].ws, user, client.With(device))
				}
				// The deciding gateway must know both sessions.
				eventually(t, "both know", func() bool {
					e, _ := gateways[where[1]].directory.Lookup(user)
					return len(e.Sessions) == len(test.old)
				})
				c := client.Connect(t, gateways[where[1]].tcp)
				c.RefusedLogin(test.code, user, client.With(test.login))
				for device, old := range clients {
					if slices.Contains(test.kicked, device) {
						old.Closed(wire.ClosedByOtherDevice)
					} else {
						old.Beat()
					}
				}
				if test.code == 1000 {
					c.Beat()
				} else if code := c.BeatCode(); code != 2104 {
					t.Errorf("a refused client got %d for its heartbeat", code)
				}
				want := len(test.old) - len(test.kicked)
				if test.code == 1000 {
					want++
				}
				for _, g := range gateways {
					eventually(t, "the cluster knows", func() bool {
						e, _ := g.directory.Lookup(user)
						return len(e.Sessions) == want
					})
				}
			})
		}
	}
}

// TestLoginTogether logs one user in at many gateways concurrently: one session remains, and all
// nodes agree on it.
func TestLoginTogether(t *testing.T) {
	w := newWorld(t)
	gateways := []*member{w.gateway("a"), w.gateway("b")}
	const user = 5
	var clients []*client.Tester
	for i := range 12 {
		clients = append(clients, client.Connect(t, []string{gateways[0].ws, gateways[1].tcp}[i%2]))
	}
	var group sync.WaitGroup
	codes := make([]error, len(clients))
	for i, c := range clients {
		group.Go(func() { codes[i] = c.Login(t.Context(), &wire.CreateSessionRequest{Version: 1, UserId: user}) })
	}
	group.Wait()
	count := func() (open int) {
		for _, g := range gateways {
			open += len(g.sessions.of(user))
		}
		return open
	}
	eventually(t, "one session is left", func() bool { return count() == 1 })
	for _, g := range gateways {
		eventually(t, "both know it", func() bool {
			e, _ := g.directory.Lookup(user)
			s, ok := e.Session(wire.DeviceType_DESKTOP)
			if !ok {
				return false
			}
			for _, holder := range gateways {
				if holder.options.Node.ID() == s.NodeID {
					found := holder.sessions.find(user, wire.DeviceType_DESKTOP)
					return found != nil && found.ID == s.ID
				}
			}
			return false
		})
	}
	alive := 0
	for _, c := range clients {
		if c.Heartbeat(t.Context()) == nil {
			alive++
		}
	}
	if alive != 1 || count() != 1 {
		t.Errorf("%d clients are logged in, %d sessions are open; the logins ended with %v", alive, count(), codes)
	}
}

// TestLoginWithoutNATS logs in while the session cannot be registered: that must not be reported as
// a conflict.
func TestLoginWithoutNATS(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	client.LogIn(t, m.ws, 1)
	c := client.Connect(t, m.ws)
	w.fabric.Stop(t)
	c.RefusedLogin(1201, 2)
}

func TestUnavailable(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	inside := client.LogIn(t, m.ws, 1)
	no := false
	if err := w.service.Cluster().UpdateMember(t.Context(), "g", cluster.MemberChange{Active: &no}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the node is inactive", func() bool { return !m.options.Node.Accepting() })
	c := client.Connect(t, m.ws)
	if n := c.WantCode(&wire.CreateSessionRequest{Version: 1, UserId: 2}, 1201); n.Reason != nil {
		t.Errorf("the reason is told: %q", n.GetReason())
	}
	if code := c.BeatCode(); code != 1201 {
		t.Errorf("a heartbeat was answered with %d", code)
	}
	inside.Request(say("who is inside stays"))
	yes := true
	if err := w.service.Cluster().UpdateMember(t.Context(), "g", cluster.MemberChange{Active: &yes}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the node is active", m.options.Node.Accepting)
	c.MustLogin(2)
}
