// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/wire"
	"example.org/app/test/client"
)

// raceCount is how many users log in concurrently; make campaign uses more.
func raceCount() int64 {
	if os.Getenv("APP_CAMPAIGN") == "long" {
		return 100_000
	}
	return 400
}

// TestLoginRaces logs users in with one device at two gateways, twice at each, concurrently. One
// session of each remains, the one that the cluster knows, and nothing had to be repaired.
func TestLoginRaces(t *testing.T) {
	w := newWorld(t)
	gateways := []*member{w.gateway("a"), w.gateway("b")}
	urls := []string{gateways[0].tcp, gateways[1].tcp, gateways[0].tcp, gateways[1].tcp}
	count := raceCount()
	var next, alive atomic.Int64
	var group sync.WaitGroup
	begin := time.Now()
	for range 16 {
		group.Go(func() {
			for user := next.Add(1); user <= count && !t.Failed(); user = next.Add(1) {
				n, err := race(t.Context(), gateways, urls, user)
				if err != nil {
					t.Errorf("user %d: %v", user, err)
				}
				alive.Add(int64(n))
			}
		})
	}
	group.Wait()
	healed := uint64(0)
	for _, g := range gateways {
		healed += g.directory.Healed()
	}
	t.Logf("%d races in %v: %d sessions left, %d faults healed", count, time.Since(begin).Round(time.Millisecond), alive.Load(), healed)
	if alive.Load() != count || healed > 0 {
		t.Errorf("want %d sessions and nothing healed", count)
	}
}

// race logs a user in at all urls concurrently and returns how many of the clients finally remain
// logged in.
func race(ctx context.Context, gateways []*member, urls []string, user int64) (alive int, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	clients := make([]*client.Client, len(urls))
	for i, url := range urls {
		if clients[i], err = client.Dial(ctx, url, client.Options{}); err != nil {
			return 0, err
		}
		defer clients[i].Close()
	}
	var group sync.WaitGroup
	for _, c := range clients {
		// The losers are refused or closed.
		group.Go(func() { _ = c.Login(ctx, &wire.CreateSessionRequest{Version: 1, UserId: user}) })
	}
	group.Wait()
	for state := agreement(gateways, user); state != ""; state = agreement(gateways, user) {
		if ctx.Err() != nil {
			return 0, fmt.Errorf("the gateways do not agree: %s", state)
		}
		time.Sleep(time.Millisecond)
	}
	for _, c := range clients {
		if c.Heartbeat(ctx) == nil {
			alive++
		}
	}
	return alive, nil
}

// agreement returns an error until both gateways know the same single session of the user.
func agreement(gateways []*member, user int64) string {
	var held []string
	for _, g := range gateways {
		for _, s := range g.sessions.of(user) {
			held = append(held, fmt.Sprintf("%s/%d", g.options.Node.ID(), s.ID))
		}
	}
	for _, g := range gateways {
		e, _ := g.directory.Lookup(user)
		s, ok := e.Session(wire.DeviceType_DESKTOP)
		if known := fmt.Sprintf("%s/%d", s.NodeID, s.ID); !ok || len(held) != 1 || held[0] != known {
			return fmt.Sprintf("%s knows %s (%v), the sessions are %v", g.options.Node.ID(), known, ok, held)
		}
	}
	return ""
}
