// SPDX-License-Identifier: Apache-2.0

package meeting_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/meeting"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// TestCreate creates meetings that begin at once and later.
func TestCreate(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2, 3)
		group := w.Group(1, 2)
		w.Rules.Conference.Meeting.Scheduling.MaxAllowedStartDateOffsetSeconds = 60
		w.Rules.Conference.Meeting.Password.Policy = config.MeetingPasswordOptional
		private := w.create(meeting.Creation{CreatorID: 1, UserID: new(int64(3)), Name: new("name"), Intro: new("intro"), Password: new("123456")})
		expected := store.Meeting{
			ID: private.ID, CreatorID: 1, UserID: new(int64(3)), Name: new("name"), Intro: new("intro"), Password: new("123456"),
			CreationDate: w.Now, StartDate: w.Now, AccessToken: new("for the creator"),
		}
		if diff := cmp.Diff(expected, private); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		past := w.create(meeting.Creation{CreatorID: 2, GroupID: &group, StartDate: w.later(-1000)})
		future := w.create(meeting.Creation{CreatorID: 2, GroupID: &group, StartDate: w.later(60)})
		if !past.StartDate.Equal(w.Now) || !future.StartDate.Equal(*w.later(60)) || future.AccessToken != nil {
			t.Errorf("%+v and %+v", past, future)
		}
		if len(w.created) != 2 || w.created[0].ID != private.ID || w.created[1].ID != past.ID {
			t.Errorf("the provider created %+v", w.created)
		}
		if diff := cmp.Diff([]meeting.Limits{{MaxParticipants: 2, IdleTimeout: time.Hour}, {MaxParticipants: 100, IdleTimeout: time.Hour}}, w.limits); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		stored := w.stored()
		slices.SortFunc(stored, func(a, b store.Meeting) int { return len(valueOf(b.Name)) - len(valueOf(a.Name)) })
		if len(stored) != 3 || !cmp.Equal(stored[0], private) {
			t.Errorf("stored are %+v", stored)
		}
	})
}

func valueOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// TestIDs counts the digits of ids.
func TestIDs(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	w.People(1, 2)
	for kind, digits := range map[config.MeetingIDType]int{config.MeetingDigits9: 9, config.MeetingDigits10: 10} {
		w.Rules.Conference.Meeting.ID.Type = kind
		for range 20 {
			if m := w.create(meeting.Creation{CreatorID: 1, UserID: new(int64(2))}); len(strconv.FormatInt(m.ID, 10)) != digits {
				t.Errorf("%s: %d", kind, m.ID)
			}
		}
	}
}

// TestCreateRefusals checks every reason to refuse a meeting.
func TestCreateRefusals(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	w.People(1, 2)
	group := w.Group(2)
	required := func(w *world) { w.Rules.Conference.Meeting.Password.Policy = config.MeetingPasswordRequired }
	private := meeting.Creation{CreatorID: 1, UserID: new(int64(2))}
	with := func(change func(*meeting.Creation)) meeting.Creation {
		c := private
		change(&c)
		return c
	}
	password := func(p string) meeting.Creation {
		return with(func(c *meeting.Creation) { c.Password = &p })
	}
	for _, test := range []struct {
		name     string
		creation meeting.Creation
		rules    func(*world)
		code     apierr.Code
	}{
		{"nobody", meeting.Creation{CreatorID: 1}, nil, apierr.IllegalArgument},
		{"both", meeting.Creation{CreatorID: 1, UserID: new(int64(2)), GroupID: &group}, nil, apierr.IllegalArgument},
		{"the server", meeting.Creation{CreatorID: 1, UserID: new(int64(0))}, nil, apierr.IllegalArgument},
		{"oneself", meeting.Creation{CreatorID: 1, UserID: new(int64(1))}, nil, apierr.SendingMessagesToOneselfIsDisabled},
		{"no such user", meeting.Creation{CreatorID: 1, UserID: new(int64(9))}, nil, apierr.MessageRecipientNotActive},
		{"a stranger", private, func(w *world) { w.Rules.Message.AllowSendMessagesToStranger = false }, apierr.NotFriendToSendPrivateMessage},
		{"no such group", meeting.Creation{CreatorID: 1, GroupID: new(int64(9))}, nil, apierr.SendMessageToInactiveGroup},
		{"not a member", meeting.Creation{CreatorID: 1, GroupID: &group}, nil, apierr.NotSpeakableGroupGuestToSendMessage},
		{"long name", with(func(c *meeting.Creation) { c.Name = new(strings.Repeat("n", 21)) }), nil, apierr.IllegalArgument},
		{"no name", private, func(w *world) { w.Rules.Conference.Meeting.Name.MinLength = 1 }, apierr.IllegalArgument},
		{"long intro", with(func(c *meeting.Creation) { c.Intro = new(strings.Repeat("n", 201)) }), nil, apierr.IllegalArgument},
		{"short intro", with(func(c *meeting.Creation) { c.Intro = new("ab") }), func(w *world) { w.Rules.Conference.Meeting.Intro.MinLength = 3 }, apierr.IllegalArgument},
		{"later", with(func(c *meeting.Creation) { c.StartDate = w.later(1) }), nil, apierr.IllegalArgument},
		{"too much later", with(func(c *meeting.Creation) { c.StartDate = w.later(61) }), func(w *world) { w.Rules.Conference.Meeting.Scheduling.MaxAllowedStartDateOffsetSeconds = 60 }, apierr.IllegalArgument},
		{"prohibited password", password("123456"), nil, apierr.IllegalArgument},
		{"no password", private, required, apierr.IllegalArgument},
		{"empty password", password(""), required, apierr.IllegalArgument},
		{"short password", password("12345"), required, apierr.IllegalArgument},
		{"long password", password("1234567"), required, apierr.IllegalArgument},
		{"letters", password("abcdef"), required, apierr.IllegalArgument},
		{"letters within", password("12ab56"), required, apierr.IllegalArgument},
		{"digits", password("123456"), func(w *world) {
			required(w)
			w.Rules.Conference.Meeting.Password.Type = config.MeetingPasswordAlphabetic
		}, apierr.IllegalArgument},
		{"own password", password("123456"), func(w *world) { w.Rules.Conference.Meeting.Password.Policy = config.MeetingPasswordGenerated }, apierr.IllegalArgument},
		{"not kept", with(func(c *meeting.Creation) { c.Name = new("a\x00b") }), nil, apierr.IllegalArgument},
		{"provider refuses", private, func(w *world) { w.failure = apierr.New(apierr.ServerUnavailable, "full") }, apierr.ServerUnavailable},
		{"provider fails", private, func(w *world) { w.failure = errors.New("broken") }, apierr.ServerInternalError},
		{"too many", private, func(w *world) { w.counts, w.open = true, map[int64]int64{5: 1} }, apierr.CreateMeetingExceedingMaxActiveMeetingCount},
	} {
		t.Run(test.name, func(t *testing.T) {
			defaults := config.Default().Service
			w.Rules.Conference, w.Rules.Message, w.failure, w.counts, w.open = defaults.Conference, defaults.Message, nil, false, map[int64]int64{}
			if test.rules != nil {
				test.rules(w)
			}
			_, err := w.Meetings.Create(t.Context(), test.creation)
			want(t, "create", err, test.code)
			if found := w.stored(); len(found) != 0 || len(w.created) != 0 || w.pending(1) != 0 {
				t.Errorf("there are %+v, %+v and %d pending", found, w.created, w.pending(1))
			}
		})
	}
}

// TestPasswords creates meetings with and without passwords.
func TestPasswords(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	w.People(1, 2)
	for _, test := range []struct {
		policy config.MeetingPasswordPolicy
		kind   config.MeetingPasswordType
		given  *string
		length int
	}{
		{config.MeetingPasswordProhibited, config.MeetingPasswordNumeric, nil, 0},
		{config.MeetingPasswordProhibited, config.MeetingPasswordNumeric, new(""), 0},
		{config.MeetingPasswordOptional, config.MeetingPasswordNumeric, nil, 0},
		{config.MeetingPasswordOptional, config.MeetingPasswordNumeric, new("123456"), 6},
		{config.MeetingPasswordRequired, config.MeetingPasswordAlphabetic, new("abCDEfg"), 7},
		{config.MeetingPasswordOrGenerated, config.MeetingPasswordAlphanumeric, new("a1b2c3d4"), 8},
		{config.MeetingPasswordOrGenerated, config.MeetingPasswordAlphanumeric, nil, 6},
		{config.MeetingPasswordGenerated, config.MeetingPasswordNumeric, nil, 6},
		{config.MeetingPasswordGenerated, config.MeetingPasswordAlphabetic, new(""), 6},
	} {
		w.Rules.Conference.Meeting.Password = config.MeetingPassword{Policy: test.policy, Type: test.kind, MinLength: 6, MaxLength: 8}
		m := w.create(meeting.Creation{CreatorID: 1, UserID: new(int64(2)), Password: test.given})
		if (m.Password != nil) != (test.length > 0) || len(valueOf(m.Password)) != test.length {
			t.Errorf("%+v: the password is %q", test, valueOf(m.Password))
		}
		if test.given != nil && *test.given != valueOf(m.Password) && *test.given != "" {
			t.Errorf("%+v: the password is %q", test, valueOf(m.Password))
		}
		if test.kind == config.MeetingPasswordNumeric && strings.Trim(valueOf(m.Password), "0123456789") != "" {
			t.Errorf("%+v: the password is %q", test, valueOf(m.Password))
		}
	}
}

// TestQuota creates as many meetings as allowed, also concurrently.
func TestQuota(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2, 3)
		w.counts = true
		w.Rules.Conference.Meeting.Quota.MaxActiveMeetingCountPerUser = 2
		create := func(creator int64) error {
			_, err := w.Meetings.Create(t.Context(), meeting.Creation{CreatorID: creator, UserID: new(int64(3))})
			return err
		}
		want(t, "the first", create(1), apierr.OK)
		want(t, "the second", create(1), apierr.OK)
		want(t, "the third", create(1), apierr.CreateMeetingExceedingMaxActiveMeetingCount)
		want(t, "of another", create(2), apierr.OK)
		clear(w.open)
		want(t, "when others have ended", create(1), apierr.OK)
		w.counts = false
		for range 3 {
			want(t, "when nobody counts", create(1), apierr.OK)
		}
		w.counts, w.Rules.Conference.Meeting.Quota.MaxActiveMeetingCountPerUser = true, 0
		want(t, "without a limit", create(1), apierr.OK)
		clear(w.open)
		w.Rules.Conference.Meeting.Quota.MaxActiveMeetingCountPerUser = 1
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() { errs[i] = create(1) })
		}
		wg.Wait()
		made := 0
		for _, err := range errs {
			if err == nil {
				made++
			} else {
				want(t, "at the same time", err, apierr.CreateMeetingExceedingMaxActiveMeetingCount)
			}
		}
		if made != 1 || w.pending(1) != 0 {
			t.Errorf("%d meetings were created at the same time, and %d are pending", made, w.pending(1))
		}
	})
}

// TestWhileCreating queries a meeting during the provider's call.
func TestWhileCreating(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2)
		group := w.Group(1, 2)
		w.during = func(m store.Meeting) {
			// A provider may use the server in its call.
			want(t, "ended", w.Meetings.Ended(context.WithoutCancel(t.Context()), m.ID, w.Now), apierr.OK)
			if len(w.stored()) != 0 || w.pending(1) != 1 {
				t.Errorf("there are %+v and %d pending", w.stored(), w.pending(1))
			}
			_, _, err := w.Meetings.Accept(t.Context(), 2, m.ID, nil)
			want(t, "accept", err, apierr.AcceptNonexistentMeetingInvitation)
		}
		w.create(meeting.Creation{CreatorID: 1, GroupID: &group})
		w.during = func(store.Meeting) {
			if _, err := w.Groups.Delete(t.Context(), []int64{group}, nil); err != nil {
				t.Error(err)
			}
		}
		_, err := w.Meetings.Create(t.Context(), meeting.Creation{CreatorID: 1, GroupID: &group})
		want(t, "its group is gone", err, apierr.ResourceNotFound)
		if len(w.cancelled) != 1 || w.cancelled[0] != w.created[1].ID || len(w.stored()) != 0 {
			t.Errorf("%v were cancelled, there are %+v", w.cancelled, w.stored())
		}
	})
}

// TestForgotten checks meetings whose creation a dying server did not finish.
func TestForgotten(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	w.People(1, 2)
	w.counts = true
	err := w.DB.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return store.InsertPendingMeeting(ctx, tx, store.Meeting{ID: 5, CreatorID: 1, UserID: new(int64(2)), CreationDate: w.Now, StartDate: w.Now})
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Meetings.Create(t.Context(), meeting.Creation{CreatorID: 1, UserID: new(int64(2))})
	want(t, "at once", err, apierr.CreateMeetingExceedingMaxActiveMeetingCount)
	w.Now = w.Now.Add(time.Hour)
	m := w.create(meeting.Creation{CreatorID: 1, UserID: new(int64(2))})
	if found := w.stored(); len(found) != 1 || found[0].ID != m.ID || w.pending(1) != 0 {
		t.Errorf("there are %+v and %d pending", found, w.pending(1))
	}
}
