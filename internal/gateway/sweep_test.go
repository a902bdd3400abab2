// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/gateway/login"
	"example.org/app/internal/wire"
	"example.org/app/test/client"
)

// later sweeps as if time had passed.
func (m *member) later(d time.Duration) { m.sweep(time.Now().Add(d)) }

func TestEstablishTimeout(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g", func(c *config.Config) { c.Gateway.Session.CloseIdleSessionAfterSeconds = 0 })
	for name, url := range map[string]string{"WebSocket": m.ws, "TCP": m.tcp} {
		t.Run(name, func(t *testing.T) {
			c, inside := client.Connect(t, url, client.Options{Stay: true}), client.LogIn(t, url, 1)
			if code := c.BeatCode(); code != 2104 {
				t.Errorf("got %d", code)
			}
			m.later(299 * time.Second)
			if code := c.BeatCode(); code != 2104 {
				t.Errorf("got %d", code)
			}
			inside.Beat()
			m.later(301 * time.Second)
			c.Closed(wire.ClosedLoginTimeout)
			inside.Beat()
			// Its input is ignored now, and finally it is disconnected.
			c.Must(c.SendPayload(client.Payload(1, &wire.CreateSessionRequest{Version: 1, UserId: 2})))
			m.later(119 * time.Second)
			m.later(121 * time.Second)
			c.Gone()
			if len(c.Inbox()) != 0 || len(m.sessions.of(2)) != 0 {
				t.Errorf("it was answered: %v", c.Inbox())
			}
		})
	}
	// The same holds for a missing handshake.
	s := rawConnect(t, m.ws)
	eventually(t, "it is there", func() bool {
		return slices.ContainsFunc(m.open(), func(c *connection) bool { _, p := c.current(); return p == handshaking })
	})
	m.later(301 * time.Second)
	if _, err := s.reader.ReadByte(); err == nil {
		t.Error("the connection is still open")
	}
}

func TestConnectTimeout(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g", func(c *config.Config) {
		c.Gateway.WebSocket.ConnectTimeoutMillis = 1
		c.Gateway.TCP.ConnectTimeoutMillis = 1
		c.Gateway.TCP.SSL.Enabled = true
	})
	for _, url := range []string{m.ws, m.tcp} {
		_, address, _ := strings.Cut(url, "://")
		conn, err := net.Dial("tcp", strings.TrimSuffix(address, "/"))
		if err != nil {
			continue // The gateway was faster.
		}
		_, _ = io.Copy(io.Discard, conn) // A response may precede the end.
		conn.Close()
	}
}

// slowLogin blocks until it is released.
type slowLogin struct {
	Authenticator
	begun, release chan struct{}
}

func (s slowLogin) Authenticate(ctx context.Context, r *login.Request) (*login.Permissions, error) {
	s.begun <- struct{}{}
	<-s.release
	return s.Authenticator.Authenticate(ctx, r)
}

func TestLateLogin(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	slow := slowLogin{m.options.Authenticator, make(chan struct{}), make(chan struct{})}
	m.options.Authenticator = slow
	c := client.Connect(t, m.ws)
	if _, err := c.Send(&wire.CreateSessionRequest{Version: 1, UserId: 1}); err != nil {
		t.Fatal(err)
	}
	<-slow.begun
	c.RefusedLogin(2103, 1) // One at a time.
	m.later(301 * time.Second)
	slow.release <- struct{}{}
	if n := c.Expect(func(n *wire.AppNotification) bool { return n.Code != nil }); n.GetCode() != 2010 {
		t.Errorf("the login was answered with %v", n)
	}
	c.Closed(wire.ClosedLoginTimeout)
	eventually(t, "nobody is online", func() bool { return len(m.sessions.of(1)) == 0 && !m.directory.Online(1) })

	// A client that disconnects meanwhile leaves nothing behind.
	c = client.Connect(t, m.tcp)
	if _, err := c.Send(&wire.CreateSessionRequest{Version: 1, UserId: 2}); err != nil {
		t.Fatal(err)
	}
	<-slow.begun
	c.Close()
	eventually(t, "the connection is gone", func() bool { return len(m.open()) == 0 })
	slow.release <- struct{}{}
	eventually(t, "nobody is online", func() bool { return m.work.idleNow() && len(m.sessions.of(2)) == 0 && !m.directory.Online(2) })
}

func (w *work) idleNow() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count == 0
}

func TestIdle(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g", func(c *config.Config) {
		c.Gateway.TCP.Session.CloseTimeoutMillis = 0
		c.Gateway.WebSocket.Session.CloseTimeoutMillis = -1
	})
	quick, patient := client.Connect(t, m.tcp, client.Options{Stay: true}), client.Connect(t, m.ws, client.Options{Stay: true})
	quick.MustLogin(1)
	patient.MustLogin(2)
	m.later(179 * time.Second)
	quick.Beat()
	patient.Beat()
	m.later(182 * time.Second)
	quick.Closed(wire.ClosedHeartbeatTimeout)
	quick.Gone()
	patient.Closed(wire.ClosedHeartbeatTimeout)
	eventually(t, "one connection is left", func() bool { return len(m.open()) == 1 })
	m.later(24 * time.Hour)
	if len(m.open()) != 1 {
		t.Error("a connection that may stay for ever was closed")
	}
	eventually(t, "nobody is online", func() bool { return !m.directory.Online(1) && !m.directory.Online(2) })
}

// TestIdleByMonotonicClock checks that times do not depend on changes of the machine's clock.
func TestIdleByMonotonicClock(t *testing.T) {
	var s Session
	now := time.Now()
	s.heartbeat.set(now)
	s.request.set(now.Add(-time.Hour))
	if active := s.active(); !strings.Contains(active.String(), " m=") || now.Sub(active) >= time.Millisecond || now.Sub(active) < 0 {
		t.Errorf("active at %v, want %v", active, now)
	}
	if shown := dateOf(&s.heartbeat); shown.Sub(now.Truncate(time.Millisecond)).Abs() > time.Millisecond {
		t.Errorf("shown as %v, want %v", shown, now)
	}
}

// datagram returns a client's datagram.
func datagram(kind byte, user int64, device byte, session int32) []byte {
	b := binary.BigEndian.AppendUint64([]byte{kind}, uint64(user))
	return binary.BigEndian.AppendUint32(append(b, device), uint32(session))
}

func TestUDP(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g", func(c *config.Config) {
		c.Gateway.UDP.Enabled = true
		c.Gateway.Session.SwitchProtocolAfterSeconds = 100
	})
	conn, err := net.Dial("udp", strings.TrimPrefix(m.options.Ports.UDPURL("127.0.0.1"), "udp://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	receive := func() string {
		t.Helper()
		b := make([]byte, 100)
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		n, err := conn.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	ask := func(b []byte) string {
		t.Helper()
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
		return receive()
	}
	const ok, malformed, unknown = "", "\x04\x4c", "\x04\x51" // 1100 and 1105
	c, browser := client.LogIn(t, m.tcp, 1), client.LogIn(t, m.ws, 1, client.With(wire.DeviceType_BROWSER))
	id := m.sessions.find(1, wire.DeviceType_DESKTOP).ID
	for name, test := range map[string]struct {
		bytes []byte
		want  string
	}{
		"empty":         {nil, malformed},
		"short":         {datagram(1, 1, 0, id)[:13], malformed},
		"long":          {append(datagram(1, 1, 0, id), 0), malformed},
		"kind":          {datagram(3, 1, 0, id), malformed},
		"device":        {datagram(1, 1, 6, id), malformed},
		"other user":    {datagram(1, 2, 0, id), unknown},
		"other device":  {datagram(1, 1, 2, id), unknown},
		"other session": {datagram(1, 1, 0, id+1), unknown},
		"heartbeat":     {datagram(1, 1, 0, id), ok},
		"wrong close":   {datagram(2, 1, 0, id+1), unknown},
	} {
		if got := ask(test.bytes); got != test.want {
			t.Errorf("%s: the answer is %x, want %x", name, got, test.want)
		}
	}
	m.later(99 * time.Second)
	c.Beat()
	m.later(101 * time.Second)
	c.Closed(wire.ClosedSwitch)
	c.Gone()
	browser.Beat() // Browsers have no UDP.
	if len(m.sessions.of(1)) != 2 || !m.directory.Online(1) {
		t.Fatal("the session was closed")
	}
	if got := ask(datagram(1, 1, 0, id)); got != ok {
		t.Errorf("the answer is %x", got)
	}
	// A notification makes the client reconnect, once.
	for range 2 {
		if d := w.deliver(m, "hello", nil, 1); d.Sessions != 1 {
			t.Errorf("delivered %+v", d)
		}
	}
	if got := receive(); got != "\x01" {
		t.Errorf("the signal is %x", got)
	}
	if got := ask(datagram(1, 1, 0, id)); got != unknown {
		t.Errorf("the answer is %x", got)
	}
	back := client.LogIn(t, m.tcp, 1)
	if got := m.sessions.find(1, wire.DeviceType_DESKTOP).ID; got != id {
		t.Errorf("the session is %d, want %d as before", got, id)
	}
	if d := w.deliver(m, "hello again", nil, 1); d.Sessions != 2 {
		t.Errorf("delivered %+v", d)
	}
	back.Relayed(createMessage)
	if got := ask(datagram(2, 1, 0, id)); got != ok {
		t.Errorf("the answer is %x", got)
	}
	back.Closed(wire.ClosedByClient)

	// A session on UDP times out like any other.
	other := client.LogIn(t, m.tcp, 3)
	m.later(101 * time.Second)
	other.Closed(wire.ClosedSwitch)
	m.later(182 * time.Second)
	if len(m.sessions.of(3)) != 0 {
		t.Error("a silent session is still open")
	}

	if err := m.options.BlockedIPs.Block(t.Context(), []netip.Addr{loopback}, 1e6); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(datagram(1, 1, 1, 5)); err != nil {
		t.Fatal(err)
	}
	if err := m.options.BlockedIPs.UnblockAll(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestWrongDatagrams guesses the number of a session.
func TestWrongDatagrams(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g", func(c *config.Config) { c.Gateway.UDP.Enabled = true })
	c := client.LogIn(t, m.tcp, 1)
	id := m.sessions.find(1, wire.DeviceType_DESKTOP).ID
	from := netip.MustParseAddrPort("127.0.0.1:9")
	tried := 0
	for m.datagrams.wrong.Has(from.Addr(), wrongSignalRule) {
		if tried++; tried > 1000 {
			t.Fatal("nobody counts wrong datagrams")
		}
		conn, err := net.Dial("udp", strings.TrimPrefix(m.options.Ports.UDPURL("127.0.0.1"), "udp://"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write(datagram(2, 1, 0, id+int32(tried)))
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		if _, err := conn.Read(make([]byte, 2)); err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	if tried != wrongSignalRule.Capacity {
		t.Errorf("%d wrong datagrams were answered, want %d", tried, wrongSignalRule.Capacity)
	}
	if m.options.BlockedIPs.BlockedNow(loopback) {
		t.Error("a datagram, which can bear any address, got an address blocked")
	}
	c.Beat()
}
