// SPDX-License-Identifier: Apache-2.0

package meeting

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// Accept lets a user enter a meeting. It returns the meeting and what lets the
// user in. The creator of a meeting may enter it as well, and needs no password.
func (d *Directory) Accept(ctx context.Context, requesterID, meetingID int64, password *string) (m store.Meeting, accessToken string, err error) {
	m, is, err := d.invitation(ctx, requesterID, meetingID)
	if err != nil {
		return m, "", err
	}
	if is != creator && !opens(m, password) {
		return m, "", apierr.New(apierr.AcceptMeetingInvitationWithWrongPassword, "")
	}
	if err := d.mayEnter(m); err != nil {
		return m, "", err
	}
	accessToken, err = d.opts.Provider.Accept(ctx, requesterID, meetingID)
	return m, accessToken, err
}

// Decline finds the meeting that a user does not want to enter. Nothing changes:
// others may be told.
func (d *Directory) Decline(ctx context.Context, requesterID, meetingID int64) (store.Meeting, error) {
	m, _, err := d.invitation(ctx, requesterID, meetingID)
	return m, err
}

// Ignore does nothing, if somebody holds meetings.
func (d *Directory) Ignore() error { return d.available() }

// invitation returns a meeting and what a user is to it, if the user is invited.
func (d *Directory) invitation(ctx context.Context, requesterID, meetingID int64) (m store.Meeting, is role, err error) {
	if err := d.available(); err != nil {
		return m, stranger, err
	}
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		m, is, err = d.find(ctx, r, requesterID, meetingID)
		return err
	})
	if err == nil && is == stranger {
		err = apierr.New(apierr.AcceptNonexistentMeetingInvitation, "")
	}
	return m, is, err
}

// mayEnter refuses to enter a meeting that nobody can enter now.
func (d *Directory) mayEnter(m store.Meeting) error {
	now, lifetime := d.now(), time.Duration(d.opts.Settings().Meeting.Scheduling.ExpireAfterSeconds)*time.Second
	switch {
	case m.EndDate == nil && m.CancelDate == nil && lifetime > 0 && now.After(m.StartDate.Add(lifetime)):
		return apierr.New(apierr.AcceptMeetingInvitationOfExpiredMeeting, "")
	case m.CancelDate != nil:
		return apierr.New(apierr.AcceptMeetingInvitationOfCanceledMeeting, "")
	case m.StartDate.After(now):
		return apierr.New(apierr.AcceptMeetingInvitationOfPendingMeeting, "")
	case m.EndDate != nil:
		return apierr.New(apierr.AcceptMeetingInvitationOfEndedMeeting, "")
	}
	return nil
}
