// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/link"
	"example.org/app/internal/presence"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// sessionHarness is the part of the harness that is about sessions: a service
// and two gateways that share a fabric.
type sessionHarness struct {
	presence     *presence.Directory
	gate, other  *testGateway
	nearbyLimits presence.NearbyLimits
}

// loginDate is when all sessions begin.
var loginDate = time.Date(2024, 3, 28, 12, 0, 0, 0, time.UTC)

func (h *harness) openSessions() {
	h.t.Helper()
	h.nearbyLimits = presence.NearbyLimits{DefaultCount: 20, MaxCount: 100, DefaultMeters: 10000, MaxMeters: 10000}
	h.presence, h.gate, h.other = startSessions(h.t, presence.Locations{Enabled: true})
}

func startSessions(t *testing.T, l presence.Locations) (service *presence.Directory, gate, other *testGateway) {
	t.Helper()
	c := clustertest.Connect(t, cluster.Options{})
	start := func(id string, typ role.Role) *presence.Directory {
		d, err := presence.Start(t.Context(), clustertest.Join(t, c, cluster.NodeOptions{ID: id, Type: typ}), presence.Options{
			Locations: l, VerifyInterval: time.Hour, // The gateways below do not have what they open.
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(d.Stop)
		return d
	}
	gateway := func(id string) *testGateway {
		g := &testGateway{presence: start(id, role.Gateway)}
		g.presence.Attach(g)
		if err := cluster.Handle(g.presence.Node(), link.Disconnect, g.disconnect); err != nil {
			t.Fatal(err)
		}
		return g
	}
	gate, other = gateway("gate"), gateway("other")
	service = start("service", role.Service)
	clustertest.AwaitMembers(t, c, "gate", "other", "service")
	return service, gate, other
}

// testGateway holds sessions without connections.
type testGateway struct {
	presence *presence.Directory
	mu       sync.Mutex
	sessions []presence.Session
	// closed is what was closed, as user/device/status.
	closed []string
}

func (g *testGateway) Lost(int64, wire.DeviceType, int32) {}

func (g *testGateway) Each(func(presence.SessionKey) bool) {}

func (g *testGateway) Stray(presence.SessionKey) {}

// Activity knows of all sessions but those of BROWSERs.
func (g *testGateway) Activity(_ int64, device wire.DeviceType, _ int32) (presence.Activity, bool) {
	return presence.Activity{LastHeartbeat: loginDate.Add(time.Minute), LastRequest: loginDate.Add(time.Hour)}, device != wire.DeviceType_BROWSER
}

// disconnect closes sessions as a gateway does.
func (g *testGateway) disconnect(ctx context.Context, req *link.Disconnection) (*link.Disconnected, error) {
	g.mu.Lock()
	var gone []presence.Session
	g.sessions = slices.DeleteFunc(g.sessions, func(s presence.Session) bool {
		byUser := slices.Contains(req.UserIDs, s.UserID) && (len(req.Devices) == 0 || slices.Contains(req.Devices, s.Device))
		if byUser || slices.Contains(req.IPs, s.IP) {
			gone = append(gone, s)
			g.closed = append(g.closed, fmt.Sprintf("%d/%v/%d", s.UserID, s.Device, req.Status))
			return true
		}
		return false
	})
	g.mu.Unlock()
	for _, s := range gone {
		g.presence.Close(ctx, s.UserID, s.Device, s.ID)
	}
	return &link.Disconnected{Sessions: len(gone)}, nil
}

// wantClosed checks what was closed since the last time, in any order.
func (g *testGateway) wantClosed(t *testing.T, want ...string) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	slices.Sort(g.closed)
	if !slices.Equal(g.closed, want) {
		t.Errorf("closed %v, want %v", g.closed, want)
	}
	g.closed = nil
}

// log in opens sessions and waits until the observer sees them.
func (g *testGateway) login(t *testing.T, observer *presence.Directory, status wire.UserStatus, sessions ...presence.Session) {
	t.Helper()
	for _, s := range sessions {
		s.LoginDate = loginDate
		if _, err := g.presence.Open(t.Context(), s, status, nil); err != nil {
			t.Fatal(err)
		}
		g.mu.Lock()
		g.sessions = append(g.sessions, s)
		g.mu.Unlock()
		clustertest.Await(t, observer.Node().Cluster(), "the session", func() bool {
			e, _ := observer.Lookup(s.UserID)
			_, ok := e.Session(s.Device)
			return ok
		})
	}
}

// awaitOffline waits until the observer sees nobody.
func awaitOffline(t *testing.T, d *presence.Directory, userIDs ...int64) {
	t.Helper()
	clustertest.Await(t, d.Node().Cluster(), "nobody online", func() bool {
		return !slices.ContainsFunc(userIDs, d.Online)
	})
}

func TestSessions(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("2001:db8::1")
		login := func() {
			h.gate.login(t, h.gate.presence, wire.UserStatus_AVAILABLE,
				presence.Session{UserID: 1, Device: wire.DeviceType_DESKTOP, ID: 1, IP: a},
				presence.Session{UserID: 1, Device: wire.DeviceType_IOS, ID: 2, IP: b},
				presence.Session{UserID: 2, Device: wire.DeviceType_DESKTOP, ID: 3, IP: a},
				presence.Session{UserID: 3, Device: wire.DeviceType_DESKTOP, ID: 4, IP: b},
			)
			h.other.login(t, h.gate.presence, wire.UserStatus_AVAILABLE,
				presence.Session{UserID: 1, Device: wire.DeviceType_ANDROID, ID: 5, IP: a},
				presence.Session{UserID: 4, Device: wire.DeviceType_DESKTOP, ID: 6, IP: a},
			)
		}
		h.role(1, 1, "LOG_QUERY")
		h.account("loggers", 1)
		for _, s := range []struct {
			name, as, target string
			status           int
			want             string
			closed           []string
		}{
			{"nothing", "app", "/sessions", 400, `~"code":1301`, nil},
			{"empty", "app", "/sessions?ids=&ips=", 400, `~"code":1301`, nil},
			{"without permission", "loggers", "/sessions?ids=1", 401, "~SESSION_DELETE", nil},
			{"bad id", "app", "/sessions?ids=x", 400, `~"code":1102`, nil},
			{"bad address", "app", "/sessions?ips=10.0.0", 400, `~ips: \"10.0.0\" must be an IPv4 or IPv6 address`, nil},
			{"unknown", "app", "/sessions?ids=99&ips=10.9.9.9", 200, deleted(0), nil},
			{"users", "app", "/sessions?ids=1,3,99", 200, deleted(3), []string{"1/DESKTOP/600", "1/IOS/600", "3/DESKTOP/600"}},
			// All sessions of a user who was seen there, at this gateway only.
			{"addresses", "app", "/sessions?ips=10.0.0.1", 200, deleted(3), []string{"1/DESKTOP/600", "1/IOS/600", "2/DESKTOP/600"}},
			{"both", "app", "/sessions?ips=2001:db8:0::1&ids=2", 200, deleted(4), []string{"1/DESKTOP/600", "1/IOS/600", "2/DESKTOP/600", "3/DESKTOP/600"}},
			{"address of an IPv4 client in the form of IPv6", "app", "/sessions?ips=::ffff:10.0.0.1&ids=1", 200, deleted(3), []string{"1/DESKTOP/600", "1/IOS/600", "2/DESKTOP/600"}},
		} {
			h.t.Run(s.name, func(t *testing.T) {
				login()
				r := h.callAPI(h.gateway, s.as, "DELETE", s.target, "")
				got := plain(r.body)
				part, isPart := strings.CutPrefix(s.want, "~")
				if r.status != s.status || isPart && !strings.Contains(got, part) || !isPart && got != s.want {
					t.Errorf("answer %d %s", r.status, got)
				}
				h.gate.wantClosed(t, s.closed...)
				h.other.wantClosed(t)
				if !h.gate.presence.Online(4) {
					t.Error("a session of another gateway was closed")
				}
				h.gate.mu.Lock()
				h.gate.sessions = nil
				h.gate.mu.Unlock()
				h.other.mu.Lock()
				h.other.sessions = nil
				h.other.mu.Unlock()
			})
		}
		if r := h.call("app", "DELETE", "/sessions?ids=1", ""); r.status != 404 {
			t.Errorf("the service answers %d", r.status)
		}
	})
}
