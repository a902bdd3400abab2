// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/store"
)

// groupTime returns a date of the tests of groups: minutes after their base time.
func groupTime(minutes int) time.Time {
	return time.UnixMilli(1_700_000_000_000).UTC().Add(time.Duration(minutes) * time.Minute)
}

func groupRange(from, to int) store.DateRange {
	return store.DateRange{Start: new(groupTime(from)), End: new(groupTime(to))}
}

// all calls a find function and compares the result with the matching count function.
func all[F, T any](t *testing.T, db *store.DB, filter F, page store.Page,
	find func(context.Context, store.Reader, F, store.Page) ([]T, error), count func(context.Context, store.Reader, F) (int64, error),
) (found []T) {
	t.Helper()
	read(t, db, func(ctx context.Context, r store.Reader) (err error) {
		if found, err = find(ctx, r, filter, page); err != nil || page != (store.Page{}) {
			return err
		}
		n, err := count(ctx, r, filter)
		if err == nil && n != int64(len(found)) {
			t.Errorf("%+v: counted %d, found %d", filter, n, len(found))
		}
		return err
	})
	return found
}

func wantIDs[T any](t *testing.T, what any, found []T, id func(T) int64, want ...int64) {
	t.Helper()
	got := []int64{}
	for _, v := range found {
		got = append(got, id(v))
	}
	if want == nil {
		want = []int64{}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%+v (-want +got):\n%s", what, diff)
	}
}

func wantDuplicate(t *testing.T, db *store.DB, table string, fn store.WriteFunc) {
	t.Helper()
	err := db.Write(t.Context(), fn)
	if duplicate, ok := errors.AsType[*store.DuplicateKeyError](err); !ok || duplicate.Table != table {
		t.Errorf("%s: a duplicate is %v", table, err)
	}
}

func testGroupTypes(t *testing.T, db *store.DB) {
	first := store.GroupType{
		ID: math.MinInt64, Name: "Ä 'quoted' 😀", GroupSizeLimit: math.MaxInt32, InvitationStrategy: store.InviteOwner, JoinStrategy: store.JoinByRequest,
		GroupInfoUpdateStrategy: store.UpdateByOwner, MemberInfoUpdateStrategy: store.UpdateByOwnerManager, GuestSpeakable: true, MessageEditable: true,
	}
	second := store.GroupType{ID: 5, Name: "b", GroupSizeLimit: 1, SelfInfoUpdatable: true, EnableReadReceipt: true}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		if err := store.InsertGroupType(ctx, tx, second); err != nil {
			return err
		}
		if err := store.EnsureGroupType(ctx, tx, store.GroupType{ID: 5, Name: "other"}); err != nil {
			return err
		}
		return store.EnsureGroupType(ctx, tx, first)
	})
	wantDuplicate(t, db, "group_type", func(ctx context.Context, tx store.Tx) error { return store.InsertGroupType(ctx, tx, first) })
	want := func(ids []int64, page store.Page, want ...store.GroupType) {
		t.Helper()
		read(t, db, func(ctx context.Context, r store.Reader) error {
			found, err := store.FindGroupTypes(ctx, r, ids, page)
			if diff := cmp.Diff(append([]store.GroupType{}, want...), found); err == nil && diff != "" {
				t.Errorf("%v %v (-want +got):\n%s", ids, page, diff)
			}
			return err
		})
	}
	want(nil, store.Page{}, first, second)
	want(nil, store.Page{Limit: 1, Offset: 1}, second)
	want([]int64{5, 6}, store.Page{}, second)
	want([]int64{}, store.Page{})
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		got, err := store.UpdateGroupTypes(ctx, tx, []int64{5, 6, math.MinInt64}, store.GroupTypeChange{
			Name: new("b"), GroupSizeLimit: new(int32(1)), GuestSpeakable: new(false),
		})
		if err == nil && got != (store.UpdateResult{Matched: 2, Modified: 1}) {
			t.Errorf("updated %+v", got)
		}
		return err
	})
	first.Name, first.GroupSizeLimit, first.GuestSpeakable = "b", 1, false
	want(nil, store.Page{}, first, second)
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		n, err := store.DeleteGroupTypes(ctx, tx, []int64{5, 6})
		if err == nil && n != 1 {
			t.Errorf("deleted %d", n)
		}
		return err
	})
	want(nil, store.Page{}, first)
	read(t, db, func(ctx context.Context, r store.Reader) error {
		n, err := store.CountGroupTypes(ctx, r)
		if err == nil && n != 1 {
			t.Errorf("counted %d", n)
		}
		return err
	})
}

func testGroups(t *testing.T, db *store.DB) {
	groups := []store.Group{
		{
			ID: 1, TypeID: 0, CreatorID: 10, OwnerID: 11, Name: new("O'Neil \\ 😀"), Intro: new(""), Announcement: new("a"), MinimumScore: math.MaxInt32,
			CreationDate: groupTime(1), LastUpdatedDate: groupTime(11), IsActive: true, Attributes: map[string]any{"a": "b", "n": []any{"x"}},
		},
		{ID: 2, TypeID: 7, CreatorID: 10, OwnerID: 12, CreationDate: groupTime(2), DeletionDate: new(groupTime(20)), LastUpdatedDate: groupTime(12)},
		{ID: math.MaxInt64, TypeID: 7, CreatorID: 13, OwnerID: 11, CreationDate: groupTime(3), MuteEndDate: new(groupTime(30)), LastUpdatedDate: groupTime(13), IsActive: true},
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		if err := store.InsertGroups(ctx, tx, groups...); err != nil {
			return err
		}
		return store.InsertGroupMembers(ctx, tx, store.GroupMember{GroupUserKey: store.GroupUserKey{GroupID: 2, UserID: 50}, JoinDate: groupTime(0)})
	})
	wantDuplicate(t, db, "im_group", func(ctx context.Context, tx store.Tx) error { return store.InsertGroups(ctx, tx, groups[0]) })
	find := func(f store.GroupFilter, page store.Page) []store.Group {
		return all(t, db, f, page, store.FindGroups, store.CountGroups)
	}
	if diff := cmp.Diff(groups, find(store.GroupFilter{}, store.Page{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	id := func(g store.Group) int64 { return g.ID }
	for _, test := range []struct {
		filter store.GroupFilter
		want   []int64
	}{
		{store.GroupFilter{IDs: []int64{2, 9, 1}}, []int64{1, 2}},
		{store.GroupFilter{TypeIDs: []int64{7}}, []int64{2, math.MaxInt64}},
		{store.GroupFilter{NamePrefix: `o'nEIL \ `}, []int64{1}},
		{store.GroupFilter{NamePrefix: `o_`}, nil},
		{store.GroupFilter{CreatorIDs: []int64{10, 99}}, []int64{1, 2}},
		{store.GroupFilter{OwnerIDs: []int64{11}}, []int64{1, math.MaxInt64}},
		{store.GroupFilter{OwnerIDs: []int64{11}, TypeIDs: []int64{7}}, []int64{math.MaxInt64}},
		{store.GroupFilter{MemberIDs: []int64{50}}, []int64{2}},
		{store.GroupFilter{MemberIDs: []int64{51}}, nil},
		{store.GroupFilter{IsActive: new(true)}, []int64{1, math.MaxInt64}},
		{store.GroupFilter{IsActive: new(false)}, []int64{2}},
		{store.GroupFilter{Deleted: new(true)}, []int64{2}},
		{store.GroupFilter{Deleted: new(false)}, []int64{1, math.MaxInt64}},
		{store.GroupFilter{CreationDate: groupRange(1, 3)}, []int64{1, 2}},
		{store.GroupFilter{CreationDate: store.DateRange{Start: new(groupTime(2))}}, []int64{2, math.MaxInt64}},
		{store.GroupFilter{CreationDate: store.DateRange{End: new(groupTime(2))}}, []int64{1}},
		{store.GroupFilter{CreationDate: groupRange(2, 2)}, nil},
		{store.GroupFilter{DeletionDate: groupRange(20, 21)}, []int64{2}},
		{store.GroupFilter{DeletionDate: store.DateRange{End: new(groupTime(20))}}, nil},
		{store.GroupFilter{LastUpdatedDate: groupRange(12, 14)}, []int64{2, math.MaxInt64}},
		{store.GroupFilter{MuteEndDate: groupRange(0, 31)}, []int64{math.MaxInt64}},
	} {
		wantIDs(t, test.filter, find(test.filter, store.Page{}), id, test.want...)
	}
	wantIDs(t, "page", find(store.GroupFilter{}, store.Page{Limit: 1, Offset: 1}), id, 2)
	read(t, db, func(ctx context.Context, r store.Reader) error {
		after, err := store.GroupIDsAfter(ctx, r, new(int64(1)), 10)
		if diff := cmp.Diff([]int64{2, math.MaxInt64}, after); err == nil && diff != "" {
			t.Errorf("ids after 1 (-want +got):\n%s", diff)
		}
		return err
	})
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		modified, err := store.UpdateGroups(ctx, tx, []int64{1, 2, 9}, store.GroupChange{Name: new("new"), CreatorID: new(int64(10)), LastUpdatedDate: new(groupTime(40))})
		if err != nil {
			return err
		}
		if diff := cmp.Diff(2, len(modified)); diff != "" {
			t.Errorf("modified %v", modified)
		}
		modified, err = store.UpdateGroups(ctx, tx, []int64{1, 2}, store.GroupChange{Name: new("new"), LastUpdatedDate: new(groupTime(50))})
		if len(modified) != 0 {
			t.Errorf("modified %v although nothing differs", modified)
		}
		return err
	})
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		_, err := store.UpdateGroups(ctx, tx, []int64{2}, store.GroupChange{
			TypeID: new(int64(8)), OwnerID: new(int64(14)), Intro: new("i"), Announcement: new("n"), MinimumScore: new(int32(3)), IsActive: new(true),
			CreationDate: new(groupTime(5)), DeletionDate: new(groupTime(6)), MuteEndDate: new(groupTime(7)), Attributes: &map[string]any{"k": "v"},
		})
		return err
	})
	groups[0].Name, groups[0].LastUpdatedDate = new("new"), groupTime(40)
	groups[1] = store.Group{
		ID: 2, TypeID: 8, CreatorID: 10, OwnerID: 14, Name: new("new"), Intro: new("i"), Announcement: new("n"), MinimumScore: 3,
		CreationDate: groupTime(5), DeletionDate: new(groupTime(6)), LastUpdatedDate: groupTime(40), MuteEndDate: new(groupTime(7)), IsActive: true,
		Attributes: map[string]any{"k": "v"},
	}
	if diff := cmp.Diff(groups, find(store.GroupFilter{}, store.Page{})); diff != "" {
		t.Errorf("after the updates (-want +got):\n%s", diff)
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		n, err := store.DeleteGroups(ctx, tx, []int64{1, 2, 9})
		if err == nil && n != 2 {
			t.Errorf("deleted %d", n)
		}
		return err
	})
	wantIDs(t, "left", find(store.GroupFilter{}, store.Page{}), id, math.MaxInt64)
}

func testGroupMembers(t *testing.T, db *store.DB) {
	key := func(group, user int64) store.GroupUserKey { return store.GroupUserKey{GroupID: group, UserID: user} }
	members := []store.GroupMember{
		{GroupUserKey: key(1, -5), Name: new("n"), Role: store.GroupOwner, JoinDate: groupTime(1)},
		{GroupUserKey: key(1, 7), Role: store.GroupManager, JoinDate: groupTime(2), MuteEndDate: new(groupTime(20))},
		{GroupUserKey: key(1, 8), Role: store.GroupRegularMember, JoinDate: groupTime(3)},
		{GroupUserKey: key(2, 7), Role: store.GroupAnonymousGuest, JoinDate: groupTime(4)},
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error { return store.InsertGroupMembers(ctx, tx, members...) })
	wantDuplicate(t, db, "group_member", func(ctx context.Context, tx store.Tx) error { return store.InsertGroupMembers(ctx, tx, members[2]) })
	wantDuplicate(t, db, "group_member", func(ctx context.Context, tx store.Tx) error {
		return store.InsertGroupMembers(ctx, tx, store.GroupMember{GroupUserKey: key(1, 9), Role: store.GroupOwner, JoinDate: groupTime(1)})
	})
	wantDuplicate(t, db, "group_member", func(ctx context.Context, tx store.Tx) error {
		_, err := store.UpdateGroupMembers(ctx, tx, []store.GroupUserKey{key(1, 7)}, store.GroupMemberChange{Role: new(store.GroupOwner)})
		return err
	})
	find := func(f store.GroupMemberFilter, page store.Page) []store.GroupMember {
		return all(t, db, f, page, store.FindGroupMembers, store.CountGroupMembers)
	}
	if diff := cmp.Diff(members, find(store.GroupMemberFilter{}, store.Page{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	user := func(m store.GroupMember) int64 { return m.GroupID*100 + m.UserID }
	for _, test := range []struct {
		filter store.GroupMemberFilter
		want   []int64
	}{
		{store.GroupMemberFilter{GroupIDs: []int64{1, 3}}, []int64{95, 107, 108}},
		{store.GroupMemberFilter{UserIDs: []int64{7}}, []int64{107, 207}},
		{store.GroupMemberFilter{Roles: []store.GroupMemberRole{store.GroupOwner, store.GroupAnonymousGuest}}, []int64{95, 207}},
		{store.GroupMemberFilter{JoinDate: groupRange(2, 4)}, []int64{107, 108}},
		{store.GroupMemberFilter{MuteEndDate: groupRange(20, 21)}, []int64{107}},
		{store.GroupMemberFilter{MuteEndDate: groupRange(19, 20)}, nil},
	} {
		wantIDs(t, test.filter, find(test.filter, store.Page{}), user, test.want...)
	}
	wantIDs(t, "page", find(store.GroupMemberFilter{}, store.Page{Limit: 2, Offset: 1}), user, 107, 108)
	read(t, db, func(ctx context.Context, r store.Reader) error {
		chunk, err := store.GroupMemberIDsAfter(ctx, r, 1, nil, 2)
		if diff := cmp.Diff([]int64{-5, 7}, chunk); err != nil || diff != "" {
			t.Errorf("first chunk %v %v", chunk, err)
		}
		chunk, err = store.GroupMemberIDsAfter(ctx, r, 1, new(int64(7)), 2)
		if diff := cmp.Diff([]int64{8}, chunk); err != nil || diff != "" {
			t.Errorf("second chunk %v %v", chunk, err)
		}
		joined, err := store.JoinedGroupIDs(ctx, r, 7)
		if diff := cmp.Diff([]int64{1, 2}, joined); err != nil || diff != "" {
			t.Errorf("joined %v %v", joined, err)
		}
		some, err := store.GetGroupMembers(ctx, r, []store.GroupUserKey{key(2, 7), key(1, 7), key(7, 1), key(1, 7)})
		if err != nil {
			return err
		}
		wantIDs(t, "by key", some, user, 107, 207)
		if some, err = store.GroupMembersAfter(ctx, r, nil, new(key(1, 7)), 10); err != nil {
			return err
		}
		wantIDs(t, "after a key", some, user, 108, 207)
		if some, err = store.GroupMembersAfter(ctx, r, new(int64(1)), new(key(1, 7)), 10); err != nil {
			return err
		}
		wantIDs(t, "of a group after a key", some, user, 108)
		return nil
	})
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		groups, err := store.UpdateGroupMembers(ctx, tx, []store.GroupUserKey{key(1, 7), key(1, 8), key(2, 7), key(9, 9)},
			store.GroupMemberChange{Name: new("x"), Role: new(store.GroupManager), JoinDate: new(groupTime(2)), MuteEndDate: new(groupTime(20))})
		if err == nil && len(groups) != 3 {
			t.Errorf("modified in %v", groups)
		}
		n, err := store.DeleteGroupMembers(ctx, tx, []store.GroupUserKey{key(1, 8), key(1, 8), key(9, 9)})
		if err == nil && n != 1 {
			t.Errorf("deleted %d", n)
		}
		return err
	})
	changed := store.GroupMember{GroupUserKey: key(1, 7), Name: new("x"), Role: store.GroupManager, JoinDate: groupTime(2), MuteEndDate: new(groupTime(20))}
	other := changed
	other.GroupUserKey = key(2, 7)
	if diff := cmp.Diff([]store.GroupMember{members[0], changed, other}, find(store.GroupMemberFilter{}, store.Page{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		users, err := store.DeleteMembersOfGroups(ctx, tx, []int64{1, 3})
		if err == nil && len(users) != 2 {
			t.Errorf("deleted %v", users)
		}
		return err
	})
	wantIDs(t, "left", find(store.GroupMemberFilter{}, store.Page{}), user, 207)
}

func testGroupRoom(t *testing.T, db *store.DB) {
	deleted := groupTime(1)
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		return errors.Join(
			store.InsertGroupType(ctx, tx, store.GroupType{ID: 7, Name: "small", GroupSizeLimit: 30}),
			store.InsertGroups(ctx, tx, store.Group{ID: 1, TypeID: 7}, store.Group{ID: 2, TypeID: 8}, store.Group{ID: 3, TypeID: 7, DeletionDate: &deleted}),
			store.InsertGroupVersions(ctx, tx, groupTime(0), map[int64]int32{1: 3, 2: 0, 3: 5}))
	})
	limit := int32(30)
	for group, want := range map[int64]*store.GroupRoom{1: {Members: 5, Limit: &limit}, 2: {Members: 2}, 3: nil, 4: nil} {
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			room, err := store.TakeGroupRoom(ctx, tx, group, 2, groupTime(2))
			if diff := cmp.Diff(want, room); err == nil && diff != "" {
				t.Errorf("room of group %d (-want +got):\n%s", group, diff)
			}
			return err
		})
	}
	read(t, db, func(ctx context.Context, r store.Reader) error {
		at, err := store.FindGroupVersion(ctx, r, store.GroupMembers, 1)
		if err == nil && !at.Equal(groupTime(2)) {
			t.Errorf("the members changed at %v", at)
		}
		counts, err := store.GroupMemberCounts(ctx, r, []int64{1, 2, 3})
		if diff := cmp.Diff(map[int64]int32{1: 5, 2: 2, 3: 5}, counts); err == nil && diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
		return err
	})
}

func testGroupVersions(t *testing.T, db *store.DB) {
	version := func(part store.GroupPart, group int64) (at time.Time, err error) {
		_ = db.Read(t.Context(), func(ctx context.Context, r store.Reader) error {
			at, err = store.FindGroupVersion(ctx, r, part, group)
			return err
		})
		return at, err
	}
	want := func(part store.GroupPart, want time.Time, count int32) {
		t.Helper()
		if at, err := version(part, 1); err != nil || !at.Equal(want) {
			t.Errorf("%s is of %v with error %v, want %v", part, at, err, want)
		}
		read(t, db, func(ctx context.Context, r store.Reader) error {
			n, err := store.GroupMemberCount(ctx, r, 1)
			if err == nil && n != count {
				t.Errorf("%d members, want %d", n, count)
			}
			counts, err := store.GroupMemberCounts(ctx, r, []int64{1, 2})
			if diff := cmp.Diff(map[int64]int32{1: count}, counts); err == nil && diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			return err
		})
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		return store.InsertGroupVersion(ctx, tx, 1, groupTime(0), 3)
	})
	parts := []store.GroupPart{store.GroupInfo, store.GroupMembers, store.GroupBlocklist, store.GroupJoinRequests, store.GroupQuestions, store.GroupInvitations}
	for _, part := range parts {
		want(part, groupTime(0), 3)
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			return store.BumpGroupVersions(ctx, tx, part, []int64{1, 2, 1}, groupTime(0))
		})
		want(part, groupTime(0).Add(time.Millisecond), 3)
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		if n, err := store.AddGroupMemberCount(ctx, tx, 99, 2, groupTime(5)); err != nil || n != 0 {
			t.Errorf("an unknown group has %d members, error %v", n, err)
		}
		if _, err := store.AddGroupMemberCount(ctx, tx, 1, 2, groupTime(5)); err != nil {
			return err
		}
		_, err := store.AddGroupMemberCount(ctx, tx, 1, -4, groupTime(4))
		return err
	})
	want(store.GroupMembers, groupTime(5).Add(time.Millisecond), 1)
	want(store.GroupInfo, groupTime(0).Add(time.Millisecond), 1)
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		return store.BumpGroupVersions(ctx, tx, store.GroupInfo, nil, groupTime(9))
	})
	want(store.GroupInfo, groupTime(0).Add(time.Millisecond), 1)
	write(t, db, func(ctx context.Context, tx store.Tx) error { return store.DeleteGroupVersions(ctx, tx, []int64{1, 2}) })
	if _, err := version(store.GroupInfo, 1); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the version of nothing is %v", err)
	}
}
