// SPDX-License-Identifier: Apache-2.0

package meeting

import (
	"cmp"
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// Edit is a user's change of a meeting. Nil fields stay unchanged.
type Edit struct {
	Name, Intro *string
	// Password is removed if it is empty.
	Password *string
}

// Update changes a meeting and returns the result. All who may see it may change its texts; only
// its creator may change the password.
func (d *Directory) Update(ctx context.Context, requesterID, meetingID int64, e Edit) (m store.Meeting, err error) {
	if err := d.available(); err != nil {
		return m, err
	}
	s := d.opts.Settings().Meeting
	change := store.MeetingChange{Name: e.Name, Intro: e.Intro}
	if e.Name != nil {
		err = checkText("name", e.Name, s.Name.MinLength, s.Name.MaxLength)
	}
	if e.Intro != nil {
		err = cmp.Or(err, checkText("intro", e.Intro, s.Intro.MinLength, s.Intro.MaxLength))
	}
	if err != nil {
		return m, err
	}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		found, is, err := d.find(ctx, tx, requesterID, meetingID)
		switch {
		case err != nil:
			return err
		case is == stranger:
			return apierr.New(apierr.UpdateInfoOfNonexistentMeeting, "")
		case is != creator && e.Password != nil:
			return apierr.New(apierr.NotCreatorToUpdateMeetingPassword, "")
		}
		if e.Password != nil {
			password, err := changedPassword(*e.Password, s.Password)
			if err != nil {
				return err
			}
			change.Password = &password
		}
		if _, err := store.UpdateMeeting(ctx, tx, meetingID, change); err != nil {
			return err
		}
		m, err = store.FindMeeting(ctx, tx, found.ID)
		return err
	})
	return m, err
}

// Cancel cancels a meeting for its creator and reports whether it was active before. If the
// provider returns an error, it is not cancelled.
func (d *Directory) Cancel(ctx context.Context, requesterID, meetingID int64) (m store.Meeting, changed bool, err error) {
	if err := d.available(); err != nil {
		return m, false, err
	}
	if !d.opts.Settings().Meeting.Scheduling.AllowCancel {
		return m, false, apierr.New(apierr.CancelingMeetingIsDisabled, "")
	}
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		m, err = d.cancellable(ctx, r, requesterID, meetingID)
		return err
	})
	if err != nil || m.CancelDate != nil {
		return m, false, err
	}
	// No transaction is open during the provider's call, which may take long and use the store.
	if err := d.opts.Provider.Cancel(ctx, requesterID, meetingID); err != nil {
		return m, false, err
	}
	now := d.now()
	err = d.opts.Store.Write(context.WithoutCancel(ctx), func(ctx context.Context, tx store.Tx) error {
		changed = false
		found, err := store.FindMeeting(ctx, tx, meetingID)
		if err != nil || found.CancelDate != nil {
			return err
		}
		changed, err = store.UpdateMeeting(ctx, tx, meetingID, store.MeetingChange{CancelDate: &now})
		return err
	})
	if err != nil {
		return m, false, err
	}
	m.CancelDate = &now
	return m, changed, nil
}

// cancellable returns a meeting if a user may cancel it.
func (d *Directory) cancellable(ctx context.Context, r store.Reader, requesterID, meetingID int64) (store.Meeting, error) {
	m, is, err := d.find(ctx, r, requesterID, meetingID)
	switch {
	case err != nil:
		return m, err
	case is == stranger:
		return m, apierr.New(apierr.CancelNonexistentMeeting, "")
	case is != creator:
		return m, apierr.New(apierr.NotCreatorToCancelMeeting, "")
	case m.EndDate != nil:
		return m, apierr.New(apierr.CancelNonexistentMeeting, "meeting %d has ended", meetingID)
	}
	return m, nil
}

// Ended records that a meeting has ended, for the provider. It does nothing if the meeting does not
// exist or has an end. The end is limited to the time between the start and now.
func (d *Directory) Ended(ctx context.Context, meetingID int64, at time.Time) error {
	now := d.now()
	at = at.UTC().Truncate(time.Millisecond)
	return d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		found, err := store.FindMeetings(ctx, tx, store.MeetingFilter{IDs: []int64{meetingID}}, store.Page{})
		if err != nil || len(found) == 0 || found[0].EndDate != nil {
			return err
		}
		end := at
		if end.Before(found[0].StartDate) {
			end = found[0].StartDate
		}
		if end.After(now) {
			end = now
		}
		_, err = store.UpdateMeeting(ctx, tx, meetingID, store.MeetingChange{EndDate: &end})
		return err
	})
}
