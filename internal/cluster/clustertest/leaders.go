// SPDX-License-Identifier: Apache-2.0

package clustertest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
)

func testLeaderPriority(t *testing.T, s *suite) {
	observer := s.connect(t, nil)
	if _, _, ok := observer.Leader(); ok {
		t.Error("there is a leader without nodes")
	}
	s.service(t, "not-eligible", func(o *cluster.Options) { o.Store = s.db() })
	first := s.candidate(t, "first", 1)
	fence := awaitLeader(t, observer, "first")
	if fence != 1 {
		t.Errorf("the first fence is %d", fence)
	}
	// The observer may see the lease before the leader knows that it has it.
	Await(t, first.Cluster(), "the leader to know it", first.IsLeader)
	s.candidate(t, "low", 2)
	s.candidate(t, "high", 9)
	AwaitMembers(t, observer, "first", "high", "low", "not-eligible")
	if leader, err := observer.Elect(t.Context(), nil); err != nil || leader.NodeID != "first" {
		t.Errorf("the leader that qualifies did not stay: %v, %v", leader.NodeID, err)
	}
	leave(t, first)
	if next := awaitLeader(t, observer, "high"); next <= fence {
		t.Errorf("fence %d follows %d", next, fence)
	}
	no := false
	if err := observer.UpdateMember(t.Context(), "high", cluster.MemberChange{Active: &no}); err != nil {
		t.Fatal(err)
	}
	awaitLeader(t, observer, "low")
}

func testLeaderElect(t *testing.T, s *suite) {
	observer := s.connect(t, nil)
	elect := func(id string) error {
		_, err := observer.Elect(t.Context(), &id)
		return err
	}
	_, err := observer.Elect(t.Context(), nil)
	wantCode(t, err, apierr.NoQualifiedMemberToBeLeader, nil)
	wantCode(t, elect("nobody"), apierr.NonexistentMemberToBeLeader, nil)
	gateway := s.gateway(t, "gateway", nil)
	a, b := s.candidate(t, "a", 5), s.candidate(t, "b", 1)
	AwaitMembers(t, observer, "a", "b", "gateway")
	wantCode(t, elect(gateway.ID()), apierr.NotQualifiedMemberToBeLeader, nil)
	last := awaitLeader(t, observer, "a")
	for range 3 {
		for _, id := range []string{"b", "a"} {
			leader, err := observer.Elect(t.Context(), &id)
			if err != nil || leader.NodeID != id {
				t.Fatalf("elect %q: %v, %v", id, leader.NodeID, err)
			}
			if fence := awaitLeader(t, observer, id); fence <= last {
				t.Errorf("fence %d follows %d", fence, last)
			} else {
				last = fence
			}
			if a.IsLeader() != (id == "a") || b.IsLeader() != (id == "b") {
				t.Errorf("elected %q, leaders are a %v and b %v", id, a.IsLeader(), b.IsLeader())
			}
		}
	}
	if err := elect("a"); err != nil {
		t.Errorf("elect the leader: %v", err)
	}
}

func testLeaderFence(t *testing.T, s *suite) {
	observer := s.connect(t, nil)
	a, b := s.candidate(t, "a", 5), s.candidate(t, "b", 1)
	type run struct {
		node  string
		ctx   context.Context
		fence cluster.Fence
	}
	runs := make(chan run, 100)
	work := func(n *cluster.Node) func(context.Context, cluster.Fence) error {
		return func(ctx context.Context, fence cluster.Fence) error {
			runs <- run{n.ID(), ctx, fence}
			<-ctx.Done()
			return nil
		}
	}
	for _, n := range []*cluster.Node{a, b} {
		if _, err := n.RunAsLeader("work", work(n)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(f cluster.Fence) error {
		return s.db().Write(context.Background(), func(ctx context.Context, tx store.Tx) error { return f.Check(ctx, tx) })
	}
	AwaitMembers(t, observer, "a", "b")
	first := receive(t, "the work of the first leader", runs)
	if err := check(first.fence); err != nil {
		t.Error(err)
	}
	other := "a"
	if first.node == "a" {
		other = "b"
	}
	if _, err := observer.Elect(t.Context(), &other); err != nil {
		t.Fatal(err)
	}
	receive(t, "the end of the first work", first.ctx.Done())
	second := receive(t, "the work of the second leader", runs)
	if err := check(first.fence); !errors.Is(err, cluster.ErrFenced) {
		t.Errorf("the old leader's fence: %v", err)
	}
	if err := check(second.fence); err != nil {
		t.Errorf("the new leader's fence: %v", err)
	}
	// Writes behind a fence are not committed after its term.
	write := func(r run) error {
		return s.db().Behind(r.fence.Check).Write(context.WithoutCancel(r.ctx), func(ctx context.Context, tx store.Tx) error {
			return store.BumpRevision(ctx, tx, "leader work")
		})
	}
	if err := write(first); !errors.Is(err, cluster.ErrFenced) {
		t.Errorf("the old leader writes: %v", err)
	}
	if err := write(second); err != nil {
		t.Errorf("the new leader writes: %v", err)
	}
	if n, err := s.db().Revision(t.Context(), "leader work"); err != nil || n != 1 {
		t.Errorf("%d writes, %v", n, err)
	}
	// Take the number without the lease: the leader notices, and its successor has a newer number.
	err := s.db().Write(context.Background(), func(ctx context.Context, tx store.Tx) error {
		_, _, err := store.TakeLead(ctx, tx, second.fence.Number(), "somebody")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := check(second.fence); !errors.Is(err, cluster.ErrFenced) {
		t.Errorf("the leader's fence after somebody took over: %v", err)
	}
	receive(t, "the end of the second work", second.ctx.Done())
	third := receive(t, "the work of the third leader", runs)
	if third.fence.Number() <= second.fence.Number()+1 {
		t.Errorf("fence %d follows %d", third.fence.Number(), second.fence.Number()+1)
	}
	if _, err := s.gateway(t, "g", nil).RunAsLeader("work", nil); err == nil {
		t.Error("a gateway runs as leader")
	}
}

// testLeaderChurn lets nodes join and leave and counts how many lead at a time.
func testLeaderChurn(t *testing.T, s *suite) {
	observer := s.connect(t, nil)
	var leading, last atomic.Int64
	work := func(ctx context.Context, fence cluster.Fence) error {
		if count := leading.Add(1); count != 1 {
			t.Errorf("%d nodes lead at a time", count)
		}
		if before := last.Swap(fence.Number()); before >= fence.Number() {
			t.Errorf("fence %d follows %d", fence.Number(), before)
		}
		<-ctx.Done()
		leading.Add(-1)
		return nil
	}
	ids := []string{"n0", "n1", "n2", "n3", "n4"}
	var group sync.WaitGroup
	for _, id := range ids {
		c := s.connect(t, func(o *cluster.Options) { o.Store = s.db() })
		group.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), Timeout)
			defer cancel()
			for round := range 4 {
				n, err := c.Join(ctx, cluster.NodeOptions{ID: id, Type: role.Service, LeaderEligible: true, Priority: int32(rand.IntN(3))})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := n.RunAsLeader("work", work); err != nil {
					t.Error(err)
				}
				for {
					changed := c.Changed()
					if _, _, ok := c.Leader(); ok {
						break
					}
					select {
					case <-changed:
					case <-ctx.Done():
						t.Error("nobody leads")
						return
					}
				}
				// The nodes of the last round stay.
				if round < 3 {
					if err := n.Leave(ctx); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Wait()
	Await(t, observer, "a leader at last", func() bool {
		_, fence, ok := observer.Leader()
		return ok && fence == last.Load() && leading.Load() == 1
	})
}

func testLeaderSchedule(t *testing.T, s *suite) {
	n := s.candidate(t, "a", 1)
	other := s.candidate(t, "b", 1)
	if _, err := n.Schedule("bad", "* * * * *", nil); err == nil {
		t.Error("five fields were accepted")
	}
	awaitLeader(t, n.Cluster(), "a")
	runs := make(chan time.Time, 100)
	var running atomic.Int64
	for _, node := range []*cluster.Node{n, other} {
		stop, err := node.Schedule("every second", "* * * * * *", func(ctx context.Context, fence cluster.Fence) error {
			if node != n {
				t.Error("a run on a node that does not lead")
			}
			if running.Add(1) != 1 || fence.Number() == 0 {
				t.Error("runs overlap or have no fence")
			}
			defer running.Add(-1)
			runs <- time.Now()
			panic("must not end the schedule")
		})
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
	}
	first := receive(t, "a first run", runs)
	if second := receive(t, "a second run", runs); second.Unix() == first.Unix() {
		t.Errorf("two runs in one second: %v and %v", first, second)
	}
}
