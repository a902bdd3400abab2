// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/conversation"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// conversationHandlers answers requests about conversations.
type conversationHandlers struct {
	audiences
	directory *conversation.Directory
}

// query returns how far others have read: for private conversations what the requester wrote, for
// groups what was written there.
func (h conversationHandlers) query(ctx context.Context, r *Request, body *wire.QueryConversationsRequest) (Answer, error) {
	var selection conversation.Selection
	for _, id := range body.GetUserIds() {
		selection.PrivateKeys = append(selection.PrivateKeys, store.PrivateConversationKey{OwnerID: id, TargetID: r.UserID})
	}
	if len(selection.PrivateKeys) == 0 {
		selection.GroupIDs = body.GetGroupIds()
	}
	private, groups, err := h.directory.Find(ctx, selection)
	if err != nil || len(private)+len(groups) == 0 {
		return noContent, err
	}
	return Answer{Data: &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_Conversations{Conversations: &wire.Conversations{
		PrivateConversations: convert(private, func(c store.PrivateConversation) *wire.PrivateConversation {
			return &wire.PrivateConversation{OwnerId: c.OwnerID, TargetId: c.TargetID, ReadDate: c.ReadDate.UnixMilli()}
		}),
		GroupConversations: convert(groups, func(c store.GroupConversation) *wire.GroupConversation {
			dates := make(map[int64]int64, len(c.ReadDates))
			for member, date := range c.ReadDates {
				dates[member] = date.UnixMilli()
			}
			return &wire.GroupConversation{GroupId: c.GroupID, MemberIdToReadDate: dates}
		}),
	}}}}, nil
}

func (h conversationHandlers) update(ctx context.Context, r *Request, body *wire.UpdateConversationRequest) (Answer, error) {
	if err := oneTarget(body.UserId, body.GroupId); err != nil {
		return Answer{}, err
	}
	said := time.UnixMilli(body.GetReadDate()).UTC()
	if body.UserId != nil {
		done, at, err := h.directory.ReadPrivate(ctx, r.UserID, body.GetUserId(), said)
		if err != nil || !done {
			return Answer{}, err
		}
		flags := h.settings().Notification.PrivateConversationReadDateUpdated
		return Answer{Notifications: []Notification{{
			Relay: readUntil(r, at), Self: flags.NotifyRequesterOtherOnlineSessions, To: onlyIf(flags.NotifyContact, users(body.GetUserId())),
		}}}, nil
	}
	at, err := h.directory.ReadGroup(ctx, r.UserID, body.GetGroupId(), said)
	if err != nil {
		return Answer{}, err
	}
	flags := h.settings().Notification.GroupConversationReadDateUpdated
	return Answer{Notifications: []Notification{{
		Relay: readUntil(r, at), Self: flags.NotifyRequesterOtherOnlineSessions || flags.NotifyOtherGroupMembers,
		To: onlyIf(flags.NotifyOtherGroupMembers, h.membersOf(ctx, body.GetGroupId())),
	}}}, nil
}

// oneTarget returns an error unless exactly one of the ids is set.
func oneTarget(userID, groupID *int64) error {
	if (userID == nil) == (groupID == nil) {
		return apierr.New(apierr.IllegalArgument, "either userId or groupId is required")
	}
	return nil
}

// readUntil returns the request with the effective date, which may be that of the server.
func readUntil(r *Request, at time.Time) *wire.AppRequest {
	relay := proto.CloneOf(r.AppRequest)
	relay.GetUpdateConversationRequest().ReadDate = at.UnixMilli()
	return relay
}

func (h conversationHandlers) updateTypingStatus(ctx context.Context, r *Request, body *wire.UpdateTypingStatusRequest) (Answer, error) {
	if err := h.directory.MayType(ctx, r.UserID, body.GetIsGroupMessage(), body.GetToId()); err != nil {
		return Answer{}, err
	}
	to := users(body.GetToId())
	if body.GetIsGroupMessage() {
		to = h.membersOf(ctx, body.GetToId())
	}
	return Answer{Notifications: []Notification{{To: to, Transient: true}}}, nil
}
