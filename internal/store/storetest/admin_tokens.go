// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/store"
)

func testAdminTokens(t *testing.T, db *store.DB) {
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		return store.InsertAdmins(ctx, tx, store.Admin{ID: 1, LoginName: "a", DisplayName: "a", RegistrationDate: storedDate}, store.Admin{ID: 2, LoginName: "b", DisplayName: "b", RegistrationDate: storedDate})
	})
	want := []store.AdminToken{
		{ID: 10, OwnerID: 1, Kind: "TOKEN", Name: "x", Hash: []byte{0, 1}, Permissions: []string{"A", "B"}, Networks: []string{"10.0.0.0/8", "::1/128"}, CreationDate: storedDate, ExpirationDate: storedDate.Add(time.Hour)},
		{ID: 11, OwnerID: 2, Kind: "SESSION", Hash: []byte{2}, Networks: []string{}, CreationDate: storedDate, ExpirationDate: storedDate.Add(2 * time.Hour), LastUseDate: storedDate},
		{ID: 12, OwnerID: 2, Kind: "TOKEN", Hash: []byte{3}, Permissions: []string{}, Networks: []string{}, CreationDate: storedDate, ExpirationDate: storedDate.Add(3 * time.Hour)},
	}
	insert := func(token store.AdminToken) error {
		return db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error { return store.InsertAdminToken(ctx, tx, token) })
	}
	for _, token := range want {
		if err := insert(token); err != nil {
			t.Fatal(err)
		}
	}
	if err := insert(store.AdminToken{ID: 13, OwnerID: 1, Kind: "TOKEN", Hash: []byte{3}}); !errors.Is(err, store.ErrDuplicateKey) {
		t.Errorf("hash that exists: %v", err)
	}
	if err := insert(store.AdminToken{ID: 14, OwnerID: 9, Kind: "TOKEN", Hash: []byte{4}}); !errors.Is(err, store.ErrForeignKey) {
		t.Errorf("owner that does not exist: %v", err)
	}
	find := func(filter store.AdminTokenFilter, page store.Page) (found []store.AdminToken, count int64) {
		read(t, db, func(ctx context.Context, r store.Reader) (err error) {
			if found, err = store.FindAdminTokens(ctx, r, filter, page); err != nil {
				return err
			}
			count, err = store.CountAdminTokens(ctx, r, filter)
			return err
		})
		return found, count
	}
	expect := func(name string, filter store.AdminTokenFilter, page store.Page, count int64, want ...store.AdminToken) {
		t.Helper()
		found, n := find(filter, page)
		if diff := cmp.Diff(append([]store.AdminToken{}, want...), found); diff != "" || n != count {
			t.Errorf("%s: %d tokens, want %d (-want +got):\n%s", name, n, count, diff)
		}
	}
	expect("all", store.AdminTokenFilter{}, store.Page{}, 3, want...)
	expect("page", store.AdminTokenFilter{}, store.Page{Limit: 1, Offset: 1}, 3, want[1])
	expect("owner and kind", store.AdminTokenFilter{OwnerIDs: []int64{2}, Kinds: []string{"TOKEN"}}, store.Page{}, 1, want[2])

	revision := func() int64 {
		n, err := db.Revision(t.Context(), store.RevisionAdmin)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := revision()
	later := storedDate.Add(time.Minute)
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		return errors.Join(store.TouchAdminToken(ctx, tx, 10, later), store.TouchAdminToken(ctx, tx, 10, storedDate))
	})
	want[0].LastUseDate = later
	expect("used", store.AdminTokenFilter{IDs: []int64{10}}, store.Page{}, 1, want[0])
	if revision() != before {
		t.Error("the use of a token bumped the revision")
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		n, err := store.DeleteExpiredAdminTokens(ctx, tx, storedDate.Add(90*time.Minute))
		if n != 1 {
			t.Errorf("%d expired tokens were deleted, want 1", n)
		}
		return err
	})
	if revision() == before {
		t.Error("a deletion did not bump the revision")
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		if n, err := store.DeleteAdminTokens(ctx, tx, []int64{11, 99}); n != 1 || err != nil {
			t.Errorf("%d tokens were deleted: %v", n, err)
		}
		_, err := store.DeleteAdmins(ctx, tx, []int64{2})
		return err
	})
	expect("after the owner was deleted", store.AdminTokenFilter{}, store.Page{}, 0)
}
