// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"sync"
	"testing"
	"time"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// testOvertaken delays the login of a session until a later one at the same gateway is done.
func testOvertaken(t *testing.T, f *clustertest.Fabric) {
	g := start(t, f.Options, "g", role.Gateway)
	older, newer := session(1, wire.DeviceType_DESKTOP, 1, g), session(1, wire.DeviceType_DESKTOP, 2, g)
	older.gateway = g.registrar.own.gateway
	g.registrar.own.begin(1)
	at, err := g.writer.change(t.Context(), 1, false, func(content, []Session, place) (*content, error) {
		return &content{status: wire.UserStatus_AVAILABLE, sessions: []Session{older}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	g.open(t, newer)
	g.registrar.own.end(1, &older, at, false)
	g.registrar.check(1)
	if sessions, settled := g.registrar.own.of(1); !settled || len(sessions) != 1 || sessions[0].ID != newer.ID {
		t.Errorf("the own sessions are %+v", sessions)
	}
	if g.Owns(older.Key()) || !g.Owns(newer.Key()) || !g.sees(1, newer) {
		t.Errorf("%+v", g.table.get(1))
	}
	if len(g.registrar.own.take()) > 0 || g.has(newer.Key()) {
		t.Error("the later session is not left alone")
	}
}

// testOlderNews compares an own session with an older entry, as with late news.
func testOlderNews(t *testing.T, f *clustertest.Fabric) {
	a, b := start(t, f.Options, "a", role.Gateway), start(t, f.Options, "b", role.Gateway)
	awaitPeers(t, a, b)
	before, after := session(1, wire.DeviceType_DESKTOP, 1, b), session(1, wire.DeviceType_DESKTOP, 2, a)
	b.open(t, before)
	a.await(t, "the first session", func() bool { return a.sees(1, before) })
	old := a.table.get(1)
	a.open(t, after)
	b.await(t, "its loss", func() bool { return b.has(before.Key()) })
	s := a.table.shard(1)
	s.mu.Lock()
	a.table.replace(s, 1, s.records[1], old)
	s.mu.Unlock()
	a.registrar.check(1)
	if err := a.registrar.settle(t.Context(), 1, false); err != nil {
		t.Error(err)
	}
	if !a.Owns(after.Key()) || a.has(after.Key()) {
		t.Error("a session was given up for one that it had replaced")
	}
	a.await(t, "the session", func() bool {
		value, _, err := a.currentBucket(t).read(t.Context(), a.currentBucket(t).keyOf(1))
		if err != nil {
			t.Fatal(err)
		}
		c, err := decode(1, value, a.gateways.intern)
		return err == nil && len(c.sessions) == 1 && c.sessions[0].ID == after.ID
	})
}

// currentBucket returns the current bucket.
func (p *peer) currentBucket(t testing.TB) *bucket {
	t.Helper()
	b, err := p.current.await(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// testVerify causes each fault.
func testVerify(t *testing.T, f *clustertest.Fabric) {
	var mu sync.Mutex
	healed := map[Fault]int{}
	g := start(t, f.Options, "g", role.Gateway, func(o *Options) {
		o.VerifyInterval = 10 * time.Millisecond
		o.Healed = func(fault Fault) {
			mu.Lock()
			defer mu.Unlock()
			healed[fault]++
		}
	})
	count := func(fault Fault) int {
		mu.Lock()
		defer mu.Unlock()
		return healed[fault]
	}
	sound := session(1, wire.DeviceType_DESKTOP, 1, g)
	g.open(t, sound)
	g.hold(sound.Key())

	stray := SessionKey{UserID: 2, Device: wire.DeviceType_DESKTOP, ID: 5}
	g.hold(stray)
	g.await(t, "that the stray session is closed", func() bool {
		g.holder.mu.Lock()
		defer g.holder.mu.Unlock()
		return len(g.stray) == 1 && g.stray[0] == stray
	})

	// The holder claims no session without a positive id.
	abandoned := session(3, wire.DeviceType_DESKTOP, 0, g)
	g.open(t, abandoned)
	g.await(t, "that nobody waits for the abandoned session", func() bool { return !g.Online(3) && !g.Owns(abandoned.Key()) })

	missing := ownSession{Session: session(4, wire.DeviceType_DESKTOP, 6, g)}
	missing.gateway = g.registrar.own.gateway
	g.registrar.own.mu.Lock()
	g.registrar.own.sessions[4] = []ownSession{missing}
	g.registrar.own.mu.Unlock()
	g.hold(missing.Key())
	g.await(t, "the missing session", func() bool { return g.sees(4, missing.Session) })

	// Late news has the same effect.
	for user := int64(5); count(FaultForeign) == 0; user++ {
		foreign := session(user, wire.DeviceType_DESKTOP, 7, g)
		g.open(t, foreign)
		g.registrar.own.mu.Lock()
		delete(g.registrar.own.sessions, user)
		g.registrar.own.mu.Unlock()
		g.await(t, "that the foreign session is gone", func() bool { return !g.Online(user) })
	}

	for _, fault := range []Fault{FaultStray, FaultAbandoned, FaultMissing, FaultForeign} {
		if n := count(fault); n == 0 {
			t.Errorf("no fault %q was counted", fault)
		}
	}
	if g.Healed() == 0 || !g.Owns(sound.Key()) || !g.sees(1, sound) || len(g.lost) > 0 {
		t.Error("a session without fault was touched")
	}
}
