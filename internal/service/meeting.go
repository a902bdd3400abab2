// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/meeting"
	"example.org/app/internal/im/message"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// meetingHandlers answers requests about meetings.
type meetingHandlers struct {
	audiences
	directory *meeting.Directory
	messages  *message.Directory
}

func (h meetingHandlers) create(ctx context.Context, r *Request, body *wire.CreateMeetingRequest) (Answer, error) {
	if err := oneTarget(body.UserId, body.GroupId); err != nil {
		return Answer{}, err
	}
	m, err := h.directory.Create(ctx, meeting.Creation{
		CreatorID: r.UserID, UserID: body.UserId, GroupID: body.GroupId, Name: body.Name, Intro: body.Intro, Password: body.Password,
		StartDate: date(body.StartDate), Key: r.once,
	})
	if err != nil {
		return Answer{}, err
	}
	h.invite(ctx, r, m, body.GetCustomAttributes())
	return long(m.ID), nil
}

// invitationType is the first record of a system message that invites to a meeting.
const invitationType = 2

// invite sends invitations to the invited users. The meeting exists even if that fails: users
// without invitation find it by a query.
func (h meetingHandlers) invite(ctx context.Context, r *Request, m store.Meeting, attributes []*wire.Value) {
	invitation := wireMeeting(m)
	invitation.Password, invitation.AccessToken, invitation.CustomAttributes = nil, nil, attributes
	record, err := wire.MarshalOptions.Marshal(invitation)
	if err == nil {
		c := message.Creation{
			IsSystemMessage: true, SenderID: &m.CreatorID, SenderIP: r.IP, SenderDevice: r.Device.String(), Deliver: true,
			Records: [][]byte{{invitationType}, record},
		}
		if m.GroupID != nil {
			c.IsGroupMessage, c.TargetID = true, *m.GroupID
		} else {
			c.TargetID = *m.UserID
		}
		_, err = h.messages.Send(context.WithoutCancel(ctx), c)
	}
	if err != nil {
		h.logger.ErrorContext(ctx, "could not send the invitation to a meeting", "meeting", m.ID, "error", err)
	}
}

func (h meetingHandlers) delete(ctx context.Context, r *Request, body *wire.DeleteMeetingRequest) (Answer, error) {
	if body.Id == nil {
		return Answer{}, apierr.New(apierr.IllegalArgument, "id is required")
	}
	m, changed, err := h.directory.Cancel(ctx, r.UserID, body.GetId())
	if err != nil || !changed {
		return Answer{}, err
	}
	return Answer{Notifications: h.notifications(ctx, m, h.settings().Notification.MeetingCanceled, nil)}, nil
}

func (h meetingHandlers) query(ctx context.Context, r *Request, body *wire.QueryMeetingsRequest) (Answer, error) {
	found, err := h.directory.Query(ctx, r.UserID, meeting.Query{
		IDs: body.GetIds(), CreatorIDs: body.GetCreatorIds(), UserIDs: body.GetUserIds(), GroupIDs: body.GetGroupIds(),
		CreationDate: store.DateRange{Start: date(body.CreationDateStart), End: date(body.CreationDateEnd)},
		Limit:        int(body.GetLimit()), Offset: int(body.GetSkip()),
	})
	if err != nil {
		return Answer{}, err
	}
	return Answer{Data: &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_Meetings{
		Meetings: &wire.Meetings{Meetings: convert(found, wireMeeting)},
	}}}, nil
}

// wireMeeting converts a meeting to its wire form.
func wireMeeting(m store.Meeting) *wire.Meeting {
	return &wire.Meeting{
		Id: m.ID, UserId: m.UserID, GroupId: m.GroupID, CreatorId: m.CreatorID, AccessToken: m.AccessToken, Name: m.Name, Intro: m.Intro,
		Password: m.Password, StartDate: m.StartDate.UnixMilli(), EndDate: millisOrNil(m.EndDate), CancelDate: millisOrNil(m.CancelDate),
	}
}

func (h meetingHandlers) update(ctx context.Context, r *Request, body *wire.UpdateMeetingRequest) (Answer, error) {
	if body.Id == nil {
		return Answer{}, apierr.New(apierr.IllegalArgument, "id is required")
	}
	m, err := h.directory.Update(ctx, r.UserID, body.GetId(), meeting.Edit{Name: body.Name, Intro: body.Intro, Password: body.Password})
	if err != nil || body.Name == nil && body.Intro == nil {
		return Answer{}, err
	}
	var forOthers *wire.AppRequest
	if body.Password != nil {
		forOthers = proto.CloneOf(r.AppRequest)
		forOthers.GetUpdateMeetingRequest().Password = nil
	}
	return Answer{Notifications: h.notifications(ctx, m, h.settings().Notification.MeetingUpdated, forOthers)}, nil
}

func (h meetingHandlers) updateInvitation(ctx context.Context, r *Request, body *wire.UpdateMeetingInvitationRequest) (Answer, error) {
	if _, err := answerOf(body.GetResponseAction()); err != nil {
		return Answer{}, err
	}
	var m store.Meeting
	var token string
	var err error
	switch body.GetResponseAction() {
	case wire.ResponseAction_ACCEPT:
		m, token, err = h.directory.Accept(ctx, r.UserID, body.GetMeetingId(), body.Password)
	case wire.ResponseAction_DECLINE:
		m, err = h.directory.Decline(ctx, r.UserID, body.GetMeetingId())
	default:
		return Answer{}, h.directory.Ignore()
	}
	if err != nil {
		return Answer{}, err
	}
	var forOthers *wire.AppRequest
	if body.Password != nil {
		forOthers = proto.CloneOf(r.AppRequest)
		forOthers.GetUpdateMeetingInvitationRequest().Password = nil
	}
	a := Answer{Notifications: h.notifications(ctx, m, h.settings().Notification.MeetingInvitationUpdated, forOthers)}
	if body.GetResponseAction() == wire.ResponseAction_ACCEPT {
		a.Data = &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_String_{String_: token}}
	}
	return a, nil
}

// notifications returns the notifications for the participants of a meeting and for the requester's
// other sessions, which are always notified if the participants are. If forOthers is not nil, the
// participants get it instead of the request.
func (h meetingHandlers) notifications(ctx context.Context, m store.Meeting, flags config.NotifyOfMeeting, forOthers *wire.AppRequest) []Notification {
	self := flags.NotifyRequesterOtherOnlineSessions || flags.NotifyMeetingParticipants
	to := onlyIf(flags.NotifyMeetingParticipants, h.participants(ctx, m))
	if forOthers == nil {
		return []Notification{{To: to, Self: self}}
	}
	return []Notification{{Self: self}, {To: to, Relay: forOthers}}
}

// participants returns the invited users of a meeting and its creator.
func (h meetingHandlers) participants(ctx context.Context, m store.Meeting) Audience {
	if m.GroupID == nil {
		return users(m.CreatorID, *m.UserID)
	}
	return both(without(h.membersOf(ctx, *m.GroupID), []int64{m.CreatorID}), users(m.CreatorID))
}
