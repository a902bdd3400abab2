// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/audit"
	"example.org/app/internal/store"
)

// TestAuditedUpdates checks that an update changes and counts the same rows with and without the
// audit trail, even beyond the limit of a row.
func TestAuditedUpdates(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		trail := newTrail(db)
		date := time.Date(2024, 3, 28, 12, 0, 0, 0, time.UTC)
		later := date.Add(time.Hour)
		first := int64(1)
		for _, test := range []struct {
			users, same int // how many users have the new name already
			told        int
		}{
			{users: 0, same: 0},
			{users: 1, same: 0, told: 1},
			{users: 1, same: 1},
			{users: 3, same: 1, told: 2},
			{users: 99, same: 0, told: 99},
			{users: 100, same: 1, told: 99},
			{users: 130, same: 110, told: -1}, // Which ones depends on the engine.
		} {
			t.Run(fmt.Sprintf("%d of %d", test.same, test.users), func(t *testing.T) {
				results := map[bool]store.UpdateResult{}
				for _, audited := range []bool{false, true} {
					ids := []int64{first + 1_000_000} // nobody
					err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
						for i := range test.users {
							name := "before"
							if i < test.same {
								name = "after"
							}
							ids = append(ids, first)
							u := store.User{ID: first, Name: name, RegistrationDate: date, LastUpdatedDate: date}
							first++
							if err := store.InsertUsers(ctx, tx, u); err != nil {
								return err
							}
						}
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
					ctx := t.Context()
					if audited {
						ctx, _ = trail.Begin(ctx, audit.Act{Date: date, Operation: t.Name()})
					}
					var marked int64
					err = db.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
						results[audited], err = store.UpdateUsers(ctx, tx, ids, store.UserChange{Name: new("after")}, later)
						return err
					})
					if err == nil { // An update that does not count what it matches.
						err = db.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
							marked, err = store.MarkUsersDeleted(ctx, tx, ids[:1+test.users/2], later)
							return err
						})
					}
					if err != nil {
						t.Fatal(err)
					}
					if want := (store.UpdateResult{Matched: int64(test.users), Modified: int64(test.users - test.same)}); results[audited] != want || marked != int64(test.users/2) {
						t.Errorf("audited %v: %+v, %d marked, want %+v", audited, results[audited], marked, want)
					}
					checkUsers(t, db, ids, test.same, later)
				}
				told := 0
				for _, r := range rows(t, trail) {
					if r.Operation == t.Name() && r.Changes != nil {
						told += strings.Count(*r.Changes, `"before":{"name":"before"},"after":{"name":"after"}`)
						if strings.Contains(*r.Changes, `"before":{"name":"after"}`) {
							t.Errorf("the trail tells of what did not change: %s", *r.Changes)
						}
					}
				}
				if test.told >= 0 && told != test.told {
					t.Errorf("the trail tells of %d updates, want %d", told, test.told)
				}
			})
		}
	})
}

// checkUsers checks that all users have the new name, and that those who had another are updated.
func checkUsers(t *testing.T, db *store.DB, ids []int64, same int, later time.Time) {
	t.Helper()
	err := db.Read(t.Context(), func(ctx context.Context, r store.Reader) error {
		found, err := store.FindUsers(ctx, r, store.UserFilter{IDs: ids}, store.Page{})
		for i, u := range found {
			touched := i >= same || i < len(found)/2
			if u.Name != "after" || u.LastUpdatedDate.Equal(later) != touched || (u.DeletionDate != nil) != (i < len(found)/2) {
				t.Errorf("user %d of %d: %+v", i, len(found), u)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
