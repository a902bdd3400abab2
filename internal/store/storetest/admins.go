// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/store"
)

// date has more digits than are stored, and a different time zone.
var date = time.Date(2024, 5, 6, 7, 8, 9, 123_456_789, time.FixedZone("", 3*3600))

var storedDate = time.Date(2024, 5, 6, 4, 8, 9, 123_000_000, time.UTC)

// fourAdmins have overlapping roles. Role 30 does not exist anywhere.
func fourAdmins() []store.Admin {
	return []store.Admin{
		{ID: 1, LoginName: "ann", Password: []byte("p1"), DisplayName: "Ann", RegistrationDate: storedDate, RoleIDs: []int64{10, 20}},
		{ID: 2, LoginName: "bob", Password: []byte("p2"), DisplayName: "Bob", RegistrationDate: storedDate, RoleIDs: []int64{20}},
		{ID: 3, LoginName: "cat", Password: []byte("p3"), DisplayName: "Cat", RegistrationDate: storedDate, RoleIDs: []int64{30}},
		{ID: 4, LoginName: "dan", Password: []byte("p4"), DisplayName: "Dan", RegistrationDate: storedDate, RoleIDs: []int64{}},
	}
}

func insertFourAdmins(t *testing.T, db *store.DB) []store.Admin {
	t.Helper()
	admins := fourAdmins()
	write(t, db, func(ctx context.Context, tx store.Tx) error { return store.InsertAdmins(ctx, tx, admins...) })
	return admins
}

func findAdmins(t *testing.T, db *store.DB, filter store.AdminFilter, page store.Page) []store.Admin {
	t.Helper()
	var found []store.Admin
	read(t, db, func(ctx context.Context, r store.Reader) (err error) {
		found, err = store.FindAdmins(ctx, r, filter, page)
		return err
	})
	return found
}

func adminIDs(admins []store.Admin) []int64 {
	ids := []int64{}
	for _, admin := range admins {
		ids = append(ids, admin.ID)
	}
	return ids
}

func testAdminInsertFind(t *testing.T, db *store.DB) {
	if found := findAdmins(t, db, store.AdminFilter{}, store.Page{}); found == nil || len(found) != 0 {
		t.Errorf("an empty table gives %v", found)
	}
	want := fourAdmins()
	given := fourAdmins()
	given[0].RegistrationDate = date
	given[0].RoleIDs = []int64{20, 10, 20}
	given[3].RoleIDs = nil
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		// The order of insertion must not matter.
		if err := store.InsertAdmins(ctx, tx, given[3], given[1]); err != nil {
			return err
		}
		if err := store.InsertAdmins(ctx, tx, given[2], given[0]); err != nil {
			return err
		}
		// A transaction reads what it wrote.
		found, err := store.FindAdmins(ctx, tx, store.AdminFilter{}, store.Page{})
		if diff := cmp.Diff(want, found); err == nil && diff != "" {
			t.Errorf("inside the transaction (-want +got):\n%s", diff)
		}
		return err
	})
	if diff := cmp.Diff(want, findAdmins(t, db, store.AdminFilter{}, store.Page{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func testAdminFilter(t *testing.T, db *store.DB) {
	insertFourAdmins(t, db)
	for _, test := range []struct {
		name   string
		filter store.AdminFilter
		want   []int64
	}{
		{"nothing", store.AdminFilter{}, []int64{1, 2, 3, 4}},
		{"empty slices", store.AdminFilter{IDs: []int64{}, LoginNames: []string{}, RoleIDs: []int64{}}, []int64{1, 2, 3, 4}},
		{"ids", store.AdminFilter{IDs: []int64{4, 2, 99, 2}}, []int64{2, 4}},
		{"login names", store.AdminFilter{LoginNames: []string{"cat", "ann", "nobody"}}, []int64{1, 3}},
		{"login names are exact", store.AdminFilter{LoginNames: []string{"CAT", "an", "ann "}}, []int64{}},
		{"one role", store.AdminFilter{RoleIDs: []int64{20}}, []int64{1, 2}},
		{"several roles give no duplicates", store.AdminFilter{RoleIDs: []int64{10, 20}}, []int64{1, 2}},
		{"dangling role", store.AdminFilter{RoleIDs: []int64{30}}, []int64{3}},
		{"unknown role", store.AdminFilter{RoleIDs: []int64{77}}, []int64{}},
		{"all fields", store.AdminFilter{IDs: []int64{1, 2}, LoginNames: []string{"bob", "cat"}, RoleIDs: []int64{20}}, []int64{2}},
		{"no overlap", store.AdminFilter{IDs: []int64{1}, LoginNames: []string{"bob"}}, []int64{}},
	} {
		found := findAdmins(t, db, test.filter, store.Page{})
		if diff := cmp.Diff(test.want, adminIDs(found)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		read(t, db, func(ctx context.Context, r store.Reader) error {
			count, err := store.CountAdmins(ctx, r, test.filter)
			if err == nil && count != int64(len(test.want)) {
				t.Errorf("%s: count is %d, want %d", test.name, count, len(test.want))
			}
			return err
		})
	}
	// A filter by one role must not hide the other roles of the results.
	if found := findAdmins(t, db, store.AdminFilter{RoleIDs: []int64{10}}, store.Page{}); len(found[0].RoleIDs) != 2 {
		t.Errorf("roles are %v", found[0].RoleIDs)
	}
}

func testAdminPages(t *testing.T, db *store.DB) {
	insertFourAdmins(t, db)
	for _, test := range []struct {
		page store.Page
		want []int64
	}{
		{store.Page{}, []int64{1, 2, 3, 4}},
		{store.Page{Limit: 2}, []int64{1, 2}},
		{store.Page{Limit: 2, Offset: 2}, []int64{3, 4}},
		{store.Page{Limit: 2, Offset: 3}, []int64{4}},
		{store.Page{Limit: 2, Offset: 4}, []int64{}},
		{store.Page{Offset: 1}, []int64{2, 3, 4}},
		{store.Page{Limit: -1, Offset: -1}, []int64{1, 2, 3, 4}},
		{store.Page{Limit: 1000}, []int64{1, 2, 3, 4}},
	} {
		if diff := cmp.Diff(test.want, adminIDs(findAdmins(t, db, store.AdminFilter{}, test.page))); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.page, diff)
		}
	}
}

func testAdminUpdate(t *testing.T, db *store.DB) {
	admins := insertFourAdmins(t, db)
	text := func(s string) *string { return &s }
	update := func(ids []int64, change store.AdminChange, want store.UpdateResult) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			got, err := store.UpdateAdmins(ctx, tx, ids, change)
			if err == nil && got != want {
				t.Errorf("result is %+v, want %+v", got, want)
			}
			return err
		})
		if diff := cmp.Diff(admins, findAdmins(t, db, store.AdminFilter{}, store.Page{})); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	update(nil, store.AdminChange{DisplayName: text("x")}, store.UpdateResult{})
	update([]int64{99}, store.AdminChange{DisplayName: text("x")}, store.UpdateResult{})
	update([]int64{1, 2}, store.AdminChange{}, store.UpdateResult{Matched: 2})
	admins[0].DisplayName = "Bob"
	update([]int64{1, 2, 2, 99}, store.AdminChange{DisplayName: text("Bob")}, store.UpdateResult{Matched: 2, Modified: 1})
	admins[2].Password, admins[2].LoginName, admins[2].DisplayName = []byte{}, "new", ""
	update([]int64{3}, store.AdminChange{Password: &[]byte{}, LoginName: text("new"), DisplayName: text("")}, store.UpdateResult{Matched: 1, Modified: 1})
	admins[0].RoleIDs, admins[3].RoleIDs = []int64{20}, []int64{20}
	update([]int64{1, 2, 4}, store.AdminChange{RoleIDs: &[]int64{20, 20}}, store.UpdateResult{Matched: 3, Modified: 2})
	admins[0].RoleIDs, admins[1].RoleIDs, admins[1].DisplayName = []int64{}, []int64{}, "B"
	admins[0].DisplayName = "B"
	update([]int64{1, 2}, store.AdminChange{DisplayName: text("B"), RoleIDs: &[]int64{}}, store.UpdateResult{Matched: 2, Modified: 2})
	err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_, err := store.UpdateAdmins(ctx, tx, []int64{1, 2}, store.AdminChange{LoginName: text("same")})
		return err
	})
	if err == nil {
		t.Error("two admins got the same login name")
	}
	update(nil, store.AdminChange{}, store.UpdateResult{})
}

func testAdminDelete(t *testing.T, db *store.DB) {
	insertFourAdmins(t, db)
	remove := func(ids []int64, want int64) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			got, err := store.DeleteAdmins(ctx, tx, ids)
			if err == nil && got != want {
				t.Errorf("%d deleted, want %d", got, want)
			}
			return err
		})
	}
	remove(nil, 0)
	remove([]int64{99}, 0)
	remove([]int64{1, 3, 3, 99}, 2)
	remove([]int64{1}, 0)
	if diff := cmp.Diff([]int64{2, 4}, adminIDs(findAdmins(t, db, store.AdminFilter{}, store.Page{}))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	read(t, db, func(ctx context.Context, r store.Reader) error {
		left, err := List[int64](ctx, r, "SELECT admin_id FROM admin_role_member")
		if diff := cmp.Diff([]int64{2}, left); err == nil && diff != "" {
			t.Errorf("memberships after the cascade (-want +got):\n%s", diff)
		}
		return err
	})
}

func testAnyAdminWithRole(t *testing.T, db *store.DB) {
	insertFourAdmins(t, db)
	for _, test := range []struct {
		roles []int64
		want  bool
	}{{nil, false}, {[]int64{10}, true}, {[]int64{30}, true}, {[]int64{99}, false}, {[]int64{99, 20}, true}} {
		read(t, db, func(ctx context.Context, r store.Reader) error {
			got, err := store.AnyAdminWithRole(ctx, r, test.roles...)
			if err == nil && got != test.want {
				t.Errorf("roles %v: %v", test.roles, got)
			}
			return err
		})
	}
}
