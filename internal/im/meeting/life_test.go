// SPDX-License-Identifier: Apache-2.0

package meeting_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/meeting"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// TestUpdate changes meetings as their creator, as an invited user, and as another user.
func TestUpdate(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2, 3)
		group := w.Group(1, 2)
		w.Rules.Conference.Meeting.Password.Policy = config.MeetingPasswordOptional
		m := w.create(meeting.Creation{CreatorID: 1, GroupID: &group, Password: new("123456")})
		for _, test := range []struct {
			name string
			user int64
			edit meeting.Edit
			code apierr.Code
		}{
			{"name", 1, meeting.Edit{Name: new("a")}, apierr.OK},
			{"intro of a member", 2, meeting.Edit{Intro: new("b")}, apierr.OK},
			{"nothing", 2, meeting.Edit{}, apierr.OK},
			{"of a stranger", 3, meeting.Edit{Name: new("c")}, apierr.UpdateInfoOfNonexistentMeeting},
			{"password of a stranger", 3, meeting.Edit{Password: new("654321")}, apierr.UpdateInfoOfNonexistentMeeting},
			{"password of a member", 2, meeting.Edit{Name: new("c"), Password: new("654321")}, apierr.NotCreatorToUpdateMeetingPassword},
			{"long name", 1, meeting.Edit{Name: new(strings.Repeat("n", 21)), Intro: new("c")}, apierr.IllegalArgument},
			{"long intro", 1, meeting.Edit{Name: new("c"), Intro: new(strings.Repeat("n", 201))}, apierr.IllegalArgument},
			{"short password", 1, meeting.Edit{Name: new("c"), Password: new("1")}, apierr.IllegalArgument},
		} {
			_, err := w.Meetings.Update(t.Context(), test.user, m.ID, test.edit)
			want(t, test.name, err, test.code)
		}
		m.Name, m.Intro = new("a"), new("b")
		if diff := cmp.Diff([]store.Meeting{m}, w.stored()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		changed, err := w.Meetings.Update(t.Context(), 1, m.ID, meeting.Edit{Password: new("654321")})
		if err != nil || valueOf(changed.Password) != "654321" {
			t.Errorf("the password is %q: %v", valueOf(changed.Password), err)
		}
		for policy, code := range map[config.MeetingPasswordPolicy]apierr.Code{
			config.MeetingPasswordOptional: apierr.OK, config.MeetingPasswordProhibited: apierr.OK, config.MeetingPasswordRequired: apierr.IllegalArgument,
			config.MeetingPasswordOrGenerated: apierr.IllegalArgument, config.MeetingPasswordGenerated: apierr.IllegalArgument,
		} {
			w.Rules.Conference.Meeting.Password.Policy = policy
			changed, err := w.Meetings.Update(t.Context(), 1, m.ID, meeting.Edit{Password: new("")})
			want(t, "no password with "+string(policy), err, code)
			if code == apierr.OK && changed.Password != nil {
				t.Errorf("%s: the password is %q", policy, *changed.Password)
			}
		}
		_, err = w.Meetings.Update(t.Context(), 1, 9, meeting.Edit{Name: new("c")})
		want(t, "no such meeting", err, apierr.UpdateInfoOfNonexistentMeeting)
	})
}

// TestCancel cancels meetings.
func TestCancel(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2, 3)
		cancel := func(user, id int64) (bool, error) {
			_, changed, err := w.Meetings.Cancel(t.Context(), user, id)
			return changed, err
		}
		m := w.create(meeting.Creation{CreatorID: 1, UserID: new(int64(2))})
		_, err := cancel(2, m.ID)
		want(t, "by who is invited", err, apierr.NotCreatorToCancelMeeting)
		_, err = cancel(3, m.ID)
		want(t, "by a stranger", err, apierr.CancelNonexistentMeeting)
		_, err = cancel(1, 9)
		want(t, "no such meeting", err, apierr.CancelNonexistentMeeting)
		w.Rules.Conference.Meeting.Scheduling.AllowCancel = false
		_, err = cancel(1, m.ID)
		want(t, "not allowed", err, apierr.CancelingMeetingIsDisabled)
		w.Rules.Conference.Meeting.Scheduling.AllowCancel = true
		w.failure = apierr.New(apierr.ServerUnavailable, "busy")
		_, err = cancel(1, m.ID)
		want(t, "the provider refuses", err, apierr.ServerUnavailable)
		if w.failure = nil; w.stored()[0].CancelDate != nil {
			t.Error("the meeting was cancelled nevertheless")
		}
		for _, first := range []bool{true, false} {
			changed, err := cancel(1, m.ID)
			want(t, "cancel", err, apierr.OK)
			if changed != first {
				t.Errorf("changed: %v", changed)
			}
			w.Now = w.Now.Add(time.Second)
		}
		if !slices.Equal(w.cancelled, []int64{m.ID}) || !w.stored()[0].CancelDate.Equal(*w.later(-2)) {
			t.Errorf("%v were cancelled; stored is %+v", w.cancelled, w.stored())
		}
		ended := w.create(meeting.Creation{CreatorID: 1, UserID: new(int64(2))})
		want(t, "end", w.Meetings.Ended(t.Context(), ended.ID, w.Now), apierr.OK)
		_, err = cancel(1, ended.ID)
		want(t, "ended", err, apierr.CancelNonexistentMeeting)
	})
}

// TestInvitations answers invitations.
func TestInvitations(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2, 3)
		group := w.Group(1, 2)
		w.Rules.Conference.Meeting.Password.Policy = config.MeetingPasswordOptional
		w.Rules.Conference.Meeting.Scheduling.MaxAllowedStartDateOffsetSeconds = 60
		accept := func(user, id int64, password *string, code apierr.Code) {
			t.Helper()
			_, token, err := w.Meetings.Accept(t.Context(), user, id, password)
			want(t, "accept", err, code)
			if (token == "for an invitee") != (code == apierr.OK) {
				t.Errorf("the token is %q", token)
			}
		}
		locked := w.create(meeting.Creation{CreatorID: 1, GroupID: &group, Password: new("123456")})
		accept(2, locked.ID, new("123456"), apierr.OK)
		accept(1, locked.ID, nil, apierr.OK)
		accept(2, locked.ID, nil, apierr.AcceptMeetingInvitationWithWrongPassword)
		accept(2, locked.ID, new("12345"), apierr.AcceptMeetingInvitationWithWrongPassword)
		accept(3, locked.ID, new("123456"), apierr.AcceptNonexistentMeetingInvitation)
		accept(2, 9, nil, apierr.AcceptNonexistentMeetingInvitation)
		w.failure = apierr.New(apierr.ServerUnavailable, "")
		_, _, err := w.Meetings.Accept(t.Context(), 2, locked.ID, new("123456"))
		want(t, "the provider refuses", err, apierr.ServerUnavailable)
		w.failure = nil
		_, err = w.Meetings.Decline(t.Context(), 2, locked.ID)
		want(t, "decline", err, apierr.OK)
		_, err = w.Meetings.Decline(t.Context(), 3, locked.ID)
		want(t, "decline as a stranger", err, apierr.AcceptNonexistentMeetingInvitation)
		want(t, "ignore", w.Meetings.Ignore(), apierr.OK)

		private := w.create(meeting.Creation{CreatorID: 1, UserID: new(int64(3)), StartDate: w.later(60)})
		accept(3, private.ID, new("needless"), apierr.AcceptMeetingInvitationOfPendingMeeting)
		accept(2, private.ID, nil, apierr.AcceptNonexistentMeetingInvitation)
		w.Now = *w.later(60)
		accept(3, private.ID, nil, apierr.OK)
		w.Now = w.Now.Add(24 * time.Hour)
		accept(3, private.ID, nil, apierr.OK)
		w.Now = w.Now.Add(time.Millisecond)
		accept(3, private.ID, nil, apierr.AcceptMeetingInvitationOfExpiredMeeting)
		w.Rules.Conference.Meeting.Scheduling.ExpireAfterSeconds = 0
		accept(3, private.ID, nil, apierr.OK)
		want(t, "end", w.Meetings.Ended(t.Context(), private.ID, w.Now), apierr.OK)
		accept(3, private.ID, nil, apierr.AcceptMeetingInvitationOfEndedMeeting)
		if _, _, err := w.Meetings.Cancel(t.Context(), 1, locked.ID); err != nil {
			t.Fatal(err)
		}
		accept(2, locked.ID, new("123456"), apierr.AcceptMeetingInvitationOfCanceledMeeting)
	})
}

// TestEnded notes when meetings ended.
func TestEnded(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2)
		begin := w.Now
		for _, test := range []struct{ said, stored time.Duration }{{30, 30}, {-5, 0}, {100, 60}} {
			w.Now = begin
			m := w.create(meeting.Creation{CreatorID: 1, UserID: new(int64(2))})
			w.Now = begin.Add(time.Minute)
			want(t, "end", w.Meetings.Ended(t.Context(), m.ID, begin.Add(test.said*time.Second)), apierr.OK)
			want(t, "end again", w.Meetings.Ended(t.Context(), m.ID, begin.Add(time.Second)), apierr.OK)
			err := w.DB.Read(t.Context(), func(ctx context.Context, r store.Reader) error {
				got, err := store.FindMeeting(ctx, r, m.ID)
				if err == nil && (got.EndDate == nil || !got.EndDate.Equal(begin.Add(test.stored*time.Second))) {
					t.Errorf("said to have ended after %d s: %v", test.said, got.EndDate)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		want(t, "no such meeting", w.Meetings.Ended(t.Context(), 9, begin), apierr.OK)
	})
}

// TestQuery looks for meetings by each filter, and for those of others.
func TestQuery(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2, 3)
		group, foreign := w.Group(1, 2), w.Group(3)
		w.Rules.Conference.Meeting.Password.Policy = config.MeetingPasswordOptional
		create := func(c meeting.Creation) int64 {
			w.Now = w.Now.Add(time.Minute)
			return w.create(c).ID
		}
		begin := w.Now
		sent := create(meeting.Creation{CreatorID: 1, UserID: new(int64(2)), Password: new("123456")})
		got := create(meeting.Creation{CreatorID: 2, UserID: new(int64(1)), Password: new("123456")})
		grouped := create(meeting.Creation{CreatorID: 2, GroupID: &group})
		create(meeting.Creation{CreatorID: 3, GroupID: &foreign})
		create(meeting.Creation{CreatorID: 3, UserID: new(int64(2))})
		after := func(minutes int) *time.Time { return new(begin.Add(time.Duration(minutes) * time.Minute)) }
		for _, test := range []struct {
			query meeting.Query
			want  []int64
		}{
			{meeting.Query{}, []int64{sent, got, grouped}},
			{meeting.Query{IDs: []int64{sent, 9}}, []int64{sent}},
			{meeting.Query{CreatorIDs: []int64{2, 3}}, []int64{got, grouped}},
			{meeting.Query{UserIDs: []int64{1}}, []int64{got}},
			{meeting.Query{GroupIDs: []int64{group, foreign}}, []int64{grouped}},
			{meeting.Query{CreationDate: store.DateRange{Start: after(2), End: after(3)}}, []int64{got}},
			{meeting.Query{Limit: 1, Offset: 1}, []int64{got}},
			{meeting.Query{Limit: -1, Offset: -1}, []int64{sent, got, grouped}},
			{meeting.Query{CreatorIDs: []int64{3}}, nil},
		} {
			found, err := w.Meetings.Query(t.Context(), 1, test.query)
			var list []int64
			for _, m := range found {
				list = append(list, m.ID)
			}
			if diff := cmp.Diff(test.want, list); err != nil || diff != "" {
				t.Errorf("%+v: %v (-want +got):\n%s", test.query, err, diff)
			}
		}
		found, err := w.Meetings.Query(t.Context(), 1, meeting.Query{})
		if err != nil || valueOf(found[0].Password) != "123456" || valueOf(found[0].AccessToken) != "for the creator" || found[1].Password != nil || found[1].AccessToken != nil {
			t.Errorf("user 1 sees %+v: %v", found, err)
		}
		want(t, "end", w.Meetings.Ended(t.Context(), sent, w.Now), apierr.OK)
		if found, err = w.Meetings.Query(t.Context(), 1, meeting.Query{}); err != nil || found[0].AccessToken != nil || found[0].EndDate == nil {
			t.Errorf("user 1 sees %+v: %v", found, err)
		}
	})
}

// TestManyMeetings checks paging.
func TestManyMeetings(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	err := w.DB.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		for i := range int64(1001) {
			m := store.Meeting{ID: i, CreatorID: 1, UserID: new(int64(2)), CreationDate: w.Now, StartDate: w.Now}
			if err := store.InsertPendingMeeting(ctx, tx, m); err != nil {
				return err
			}
			if _, err := store.ConfirmMeeting(ctx, tx, i, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{0, 5000} {
		if found, err := w.Meetings.Query(t.Context(), 1, meeting.Query{Limit: limit}); err != nil || len(found) != 1000 {
			t.Errorf("%d meetings: %v", len(found), err)
		}
	}
}
