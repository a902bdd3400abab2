// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

func TestQuestions(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		a, b := w.group(1), w.group(1)
		var first store.GroupQuestion
		w.wantBumps(a, []int64{1}, func() (err error) {
			first, err = w.Questions.Create(ctx, store.GroupQuestion{GroupID: a, Question: "q", Answers: []string{"x", "y", "x"}, Score: 1})
			return err
		}, "questions")
		if got := fmt.Sprint(first.Answers); got != "[x y]" {
			w.Errorf("answers %s", got)
		}
		w.settings.Question.QuestionContentLimit, w.settings.Question.AnswerContentLimit, w.settings.Question.MaxAnswerCount = 2, 1, 2
		for name, q := range map[string]store.GroupQuestion{
			"long question":   {Question: "abc", Answers: []string{"a"}},
			"long answer":     {Question: "ab", Answers: []string{"ab"}},
			"many answers":    {Question: "ab", Answers: []string{"a", "b", "c"}},
			"no answers":      {Question: "ab"},
			"negative score":  {Question: "ab", Answers: []string{"a"}, Score: -1},
			"emoji is two":    {Question: "a😀", Answers: []string{"a"}},
			"repeated answer": {Question: "ab", Answers: []string{"a", "a", "b", "c"}},
		} {
			if _, err := w.Questions.Create(ctx, q); apierr.From(err).Code != apierr.IllegalArgument || err == nil {
				w.Errorf("%s: %v", name, err)
			}
		}
		w.settings.Question.QuestionContentLimit, w.settings.Question.AnswerContentLimit, w.settings.Question.MaxAnswerCount = 0, 0, 0
		long := strings.Repeat("x", 5000)
		second := must(w.Questions.Create(ctx, store.GroupQuestion{GroupID: b, Question: long, Answers: strings.Split(strings.Repeat(long+"a b ", 20), " ")}))(w)

		w.wantBumps(b, nil, func() error {
			got, err := w.Questions.Update(ctx, []int64{first.ID, second.ID, 5}, store.GroupQuestionChange{GroupID: &b})
			if got != (store.UpdateResult{Matched: 2, Modified: 1}) {
				w.Errorf("updated %+v", got)
			}
			return err
		}, "questions")
		_, err := w.Questions.Update(ctx, []int64{first.ID}, store.GroupQuestionChange{Answers: &[]string{}})
		wantCode(w, err, apierr.IllegalArgument)
		_, err = w.Questions.Update(ctx, []int64{first.ID}, store.GroupQuestionChange{Score: new(int32(-1))})
		wantCode(w, err, apierr.IllegalArgument)
		w.wantBumps(b, nil, func() error {
			n, err := w.Questions.Delete(ctx, []int64{first.ID, 5})
			if n != 1 {
				w.Errorf("deleted %d", n)
			}
			return err
		}, "questions")
		w.wantBumps(b, nil, func() error {
			n, err := w.Questions.DeleteAll(ctx)
			if n != 1 {
				w.Errorf("deleted %d", n)
			}
			return err
		}, "questions")
	})
}

func TestBlockedUsers(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		a := w.group(1, 2)
		w.wantBumps(a, []int64{2}, func() error {
			_, err := w.Blocklist.Block(ctx, store.GroupBlockedUser{GroupUserKey: key(a, 2), RequesterID: 1}, nil)
			return err
		}, "blocklist")
		w.wantRoles(a, "1:OWNER 2:MEMBER ")
		_, err := w.Blocklist.Block(ctx, store.GroupBlockedUser{GroupUserKey: key(a, 3)}, new(w.clock().Add(time.Second)))
		wantCode(w, err, apierr.IllegalArgument)
		w.wantBumps(a, nil, func() error {
			got, err := w.Blocklist.Update(ctx, []store.GroupUserKey{key(a, 2), key(a, 3)}, store.GroupBlockedUserChange{RequesterID: new(int64(5))})
			if got != (store.UpdateResult{Matched: 1, Modified: 1}) {
				w.Errorf("updated %+v", got)
			}
			return err
		}, "blocklist")
		_, err = w.Blocklist.Update(ctx, []store.GroupUserKey{key(a, 2)}, store.GroupBlockedUserChange{BlockDate: new(w.clock().Add(time.Second))})
		wantCode(w, err, apierr.IllegalArgument)
		if got := must(w.Blocklist.Update(ctx, []store.GroupUserKey{key(a, 2)}, store.GroupBlockedUserChange{}))(w); got != (store.UpdateResult{}) {
			w.Errorf("updated %+v", got)
		}
		w.wantBumps(a, nil, func() error {
			n, err := w.Blocklist.Unblock(ctx, []store.GroupUserKey{key(a, 2), key(a, 3)})
			if n != 1 {
				w.Errorf("deleted %d", n)
			}
			return err
		}, "blocklist")
		if total, _, err := w.Blocklist.FindPage(ctx, store.GroupBlockedUserFilter{}, store.Page{Limit: 1}); total != 0 || err != nil {
			w.Errorf("%d are left, error %v", total, err)
		}
	})
}

func TestInvitations(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		const lifetime = 2592000 * time.Second
		a, b := w.group(1), w.group(1)
		var v Invitation
		w.wantBumps(a, []int64{2, 3}, func() (err error) {
			v, err = w.Invitations.Create(ctx, store.GroupInvitation{GroupID: a, InviterID: 2, InviteeID: 3, Content: "c"}, nil, nil)
			return err
		}, "invitations", "sent_group_invitations:2", "received_group_invitations:3")
		if v.ExpirationDate == nil || !v.ExpirationDate.Equal(w.clock().Add(lifetime)) {
			w.Errorf("expires %v", v.ExpirationDate)
		}
		later := w.clock().Add(time.Second)
		_, err := w.Invitations.Create(ctx, store.GroupInvitation{Content: strings.Repeat("x", 201)}, nil, nil)
		wantCode(w, err, apierr.IllegalArgument)
		_, err = w.Invitations.Create(ctx, store.GroupInvitation{}, nil, &later)
		wantCode(w, err, apierr.IllegalArgument)
		_, err = w.Invitations.Create(ctx, store.GroupInvitation{ResponseDate: &later}, nil, nil)
		wantCode(w, err, apierr.IllegalArgument)

		update := func(c store.GroupInvitationChange, response *time.Time, want store.UpdateResult) {
			w.Helper()
			if got := must(w.Invitations.Update(ctx, []int64{v.ID, 5}, c, response))(w); got != want {
				w.Errorf("updated %+v, want %+v", got, want)
			}
			v = must(w.Invitations.Find(ctx, InvitationFilter{Stored: store.GroupInvitationFilter{IDs: []int64{v.ID}}}, 1, 0))(w)[0]
		}
		update(store.GroupInvitationChange{}, nil, store.UpdateResult{})
		update(store.GroupInvitationChange{}, new(w.clock()), store.UpdateResult{})
		w.wantBumps(b, []int64{2, 3, 4}, func() error {
			update(store.GroupInvitationChange{GroupID: &b, InviteeID: new(int64(4))}, nil, store.UpdateResult{Matched: 1, Modified: 1})
			return nil
		}, "invitations", "sent_group_invitations:2", "received_group_invitations:3", "received_group_invitations:4")
		update(store.GroupInvitationChange{Status: new(store.RequestAccepted)}, nil, store.UpdateResult{Matched: 1, Modified: 1})
		if v.Status != store.RequestAccepted || v.ResponseDate == nil || !v.ResponseDate.Equal(w.clock()) {
			w.Errorf("accepted: %+v", v)
		}
		early := w.clock().Add(-time.Minute).UTC()
		update(store.GroupInvitationChange{Status: new(store.RequestDeclined)}, &early, store.UpdateResult{Matched: 1, Modified: 1})
		if !v.ResponseDate.Equal(early) {
			w.Errorf("declined: %+v", v)
		}
		update(store.GroupInvitationChange{Status: new(store.RequestPending)}, &early, store.UpdateResult{Matched: 1, Modified: 1})
		if v.ResponseDate != nil {
			w.Errorf("pending: %+v", v)
		}
		_, err = w.Invitations.Update(ctx, []int64{v.ID}, store.GroupInvitationChange{Content: new(strings.Repeat("x", 201))}, nil)
		wantCode(w, err, apierr.IllegalArgument)
		_, err = w.Invitations.Update(ctx, []int64{v.ID}, store.GroupInvitationChange{Status: new(store.RequestAccepted)}, &later)
		wantCode(w, err, apierr.IllegalArgument)

		// An invitation expires when its time is over, not before.
		status := func(list ...store.RequestStatus) int {
			return len(must(w.Invitations.Find(ctx, InvitationFilter{Statuses: list}, 9, 0))(w))
		}
		expire := func(start, end time.Duration) InvitationFilter {
			at := v.CreationDate
			return InvitationFilter{ExpirationDate: store.DateRange{Start: new(at.Add(start)), End: new(at.Add(end))}}
		}
		w.advance(lifetime)
		if status(store.RequestPending) != 1 || status(store.RequestExpired) != 0 {
			w.Error("it expired too early")
		}
		w.advance(time.Millisecond)
		if status(store.RequestPending) != 0 || status(store.RequestExpired) != 1 || status(store.RequestPending, store.RequestExpired) != 1 {
			w.Error("it did not expire")
		}
		if got := must(w.Invitations.Find(ctx, expire(lifetime, lifetime+1*time.Millisecond), 9, 0))(w); len(got) != 1 || got[0].Status != store.RequestExpired {
			w.Errorf("by expiration: %+v", got)
		}
		if got := must(w.Invitations.Find(ctx, expire(0, lifetime), 9, 0))(w); len(got) != 0 {
			w.Errorf("by expiration: %+v", got)
		}
		f := expire(lifetime, lifetime+time.Hour)
		f.Stored.CreationDate.Start = new(v.CreationDate.Add(2 * time.Hour))
		_, err = w.Invitations.Find(ctx, f, 9, 0)
		wantCode(w, err, apierr.IllegalArgument)
		_, _, err = w.Invitations.FindPage(ctx, f, store.Page{Limit: 9})
		wantCode(w, err, apierr.IllegalArgument)

		// The clean-up does nothing unless it is told to.
		if n := must(w.Invitations.DeleteExpired(ctx, w.db))(w); n != 0 {
			w.Errorf("deleted %d", n)
		}
		w.settings.Invitation.DeleteExpiredInvitationsWhenCronTriggered = true
		w.settings.Invitation.ExpireAfterSeconds = 0
		if n := must(w.Invitations.DeleteExpired(ctx, w.db))(w); n != 0 || status(store.RequestPending) != 1 {
			w.Errorf("deleted %d", n)
		}
		if got := must(w.Invitations.Find(ctx, f, 9, 0))(w); len(got) != 0 {
			w.Errorf("found %v", got)
		}
		w.settings.Invitation.ExpireAfterSeconds = 2592000
		fresh := must(w.Invitations.Create(ctx, store.GroupInvitation{GroupID: a, Status: store.RequestExpired}, nil, nil))(w)
		kept := must(w.Invitations.Create(ctx, store.GroupInvitation{GroupID: a, Status: store.RequestAccepted}, nil, &v.CreationDate))(w)
		w.wantBumps(b, []int64{2}, func() error {
			n, err := w.Invitations.DeleteExpired(ctx, w.db)
			if n != 2 {
				w.Errorf("deleted %d", n)
			}
			return err
		}, "invitations", "sent_group_invitations:2")
		if got := must(w.Invitations.Find(ctx, InvitationFilter{}, 9, 0))(w); len(got) != 1 || got[0].ID != kept.ID {
			w.Errorf("left are %v; %d is stored as expired", got, fresh.ID)
		}
		if n := must(w.Invitations.Delete(ctx, []int64{5}))(w); n != 0 {
			w.Errorf("deleted %d", n)
		}
		if n := must(w.Invitations.DeleteAll(ctx))(w); n != 1 {
			w.Errorf("deleted %d", n)
		}
	})
}

func TestJoinRequests(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		a, b := w.group(1), w.group(1)
		var v JoinRequest
		w.wantBumps(a, []int64{1, 2}, func() (err error) {
			v, err = w.JoinRequests.Create(ctx, store.GroupJoinRequest{GroupID: a, RequesterID: 2, ResponderID: new(int64(1)), ResponseDate: new(w.clock())}, nil, nil)
			return err
		}, "join_requests", "sent_group_join_requests:2")
		if v.ResponseDate != nil {
			w.Error("a pending request has a response date")
		}
		answered := must(w.JoinRequests.Create(ctx, store.GroupJoinRequest{Status: store.RequestIgnored, Reason: new("no")}, new(int64(5)), nil))(w)
		if answered.ID != 5 || answered.ResponseDate == nil || !answered.ResponseDate.Equal(w.clock()) {
			w.Errorf("answered: %+v", answered)
		}
		_, err := w.JoinRequests.Create(ctx, store.GroupJoinRequest{Content: strings.Repeat("😀", 101)}, nil, nil)
		wantCode(w, err, apierr.IllegalArgument)
		w.wantBumps(b, []int64{2, 3}, func() error {
			got, err := w.JoinRequests.Update(ctx, []int64{v.ID, 77}, store.GroupJoinRequestChange{GroupID: &b, RequesterID: new(int64(3)), Status: new(store.RequestCanceled)}, nil)
			if got != (store.UpdateResult{Matched: 1, Modified: 1}) {
				w.Errorf("updated %+v", got)
			}
			return err
		}, "join_requests", "sent_group_join_requests:2", "sent_group_join_requests:3")
		w.settings.JoinRequest.DeleteExpiredJoinRequestsWhenCronTriggered = true
		w.settings.JoinRequest.ExpireAfterSeconds = 1
		must(w.JoinRequests.Create(ctx, store.GroupJoinRequest{GroupID: a, RequesterID: 2}, nil, nil))(w)
		w.advance(time.Hour)
		if n := must(w.JoinRequests.DeleteExpired(ctx, w.db))(w); n != 1 {
			w.Errorf("deleted %d", n)
		}
		if total, _, err := w.JoinRequests.FindPage(ctx, JoinRequestFilter{}, store.Page{Limit: 1}); total != 2 || err != nil {
			w.Errorf("%d are left, error %v", total, err)
		}
		if n := must(w.JoinRequests.Delete(ctx, []int64{5, 6}))(w); n != 1 {
			w.Errorf("deleted %d", n)
		}
		if n := must(w.JoinRequests.DeleteAll(ctx))(w); n != 1 {
			w.Errorf("deleted %d", n)
		}
	})
}
