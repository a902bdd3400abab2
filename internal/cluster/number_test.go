// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/ids"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// onBothEngines runs the test on a fresh database of each engine.
func onBothEngines(t *testing.T, test func(t *testing.T, db *store.DB)) {
	t.Run("SQLite", func(t *testing.T) { test(t, storetest.SQLite(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, storetest.PostgreSQL(t)) })
}

func leaseNumber(t *testing.T, db *store.DB, o cluster.NumberOptions) *cluster.Number {
	t.Helper()
	n, err := cluster.LeaseNumber(t.Context(), db, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Release(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return n
}

func TestNumbersOfRacingNodesDiffer(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		const nodes = 64
		numbers := make([]*cluster.Number, nodes)
		var group sync.WaitGroup
		for i := range nodes {
			group.Go(func() {
				n, err := cluster.LeaseNumber(context.Background(), db, cluster.NumberOptions{Holder: fmt.Sprint("node-", i)})
				if err != nil {
					t.Error(err)
					return
				}
				numbers[i] = n
			})
		}
		group.Wait()
		seen, made := map[int]bool{}, map[int64]bool{}
		for _, n := range numbers {
			if n == nil {
				continue
			}
			number := n.Generator().Number()
			if seen[number] {
				t.Errorf("number %d was leased twice", number)
			}
			seen[number] = true
			for range 100 {
				made[n.Generator().Next()] = true
			}
			if err := n.Healthy(); err != nil {
				t.Error(err)
			}
		}
		if len(made) != nodes*100 {
			t.Errorf("%d of %d ids are unique", len(made), nodes*100)
		}
		for _, n := range numbers {
			if n == nil {
				continue
			}
			if err := n.Release(context.Background()); err != nil {
				t.Error(err)
			}
			if !errors.Is(n.Healthy(), cluster.ErrNoNumber) {
				t.Error("a released number is healthy")
			}
		}
	})
}

// takeAll leases all numbers but one to another holder.
func takeAll(t *testing.T, db *store.DB, except int) {
	t.Helper()
	err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		for number := range ids.MaxNode + 1 {
			if number == except {
				continue
			}
			if _, _, err := store.LeaseNodeNumber(ctx, tx, number, "somebody", time.Now(), time.Minute, time.Hour, 0); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestNumberIsReusedAboveItsHighWaterMark(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		takeAll(t, db, 3)
		now := time.Now()
		first := leaseNumber(t, db, cluster.NumberOptions{Holder: "first", Now: func() time.Time { return now }})
		last := first.Generator().Next()
		if _, err := cluster.LeaseNumber(t.Context(), db, cluster.NumberOptions{Holder: "none"}); !errors.Is(err, cluster.ErrNoNumber) {
			t.Errorf("lease when all are taken: %v", err)
		}
		if err := first.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		// The clock of the second one is an hour behind. Its ids are above those that the first one
		// may still make all the same.
		second := leaseNumber(t, db, cluster.NumberOptions{Holder: "second", Now: func() time.Time { return now.Add(-time.Hour) }})
		next := second.Generator().Next()
		if ids.Node(next) != 3 || next <= last || first.Generator().Next() >= next {
			t.Errorf("id %d of number %d follows %d", next, ids.Node(next), last)
		}
	})
}

func TestNumberThatWasTakenIsReplaced(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		n := leaseNumber(t, db, cluster.NumberOptions{Holder: "node", Lease: 300 * time.Millisecond})
		old := n.Generator().Number()
		last := n.Generator().Next()
		err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			return storetest.Exec(ctx, tx, "UPDATE node_number SET holder = 'thief', expires = expires + 3600000 WHERE number = ?", old)
		})
		if err != nil {
			t.Fatal(err)
		}
		limit := time.After(clustertest.Timeout)
		look := time.NewTicker(10 * time.Millisecond)
		defer look.Stop()
		for n.Generator().Number() == old {
			select {
			case <-look.C:
			case <-limit:
				t.Fatal("the number was not replaced")
			}
		}
		if id := n.Generator().Next(); id <= last || ids.Node(id) == old {
			t.Errorf("id %d of number %d follows %d", id, ids.Node(id), last)
		}
	})
}

func TestNumberWithoutDatabase(t *testing.T) {
	db := storetest.SQLite(t)
	n, err := cluster.LeaseNumber(t.Context(), db, cluster.NumberOptions{Holder: "node", Lease: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	last := n.Generator().Next()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	limit := time.After(clustertest.Timeout)
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for n.Healthy() == nil {
		select {
		case <-look.C:
		case <-limit:
			t.Fatal("the number is healthy without database")
		}
	}
	for range 10_000 {
		id := n.Generator().Next()
		if id <= last {
			t.Fatalf("id %d follows %d", id, last)
		}
		last = id
	}
	if err := n.Release(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("release without database: %v", err)
	}
}

func TestNodesHaveNumbers(t *testing.T) {
	db := storetest.SQLite(t)
	c := clustertest.Connect(t, cluster.Options{Store: db})
	a := clustertest.Join(t, c, cluster.NodeOptions{Type: role.Gateway})
	b := clustertest.Join(t, c, cluster.NodeOptions{Type: role.Service, LeaderEligible: true})
	if a.IDs().Number() == b.IDs().Number() {
		t.Errorf("both nodes have number %d", a.IDs().Number())
	}
	clustertest.Await(t, c, "a leader at once", b.IsLeader)
}
