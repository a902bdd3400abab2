// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/store"
)

func testGroupQuestions(t *testing.T, db *store.DB) {
	questions := []store.GroupQuestion{
		{ID: 1, GroupID: 10, Question: "why?", Answers: []string{"b", "a", "\"quoted\" 😀"}, Score: 5},
		{ID: 2, GroupID: 10, Question: "", Answers: []string{}},
		{ID: 3, GroupID: 11, Question: "x", Answers: []string{"y"}, Score: 1},
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error { return store.InsertGroupQuestions(ctx, tx, questions...) })
	wantDuplicate(t, db, "group_question", func(ctx context.Context, tx store.Tx) error { return store.InsertGroupQuestions(ctx, tx, questions[0]) })
	for _, text := range []string{"\x00", "\xff"} {
		err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			_, err := store.UpdateGroupQuestions(ctx, tx, []int64{1}, store.GroupQuestionChange{Answers: &[]string{text}})
			return err
		})
		if !errors.Is(err, store.ErrInvalidValue) {
			t.Errorf("the answer %q is %v", text, err)
		}
	}
	find := func(f store.GroupQuestionFilter, page store.Page) []store.GroupQuestion {
		return all(t, db, f, page, store.FindGroupQuestions, store.CountGroupQuestions)
	}
	if diff := cmp.Diff(questions, find(store.GroupQuestionFilter{}, store.Page{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	id := func(q store.GroupQuestion) int64 { return q.ID }
	wantIDs(t, "by group", find(store.GroupQuestionFilter{GroupIDs: []int64{10}}, store.Page{}), id, 1, 2)
	wantIDs(t, "by id", find(store.GroupQuestionFilter{IDs: []int64{3, 1}, GroupIDs: []int64{10}}, store.Page{}), id, 1)
	wantIDs(t, "page", find(store.GroupQuestionFilter{}, store.Page{Limit: 1, Offset: 2}), id, 3)
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		modified, err := store.UpdateGroupQuestions(ctx, tx, []int64{1, 3, 9}, store.GroupQuestionChange{
			GroupID: new(int64(11)), Question: new("x"), Answers: &[]string{"y"}, Score: new(int32(1)),
		})
		if diff := cmp.Diff([]int64{1}, modified); err == nil && diff != "" {
			t.Errorf("modified %v", modified)
		}
		after, err := store.GroupQuestionsAfter(ctx, tx, new(int64(1)), 1)
		if err != nil {
			return err
		}
		wantIDs(t, "after 1", after, id, 2)
		n, err := store.DeleteGroupQuestions(ctx, tx, []int64{2, 9})
		if err == nil && n != 1 {
			t.Errorf("deleted %d", n)
		}
		return err
	})
	changed := questions[2]
	changed.ID = 1
	if diff := cmp.Diff([]store.GroupQuestion{changed, questions[2]}, find(store.GroupQuestionFilter{}, store.Page{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func testGroupBlockedUsers(t *testing.T, db *store.DB) {
	key := func(group, user int64) store.GroupUserKey { return store.GroupUserKey{GroupID: group, UserID: user} }
	users := []store.GroupBlockedUser{
		{GroupUserKey: key(1, 7), BlockDate: groupTime(1), RequesterID: 5},
		{GroupUserKey: key(1, 8), BlockDate: groupTime(2), RequesterID: 6},
		{GroupUserKey: key(2, 7), BlockDate: groupTime(3), RequesterID: 5},
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error { return store.InsertGroupBlockedUsers(ctx, tx, users...) })
	wantDuplicate(t, db, "group_blocked_user", func(ctx context.Context, tx store.Tx) error { return store.InsertGroupBlockedUsers(ctx, tx, users[1]) })
	find := func(f store.GroupBlockedUserFilter) []store.GroupBlockedUser {
		return all(t, db, f, store.Page{}, store.FindGroupBlockedUsers, store.CountGroupBlockedUsers)
	}
	if diff := cmp.Diff(users, find(store.GroupBlockedUserFilter{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	user := func(u store.GroupBlockedUser) int64 { return u.GroupID*100 + u.UserID }
	wantIDs(t, "by group", find(store.GroupBlockedUserFilter{GroupIDs: []int64{1}}), user, 107, 108)
	wantIDs(t, "by user", find(store.GroupBlockedUserFilter{UserIDs: []int64{7}}), user, 107, 207)
	wantIDs(t, "by requester", find(store.GroupBlockedUserFilter{RequesterIDs: []int64{5}}), user, 107, 207)
	wantIDs(t, "by date", find(store.GroupBlockedUserFilter{BlockDate: groupRange(2, 3)}), user, 108)
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		keys := []store.GroupUserKey{key(1, 7), key(2, 7), key(3, 3), key(1, 7)}
		n, err := store.CountGroupBlocks(ctx, tx, keys)
		if err == nil && n != 2 {
			t.Errorf("counted %d", n)
		}
		groups, err := store.UpdateGroupBlockedUsers(ctx, tx, keys, store.GroupBlockedUserChange{BlockDate: new(groupTime(3)), RequesterID: new(int64(5))})
		if diff := cmp.Diff([]int64{1}, groups); err == nil && diff != "" {
			t.Errorf("modified in %v", groups)
		}
		groups, err = store.DeleteGroupBlockedUsers(ctx, tx, []store.GroupUserKey{key(2, 7), key(3, 3)})
		if diff := cmp.Diff([]int64{2}, groups); err == nil && diff != "" {
			t.Errorf("deleted in %v", groups)
		}
		return err
	})
	users[0].BlockDate = groupTime(3)
	if diff := cmp.Diff(users[:2], find(store.GroupBlockedUserFilter{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func testGroupInvitations(t *testing.T, db *store.DB) {
	invitations := []store.GroupInvitation{
		{ID: 1, GroupID: 10, InviterID: 20, InviteeID: 30, Content: "c 😀", CreationDate: groupTime(1)},
		{ID: 2, GroupID: 10, InviterID: 21, InviteeID: 31, Status: store.RequestAccepted, CreationDate: groupTime(2), ResponseDate: new(groupTime(20)), Reason: new("r")},
		{ID: 3, GroupID: 11, InviterID: 20, InviteeID: 31, Status: store.RequestExpired, CreationDate: groupTime(3)},
		{ID: 4, GroupID: 11, InviterID: 22, InviteeID: 32, CreationDate: groupTime(4)},
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		return store.InsertGroupInvitations(ctx, tx, invitations...)
	})
	wantDuplicate(t, db, "group_invitation", func(ctx context.Context, tx store.Tx) error {
		return store.InsertGroupInvitations(ctx, tx, invitations[0])
	})
	find := func(f store.GroupInvitationFilter) []store.GroupInvitation {
		return all(t, db, f, store.Page{}, store.FindGroupInvitations, store.CountGroupInvitations)
	}
	if diff := cmp.Diff(invitations, find(store.GroupInvitationFilter{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	id := func(v store.GroupInvitation) int64 { return v.ID }
	status := func(before *time.Time, list ...store.RequestStatus) store.GroupInvitationFilter {
		return store.GroupInvitationFilter{Status: store.StatusFilter{Statuses: list, ExpiredBefore: before}}
	}
	old := new(groupTime(2))
	for _, test := range []struct {
		filter store.GroupInvitationFilter
		want   []int64
	}{
		{store.GroupInvitationFilter{IDs: []int64{2, 3, 9}}, []int64{2, 3}},
		{store.GroupInvitationFilter{GroupIDs: []int64{10}}, []int64{1, 2}},
		{store.GroupInvitationFilter{InviterIDs: []int64{20}}, []int64{1, 3}},
		{store.GroupInvitationFilter{InviteeIDs: []int64{31}}, []int64{2, 3}},
		{store.GroupInvitationFilter{CreationDate: groupRange(2, 4)}, []int64{2, 3}},
		{store.GroupInvitationFilter{ResponseDate: groupRange(20, 21)}, []int64{2}},
		{status(nil, store.RequestPending), []int64{1, 4}},
		{status(nil, store.RequestExpired), []int64{3}},
		{status(old, store.RequestPending), []int64{4}},
		{status(old, store.RequestExpired), []int64{1, 3}},
		{status(old, store.RequestPending, store.RequestExpired), []int64{1, 3, 4}},
		{status(old, store.RequestPending, store.RequestAccepted), []int64{2, 4}},
		{status(old, store.RequestExpired, store.RequestAccepted), []int64{1, 2, 3}},
		{status(old, store.RequestAccepted), []int64{2}},
		{status(old), []int64{1, 2, 3, 4}},
	} {
		wantIDs(t, test.filter, find(test.filter), id, test.want...)
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		none := (*time.Time)(nil)
		modified, err := store.UpdateGroupInvitations(ctx, tx, []int64{2, 3, 9}, store.GroupInvitationChange{
			GroupID: new(int64(11)), InviterID: new(int64(20)), InviteeID: new(int64(31)), Content: new(""), Status: new(store.RequestExpired),
			CreationDate: new(groupTime(3)), ResponseDate: &none,
		})
		if diff := cmp.Diff([]int64{2}, modified); err == nil && diff != "" {
			t.Errorf("modified %v", modified)
		}
		if err != nil {
			return err
		}
		n, err := store.DeleteGroupInvitations(ctx, tx, []int64{1, 4, 9})
		if err == nil && n != 2 {
			t.Errorf("deleted %d", n)
		}
		return err
	})
	changed := invitations[2]
	changed.ID, changed.Reason = 2, new("r")
	if diff := cmp.Diff([]store.GroupInvitation{changed, invitations[2]}, find(store.GroupInvitationFilter{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func testGroupJoinRequests(t *testing.T, db *store.DB) {
	requests := []store.GroupJoinRequest{
		{ID: 1, GroupID: 10, RequesterID: 20, Content: "c", CreationDate: groupTime(1)},
		{ID: 2, GroupID: 11, RequesterID: 21, ResponderID: new(int64(31)), Status: store.RequestDeclined, CreationDate: groupTime(2), ResponseDate: new(groupTime(20)), Reason: new("r")},
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		return store.InsertGroupJoinRequests(ctx, tx, requests...)
	})
	wantDuplicate(t, db, "group_join_request", func(ctx context.Context, tx store.Tx) error {
		return store.InsertGroupJoinRequests(ctx, tx, requests[0])
	})
	find := func(f store.GroupJoinRequestFilter) []store.GroupJoinRequest {
		return all(t, db, f, store.Page{}, store.FindGroupJoinRequests, store.CountGroupJoinRequests)
	}
	if diff := cmp.Diff(requests, find(store.GroupJoinRequestFilter{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	id := func(v store.GroupJoinRequest) int64 { return v.ID }
	for _, f := range []store.GroupJoinRequestFilter{
		{IDs: []int64{2}},
		{GroupIDs: []int64{11}},
		{RequesterIDs: []int64{21}},
		{ResponderIDs: []int64{31}},
		{CreationDate: groupRange(2, 3)},
		{ResponseDate: groupRange(20, 21)},
		{Status: store.StatusFilter{Statuses: []store.RequestStatus{store.RequestDeclined}}},
	} {
		wantIDs(t, f, find(f), id, 2)
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		modified, err := store.UpdateGroupJoinRequests(ctx, tx, []int64{1, 2}, store.GroupJoinRequestChange{
			GroupID: new(int64(11)), RequesterID: new(int64(21)), ResponderID: new(int64(31)), Content: new("n"), Status: new(store.RequestDeclined),
			CreationDate: new(groupTime(2)), ResponseDate: new(new(groupTime(20))),
		})
		if err == nil && len(modified) != 2 {
			t.Errorf("modified %v", modified)
		}
		if err != nil {
			return err
		}
		n, err := store.DeleteGroupJoinRequests(ctx, tx, []int64{2})
		if err == nil && n != 1 {
			t.Errorf("deleted %d", n)
		}
		return err
	})
	changed := requests[1]
	changed.ID, changed.Content, changed.Reason = 1, "n", nil
	if diff := cmp.Diff([]store.GroupJoinRequest{changed}, find(store.GroupJoinRequestFilter{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// testGroupPlans proves that every filter of groups and their parts has an index.
func testGroupPlans(t *testing.T, db *store.DB) {
	const rows = 3000
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		var groups []store.Group
		var members []store.GroupMember
		var questions []store.GroupQuestion
		var blocked []store.GroupBlockedUser
		var invitations []store.GroupInvitation
		var requests []store.GroupJoinRequest
		for i := range int64(rows) {
			at, some := groupTime(int(i)), i/2
			key := store.GroupUserKey{GroupID: some, UserID: i}
			groups = append(groups, store.Group{ID: i, Name: new(name(i)), TypeID: some, CreatorID: some, OwnerID: some, CreationDate: at, DeletionDate: &at, LastUpdatedDate: at, MuteEndDate: &at, IsActive: i%100 != 0})
			members = append(members, store.GroupMember{GroupUserKey: key, Role: store.GroupMemberRole(1 + i%4), JoinDate: at, MuteEndDate: &at})
			questions = append(questions, store.GroupQuestion{ID: i, GroupID: some})
			blocked = append(blocked, store.GroupBlockedUser{GroupUserKey: key, BlockDate: at, RequesterID: some})
			status := store.RequestStatus(i % 7)
			invitations = append(invitations, store.GroupInvitation{ID: i, GroupID: some, InviterID: some, InviteeID: some, Status: status, CreationDate: at, ResponseDate: &at})
			requests = append(requests, store.GroupJoinRequest{ID: i, GroupID: some, RequesterID: some, ResponderID: &some, Status: status, CreationDate: at, ResponseDate: &at})
		}
		return errors.Join(
			store.InsertGroups(ctx, tx, groups...), store.InsertGroupMembers(ctx, tx, members...), store.InsertGroupQuestions(ctx, tx, questions...),
			store.InsertGroupBlockedUsers(ctx, tx, blocked...), store.InsertGroupInvitations(ctx, tx, invitations...), store.InsertGroupJoinRequests(ctx, tx, requests...),
		)
	})
	if db.Engine() == store.PostgreSQL {
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			return Exec(ctx, tx, "ANALYZE")
		})
	}
	few, many := []int64{5, 6}, make([]int64, 100)
	for i := range many {
		// Few of them exist: a full scan would be right for most rows.
		many[i] = int64(i) * rows / 20
	}
	dates, old := groupRange(10, 20), new(groupTime(100))
	for _, ids := range [][]int64{few, many} {
		plans(t, db, store.CountGroups, store.FindGroups,
			store.GroupFilter{IDs: ids}, store.GroupFilter{TypeIDs: ids}, store.GroupFilter{CreatorIDs: ids}, store.GroupFilter{OwnerIDs: ids},
			store.GroupFilter{OwnerIDs: ids, TypeIDs: ids, Deleted: new(false)}, store.GroupFilter{MemberIDs: ids})
		plans(t, db, store.CountGroupMembers, store.FindGroupMembers, store.GroupMemberFilter{GroupIDs: ids}, store.GroupMemberFilter{UserIDs: ids})
		plans(t, db, store.CountGroupQuestions, store.FindGroupQuestions, store.GroupQuestionFilter{IDs: ids}, store.GroupQuestionFilter{GroupIDs: ids})
		plans(t, db, store.CountGroupBlockedUsers, store.FindGroupBlockedUsers,
			store.GroupBlockedUserFilter{GroupIDs: ids}, store.GroupBlockedUserFilter{UserIDs: ids}, store.GroupBlockedUserFilter{RequesterIDs: ids})
		plans(t, db, store.CountGroupInvitations, store.FindGroupInvitations, store.GroupInvitationFilter{IDs: ids},
			store.GroupInvitationFilter{GroupIDs: ids}, store.GroupInvitationFilter{InviterIDs: ids}, store.GroupInvitationFilter{InviteeIDs: ids})
		plans(t, db, store.CountGroupJoinRequests, store.FindGroupJoinRequests, store.GroupJoinRequestFilter{IDs: ids},
			store.GroupJoinRequestFilter{GroupIDs: ids}, store.GroupJoinRequestFilter{RequesterIDs: ids}, store.GroupJoinRequestFilter{ResponderIDs: ids})
	}
	plans(t, db, store.CountGroups, store.FindGroups,
		store.GroupFilter{NamePrefix: "12"}, store.GroupFilter{NamePrefix: "жук"}, store.GroupFilter{IsActive: new(false)}, store.GroupFilter{CreationDate: dates}, store.GroupFilter{DeletionDate: dates},
		store.GroupFilter{LastUpdatedDate: dates}, store.GroupFilter{MuteEndDate: dates})
	plans(t, db, store.CountGroupMembers, store.FindGroupMembers, store.GroupMemberFilter{Roles: []store.GroupMemberRole{store.GroupManager}},
		store.GroupMemberFilter{JoinDate: dates}, store.GroupMemberFilter{MuteEndDate: dates})
	plans(t, db, store.CountGroupBlockedUsers, store.FindGroupBlockedUsers, store.GroupBlockedUserFilter{BlockDate: dates})
	plans(t, db, store.CountGroupInvitations, store.FindGroupInvitations,
		store.GroupInvitationFilter{CreationDate: dates}, store.GroupInvitationFilter{ResponseDate: dates})
	plans(t, db, store.CountGroupJoinRequests, store.FindGroupJoinRequests,
		store.GroupJoinRequestFilter{CreationDate: dates}, store.GroupJoinRequestFilter{ResponseDate: dates})
	for _, statuses := range [][]store.RequestStatus{
		{store.RequestPending},
		{store.RequestExpired},
		{store.RequestPending, store.RequestExpired},
		{store.RequestPending, store.RequestAccepted},
		{store.RequestExpired, store.RequestAccepted},
		{store.RequestAccepted},
	} {
		f := store.StatusFilter{Statuses: statuses, ExpiredBefore: old}
		plans(t, db, store.CountGroupInvitations, store.FindGroupInvitations, store.GroupInvitationFilter{Status: f})
		plans(t, db, store.CountGroupJoinRequests, store.FindGroupJoinRequests, store.GroupJoinRequestFilter{Status: f})
	}
	key := []store.GroupUserKey{{GroupID: 1, UserID: 2}, {GroupID: 3, UserID: 4}}
	for what, find := range map[string]func(ctx context.Context, r store.Reader) error{
		"members by key": func(ctx context.Context, r store.Reader) error {
			_, err := store.GetGroupMembers(ctx, r, key)
			return err
		},
		"members after a key": func(ctx context.Context, r store.Reader) error {
			_, err := store.GroupMembersAfter(ctx, r, nil, &key[0], 10)
			return err
		},
		"members of a group": func(ctx context.Context, r store.Reader) error {
			_, err := store.GroupMembersAfter(ctx, r, &few[0], &key[0], 10)
			return err
		},
		"ids of members": func(ctx context.Context, r store.Reader) error {
			_, err := store.GroupMemberIDsAfter(ctx, r, 1, &few[0], 10)
			return err
		},
		"joined groups": func(ctx context.Context, r store.Reader) error { _, err := store.JoinedGroupIDs(ctx, r, 1); return err },
		"blocks by key": func(ctx context.Context, r store.Reader) error {
			_, err := store.CountGroupBlocks(ctx, r, key)
			return err
		},
		"ids of groups": func(ctx context.Context, r store.Reader) error {
			_, err := store.GroupIDsAfter(ctx, r, &few[0], 10)
			return err
		},
		"questions after an id": func(ctx context.Context, r store.Reader) error {
			_, err := store.GroupQuestionsAfter(ctx, r, &few[0], 10)
			return err
		},
		"version": func(ctx context.Context, r store.Reader) error {
			_, err := store.FindGroupVersion(ctx, r, store.GroupInfo, 1)
			return err
		},
		"how many members": func(ctx context.Context, r store.Reader) error {
			_, err := store.GroupMemberCount(ctx, r, 1)
			return err
		},
	} {
		WantIndex(t, db, what, find)
	}
}

// plans checks the queries that count and find by each filter. PostgreSQL's plan for a page depends
// on whether it prefers to sort, so the plan of the count is checked.
func plans[F, T any](t *testing.T, db *store.DB, count func(context.Context, store.Reader, F) (int64, error),
	find func(context.Context, store.Reader, F, store.Page) ([]T, error), filters ...F,
) {
	t.Helper()
	for _, filter := range filters {
		what := fmt.Sprintf("%+v", filter)
		WantIndex(t, db, what, func(ctx context.Context, r store.Reader) error { _, err := count(ctx, r, filter); return err })
		if db.Engine() == store.SQLite {
			WantIndex(t, db, what, func(ctx context.Context, r store.Reader) error {
				_, err := find(ctx, r, filter, store.Page{Limit: 10})
				return err
			})
		}
	}
}
