// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/store"
)

const (
	numberSpan  = time.Minute
	numberLease = time.Hour
)

func leaseNumber(t *testing.T, db *store.DB, number int, holder string, now time.Time, lease time.Duration) (leased store.NodeNumber, ok bool) {
	t.Helper()
	write(t, db, func(ctx context.Context, tx store.Tx) (err error) {
		leased, ok, err = store.LeaseNodeNumber(ctx, tx, number, holder, now, numberSpan, lease, time.Second)
		return err
	})
	return leased, ok
}

func testNodeNumber(t *testing.T, db *store.DB) {
	now := storedDate.Truncate(time.Millisecond)
	first, ok := leaseNumber(t, db, 7, "a", now, numberLease)
	if !ok || !first.Floor.Equal(now) || !first.HighWater.Equal(now.Add(numberSpan)) {
		t.Fatalf("first lease is %+v, %v", first, ok)
	}
	if _, ok := leaseNumber(t, db, 7, "b", now, numberLease); ok {
		t.Error("a leased number was leased again")
	}
	read(t, db, func(ctx context.Context, r store.Reader) error {
		taken, err := store.TakenNodeNumbers(ctx, r, 0)
		if !slices.Equal(taken, []int{7}) {
			t.Errorf("taken are %v", taken)
		}
		return err
	})
	holders := func(want ...store.NodeNumber) {
		t.Helper()
		read(t, db, func(ctx context.Context, r store.Reader) error {
			got, err := store.NodeNumbers(ctx, r, 0)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("numbers differ (-want +got):\n%s", diff)
			}
			return err
		})
	}
	holders(store.NodeNumber{Number: 7, Holder: "a", HighWater: first.HighWater})
	mark := now.Add(time.Hour)
	renew := func(holder string, want bool) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			// A lease that expired long ago, so that the number is free afterwards.
			ok, err := store.RenewNodeNumber(ctx, tx, 7, holder, mark, -time.Hour)
			if ok != want {
				t.Errorf("renewed for %q: %v, want %v", holder, ok, want)
			}
			return err
		})
	}
	renew("b", false)
	renew("a", true)
	holders() // The lease has ended.
	// The clock of the next holder has gone back, yet its ids begin above those of the previous
	// one.
	second, ok := leaseNumber(t, db, 7, "b", now.Add(-time.Hour), numberLease)
	if !ok || !second.Floor.Equal(mark) || !second.HighWater.Equal(mark.Add(numberSpan)) {
		t.Fatalf("second lease is %+v, %v", second, ok)
	}
	renew("a", false)
	release := func(holder string) {
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			return store.ReleaseNodeNumber(ctx, tx, 7, holder, mark.Add(time.Second))
		})
	}
	release("a")
	if _, ok := leaseNumber(t, db, 7, "c", now, numberLease); ok {
		t.Error("a number was released by a former holder")
	}
	holders(store.NodeNumber{Number: 7, Holder: "b", HighWater: second.HighWater})
	release("b")
	holders()
	third, ok := leaseNumber(t, db, 7, "c", now, numberLease)
	if !ok || !third.Floor.Equal(mark.Add(time.Second)) {
		t.Errorf("third lease is %+v, %v", third, ok)
	}
}

func testNodeNumberMargin(t *testing.T, db *store.DB) {
	now := storedDate
	if _, ok := leaseNumber(t, db, 0, "a", now, 0); !ok {
		t.Fatal("a free number was refused")
	}
	// The lease has expired, but by less than the margin.
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		_, ok, err := store.LeaseNodeNumber(ctx, tx, 0, "b", now, numberSpan, numberLease, time.Hour)
		if ok {
			t.Error("a number was leased again within the margin")
		}
		return err
	})
}

func testNodeNumberRace(t *testing.T, db *store.DB) {
	var mu sync.Mutex
	var winners []string
	parallel(16, func(i int) {
		holder := name("node-", i)
		if _, ok := leaseNumber(t, db, 1, holder, storedDate, numberLease); ok {
			mu.Lock()
			winners = append(winners, holder)
			mu.Unlock()
		}
	})
	if len(winners) != 1 {
		t.Errorf("winners are %v, want one", winners)
	}
}

func testLeaderFence(t *testing.T, db *store.DB) {
	want := func(fence int64, holder string) {
		t.Helper()
		read(t, db, func(ctx context.Context, r store.Reader) error {
			got, gotHolder, err := store.LeaderFence(ctx, r)
			if got != fence || gotHolder != holder {
				t.Errorf("fence is %d of %q, want %d of %q", got, gotHolder, fence, holder)
			}
			return err
		})
	}
	take := func(expected int64, holder string) (fence int64, ok bool) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) (err error) {
			fence, ok, err = store.TakeLead(ctx, tx, expected, holder)
			return err
		})
		return fence, ok
	}
	check := func(fence int64) error {
		return db.Write(context.Background(), func(ctx context.Context, tx store.Tx) error {
			return store.CheckLead(ctx, tx, fence)
		})
	}
	want(0, "")
	if fence, ok := take(0, "a"); !ok || fence != 1 {
		t.Errorf("first fence is %d, %v", fence, ok)
	}
	if _, ok := take(0, "b"); ok {
		t.Error("the lead was taken from an outdated state")
	}
	if err := check(1); err != nil {
		t.Error(err)
	}
	if fence, ok := take(1, "b"); !ok || fence != 2 {
		t.Errorf("second fence is %d, %v", fence, ok)
	}
	if err := check(1); !errors.Is(err, store.ErrFenced) {
		t.Errorf("the old fence: %v, want ErrFenced", err)
	}
	release := func(fence int64) {
		write(t, db, func(ctx context.Context, tx store.Tx) error { return store.ReleaseLead(ctx, tx, fence) })
	}
	release(1)
	want(2, "b")
	release(2)
	want(2, "")
	wins := make([]bool, 8)
	parallel(len(wins), func(i int) { _, wins[i] = take(2, name("node-", i)) })
	if count := len(slices.DeleteFunc(wins, func(ok bool) bool { return !ok })); count != 1 {
		t.Errorf("%d took the lead at once, want 1", count)
	}
}
