// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/relationship"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// friendRequestHandlers answers requests about friend requests.
type friendRequestHandlers struct {
	audiences
	requests *relationship.FriendRequests
}

func (h friendRequestHandlers) create(ctx context.Context, r *Request, body *wire.CreateFriendRequestRequest) (Answer, error) {
	request, err := h.requests.Send(ctx, r.UserID, body.GetRecipientId(), body.GetContent(), r.once)
	if err != nil {
		return Answer{}, err
	}
	flags := h.settings().Notification.FriendRequestCreated
	return long(request.ID, Notification{
		Self: flags.NotifyRequesterOtherOnlineSessions, To: onlyIf(flags.NotifyFriendRequestRecipient, users(request.RecipientID)),
	}), nil
}

func (h friendRequestHandlers) delete(ctx context.Context, r *Request, body *wire.DeleteFriendRequestRequest) (Answer, error) {
	request, err := h.requests.Recall(ctx, r.UserID, body.GetRequestId())
	if err != nil {
		return Answer{}, err
	}
	flags := h.settings().Notification.FriendRequestRecalled
	return told(flags.NotifyRequesterOtherOnlineSessions, onlyIf(flags.NotifyFriendRequestRecipient, users(request.RecipientID))), nil
}

func (h friendRequestHandlers) update(ctx context.Context, r *Request, body *wire.UpdateFriendRequestRequest) (Answer, error) {
	status, err := answerOf(body.GetResponseAction())
	if err != nil {
		return Answer{}, err
	}
	replied, err := h.requests.Reply(ctx, r.UserID, body.GetRequestId(), status, body.Reason)
	if err != nil {
		return Answer{}, err
	}
	flags := h.settings().Notification.FriendRequestReplied
	notifications := []Notification{{
		Self: flags.NotifyRequesterOtherOnlineSessions, To: onlyIf(flags.NotifyFriendRequestSender, users(replied.Request.RequesterID)),
	}}
	if h.settings().Notification.OneSidedRelationshipGroupMemberAdded.NotifyNewRelationshipGroupMember {
		for _, key := range replied.Gained {
			notifications = append(notifications, gainedBy(r, key))
		}
	}
	return Answer{Notifications: notifications}, nil
}

// gainedBy returns the notification that a user has gained a relationship, as if that user had
// requested it.
func gainedBy(r *Request, key store.RelationshipKey) Notification {
	body := &wire.CreateRelationshipRequest{UserId: key.RelatedUserID, GroupIndex: proto.Int32(store.DefaultRelationshipGroup)}
	n := Notification{
		From:  key.OwnerID,
		Relay: &wire.AppRequest{RequestId: r.RequestId, Kind: &wire.AppRequest_CreateRelationshipRequest{CreateRelationshipRequest: body}},
	}
	if key.RelatedUserID == r.UserID {
		n.Self = true
	} else {
		n.To = users(key.RelatedUserID)
	}
	return n
}

// answerOf converts an action of a client to the status of a request.
func answerOf(action wire.ResponseAction) (store.RequestStatus, error) {
	switch action {
	case wire.ResponseAction_ACCEPT:
		return store.RequestAccepted, nil
	case wire.ResponseAction_DECLINE:
		return store.RequestDeclined, nil
	case wire.ResponseAction_IGNORE:
		return store.RequestIgnored, nil
	}
	return 0, apierr.New(apierr.IllegalArgument, "responseAction: %d must be ACCEPT, DECLINE or IGNORE", action)
}

func (h friendRequestHandlers) query(ctx context.Context, r *Request, body *wire.QueryFriendRequestsRequest) (Answer, error) {
	found, version, err := h.requests.List(ctx, r.UserID, body.GetAreSentByMe(), date(body.LastUpdatedDate))
	return listed(found, version, err, func(list []relationship.FriendRequest, version *int64) *wire.AppNotification_Data {
		return &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_UserFriendRequestsWithVersion{
			UserFriendRequestsWithVersion: &wire.UserFriendRequestsWithVersion{UserFriendRequests: convert(list, wireFriendRequest), LastUpdatedDate: version},
		}}
	})
}

func wireFriendRequest(r relationship.FriendRequest) *wire.UserFriendRequest {
	return &wire.UserFriendRequest{
		Id: &r.ID, CreationDate: millis(r.CreationDate), Content: &r.Content, RequestStatus: wire.RequestStatus(r.Status).Enum(), Reason: r.Reason,
		ExpirationDate: millisOrNil(r.ExpirationDate), RequesterId: &r.RequesterID, RecipientId: &r.RecipientID,
	}
}
