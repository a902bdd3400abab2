// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// TestLists reads every list without a copy, with an outdated one and with a current one.
func TestLists(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		id := w.cast(store.GroupType{InvitationStrategy: store.InviteAllRequiringApproval, JoinStrategy: store.JoinByQuestion})
		invitation := must(w.Invitations.Send(ctx, 3, id, 9, "", nil))(w).ID
		question := must(w.Questions.CreateBy(ctx, 1, id, []store.GroupQuestion{{Question: "q", Answers: []string{"a"}, Score: 1}}, nil))(w)[0]
		request := must(w.JoinRequests.Create(ctx, store.GroupJoinRequest{GroupID: id, RequesterID: 9}, nil, nil))(w).ID

		for name, test := range map[string]struct {
			ask  func(since *time.Time) (string, *time.Time, error)
			want string
		}{
			"joined ids": {func(since *time.Time) (string, *time.Time, error) {
				return shown(w.ListJoinedIDs(ctx, 3, since))(func(v int64) any { return v })
			}, fmt.Sprintf("[%d]", id)},
			"joined groups": {func(since *time.Time) (string, *time.Time, error) {
				return shown(w.ListJoined(ctx, 3, since))(func(v store.Group) any { return v.ID })
			}, fmt.Sprintf("[%d]", id)},
			"members": {func(since *time.Time) (string, *time.Time, error) {
				return shown(w.Members.List(ctx, 5, id, since))(func(v store.GroupMember) any { return v.Role })
			}, "[OWNER MANAGER MEMBER MEMBER GUEST]"},
			"blocked users": {func(since *time.Time) (string, *time.Time, error) {
				return shown(w.Blocklist.ListIDs(ctx, id, since))(func(v int64) any { return v })
			}, "[8]"},
			"invitations of group": {func(since *time.Time) (string, *time.Time, error) {
				return shown(w.Invitations.ListOfGroup(ctx, 2, id, since))(func(v Invitation) any { return v.ID })
			}, fmt.Sprintf("[%d]", invitation)},
			"sent invitations": {func(since *time.Time) (string, *time.Time, error) {
				return shown(w.Invitations.ListSent(ctx, 3, since))(func(v Invitation) any { return v.ID })
			}, fmt.Sprintf("[%d]", invitation)},
			"received invitations": {func(since *time.Time) (string, *time.Time, error) {
				return shown(w.Invitations.ListReceived(ctx, 9, since))(func(v Invitation) any { return v.ID })
			}, fmt.Sprintf("[%d]", invitation)},
			"join requests of group": {func(since *time.Time) (string, *time.Time, error) {
				return shown(w.JoinRequests.ListOfGroup(ctx, 1, id, since))(func(v JoinRequest) any { return v.ID })
			}, fmt.Sprintf("[%d]", request)},
			"sent join requests": {func(since *time.Time) (string, *time.Time, error) {
				return shown(w.JoinRequests.ListSent(ctx, 9, since))(func(v JoinRequest) any { return v.ID })
			}, fmt.Sprintf("[%d]", request)},
			"questions": {func(since *time.Time) (string, *time.Time, error) {
				return shown(w.Questions.List(ctx, 9, id, false, since))(func(v store.GroupQuestion) any { return fmt.Sprint(v.ID, v.Answers) })
			}, fmt.Sprintf("[%d []]", question)},
			"answers": {func(since *time.Time) (string, *time.Time, error) {
				return shown(w.Questions.List(ctx, 2, id, true, since))(func(v store.GroupQuestion) any { return fmt.Sprint(v.ID, v.Answers) })
			}, fmt.Sprintf("[%d [a]]", question)},
		} {
			got, date, err := test.ask(nil)
			if err != nil || got != test.want || date == nil {
				w.Errorf("%s: %s of %v, error %v, want %s", name, got, date, err, test.want)
				continue
			}
			if again, _, err := test.ask(new(date.Add(-time.Millisecond))); err != nil || again != got {
				w.Errorf("%s with an old copy: %s, error %v", name, again, err)
			}
			for _, since := range []time.Time{*date, date.Add(time.Hour)} {
				if got, date, err := test.ask(&since); err != nil || date != nil || got != "[]" {
					w.Errorf("%s with the copy of %v: %s of %v, error %v", name, since, got, date, err)
				}
			}
		}
		// The list never existed.
		if got, date, err := w.JoinRequests.ListSent(ctx, 77, nil); len(got) != 0 || date != nil || err != nil {
			w.Errorf("%v of %v, error %v", got, date, err)
		}
		if got, date, err := w.Blocklist.ListIDs(ctx, 404, nil); len(got) != 0 || date != nil || err != nil {
			w.Errorf("%v of %v, error %v", got, date, err)
		}
		for _, stranger := range []int64{9, 3} {
			_, _, err := w.Invitations.ListOfGroup(ctx, stranger, id, nil)
			wantCode(w, err, apierr.NotGroupOwnerOrManagerToQueryGroupInvitation)
			_, _, err = w.JoinRequests.ListOfGroup(ctx, stranger, id, nil)
			wantCode(w, err, apierr.NotGroupOwnerOrManagerToQueryGroupJoinRequest)
			_, _, err = w.Questions.List(ctx, stranger, id, true, nil)
			wantCode(w, err, apierr.NotGroupOwnerOrManagerToQueryGroupQuestionAnswer)
		}
		_, _, err := w.Members.List(ctx, 9, id, nil)
		wantCode(w, err, apierr.NotGroupMemberToQueryGroupMemberInfo)
		_, err = w.Members.FindSome(ctx, 9, id, []int64{1})
		wantCode(w, err, apierr.NotGroupMemberToQueryGroupMemberInfo)
		if got := must(w.Members.FindSome(ctx, 5, id, []int64{2, 9, 1}))(w); len(got) != 2 || got[0].UserID != 1 || got[1].UserID != 2 {
			w.Errorf("the members are %+v", got)
		}
		if got := must(w.Members.FindSome(ctx, 5, id, nil))(w); len(got) != 0 {
			w.Errorf("the members are %+v", got)
		}
		if got := must(w.Members.Managers(ctx, id))(w); !slices.Equal(got, []int64{1, 2}) {
			w.Errorf("the managers are %v", got)
		}
	})
}

// shown is a list as a text.
func shown[T any](found []T, date *time.Time, err error) func(func(T) any) (string, *time.Time, error) {
	return func(show func(T) any) (string, *time.Time, error) { return fmt.Sprint(convert(found, show)), date, err }
}

func TestChangedGroups(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		a, b, gone := w.group(1), w.group(1), w.group(1)
		must(w.Delete(ctx, []int64{gone}, nil))(w)
		before := w.clock()
		w.advance(time.Minute)
		w.change(b, store.GroupChange{Name: new("n")})
		all := []int64{a, b, gone, 404}
		for _, test := range []struct {
			ids   []int64
			since *time.Time
			want  []int64
		}{
			{nil, nil, []int64{}},
			{all, nil, []int64{a, b}},
			{all, &before, []int64{b}},
			{all, new(before.Add(-time.Millisecond)), []int64{a, b}},
			{all, new(w.clock()), []int64{}},
		} {
			if got := idsOf(must(w.FindChanged(ctx, test.ids, test.since))(w)); !slices.Equal(got, test.want) {
				w.Errorf("%v since %v: %v, want %v", test.ids, test.since, got, test.want)
			}
		}
	})
}
