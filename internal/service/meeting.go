// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"example.org/app/internal/apierr"
	"example.org/app/internal/wire"
)

// Meetings are the matter of plugins. What no plugin could make sense of is refused before.

func errNoConference() error { return apierr.New(apierr.ConferenceNotImplemented, "") }

func (d *Dispatcher) createMeeting(_ context.Context, _ *Request, body *wire.CreateMeetingRequest) (Answer, error) {
	if err := oneTarget(body.UserId, body.GroupId); err != nil {
		return Answer{}, err
	}
	return Answer{}, errNoConference()
}

func (d *Dispatcher) deleteMeeting(_ context.Context, _ *Request, body *wire.DeleteMeetingRequest) (Answer, error) {
	if body.Id == nil {
		return Answer{}, apierr.New(apierr.IllegalArgument, "id is required")
	}
	return Answer{}, errNoConference()
}

func (d *Dispatcher) queryMeetings(context.Context, *Request, *wire.QueryMeetingsRequest) (Answer, error) {
	return Answer{}, errNoConference()
}

func (d *Dispatcher) updateMeeting(_ context.Context, _ *Request, body *wire.UpdateMeetingRequest) (Answer, error) {
	if body.Id == nil {
		return Answer{}, apierr.New(apierr.IllegalArgument, "id is required")
	}
	return Answer{}, errNoConference()
}

func (d *Dispatcher) updateMeetingInvitation(_ context.Context, _ *Request, body *wire.UpdateMeetingInvitationRequest) (Answer, error) {
	if _, err := answerOf(body.GetResponseAction()); err != nil {
		return Answer{}, err
	}
	return Answer{}, errNoConference()
}
