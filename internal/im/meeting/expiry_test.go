// SPDX-License-Identifier: Apache-2.0

package meeting_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"example.org/app/internal/im/meeting"
	"example.org/app/internal/store"
)

// TestDeleteExpired ends meetings in every way and checks when they are deleted.
func TestDeleteExpired(t *testing.T) {
	onBothEngines(t, func(t *testing.T, w *world) {
		w.People(1, 2)
		begin := w.Now
		w.Rules.Conference.Meeting.RetentionPeriodHours, w.Rules.Conference.Meeting.Scheduling.ExpireAfterSeconds = 24, 3600
		w.Rules.Conference.Meeting.Scheduling.MaxAllowedStartDateOffsetSeconds = 10 * 86400
		names := map[int64]string{}
		add := func(name string, start *time.Time) int64 {
			m := w.create(meeting.Creation{CreatorID: 1, UserID: new(int64(2)), StartDate: start})
			names[m.ID] = name
			return m.ID
		}
		ended, cancelled := add("ended", nil), add("cancelled", nil)
		add("open", nil)
		add("later", new(begin.Add(5*24*time.Hour)))
		err := w.DB.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			return store.InsertPendingMeeting(ctx, tx, store.Meeting{ID: 5, CreatorID: 1, UserID: new(int64(2)), CreationDate: begin, StartDate: begin})
		})
		if err != nil {
			t.Fatal(err)
		}
		w.Now = begin.Add(time.Minute)
		if err := w.Meetings.Ended(t.Context(), ended, w.Now); err != nil {
			t.Fatal(err)
		}
		w.Now = begin.Add(2 * time.Minute)
		if _, _, err := w.Meetings.Cancel(t.Context(), 1, cancelled); err != nil {
			t.Fatal(err)
		}
		left := func(after time.Duration, deleted, pending int64, want ...string) {
			t.Helper()
			w.Now = begin.Add(after)
			n, err := w.Meetings.DeleteExpired(t.Context(), w.DB)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range w.stored() {
				got = append(got, names[m.ID])
			}
			slices.Sort(got)
			if n != deleted || w.pending(1) != pending || !slices.Equal(got, want) {
				t.Errorf("after %v %d are deleted, %q and %d pending ones are left; want %d, %q, %d", after, n, got, w.pending(1), deleted, want, pending)
			}
		}
		const day = 24 * time.Hour
		left(10*time.Minute, 0, 1, "cancelled", "ended", "later", "open")
		left(11*time.Minute, 1, 0, "cancelled", "ended", "later", "open")
		left(day+time.Minute, 0, 0, "cancelled", "ended", "later", "open")
		left(day+2*time.Minute, 1, 0, "cancelled", "later", "open")
		left(day+time.Hour, 1, 0, "later", "open")
		left(day+time.Hour+time.Second, 1, 0, "later")
		w.Rules.Conference.Meeting.Scheduling.ExpireAfterSeconds = 0
		left(100*day, 0, 0, "later")
		w.Rules.Conference.Meeting.RetentionPeriodHours, w.Rules.Conference.Meeting.Scheduling.ExpireAfterSeconds = 0, 1
		left(100*day, 0, 0, "later")
		w.Rules.Conference.Meeting.RetentionPeriodHours = 1 << 30
		left(100*day, 0, 0, "later")
	})
}
