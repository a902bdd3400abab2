// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"example.org/app/internal/cluster"
	"example.org/app/internal/config"
	"example.org/app/internal/gateway/login"
	"example.org/app/internal/wire"
	"example.org/app/test/client"
)

// TestRequestLog checks that what the settings select is logged, including heartbeats over UDP and
// notifications.
func TestRequestLog(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g", func(c *config.Config) {
		c.Gateway.UDP.Enabled = true
		l := &c.Gateway.ClientAPI.Logging
		l.HeartbeatSampleRate = 1
		l.IncludedRequestCategories = []config.LoggedCategory{{Category: "ALL", SampleRate: 1}}
		l.ExcludedRequestTypes = []config.RequestType{"CREATE_MESSAGE"}
		l.IncludedNotifications = []config.LoggedRequest{{Type: "CREATE_MESSAGE", SampleRate: 1}}
	})
	without := w.gateway("without", func(c *config.Config) {
		l := &c.Gateway.ClientAPI.Logging
		l.IncludedNotificationCategories = []config.LoggedCategory{{Category: "ALL", SampleRate: 1}}
		l.ExcludedNotificationTypes = []config.RequestType{"CREATE_MESSAGE"}
	})
	c := client.LogIn(t, m.tcp, 1)
	id := m.sessions.find(1, wire.DeviceType_DESKTOP).ID
	c.Beat()
	conn, err := net.Dial("udp", strings.TrimPrefix(m.options.Ports.UDPURL("127.0.0.1"), "udp://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// Datagrams may be lost. The response to a heartbeat is empty.
	for answered := false; !answered; {
		if _, err := conn.Write(datagram(1, 1, 0, id)); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		_, err := conn.Read(make([]byte, 16))
		answered = err == nil
	}
	if d := w.deliver(m, "hello", nil, 1, 2); d.Sessions != 1 {
		t.Errorf("delivered %+v", d)
	}
	w.deliver(without, "hello", nil, 1)
	session := " userId=1 sessionId=" + strconv.Itoa(int(id)) + " deviceType=DESKTOP ip=127.0.0.1 "
	for _, want := range []string{
		`msg="client request" type=CREATE_SESSION `,
		`msg="client request" type=HEARTBEAT requestId=0` + session + "begin=", // over TCP, without byte counts
		`size=14 code=1000 `, // over UDP
		`msg="client notification" type=CREATE_MESSAGE requesterId=9 size=`,
		`recipients=2 missed=1 sessions=1`,
	} {
		// Some lines are written after the response was sent.
		for start := time.Now(); !slices.ContainsFunc(m.lines.all(), func(line string) bool { return strings.Contains(line, want) }); runtime.Gosched() {
			if time.Since(start) > patience {
				t.Fatalf("the log lacks %q:\n%s", want, strings.Join(m.lines.all(), "\n"))
			}
		}
	}
	for _, line := range append(m.lines.all(), without.lines.all()...) {
		if strings.Contains(line, "type=CREATE_MESSAGE") && !strings.Contains(line, "recipients=2") {
			t.Errorf("the log has %q", line)
		}
	}
}

// invalid are payloads without a valid head.
var invalid = map[string][]byte{
	"no id":         client.Payload(1, &wire.CreateMessageRequest{})[2:],
	"id 0":          {1 << 3, 0, 4<<3 | 2, 0},
	"negative id":   append(protowire.AppendVarint([]byte{1 << 3}, ^uint64(0)), 4<<3|2, 0),
	"two ids":       {1 << 3, 1, 1 << 3, 2, 4<<3 | 2, 0},
	"no body":       {1 << 3, 1},
	"unknown kind":  append(protowire.AppendTag([]byte{1 << 3, 1}, 9999, protowire.BytesType), 0),
	"wrong type":    {1 << 3, 1, 5 << 3, 0},
	"no protobuf":   {0xff, 0xff, 0xff},
	"cut in the id": {1 << 3, 0x80},
}

func TestInvalidRequests(t *testing.T) {
	w := newWorld(t)
	for name, payload := range invalid {
		t.Run(name, func(t *testing.T) {
			m := w.gateway("g")
			c := client.LogIn(t, m.ws, 1)
			c.Must(c.SendPayload(payload))
			n := c.Expect(func(n *wire.AppNotification) bool { return n.Code != nil })
			if n.GetCode() != 1100 || n.RequestId == nil || n.GetReason() == "" {
				t.Errorf("the answer is %v", n)
			}
			c.Beat()
			// Repeated offences get the client blocked.
			for range 4 {
				c.Must(c.SendPayload(payload))
			}
			c.Closed(wire.ClosedUserBlocked)
			eventually(t, "address and user are blocked", func() bool {
				return m.options.BlockedIPs.BlockedNow(loopback) && m.options.BlockedUsers.BlockedNow(1)
			})
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := m.Close(ctx); err != nil {
				t.Error(err)
			}
			if err := m.options.Node.Leave(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAttributesFirst sends a request with the attributes before its body.
func TestAttributesFirst(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	c := client.LogIn(t, m.ws, 3)
	payload := client.Payload(77, say("hello"))
	c.Must(c.SendPayload(append([]byte{1 << 3, 77, 2<<3 | 2, 0}, payload[2:]...)))
	n := c.Expect(func(n *wire.AppNotification) bool { return n.GetRequestId() == 77 })
	if n.GetCode() != 1000 || n.Data.GetLong() != 3 {
		t.Errorf("the answer is %v", n)
	}
}

func TestCorruptedBody(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	c := client.LogIn(t, m.tcp, 1)
	bad := append(append([]byte{1 << 3, 5}, client.Payload(5, say("x"))[2:4]...), 0xff)
	for range 4 {
		c.Must(c.SendPayload(bad))
		if n := c.Expect(func(n *wire.AppNotification) bool { return n.Code != nil }); n.GetCode() != 1100 {
			t.Errorf("the answer is %v", n)
		}
	}
	c.Must(c.SendPayload(bad))
	c.Closed(wire.ClosedUserBlocked)
	// An undecodable login counts, too.
	fresh := w.gateway("h")
	c = client.Connect(t, fresh.tcp)
	for range 5 {
		c.Must(c.SendPayload([]byte{1 << 3, 9, 3<<3 | 2, 1, 0xff}))
	}
	c.Closed(wire.ClosedUserBlocked)
}

func TestServiceFailures(t *testing.T) {
	w := newWorld(t)
	for name, tell := range map[string]bool{"told": true, "not told": false} {
		t.Run(name, func(t *testing.T) {
			o := w.fabric.Options
			o.CallTimeout = 50e6
			m := w.gatewayOn(o, "g"+name[:1], func(c *config.Config) { c.Gateway.ClientAPI.ReturnReasonForServerError = tell })
			c := client.LogIn(t, m.ws, 1)
			for text, code := range map[string]int32{"hang": 1200, "fail": 1200} {
				if n := c.WantCode(say(text), code); (n.Reason != nil) != tell {
					t.Errorf("%s: the reason is %q", text, n.GetReason())
				}
			}
			if n := c.WantCode(say("refuse"), 5001); n.GetReason() != "because" {
				t.Errorf("the reason of a service is %q", n.GetReason())
			}
		})
	}
	m := w.gateway("g")
	c := client.LogIn(t, m.ws, 2)
	no := false
	if err := w.service.Cluster().UpdateMember(t.Context(), "service", cluster.MemberChange{Active: &no}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no service is left", func() bool { return !w.service.Accepting() })
	if n := c.WantCode(say("hello"), 1201); n.Reason != nil {
		t.Errorf("the reason is %q", n.GetReason())
	}
}

// permit permits only sending messages.
type permit struct{ Authenticator }

func TestPermissions(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	m.options.Authenticator = permit{}
	c := client.LogIn(t, m.ws, 1)
	c.WantCode(&wire.CreateGroupRequest{}, 1106)
	c.Must(c.SendPayload(client.Payload(2, &wire.DeleteSessionRequest{})))
	c.Closed(wire.ClosedByClient)
}

func (permit) Authenticate(context.Context, *login.Request) (*login.Permissions, error) {
	return &login.Permissions{}, nil
}

func TestRateLimit(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g", func(c *config.Config) {
		c.Gateway.ClientAPI.RateLimiting = config.RateLimiting{Capacity: 4, InitialTokens: 4, TokensPerPeriod: 1}
	})
	c := client.LogIn(t, m.ws, 1)
	for range 3 {
		c.Request(say("hello"))
	}
	c.WantCode(say("hello"), 1101)
	c.Beat() // Heartbeats are not limited.
	// A change takes effect at once.
	if err := m.live.Update(func(c *config.Config) error {
		c.Gateway.ClientAPI.RateLimiting = config.RateLimiting{Capacity: 1e6, InitialTokens: 1e6, TokensPerPeriod: 1e6, RefillIntervalMillis: 1}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "requests pass again", func() bool { return c.Response(say("hello")).GetCode() == 1000 })
}

func TestFlood(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g", func(c *config.Config) {
		c.Gateway.ClientAPI.RateLimiting = config.RateLimiting{Capacity: 4, InitialTokens: 4, TokensPerPeriod: 1}
	})
	other := client.LogIn(t, m.tcp, 2)
	c := client.LogIn(t, m.ws, 1)
	for range 100 {
		if c.SendPayload(client.Payload(5, say("hello"))) != nil {
			break
		}
	}
	c.Closed(wire.ClosedUserBlocked)
	other.Closed(wire.ClosedUserBlocked) // It has the same address.
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.requests) > 2 {
		t.Errorf("%d requests reached the service", len(w.requests))
	}
}

// TestConcurrency sends more requests than may run concurrently.
func TestConcurrency(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g")
	c := client.LogIn(t, m.ws, 1)
	for range maxRequests {
		if _, err := c.Send(say("wait")); err != nil {
			t.Fatal(err)
		}
	}
	arrived := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.requests)
	}
	eventually(t, "all are being worked on", func() bool { return arrived() == maxRequests })
	for range 10 {
		if _, err := c.Send(say("late")); err != nil {
			t.Fatal(err)
		}
	}
	// Another client is not delayed.
	client.LogIn(t, m.ws, 2).Request(say("hello"))
	if got := arrived(); got != maxRequests+1 {
		t.Errorf("%d requests reached the service, want %d", got, maxRequests+1)
	}
	close(w.release)
	for range maxRequests + 10 {
		if n := c.Expect(func(n *wire.AppNotification) bool { return n.Code != nil }); n.GetCode() != 1000 {
			t.Errorf("the answer is %v", n)
		}
	}
}
