// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/wire"
	"example.org/app/test/client"
)

// park advances the sweep's time until count connections are parked.
func (m *member) park(t testing.TB, count int64) {
	t.Helper()
	now := time.Now()
	eventually(t, fmt.Sprintf("%d connections are parked", count), func() bool {
		now = now.Add(parkAfter)
		m.sweep(now)
		return m.parked.Load() == count
	})
}

// readingGoroutines returns the number of goroutines that read from clients.
func readingGoroutines(t testing.TB) int {
	t.Helper()
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 2); err != nil {
		t.Fatal(err)
	}
	return strings.Count(b.String(), "gateway.(*connection).read(")
}

// noIdleLimit disables the idle time-out of sessions.
func noIdleLimit(c *config.Config) { c.Gateway.Session.CloseIdleSessionAfterSeconds = 0 }

func TestSilentClientsAreParked(t *testing.T) {
	for name, set := range map[string]func(*config.Config){
		"plain": func(*config.Config) {},
		"encrypted": func(c *config.Config) {
			c.Gateway.WebSocket.SSL.Enabled, c.Gateway.TCP.SSL.Enabled = true, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			m := w.gateway("g", noIdleLimit, set)
			var clients []*client.Tester
			for i, url := range []string{m.ws, m.tcp, m.ws, m.tcp} {
				c := client.Connect(t, url, client.Options{TLS: trust()})
				c.MustLogin(int64(i + 1))
				clients = append(clients, c)
			}
			if n := readingGoroutines(t); n != len(clients) {
				t.Errorf("%d goroutines read from %d clients", n, len(clients))
			}
			for range 3 { // They can be parked repeatedly.
				m.park(t, int64(len(clients)))
				// The goroutine that parked its connection is still ending.
				eventually(t, "nobody reads from silent clients", func() bool { return readingGoroutines(t) == 0 })
				// They receive notifications and stay parked.
				if d := w.deliver(m, "hello", nil, 1, 2, 3, 4); len(d.Missed) != 0 {
					t.Errorf("missed: %v", d.Missed)
				}
				for _, c := range clients {
					c.Relayed(wire.KindCreateMessage)
				}
				if n := m.parked.Load(); n != int64(len(clients)) {
					t.Errorf("%d are parked", n)
				}
				for _, c := range clients {
					c.Beat()
					c.WantCode(say("x"), 1000)
				}
				if n := m.parked.Load(); n != 0 {
					t.Errorf("%d are parked", n)
				}
			}
			// The end of a parked connection is noticed from either side.
			m.park(t, int64(len(clients)))
			clients[0].Close()
			clients[1].Close()
			eventually(t, "those who have gone are offline", func() bool {
				sessions, _ := m.Sessions()
				return sessions == 2 && !m.directory.Online(1) && !m.directory.Online(2)
			})
			m.end(m.sessions.of(3)[0], CloseReason{Status: wire.ClosedByAdmin})
			clients[2].Closed(wire.ClosedByAdmin)
			clients[2].Gone()
			m.sessions.of(4)[0].conn.drop()
			clients[3].Gone()
			eventually(t, "no connection is left", func() bool { return len(m.open()) == 0 && m.parked.Load() == 0 })
		})
	}
}

// TestPartsOfFramesAreNotLost checks that a client that pauses within a message is not parked, and
// continues.
func TestPartsOfFramesAreNotLost(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g", noIdleLimit)
	s := rawDial(t, m.ws)
	s.write(frame(0x82, client.Payload(1, &wire.CreateSessionRequest{Version: 1, UserId: 1})))
	eventually(t, "it has a session", func() bool { return len(m.sessions.of(1)) == 1 })
	conn := m.sessions.of(1)[0].conn
	payload := client.Payload(7, say("x"))
	whole := append(frame(0x02, payload[:5]), frame(0x80, payload[5:])...)
	ping := frame(0x89, []byte("p"))
	for cut := range len(whole) {
		if cut == 0 {
			m.park(t, 1)
		}
		before := m.traffic.received.Load()
		s.write(whole[:cut])
		if cut > 0 {
			eventually(t, "the part is read", func() bool { return m.traffic.received.Load() == before+uint64(cut) })
			for i := range 3 {
				m.sweep(time.Now().Add(time.Duration(i+1) * parkAfter))
			}
			eventually(t, "the reader has noticed", func() bool { return !conn.stream.interrupted.Load() })
			if n := m.parked.Load(); n != 0 {
				t.Fatalf("it was parked after %d bytes", cut)
			}
		}
		s.write(whole[cut:])
		s.write(ping)
		s.expectPong(t)
		if cut > 0 {
			m.park(t, 1) // A ping is no message.
			s.write(ping)
			s.expectPong(t)
		}
	}
	eventually(t, "all messages come", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.requests) == len(whole)
	})
}

// expectPong reads frames until a pong.
func (s *rawSocket) expectPong(t testing.TB) {
	t.Helper()
	for {
		first, payload, err := s.read()
		if err != nil {
			t.Fatal(err)
		}
		if first == 0x8a {
			if string(payload) != "p" {
				t.Fatalf("got %q", payload)
			}
			return
		}
	}
}

func TestCloseWithParkedClients(t *testing.T) {
	w := newWorld(t)
	m := w.gateway("g", noIdleLimit)
	a, b := client.LogIn(t, m.ws, 1), client.LogIn(t, m.tcp, 2)
	m.park(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := m.Close(ctx); err != nil {
		t.Error(err)
	}
	a.Closed(wire.ClosedServerClosed)
	b.Closed(wire.ClosedServerClosed)
	if n := m.parked.Load(); n != 0 {
		t.Errorf("%d are parked", n)
	}
}
