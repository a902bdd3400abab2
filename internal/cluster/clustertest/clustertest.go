// SPDX-License-Identifier: Apache-2.0

// Package clustertest holds the suite that package cluster must pass on every kind of NATS server,
// and starts such servers for it and for the tests of packages that use the cluster. It is for
// tests only.
package clustertest

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
)

// Timeout bounds every wait of the suite. It is long because the race detector and other work make
// everything slow.
const Timeout = 5 * time.Minute

// A Fabric is a NATS server that several connections of the test share.
type Fabric struct {
	// Options say how to reach it.
	Options cluster.Options
	// Stop stops the server; Start starts it again, empty, at the same address.
	Stop, Start func(t testing.TB)
}

// Run runs the suite. fabric and db return a fresh one at each call.
func Run(t *testing.T, fabric func(t testing.TB) *Fabric, db func(t testing.TB) *store.DB) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s *suite)
	}{
		{"Call", testCall},
		{"CallBalance", testCallBalance},
		{"CallDeadline", testCallDeadline},
		{"CallRetry", testCallRetry},
		{"CallReady", testCallReady},
		{"CallSize", testCallSize},
		{"CallProtocol", testCallProtocol},
		{"CallErrors", testCallErrors},
		{"CallBusy", testCallBusy},
		{"CallState", testCallState},
		{"CallDrain", testCallDrain},
		{"Clock", testClock},
		{"TopicFanOut", testTopicFanOut},
		{"TopicOrder", testTopicOrder},
		{"TopicSlow", testTopicSlow},
		{"MemberJoin", testMemberJoin},
		{"MemberDuplicate", testMemberDuplicate},
		{"MemberLeft", testMemberLeft},
		{"MemberExpiry", testMemberExpiry},
		{"MemberTakeOver", testMemberTakeOver},
		{"MemberAdministration", testMemberAdministration},
		{"MemberHealth", testMemberHealth},
		{"Strain", testStrain},
		{"MemberStore", testMemberStore},
		{"MemberStoreOutage", testMemberStoreOutage},
		{"LeaderPriority", testLeaderPriority},
		{"LeaderElect", testLeaderElect},
		{"LeaderFence", testLeaderFence},
		{"LeaderChurn", testLeaderChurn},
		{"LeaderSchedule", testLeaderSchedule},
		{"Outage", testOutage},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := fabric(t)
			test.run(t, &suite{fabric: f, db: sync.OnceValue(func() *store.DB { return db(t) }), newDB: func() *store.DB { return db(t) }})
		})
	}
}

// suite is the fixture of one test.
type suite struct {
	fabric *Fabric
	db     func() *store.DB
	// newDB opens another database at each call.
	newDB func() *store.DB
}

// Fast returns options with times that suit tests.
func Fast(o cluster.Options) cluster.Options {
	o.HeartbeatInterval = 200 * time.Millisecond
	o.HeartbeatTimeout = 4 * time.Second
	o.MemberTTL = 6 * time.Second
	o.HealthInterval = 100 * time.Millisecond
	o.LeaseTime = 4 * time.Second
	o.NumberLease = 10 * time.Second
	return o
}

// connect connects to the fabric and closes the connection when the test ends.
func (s *suite) connect(t testing.TB, change func(o *cluster.Options)) *cluster.Cluster {
	t.Helper()
	o := Fast(s.fabric.Options)
	if change != nil {
		change(&o)
	}
	return Connect(t, o)
}

// Connect connects and closes the connection when the test ends.
func Connect(t testing.TB, o cluster.Options) *cluster.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	c, err := cluster.Connect(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), Timeout)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("close the cluster: %v", err)
		}
	})
	return c
}

// Join joins a node, or fails the test.
func Join(t testing.TB, c *cluster.Cluster, o cluster.NodeOptions) *cluster.Node {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	n, err := c.Join(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// service connects and joins a service node without leadership.
func (s *suite) service(t testing.TB, id string, change func(o *cluster.Options)) *cluster.Node {
	t.Helper()
	return Join(t, s.connect(t, change), cluster.NodeOptions{ID: id, Type: role.Service})
}

// candidate connects and joins a service node that may lead.
func (s *suite) candidate(t testing.TB, id string, priority int32) *cluster.Node {
	t.Helper()
	c := s.connect(t, func(o *cluster.Options) { o.Store = s.db() })
	return Join(t, c, cluster.NodeOptions{ID: id, Type: role.Service, LeaderEligible: true, Priority: priority})
}

func leave(t testing.TB, n *cluster.Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	if err := n.Leave(ctx); err != nil {
		t.Errorf("leave: %v", err)
	}
}

// Await waits until the condition, which depends on what c knows of the cluster, holds.
func Await(t testing.TB, c *cluster.Cluster, what string, condition func() bool) {
	t.Helper()
	limit := time.NewTimer(Timeout)
	defer limit.Stop()
	// A missed heartbeat causes no event, so poll.
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		changed := c.Changed()
		if condition() {
			return
		}
		select {
		case <-changed:
		case <-look.C:
		case <-limit.C:
			t.Fatalf("waited in vain: %s; members are %+v", what, c.Members())
		}
	}
}

// AwaitMembers waits until c knows exactly the ids.
func AwaitMembers(t testing.TB, c *cluster.Cluster, ids ...string) {
	t.Helper()
	Await(t, c, "members "+joined(ids), func() bool {
		var known []string
		for _, m := range c.Members() {
			known = append(known, m.NodeID)
		}
		return joined(known) == joined(ids)
	})
}

func joined(ids []string) string {
	text := ""
	for _, id := range ids {
		text += id + " "
	}
	return text
}

// awaitLeader waits until c sees the node as leader and returns its fence.
func awaitLeader(t testing.TB, c *cluster.Cluster, id string) (fence int64) {
	t.Helper()
	Await(t, c, "leader "+id, func() bool {
		leader, number, ok := c.Leader()
		fence = number
		return ok && leader.NodeID == id
	})
	return fence
}

// receive waits for a value from the channel.
func receive[T any](t testing.TB, what string, channel <-chan T) T {
	t.Helper()
	limit := time.NewTimer(Timeout)
	defer limit.Stop()
	select {
	case value := <-channel:
		return value
	case <-limit.C:
		t.Fatalf("waited in vain: %s", what)
		panic("unreachable")
	}
}

// Embedded returns a fabric of a server inside this process.
func Embedded(t testing.TB) *Fabric {
	t.Helper()
	e := &embedded{}
	e.start(t)
	t.Cleanup(func() { e.stop(t) })
	return &Fabric{Options: cluster.Options{Server: e}, Stop: e.stop, Start: e.start}
}

// Listen starts an embedded server that other processes reach with the token "secret". It is closed
// when the test ends.
func Listen(t testing.TB) *cluster.Server {
	t.Helper()
	server, err := cluster.StartServer(t.Context(), cluster.ServerOptions{Listen: "127.0.0.1:0", Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// embedded is a server that can be replaced by an empty one.
type embedded struct {
	mu     sync.Mutex
	server *cluster.Server
}

func (e *embedded) start(t testing.TB) {
	t.Helper()
	server, err := cluster.StartServer(context.Background(), cluster.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.server = server
}

func (e *embedded) stop(t testing.TB) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.server == nil {
		return
	}
	if err := e.server.Close(); err != nil {
		t.Error(err)
	}
	e.server = nil
}

// InProcessConn connects to the current server.
func (e *embedded) InProcessConn() (net.Conn, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.server == nil {
		return nil, errors.New("the server is stopped")
	}
	return e.server.InProcessConn()
}

// External returns a fabric of a server in a process of its own.
func External(t testing.TB) *Fabric {
	t.Helper()
	s := StartServer(t)
	return &Fabric{
		Options: cluster.Options{URL: s.URL()},
		Stop:    func(t testing.TB) { s.Stop(t) },
		Start:   func(t testing.TB) { s.Start(t, true) },
	}
}
