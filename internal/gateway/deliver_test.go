// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/cluster"
	"example.org/app/internal/link"
	"example.org/app/internal/wire"
	"example.org/app/test/client"
	"example.org/app/test/need"
)

var createMessage = wire.KindOf(&wire.AppRequest{Kind: &wire.AppRequest_CreateMessageRequest{}})

func TestDeliver(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	alice, phone := client.LogIn(t, m.ws, 1), client.LogIn(t, m.tcp, 1, client.With(wire.DeviceType_IOS))
	bob := client.LogIn(t, m.tcp, 2)
	if d := w.deliver(m, "one", nil, 1, 2, 3); d.Sessions != 3 || !slices.Equal(d.Missed, []int64{3}) {
		t.Errorf("delivered %+v", d)
	}
	if d := w.deliver(m, "two", &link.Session{UserID: 1, Device: wire.DeviceType_DESKTOP}, 1, 2); d.Sessions != 2 || len(d.Missed) != 0 {
		t.Errorf("delivered %+v", d)
	}
	if d := w.deliver(m, "three", &link.Session{UserID: 2, Device: wire.DeviceType_DESKTOP}, 2); d.Sessions != 0 || len(d.Missed) != 0 {
		t.Errorf("delivered %+v", d)
	}
	if d := w.deliver(m, strings.Repeat("x", 70_000), nil, 1, 2); d.Sessions != 3 {
		t.Errorf("delivered %+v", d)
	}
	for c, want := range map[*client.Tester][]string{alice: {"one"}, phone: {"one", "two"}, bob: {"one", "two"}} {
		for _, text := range want {
			n := c.Relayed(createMessage)
			if got := n.RelayedRequest.GetCreateMessageRequest().GetText(); got != text || n.GetRequesterId() != 9 {
				t.Errorf("got %q, want %q", got, text)
			}
		}
		if got := c.Relayed(createMessage).RelayedRequest.GetCreateMessageRequest().GetText(); len(got) != 70_000 {
			t.Errorf("the long one has %d bytes", len(got))
		}
	}
	if got := m.events.all(); !slices.Contains(got, "notified 3 1") || !slices.Contains(got, "notified 2 0") {
		t.Errorf("events are %q", got)
	}
}

// TestSlowReader has a client that does not read: it is disconnected, without affecting others.
func TestSlowReader(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	slow, err := net.Dial("tcp", strings.TrimPrefix(m.tcp, "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if _, err := slow.Write(wire.AppendFrame(nil, client.Payload(1, &wire.CreateSessionRequest{Version: 1, UserId: 1}))); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is logged in", func() bool { return len(m.sessions.of(1)) == 1 })
	other := client.LogIn(t, m.ws, 2)
	text := strings.Repeat("x", 200_000)
	sent := 0
	eventually(t, "the slow one is cut off", func() bool {
		sent++
		return w.deliver(m, text, nil, 1, 2).Sessions == 1
	})
	for range sent {
		other.Relayed(createMessage)
	}
	eventually(t, "its session is gone", func() bool { return len(m.sessions.of(1)) == 0 && !m.directory.Online(1) })
	other.Beat()
}

func TestDisconnect(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	var clients [6]*client.Tester
	logIn := func() {
		for i := range clients {
			if clients[i] == nil {
				clients[i] = client.LogIn(t, m.ws, int64(i/2+1), client.With(wire.DeviceType(i%2)))
			}
		}
	}
	for name, test := range map[string]struct {
		selection func() *link.Disconnection
		want      []int
	}{
		"users": {func() *link.Disconnection { return &link.Disconnection{UserIDs: []int64{1, 3, 77}} }, []int{0, 1, 4, 5}},
		"devices": {func() *link.Disconnection {
			return &link.Disconnection{UserIDs: []int64{1, 2}, Devices: []wire.DeviceType{1}}
		}, []int{1, 3}},
		"sessions": {func() *link.Disconnection { return &link.Disconnection{SessionIDs: []int32{m.sessions.find(2, 1).ID}} }, []int{3}},
		"all":      {func() *link.Disconnection { return &link.Disconnection{All: true} }, []int{0, 1, 2, 3, 4, 5}},
		"addresses": {func() *link.Disconnection {
			return &link.Disconnection{IPs: []netip.Addr{netip.MustParseAddr("::ffff:127.0.0.1"), netip.MustParseAddr("::1")}}
		}, []int{0, 1, 2, 3, 4, 5}},
		"nobody": {func() *link.Disconnection { return &link.Disconnection{} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			logIn()
			d := test.selection()
			d.Status = wire.ClosedByAdmin
			got, err := cluster.CallNode(t.Context(), w.service, "g", link.Disconnect, d)
			if err != nil || got.Sessions != len(test.want) {
				t.Errorf("closed %+v, %v", got, err)
			}
			for i, c := range clients {
				if slices.Contains(test.want, i) {
					c.Closed(wire.ClosedByAdmin)
					c.Gone()
					clients[i] = nil
				} else {
					c.Beat()
				}
			}
		})
	}
}

// TestDisconnectBefore repeats a request to close sessions after a new login.
func TestDisconnectBefore(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	older := client.LogIn(t, m.ws, 1)
	cause := m.options.Node.Cluster().Now()
	newer := client.LogIn(t, m.ws, 1, client.With(wire.DeviceType_IOS))
	d := &link.Disconnection{UserIDs: []int64{1}, Before: cause, Status: wire.ClosedUserDeletedInactive}
	got, err := cluster.CallNode(t.Context(), w.service, "g", link.Disconnect, d)
	if err != nil || got.Sessions != 1 {
		t.Errorf("closed %+v, %v", got, err)
	}
	older.Closed(wire.ClosedUserDeletedInactive)
	newer.Beat()
}

// TestDrain stops a gateway with running requests: they are answered before all connections are
// closed.
func TestDrain(t *testing.T) {
	w := newWorld(t)
	m, other := w.gateway("a"), w.gateway("b")
	c := client.LogIn(t, m.ws, 1)
	stays := client.Connect(t, m.tcp, client.Options{Stay: true})
	stays.MustLogin(2)
	stranger := client.Connect(t, m.tcp)
	if code := stranger.BeatCode(); code != 2104 {
		t.Errorf("got %d", code)
	}
	if _, err := c.Send(say("wait")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the request runs", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.requests) == 1 })
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		done <- m.Close(ctx)
	}()
	eventually(t, "it stops", func() bool { return m.draining.Load() })
	stays.RefusedLogin(1201, 2)
	stays.WantCode(say("too late"), 1201)
	close(w.release)
	if n := c.Expect(func(n *wire.AppNotification) bool { return n.Code != nil }); n.GetCode() != 1000 {
		t.Errorf("the running request was answered with %v", n)
	}
	for _, c := range []*client.Tester{c, stays, stranger} {
		c.Closed(wire.ClosedServerClosed)
		c.Gone()
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, user := range []int64{1, 2} {
		eventually(t, "nobody is online any more", func() bool { return !m.directory.Online(user) && !other.directory.Online(user) })
	}
	if _, err := client.Dial(t.Context(), m.ws, client.Options{}); err == nil {
		t.Error("a new connection was accepted")
	}
}

// TestDrainGivesUp stops a gateway with a request that never ends.
func TestDrainGivesUp(t *testing.T) {
	need.Time(t)
	w := newWorld(t)
	m := w.gateway("a")
	c := client.LogIn(t, m.ws, 1)
	if _, err := c.Send(say("hang")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the request runs", func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.requests) == 1 })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := m.Close(ctx); err != nil {
		t.Error(err)
	}
	c.Gone()
}
