// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"testing"
	"time"

	"example.org/app/internal/store"
)

// testTotals counts what a page is a part of: exactly up to a number of rows behind its beginning.
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
	read(t, db, func(ctx context.Context, r store.Reader) error {
		got, err := store.CountGroupBlockedUsers(ctx, r, store.GroupBlockedUserFilter{})
		if err == nil && got != store.CountLimit+more {
			t.Errorf("without a page: got %d", got)
		}
		return err
	})
}
