// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/store"
)

func relation(owner, related int64) store.RelationshipKey {
	return store.RelationshipKey{OwnerID: owner, RelatedUserID: related}
}

// insertRelationships stores four relationships of two owners in groups 0, 1 and 2.
func insertRelationships(t *testing.T, db *store.DB) []store.Relationship {
	t.Helper()
	later := storedDate.Add(time.Hour)
	list := []store.Relationship{
		{RelationshipKey: relation(math.MinInt64, 5), EstablishmentDate: storedDate, GroupIndexes: []int32{0}},
		{RelationshipKey: relation(1, 2), Name: new("O'Neil 😀"), BlockDate: &storedDate, EstablishmentDate: storedDate, GroupIndexes: []int32{0, 1}},
		{RelationshipKey: relation(1, 3), Name: new(""), EstablishmentDate: later, GroupIndexes: []int32{1, 2}},
		{RelationshipKey: relation(2, 1), EstablishmentDate: later, GroupIndexes: []int32{}},
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		if err := store.InsertRelationships(ctx, tx, list...); err != nil {
			return err
		}
		for _, r := range list {
			for _, index := range r.GroupIndexes {
				if added, err := store.AddRelationshipGroupMember(ctx, tx, r.RelationshipKey, index); err != nil || !added {
					return fmt.Errorf("added %v: %w", added, err)
				}
			}
		}
		return nil
	})
	return list
}

func wantRelationships(t *testing.T, db *store.DB, want []store.Relationship) {
	t.Helper()
	got := all(t, db, store.RelationshipFilter{}, store.Page{}, store.FindRelationshipsWithGroups, store.CountRelationships)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	plain := slices.Clone(want)
	for i := range plain {
		plain[i].GroupIndexes = nil
	}
	got = all(t, db, store.RelationshipFilter{}, store.Page{}, store.FindRelationships, store.CountRelationships)
	if diff := cmp.Diff(plain, got); diff != "" {
		t.Errorf("without groups (-want +got):\n%s", diff)
	}
}

func testRelationships(t *testing.T, db *store.DB) {
	want := insertRelationships(t, db)
	wantRelationships(t, db, want)
	wantDuplicate(t, db, "relationship", func(ctx context.Context, tx store.Tx) error { return store.InsertRelationships(ctx, tx, want[1]) })
	later := storedDate.Add(time.Hour)
	for _, test := range []struct {
		filter store.RelationshipFilter
		want   []int
	}{
		{store.RelationshipFilter{OwnerIDs: []int64{1, 9}}, []int{1, 2}},
		{store.RelationshipFilter{RelatedUserIDs: []int64{1, 5}}, []int{0, 3}},
		{store.RelationshipFilter{GroupIndexes: []int32{0}}, []int{0, 1}},
		{store.RelationshipFilter{GroupIndexes: []int32{1, 2}, OwnerIDs: []int64{1}}, []int{1, 2}},
		{store.RelationshipFilter{GroupIndexes: []int32{1}, OwnerIDs: []int64{2}}, nil},
		{store.RelationshipFilter{GroupIndexes: []int32{2}, RelatedUserIDs: []int64{2}}, nil},
		{store.RelationshipFilter{IsBlocked: new(true)}, []int{1}},
		{store.RelationshipFilter{IsBlocked: new(false)}, []int{0, 2, 3}},
		{store.RelationshipFilter{Establishment: store.DateRange{Start: &later}}, []int{2, 3}},
		{store.RelationshipFilter{Establishment: store.DateRange{End: &later}, OwnerIDs: []int64{1}}, []int{1}},
	} {
		expected := []store.Relationship{}
		for _, i := range test.want {
			expected = append(expected, want[i])
		}
		got := all(t, db, test.filter, store.Page{}, store.FindRelationshipsWithGroups, store.CountRelationships)
		if diff := cmp.Diff(expected, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.filter, diff)
		}
	}
	page := all(t, db, store.RelationshipFilter{}, store.Page{Limit: 2, Offset: 1}, store.FindRelationshipsWithGroups, store.CountRelationships)
	if diff := cmp.Diff(want[1:3], page); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
	read(t, db, func(ctx context.Context, r store.Reader) error {
		none, err := store.FindRelationship(ctx, r, relation(3, 1))
		if none != nil {
			t.Errorf("found %v", none)
		}
		return err
	})
}

func testRelationshipChanges(t *testing.T, db *store.DB) {
	want := insertRelationships(t, db)
	later := storedDate.Add(2 * time.Hour)
	keys := []store.RelationshipKey{relation(1, 2), relation(1, 3), relation(2, 1), relation(2, 9), relation(1, 2)}
	update := func(result store.UpdateResult, owners []int64, change store.RelationshipChange, keys ...store.RelationshipKey) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			got, changed, err := store.UpdateRelationships(ctx, tx, keys, change)
			if err == nil && (got != result || !slices.Equal(changed, owners)) {
				t.Errorf("result is %+v of %v, want %+v of %v", got, changed, result, owners)
			}
			return err
		})
		wantRelationships(t, db, want)
	}
	update(store.UpdateResult{}, nil, store.RelationshipChange{Name: new("x")}, relation(9, 9))
	update(store.UpdateResult{}, nil, store.RelationshipChange{Name: new("x")})
	update(store.UpdateResult{Matched: 3}, nil, store.RelationshipChange{}, keys...)
	want[3].Name = new("")
	want[1].Name = new("")
	update(store.UpdateResult{Matched: 3, Modified: 2}, []int64{1, 2}, store.RelationshipChange{Name: new("")}, keys...)
	want[2].BlockDate, want[1].BlockDate = &later, &later
	want[2].EstablishmentDate, want[1].EstablishmentDate = later, later
	update(store.UpdateResult{Matched: 2, Modified: 2}, []int64{1}, store.RelationshipChange{BlockDate: &later, EstablishmentDate: &later}, keys[:2]...)
	want[2].BlockDate = nil
	update(store.UpdateResult{Matched: 2, Modified: 1}, []int64{1}, store.RelationshipChange{Unblock: true}, keys[1], keys[2])

	befriend := func(key store.RelationshipKey, changed bool) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			got, err := store.Befriend(ctx, tx, store.Relationship{RelationshipKey: key, BlockDate: &later, EstablishmentDate: storedDate})
			if err == nil && got != changed {
				t.Errorf("befriending %v changed %v, want %v", key, got, changed)
			}
			return err
		})
		wantRelationships(t, db, want)
	}
	befriend(relation(1, 3), false)
	want[1].BlockDate = nil
	befriend(relation(1, 2), true)
	want = append(want, store.Relationship{RelationshipKey: relation(3, 1), EstablishmentDate: storedDate, GroupIndexes: []int32{}})
	befriend(relation(3, 1), true)

	remove := func(gone []store.RelationshipKey, fn func(ctx context.Context, tx store.Tx) ([]store.RelationshipKey, error)) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			got, err := fn(ctx, tx)
			if diff := cmp.Diff(gone, got); err == nil && diff != "" {
				t.Errorf("deleted (-want +got):\n%s", diff)
			}
			return err
		})
		wantRelationships(t, db, want)
	}
	want = slices.Delete(want, 2, 3)
	remove([]store.RelationshipKey{relation(1, 3)}, func(ctx context.Context, tx store.Tx) ([]store.RelationshipKey, error) {
		return store.DeleteRelationships(ctx, tx, []store.RelationshipKey{relation(1, 3), relation(1, 9)})
	})
	want = want[:1]
	remove([]store.RelationshipKey{relation(1, 2), relation(2, 1), relation(3, 1)}, func(ctx context.Context, tx store.Tx) ([]store.RelationshipKey, error) {
		gone, err := store.DeleteRelationshipsOfUsers(ctx, tx, []int64{1, 9})
		slices.SortFunc(gone, func(a, b store.RelationshipKey) int { return int(a.OwnerID - b.OwnerID) })
		return gone, err
	})
	read(t, db, func(ctx context.Context, r store.Reader) error {
		var left int
		err := First(ctx, r, "SELECT count(*) FROM relationship_group_member", &left)
		if err == nil && left != 1 {
			t.Errorf("%d memberships are left, want 1", left)
		}
		return err
	})
	err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_, err := store.AddRelationshipGroupMember(ctx, tx, relation(7, 7), 0)
		return err
	})
	if !errors.Is(err, store.ErrForeignKey) {
		t.Errorf("membership of somebody who is not related: %v", err)
	}
}

func testRelationshipGroups(t *testing.T, db *store.DB) {
	group := func(owner int64, index int32, name string, date time.Time) store.RelationshipGroup {
		return store.RelationshipGroup{RelationshipGroupKey: store.RelationshipGroupKey{OwnerID: owner, Index: index}, Name: name, CreationDate: date}
	}
	later := storedDate.Add(time.Hour)
	want := []store.RelationshipGroup{
		group(1, 0, "", storedDate), group(1, 1, "a", storedDate), group(1, 2, "b", later), group(2, math.MaxInt32, "O'Neil 😀", later),
	}
	check := func() {
		t.Helper()
		got := all(t, db, store.RelationshipGroupFilter{}, store.Page{}, store.FindRelationshipGroups, store.CountRelationshipGroups)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error { return store.InsertRelationshipGroups(ctx, tx, want...) })
	check()
	wantDuplicate(t, db, "relationship_group", func(ctx context.Context, tx store.Tx) error {
		return store.InsertRelationshipGroups(ctx, tx, want[1])
	})
	for _, test := range []struct {
		filter store.RelationshipGroupFilter
		want   []int
	}{
		{store.RelationshipGroupFilter{OwnerIDs: []int64{2, 3}}, []int{3}},
		{store.RelationshipGroupFilter{Indexes: []int32{0, 2}}, []int{0, 2}},
		{store.RelationshipGroupFilter{Names: []string{"a", "O'Neil 😀", "A"}}, []int{1, 3}},
		{store.RelationshipGroupFilter{Creation: store.DateRange{Start: &later}}, []int{2, 3}},
		{store.RelationshipGroupFilter{Creation: store.DateRange{End: &later}, Names: []string{"a"}, OwnerIDs: []int64{1}, Indexes: []int32{1}}, []int{1}},
	} {
		expected := []store.RelationshipGroup{}
		for _, i := range test.want {
			expected = append(expected, want[i])
		}
		got := all(t, db, test.filter, store.Page{}, store.FindRelationshipGroups, store.CountRelationshipGroups)
		if diff := cmp.Diff(expected, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.filter, diff)
		}
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		created, err := store.EnsureDefaultRelationshipGroups(ctx, tx, later, 2, 1, 2)
		if err == nil && !slices.Equal(created, []int64{2}) {
			t.Errorf("created default groups for %v", created)
		}
		return err
	})
	want = slices.Insert(want, 3, group(2, 0, "", later))
	check()
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		keys := []store.RelationshipGroupKey{want[1].RelationshipGroupKey, want[2].RelationshipGroupKey, {OwnerID: 9}}
		result, owners, err := store.UpdateRelationshipGroups(ctx, tx, keys, store.RelationshipGroupChange{Name: new("b"), CreationDate: &later})
		if err == nil && (result != store.UpdateResult{Matched: 2, Modified: 1} || !slices.Equal(owners, []int64{1})) {
			t.Errorf("updated %+v of %v", result, owners)
		}
		return err
	})
	want[1] = group(1, 1, "b", later)
	check()

	relationships := insertRelationships(t, db)
	move := func(owners []int64, target int32, keys ...store.RelationshipGroupKey) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			got, err := store.MoveRelationshipGroupMembers(ctx, tx, keys, target)
			if err == nil && !slices.Equal(got, owners) {
				t.Errorf("moved those of %v, want %v", got, owners)
			}
			return err
		})
		wantRelationships(t, db, relationships)
	}
	move(nil, 0, store.RelationshipGroupKey{OwnerID: 1, Index: 9})
	move(nil, 0)
	relationships[1].GroupIndexes, relationships[2].GroupIndexes = []int32{0}, []int32{0}
	move([]int64{1}, 0, want[1].RelationshipGroupKey, want[2].RelationshipGroupKey)
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		removed, err := store.RemoveRelationshipGroupMember(ctx, tx, relation(1, 2), 0)
		again, err2 := store.RemoveRelationshipGroupMember(ctx, tx, relation(1, 2), 0)
		twice, err3 := store.AddRelationshipGroupMember(ctx, tx, relation(1, 3), 0)
		if !removed || again || twice {
			t.Errorf("removed %v, again %v, added twice %v", removed, again, twice)
		}
		return errors.Join(err, err2, err3)
	})
	relationships[1].GroupIndexes = []int32{}
	wantRelationships(t, db, relationships)
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		gone, err := store.DeleteRelationshipGroups(ctx, tx, []store.RelationshipGroupKey{want[1].RelationshipGroupKey, {OwnerID: 9, Index: 1}})
		if err == nil && (len(gone) != 1 || gone[0] != want[1].RelationshipGroupKey) {
			t.Errorf("deleted %v", gone)
		}
		return err
	})
	want = slices.Delete(want, 1, 2)
	check()
	var all []store.RelationshipGroupKey
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		all = nil
		for _, most := range []int{1, 10, 10} {
			gone, err := store.DeleteSomeRelationshipGroups(ctx, tx, most)
			if err != nil {
				return err
			}
			all = append(all, gone...)
		}
		return nil
	})
	if len(all) != 2 {
		t.Errorf("deleted %v", all)
	}
	want = []store.RelationshipGroup{want[0], want[2]}
	check()
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		gone, err := store.DeleteRelationshipGroupsOfUsers(ctx, tx, []int64{2, 9})
		if err == nil && (len(gone) != 1 || gone[0] != want[1].RelationshipGroupKey) {
			t.Errorf("deleted %v", gone)
		}
		return err
	})
	want = want[:1]
	check()
}

func testFriendRequests(t *testing.T, db *store.DB) {
	at := func(minutes int) time.Time { return storedDate.Add(time.Duration(minutes) * time.Minute) }
	want := []store.FriendRequest{
		{ID: math.MinInt64, RequesterID: 1, RecipientID: 2, Content: "O'Neil 😀", CreationDate: at(0)},
		{ID: 1, RequesterID: 2, RecipientID: 1, Status: store.RequestAccepted, Reason: new(""), CreationDate: at(0), ResponseDate: new(at(5))},
		{ID: 2, RequesterID: 1, RecipientID: 3, CreationDate: at(10)},
		{ID: 3, RequesterID: 3, RecipientID: 2, Status: store.RequestExpired, CreationDate: at(20)},
	}
	check := func() {
		t.Helper()
		got := all(t, db, store.FriendRequestFilter{}, store.Page{}, store.FindFriendRequests, store.CountFriendRequests)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error { return store.InsertFriendRequests(ctx, tx, want...) })
	check()
	wantDuplicate(t, db, "friend_request", func(ctx context.Context, tx store.Tx) error { return store.InsertFriendRequests(ctx, tx, want[1]) })
	status := func(before int, statuses ...store.RequestStatus) store.FriendRequestFilter {
		return store.FriendRequestFilter{Status: store.StatusFilter{Statuses: statuses, ExpiredBefore: new(at(before))}}
	}
	for _, test := range []struct {
		filter store.FriendRequestFilter
		want   []int64
	}{
		{store.FriendRequestFilter{IDs: []int64{1, 3, 4}}, []int64{1, 3}},
		{store.FriendRequestFilter{RequesterIDs: []int64{1}}, []int64{math.MinInt64, 2}},
		{store.FriendRequestFilter{RequesterIDs: []int64{1}, RecipientIDs: []int64{3}}, []int64{2}},
		{store.FriendRequestFilter{RecipientIDs: []int64{2}}, []int64{math.MinInt64, 3}},
		{store.FriendRequestFilter{Creation: store.DateRange{Start: new(at(10)), End: new(at(20))}}, []int64{2}},
		{store.FriendRequestFilter{Response: store.DateRange{Start: new(at(5))}}, []int64{1}},
		{store.FriendRequestFilter{Response: store.DateRange{End: new(at(5))}}, nil},
		{store.FriendRequestFilter{Status: store.StatusFilter{Statuses: []store.RequestStatus{store.RequestPending}}}, []int64{math.MinInt64, 2}},
		{status(10, store.RequestPending), []int64{2}},
		{status(10, store.RequestExpired), []int64{math.MinInt64, 3}},
		{status(10, store.RequestAccepted, store.RequestPending), []int64{1, 2}},
		{status(10, store.RequestExpired, store.RequestPending), []int64{math.MinInt64, 2, 3}},
		{status(10, store.RequestCanceled), nil},
	} {
		got := all(t, db, test.filter, store.Page{}, store.FindFriendRequests, store.CountFriendRequests)
		wantIDs(t, test.filter, got, func(r store.FriendRequest) int64 { return r.ID }, test.want...)
	}
	update := func(result store.UpdateResult, modified []int64, change store.FriendRequestChange, ids ...int64) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			got, changed, err := store.UpdateFriendRequests(ctx, tx, ids, change)
			slices.Sort(changed)
			if err == nil && (got != result || !slices.Equal(changed, modified)) {
				t.Errorf("result is %+v of %v, want %+v of %v", got, changed, result, modified)
			}
			return err
		})
		check()
	}
	want[1].Status, want[1].ResponseDate = store.RequestCanceled, nil
	update(store.UpdateResult{Matched: 1, Modified: 1}, []int64{1}, store.FriendRequestChange{Status: new(store.RequestCanceled)}, 1, 99)
	want[2] = store.FriendRequest{ID: 2, RequesterID: 8, RecipientID: 9, Content: "c", Status: store.RequestIgnored, Reason: new("r"), CreationDate: at(1), ResponseDate: new(at(2))}
	update(store.UpdateResult{Matched: 1, Modified: 1}, []int64{2}, store.FriendRequestChange{
		RequesterID: new(int64(8)), RecipientID: new(int64(9)), Content: new("c"), Reason: new("r"), CreationDate: new(at(1)),
		Status: new(store.RequestIgnored), ResponseDate: new(at(2)),
	}, 2)
	update(store.UpdateResult{}, nil, store.FriendRequestChange{Content: new("x")}, 99)
	update(store.UpdateResult{Matched: 1}, nil, store.FriendRequestChange{Content: new("c")}, 2)

	deleted := want[1:2:2]
	want = slices.Delete(slices.Clone(want), 1, 2)
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		got, err := store.DeleteFriendRequests(ctx, tx, []int64{1, 99})
		if diff := cmp.Diff(deleted, got); err == nil && diff != "" {
			t.Errorf("deleted (-want +got):\n%s", diff)
		}
		return err
	})
	check()
}

// testUserPlans proves that every filter of users and their relationships has an index.
func testUserPlans(t *testing.T, db *store.DB) {
	const rows = 3000
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		var users []store.User
		var relationships []store.Relationship
		var groups []store.RelationshipGroup
		var requests []store.FriendRequest
		for i := range int64(rows) {
			date := storedDate.Add(time.Duration(i) * time.Minute)
			some := i / 3
			users = append(users, store.User{ID: i, Name: name(i), RegistrationDate: date, DeletionDate: &date, LastUpdatedDate: date, IsActive: i%100 != 0})
			r := store.Relationship{RelationshipKey: relation(some, i), EstablishmentDate: date}
			if i%100 == 0 {
				r.BlockDate = &date
			}
			relationships = append(relationships, r)
			groups = append(groups, store.RelationshipGroup{RelationshipGroupKey: store.RelationshipGroupKey{OwnerID: some, Index: int32(i)}, Name: name(i), CreationDate: date})
			requests = append(requests, store.FriendRequest{ID: i, RequesterID: some, RecipientID: i, Status: store.RequestStatus(i % 7), CreationDate: date, ResponseDate: &date})
		}
		err := errors.Join(store.InsertUsers(ctx, tx, users...), store.InsertRelationships(ctx, tx, relationships...),
			store.InsertRelationshipGroups(ctx, tx, groups...), store.InsertFriendRequests(ctx, tx, requests...))
		for i, r := range relationships {
			_, addErr := store.AddRelationshipGroupMember(ctx, tx, r.RelationshipKey, int32(i))
			err = errors.Join(err, addErr)
		}
		return err
	})
	if db.Engine() == store.PostgreSQL {
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			return Exec(ctx, tx, "ANALYZE")
		})
	}
	many, indexes := make([]int64, 100), make([]int32, 100)
	for i := range many {
		many[i], indexes[i] = int64(i)*rows, int32(i)*rows
	}
	dates := store.DateRange{Start: new(storedDate.Add(10 * time.Minute)), End: new(storedDate.Add(20 * time.Minute))}
	for _, n := range []int{2, 100} {
		ids, indexes := many[:n], indexes[:n]
		plans(t, db, store.CountUsers, store.FindUsers, store.UserFilter{IDs: ids})
		plans(t, db, store.CountRelationships, store.FindRelationships,
			store.RelationshipFilter{OwnerIDs: ids}, store.RelationshipFilter{RelatedUserIDs: ids}, store.RelationshipFilter{OwnerIDs: ids, RelatedUserIDs: ids},
			store.RelationshipFilter{GroupIndexes: indexes}, store.RelationshipFilter{GroupIndexes: indexes, OwnerIDs: ids})
		plans(t, db, store.CountRelationshipGroups, store.FindRelationshipGroups, store.RelationshipGroupFilter{OwnerIDs: ids}, store.RelationshipGroupFilter{Indexes: indexes})
		plans(t, db, store.CountFriendRequests, store.FindFriendRequests,
			store.FriendRequestFilter{IDs: ids}, store.FriendRequestFilter{RequesterIDs: ids}, store.FriendRequestFilter{RecipientIDs: ids})
	}
	plans(t, db, store.CountUsers, store.FindUsers, store.UserFilter{NamePrefix: "12"}, store.UserFilter{NamePrefix: "жук"}, store.UserFilter{Registration: dates}, store.UserFilter{Deletion: dates}, store.UserFilter{IsActive: new(false)}, store.UserFilter{IsActive: new(true)}, store.UserFilter{Registration: store.DateRange{Start: dates.Start}}, store.UserFilter{Deletion: store.DateRange{Start: dates.Start}})
	plans(t, db, store.CountRelationships, store.FindRelationships, store.RelationshipFilter{Establishment: dates}, store.RelationshipFilter{Establishment: store.DateRange{Start: dates.Start}})
	plans(t, db, store.CountRelationshipGroups, store.FindRelationshipGroups, store.RelationshipGroupFilter{Names: []string{"1", "2"}}, store.RelationshipGroupFilter{Creation: dates})
	plans(t, db, store.CountFriendRequests, store.FindFriendRequests, store.FriendRequestFilter{Creation: dates}, store.FriendRequestFilter{Response: dates},
		store.FriendRequestFilter{Status: store.StatusFilter{Statuses: []store.RequestStatus{store.RequestCanceled}}},
		store.FriendRequestFilter{Status: store.StatusFilter{Statuses: []store.RequestStatus{store.RequestPending}, ExpiredBefore: dates.Start}},
		store.FriendRequestFilter{Status: store.StatusFilter{Statuses: []store.RequestStatus{store.RequestExpired}, ExpiredBefore: dates.Start}})
	// Blocked users are found by a partial index of only those.
	_, plan := explain(t, db, func(ctx context.Context, r store.Reader) error {
		_, err := store.FindRelationships(ctx, r, store.RelationshipFilter{IsBlocked: new(true)}, store.Page{Limit: 10})
		return err
	})
	if text := strings.Join(plan, "\n"); !strings.Contains(text, "relationship_blocked_idx") {
		t.Errorf("blocked relationships are found by\n%s", text)
	}
	for what, find := range map[string]func(ctx context.Context, r store.Reader) error{
		"user roles": func(ctx context.Context, r store.Reader) error {
			_, err := store.FindUserRoles(ctx, r, many[:2], store.Page{})
			return err
		},
		"groups of a relationship": func(ctx context.Context, r store.Reader) error {
			_, err := store.FindRelationshipGroupIndexes(ctx, r, relation(1, 2))
			return err
		},
		"relationships with groups": func(ctx context.Context, r store.Reader) error {
			_, err := store.FindRelationshipsWithGroups(ctx, r, store.RelationshipFilter{OwnerIDs: many[:2]}, store.Page{})
			return err
		},
		"known users": func(ctx context.Context, r store.Reader) error {
			_, err := store.KnownUserIDsAfter(ctx, r, 1, new(int64(2)), 10)
			return err
		},
		"members of a relationship group": func(ctx context.Context, r store.Reader) error {
			_, err := store.RelationshipGroupMemberIDsAfter(ctx, r, store.RelationshipGroupKey{OwnerID: 1, Index: 3}, new(int64(2)), 10)
			return err
		},
		"version": func(ctx context.Context, r store.Reader) error {
			_, err := store.FindUserVersion(ctx, r, store.VersionRelationships, 1)
			return err
		},
	} {
		WantIndex(t, db, what, find)
	}
}
