// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/im/group"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const groupJoinRequestTag = "GroupJoinRequestController"

type groupJoinRequestHandlers struct{ joinRequests *group.JoinRequests }

func groupJoinRequestOperations(joinRequests *group.JoinRequests) []*admin.Operation {
	h := groupJoinRequestHandlers{joinRequests}
	r := resource.Resource{
		Path: "/groups/join-requests", Tag: groupJoinRequestTag, Name: "GroupJoinRequest", Records: "join requests",
		Create: permission.GroupJoinRequestCreate, Query: permission.GroupJoinRequestQuery, Update: permission.GroupJoinRequestUpdate, Delete: permission.GroupJoinRequestDelete,
	}
	return concat(
		resource.Create(r, admin.Operation{
			Summary: "Create a request to join a group", Description: "Stores a join request. It adds no member to the group, regardless of its status.",
			Errors: []apierr.Code{apierr.RecordContainsDuplicateKey},
		}, h.create),
		resource.List(r, admin.Operation{
			Summary: "Query requests to join groups", Description: "Returns join requests in the order of their ids, or of the first date in the query. A pending request that is too old counts as expired.",
		}, groupJoinRequestFilter.filter, joinRequests.Find, joinRequests.FindPage, newGroupJoinRequest),
		resource.UpdateByID(r, admin.Operation{
			Summary: "Update requests to join groups",
			Description: "Changes join requests. The response date changes only with the status: an answer has one, anything else has none. " +
				"It adds no member to a group.",
		}, h.update),
		resource.DeleteByIDOrAll(r, admin.Operation{
			Summary: "Delete requests to join groups", Description: "Deletes join requests.",
		}, joinRequests.Delete, joinRequests.DeleteAll),
	)
}

// GroupJoinRequest is a join request as the interface returns it.
type GroupJoinRequest struct {
	ID             int64         `json:"id" doc:"Id." example:"1234567890123456789"`
	Content        string        `json:"content" doc:"Content of the request." example:"May I?"`
	Status         requestStatus `json:"status" doc:"Status."`
	CreationDate   admin.Date    `json:"creationDate" doc:"When it was made."`
	ResponseDate   *admin.Date   `json:"responseDate,omitempty" doc:"When it was answered."`
	Reason         *string       `json:"reason,omitempty" doc:"What the responder answered." example:"Welcome."`
	GroupID        int64         `json:"groupId" doc:"Id of the group." example:"1"`
	RequesterID    int64         `json:"requesterId" doc:"Id of the user who wants to join." example:"2"`
	ResponderID    *int64        `json:"responderId,omitempty" doc:"Id of the user who answers." example:"1"`
	ExpirationDate *admin.Date   `json:"expirationDate,omitempty" doc:"Until when it can be answered."`
}

func newGroupJoinRequest(v group.JoinRequest) GroupJoinRequest {
	return GroupJoinRequest{
		v.ID, v.Content, requestStatus(v.Status.String()), admin.NewDate(v.CreationDate), optionalDate(v.ResponseDate), v.Reason,
		v.GroupID, v.RequesterID, v.ResponderID, optionalDate(v.ExpirationDate),
	}
}

// groupJoinRequestCreation is the body of POST /groups/join-requests.
type groupJoinRequestCreation struct {
	ID             *int64        `json:"id,omitempty" doc:"Id; absent: generated." example:"1"`
	GroupID        int64         `json:"groupId" doc:"Id of the group." example:"1"`
	RequesterID    int64         `json:"requesterId" doc:"Id of the user who wants to join." example:"2"`
	ResponderID    int64         `json:"responderId" doc:"Id of the user who answers." example:"1"`
	Content        string        `json:"content,omitempty" doc:"Content of the request." example:"May I?"`
	Status         requestStatus `json:"status,omitempty" doc:"Status; absent: PENDING."`
	CreationDate   *admin.Date   `json:"creationDate,omitempty" doc:"When it was made, not in the future; absent: now."`
	ResponseDate   *admin.Date   `json:"responseDate,omitempty" doc:"When it was answered, not in the future; kept only of an answered request, and now if absent."`
	ResponseReason *string       `json:"responseReason,omitempty" doc:"What the responder answered; returned as reason." example:"Welcome."`
}

func (h groupJoinRequestHandlers) create(ctx context.Context, b groupJoinRequestCreation) (GroupJoinRequest, error) {
	v, err := h.joinRequests.Create(ctx, store.GroupJoinRequest{
		GroupID: b.GroupID, RequesterID: b.RequesterID, ResponderID: &b.ResponderID, Content: b.Content,
		Status: enumOf[store.RequestStatus](store.RequestStatusNames, b.Status), ResponseDate: givenTime(b.ResponseDate), Reason: b.ResponseReason,
	}, b.ID, givenTime(b.CreationDate))
	return newGroupJoinRequest(v), err
}

type groupJoinRequestFilter struct {
	IDs                 []int64         `query:"ids" uniqueItems:"true" doc:"Ids of join requests." example:"[1]"`
	GroupIDs            []int64         `query:"groupIds" uniqueItems:"true" doc:"Ids of groups." example:"[1]"`
	RequesterIDs        []int64         `query:"requesterIds" uniqueItems:"true" doc:"Ids of users who want to join." example:"[2]"`
	ResponderIDs        []int64         `query:"responderIds" uniqueItems:"true" doc:"Ids of users who answer." example:"[1]"`
	Statuses            []requestStatus `query:"statuses" uniqueItems:"true" doc:"Statuses."`
	CreationDateStart   *admin.Date     `query:"creationDateStart" doc:"Earliest creation date."`
	CreationDateEnd     *admin.Date     `query:"creationDateEnd" doc:"Date before which they were made."`
	ResponseDateStart   *admin.Date     `query:"responseDateStart" doc:"Earliest response date."`
	ResponseDateEnd     *admin.Date     `query:"responseDateEnd" doc:"Date before which they were answered."`
	ExpirationDateStart *admin.Date     `query:"expirationDateStart" doc:"Earliest expiration date; ignored if join requests do not expire."`
	ExpirationDateEnd   *admin.Date     `query:"expirationDateEnd" doc:"Date before which they expire; ignored if join requests do not expire."`
}

func (f groupJoinRequestFilter) filter() (group.JoinRequestFilter, error) {
	out := group.JoinRequestFilter{
		Stored:   store.GroupJoinRequestFilter{IDs: f.IDs, GroupIDs: f.GroupIDs, RequesterIDs: f.RequesterIDs, ResponderIDs: f.ResponderIDs},
		Statuses: enumsOf[store.RequestStatus](store.RequestStatusNames, f.Statuses),
	}
	err := dateRanges(
		namedRange{"creationDate", f.CreationDateStart, f.CreationDateEnd, &out.Stored.CreationDate},
		namedRange{"responseDate", f.ResponseDateStart, f.ResponseDateEnd, &out.Stored.ResponseDate},
		namedRange{"expirationDate", f.ExpirationDateStart, f.ExpirationDateEnd, &out.ExpirationDate},
	)
	return out, err
}

// groupJoinRequestUpdate is the body of PUT /groups/join-requests.
type groupJoinRequestUpdate struct {
	GroupID      *int64         `json:"groupId,omitempty" doc:"Id of the group." example:"1"`
	RequesterID  *int64         `json:"requesterId,omitempty" doc:"Id of the user who wants to join." example:"2"`
	ResponderID  *int64         `json:"responderId,omitempty" doc:"Id of the user who answers." example:"1"`
	Content      *string        `json:"content,omitempty" doc:"Content of the request." example:"May I?"`
	Status       *requestStatus `json:"status,omitempty" doc:"Status."`
	CreationDate *admin.Date    `json:"creationDate,omitempty" doc:"When it was made, not in the future."`
	ResponseDate *admin.Date    `json:"responseDate,omitempty" doc:"When it was answered, not in the future; needs a status, and is now if absent."`
}

func (h groupJoinRequestHandlers) update(ctx context.Context, ids []int64, b groupJoinRequestUpdate) (store.UpdateResult, error) {
	return h.joinRequests.Update(ctx, ids, store.GroupJoinRequestChange{
		GroupID: b.GroupID, RequesterID: b.RequesterID, ResponderID: b.ResponderID, Content: b.Content,
		Status: optionalEnum[store.RequestStatus](store.RequestStatusNames, b.Status), CreationDate: givenTime(b.CreationDate),
	}, givenTime(b.ResponseDate))
}
