// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/store"
)

// insertMeetings stores confirmed meetings.
func insertMeetings(t *testing.T, db *store.DB, meetings ...store.Meeting) {
	t.Helper()
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		for _, m := range meetings {
			if err := store.InsertPendingMeeting(ctx, tx, m); err != nil {
				return err
			}
			if ok, err := store.ConfirmMeeting(ctx, tx, m.ID, m.AccessToken); err != nil || !ok {
				return errors.Join(err, errors.New("not confirmed"))
			}
		}
		return nil
	})
}

func testMeetings(t *testing.T, db *store.DB) {
	meetings := []store.Meeting{
		{ID: 4, CreatorID: 20, UserID: new(int64(30)), Name: new("n 😀"), Intro: new("i"), Password: new("123456"), AccessToken: new("t"), CreationDate: groupTime(1), StartDate: groupTime(2)},
		{ID: 3, CreatorID: 21, GroupID: new(int64(40)), CreationDate: groupTime(2), StartDate: groupTime(2), EndDate: new(groupTime(8)), CancelDate: new(groupTime(9))},
		{ID: 2, CreatorID: 20, GroupID: new(int64(41)), CreationDate: groupTime(3), StartDate: groupTime(3)},
		{ID: 1, CreatorID: 30, UserID: new(int64(20)), CreationDate: groupTime(3), StartDate: groupTime(30)},
	}
	insertMeetings(t, db, meetings...)
	wantDuplicate(t, db, "meeting", func(ctx context.Context, tx store.Tx) error { return store.InsertPendingMeeting(ctx, tx, meetings[0]) })
	find := func(f store.MeetingFilter, page store.Page) []store.Meeting {
		return all(t, db, f, page, store.FindMeetings, store.CountMeetings)
	}
	if diff := cmp.Diff([]store.Meeting{meetings[0], meetings[1], meetings[3], meetings[2]}, find(store.MeetingFilter{}, store.Page{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	id := func(m store.Meeting) int64 { return m.ID }
	viewer := func(user int64, groups ...int64) *store.MeetingViewer {
		return &store.MeetingViewer{UserID: user, GroupIDs: groups}
	}
	for _, test := range []struct {
		filter store.MeetingFilter
		want   []int64
	}{
		{store.MeetingFilter{IDs: []int64{1, 3, 9}}, []int64{3, 1}},
		{store.MeetingFilter{CreatorIDs: []int64{20}}, []int64{4, 2}},
		{store.MeetingFilter{UserIDs: []int64{20, 30}}, []int64{4, 1}},
		{store.MeetingFilter{GroupIDs: []int64{40}}, []int64{3}},
		{store.MeetingFilter{CreationDate: groupRange(2, 3)}, []int64{3}},
		{store.MeetingFilter{For: viewer(20)}, []int64{4, 1, 2}},
		{store.MeetingFilter{For: viewer(30)}, []int64{4, 1}},
		{store.MeetingFilter{For: viewer(30, 40, 42)}, []int64{4, 3, 1}},
		{store.MeetingFilter{For: viewer(30, 40), GroupIDs: []int64{40, 41}}, []int64{3}},
		{store.MeetingFilter{For: viewer(99)}, nil},
		{store.MeetingFilter{For: viewer(20), CreationDate: groupRange(3, 4), CreatorIDs: []int64{30}, UserIDs: []int64{20}, IDs: []int64{1, 2}}, []int64{1}},
	} {
		wantIDs(t, test.filter, find(test.filter, store.Page{}), id, test.want...)
	}
	wantIDs(t, "a page", find(store.MeetingFilter{For: viewer(20)}, store.Page{Limit: 1, Offset: 1}), id, 1)
	changes := func(want bool, meeting int64, c store.MeetingChange) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			changed, err := store.UpdateMeeting(ctx, tx, meeting, c)
			if err == nil && changed != want {
				t.Errorf("%+v changes meeting %d: %v", c, meeting, changed)
			}
			return err
		})
	}
	none := (*string)(nil)
	changes(true, 4, store.MeetingChange{Name: new("m"), Intro: new("j"), Password: &none, EndDate: new(groupTime(5)), CancelDate: new(groupTime(6))})
	changes(false, 4, store.MeetingChange{Name: new("m"), Password: &none})
	changes(true, 3, store.MeetingChange{Password: new(new("7"))})
	changes(false, 9, store.MeetingChange{Name: new("m")})
	changes(false, 3, store.MeetingChange{})
	read(t, db, func(ctx context.Context, r store.Reader) error {
		want := meetings[0]
		want.Name, want.Intro, want.Password, want.EndDate, want.CancelDate = new("m"), new("j"), nil, new(groupTime(5)), new(groupTime(6))
		got, err := store.FindMeeting(ctx, r, 4)
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if _, err := store.FindMeeting(ctx, r, 9); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a meeting that is not there is %v", err)
		}
		return err
	})
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		return store.DeleteGroupMeetings(ctx, tx, []int64{40, 99})
	})
	wantIDs(t, "without a group", find(store.MeetingFilter{}, store.Page{}), id, 4, 1, 2)
	write(t, db, func(ctx context.Context, tx store.Tx) error { return store.DeletePrivateMeetings(ctx, tx, []int64{20}) })
	wantIDs(t, "without a user", find(store.MeetingFilter{}, store.Page{}), id, 2)
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		n, err := store.DeleteMeetings(ctx, tx, []int64{2, 9})
		if err == nil && n != 1 {
			t.Errorf("deleted %d", n)
		}
		return err
	})
}

// testPendingMeetings finds meetings that are being created.
func testPendingMeetings(t *testing.T, db *store.DB) {
	pending := []store.Meeting{
		{ID: 1, CreatorID: 20, UserID: new(int64(30)), CreationDate: groupTime(1), StartDate: groupTime(1)},
		{ID: 2, CreatorID: 20, UserID: new(int64(30)), CreationDate: groupTime(2), StartDate: groupTime(2)},
		{ID: 3, CreatorID: 21, UserID: new(int64(30)), CreationDate: groupTime(1), StartDate: groupTime(1)},
	}
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		return errors.Join(store.InsertPendingMeeting(ctx, tx, pending[0]), store.InsertPendingMeeting(ctx, tx, pending[1]), store.InsertPendingMeeting(ctx, tx, pending[2]))
	})
	count := func(creator, want int64) {
		t.Helper()
		read(t, db, func(ctx context.Context, r store.Reader) error {
			n, err := store.CountPendingMeetings(ctx, r, creator)
			if err == nil && n != want {
				t.Errorf("%d meetings of user %d are pending, want %d", n, creator, want)
			}
			return err
		})
	}
	find := func() []store.Meeting {
		return all(t, db, store.MeetingFilter{}, store.Page{}, store.FindMeetings, store.CountMeetings)
	}
	id := func(m store.Meeting) int64 { return m.ID }
	count(20, 2)
	wantIDs(t, "pending", find(), id)
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		changed, err := store.UpdateMeeting(ctx, tx, 1, store.MeetingChange{Name: new("n")})
		if err == nil && changed {
			t.Error("a pending meeting was changed")
		}
		return err
	})
	confirm := func(meeting int64, want bool) {
		t.Helper()
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			ok, err := store.ConfirmMeeting(ctx, tx, meeting, new("t"))
			if err == nil && ok != want {
				t.Errorf("meeting %d was confirmed: %v", meeting, ok)
			}
			return err
		})
	}
	confirm(3, true)
	confirm(3, false)
	confirm(9, false)
	wantIDs(t, "confirmed", find(), id, 3)
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		return errors.Join(store.DeletePendingMeetings(ctx, tx, 20, groupTime(2)), store.DeletePendingMeetings(ctx, tx, 21, groupTime(9)))
	})
	count(20, 1)
	confirm(1, false)
	confirm(2, true)
	count(20, 0)
	wantIDs(t, "left", find(), id, 3, 2)
	if got := find()[0].AccessToken; got == nil || *got != "t" {
		t.Errorf("the token is %v", got)
	}
}

// testMeetingPlans proves that every filter of meetings has an index.
func testMeetingPlans(t *testing.T, db *store.DB) {
	const rows = 3000
	var meetings []store.Meeting
	for i := range int64(rows) {
		m := store.Meeting{ID: i, CreatorID: i / 2, CreationDate: groupTime(int(i)), StartDate: groupTime(int(i))}
		if some := i / 2; i%2 == 0 {
			m.UserID = &some
		} else {
			m.GroupID = &some
		}
		meetings = append(meetings, m)
	}
	insertMeetings(t, db, meetings...)
	if db.Engine() == store.PostgreSQL {
		write(t, db, func(ctx context.Context, tx store.Tx) error {
			return Exec(ctx, tx, "ANALYZE")
		})
	}
	few, many := []int64{5, 6}, make([]int64, 100)
	for i := range many {
		many[i] = int64(i) * rows / 20
	}
	for _, ids := range [][]int64{few, many} {
		plans(t, db, store.CountMeetings, store.FindMeetings,
			store.MeetingFilter{IDs: ids}, store.MeetingFilter{CreatorIDs: ids}, store.MeetingFilter{UserIDs: ids}, store.MeetingFilter{GroupIDs: ids},
			store.MeetingFilter{For: &store.MeetingViewer{UserID: 5, GroupIDs: ids}},
			store.MeetingFilter{For: &store.MeetingViewer{UserID: 5, GroupIDs: ids}, CreatorIDs: ids, CreationDate: groupRange(10, 20)})
	}
	plans(t, db, store.CountMeetings, store.FindMeetings,
		store.MeetingFilter{CreationDate: groupRange(10, 20)}, store.MeetingFilter{For: &store.MeetingViewer{UserID: 5}})
	WantIndex(t, db, "pending meetings", func(ctx context.Context, r store.Reader) error {
		_, err := store.CountPendingMeetings(ctx, r, 5)
		return err
	})
}
