// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"example.org/app/internal/config"
	"example.org/app/internal/im/group"
	"example.org/app/internal/wire"
)

// groupInvitationHandlers answers requests about invitations to groups.
type groupInvitationHandlers struct {
	audiences
	invitations *group.Invitations
}

func (h groupInvitationHandlers) create(ctx context.Context, r *Request, body *wire.CreateGroupInvitationRequest) (Answer, error) {
	v, err := h.invitations.Send(ctx, r.UserID, body.GetGroupId(), body.GetInviteeId(), body.GetContent(), r.once)
	if err != nil {
		return Answer{}, err
	}
	return long(v.ID, h.notification(ctx, r, v, h.settings().Notification.GroupInvitationAdded)), nil
}

func (h groupInvitationHandlers) delete(ctx context.Context, r *Request, body *wire.DeleteGroupInvitationRequest) (Answer, error) {
	v, err := h.invitations.Recall(ctx, r.UserID, body.GetInvitationId())
	if err != nil {
		return Answer{}, err
	}
	return Answer{Notifications: []Notification{h.notification(ctx, r, v, h.settings().Notification.GroupInvitationRecalled)}}, nil
}

// notification returns the notification of an invitation.
func (h groupInvitationHandlers) notification(ctx context.Context, r *Request, v group.Invitation, flags config.NotifyOfInvitation) Notification {
	return h.inGroup(ctx, r, v.GroupID, groupAudience{
		self: flags.NotifyRequesterOtherOnlineSessions, concerned: []int64{v.InviteeID}, toConcerned: flags.NotifyInvitee,
		managers: flags.NotifyGroupOwnerAndManagers, members: flags.NotifyGroupMembers,
	}, nil)
}

func (h groupInvitationHandlers) update(ctx context.Context, r *Request, body *wire.UpdateGroupInvitationRequest) (Answer, error) {
	status, err := answerOf(body.GetResponseAction())
	if err != nil {
		return Answer{}, err
	}
	v, joined, err := h.invitations.Reply(ctx, r.UserID, body.GetInvitationId(), status, body.Reason)
	if err != nil {
		return Answer{}, err
	}
	flags := h.settings().Notification.GroupInvitationReplied
	notifications := []Notification{h.inGroup(ctx, r, v.GroupID, groupAudience{
		self: flags.NotifyRequesterOtherOnlineSessions, concerned: []int64{v.InviterID}, toConcerned: flags.NotifyGroupInvitationInviter,
		managers: flags.NotifyGroupOwnerAndManagers, members: flags.NotifyGroupMembers,
	}, nil)}
	if joined {
		notifications = append(notifications, h.joined(ctx, r, v.GroupID, v.InviteeID))
	}
	return Answer{Notifications: notifications}, nil
}

func (h groupInvitationHandlers) query(ctx context.Context, r *Request, body *wire.QueryGroupInvitationsRequest) (Answer, error) {
	data := func(list []group.Invitation, version *int64) *wire.AppNotification_Data {
		return &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_GroupInvitationsWithVersion{
			GroupInvitationsWithVersion: &wire.GroupInvitationsWithVersion{GroupInvitations: convert(list, wireGroupInvitation), LastUpdatedDate: version},
		}}
	}
	since := date(body.LastUpdatedDate)
	switch {
	case body.GroupId != nil:
		found, version, err := h.invitations.ListOfGroup(ctx, r.UserID, body.GetGroupId(), since)
		return listed(found, version, err, data)
	case body.GetAreSentByMe():
		found, version, err := h.invitations.ListSent(ctx, r.UserID, since)
		return listed(found, version, err, data)
	default:
		found, version, err := h.invitations.ListReceived(ctx, r.UserID, since)
		return listed(found, version, err, data)
	}
}

// wireGroupInvitation converts an invitation to its wire form.
func wireGroupInvitation(v group.Invitation) *wire.GroupInvitation {
	return &wire.GroupInvitation{
		Id: &v.ID, CreationDate: millis(v.CreationDate), Content: &v.Content, Status: wire.RequestStatus(v.Status).Enum(),
		ExpirationDate: millisOrNil(v.ExpirationDate), GroupId: &v.GroupID, InviterId: &v.InviterID, InviteeId: &v.InviteeID,
	}
}
