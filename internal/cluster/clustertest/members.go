// SPDX-License-Identifier: Apache-2.0

package clustertest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.org/app/internal/cluster"
	"example.org/app/internal/role"
)

func testMemberJoin(t *testing.T, s *suite) {
	observer := s.connect(t, nil)
	version, err := cluster.ParseVersion("1.2.3-SNAPSHOT")
	if err != nil {
		t.Fatal(err)
	}
	o := cluster.NodeOptions{
		ID: "full", Type: role.Service, Zone: "z", Name: "n", Seed: true, Priority: 7, Version: version,
		MemberHost: "10.0.0.1", MemberPort: 1234, AdminAPIAddress: "http://10.0.0.1:8510", WSAddress: "w", TCPAddress: "t", UDPAddress: "u",
	}
	n := Join(t, s.connect(t, nil), o)
	AwaitMembers(t, observer, "full")
	got, _ := observer.Member("full")
	want := cluster.Member{
		ClusterID: cluster.DefaultClusterID, NodeID: "full", Zone: "z", Name: "n", Version: version, Type: role.Service, Seed: true,
		Priority: 7, MemberHost: "10.0.0.1", MemberPort: 1234, AdminAPIAddress: "http://10.0.0.1:8510", WSAddress: "w",
		TCPAddress: "t", UDPAddress: "u", Status: cluster.Status{HasJoined: true, Healthy: true, Active: true},
	}
	ignored := []cmp.Option{cmpopts.IgnoreFields(cluster.Member{}, "RegistrationDate"), cmpopts.IgnoreFields(cluster.Status{}, "LastHeartbeat")}
	if diff := cmp.Diff(want, got, ignored...); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if time.Since(got.RegistrationDate).Abs() > Timeout || time.Since(got.Status.LastHeartbeat).Abs() > Timeout {
		t.Errorf("dates are %v and %v", got.RegistrationDate, got.Status.LastHeartbeat)
	}
	Await(t, observer, "a heartbeat", func() bool {
		now, _ := observer.Member("full")
		return now.Status.LastHeartbeat.After(got.Status.LastHeartbeat)
	})
	var gone atomic.Bool
	stop := observer.WatchMembers(func(e cluster.MemberEvent) {
		if e.Before != nil && e.Before.NodeID == "full" && e.After == nil {
			gone.Store(true)
		}
	})
	defer stop()
	random := Join(t, n.Cluster(), cluster.NodeOptions{Type: role.Gateway})
	if err := cluster.CheckNodeID(random.ID()); err != nil {
		t.Error(err)
	}
	leave(t, n)
	AwaitMembers(t, observer, random.ID())
	Await(t, observer, "the event of the node that left", gone.Load)
	for _, id := range []string{"a b", "ä", strings.Repeat("x", 65), "a.b", "*"} {
		if _, err := observer.Join(t.Context(), cluster.NodeOptions{ID: id, Type: role.Gateway}); err == nil || !strings.Contains(err.Error(), "letters, digits") {
			t.Errorf("node id %q: error %v", id, err)
		}
	}
}

func testMemberDuplicate(t *testing.T, s *suite) {
	first := s.gateway(t, "same", nil)
	second := s.connect(t, nil)
	_, err := second.Join(t.Context(), cluster.NodeOptions{ID: "same", Type: role.Gateway})
	if !errors.Is(err, cluster.ErrDuplicateNode) || strings.Contains(err.Error(), "\n") {
		t.Errorf("second node: %v", err)
	}
	if _, err := first.Cluster().Join(t.Context(), cluster.NodeOptions{ID: "same", Type: role.Service}); !errors.Is(err, cluster.ErrDuplicateNode) {
		t.Errorf("second node of the process: %v", err)
	}
	if err := first.Healthy(); err != nil {
		t.Errorf("first node: %v", err)
	}
	leave(t, first)
	Join(t, second, cluster.NodeOptions{ID: "same", Type: role.Gateway})
}

func testMemberExpiry(t *testing.T, s *suite) {
	c := s.connect(t, func(o *cluster.Options) { o.MemberTTL = time.Second })
	var gone atomic.Bool
	stop := c.WatchMembers(func(e cluster.MemberEvent) {
		if e.Before != nil && e.Before.NodeID == "leaf" && e.After == nil {
			gone.Store(true)
		}
	})
	defer stop()
	live := Join(t, c, cluster.NodeOptions{ID: "live", Type: role.Gateway})
	for id, seed := range map[string]bool{"seed": true, "leaf": false} {
		m := cluster.Member{NodeID: id, Type: role.Gateway, Seed: seed}
		if err := c.AddMember(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	Await(t, c, "the end of the record that is no seed", gone.Load)
	AwaitMembers(t, c, "live", "seed")
	Await(t, c, "a healthy node", func() bool { return live.Healthy() == nil })
}

func testMemberTakeOver(t *testing.T, s *suite) {
	c := s.connect(t, nil)
	if err := c.AddMember(t.Context(), cluster.Member{NodeID: "planned", Type: role.Service, Name: "by hand"}); err != nil {
		t.Fatal(err)
	}
	AwaitMembers(t, c, "planned")
	if m, _ := c.Member("planned"); m.Status.HasJoined {
		t.Error("a record that was added has joined")
	}
	Join(t, c, cluster.NodeOptions{ID: "planned", Type: role.Service, Name: "itself"})
	Await(t, c, "the node in the place of the record", func() bool {
		m, _ := c.Member("planned")
		return m.Status.HasJoined && m.Name == "itself"
	})
}

// testMemberLeft proves that a node that has left is no member and that its id is free.
func testMemberLeft(t *testing.T, s *suite) {
	c := s.connect(t, nil)
	life := func(join func() *cluster.Node) string {
		n := join()
		Await(t, c, "the node", func() bool {
			alive, certain := c.Alive("node", n.Incarnation())
			return alive && certain
		})
		leave(t, n)
		Await(t, c, "that the node has left", func() bool {
			alive, certain := c.Alive("node", n.Incarnation())
			return !alive && certain
		})
		if m, ok := c.Member("node"); ok || c.Life("node") != "" {
			t.Errorf("a node that has left is %+v", m)
		}
		AwaitMembers(t, c)
		return n.Incarnation()
	}
	join := func() *cluster.Node { return s.service(t, "node", nil) }
	first := life(join)
	if n, err := c.RemoveMembers(t.Context(), []string{"node"}); n != 0 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	if err := c.UpdateMember(t.Context(), "node", cluster.MemberChange{}); !errors.Is(err, cluster.ErrUnknownMember) {
		t.Errorf("update a node that has left: %v", err)
	}
	id := "node"
	if _, err := c.Elect(t.Context(), &id); err == nil {
		t.Error("a node that has left was elected")
	}
	if err := c.AddMember(t.Context(), cluster.Member{NodeID: "node", Type: role.Service}); err != nil {
		t.Error(err)
	}
	AwaitMembers(t, c, "node")
	if second := life(join); second == first {
		t.Error("two nodes have the same life")
	}
	if alive, certain := c.Alive("node", first); alive || !certain {
		t.Errorf("the first life is alive %v, certain %v", alive, certain)
	}
}

func testMemberAdministration(t *testing.T, s *suite) {
	admin := s.connect(t, nil)
	active := make(chan bool, 10)
	n := Join(t, s.connect(t, nil), cluster.NodeOptions{ID: "node", Type: role.Service, OnActive: func(a bool) { active <- a }})
	AwaitMembers(t, admin, "node")
	before := n.Member()
	name, zone, yes, no, priority := "new name", "new zone", true, false, int32(9)
	change := cluster.MemberChange{Name: &name, Zone: &zone, Seed: &yes, Active: &no, Priority: &priority}
	if err := admin.UpdateMember(t.Context(), "node", change); err != nil {
		t.Fatal(err)
	}
	if receive(t, "the callback", active) {
		t.Error("the node was told that it is active")
	}
	changed := func(m cluster.Member) bool {
		return m.Name == name && m.Zone == zone && m.Seed && !m.Status.Active && m.Priority == priority
	}
	if m := n.Member(); !changed(m) || n.Accepting() {
		t.Errorf("the node did not adopt the change: %+v", m)
	}
	var last time.Time
	beats := 0
	Await(t, admin, "heartbeats with the change", func() bool {
		m, _ := admin.Member("node")
		if m.Status.LastHeartbeat.After(last) {
			last = m.Status.LastHeartbeat
			beats++
		}
		return beats > 3 && changed(m)
	})
	// Many administrators at once, against the heartbeats.
	const rounds = 20
	done := make(chan error, rounds)
	for i := range rounds {
		go func() {
			p := int32(100 + i)
			done <- admin.UpdateMember(context.Background(), "node", cluster.MemberChange{Priority: &p})
		}()
	}
	for range rounds {
		if err := receive(t, "an update", done); err != nil {
			t.Error(err)
		}
	}
	Await(t, admin, "the last priority at the node", func() bool {
		m, _ := admin.Member("node")
		return m.Priority >= 100 && n.Member().Priority == m.Priority
	})
	removed, err := admin.RemoveMembers(t.Context(), []string{"node", "nobody", "not valid"})
	if err != nil || removed != 1 {
		t.Errorf("removed %d, %v", removed, err)
	}
	// This process may still see the removed record.
	last = time.Now()
	Await(t, admin, "the registration anew", func() bool {
		m, ok := admin.Member("node")
		return ok && m.Status.LastHeartbeat.After(last) && m.Name == name
	})
	if got := n.Member(); !got.RegistrationDate.Equal(before.RegistrationDate) {
		t.Errorf("the registration date changed from %v to %v", before.RegistrationDate, got.RegistrationDate)
	}
	if err := admin.UpdateMember(t.Context(), "nobody", change); !errors.Is(err, cluster.ErrUnknownMember) {
		t.Errorf("update nobody: %v", err)
	}
	if err := admin.AddMember(t.Context(), cluster.Member{NodeID: "node"}); !errors.Is(err, cluster.ErrMemberExists) {
		t.Errorf("add an existing node: %v", err)
	}
	for _, m := range []cluster.Member{{NodeID: "a b"}, {NodeID: "g", Type: role.Gateway, LeaderEligible: true}} {
		if err := admin.AddMember(t.Context(), m); err == nil {
			t.Errorf("member %+v was added", m)
		}
	}
}

// testStrain proves that a strained node goes on leading, and takes calls only while there is no
// node without strain.
func testStrain(t *testing.T, s *suite) {
	observer := Join(t, s.connect(t, nil), cluster.NodeOptions{ID: "caller", Type: role.Gateway})
	type answer struct{ Node string }
	endpoint := cluster.Endpoint[struct{}, answer]{Name: "who", Role: role.Service}
	var strain atomic.Pointer[cluster.Strain]
	join := func(id string, health func(context.Context) error) *cluster.Node {
		n := Join(t, s.connect(t, nil), cluster.NodeOptions{ID: id, Type: role.Service, Health: health})
		err := cluster.Handle(n, endpoint, func(context.Context, *struct{}) (*answer, error) { return &answer{id}, nil })
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	n := join("strained", func(context.Context) error {
		if strain := strain.Load(); strain != nil {
			return strain
		}
		return nil
	})
	asked := func() (string, error) {
		got, err := cluster.Call(t.Context(), observer, endpoint, &struct{}{})
		if err != nil {
			return "", err
		}
		return got.Node, nil
	}
	shown := func(want bool) func() bool {
		return func() bool {
			m, ok := observer.Cluster().Member("strained")
			return ok && m.Status.Strained == want && m.Status.Healthy
		}
	}
	Await(t, observer.Cluster(), "a node without strain", shown(false))
	strain.Store(&cluster.Strain{Reason: "too much load"})
	Await(t, observer.Cluster(), "a strained node", shown(true))
	if !n.Accepting() || n.Healthy() != nil {
		t.Errorf("accepting %v, healthy %v", n.Accepting(), n.Healthy())
	}
	if got, err := asked(); err != nil || got != "strained" {
		t.Errorf("the only node answers %q, %v", got, err)
	}
	other := join("other", nil)
	// Both may receive calls until the strained node knows the other one.
	Await(t, observer.Cluster(), "calls go to the other node only", func() bool {
		for range 20 {
			if got, err := asked(); err != nil || got != "other" {
				return false
			}
		}
		return true
	})
	if err := other.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := asked(); err != nil || got != "strained" {
		t.Errorf("without the other node %q answers, %v", got, err)
	}
	strain.Store(&cluster.Strain{Reason: "overload", Refuse: true})
	Await(t, observer.Cluster(), "a node that refuses", func() bool { return !n.Accepting() })
	if n.Healthy() != nil {
		t.Errorf("healthy %v", n.Healthy())
	}
	strain.Store(nil)
	Await(t, observer.Cluster(), "a node that has recovered", func() bool { return n.Accepting() && shown(false)() })
	if got, err := asked(); err != nil || got != "strained" {
		t.Errorf("after that %q answers, %v", got, err)
	}
}

func testMemberHealth(t *testing.T, s *suite) {
	observer := s.connect(t, nil)
	var unhealthy atomic.Bool
	n := Join(t, s.connect(t, func(o *cluster.Options) { o.HeartbeatInterval = time.Hour }), cluster.NodeOptions{
		ID: "node", Type: role.Service, Health: func(context.Context) error {
			if unhealthy.Load() {
				panic("ill")
			}
			return nil
		},
	})
	healthy := func(want bool) func() bool {
		return func() bool {
			m, ok := observer.Member("node")
			return ok && m.Status.Healthy == want
		}
	}
	Await(t, observer, "a healthy node", healthy(true))
	unhealthy.Store(true)
	Await(t, observer, "an unhealthy node", healthy(false))
	// The observer may know it first, by the record or by missed heartbeats.
	Await(t, observer, "a node that knows that it is ill", func() bool { return n.Healthy() != nil && !n.Accepting() })
	unhealthy.Store(false)
	Await(t, observer, "a healthy node again", healthy(true))
	// No heartbeat comes for an hour.
	Await(t, observer, "a silent node that is not healthy", healthy(false))
}
