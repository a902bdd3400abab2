// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	"example.org/app/internal/admin"
	"example.org/app/internal/apierr"
	"example.org/app/internal/im/group"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const groupJoinRequestTag = "GroupJoinRequestController"

type groupJoinRequestHandlers struct{ joinRequests *group.JoinRequests }

func groupJoinRequestOperations(joinRequests *group.JoinRequests) []*admin.Operation {
	h := groupJoinRequestHandlers{joinRequests}
	const path = "/groups/join-requests"
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "createGroupJoinRequest", Method: http.MethodPost, Path: path, Tag: groupJoinRequestTag, Permission: permission.GroupJoinRequestCreate,
			Summary: "Create a request to join a group", Description: "Stores a join request. Nobody joins a group by it, whatever its status is.",
			Errors: []apierr.Code{apierr.RecordContainsDuplicateKey},
		}, h.create),
		admin.Handle(admin.Operation{
			ID: "queryGroupJoinRequests", Method: http.MethodGet, Path: path, Tag: groupJoinRequestTag, Permission: permission.GroupJoinRequestQuery,
			Summary: "Query requests to join groups", Description: "Returns join requests in the order of their ids, or of the first date that is asked for. A pending request that is too old counts as expired.",
		}, h.query),
		admin.Handle(admin.Operation{
			ID: "queryGroupJoinRequestPage", Method: http.MethodGet, Path: path + "/page", Tag: groupJoinRequestTag, Permission: permission.GroupJoinRequestQuery,
			Summary: "Query requests to join groups by page", Description: "Returns a page of join requests and how many match." + boundedTotal,
		}, h.queryPage),
		admin.Handle(admin.Operation{
			ID: "updateGroupJoinRequests", Method: http.MethodPut, Path: path, Tag: groupJoinRequestTag, Permission: permission.GroupJoinRequestUpdate,
			Summary: "Update requests to join groups",
			Description: "Changes join requests. The response date changes only with the status: an answer has one, anything else has none. " +
				"Nobody joins a group by it.",
		}, h.update),
		admin.Handle(admin.Operation{
			ID: "deleteGroupJoinRequests", Method: http.MethodDelete, Path: path, Tag: groupJoinRequestTag, Permission: permission.GroupJoinRequestDelete,
			Summary: "Delete requests to join groups", Description: "Deletes join requests.",
		}, h.delete),
	}
}

// GroupJoinRequest is a join request as the interface returns it.
type GroupJoinRequest struct {
	ID             int64         `json:"id" doc:"Id." example:"1234567890123456789"`
	Content        string        `json:"content" doc:"What the requester says." example:"May I?"`
	Status         requestStatus `json:"status" doc:"What became of it."`
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
	ID             *int64        `json:"id,omitempty" doc:"Id; absent: made up." example:"1"`
	GroupID        int64         `json:"groupId" doc:"Id of the group." example:"1"`
	RequesterID    int64         `json:"requesterId" doc:"Id of the user who wants to join." example:"2"`
	ResponderID    int64         `json:"responderId" doc:"Id of the user who answers." example:"1"`
	Content        string        `json:"content,omitempty" doc:"What the requester says." example:"May I?"`
	Status         requestStatus `json:"status,omitempty" doc:"What became of it; absent: PENDING."`
	CreationDate   *admin.Date   `json:"creationDate,omitempty" doc:"When it was made, not in the future; absent: now."`
	ResponseDate   *admin.Date   `json:"responseDate,omitempty" doc:"When it was answered, not in the future; kept only of an answered request, and now if absent."`
	ResponseReason *string       `json:"responseReason,omitempty" doc:"What the responder answered; returned as reason." example:"Welcome."`
}

type groupJoinRequestCreationInput struct{ Body groupJoinRequestCreation }

func (h groupJoinRequestHandlers) create(ctx context.Context, in *groupJoinRequestCreationInput) (GroupJoinRequest, error) {
	b := in.Body
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
	Statuses            []requestStatus `query:"statuses" uniqueItems:"true" doc:"What became of them."`
	CreationDateStart   *admin.Date     `query:"creationDateStart" doc:"Earliest creation date."`
	CreationDateEnd     *admin.Date     `query:"creationDateEnd" doc:"Date before which they were made."`
	ResponseDateStart   *admin.Date     `query:"responseDateStart" doc:"Earliest response date."`
	ResponseDateEnd     *admin.Date     `query:"responseDateEnd" doc:"Date before which they were answered."`
	ExpirationDateStart *admin.Date     `query:"expirationDateStart" doc:"Earliest expiration date; means nothing if join requests do not expire."`
	ExpirationDateEnd   *admin.Date     `query:"expirationDateEnd" doc:"Date before which they expire; means nothing if join requests do not expire."`
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

type groupJoinRequestQuery struct {
	groupJoinRequestFilter
	admin.Paging
}

type groupJoinRequestPageQuery struct {
	groupJoinRequestFilter
	admin.PageRequest
}

func (h groupJoinRequestHandlers) query(ctx context.Context, in *groupJoinRequestQuery) ([]GroupJoinRequest, error) {
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	found, err := h.joinRequests.Find(ctx, f, in.Limit(), 0)
	return convert(found, newGroupJoinRequest), err
}

func (h groupJoinRequestHandlers) queryPage(ctx context.Context, in *groupJoinRequestPageQuery) (admin.Page[GroupJoinRequest], error) {
	f, err := in.filter()
	if err != nil {
		return admin.Page[GroupJoinRequest]{}, err
	}
	return newPage(in.PageRequest, newGroupJoinRequest, func(page store.Page) (int64, []group.JoinRequest, error) {
		return h.joinRequests.FindPage(ctx, f, page)
	})
}

// groupJoinRequestUpdate is the body of PUT /groups/join-requests.
type groupJoinRequestUpdate struct {
	GroupID      *int64         `json:"groupId,omitempty" doc:"Id of the group." example:"1"`
	RequesterID  *int64         `json:"requesterId,omitempty" doc:"Id of the user who wants to join." example:"2"`
	ResponderID  *int64         `json:"responderId,omitempty" doc:"Id of the user who answers." example:"1"`
	Content      *string        `json:"content,omitempty" doc:"What the requester says." example:"May I?"`
	Status       *requestStatus `json:"status,omitempty" doc:"What became of it."`
	CreationDate *admin.Date    `json:"creationDate,omitempty" doc:"When it was made, not in the future."`
	ResponseDate *admin.Date    `json:"responseDate,omitempty" doc:"When it was answered, not in the future; needs a status, and is now if absent."`
}

type groupJoinRequestUpdateInput struct {
	IDs  []int64 `query:"ids" required:"true" uniqueItems:"true" selector:"true" doc:"Ids of join requests." example:"[1]"`
	Body groupJoinRequestUpdate
}

func (h groupJoinRequestHandlers) update(ctx context.Context, in *groupJoinRequestUpdateInput) (admin.UpdateResult, error) {
	b := in.Body
	r, err := h.joinRequests.Update(ctx, in.IDs, store.GroupJoinRequestChange{
		GroupID: b.GroupID, RequesterID: b.RequesterID, ResponderID: b.ResponderID, Content: b.Content,
		Status: optionalEnum[store.RequestStatus](store.RequestStatusNames, b.Status), CreationDate: givenTime(b.CreationDate),
	}, givenTime(b.ResponseDate))
	return newUpdateResult(r), err
}

type groupJoinRequestDeletion struct {
	IDs []int64 `query:"ids" uniqueItems:"true" selector:"true" doc:"Ids of join requests; absent: all join requests, if the settings allow that." example:"[1]"`
}

func (h groupJoinRequestHandlers) delete(ctx context.Context, in *groupJoinRequestDeletion) (admin.DeleteResult, error) {
	if len(in.IDs) == 0 {
		return deleteResult(h.joinRequests.DeleteAll(ctx))
	}
	return deleteResult(h.joinRequests.Delete(ctx, in.IDs))
}
