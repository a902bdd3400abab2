// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/store"
)

func threeRoles() []store.AdminRole {
	return []store.AdminRole{
		{ID: 10, Name: "low", Rank: math.MinInt32, Permissions: []string{"READ"}, CreationDate: storedDate},
		{ID: 20, Name: "mid", Rank: 0, Permissions: []string{"READ", "WRITE", "Ärger", "a", "b"}, CreationDate: storedDate},
		{ID: 30, Name: "mid", Rank: math.MaxInt32, Permissions: []string{}, CreationDate: storedDate},
	}
}

func insertThreeRoles(t *testing.T, db *store.DB) []store.AdminRole {
	t.Helper()
	roles := threeRoles()
	// Text is ordered by its bytes on every engine.
	roles[1].Permissions = []string{"READ", "WRITE", "a", "b", "Ärger"}
	write(t, db, func(ctx context.Context, tx store.Tx) error { return store.InsertAdminRoles(ctx, tx, threeRoles()...) })
	return roles
}

func findRoles(t *testing.T, db *store.DB, filter store.AdminRoleFilter, page store.Page) []store.AdminRole {
	t.Helper()
	var found []store.AdminRole
	read(t, db, func(ctx context.Context, r store.Reader) (err error) {
		found, err = store.FindAdminRoles(ctx, r, filter, page)
		return err
	})
	return found
}

func testRoleInsertFind(t *testing.T, db *store.DB) {
	want := insertThreeRoles(t, db)
	if diff := cmp.Diff(want, findRoles(t, db, store.AdminRoleFilter{}, store.Page{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(want[1:2], findRoles(t, db, store.AdminRoleFilter{}, store.Page{Limit: 1, Offset: 1})); diff != "" {
		t.Errorf("second page (-want +got):\n%s", diff)
	}
	err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return store.InsertAdminRoles(ctx, tx, store.AdminRole{ID: 10, Name: "again"})
	})
	if !errors.Is(err, store.ErrDuplicateKey) {
		t.Errorf("role id that exists: %v", err)
	}
}

func testRoleFilter(t *testing.T, db *store.DB) {
	insertThreeRoles(t, db)
	for _, test := range []struct {
		name   string
		filter store.AdminRoleFilter
		want   []int64
	}{
		{"nothing", store.AdminRoleFilter{}, []int64{10, 20, 30}},
		{"ids", store.AdminRoleFilter{IDs: []int64{30, 10}}, []int64{10, 30}},
		{"names", store.AdminRoleFilter{Names: []string{"mid"}}, []int64{20, 30}},
		{"ranks", store.AdminRoleFilter{Ranks: []int32{0, math.MaxInt32, 5}}, []int64{20, 30}},
		{"one permission", store.AdminRoleFilter{Permissions: []string{"WRITE"}}, []int64{20}},
		{"any of the permissions, once", store.AdminRoleFilter{Permissions: []string{"WRITE", "READ", "a"}}, []int64{10, 20}},
		{"unknown permission", store.AdminRoleFilter{Permissions: []string{"read"}}, []int64{}},
		{
			"all fields",
			store.AdminRoleFilter{IDs: []int64{10, 20}, Names: []string{"mid"}, Ranks: []int32{0}, Permissions: []string{"READ"}},
			[]int64{20},
		},
	} {
		got := []int64{}
		for _, role := range findRoles(t, db, test.filter, store.Page{}) {
			got = append(got, role.ID)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		read(t, db, func(ctx context.Context, r store.Reader) error {
			count, err := store.CountAdminRoles(ctx, r, test.filter)
			if err == nil && count != int64(len(test.want)) {
				t.Errorf("%s: count is %d, want %d", test.name, count, len(test.want))
			}
			return err
		})
	}
}

func testRoleUpdate(t *testing.T, db *store.DB) {
	roles := insertThreeRoles(t, db)
	update := func(ids []int64, change store.AdminRoleChange, want store.UpdateResult) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			got, err := store.UpdateAdminRoles(ctx, tx, ids, change)
			if err == nil && got != want {
				t.Errorf("result is %+v, want %+v", got, want)
			}
			return err
		})
		if diff := cmp.Diff(roles, findRoles(t, db, store.AdminRoleFilter{}, store.Page{})); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	name, rank := "mid", int32(5)
	update([]int64{99}, store.AdminRoleChange{Name: &name}, store.UpdateResult{})
	roles[0].Name = "mid"
	update([]int64{10, 20, 30}, store.AdminRoleChange{Name: &name}, store.UpdateResult{Matched: 3, Modified: 1})
	roles[1].Rank, roles[2].Rank = 5, 5
	roles[1].Permissions, roles[2].Permissions = []string{"X"}, []string{"X"}
	update([]int64{20, 30}, store.AdminRoleChange{Rank: &rank, Permissions: &[]string{"X", "X"}}, store.UpdateResult{Matched: 2, Modified: 2})
	roles[0].Permissions = []string{"X"}
	update([]int64{10, 20}, store.AdminRoleChange{Permissions: &[]string{"X"}}, store.UpdateResult{Matched: 2, Modified: 1})
	roles[0].Permissions = []string{}
	update([]int64{10}, store.AdminRoleChange{Permissions: &[]string{}}, store.UpdateResult{Matched: 1, Modified: 1})
}

func testRoleDelete(t *testing.T, db *store.DB) {
	insertThreeRoles(t, db)
	insertFourAdmins(t, db)
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		deleted, err := store.DeleteAdminRoles(ctx, tx, []int64{10, 20, 99})
		if err == nil && deleted != 2 {
			t.Errorf("%d deleted, want 2", deleted)
		}
		return err
	})
	if left := findRoles(t, db, store.AdminRoleFilter{}, store.Page{}); len(left) != 1 || left[0].ID != 30 {
		t.Errorf("left are %v", left)
	}
	read(t, db, func(ctx context.Context, r store.Reader) error {
		var left int
		err := First(ctx, r, "SELECT count(*) FROM admin_role_permission", &left)
		if err == nil && left != 0 {
			t.Errorf("%d permissions outlived their role", left)
		}
		return err
	})
	// Memberships of deleted roles stay.
	if diff := cmp.Diff(fourAdmins(), findAdmins(t, db, store.AdminFilter{}, store.Page{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
