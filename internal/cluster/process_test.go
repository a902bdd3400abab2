// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cluster_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
	"example.org/app/test/need"
)

// childVariable makes the test binary run as a node.
const childVariable = "APP_TEST_CLUSTER_NODE"

// childOptions configure a child process.
type childOptions struct {
	ID, URL, Store string
	// Cluster is the id of the cluster; empty means the default.
	Cluster  string
	Priority int32
	// Patient sets timeouts that no test exceeds.
	Patient bool
	// Follows prevents the node from leading, and so from writing.
	Follows bool
	// Protocol is what the node speaks; the zero value is this program's.
	Protocol cluster.Protocol
	// Calls is how many calls it handles at a time; 0 means the default.
	Calls int
}

// patient returns options under which no heartbeat counts as missed.
func patient(o cluster.Options) cluster.Options {
	o = clustertest.Fast(o)
	o.HeartbeatTimeout, o.MemberTTL, o.AbsenceLimit = time.Hour, time.Hour, 500*time.Millisecond
	return o
}

// runChild runs a node until standard input ends. As leader it keeps writing with its fence and
// prints the outcome whenever that changes.
func runChild() {
	var o childOptions
	if err := json.Unmarshal([]byte(os.Getenv(childVariable)), &o); err != nil {
		fail(err)
	}
	ctx := context.Background()
	db, err := store.Open(ctx, store.Options{URL: o.Store})
	if err != nil {
		fail(err)
	}
	options := clustertest.Fast(cluster.Options{URL: o.URL, ClusterID: o.Cluster, Store: db, Protocol: o.Protocol, MaxConcurrentCalls: o.Calls})
	if o.Patient {
		options = patient(options)
	}
	c, err := cluster.Connect(ctx, options)
	if err != nil {
		fail(err)
	}
	n, err := c.Join(ctx, cluster.NodeOptions{ID: o.ID, Type: role.Service, LeaderEligible: !o.Follows, Priority: o.Priority})
	if err != nil {
		fail(err)
	}
	_, err = n.RunAsLeader("write", func(_ context.Context, fence cluster.Fence) error {
		// Ignore its context: only the fence may stop an old leader from writing.
		for led := false; ; {
			err := db.Write(ctx, func(ctx context.Context, tx store.Tx) error {
				if err := fence.Check(ctx, tx); err != nil {
					return err
				}
				return store.BumpRevision(ctx, tx, "written")
			})
			if !led && err == nil {
				led = true
				say("leads", fence.Number())
			}
			if errors.Is(err, cluster.ErrFenced) {
				say("fenced", fence.Number())
				return nil
			}
		}
	})
	if err != nil {
		fail(err)
	}
	err = cluster.Handle(n, hang, func(context.Context, *struct{}) (*struct{}, error) {
		say("called", 0)
		select {}
	})
	if err != nil {
		fail(err)
	}
	say("joined", 0)
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// hang is an endpoint whose handler never answers.
var hang = cluster.Endpoint[struct{}, struct{}]{Name: "test.hang", Role: role.Service}

func say(what string, number int64) { fmt.Fprintln(os.Stdout, what, number) }

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// A child is a node in a process of its own.
type child struct {
	id      string
	command *exec.Cmd
	lines   chan string
}

func startChild(t *testing.T, o childOptions) *child {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0], "-test.run=^$")
	command.Env = append(os.Environ(), childVariable+"="+string(text))
	command.Stderr = os.Stderr
	input, inputErr := command.StdinPipe()
	output, outputErr := command.StdoutPipe()
	if err := errors.Join(inputErr, outputErr, command.Start()); err != nil {
		t.Fatal(err)
	}
	c := &child{id: o.ID, command: command, lines: make(chan string, 100)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			c.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		c.signal(t, syscall.SIGKILL)
		_ = input.Close()
		<-ended
		_ = command.Wait()
	})
	c.expect(t, "joined")
	return c
}

// expect waits for a line that begins with a word and returns the number after it. On a busy
// machine a leader may lose its lease and win it back, so the number is unpredictable.
func (c *child) expect(t *testing.T, want string) (number int64) {
	t.Helper()
	limit := time.NewTimer(clustertest.Timeout)
	defer limit.Stop()
	for {
		select {
		case line := <-c.lines:
			if _, err := fmt.Sscanf(line, want+" %d", &number); err == nil {
				return number
			}
		case <-limit.C:
			t.Fatalf("node %v did not say %q", c.id, want)
		}
	}
}

func (c *child) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := c.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
}

// expectOne waits for a line that begins with a word from one of two nodes. It returns that node,
// the other one and the number after the word.
func expectOne(t *testing.T, a, b *child, want string) (from, other *child, number int64) {
	t.Helper()
	limit := time.NewTimer(clustertest.Timeout)
	defer limit.Stop()
	for {
		var line string
		select {
		case line = <-a.lines:
			from, other = a, b
		case line = <-b.lines:
			from, other = b, a
		case <-limit.C:
			t.Fatalf("neither node %v nor node %v said %q", a.id, b.id, want)
		}
		if _, err := fmt.Sscanf(line, want+" %d", &number); err == nil {
			return from, other, number
		}
	}
}

// awaitFence waits until the leader is the node and returns its fence.
func awaitFence(t *testing.T, c *cluster.Cluster, id string) (fence int64) {
	t.Helper()
	clustertest.Await(t, c, "leader "+id, func() bool {
		leader, number, ok := c.Leader()
		fence = number
		return ok && leader.NodeID == id
	})
	return fence
}

func TestLeaderIsKilledAndPaused(t *testing.T) {
	need.Time(t)
	url := clustertest.StartServer(t).URL()
	database := storetest.MigratedURL(t)
	db := storetest.Open(t, store.Options{URL: database})
	observer := clustertest.Connect(t, clustertest.Fast(cluster.Options{URL: url}))
	a := startChild(t, childOptions{ID: "a", URL: url, Store: database, Priority: 3})
	first := a.expect(t, "leads")
	b := startChild(t, childOptions{ID: "b", URL: url, Store: database, Priority: 2})
	c := startChild(t, childOptions{ID: "c", URL: url, Store: database, Priority: 1})
	clustertest.AwaitMembers(t, observer, "a", "b", "c")

	start := time.Now()
	a.signal(t, syscall.SIGKILL)
	// The priority only gives b a head start, which it may lose on a busy machine.
	successor, rival, second := expectOne(t, b, c, "leads")
	if second <= first {
		t.Errorf("fence %d follows %d", second, first)
	}
	t.Logf("the lead moved to %v %v after the leader was killed", successor.id, time.Since(start))

	clustertest.Freeze(t, successor.command.Process.Pid)
	awaitFence(t, observer, rival.id)
	// The dead leader's record stays until it expires, but counts as unhealthy.
	clustertest.Await(t, observer, "the dead node's record to vanish", func() bool {
		_, ok := observer.Member("a")
		return !ok
	})
	clustertest.Thaw(t, successor.command.Process.Pid)
	successor.expect(t, "fenced")
	before, err := db.Revision(t.Context(), "written")
	if err != nil {
		t.Fatal(err)
	}
	clustertest.Await(t, observer, "writes of the new leader", func() bool {
		now, err := db.Revision(t.Context(), "written")
		return err == nil && now > before
	})

	// A node with the id of the dead one may join; one with the id of a live one may not.
	if _, err := observer.Join(t.Context(), cluster.NodeOptions{ID: rival.id, Type: role.Gateway}); !errors.Is(err, cluster.ErrDuplicateNode) {
		t.Errorf("a second node %v: %v", rival.id, err)
	}
	clustertest.Join(t, observer, cluster.NodeOptions{ID: "a", Type: role.Gateway})
}

func TestKilledNodeIsTakenOver(t *testing.T) {
	need.Time(t)
	url := clustertest.StartServer(t).URL()
	database := storetest.MigratedSQLiteURL(t)
	observer := clustertest.Connect(t, clustertest.Fast(cluster.Options{URL: url}))
	a := startChild(t, childOptions{ID: "a", URL: url, Store: database})
	clustertest.AwaitMembers(t, observer, "a")
	// Paused, not killed: the new node waits for HeartbeatTimeout, and the old one learns that it
	// lost its id.
	clustertest.Freeze(t, a.command.Process.Pid)
	n := clustertest.Join(t, observer, cluster.NodeOptions{ID: "a", Type: role.Gateway})
	clustertest.Await(t, observer, "the record of the new node", func() bool {
		m, ok := observer.Member("a")
		return ok && m.Type == role.Gateway
	})
	clustertest.Thaw(t, a.command.Process.Pid)
	clustertest.Await(t, observer, "heartbeats of the new node", func() bool {
		m, ok := observer.Member("a")
		return ok && m.Type == role.Gateway && m.Status.LastHeartbeat.After(n.Member().RegistrationDate.Add(2*time.Second))
	})
	if err := n.Healthy(); err != nil {
		t.Error(err)
	}
}

// TestKilledNodeIsNoticed kills nodes whose heartbeats never count as missed: they are found to be
// gone, and their ids become free.
func TestKilledNodeIsNoticed(t *testing.T) {
	need.Time(t)
	url := clustertest.StartServer(t).URL()
	database := storetest.MigratedSQLiteURL(t)
	observer := clustertest.Connect(t, patient(cluster.Options{URL: url}))
	kill := func(id string) (incarnation string) {
		child := startChild(t, childOptions{ID: id, URL: url, Store: database, Patient: true})
		clustertest.Await(t, observer, "the node "+id, func() bool {
			m, ok := observer.Member(id)
			return ok && m.Status.Healthy
		})
		incarnation = observer.Life(id)
		if err := child.command.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.command.Wait()
		return incarnation
	}
	kill("a")
	clustertest.Join(t, observer, cluster.NodeOptions{ID: "a", Type: role.Gateway})
	life := kill("b")
	clustertest.Await(t, observer, "that b is gone", func() bool {
		alive, certain := observer.Alive("b", life)
		m, ok := observer.Member("b")
		return !alive && certain && ok && !m.Status.Healthy
	})
	if _, err := observer.Join(t.Context(), cluster.NodeOptions{ID: "a", Type: role.Gateway}); !errors.Is(err, cluster.ErrDuplicateNode) {
		t.Errorf("a second node a: %v", err)
	}
}

// pauseUntilGone pauses a node until it counts as gone. That must not end the call to it: the node
// may still carry it out.
func pauseUntilGone(t *testing.T, caller *cluster.Cluster, node *child, ended chan error) {
	t.Helper()
	clustertest.Freeze(t, node.command.Process.Pid)
	life := caller.Life(node.id)
	clustertest.Await(t, caller, "that the node is gone", func() bool {
		alive, certain := caller.Alive(node.id, life)
		return !alive && certain
	})
	select {
	case err := <-ended:
		t.Errorf("the call ended with %v although its node is only paused", err)
	default:
	}
}

// TestCallsToLostNodes kills and pauses nodes with requests under way. Callers of a killed node get
// an error long before their deadline, and a request is sent to another node only if it is
// repeatable. A paused node is not treated as killed: it may still carry the request out.
func TestCallsToLostNodes(t *testing.T) {
	need.Time(t)
	// The embedded server closes the connection of a paused process after seconds.
	server, err := cluster.StartServer(t.Context(), cluster.ServerOptions{Listen: "127.0.0.1:0", Token: "secret", Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	url := strings.Replace(server.URL(), "://", "://secret@", 1)
	scene := func(t *testing.T) (start func(id string, set ...func(*childOptions)) *child, call func(node *child, route cluster.Route) (ended chan error), observer *cluster.Cluster) {
		t.Parallel()
		o, database := patient(cluster.Options{URL: url, ClusterID: rand.Text()}), storetest.MigratedSQLiteURL(t)
		o.AbsenceLimit = 4 * time.Second // A node that counts as gone has been absent for longer than calls wait.
		caller := clustertest.Join(t, clustertest.Connect(t, o), cluster.NodeOptions{ID: "caller", Type: role.Gateway})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		t.Cleanup(cancel)
		start = func(id string, set ...func(*childOptions)) *child {
			options := childOptions{ID: id, URL: url, Cluster: o.ClusterID, Store: database, Patient: true, Follows: true}
			for _, change := range set {
				change(&options)
			}
			c := startChild(t, options)
			clustertest.Await(t, caller.Cluster(), "the node "+id, func() bool {
				m, ok := caller.Cluster().Member(id)
				return ok && m.Status.Healthy && m.Status.Active
			})
			return c
		}
		call = func(node *child, route cluster.Route) chan error {
			var arrived atomic.Bool
			ended := make(chan error, 1)
			go func() {
				for {
					_, err := cluster.CallBy(ctx, caller, hang, route, &struct{}{})
					if arrived.Load() || ctx.Err() != nil {
						ended <- err
						return
					}
					// A slow machine may not know the node's endpoint yet, or consider the node
					// unresponsive.
					select {
					case <-ctx.Done():
					case <-time.After(10 * time.Millisecond):
					}
				}
			}()
			node.expect(t, "called")
			arrived.Store(true)
			return ended
		}
		return start, call, caller.Cluster()
	}
	t.Run("killed", func(t *testing.T) {
		start, call, caller := scene(t)
		// A machine too busy for the probes may consider a killed node paused.
		for round := range 5 {
			a := start(fmt.Sprintf("a%d", round))
			ended := call(a, cluster.Route{Key: 1})
			clustertest.Await(t, caller, "that the node answers", func() bool { return cluster.Answers(caller, a.id) })
			a.signal(t, syscall.SIGKILL)
			select {
			case err := <-ended:
				if apierr.From(err).Code != apierr.ServerUnavailable || !errors.Is(err, cluster.ErrLost) {
					t.Errorf("the call failed with %v", err)
				}
				return
			case <-time.After(clustertest.Timeout / 5):
			}
		}
		t.Error("the calls go on although their nodes were killed")
	})
	t.Run("killed, once, and the other too", func(t *testing.T) {
		start, call, caller := scene(t)
		for round := range 5 {
			a := start(fmt.Sprintf("a%d", round))
			ended := call(a, cluster.Route{Key: 1, Once: true})
			b := start(fmt.Sprintf("b%d", round))
			clustertest.Await(t, caller, "that the node answers", func() bool { return cluster.Answers(caller, a.id) })
			b.signal(t, syscall.SIGKILL)
			a.signal(t, syscall.SIGKILL)
			select {
			case err := <-ended:
				if !errors.Is(err, cluster.ErrLost) {
					t.Errorf("the call failed with %v although a node may have carried it out", err)
				}
				return
			case <-time.After(clustertest.Timeout / 5):
			}
		}
		t.Error("the calls go on although their nodes were killed")
	})
	t.Run("killed, repeatable", func(t *testing.T) {
		start, call, _ := scene(t)
		a := start("a")
		call(a, cluster.Route{Key: 1, Repeatable: true})
		b := start("b")
		a.signal(t, syscall.SIGKILL)
		b.expect(t, "called")
	})
	t.Run("paused", func(t *testing.T) {
		start, call, caller := scene(t)
		a := start("a")
		ended := call(a, cluster.Route{Key: 1})
		pauseUntilGone(t, caller, a, ended)
		clustertest.Thaw(t, a.command.Process.Pid)
	})
	t.Run("paused, once", func(t *testing.T) {
		start, call, _ := scene(t)
		a := start("a")
		call(a, cluster.Route{Key: 1, Once: true})
		b := start("b")
		clustertest.Freeze(t, a.command.Process.Pid)
		b.expect(t, "called")
	})
	// once fails the test if the node gets the call a second time.
	once := func(t *testing.T, node *child, ended chan error) {
		t.Helper()
		select {
		case line := <-node.lines:
			t.Errorf("the node that is still working on the call said %q", line)
		case err := <-ended:
			t.Errorf("the call ended with %v", err)
		case <-time.After(2 * time.Second):
		}
	}
	t.Run("paused, once, and there is no other", func(t *testing.T) {
		start, call, caller := scene(t)
		a := start("a")
		ended := call(a, cluster.Route{Key: 1, Once: true})
		clustertest.Freeze(t, a.command.Process.Pid)
		clustertest.Await(t, caller, "that the node does not answer", func() bool { return cluster.IsOpen(caller, a.id) })
		clustertest.Thaw(t, a.command.Process.Pid)
		clustertest.Await(t, caller, "that the node answers", func() bool { return !cluster.IsOpen(caller, a.id) })
		once(t, a, ended)
	})
	t.Run("overloaded, once", func(t *testing.T) {
		start, call, caller := scene(t)
		a := start("a")
		ended := call(a, cluster.Route{Key: 1, Once: true})
		hasty := clustertest.Join(t, caller, cluster.NodeOptions{ID: "hasty", Type: role.Gateway})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := cluster.CallBy(ctx, hasty, hang, cluster.Route{Key: 2}, &struct{}{}); !errors.Is(err, cluster.ErrTimeout) {
			t.Errorf("a call without answer ended with %v", err)
		}
		a.expect(t, "called")
		once(t, a, ended)
	})
	t.Run("paused, once, and the other is busy", func(t *testing.T) {
		start, call, caller := scene(t)
		b := start("b", func(o *childOptions) { o.Calls = 1 })
		call(b, cluster.Route{Key: 4})
		a := start("a")
		ended := call(a, cluster.Route{Key: 4, Once: true}) // By this key a comes before b.
		pauseUntilGone(t, caller, a, ended)
		start("c").expect(t, "called")
		clustertest.Thaw(t, a.command.Process.Pid)
	})
	// In a partly upgraded cluster a request is resent only if both nodes would recognise it.
	older := cluster.Protocol{Major: 1, Minor: 0}
	for name, protocols := range map[string][2]cluster.Protocol{
		"paused, once, from an older node": {older, cluster.CurrentProtocol}, "paused, once, to an older node": {cluster.CurrentProtocol, older},
	} {
		t.Run(name, func(t *testing.T) {
			start, call, caller := scene(t)
			speaks := func(p cluster.Protocol) func(*childOptions) { return func(o *childOptions) { o.Protocol = p } }
			a := start("a", speaks(protocols[0]))
			ended := call(a, cluster.Route{Key: 1, Once: true})
			b := start("b", speaks(protocols[1]))
			pauseUntilGone(t, caller, a, ended)
			select {
			case line := <-b.lines:
				t.Errorf("the other node said %q", line)
			default:
			}
			clustertest.Thaw(t, a.command.Process.Pid)
		})
	}
}

func TestPausedServer(t *testing.T) {
	need.Time(t)
	server := clustertest.StartServer(t)
	db := storetest.SQLite(t)
	n := clustertest.Join(t, clustertest.Connect(t, clustertest.Fast(cluster.Options{URL: server.URL(), Store: db})),
		cluster.NodeOptions{ID: "a", Type: role.Service, LeaderEligible: true})
	first := awaitFence(t, n.Cluster(), "a")
	clustertest.Await(t, n.Cluster(), "the leader to know it", n.IsLeader)
	server.Pause(t)
	clustertest.Await(t, n.Cluster(), "the end of the lease", func() bool { return !n.IsLeader() })
	server.Resume(t)
	clustertest.Await(t, n.Cluster(), "the lead again with a new fence", func() bool {
		_, second, ok := n.Cluster().Leader()
		return ok && second > first && n.IsLeader()
	})
}
