// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/wire"
	"example.org/app/test/client"
)

// onBoth runs a test over both transports.
func onBoth(t *testing.T, m *member, test func(t *testing.T, url string)) {
	for name, url := range map[string]string{"WebSocket": m.ws, "TCP": m.tcp} {
		t.Run(name, func(t *testing.T) { test(t, url) })
	}
}

func TestSession(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g", func(c *config.Config) { c.Gateway.ServiceDiscovery.Identity = "here" })
	onBoth(t, m, func(t *testing.T, url string) {
		c := client.Connect(t, url)
		if code := c.BeatCode(); code != 2104 {
			t.Errorf("a heartbeat without session was answered with %d", code)
		}
		c.WantCode(say("hello"), 1105)
		c.WantCode(&wire.DeleteSessionRequest{}, 1105)
		before := time.Now().UnixMilli()
		c.MustLogin(7)
		info := c.SessionInfo()
		if id, err := strconv.Atoi(info.SessionId); err != nil || id <= 0 || info.ServerId != "here" {
			t.Errorf("the session is %v", info)
		}
		c.Beat()
		n := c.Request(say("hello"))
		if n.Data.GetLong() != 7 || n.Timestamp < before || n.Timestamp > time.Now().UnixMilli() {
			t.Errorf("the response is %v", n)
		}
		c.WantCode(say("refuse"), 5001)
		c.RefusedLogin(2103, 7)
		c.Must(c.SendPayload(client.Payload(99, &wire.DeleteSessionRequest{})))
		c.Closed(wire.ClosedByClient)
		c.Gone()
		eventually(t, "the session is gone", func() bool { sessions, users := m.Sessions(); return sessions+users == 0 })
		eventually(t, "the cluster knows", func() bool { return !m.directory.Online(7) })
		eventually(t, "the end is an event", func() bool { return len(m.events.all())%2 == 0 }) // The next login may come first.
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.requests {
		if r.UserID != 7 || r.IP != loopback || r.Device != wire.DeviceType_DESKTOP || r.SessionID <= 0 {
			t.Errorf("the service was told %+v", r)
		}
	}
	want := []string{"online 7 DESKTOP", "offline 7 DESKTOP 0 500", "online 7 DESKTOP", "offline 7 DESKTOP 0 500"}
	eventually(t, "events", func() bool { return slices.Equal(m.events.all(), want) })
}

func TestDisconnectByClient(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	onBoth(t, m, func(t *testing.T, url string) {
		c := client.LogIn(t, url, 1)
		c.Close()
		eventually(t, "the session ends with the connection", func() bool { return !m.directory.Online(1) && len(m.sessions.of(1)) == 0 })
	})
	eventually(t, "an event", func() bool { return slices.Contains(m.events.all(), "offline 1 DESKTOP 0 400") })
}
