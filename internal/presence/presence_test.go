// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
	"example.org/app/test/need"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		runChild()
	}
	if os.Getenv(serviceVariable) != "" {
		runService()
	}
	// Tests that run in parallel wait for time limits most of the time; there may be more of them
	// than processors.
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	goleak.VerifyTestMain(cleaning{m})
}

// cleaning removes the server program after the tests.
type cleaning struct{ *testing.M }

func (c cleaning) Run() int {
	code := c.M.Run()
	if err := clustertest.Cleanup(); err != nil {
		fmt.Fprintln(os.Stderr, "remove the NATS server program:", err)
		code = max(code, 1)
	}
	return code
}

func TestEmbedded(t *testing.T) { runSuite(t, clustertest.Embedded) }

// layout is the number of partitions in the tests.
var layout = 1

// keepers are services that follow partitions in all tests of a suite.
var keepers []string

func TestExternal(t *testing.T) {
	need.Time(t)
	runSuite(t, clustertest.External)
}

func runSuite(t *testing.T, fabric func(t testing.TB) *clustertest.Fabric) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, f *clustertest.Fabric)
	}{
		{"Open", testOpen},
		{"OpenClose", testOpenClose},
		{"OpenConflicts", testOpenConflicts},
		{"OpenTogether", testOpenTogether},
		{"OpenRefused", testOpenRefused},
		{"OpenTwice", testOpenTwice},
		{"Status", testStatus},
		{"Position", testPosition},
		{"Activity", testActivity},
		{"Disconnect", testDisconnect},
		{"Leave", testLeave},
		{"Outage", testOutage},
		{"Ghost", testGhost},
		{"Overtaken", testOvertaken},
		{"OlderNews", testOlderNews},
		{"Verify", testVerify},
		{"Many", testMany},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, fabric(t)) })
	}
}

// peer is a node with its directory.
type peer struct {
	*Directory
	holder
	node *cluster.Node
}

func start(t testing.TB, o cluster.Options, id string, typ role.Role, changes ...func(*Options)) *peer {
	t.Helper()
	c := clustertest.Connect(t, clustertest.Fast(o))
	return startOn(t, clustertest.Join(t, c, cluster.NodeOptions{ID: id, Type: typ}), changes...)
}

func startOn(t testing.TB, n *cluster.Node, changes ...func(*Options)) *peer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), clustertest.Timeout)
	defer cancel()
	o := Options{SweepInterval: 200 * time.Millisecond, Locations: Locations{Enabled: true}, Partitions: layout}
	for _, change := range changes {
		change(&o)
	}
	d, err := Start(ctx, n, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Stop)
	p := &peer{Directory: d, node: n}
	d.Attach(&p.holder)
	return p
}

// Lookup, Online, Locate and Count use the Finder, for all users of the cluster.

func (p *peer) Lookup(userID int64) (Entry, bool) {
	entries, err := p.Finder().Lookup(context.Background(), []int64{userID})
	if err != nil {
		return Entry{}, false
	}
	return entries[0], len(entries[0].Sessions) > 0
}

func (p *peer) Online(userID int64) bool {
	_, ok := p.Lookup(userID)
	return ok
}

func (p *peer) Locate(userIDs []int64) []Destination {
	found, _ := p.Finder().Locate(context.Background(), userIDs)
	return found
}

func (p *peer) Count() (int, map[string]int) {
	total, nodes, _ := p.Finder().Count(context.Background())
	return total, nodes
}

// open opens a session, or fails the test. It retries while the server is down.
func (p *peer) open(t testing.TB, s Session) (replaced []Session) {
	t.Helper()
	replaced, err := p.openPatiently(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return replaced
}

// openPatiently opens a session as a client does: if the server is unavailable, it tries again. On
// a loaded machine a write may take longer than a login may.
func (p *peer) openPatiently(ctx context.Context, s Session) (replaced []Session, err error) {
	for range 50 {
		replaced, err = p.Open(ctx, s, wire.UserStatus_AVAILABLE, nil)
		if e := new(apierr.Error); !errors.As(err, &e) || e.Code != apierr.ServerUnavailable {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return replaced, err
}

func (p *peer) await(t testing.TB, what string, condition func() bool) {
	t.Helper()
	clustertest.Await(t, p.node.Cluster(), p.node.ID()+" sees "+what, condition)
}

// sees reports whether p knows exactly these sessions of the user, in any order.
func (p *peer) sees(userID int64, want ...Session) bool {
	e, ok := p.Lookup(userID)
	if ok != (len(want) > 0) || len(e.Sessions) != len(want) {
		return false
	}
	for _, w := range want {
		s, ok := e.Session(w.Device)
		if !ok || s.ID != w.ID || s.NodeID != w.NodeID {
			return false
		}
	}
	return true
}

func session(userID int64, device wire.DeviceType, id int32, at *peer) Session {
	return Session{UserID: userID, Device: device, ID: id, NodeID: at.node.ID(), LoginDate: time.UnixMilli(1234567890123)}
}

func awaitPeers(t testing.TB, peers ...*peer) {
	t.Helper()
	ids := make([]string, len(peers))
	for i, p := range peers {
		ids[i] = p.node.ID()
	}
	ids = append(ids, keepers...)
	slices.Sort(ids)
	for _, p := range peers {
		clustertest.AwaitMembers(t, p.node.Cluster(), ids...)
	}
}

func testOpen(t *testing.T, f *clustertest.Fabric) {
	g, s := start(t, f.Options, "g", role.Gateway), start(t, f.Options, "s", role.Service)
	want := Session{
		UserID: -5, Device: wire.DeviceType_IOS, ID: 7, NodeID: "g", Version: 1, IP: netip.MustParseAddr("2001:db8::1"),
		LoginDate: time.UnixMilli(1700000000123).UTC(), Details: map[string]string{"token": "x", "": ""},
		LoginLocation: &Location{
			Position: Position{Longitude: 13.4, Latitude: -52.5, Date: time.UnixMilli(1).UTC()}, Details: map[string]string{"city": "B"},
		},
		Position: &Position{Longitude: 1, Latitude: 2, Date: time.UnixMilli(3).UTC()},
	}
	if _, ok := g.Lookup(-5); ok || g.Online(-5) {
		t.Error("online before")
	}
	if _, err := s.Open(t.Context(), want, wire.UserStatus_AVAILABLE, nil); err == nil {
		t.Error("a session was opened at a service")
	}
	replaced, err := g.Open(t.Context(), want, wire.UserStatus_BUSY, func(current Entry) ([]wire.DeviceType, error) {
		if current.Status != wire.UserStatus_OFFLINE || len(current.Sessions) > 0 {
			t.Errorf("a user who is offline is %+v", current)
		}
		return nil, nil
	})
	if err != nil || len(replaced) > 0 {
		t.Fatal(replaced, err)
	}
	compare := func(p *peer) {
		t.Helper()
		got, ok := p.Lookup(-5)
		entry := Entry{UserID: -5, Status: wire.UserStatus_BUSY, Sessions: []Session{want}}
		options := []cmp.Option{cmpopts.IgnoreUnexported(Session{}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })}
		if diff := cmp.Diff(entry, got, options...); !ok || diff != "" {
			t.Errorf("%s: -want +got:\n%s", p.node.ID(), diff)
		}
		if diff := cmp.Diff([]Destination{{"g", []int64{-5}}}, p.Locate([]int64{1, -5, 2})); diff != "" {
			t.Errorf("%s: -want +got:\n%s", p.node.ID(), diff)
		}
		if total, nodes := p.Count(); total != 1 || nodes["g"] != 1 {
			t.Errorf("%s: count is %d, %v", p.node.ID(), total, nodes)
		}
	}
	// The node that opened it knows it at once.
	compare(g)
	s.await(t, "the session", func() bool { return s.Online(-5) })
	compare(s)
	// A second device at the same gateway is the same destination.
	g.open(t, session(-5, wire.DeviceType_BROWSER, 8, g))
	if found := g.Locate([]int64{-5, 3}); len(found) != 1 || len(found[0].UserIDs) != 1 {
		t.Errorf("located at %v", found)
	}
	g.Close(t.Context(), -5, wire.DeviceType_BROWSER, 8)
	// Closing a session that does not exist does nothing.
	g.Close(t.Context(), -5, wire.DeviceType_IOS, 6)
	g.Close(t.Context(), 99, wire.DeviceType_IOS, 6)
	if !g.sees(-5, want) {
		t.Error("another session was closed")
	}
	for i := range int32(3) {
		// A new login finds the marker of the removed key.
		g.Close(t.Context(), -5, wire.DeviceType_IOS, 7+i)
		if g.Online(-5) {
			t.Error("the node that closed it still sees it")
		}
		s.await(t, "nobody", func() bool { return !s.Online(-5) })
		g.open(t, session(-5, wire.DeviceType_IOS, 8+i, g))
		s.await(t, "the user again", func() bool { return s.Online(-5) })
	}
}

// testOpenClose checks after each change, whether its news is early or late.
func testOpenClose(t *testing.T, f *clustertest.Fabric) {
	g, s := start(t, f.Options, "g", role.Gateway), start(t, f.Options, "s", role.Service)
	awaitPeers(t, g, s)
	var group sync.WaitGroup
	for user := range int64(16) {
		group.Go(func() {
			for id := range int32(60) {
				one := session(user, wire.DeviceType_DESKTOP, id, g)
				if _, err := g.Open(context.Background(), one, wire.UserStatus_AVAILABLE, nil); err != nil {
					t.Error(err)
					return
				}
				if !g.sees(user, one) {
					t.Errorf("user %d does not have session %d", user, id)
				}
				g.Close(context.Background(), user, wire.DeviceType_DESKTOP, id)
				if !g.sees(user) {
					t.Errorf("user %d still has session %d", user, id)
				}
			}
		})
	}
	group.Wait()
	for _, p := range []*peer{g, s} {
		p.await(t, "an empty table", func() bool {
			count := 0
			p.table.each(func(int64, *record) { count++ })
			return count == 0
		})
	}
	if len(g.lost) > 0 {
		t.Errorf("lost %v", g.lost)
	}
}

func testOpenConflicts(t *testing.T, f *clustertest.Fabric) {
	a, b := start(t, f.Options, "a", role.Gateway), start(t, f.Options, "b", role.Gateway)
	awaitPeers(t, a, b)
	desktop, phone := session(1, wire.DeviceType_DESKTOP, 10, a), session(1, wire.DeviceType_ANDROID, 11, a)
	a.open(t, desktop)
	a.open(t, phone)
	other := session(1, wire.DeviceType_BROWSER, 12, a)
	a.open(t, other)
	b.await(t, "the sessions", func() bool { return b.sees(1, desktop, phone, other) })
	tablet := session(1, wire.DeviceType_IOS, 20, b)
	replaced, err := b.Open(t.Context(), tablet, wire.UserStatus_AWAY, func(current Entry) ([]wire.DeviceType, error) {
		if len(current.Sessions) != 3 {
			t.Errorf("current is %+v", current)
		}
		return []wire.DeviceType{wire.DeviceType_ANDROID, wire.DeviceType_BROWSER, wire.DeviceType_OTHERS}, nil
	})
	if err != nil || len(replaced) != 2 {
		t.Fatal(replaced, err)
	}
	for _, p := range []*peer{a, b} {
		p.await(t, "what is left", func() bool { return p.sees(1, desktop, tablet) })
		if found := p.Locate([]int64{1}); len(found) != 2 {
			t.Errorf("located at %v", found)
		}
	}
	for _, s := range []Session{phone, other} {
		a.await(t, "its loss", func() bool { return a.has(s.Key()) })
	}
	// A session of the same device type is replaced implicitly; at the same gateway Lost is not
	// called.
	again := session(1, wire.DeviceType_IOS, 21, b)
	if replaced := b.open(t, again); len(replaced) != 1 || replaced[0].ID != 20 || replaced[0].NodeID != "b" {
		t.Errorf("replaced %+v", replaced)
	}
	// Closing a replaced session does not affect its successor.
	b.Close(t.Context(), 1, wire.DeviceType_IOS, 20)
	if !b.sees(1, desktop, again) {
		t.Errorf("%+v", b.table.get(1))
	}
	if a.has(desktop.Key()) {
		t.Error("a session was lost that nobody replaced")
	}
}

func testOpenTogether(t *testing.T, f *clustertest.Fabric) {
	a, b, s := start(t, f.Options, "a", role.Gateway), start(t, f.Options, "b", role.Gateway), start(t, f.Options, "s", role.Service)
	awaitPeers(t, a, b, s)
	const users = 40
	var group sync.WaitGroup
	for user := range int64(users) {
		for i, p := range []*peer{a, b, a, b} {
			group.Go(func() {
				if _, err := p.Open(context.Background(), session(user, wire.DeviceType_DESKTOP, int32(i+1), p), wire.UserStatus_AVAILABLE, nil); err != nil {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
	for user := range int64(users) {
		entry, _ := a.Lookup(user)
		s.await(t, "one session", func() bool {
			entry, _ = s.Lookup(user)
			return len(entry.Sessions) == 1 && a.sees(user, entry.Sessions...) && b.sees(user, entry.Sessions...)
		})
		winner := entry.Sessions[0]
		for _, p := range []*peer{a, b} {
			p.await(t, "that only the winner is an own session", func() bool {
				sessions, settled := p.registrar.own.of(user)
				if winner.NodeID == p.node.ID() {
					return settled && len(sessions) == 1 && sessions[0].ID == winner.ID
				}
				return settled && len(sessions) == 0
			})
		}
	}
}

func testStatus(t *testing.T, f *clustertest.Fabric) {
	g, s := start(t, f.Options, "g", role.Gateway), start(t, f.Options, "s", role.Service)
	awaitPeers(t, g, s)
	if online, err := s.SetStatus(t.Context(), 1, wire.UserStatus_BUSY); online || err != nil {
		t.Error(online, err)
	}
	if _, err := s.SetStatus(t.Context(), 1, wire.UserStatus_OFFLINE); err == nil {
		t.Error("OFFLINE was set")
	}
	g.open(t, session(1, wire.DeviceType_DESKTOP, 1, g))
	for _, status := range []wire.UserStatus{wire.UserStatus_INVISIBLE, wire.UserStatus_INVISIBLE, wire.UserStatus_AWAY} {
		// Even if the news of the session has not arrived yet.
		if online, err := s.SetStatus(t.Context(), 1, status); !online || err != nil {
			t.Fatal(online, err)
		}
		if e, _ := s.Lookup(1); e.Status != status {
			t.Errorf("status is %v", e.Status)
		}
		g.await(t, "the status", func() bool { e, _ := g.Lookup(1); return e.Status == status })
	}
}

func testActivity(t *testing.T, f *clustertest.Fabric) {
	a, b, s := start(t, f.Options, "a", role.Gateway), start(t, f.Options, "b", role.Gateway), start(t, f.Options, "s", role.Service)
	awaitPeers(t, a, b, s)
	sessions := []Session{
		session(1, wire.DeviceType_DESKTOP, 5, a), session(2, wire.DeviceType_DESKTOP, 6, b),
		session(3, wire.DeviceType_DESKTOP, -1, b),
		{UserID: 4, NodeID: "nowhere"},
	}
	for i := range int64(activityBatch) {
		sessions = append(sessions, session(100+i, wire.DeviceType_IOS, 9, a))
	}
	var found map[SessionKey]Activity
	// Subscriptions of other connections propagate with a delay.
	s.await(t, "the activities", func() bool {
		found = s.Activities(t.Context(), sessions)
		return len(found) == activityBatch+2
	})
	got := found[SessionKey{2, wire.DeviceType_DESKTOP, 6}]
	if got.LastHeartbeat.UnixMilli() != 2 || got.LastRequest.UnixMilli() != 6 {
		t.Errorf("activity is %+v", got)
	}
}

// testLeave makes a gateway leave with open sessions.
func testLeave(t *testing.T, f *clustertest.Fabric) {
	a, b, s := start(t, f.Options, "a", role.Gateway), start(t, f.Options, "b", role.Gateway), start(t, f.Options, "s", role.Service)
	awaitPeers(t, a, b, s)
	stays := session(2, wire.DeviceType_IOS, 3, b)
	a.open(t, session(1, wire.DeviceType_DESKTOP, 1, a))
	a.open(t, session(2, wire.DeviceType_DESKTOP, 2, a))
	b.open(t, stays)
	s.await(t, "the sessions", func() bool { e, _ := s.Lookup(2); return s.Online(1) && len(e.Sessions) == 2 })
	a.Stop()
	if err := a.node.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*peer{b, s} {
		p.await(t, "the end of the sessions", func() bool { return p.sees(1) && p.sees(2, stays) })
		if found := p.Locate([]int64{1, 2}); len(found) != 1 || found[0].NodeID != "b" || len(found[0].UserIDs) != 1 {
			t.Errorf("located at %v", found)
		}
		// The bucket is cleaned up, too.
		p.await(t, "clean records", func() bool {
			two := p.table.get(2)
			return p.table.get(1) == nil && two != nil && len(two.sessions) == 1
		})
	}
}

// testOutage stops the server and restarts it empty, twice.
func testOutage(t *testing.T, f *clustertest.Fabric) {
	a, b, s := start(t, f.Options, "a", role.Gateway), start(t, f.Options, "b", role.Gateway), start(t, f.Options, "s", role.Service)
	peers := []*peer{a, b, s}
	awaitPeers(t, peers...)
	const users = 200
	want := map[int64][]Session{}
	for user := range int64(users) {
		for i, p := range []*peer{a, b} {
			one := session(user, wire.DeviceType(i), int32(user)+1, p)
			p.open(t, one)
			want[user] = append(want[user], one)
		}
	}
	if _, err := s.SetStatus(t.Context(), 7, wire.UserStatus_DO_NOT_DISTURB); err != nil {
		t.Fatal(err)
	}
	all := func() {
		t.Helper()
		for _, p := range peers {
			p.await(t, "everybody", func() bool {
				for user, sessions := range want {
					if !p.sees(user, sessions...) {
						return false
					}
				}
				return true
			})
			p.await(t, "the status", func() bool { e, _ := p.Lookup(7); return e.Status == wire.UserStatus_DO_NOT_DISTURB })
		}
	}
	all()
	for round := range int64(2) {
		f.Stop(t)
		for _, p := range peers {
			p.await(t, "the outage", func() bool { return p.node.Cluster().Healthy() != nil })
		}
		if round == 0 {
			// An outage does not prove that others have died, however long it takes.
			a.await(t, "the silence of the other gateway", func() bool {
				alive, certain := a.node.Cluster().Alive("b", b.node.Incarnation())
				if certain && !alive {
					t.Fatal("the other gateway counts as dead during the outage")
				}
				return !alive
			})
		}
		// The previous state is used, and sessions that end meanwhile are removed.
		ended := want[round][0]
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		a.Close(ctx, ended.UserID, ended.Device, ended.ID)
		want[round] = want[round][1:]
		if !a.sees(round, want[round]...) || !a.sees(users-1, want[users-1]...) {
			t.Errorf("during the outage user %d is %+v", round, a.table.get(round))
		}
		f.Start(t)
		for _, p := range peers {
			epoch := uint64(round + 2)
			p.await(t, "the new bucket", func() bool {
				return p.Healthy() == nil && p.table.epoch.Load() == epoch && a.registrar.own.gateway.announced.to(0) == epoch && b.registrar.own.gateway.announced.to(0) == epoch
			})
		}
		all()
		one := session(1000+round, wire.DeviceType_DESKTOP, 1, b)
		b.open(t, one)
		want[1000+round] = []Session{one}
		all()
		for _, p := range peers {
			p.await(t, "no leftovers", func() bool {
				count := 0
				p.table.each(func(_ int64, r *record) {
					if r.epoch != p.table.epoch.Load() || len(r.stale) > 0 {
						count++
					}
				})
				return count == 0
			})
		}
	}
	if len(a.lost)+len(b.lost) > 0 {
		t.Errorf("lost %v and %v", a.lost, b.lost)
	}
}

// testGhost leaves a session in the bucket that its gateway does not have, as after a lost
// response.
func testGhost(t *testing.T, f *clustertest.Fabric) {
	g := start(t, f.Options, "g", role.Gateway)
	ghost := session(1, wire.DeviceType_DESKTOP, 1, g)
	ghost.gateway = g.registrar.own.gateway
	b, err := g.current.await(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.put(t.Context(), b.keyOf(1), (&content{sessions: []Session{ghost}}).encode(), 0); err != nil {
		t.Fatal(err)
	}
	g.await(t, "that it vanishes", func() bool {
		value, revision, err := b.read(t.Context(), b.keyOf(1))
		return err == nil && value == nil && revision > 1 && !g.Online(1)
	})
	// A session that was removed by mistake is restored, too.
	one := session(2, wire.DeviceType_DESKTOP, 2, g)
	g.open(t, one)
	if _, err := b.remove(t.Context(), b.keyOf(2), g.table.get(2).revision); err != nil {
		t.Fatal(err)
	}
	g.await(t, "that it comes back", func() bool {
		value, _, err := b.read(t.Context(), b.keyOf(2))
		return err == nil && value != nil && g.sees(2, one)
	})
}

// testMany opens thousands of sessions at two gateways.
func testMany(t *testing.T, f *clustertest.Fabric) {
	a, b, s := start(t, f.Options, "a", role.Gateway), start(t, f.Options, "b", role.Gateway), start(t, f.Options, "s", role.Service)
	awaitPeers(t, a, b, s)
	users := 4_000
	if layout > 1 {
		users = 1_000 // Opening one costs several times as much.
	}
	var group sync.WaitGroup
	next := make(chan int64)
	for range 64 {
		group.Go(func() {
			for user := range next {
				p := []*peer{a, b}[user%2]
				if _, err := p.openPatiently(context.Background(), session(user, wire.DeviceType_DESKTOP, 1, p)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	ids := make([]int64, users)
	for i := range ids {
		ids[i] = int64(i)
		next <- ids[i]
	}
	close(next)
	group.Wait()
	everybody := func(p *peer) {
		t.Helper()
		p.await(t, "everybody", func() bool {
			total, nodes := p.Count()
			return total == users && nodes["a"] == users/2 && nodes["b"] == users/2
		})
		found := p.Locate(ids)
		if len(found) != 2 || len(found[0].UserIDs) != users/2 || len(found[1].UserIDs) != users/2 || layout == 1 && !slices.IsSorted(found[0].UserIDs) {
			t.Errorf("%s: located at %d gateways", p.node.ID(), len(found))
		}
	}
	everybody(s)
	// A node that starts later knows them after its start.
	late := start(t, f.Options, "late", role.Service)
	if total, _ := late.Count(); total != users {
		t.Errorf("a node that came later knows %d users", total)
	}
	f.Stop(t)
	f.Start(t)
	for _, p := range []*peer{a, b, s, late} {
		p.await(t, "announcements", func() bool {
			return p.Healthy() == nil && p.table.epoch.Load() == 2 && a.registrar.own.gateway.announced.to(0) == 2 && b.registrar.own.gateway.announced.to(0) == 2
		})
		everybody(p)
	}
}

func TestStartFails(t *testing.T) {
	f := clustertest.Embedded(t)
	n := clustertest.Join(t, clustertest.Connect(t, clustertest.Fast(f.Options)), cluster.NodeOptions{ID: "g", Type: role.Gateway})
	f.Stop(t)
	clustertest.Await(t, n.Cluster(), "the outage", func() bool { return n.Cluster().Healthy() != nil })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Start(ctx, n, Options{}); err == nil {
		t.Error("started without a server")
	}
}
