// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"slices"
	"testing"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// TestDeclaredGone cuts a gateway off until others take it for gone, long before its heartbeats are missed. Its users are
// offline for them. When it is back, it closes the sessions: their clients have missed what was sent meanwhile.
func TestDeclaredGone(t *testing.T) {
	f := clustertest.Embedded(t)
	line := &cuttable{Options: f.Options}
	patient := func(o cluster.Options, id string) *peer {
		o = clustertest.Fast(o)
		o.HeartbeatTimeout, o.MemberTTL, o.AbsenceLimit = time.Hour, time.Hour, 500*time.Millisecond
		return startOn(t, clustertest.Join(t, clustertest.Connect(t, o), cluster.NodeOptions{ID: id, Type: role.Gateway}))
	}
	a, b := patient(cluster.Options{Server: line}, "a"), patient(f.Options, "b")
	awaitPeers(t, a, b)
	one := session(1, wire.DeviceType_DESKTOP, 1, a)
	a.open(t, one)
	b.await(t, "the session", func() bool { return b.sees(1, one) })
	line.set(true)
	b.await(t, "that nobody is online", func() bool { return !b.Online(1) })
	if m, ok := b.node.Cluster().Member("a"); !ok || m.Status.Healthy {
		t.Errorf("the gateway counts as %+v", m.Status)
	}
	line.set(false)
	a.await(t, "that the session must go", func() bool {
		a.holder.mu.Lock()
		defer a.holder.mu.Unlock()
		return slices.Contains(a.stray, one.Key())
	})
	b.await(t, "the gateway again", func() bool {
		m, ok := b.node.Cluster().Member("a")
		return ok && m.Status.Healthy
	})
}
