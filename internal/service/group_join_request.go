// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"example.org/app/internal/config"
	"example.org/app/internal/im/group"
	"example.org/app/internal/wire"
)

// groupJoinRequestHandlers answers requests about requests to join groups.
type groupJoinRequestHandlers struct {
	audiences
	requests *group.JoinRequests
}

func (h groupJoinRequestHandlers) create(ctx context.Context, r *Request, body *wire.CreateGroupJoinRequestRequest) (Answer, error) {
	v, err := h.requests.Send(ctx, r.UserID, body.GetGroupId(), body.GetContent(), r.once)
	if err != nil {
		return Answer{}, err
	}
	return long(v.ID, h.notification(ctx, r, v, h.settings().Notification.GroupJoinRequestCreated)), nil
}

func (h groupJoinRequestHandlers) delete(ctx context.Context, r *Request, body *wire.DeleteGroupJoinRequestRequest) (Answer, error) {
	v, err := h.requests.Recall(ctx, r.UserID, body.GetRequestId())
	if err != nil {
		return Answer{}, err
	}
	return Answer{Notifications: []Notification{h.notification(ctx, r, v, h.settings().Notification.GroupJoinRequestRecalled)}}, nil
}

// notification returns the notification of a join request.
func (h groupJoinRequestHandlers) notification(ctx context.Context, r *Request, v group.JoinRequest, flags config.NotifyOfJoinRequest) Notification {
	return h.inGroup(ctx, r, v.GroupID, groupAudience{
		self: flags.NotifyRequesterOtherOnlineSessions, managers: flags.NotifyGroupOwnerAndManagers, members: flags.NotifyGroupMembers,
	}, nil)
}

func (h groupJoinRequestHandlers) update(ctx context.Context, r *Request, body *wire.UpdateGroupJoinRequestRequest) (Answer, error) {
	status, err := answerOf(body.GetResponseAction())
	if err != nil {
		return Answer{}, err
	}
	v, joined, err := h.requests.Reply(ctx, r.UserID, body.GetRequestId(), status, body.Reason)
	if err != nil {
		return Answer{}, err
	}
	flags := h.settings().Notification.GroupJoinRequestReplied
	notifications := []Notification{h.inGroup(ctx, r, v.GroupID, groupAudience{
		self: flags.NotifyRequesterOtherOnlineSessions, concerned: []int64{v.RequesterID}, toConcerned: flags.NotifyGroupJoinRequestSender,
		managers: flags.NotifyGroupOwnerAndManagers, members: flags.NotifyGroupMembers,
	}, nil)}
	if joined {
		notifications = append(notifications, h.joined(ctx, r, v.GroupID, v.RequesterID))
	}
	return Answer{Notifications: notifications}, nil
}

func (h groupJoinRequestHandlers) query(ctx context.Context, r *Request, body *wire.QueryGroupJoinRequestsRequest) (Answer, error) {
	data := func(list []group.JoinRequest, version *int64) *wire.AppNotification_Data {
		return &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_GroupJoinRequestsWithVersion{
			GroupJoinRequestsWithVersion: &wire.GroupJoinRequestsWithVersion{GroupJoinRequests: convert(list, wireGroupJoinRequest), LastUpdatedDate: version},
		}}
	}
	since := date(body.LastUpdatedDate)
	if body.GroupId != nil {
		found, version, err := h.requests.ListOfGroup(ctx, r.UserID, body.GetGroupId(), since)
		return listed(found, version, err, data)
	}
	found, version, err := h.requests.ListSent(ctx, r.UserID, since)
	return listed(found, version, err, data)
}

// wireGroupJoinRequest converts a join request to its wire form.
func wireGroupJoinRequest(v group.JoinRequest) *wire.GroupJoinRequest {
	return &wire.GroupJoinRequest{
		Id: &v.ID, CreationDate: millis(v.CreationDate), Content: &v.Content, Status: wire.RequestStatus(v.Status).Enum(),
		ExpirationDate: millisOrNil(v.ExpirationDate), GroupId: &v.GroupID, RequesterId: &v.RequesterID, ResponderId: v.ResponderID,
	}
}
