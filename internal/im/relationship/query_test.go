// SPDX-License-Identifier: Apache-2.0

package relationship

import (
	"testing"
	"time"

	"example.org/app/internal/store"
)

// TestVersions proves that exactly the changes of a list increment its version.
func TestVersions(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *fixture) {
		type query func(known *time.Time) (count int, version *time.Time, err error)
		lists := map[string]query{
			"related": func(known *time.Time) (int, *time.Time, error) {
				found, version, err := f.Related(t.Context(), 1, store.RelationshipFilter{}, known)
				return len(found), version, err
			},
			"ids": func(known *time.Time) (int, *time.Time, error) {
				found, version, err := f.RelatedIDs(t.Context(), 1, store.RelationshipFilter{}, known)
				return len(found), version, err
			},
			"groups": func(known *time.Time) (int, *time.Time, error) {
				found, version, err := f.GroupsOf(t.Context(), 1, known)
				return len(found), version, err
			},
			"sent": func(known *time.Time) (int, *time.Time, error) {
				found, version, err := f.FriendRequests.List(t.Context(), 1, true, known)
				return len(found), version, err
			},
			"received": func(known *time.Time) (int, *time.Time, error) {
				found, version, err := f.FriendRequests.List(t.Context(), 1, false, known)
				return len(found), version, err
			},
		}
		known := make(map[string]*time.Time)
		// step queries all lists and compares which of them changed, with their lengths.
		step := func(what string, want map[string]int) {
			t.Helper()
			for name, ask := range lists {
				count, version, err := ask(known[name])
				wanted, changed := want[name]
				if err != nil || (version != nil) != changed || count != wanted {
					t.Errorf("%s: %s has %d of %v, want %d (%v): %v", what, name, count, version, wanted, changed, err)
				}
				if version != nil {
					known[name] = version
				}
			}
		}
		step("nothing is known", nil)
		if _, err := f.Establish(t.Context(), key(1, 2), false, nil, nil); err != nil {
			t.Fatal(err)
		}
		step("establish", map[string]int{"related": 1, "ids": 1, "groups": 1})
		step("again", nil)
		group, err := f.CreateGroup(t.Context(), GroupCreation{OwnerID: 1, Name: "g"})
		if err != nil {
			t.Fatal(err)
		}
		step("create a group", map[string]int{"groups": 2})
		// All of it happens in the same millisecond.
		if _, err := f.Change(t.Context(), key(1, 2), OwnChange{NewGroup: &group.Index}); err != nil {
			t.Fatal(err)
		}
		step("move", map[string]int{"related": 1, "ids": 1})
		if _, _, err := f.DeleteGroup(t.Context(), group.RelationshipGroupKey, nil); err != nil {
			t.Fatal(err)
		}
		step("delete a group", map[string]int{"related": 1, "ids": 1, "groups": 1})
		sent, err := f.FriendRequests.Send(t.Context(), 1, 3, "hi", nil)
		if err != nil {
			t.Fatal(err)
		}
		step("send", map[string]int{"sent": 1})
		if _, err := f.FriendRequests.Reply(t.Context(), 3, sent.ID, store.RequestAccepted, nil); err != nil {
			t.Fatal(err)
		}
		step("reply", map[string]int{"sent": 1, "related": 2, "ids": 2})
		if _, err := f.FriendRequests.Send(t.Context(), 4, 1, "hi", nil); err != nil {
			t.Fatal(err)
		}
		step("receive", map[string]int{"received": 1})
		if _, err := f.End(t.Context(), key(1, 2), nil); err != nil {
			t.Fatal(err)
		}
		step("end", map[string]int{"related": 1, "ids": 1})
		f.clock = f.clock.Add(time.Hour)
		step("later", nil)

		found, _, err := f.Related(t.Context(), 1, store.RelationshipFilter{OwnerIDs: []int64{3}, IsBlocked: new(false)}, nil)
		if err != nil || len(found) != 1 || found[0].OwnerID != 1 || len(found[0].GroupIndexes) != 1 {
			t.Errorf("found %+v: %v", found, err)
		}
	})
}
