// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
	"example.org/app/test/need"
)

// TestPartitioned runs those tests of the suite with partitioned users that do not expect a gateway
// to know its writes at once.
func TestPartitioned(t *testing.T) {
	split(t)
	keepers = []string{"keeper1", "keeper2"}
	defer func() { keepers = nil }()
	for _, test := range []struct {
		name string
		run  func(t *testing.T, f *clustertest.Fabric)
	}{
		{"OpenTogether", testOpenTogether},
		{"OpenTwice", testOpenTwice},
		{"Activity", testActivity},
		{"Disconnect", testDisconnect},
		{"Many", testMany},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := clustertest.Embedded(t)
			for _, id := range keepers {
				start(t, f.Options, id, role.Service)
			}
			test.run(t, f)
		})
	}
}

// split partitions the users of a test.
func split(t *testing.T) {
	layout = Partitions
	t.Cleanup(func() { layout = 1 })
}

// quickly makes a service soon drop the partitions of others.
func quickly(o *Options) { o.KeepInterval = time.Second }

// size returns the number of users that a process knows.
func (p *peer) size() (n int) {
	p.table.each(func(int64, *record) { n++ })
	return n
}

// locates reports whether a process finds exactly the given users, each at the gateway.
func (p *peer) locates(t testing.TB, want map[int64]string, users []int64) bool {
	found, unknown := p.Finder().Locate(t.Context(), users)
	if len(unknown) > 0 {
		return false
	}
	count := 0
	for _, at := range found {
		for _, userID := range at.UserIDs {
			if count++; want[userID] != at.NodeID {
				return false
			}
		}
	}
	return count == len(want)
}

// TestPartitions starts and stops services: each knows its part of the users, a gateway knows its
// own, and every process finds every user at all times.
func TestPartitions(t *testing.T) {
	split(t)
	f := clustertest.Embedded(t)
	a, b := start(t, f.Options, "a", role.Gateway), start(t, f.Options, "b", role.Gateway)
	services := []*peer{}
	for i := range 4 {
		services = append(services, start(t, f.Options, fmt.Sprint("s", i), role.Service, quickly))
	}
	awaitPeers(t, append(slices.Clone(services), a, b)...)
	const users = 2000
	want, ids := map[int64]string{}, make([]int64, 0, 2*users)
	var group sync.WaitGroup
	for user := range int64(users) {
		g := []*peer{a, b}[user%2]
		want[user] = g.node.ID()
		ids = append(ids, user, user+users)
		if user%20 == 0 {
			group.Wait()
		}
		group.Go(func() { g.open(t, session(user, wire.DeviceType_DESKTOP, 1, g)) })
	}
	group.Wait()
	complete := func(services []*peer) {
		t.Helper()
		total := 0
		for _, s := range services {
			s.await(t, "its users", func() bool {
				o, _ := s.finder.owners()
				if len(o.services) != len(services) {
					return false
				}
				expected := 0
				for user := range int64(users) {
					for _, i := range o.ranks[s.table.partition(user)][:2] {
						if o.services[i] == s.node.ID() {
							expected++
						}
					}
				}
				for _, p := range o.of(s.node.ID()) {
					if !s.table.complete[p].Load() {
						return false
					}
				}
				return s.size() == expected
			})
			total += s.size()
		}
		t.Logf("%d services know %d users of %d", len(services), total, users)
	}
	complete(services)
	for _, s := range services {
		if size := s.size(); size > users*6/10 {
			t.Errorf("%s knows %d users of %d", s.node.ID(), size, users)
		}
	}
	for _, g := range []*peer{a, b} {
		if size := g.size(); size != users/2 {
			t.Errorf("gateway %s knows %d users, want its own", g.node.ID(), size)
		}
	}
	everybody := append(slices.Clone(services), a, b)
	for _, p := range everybody {
		if !p.locates(t, want, ids) {
			t.Errorf("%s does not find all users", p.node.ID())
		}
		if total, nodes := p.Count(); total != users || nodes["a"] != users/2 {
			t.Errorf("%s counts %d, %v", p.node.ID(), total, nodes)
		}
	}
	// A service leaves: the seconds own its partitions, and others read them to become the new
	// seconds.
	gone := services[0]
	gone.Stop()
	if err := gone.node.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if !a.locates(t, want, ids) || !services[1].locates(t, want, ids) {
			t.Fatal("users are lost with a service")
		}
	}
	complete(services[1:])
	// A new one answers once it has read its partitions.
	services[0] = start(t, f.Options, "s9", role.Service, quickly)
	for range 50 {
		if !a.locates(t, want, ids) || !services[0].locates(t, want, ids) {
			t.Fatal("users are lost when a service comes")
		}
	}
	complete(services)
	// A logout is visible everywhere.
	a.Close(t.Context(), 0, wire.DeviceType_DESKTOP, 1)
	delete(want, 0)
	for _, p := range append(slices.Clone(services), a, b) {
		p.await(t, "the end of a session", func() bool { return p.locates(t, want, ids) })
	}
	if a.table.get(0) != nil {
		t.Error("the gateway remembers a user who is gone")
	}
}

// TestPartitionedReplaced replaces sessions at another gateway: the former gateway learns of it
// without following them.
func TestPartitionedReplaced(t *testing.T) {
	need.Time(t)
	split(t)
	f := clustertest.Embedded(t)
	a, b := start(t, f.Options, "a", role.Gateway), start(t, f.Options, "b", role.Gateway)
	s := start(t, f.Options, "s", role.Service)
	awaitPeers(t, a, b, s)
	for user := range int64(50) {
		old := session(user, wire.DeviceType_DESKTOP, 1, a)
		a.open(t, old)
		s.await(t, "the session", func() bool { return s.sees(user, old) })
		now := session(user, wire.DeviceType_DESKTOP, 2, b)
		if replaced := b.open(t, now); len(replaced) != 1 || replaced[0].NodeID != "a" {
			t.Fatalf("replaced %+v", replaced)
		}
		a.await(t, "the loss", func() bool { return a.has(old.Key()) })
		s.await(t, "the new session", func() bool { return s.sees(user, now) })
	}
	if a.size() != 0 {
		t.Errorf("the gateway remembers %d users who are gone", a.size())
	}
}

// TestPartitionedOutage restarts NATS empty: the gateways announce their sessions, services keep
// what they knew, and a service that gets partitions meanwhile does not report users as offline.
func TestPartitionedOutage(t *testing.T) {
	split(t)
	f := clustertest.Embedded(t)
	a, b := start(t, f.Options, "a", role.Gateway), start(t, f.Options, "b", role.Gateway)
	services := []*peer{start(t, f.Options, "s0", role.Service), start(t, f.Options, "s1", role.Service), start(t, f.Options, "s2", role.Service)}
	everybody := append(slices.Clone(services), a, b)
	awaitPeers(t, everybody...)
	const users = 500
	want, ids := map[int64]string{}, []int64{}
	for user := range int64(users) {
		g := []*peer{a, b}[user%2]
		g.open(t, session(user, wire.DeviceType_DESKTOP, 1, g))
		want[user] = g.node.ID()
		ids = append(ids, user)
	}
	for _, p := range everybody {
		p.await(t, "everybody", func() bool { return p.locates(t, want, ids) })
	}
	for range 2 {
		f.Stop(t)
		for _, p := range everybody {
			p.await(t, "the outage", func() bool { return p.node.Cluster().Healthy() != nil })
		}
		f.Start(t)
		for _, p := range services {
			p.await(t, "everybody again", func() bool {
				found, unknown := p.Finder().Locate(t.Context(), ids)
				count := 0
				for _, at := range found {
					count += len(at.UserIDs)
				}
				if count+len(unknown) != users {
					t.Fatalf("%s takes users for offline: %d were found and %d unknown", p.node.ID(), count, len(unknown))
				}
				return p.Healthy() == nil && len(unknown) == 0 && p.locates(t, want, ids)
			})
		}
		for _, g := range []*peer{a, b} {
			g.await(t, "its announcement", func() bool { return g.Healthy() == nil && g.registrar.announcedAll() })
			if len(g.lost) > 0 {
				t.Fatalf("%s lost %v", g.node.ID(), g.lost)
			}
		}
	}
}

// TestPartitionedSwitch partitions the users of a running cluster: the bucket decides, not the
// options, until NATS has come back empty.
func TestPartitionedSwitch(t *testing.T) {
	f := clustertest.Embedded(t)
	first := start(t, f.Options, "first", role.Service)
	split(t)
	a, b := start(t, f.Options, "a", role.Gateway), start(t, f.Options, "b", role.Gateway)
	services := []*peer{start(t, f.Options, "s0", role.Service), start(t, f.Options, "s1", role.Service), start(t, f.Options, "s2", role.Service)}
	everybody := append(slices.Clone(services), a, b)
	first.Stop()
	if err := first.node.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitPeers(t, everybody...)
	const users = 300
	want, ids := map[int64]string{}, []int64{}
	for user := range int64(users) {
		g := []*peer{a, b}[user%2]
		g.open(t, session(user, wire.DeviceType_DESKTOP, 1, g))
		want[user] = g.node.ID()
		ids = append(ids, user)
	}
	for _, p := range everybody {
		p.await(t, "everybody", func() bool { return p.size() == users && p.locates(t, want, ids) })
	}
	f.Stop(t)
	for _, p := range everybody {
		p.await(t, "the outage", func() bool { return p.node.Cluster().Healthy() != nil })
	}
	f.Start(t)
	for _, p := range everybody {
		p.await(t, "partitions", func() bool { return p.table.partitions.Load() == Partitions && p.locates(t, want, ids) })
	}
	for _, g := range []*peer{a, b} {
		g.await(t, "its own users only", func() bool { return g.size() == users/2 })
		if len(g.lost) > 0 {
			t.Errorf("%s lost %v", g.node.ID(), g.lost)
		}
	}
}
