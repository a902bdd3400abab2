// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/im/conversation"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const conversationTag = "ConversationController"

type conversationHandlers struct{ conversations *conversation.Directory }

func conversationOperations(d *conversation.Directory) []*admin.Operation {
	h := conversationHandlers{d}
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "queryConversations", Method: http.MethodGet, Path: "/conversations", Tag: conversationTag, Permission: permission.ConversationQuery,
			Summary:     "Query conversations",
			Description: "Returns the conversations that any of the parameters selects, each once, and none without parameters.",
		}, h.query),
		admin.Handle(admin.Operation{
			ID: "updateConversations", Method: http.MethodPut, Path: "/conversations", Tag: conversationTag, Permission: permission.ConversationUpdate,
			Summary: "Update conversations",
			Description: "Sets up to when conversations have been read, all of them or none; they need not exist. The date of a private " +
				"conversation only moves on unless `app.service.conversation.read-receipt.allow-move-read-date-forward` is on.",
			Errors: []apierr.Code{apierr.MovingReadDateForwardIsDisabled},
		}, h.update),
		admin.Handle(admin.Operation{
			ID: "deleteConversations", Method: http.MethodDelete, Path: "/conversations", Tag: conversationTag, Permission: permission.ConversationDelete,
			Summary:     "Delete conversations",
			Description: "Deletes the conversations that any of the parameters selects: up to when they have been read. Messages stay.",
		}, h.delete),
	}
}

// PrivateConversationKey says whose conversation with whom it is.
type PrivateConversationKey struct {
	OwnerID  int64 `json:"ownerId" doc:"Id of the user who reads." example:"1"`
	TargetID int64 `json:"targetId" doc:"Id of the user who writes." example:"2"`
}

// PrivateConversation is a private conversation as the interface returns it.
type PrivateConversation struct {
	Key      PrivateConversationKey `json:"key" doc:"Whose conversation with whom it is."`
	ReadDate admin.Date             `json:"readDate" doc:"Up to when the owner has read it."`
}

// GroupConversation is the conversation of a group as the interface returns it.
type GroupConversation struct {
	GroupID            int64                `json:"groupId" doc:"Id of the group." example:"1"`
	MemberIDToReadDate map[int64]admin.Date `json:"memberIdToReadDate" doc:"Up to when members have read it, by their ids."`
}

// Conversations are conversations of both kinds.
type Conversations struct {
	PrivateConversations []PrivateConversation `json:"privateConversations" doc:"Private conversations, ordered by owner and target."`
	GroupConversations   []GroupConversation   `json:"groupConversations" doc:"Conversations of groups, ordered by group."`
}

func newPrivateConversation(c store.PrivateConversation) PrivateConversation {
	return PrivateConversation{PrivateConversationKey(c.PrivateConversationKey), admin.NewDate(c.ReadDate)}
}

func newGroupConversation(c store.GroupConversation) GroupConversation {
	dates := make(map[int64]admin.Date, len(c.ReadDates))
	for member, date := range c.ReadDates {
		dates[member] = admin.NewDate(date)
	}
	return GroupConversation{c.GroupID, dates}
}

func storedConversationKey(k PrivateConversationKey) store.PrivateConversationKey {
	return store.PrivateConversationKey(k)
}

type conversationSelection struct {
	PrivateConversationKeys []PrivateConversationKey `query:"privateConversationKeys" uniqueItems:"true" selector:"true" doc:"Private conversations, as privateConversationKeys[0].ownerId and privateConversationKeys[0].targetId, then privateConversationKeys[1] and so on."`
	OwnerIDs                []int64                  `query:"ownerIds" uniqueItems:"true" selector:"true" doc:"Ids of users, for all their private conversations." example:"[1]"`
	GroupIDs                []int64                  `query:"groupIds" uniqueItems:"true" selector:"true" doc:"Ids of groups." example:"[1]"`
}

func (s conversationSelection) selection() conversation.Selection {
	return conversation.Selection{PrivateKeys: resource.Convert(s.PrivateConversationKeys, storedConversationKey), OwnerIDs: s.OwnerIDs, GroupIDs: s.GroupIDs}
}

func (h conversationHandlers) query(ctx context.Context, in *conversationSelection) (Conversations, error) {
	private, groups, err := h.conversations.Find(ctx, in.selection())
	return Conversations{resource.Convert(private, newPrivateConversation), resource.Convert(groups, newGroupConversation)}, err
}

func (h conversationHandlers) delete(ctx context.Context, in *conversationSelection) (admin.DeleteResult, error) {
	n, err := h.conversations.Delete(ctx, in.selection())
	return admin.DeleteResult{DeletedCount: n}, err
}

// GroupConversationMemberKey says whose part in the conversation of a group it is.
type GroupConversationMemberKey struct {
	GroupID  int64 `json:"groupId" doc:"Id of the group." example:"1"`
	MemberID int64 `json:"memberId" doc:"Id of the member." example:"2"`
}

func storedMemberKey(k GroupConversationMemberKey) store.GroupUserKey {
	return store.GroupUserKey{GroupID: k.GroupID, UserID: k.MemberID}
}

// conversationUpdate is the body of PUT /conversations.
type conversationUpdate struct {
	ReadDate *admin.Date `json:"readDate,omitempty" doc:"Up to when the conversations have been read, not in the future; absent: now."`
}

type conversationUpdateInput struct {
	PrivateConversationKeys     []PrivateConversationKey     `query:"privateConversationKeys" uniqueItems:"true" selector:"true" doc:"Private conversations, as privateConversationKeys[0].ownerId and privateConversationKeys[0].targetId, then privateConversationKeys[1] and so on."`
	GroupConversationMemberKeys []GroupConversationMemberKey `query:"groupConversationMemberKeys" uniqueItems:"true" selector:"true" doc:"Members of groups, as groupConversationMemberKeys[0].groupId and groupConversationMemberKeys[0].memberId, then groupConversationMemberKeys[1] and so on."`
	Body                        conversationUpdate
}

func (h conversationHandlers) update(ctx context.Context, in *conversationUpdateInput) (admin.Done, error) {
	private, members := resource.Convert(in.PrivateConversationKeys, storedConversationKey), resource.Convert(in.GroupConversationMemberKeys, storedMemberKey)
	return admin.Done{}, h.conversations.SetReadDate(ctx, private, members, givenTime(in.Body.ReadDate))
}
