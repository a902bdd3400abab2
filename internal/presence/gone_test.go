// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"slices"
	"testing"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
	"example.org/app/test/need"
)

// cutOff disconnects a gateway a with a session until others take it for gone. When a is back, it
// closes the session, because its client has missed messages. set changes the options of the nodes.
// forget returns a node that sees a come back.
func cutOff(t *testing.T, set func(*cluster.Options), forget func(f *clustertest.Fabric, b *peer, join func(id string) *peer) *peer) {
	t.Helper()
	t.Parallel() // It waits for time limits most of the time.
	f := clustertest.Embedded(t)
	line := &cuttable{Options: f.Options}
	joinOn := func(o cluster.Options, id string) *peer {
		o = clustertest.Fast(o)
		set(&o)
		return startOn(t, clustertest.Join(t, clustertest.Connect(t, o), cluster.NodeOptions{ID: id, Type: role.Gateway}))
	}
	join := func(id string) *peer { return joinOn(f.Options, id) }
	a, b := joinOn(cluster.Options{Server: line}, "a"), join("b")
	awaitPeers(t, a, b)
	one := session(1, wire.DeviceType_DESKTOP, 1, a)
	a.open(t, one)
	b.await(t, "the session", func() bool { return b.sees(1, one) })
	line.set(true)
	last := forget(f, b, join)
	if slices.Contains(a.strays(), one.Key()) {
		t.Error("the session was closed before the gateway is back")
	}
	line.set(false)
	a.await(t, "that the session must go", func() bool { return slices.Contains(a.strays(), one.Key()) })
	last.await(t, "the gateway again", func() bool {
		m, ok := last.node.Cluster().Member("a")
		alive, _ := last.node.Cluster().Alive("a", a.node.Incarnation())
		return ok && m.Status.Healthy && alive
	})
	two := session(2, wire.DeviceType_DESKTOP, 2, a)
	a.open(t, two)
	last.await(t, "who logs in afterwards", func() bool { return last.sees(2, two) })
}

// strays returns the sessions that the gateway was asked to close.
func (h *holder) strays() []SessionKey {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.stray)
}

// expiring makes records expire before the loss of a connection is noticed.
func expiring(o *cluster.Options) { o.AbsenceLimit = time.Hour }

// lasting makes records last longer than the test.
func lasting(o *cluster.Options) {
	o.HeartbeatTimeout, o.MemberTTL, o.AbsenceLimit = time.Hour, time.Hour, 500*time.Millisecond
}

// restart restarts NATS empty and waits until p has read the members and the sessions again.
func (p *peer) restart(t *testing.T, f *clustertest.Fabric) {
	t.Helper()
	before, epoch := p.node.Cluster().Synchronized(), p.table.epoch.Load()
	f.Stop(t)
	f.Start(t)
	p.await(t, "the new server", func() bool {
		now := p.node.Cluster().Synchronized()
		b, err := p.current.await(t.Context())
		return !now.IsZero() && !now.Equal(before) && err == nil && b.epoch > epoch
	})
}

func (p *peer) awaitOffline(t *testing.T, userID int64) {
	t.Helper()
	p.await(t, "that nobody is online", func() bool { return !p.Online(userID) })
}

// TestDeclaredGone disconnects a gateway until others take it for gone, long before its heartbeats
// count as missed.
func TestDeclaredGone(t *testing.T) {
	cutOff(t, lasting, func(_ *clustertest.Fabric, b *peer, _ func(string) *peer) *peer {
		b.awaitOffline(t, 1)
		if m, ok := b.node.Cluster().Member("a"); !ok || m.Status.Healthy {
			t.Errorf("the gateway counts as %+v", m.Status)
		}
		return b
	})
}

// TestRecordExpires disconnects a gateway until its record, or its tombstone, has expired.
func TestRecordExpires(t *testing.T) {
	need.Time(t)
	for name, limit := range map[string]time.Duration{"silent": time.Hour, "marked": 500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			cutOff(t, func(o *cluster.Options) { o.AbsenceLimit = limit }, func(_ *clustertest.Fabric, b *peer, _ func(string) *peer) *peer {
				b.awaitOffline(t, 1)
				b.await(t, "no record", func() bool { _, ok := b.node.Cluster().Member("a"); return !ok })
				return b
			})
		})
	}
}

// TestRecordIsRemoved removes the record of a disconnected gateway as an administrator.
func TestRecordIsRemoved(t *testing.T) {
	need.Time(t)
	cutOff(t, expiring, func(_ *clustertest.Fabric, b *peer, _ func(string) *peer) *peer {
		if n, err := b.node.Cluster().RemoveMembers(t.Context(), []string{"a"}); n != 1 || err != nil {
			t.Errorf("removed %d, %v", n, err)
		}
		b.awaitOffline(t, 1)
		return b
	})
}

// TestServerComesBackEmpty restarts NATS empty while a gateway is disconnected.
func TestServerComesBackEmpty(t *testing.T) {
	need.Time(t)
	cutOff(t, expiring, func(f *clustertest.Fabric, b *peer, _ func(string) *peer) *peer {
		b.restart(t, f)
		b.awaitOffline(t, 1)
		return b
	})
}

// TestServerForgets restarts NATS empty after others have taken a gateway for gone.
func TestServerForgets(t *testing.T) {
	need.Time(t)
	cutOff(t, lasting, func(f *clustertest.Fabric, b *peer, _ func(string) *peer) *peer {
		b.awaitOffline(t, 1)
		b.restart(t, f)
		return b
	})
}

// TestJudgeEnds stops the only node that took a gateway for gone before the gateway is back.
// Another node did not see it.
func TestJudgeEnds(t *testing.T) {
	need.Time(t)
	cutOff(t, expiring, func(_ *clustertest.Fabric, b *peer, join func(string) *peer) *peer {
		b.awaitOffline(t, 1)
		b.Stop()
		ctx, cancel := context.WithTimeout(t.Context(), clustertest.Timeout)
		defer cancel()
		if err := b.node.Cluster().Close(ctx); err != nil {
			t.Error(err)
		}
		return join("c")
	})
}

// TestShortOutage restarts NATS empty with a gateway that is slow, but not so slow that others take
// it for gone. Nothing is closed.
func TestShortOutage(t *testing.T) {
	f := clustertest.Embedded(t)
	line := &cuttable{Options: f.Options}
	join := func(o cluster.Options, id string) *peer {
		o = clustertest.Fast(o)
		o.HeartbeatTimeout, o.MemberTTL = time.Hour, time.Hour
		return startOn(t, clustertest.Join(t, clustertest.Connect(t, o), cluster.NodeOptions{ID: id, Type: role.Gateway}))
	}
	a, b := join(cluster.Options{Server: line}, "a"), join(f.Options, "b")
	awaitPeers(t, a, b)
	one := session(1, wire.DeviceType_DESKTOP, 1, a)
	a.open(t, one)
	b.await(t, "the session", func() bool { return b.sees(1, one) })
	for range 2 {
		line.set(true)
		b.restart(t, f)
		line.set(false)
		b.await(t, "the gateway again", func() bool {
			alive, _ := b.node.Cluster().Alive("a", a.node.Incarnation())
			return alive && b.sees(1, one)
		})
	}
	// An administrator removes the record of a live node.
	if n, err := b.node.Cluster().RemoveMembers(t.Context(), []string{"a"}); n != 1 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	b.await(t, "the gateway again", func() bool { m, ok := b.node.Cluster().Member("a"); return ok && m.Status.Healthy })
	if strays := a.strays(); len(strays) > 0 || !b.Online(1) {
		t.Errorf("the sessions %v were closed", strays)
	}
}

// TestServiceBeginsInEmptyServer restarts NATS empty and starts a service before a gateway is back,
// whose sessions the service does not know. The gateway closes them, but not those that are opened
// afterwards.
func TestServiceBeginsInEmptyServer(t *testing.T) {
	f := clustertest.Embedded(t)
	line := &cuttable{Options: f.Options}
	join := func(o cluster.Options, id string, kind role.Role) *peer {
		o = clustertest.Fast(o)
		o.HeartbeatTimeout, o.MemberTTL = time.Hour, time.Hour
		return startOn(t, clustertest.Join(t, clustertest.Connect(t, o), cluster.NodeOptions{ID: id, Type: kind}))
	}
	a, b := join(cluster.Options{Server: line}, "a", role.Gateway), join(f.Options, "b", role.Service)
	awaitPeers(t, a, b)
	one := session(1, wire.DeviceType_DESKTOP, 1, a)
	a.open(t, one)
	b.await(t, "the session", func() bool { return b.sees(1, one) })
	line.set(true)
	b.restart(t, f)
	c := join(f.Options, "c", role.Service)
	if c.Online(1) || !b.Online(1) {
		t.Errorf("the user is online: %v for a service that has begun, %v for the other one", c.Online(1), b.Online(1))
	}
	line.set(false)
	a.await(t, "that the session must go", func() bool { return slices.Contains(a.strays(), one.Key()) })
	two := session(2, wire.DeviceType_DESKTOP, 2, a)
	a.open(t, two)
	c.await(t, "who logs in afterwards", func() bool { return c.sees(2, two) })
	// The gateway knows the service now.
	f.Stop(t)
	a.await(t, "the outage", func() bool { return a.node.Cluster().Healthy() != nil })
	f.Start(t)
	a.await(t, "the new bucket", func() bool { return a.Healthy() == nil && a.registrar.own.gateway.announced.to(0) == 3 })
	if slices.Contains(a.strays(), two.Key()) {
		t.Error("a session was closed although all services know it")
	}
}
