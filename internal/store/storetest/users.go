// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/store"
)

// threeUsers returns users with everything, with nothing and with extremes.
func threeUsers() []store.User {
	picture := ""
	deletion := storedDate.Add(time.Hour)
	return []store.User{
		{ID: math.MinInt64, Password: []byte{}, RegistrationDate: time.UnixMilli(-1).UTC(), LastUpdatedDate: storedDate},
		{
			ID: 1, Password: []byte{0, 255, '\''}, Name: "O'Neil 😀", Intro: "\\ä\n", ProfilePicture: &picture, ProfileAccessStrategy: store.ProfileForFriends,
			RoleID: math.MinInt64, RegistrationDate: storedDate, DeletionDate: &deletion, LastUpdatedDate: deletion, IsActive: true,
			UserDefinedAttributes: map[string]any{"n": json.Number("12345678901234567890"), "list": []any{"?", nil}},
		},
		{ID: math.MaxInt64, Password: []byte{}, Name: "last", RoleID: math.MaxInt64, RegistrationDate: storedDate, LastUpdatedDate: storedDate, IsActive: true},
	}
}

func insertThreeUsers(t *testing.T, db *store.DB) []store.User {
	t.Helper()
	write(t, db, func(ctx context.Context, tx store.Tx) error { return store.InsertUsers(ctx, tx, threeUsers()...) })
	return threeUsers()
}

func findUsers(t *testing.T, db *store.DB, filter store.UserFilter, page store.Page) []store.User {
	t.Helper()
	return all(t, db, filter, page, store.FindUsers, store.CountUsers)
}

func testUsers(t *testing.T, db *store.DB) {
	want := insertThreeUsers(t, db)
	if diff := cmp.Diff(want, findUsers(t, db, store.UserFilter{}, store.Page{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(want[1:2], findUsers(t, db, store.UserFilter{}, store.Page{Limit: 1, Offset: 1})); diff != "" {
		t.Errorf("second page (-want +got):\n%s", diff)
	}
	wantDuplicate(t, db, "user_account", func(ctx context.Context, tx store.Tx) error {
		return store.InsertUsers(ctx, tx, store.User{ID: 2}, store.User{ID: 1})
	})
	err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return store.InsertUsers(ctx, tx, store.User{ID: 3, UserDefinedAttributes: map[string]any{"f": func() {}}})
	})
	if !errors.Is(err, store.ErrInvalidValue) {
		t.Errorf("attributes without JSON form: %v", err)
	}
	at := func(from, to time.Time) store.DateRange { return store.DateRange{Start: &from, End: &to} }
	hour := storedDate.Add(time.Hour)
	for _, test := range []struct {
		filter store.UserFilter
		want   []int64
	}{
		{store.UserFilter{IDs: []int64{1, 5, math.MaxInt64}}, []int64{1, math.MaxInt64}},
		{store.UserFilter{Registration: at(storedDate, hour)}, []int64{1, math.MaxInt64}},
		{store.UserFilter{Registration: at(time.UnixMilli(-1), storedDate)}, []int64{math.MinInt64}},
		{store.UserFilter{Registration: store.DateRange{End: &storedDate}}, []int64{math.MinInt64}},
		{store.UserFilter{Deletion: store.DateRange{Start: &hour}}, []int64{1}},
		{store.UserFilter{Deletion: store.DateRange{End: &hour}}, nil},
		{store.UserFilter{IsActive: new(true)}, []int64{1, math.MaxInt64}},
		{store.UserFilter{IsActive: new(false)}, []int64{math.MinInt64}},
		{store.UserFilter{IsActive: new(true), Deletion: at(hour, hour.Add(1e6)), IDs: []int64{1}}, []int64{1}},
	} {
		wantIDs(t, test.filter, findUsers(t, db, test.filter, store.Page{}), func(u store.User) int64 { return u.ID }, test.want...)
	}
}

// testUserNames proves that users are found by the prefix of their names, ordered by name, alike on
// all engines.
func testUserNames(t *testing.T, db *store.DB) {
	names := []string{
		"", "Ann", "anna Smith", "ANNABEL", "Bob", "%", "a_b", "Иван Петров", "ИВАН ГРОЗНЫЙ", "иванка", "Ὀδυσσεύς", "Östen", "östen", "\U0010ffff", "王小明",
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		var users []store.User
		for i, name := range names {
			users = append(users, store.User{ID: int64(i), Name: name, RegistrationDate: storedDate.Add(-time.Duration(i) * time.Second), LastUpdatedDate: storedDate})
		}
		return store.InsertUsers(ctx, tx, users...)
	})
	for _, test := range []struct {
		prefix string
		want   []string
	}{
		{"ann", []string{"Ann", "anna Smith", "ANNABEL"}},
		{"ANNA", []string{"anna Smith", "ANNABEL"}},
		{"anna s", []string{"anna Smith"}},
		{"smith", nil},
		{"%", []string{"%"}},
		{"a_", []string{"a_b"}},
		{"иван", []string{"ИВАН ГРОЗНЫЙ", "Иван Петров", "иванка"}},
		{"иван п", []string{"Иван Петров"}},
		{"ИВАН П", []string{"Иван Петров"}},
		{"Ö", []string{"Östen", "östen"}},
		{"王", []string{"王小明"}},
		{"\U0010ffff", []string{"\U0010ffff"}},
		{"'; --", nil},
	} {
		var got []string
		for _, u := range findUsers(t, db, store.UserFilter{NamePrefix: test.prefix}, store.Page{}) {
			got = append(got, u.Name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("names that begin with %q (-want +got):\n%s", test.prefix, diff)
		}
	}
	dated := store.UserFilter{NamePrefix: "ann", Registration: store.DateRange{End: new(storedDate)}}
	wantIDs(t, dated, findUsers(t, db, dated, store.Page{}), func(u store.User) int64 { return u.ID }, 3, 2, 1)
	page := store.UserFilter{NamePrefix: "ann"}
	wantIDs(t, page, findUsers(t, db, page, store.Page{Limit: 1, Offset: 1}), func(u store.User) int64 { return u.ID }, 2)
}

func testUserChanges(t *testing.T, db *store.DB) {
	want := insertThreeUsers(t, db)
	now := storedDate.Add(24 * time.Hour)
	update := func(result store.UpdateResult, change store.UserChange, ids ...int64) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			got, err := store.UpdateUsers(ctx, tx, ids, change, now)
			if err == nil && got != result {
				t.Errorf("result is %+v, want %+v", got, result)
			}
			return err
		})
		if diff := cmp.Diff(want, findUsers(t, db, store.UserFilter{}, store.Page{})); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	update(store.UpdateResult{}, store.UserChange{Name: new("x")}, 99)
	update(store.UpdateResult{Matched: 1}, store.UserChange{}, 1)
	update(store.UpdateResult{Matched: 1}, store.UserChange{Name: new("last"), IsActive: new(true)}, math.MaxInt64)
	// A missing picture differs from one with an empty location.
	for _, i := range []int{0, 2} {
		want[i].ProfilePicture, want[i].LastUpdatedDate = new(""), now
	}
	update(store.UpdateResult{Matched: 3, Modified: 2}, store.UserChange{ProfilePicture: new("")}, math.MinInt64, 1, math.MaxInt64)
	want[1] = store.User{
		ID: 1, Password: []byte("new"), Name: "n", Intro: "i", ProfilePicture: new("p"), ProfileAccessStrategy: store.ProfileForAll, RoleID: 3,
		RegistrationDate: now, DeletionDate: want[1].DeletionDate, LastUpdatedDate: now, UserDefinedAttributes: map[string]any{"a": "b"},
	}
	update(store.UpdateResult{Matched: 1, Modified: 1}, store.UserChange{
		Password: new([]byte("new")), Name: new("n"), Intro: new("i"), ProfilePicture: new("p"), ProfileAccessStrategy: new(store.ProfileForAll),
		RoleID: new(int64(3)), RegistrationDate: &now, IsActive: new(false), UserDefinedAttributes: &map[string]any{"a": "b"},
	}, 1)
	want[1].UserDefinedAttributes, want[1].Password = nil, []byte{}
	update(store.UpdateResult{Matched: 1, Modified: 1}, store.UserChange{Password: new([]byte(nil)), UserDefinedAttributes: new(map[string]any(nil))}, 1)

	mark := func(date time.Time, count int64) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			got, err := store.MarkUsersDeleted(ctx, tx, []int64{1, math.MaxInt64, 99}, date)
			if err == nil && got != count {
				t.Errorf("%d marked, want %d", got, count)
			}
			return err
		})
		for _, i := range []int{1, 2} {
			want[i].DeletionDate, want[i].LastUpdatedDate = &date, date
		}
		if diff := cmp.Diff(want, findUsers(t, db, store.UserFilter{}, store.Page{})); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	mark(now, 2)
	mark(now, 0)
	mark(now.Add(time.Millisecond), 2)
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		deleted, err := store.DeleteUsers(ctx, tx, []int64{1, 99, math.MinInt64})
		if err == nil && deleted != 2 {
			t.Errorf("%d deleted, want 2", deleted)
		}
		return err
	})
	wantIDs(t, "left", findUsers(t, db, store.UserFilter{}, store.Page{}), func(u store.User) int64 { return u.ID }, math.MaxInt64)
}

func testUserRoles(t *testing.T, db *store.DB) {
	want := []store.UserRole{
		{ID: math.MinInt64, CreatableGroupTypeIDs: []int64{}, GroupTypeIDToLimit: map[int64]int32{}},
		store.DefaultUserRole(),
		{
			ID: 7, Name: new("seven"), CreatableGroupTypeIDs: []int64{math.MinInt64, 0, math.MaxInt64}, OwnedGroupLimit: 5, OwnedGroupLimitForEachGroupType: math.MaxInt32,
			GroupTypeIDToLimit: map[int64]int32{math.MaxInt64: 1, -2: 0},
		},
	}
	check := func() {
		t.Helper()
		read(t, db, func(ctx context.Context, r store.Reader) error {
			got, err := store.FindUserRoles(ctx, r, nil, store.Page{})
			if diff := cmp.Diff(want, got); err == nil && diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if count, err := store.CountUserRoles(ctx, r); err != nil || count != int64(len(want)) {
				t.Errorf("counted %d, %v", count, err)
			}
			return err
		})
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		unsorted := want[2]
		unsorted.CreatableGroupTypeIDs = []int64{math.MaxInt64, 0, math.MinInt64, 0}
		return store.InsertUserRoles(ctx, tx, unsorted, store.UserRole{ID: math.MinInt64})
	})
	check()
	wantDuplicate(t, db, "user_role", func(ctx context.Context, tx store.Tx) error {
		return store.InsertUserRoles(ctx, tx, store.UserRole{ID: store.DefaultUserRoleID})
	})
	read(t, db, func(ctx context.Context, r store.Reader) error {
		got, err := store.FindUserRoles(ctx, r, []int64{7, 8}, store.Page{})
		if diff := cmp.Diff(want[2:], got); err == nil && diff != "" {
			t.Errorf("by id (-want +got):\n%s", diff)
		}
		return err
	})
	update := func(result store.UpdateResult, change store.UserRoleChange, ids ...int64) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			got, err := store.UpdateUserRoles(ctx, tx, ids, change)
			if err == nil && got != result {
				t.Errorf("result is %+v, want %+v", got, result)
			}
			return err
		})
		check()
	}
	update(store.UpdateResult{Matched: 1}, store.UserRoleChange{CreatableGroupTypeIDs: &[]int64{math.MaxInt64, math.MinInt64, 0}, GroupTypeIDToLimit: &map[int64]int32{-2: 0, math.MaxInt64: 1}}, 7, 8)
	want[0].Name, want[0].OwnedGroupLimit, want[0].OwnedGroupLimitForEachGroupType = new("same"), 5, math.MaxInt32
	want[2].Name = new("same")
	update(store.UpdateResult{Matched: 2, Modified: 2}, store.UserRoleChange{Name: new("same"), OwnedGroupLimit: new(int32(5)), OwnedGroupLimitForEachGroupType: new(int32(math.MaxInt32))}, 7, math.MinInt64)
	want[2].CreatableGroupTypeIDs, want[2].GroupTypeIDToLimit = []int64{}, map[int64]int32{}
	update(store.UpdateResult{Matched: 1, Modified: 1}, store.UserRoleChange{CreatableGroupTypeIDs: new([]int64(nil)), GroupTypeIDToLimit: new(map[int64]int32(nil))}, 7)
	update(store.UpdateResult{Matched: 1}, store.UserRoleChange{}, 7)
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		deleted, err := store.DeleteUserRoles(ctx, tx, []int64{7, 8})
		if err == nil && deleted != 1 {
			t.Errorf("%d deleted", deleted)
		}
		return err
	})
	want = want[:2]
	check()
}

func testUserVersions(t *testing.T, db *store.DB) {
	version := func(kind store.UserVersion, id, want int64) {
		t.Helper()
		read(t, db, func(ctx context.Context, r store.Reader) error {
			date, err := store.FindUserVersion(ctx, r, kind, id)
			got := int64(-1)
			if date != nil {
				got = date.Sub(storedDate).Milliseconds()
			}
			if err == nil && got != want {
				t.Errorf("version %s of user %d is %d, want %d", kind, id, got, want)
			}
			return err
		})
	}
	bump := func(offset int, ids ...int64) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			return store.BumpUserVersion(ctx, tx, store.VersionJoinedGroups, storedDate.Add(time.Duration(offset)*time.Millisecond), ids...)
		})
	}
	version(store.VersionJoinedGroups, 1, -1)
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		first, err1 := store.InsertUserVersions(ctx, tx, storedDate, 1, 2)
		again, err2 := store.InsertUserVersions(ctx, tx, storedDate.Add(time.Hour), 2)
		none, err3 := store.InsertUserVersions(ctx, tx, storedDate)
		if first != 2 || again != 0 || none != 0 {
			t.Errorf("inserted %d, %d and %d versions", first, again, none)
		}
		return errors.Join(err1, err2, err3)
	})
	for _, kind := range store.UserVersions {
		version(kind, 1, 0)
		version(kind, 2, 0)
	}
	bump(0, 1, 1, 3)
	version(store.VersionJoinedGroups, 1, 1)
	version(store.VersionJoinedGroups, 2, 0)
	version(store.VersionJoinedGroups, 3, 0)
	version(store.VersionRelationships, 3, -1)
	bump(10, 1, 2)
	version(store.VersionJoinedGroups, 1, 10)
	version(store.VersionJoinedGroups, 2, 10)
	bump(5, 1) // The clock has gone back.
	version(store.VersionJoinedGroups, 1, 11)
	version(store.VersionRelationships, 1, 0)
	bump(100)
	version(store.VersionJoinedGroups, 1, 11)
	many := make([]int64, 3000)
	for i := range many {
		many[i] = int64(i) + 1000
	}
	bump(1, many...)
	version(store.VersionJoinedGroups, 3999, 1)
	write(t, db, func(ctx context.Context, tx store.Tx) error { return store.DeleteUserVersions(ctx, tx, []int64{1, 99}) })
	version(store.VersionJoinedGroups, 1, -1)
	version(store.VersionJoinedGroups, 2, 10)
	if err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return store.BumpUserVersion(ctx, tx, "user_id", storedDate, 1)
	}); err == nil {
		t.Error("an unknown version is bumped")
	}
}

// testUserVersionRace lets many transactions bump one version at the same moment: no update may be
// lost.
func testUserVersionRace(t *testing.T, db *store.DB) {
	const writers, times = 8, 10
	errs := make([]error, writers)
	parallel(writers, func(i int) {
		for range times {
			errs[i] = errors.Join(errs[i], db.Write(context.Background(), func(ctx context.Context, tx store.Tx) error {
				return store.BumpUserVersion(ctx, tx, store.VersionRelationships, storedDate, 1, int64(i+2))
			}))
		}
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	read(t, db, func(ctx context.Context, r store.Reader) error {
		date, err := store.FindUserVersion(ctx, r, store.VersionRelationships, 1)
		if err == nil && date.Sub(storedDate) != (writers*times-1)*time.Millisecond {
			t.Errorf("after %d changes the version is %v later", writers*times, date.Sub(storedDate))
		}
		return err
	})
}
