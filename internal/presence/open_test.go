// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

func testOpenRefused(t *testing.T, f *clustertest.Fabric) {
	a, b := start(t, f.Options, "a", role.Gateway), start(t, f.Options, "b", role.Gateway)
	awaitPeers(t, a, b)
	refused := errors.New("somebody is there")
	decide := func(current Entry) ([]wire.DeviceType, error) {
		if len(current.Sessions) > 0 {
			return nil, refused
		}
		return nil, nil
	}
	for user := range int64(40) {
		var failures [2]error
		var group sync.WaitGroup
		for i, p := range []*peer{a, b} {
			group.Go(func() {
				_, failures[i] = p.Open(context.Background(), session(user, wire.DeviceType_DESKTOP, 1, p), wire.UserStatus_AVAILABLE, decide)
			})
		}
		group.Wait()
		winner, loser := a, failures[1]
		if failures[0] != nil {
			winner, loser = b, failures[0]
		}
		if (failures[0] == nil) == (failures[1] == nil) || !errors.Is(loser, refused) {
			t.Fatalf("user %d: %v", user, failures)
		}
		for _, p := range []*peer{a, b} {
			p.await(t, "the winner", func() bool { return p.sees(user, session(user, wire.DeviceType_DESKTOP, 1, winner)) })
		}
	}
}

// testOpenTwice opens a session again, as after a lost response: it does not conflict with itself,
// and the sessions that it ended are still returned.
func testOpenTwice(t *testing.T, f *clustertest.Fabric) {
	g := start(t, f.Options, "g", role.Gateway)
	old, s := session(1, wire.DeviceType_DESKTOP, 1, g), session(1, wire.DeviceType_DESKTOP, 2, g)
	g.open(t, old)
	bucket, err := g.current.await(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	replaced, err := g.Open(t.Context(), s, wire.UserStatus_AVAILABLE, func(current Entry) ([]wire.DeviceType, error) {
		if asked++; asked > 1 {
			if len(current.Sessions) > 0 {
				return nil, fmt.Errorf("the session is in its own way: %v", current.Sessions)
			}
			return nil, nil
		}
		// The write of this attempt succeeds, but its response is lost.
		written := s
		written.gateway = g.registrar.own.gateway
		_, err := bucket.put(t.Context(), bucket.keyOf(1), (&content{sessions: []Session{written}}).encode(), g.table.get(1).revision)
		return nil, err
	})
	if err != nil || asked != 2 || len(replaced) != 1 || replaced[0].ID != old.ID {
		t.Errorf("asked %d times, replaced %v: %v", asked, replaced, err)
	}
	g.await(t, "the session", func() bool { return g.sees(1, s) })
}
