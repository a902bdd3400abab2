// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/im/relationship"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const friendRequestTag = "UserFriendRequestController"

type friendRequestHandlers struct{ requests *relationship.FriendRequests }

func friendRequestOperations(requests *relationship.FriendRequests) []*admin.Operation {
	h := friendRequestHandlers{requests}
	r := resource.Resource{
		Path: "/users/relationships/friend-requests", Tag: friendRequestTag, Name: "FriendRequest", Records: "friend requests",
		Create: permission.UserFriendRequestCreate, Query: permission.UserFriendRequestQuery, Update: permission.UserFriendRequestUpdate, Delete: permission.UserFriendRequestDelete,
	}
	return concat(
		resource.Create(r, admin.Operation{
			Summary:     "Create a friend request",
			Description: "Creates a friend request as given: it is not checked whether the users exist, are related or have blocked each other, and an accepted request creates no relationship.",
			Errors:      []apierr.Code{apierr.RecordContainsDuplicateKey},
		}, h.create),
		resource.List(r, admin.Operation{
			Summary:     "Query friend requests",
			Description: "Returns friend requests in the order of their ids, or of the first date in the query. A pending request that is older than app.service.user.friend-request.friend-request-expire-after-seconds counts as expired, in filters as in results.",
		}, friendRequestFilter.filter, requests.Find, requests.FindPage, newFriendRequest),
		resource.UpdateByID(r, admin.Operation{
			Summary:     "Update friend requests",
			Description: "Changes friend requests. Absent fields are not changed. With ACCEPTED, DECLINED or IGNORED the response date is the given one or now; any other status removes it. No relationship is created.",
		}, h.update),
		resource.Delete(r, admin.Operation{
			Summary: "Delete friend requests", Description: "Deletes friend requests; without ids, where that is allowed, all of them.",
		}, h.delete),
	)
}

// FriendRequest is a friend request as the interface returns it.
type FriendRequest struct {
	ID             int64       `json:"id" doc:"Id." example:"1234567890123456789"`
	Content        string      `json:"content" doc:"Content of the request." example:"Hi, it's me."`
	Status         string      `json:"status" enum:"PENDING,ACCEPTED,ACCEPTED_WITHOUT_CONFIRM,DECLINED,IGNORED,EXPIRED,CANCELED" doc:"Status of the request." example:"PENDING"`
	Reason         *string     `json:"reason,omitempty" doc:"Reason in the response of the recipient." example:"Do I know you?"`
	CreationDate   admin.Date  `json:"creationDate" doc:"When the request was sent."`
	ResponseDate   *admin.Date `json:"responseDate,omitempty" doc:"When the request was answered."`
	RequesterID    int64       `json:"requesterId" doc:"Id of the requester." example:"1"`
	RecipientID    int64       `json:"recipientId" doc:"Id of the recipient." example:"2"`
	ExpirationDate *admin.Date `json:"expirationDate,omitempty" doc:"Until when the request can be answered; absent: forever."`
}

func newFriendRequest(r relationship.FriendRequest) FriendRequest {
	return FriendRequest{
		ID: r.ID, Content: r.Content, Status: r.Status.String(), Reason: r.Reason, CreationDate: admin.NewDate(r.CreationDate),
		ResponseDate: optionalDate(r.ResponseDate), RequesterID: r.RequesterID, RecipientID: r.RecipientID, ExpirationDate: optionalDate(r.ExpirationDate),
	}
}

// friendRequestCreation is the body of POST
// /users/relationships/friend-requests.
type friendRequestCreation struct {
	ID           *int64      `json:"id,omitempty" doc:"Id; absent: generated." example:"1234567890123456789"`
	RequesterID  int64       `json:"requesterId" doc:"Id of the requester, not 0." example:"1"`
	RecipientID  int64       `json:"recipientId" doc:"Id of the recipient, neither 0 nor the requester's." example:"2"`
	Content      string      `json:"content" doc:"What the requester writes; at most app.service.user.friend-request.max-content-length characters." example:"Hi, it's me."`
	Status       string      `json:"status,omitempty" enum:"PENDING,ACCEPTED,ACCEPTED_WITHOUT_CONFIRM,DECLINED,IGNORED,EXPIRED,CANCELED" doc:"Status of the request; absent: PENDING." example:"PENDING"`
	Reason       *string     `json:"reason,omitempty" doc:"What the recipient answered; at most app.service.user.friend-request.max-response-reason-length characters." example:"Do I know you?"`
	CreationDate *admin.Date `json:"creationDate,omitempty" doc:"When the request was sent, not in the future; absent: now."`
	ResponseDate *admin.Date `json:"responseDate,omitempty" doc:"When the request was answered, not in the future; only kept with ACCEPTED, DECLINED or IGNORED, where it is now if it is absent."`
}

func (h friendRequestHandlers) create(ctx context.Context, b friendRequestCreation) (FriendRequest, error) {
	status, _ := store.EnumOf[store.RequestStatus](store.RequestStatusNames, b.Status)
	r, err := h.requests.Create(ctx, relationship.RequestCreation{
		ID: b.ID, RequesterID: b.RequesterID, RecipientID: b.RecipientID, Content: b.Content, Status: status, Reason: b.Reason,
		CreationDate: givenTime(b.CreationDate), ResponseDate: givenTime(b.ResponseDate),
	})
	return newFriendRequest(r), err
}

type friendRequestFilter struct {
	IDs                 []int64     `query:"ids" uniqueItems:"true" doc:"Ids of friend requests." example:"[1]"`
	RequesterIDs        []int64     `query:"requesterIds" uniqueItems:"true" doc:"Ids of requesters." example:"[1]"`
	RecipientIDs        []int64     `query:"recipientIds" uniqueItems:"true" doc:"Ids of recipients." example:"[2]"`
	Statuses            []string    `query:"statuses" uniqueItems:"true" enum:"PENDING,ACCEPTED,ACCEPTED_WITHOUT_CONFIRM,DECLINED,IGNORED,EXPIRED,CANCELED" doc:"Statuses of the requests." example:"[\"PENDING\"]"`
	CreationDateStart   *admin.Date `query:"creationDateStart" doc:"Sent at this date or later."`
	CreationDateEnd     *admin.Date `query:"creationDateEnd" doc:"Sent before this date."`
	ResponseDateStart   *admin.Date `query:"responseDateStart" doc:"Answered at this date or later."`
	ResponseDateEnd     *admin.Date `query:"responseDateEnd" doc:"Answered before this date."`
	ExpirationDateStart *admin.Date `query:"expirationDateStart" doc:"Expiring at this date or later; ignored while requests never expire."`
	ExpirationDateEnd   *admin.Date `query:"expirationDateEnd" doc:"Expiring before this date; ignored while requests never expire."`
}

func (f friendRequestFilter) filter() (filter relationship.RequestFilter, err error) {
	filter.Stored = store.FriendRequestFilter{IDs: f.IDs, RequesterIDs: f.RequesterIDs, RecipientIDs: f.RecipientIDs}
	filter.Statuses = enumsOf[store.RequestStatus](store.RequestStatusNames, f.Statuses)
	err = dateRanges(
		namedRange{"creationDate", f.CreationDateStart, f.CreationDateEnd, &filter.Stored.Creation},
		namedRange{"responseDate", f.ResponseDateStart, f.ResponseDateEnd, &filter.Stored.Response},
		namedRange{"expirationDate", f.ExpirationDateStart, f.ExpirationDateEnd, &filter.ExpirationDate},
	)
	return filter, err
}

// friendRequestUpdate is the body of PUT
// /users/relationships/friend-requests.
type friendRequestUpdate struct {
	RequesterID  *int64      `json:"requesterId,omitempty" doc:"Id of the new requester, not 0." example:"1"`
	RecipientID  *int64      `json:"recipientId,omitempty" doc:"Id of the new recipient, not 0." example:"2"`
	Content      *string     `json:"content,omitempty" doc:"What the requester writes." example:"Hi, it's me."`
	Status       *string     `json:"status,omitempty" enum:"PENDING,ACCEPTED,ACCEPTED_WITHOUT_CONFIRM,DECLINED,IGNORED,EXPIRED,CANCELED" doc:"Status of the request." example:"DECLINED"`
	Reason       *string     `json:"reason,omitempty" doc:"Reason in the response of the recipient." example:"Do I know you?"`
	CreationDate *admin.Date `json:"creationDate,omitempty" doc:"When the request was sent, not in the future."`
	ResponseDate *admin.Date `json:"responseDate,omitempty" doc:"When the request was answered, not in the future; needs a status, and is now if absent."`
}

func (h friendRequestHandlers) update(ctx context.Context, ids []int64, b friendRequestUpdate) (store.UpdateResult, error) {
	return h.requests.Update(ctx, ids, store.FriendRequestChange{
		RequesterID: b.RequesterID, RecipientID: b.RecipientID, Content: b.Content, Reason: b.Reason,
		Status:       givenEnum[store.RequestStatus](store.RequestStatusNames, b.Status),
		CreationDate: givenTime(b.CreationDate), ResponseDate: givenTime(b.ResponseDate),
	})
}

type friendRequestDeletion struct {
	IDs []int64 `query:"ids" uniqueItems:"true" selector:"all" doc:"Ids of friend requests." example:"[1]"`
}

func (h friendRequestHandlers) delete(ctx context.Context, in *friendRequestDeletion) (int64, error) {
	if len(in.IDs) == 0 {
		return h.requests.DeleteAll(ctx)
	}
	return h.requests.Delete(ctx, in.IDs)
}
