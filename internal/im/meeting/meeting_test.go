// SPDX-License-Identifier: Apache-2.0

package meeting_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/imtest"
	"example.org/app/internal/im/meeting"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// world holds the rules about meetings over a real store with the other real rules. It is the
// provider.
type world struct {
	*imtest.World

	absent bool
	// during is called while a meeting is being created.
	during func(store.Meeting)

	mu        sync.Mutex
	failure   error
	counts    bool
	open      map[int64]int64 // the creators of active meetings
	created   []store.Meeting
	limits    []meeting.Limits
	cancelled []int64
}

func onBothEngines(t *testing.T, test func(*testing.T, *world)) {
	t.Run("SQLite", func(t *testing.T) { test(t, newWorld(t, storetest.SQLite(t))) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, newWorld(t, storetest.PostgreSQL(t))) })
}

func newWorld(t *testing.T, db *store.DB) *world {
	t.Helper()
	w := &world{open: make(map[int64]int64)}
	w.World = imtest.New(t, db, imtest.Changes{Meetings: func(o *meeting.Options) { o.Provider = w }})
	return w
}

// Available makes the world a provider.
func (w *world) Available() bool { return !w.absent }

// Create opens a meeting.
func (w *world) Create(_ context.Context, requester int64, m store.Meeting, l meeting.Limits) (string, error) {
	if w.during != nil {
		w.during(m)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure != nil {
		return "", w.failure
	}
	w.created, w.limits = append(w.created, m), append(w.limits, l)
	w.open[m.ID] = requester
	return "for the creator", nil
}

// Cancel ends a meeting.
func (w *world) Cancel(_ context.Context, _, meetingID int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure != nil {
		return w.failure
	}
	w.cancelled = append(w.cancelled, meetingID)
	delete(w.open, meetingID)
	return nil
}

// CountActive counts meetings, if it can.
func (w *world) CountActive(_ context.Context, userID int64) (n int32, known bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, creator := range w.open {
		if creator == userID {
			n++
		}
	}
	return n, w.counts, nil
}

// Accept lets somebody in.
func (w *world) Accept(context.Context, int64, int64) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return "for an invitee", w.failure
}

// create makes a meeting that must not be refused.
func (w *world) create(c meeting.Creation) store.Meeting {
	w.T.Helper()
	m, err := w.Meetings.Create(w.T.Context(), c)
	if err != nil {
		w.T.Fatal(err)
	}
	return m
}

// stored are the meetings in the store.
func (w *world) stored() (found []store.Meeting) {
	w.T.Helper()
	err := w.DB.Read(w.T.Context(), func(ctx context.Context, r store.Reader) (err error) {
		found, err = store.FindMeetings(ctx, r, store.MeetingFilter{}, store.Page{})
		return err
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return found
}

// pending is how many meetings of a user are about to be created.
func (w *world) pending(userID int64) (n int64) {
	w.T.Helper()
	err := w.DB.Read(w.T.Context(), func(ctx context.Context, r store.Reader) (err error) {
		n, err = store.CountPendingMeetings(ctx, r, userID)
		return err
	})
	if err != nil {
		w.T.Fatal(err)
	}
	return n
}

// want checks the code of an error; OK means none.
func want(t *testing.T, what string, err error, code apierr.Code) {
	t.Helper()
	switch {
	case err == nil && code == apierr.OK:
	case err == nil || code == apierr.OK || apierr.From(store.Code(err)).Code != code:
		t.Errorf("%s: %v, want %v", what, err, code)
	}
}

// later is a moment some seconds after now.
func (w *world) later(seconds int) *time.Time {
	return new(w.Now.Add(time.Duration(seconds) * time.Second))
}

// TestNoProvider checks that everything is refused without a provider.
func TestNoProvider(t *testing.T) {
	w := newWorld(t, storetest.SQLite(t))
	w.absent = true
	ctx := t.Context()
	_, err := w.Meetings.Create(ctx, meeting.Creation{CreatorID: 1, UserID: new(int64(2))})
	want(t, "create", err, apierr.ConferenceNotImplemented)
	_, err = w.Meetings.Update(ctx, 1, 2, meeting.Edit{})
	want(t, "update", err, apierr.ConferenceNotImplemented)
	_, _, err = w.Meetings.Cancel(ctx, 1, 2)
	want(t, "cancel", err, apierr.ConferenceNotImplemented)
	_, err = w.Meetings.Query(ctx, 1, meeting.Query{})
	want(t, "query", err, apierr.ConferenceNotImplemented)
	_, _, err = w.Meetings.Accept(ctx, 1, 2, nil)
	want(t, "accept", err, apierr.ConferenceNotImplemented)
	_, err = w.Meetings.Decline(ctx, 1, 2)
	want(t, "decline", err, apierr.ConferenceNotImplemented)
	want(t, "ignore", w.Meetings.Ignore(), apierr.ConferenceNotImplemented)
}

// TestDeletion deletes users and groups that have meetings.
func TestDeletion(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2, 3)
		one, other := w.Group(1, 2), w.Group(1, 2, 3)
		left := w.create(meeting.Creation{CreatorID: 2, GroupID: &other})
		w.create(meeting.Creation{CreatorID: 1, GroupID: &one})
		w.create(meeting.Creation{CreatorID: 2, UserID: new(int64(3))})
		w.create(meeting.Creation{CreatorID: 3, UserID: new(int64(2))})
		private := w.create(meeting.Creation{CreatorID: 1, UserID: new(int64(3))})
		if _, err := w.Groups.Delete(t.Context(), []int64{one}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Users.Delete(t.Context(), []int64{2}, new(false)); err != nil {
			t.Fatal(err)
		}
		found := w.stored()
		if len(found) != 2 || found[0].ID != min(left.ID, private.ID) || found[1].ID != max(left.ID, private.ID) {
			t.Errorf("meetings are left: %+v", found)
		}
	})
}
