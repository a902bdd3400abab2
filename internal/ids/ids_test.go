// SPDX-License-Identifier: Apache-2.0

package ids_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/ids"
)

func TestNewRefusesNodesOutOfRange(t *testing.T) {
	for _, test := range []struct {
		node int
		ok   bool
	}{{-1, false}, {0, true}, {512, true}, {1023, true}, {1024, false}} {
		if _, err := ids.New(test.node); (err == nil) != test.ok {
			t.Errorf("New(%d): error %v, want ok %v", test.node, err, test.ok)
		}
	}
}

func TestLayout(t *testing.T) {
	at := time.Date(2024, 2, 29, 12, 30, 15, 678_900_000, time.UTC)
	for _, node := range []int{0, 1, 700, 1023} {
		g, err := ids.NewWithClock(node, func() time.Time { return at })
		if err != nil {
			t.Fatal(err)
		}
		first, second := g.Next(), g.Next()
		if second != first+1 {
			t.Errorf("node %d: ids %d and %d of one millisecond are not neighbours", node, first, second)
		}
		if first&0xfff != 0 {
			t.Errorf("node %d: first sequence of a millisecond is %d, want 0", node, first&0xfff)
		}
		if got, want := ids.Time(first), at.Truncate(time.Millisecond); !got.Equal(want) {
			t.Errorf("node %d: Time is %v, want %v", node, got, want)
		}
		if got := ids.Node(first); got != node {
			t.Errorf("Node is %d, want %d", got, node)
		}
	}
}

func TestIDsArePositiveOverTheWholeRange(t *testing.T) {
	for _, at := range []time.Time{
		time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), // A clock before the epoch must not result in negative ids.
		time.Date(2020, 10, 13, 0, 0, 0, 0, time.UTC),
		time.Date(2090, 6, 1, 0, 0, 0, 0, time.UTC),
	} {
		g, err := ids.NewWithClock(ids.MaxNode, func() time.Time { return at })
		if err != nil {
			t.Fatal(err)
		}
		if id := g.Next(); id <= 0 {
			t.Errorf("clock %v: id %d is not positive", at, id)
		}
	}
}

func TestNextGrowsWhenTheClockDoesNot(t *testing.T) {
	start := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := start
	g, err := ids.NewWithClock(3, func() time.Time { return clock })
	if err != nil {
		t.Fatal(err)
	}
	last := int64(0)
	take := func(count int) {
		t.Helper()
		for range count {
			id := g.Next()
			if id <= last {
				t.Fatalf("id %d follows %d", id, last)
			}
			last = id
		}
	}
	take(10_000) // More than two milliseconds' worth of ids while the clock stands still.
	if got, want := ids.Time(last), start.Add(2*time.Millisecond); !got.Equal(want) {
		t.Errorf("after 10000 ids Time is %v, want the borrowed %v", got, want)
	}
	clock = start.Add(-time.Hour)
	take(10_000)
	clock = start.Add(time.Second)
	take(1)
	if got := ids.Time(last); !got.Equal(clock) {
		t.Errorf("after the clock caught up Time is %v, want %v", got, clock)
	}
}

func TestNextNeverRepeatsUnderConcurrency(t *testing.T) {
	const goroutines, each = 16, 20_000
	var ticks atomic.Int64
	base := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	// The clock goes forwards and backwards, as a corrected clock does.
	g, err := ids.NewWithClock(1, func() time.Time {
		return base.Add(time.Duration(ticks.Add(1)%7) * time.Millisecond)
	})
	if err != nil {
		t.Fatal(err)
	}
	taken := make([][]int64, goroutines)
	var group sync.WaitGroup
	for i := range goroutines {
		group.Go(func() {
			taken[i] = make([]int64, each)
			for j := range taken[i] {
				taken[i][j] = g.Next()
			}
		})
	}
	group.Wait()
	for i, own := range taken {
		if !slices.IsSorted(own) {
			t.Errorf("goroutine %d saw ids go back", i)
		}
	}
	all := slices.Concat(taken...)
	slices.Sort(all)
	if unique := len(slices.Compact(all)); unique != goroutines*each {
		t.Errorf("%d of %d ids are unique", unique, goroutines*each)
	}
}

func TestLeasedGeneratorStaysInItsSpan(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := start
	floor, until := start.Add(time.Hour), start.Add(time.Hour+ids.Reserve+2*time.Millisecond)
	g, err := ids.NewLeased(5, floor, until, func() time.Time { return clock })
	if err != nil {
		t.Fatal(err)
	}
	if id := g.Next(); !ids.Time(id).Equal(floor) || ids.Node(id) != 5 {
		t.Errorf("first id has time %v and node %d, want the floor %v and node 5", ids.Time(id), ids.Node(id), floor)
	}
	clock = start.Add(2 * time.Hour)
	if id := g.Next(); !ids.Time(id).Equal(until.Add(-ids.Reserve)) {
		t.Errorf("after the span passed the time is %v, want the beginning of the reserve %v", ids.Time(id), until.Add(-ids.Reserve))
	}
	next := until.Add(time.Hour)
	if err := g.Lease(9, next, next.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if id := g.Next(); !ids.Time(id).Equal(next) || ids.Node(id) != 9 || g.Number() != 9 {
		t.Errorf("after the new lease the id has time %v and node %d, want %v and 9", ids.Time(id), ids.Node(id), next)
	}
	if err := g.Lease(ids.MaxNode+1, next, next); err == nil {
		t.Error("a number out of range was accepted")
	}
}

func TestLeasedGeneratorWaitsWhenUsedUp(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	g, err := ids.NewLeased(1, start, start.Add(time.Millisecond), func() time.Time { return start.Add(time.Hour) })
	if err != nil {
		t.Fatal(err)
	}
	last := int64(0)
	for range 4096 {
		last = g.Next()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if id, err := g.NextContext(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("NextContext returned %d with error %v, want the error of the context", id, err)
	}
	waited := make(chan int64)
	go func() { waited <- g.Next() }()
	select {
	case id := <-waited:
		t.Fatalf("id %d is outside the span", id)
	default:
	}
	if err := g.Lease(1, g.Last(), start.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if id := <-waited; id <= last {
		t.Errorf("id %d follows %d", id, last)
	}
}

func TestLeaseChangesUnderConcurrency(t *testing.T) {
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	spanOf := func(i int) (node int, floor, until time.Time) {
		floor = base.Add(time.Duration(i) * time.Minute)
		return i % 1024, floor, floor.Add(time.Minute)
	}
	node, floor, until := spanOf(0)
	g, err := ids.NewLeased(node, floor, until, func() time.Time { return base })
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				id := g.Next()
				span := int(ids.Time(id).Sub(base) / time.Minute)
				if node, _, _ := spanOf(span); node != ids.Node(id) {
					t.Errorf("an id of the span of node %d carries node %d", node, ids.Node(id))
					return
				}
			}
		})
	}
	for i := range 20_000 {
		if err := g.Lease(spanOf(i)); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	group.Wait()
}

func BenchmarkNext(b *testing.B) {
	g, err := ids.New(1)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("single", func(b *testing.B) {
		for b.Loop() {
			g.Next()
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				g.Next()
			}
		})
	})
}

func TestFirst(t *testing.T) {
	at := time.Date(2026, 11, 15, 1, 2, 3, 4e6, time.UTC)
	g, err := ids.NewWithClock(ids.MaxNode, func() time.Time { return at })
	if err != nil {
		t.Fatal(err)
	}
	if id := g.Next(); ids.First(at) > id || ids.First(at.Add(time.Millisecond)) <= id || !ids.Time(ids.First(at)).Equal(at) || ids.First(time.Time{}) != 0 {
		t.Errorf("the id %d is not between %d and %d", id, ids.First(at), ids.First(at.Add(time.Millisecond)))
	}
}
