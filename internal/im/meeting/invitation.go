// SPDX-License-Identifier: Apache-2.0

package meeting

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// Accept lets a user join a meeting. It returns the meeting and the access token. The creator of a
// meeting may join, too, without a password.
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

// Decline returns the meeting that a user declines, without changing it.
func (d *Directory) Decline(ctx context.Context, requesterID, meetingID int64) (store.Meeting, error) {
	m, _, err := d.invitation(ctx, requesterID, meetingID)
	return m, err
}

// Ignore does nothing. It returns an error if there is no provider.
func (d *Directory) Ignore() error { return d.available() }

// invitation returns a meeting and the role of a user in it, if the user is invited.
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

// mayEnter returns an error if the meeting cannot be joined now.
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
