// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/store"
)

// testTotals counts the total behind a page: exactly up to a number of rows after its beginning.
func testTotals(t *testing.T, db *store.DB) {
	const more = 70
	blocked := make([]store.GroupBlockedUser, store.CountLimit+more)
	for i := range blocked {
		blocked[i] = store.GroupBlockedUser{GroupUserKey: store.GroupUserKey{GroupID: int64(1 + i%2), UserID: int64(i)}, BlockDate: time.UnixMilli(1)}
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		return store.InsertGroupBlockedUsers(ctx, tx, blocked...)
	})
	for _, test := range []struct {
		filter store.GroupBlockedUserFilter
		offset int
		want   int64
	}{
		{want: store.CountLimit},
		{offset: 10, want: store.CountLimit + 10},
		{offset: more, want: store.CountLimit + more},
		{offset: more + 1, want: store.CountLimit + more},
		{offset: 1_000_000, want: store.CountLimit + more},
		{offset: -1, want: store.CountLimit},
		{filter: store.GroupBlockedUserFilter{GroupIDs: []int64{2}}, want: (store.CountLimit + more) / 2},
		{filter: store.GroupBlockedUserFilter{GroupIDs: []int64{3}}, want: 0},
	} {
		read(t, db, func(ctx context.Context, r store.Reader) error {
			got, err := store.CountGroupBlockedUsers(ctx, store.ForTotal(r, store.Page{Limit: 10, Offset: test.offset}), test.filter)
			if err == nil && got != test.want {
				t.Errorf("%+v, offset %d: got %d, want %d", test.filter, test.offset, got, test.want)
			}
			return err
		})
	}
	for _, test := range []struct {
		totals  *store.Totals
		offset  int
		want    int64
		bounded bool
	}{
		{&store.Totals{Budget: time.Hour}, 0, store.CountLimit + more, false},
		{&store.Totals{Exact: true}, 0, store.CountLimit + more, false},
		{&store.Totals{Exact: true, Budget: 1}, 0, store.CountLimit + more, false},
		{&store.Totals{Budget: 1}, 0, store.CountLimit, true},
		{&store.Totals{}, 10, store.CountLimit + 10, true},
		{&store.Totals{}, 1_000_000, store.CountLimit + more, false},
	} {
		read(t, db, func(ctx context.Context, r store.Reader) error {
			totals := test.totals
			got, err := store.CountGroupBlockedUsers(ctx, store.ForTotal(r, store.Page{Limit: 10, Offset: test.offset, Totals: totals}), store.GroupBlockedUserFilter{})
			if err == nil && (got != test.want || totals.Bounded() != test.bounded) {
				t.Errorf("%s, exact %v, offset %d: got %d, bounded %v", totals.Budget, totals.Exact, test.offset, got, totals.Bounded())
			}
			return err
		})
	}
	read(t, db, func(ctx context.Context, r store.Reader) error {
		got, err := store.CountGroupBlockedUsers(ctx, r, store.GroupBlockedUserFilter{})
		if err == nil && got != store.CountLimit+more {
			t.Errorf("without a page: got %d", got)
		}
		return err
	})
}

// testTotalsAreFresh counts concurrently with others who count the same, and who add rows: no total
// may miss rows that existed before its query.
func testTotalsAreFresh(t *testing.T, db *store.DB) {
	const writers, each = 8, 20
	var added atomic.Int64
	var group sync.WaitGroup
	before := db.Stats().Statements
	var asked atomic.Int64
	ask := func() {
		least := added.Load()
		asked.Add(1)
		err := db.Read(t.Context(), func(ctx context.Context, r store.Reader) error {
			n, err := store.CountUsers(ctx, store.ForTotal(r, store.Page{Limit: 1}), store.UserFilter{})
			if most := int64(writers * each); err == nil && (n < least || n > most) {
				t.Errorf("the total is %d, and there are at least %d and at most %d", n, least, most)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	for writer := range writers {
		group.Go(func() {
			for i := range each {
				err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
					return store.InsertUsers(ctx, tx, store.User{ID: int64(1 + writer*each + i), RegistrationDate: time.UnixMilli(1), LastUpdatedDate: time.UnixMilli(1)})
				})
				if err != nil {
					t.Error(err)
				}
				added.Add(1)
				ask()
			}
		})
		group.Go(func() {
			for range 2 * each {
				ask()
			}
		})
	}
	group.Wait()
	ask()
	t.Logf("%d totals with %d statements, those that write included", asked.Load(), db.Stats().Statements-before)
}
