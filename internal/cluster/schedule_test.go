// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// TestMissedRuns proves that a leader catches up on a missed run once, and only until it succeeds.
func TestMissedRuns(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { t.Parallel(); testMissedRuns(t, storetest.SQLite(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { t.Parallel(); testMissedRuns(t, storetest.PostgreSQL(t)) })
}

func testMissedRuns(t *testing.T, db *store.DB) {
	now := time.Now()
	err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return errors.Join(store.SetJobRun(ctx, tx, "missed", now.AddDate(-3, 0, 0)), store.SetJobRun(ctx, tx, "fails", now.AddDate(-3, 0, 0)),
			store.SetJobRun(ctx, tx, "done", now), store.SetJobRun(ctx, tx, "done", now.AddDate(-3, 0, 0)))
	})
	if err != nil {
		t.Fatal(err)
	}
	// term lets a node lead until some jobs have run. The last of them runs after all missed ones.
	term := func(fails bool, want ...string) {
		t.Helper()
		c := clustertest.Connect(t, clustertest.Fast(cluster.Options{Store: db}))
		n := clustertest.Join(t, c, cluster.NodeOptions{Type: role.Service, LeaderEligible: true})
		runs := make(chan string, 100)
		schedule := func(name, spec string, err error) {
			stop, problem := n.Schedule(name, spec, func(context.Context, cluster.Fence) error {
				runs <- name
				return err
			})
			if problem != nil {
				t.Fatal(problem)
			}
			t.Cleanup(stop)
		}
		for _, name := range []string{"missed", "done", "first"} {
			schedule(name, "0 0 0 1 1 *", nil)
		}
		var failure error
		if fails {
			failure = errors.New("cannot")
		}
		schedule("fails", "0 0 0 1 1 *", failure)
		schedule("often", "* * * * * *", nil)
		got := map[string]int{}
		for got["often"] < 2 || len(got) < len(want)+1 {
			select {
			case name := <-runs:
				got[name]++
			case <-time.After(time.Minute):
				t.Fatalf("there were %v, want one each of %q", got, want)
			}
		}
		if err := n.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, name := range want {
			if got[name] != 1 {
				t.Errorf("there were %v, want one each of %q", got, want)
			}
		}
		if len(got) != len(want)+1 {
			t.Errorf("there were %v, want %q and often", got, want)
		}
	}
	term(true, "missed", "fails")
	term(false, "fails")
	term(false)
	err = db.Read(t.Context(), func(ctx context.Context, r store.Reader) error {
		if _, err := store.FindJobRun(ctx, r, "often"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the runs of a job that is done each second are noted: %v", err)
		}
		_, err := store.FindJobRun(ctx, r, "first")
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
