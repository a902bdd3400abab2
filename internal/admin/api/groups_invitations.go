// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/im/group"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const groupInvitationTag = "GroupInvitationController"

type groupInvitationHandlers struct{ invitations *group.Invitations }

func groupInvitationOperations(invitations *group.Invitations) []*admin.Operation {
	h := groupInvitationHandlers{invitations}
	r := resource.Resource{
		Path: "/groups/invitations", Tag: groupInvitationTag, Name: "GroupInvitation", Records: "invitations",
		Create: permission.GroupInvitationCreate, Query: permission.GroupInvitationQuery, Update: permission.GroupInvitationUpdate, Delete: permission.GroupInvitationDelete,
	}
	return concat(
		resource.Create(r, admin.Operation{
			Summary: "Create an invitation to a group", Description: "Stores an invitation. It adds no member to the group, regardless of its status.",
			Errors: []apierr.Code{apierr.RecordContainsDuplicateKey},
		}, h.create),
		resource.List(r, admin.Operation{
			Summary: "Query invitations to groups", Description: "Returns invitations in the order of their ids, or of the first date in the query. A pending invitation that is too old counts as expired.",
		}, groupInvitationFilter.filter, invitations.Find, invitations.FindPage, newGroupInvitation),
		resource.UpdateByID(r, admin.Operation{
			Summary: "Update invitations to groups",
			Description: "Changes invitations. The response date changes only with the status: an answer has one, anything else has none. " +
				"It adds no member to a group.",
		}, h.update),
		resource.DeleteByIDOrAll(r, admin.Operation{
			Summary: "Delete invitations to groups", Description: "Deletes invitations.",
		}, invitations.Delete, invitations.DeleteAll),
	)
}

// requestStatus says what became of a request.
type requestStatus string

// Schema implements huma.SchemaProvider.
func (requestStatus) Schema(huma.Registry) *huma.Schema { return enumSchema(store.RequestStatusNames) }

// GroupInvitation is an invitation as the interface returns it.
type GroupInvitation struct {
	ID             int64         `json:"id" doc:"Id." example:"1234567890123456789"`
	GroupID        int64         `json:"groupId" doc:"Id of the group." example:"1"`
	InviterID      int64         `json:"inviterId" doc:"Id of the user who invites." example:"1"`
	InviteeID      int64         `json:"inviteeId" doc:"Id of the user who is invited." example:"2"`
	Content        string        `json:"content" doc:"Content of the invitation." example:"Join us!"`
	Status         requestStatus `json:"status" doc:"Status."`
	CreationDate   admin.Date    `json:"creationDate" doc:"When it was made."`
	ResponseDate   *admin.Date   `json:"responseDate,omitempty" doc:"When it was answered."`
	Reason         *string       `json:"reason,omitempty" doc:"Reason in the response of the invitee." example:"No time."`
	ExpirationDate *admin.Date   `json:"expirationDate,omitempty" doc:"Until when it can be answered."`
}

func newGroupInvitation(v group.Invitation) GroupInvitation {
	return GroupInvitation{
		v.ID, v.GroupID, v.InviterID, v.InviteeID, v.Content, requestStatus(v.Status.String()), admin.NewDate(v.CreationDate),
		optionalDate(v.ResponseDate), v.Reason, optionalDate(v.ExpirationDate),
	}
}

// groupInvitationCreation is the body of POST /groups/invitations.
type groupInvitationCreation struct {
	ID           *int64        `json:"id,omitempty" doc:"Id; absent: generated." example:"1"`
	GroupID      int64         `json:"groupId" doc:"Id of the group." example:"1"`
	InviterID    int64         `json:"inviterId" doc:"Id of the user who invites." example:"1"`
	InviteeID    int64         `json:"inviteeId" doc:"Id of the user who is invited." example:"2"`
	Content      string        `json:"content,omitempty" doc:"Content of the invitation." example:"Join us!"`
	Status       requestStatus `json:"status,omitempty" doc:"Status; absent: PENDING."`
	CreationDate *admin.Date   `json:"creationDate,omitempty" doc:"When it was made, not in the future; absent: now."`
	ResponseDate *admin.Date   `json:"responseDate,omitempty" doc:"When it was answered, not in the future."`
}

func (h groupInvitationHandlers) create(ctx context.Context, b groupInvitationCreation) (GroupInvitation, error) {
	v, err := h.invitations.Create(ctx, store.GroupInvitation{
		GroupID: b.GroupID, InviterID: b.InviterID, InviteeID: b.InviteeID, Content: b.Content,
		Status: enumOf[store.RequestStatus](store.RequestStatusNames, b.Status), ResponseDate: givenTime(b.ResponseDate),
	}, b.ID, givenTime(b.CreationDate))
	return newGroupInvitation(v), err
}

type groupInvitationFilter struct {
	IDs                 []int64         `query:"ids" uniqueItems:"true" doc:"Ids of invitations." example:"[1]"`
	GroupIDs            []int64         `query:"groupIds" uniqueItems:"true" doc:"Ids of groups." example:"[1]"`
	InviterIDs          []int64         `query:"inviterIds" uniqueItems:"true" doc:"Ids of users who invite." example:"[1]"`
	InviteeIDs          []int64         `query:"inviteeIds" uniqueItems:"true" doc:"Ids of users who are invited." example:"[2]"`
	Statuses            []requestStatus `query:"statuses" uniqueItems:"true" doc:"Statuses."`
	CreationDateStart   *admin.Date     `query:"creationDateStart" doc:"Earliest creation date."`
	CreationDateEnd     *admin.Date     `query:"creationDateEnd" doc:"Date before which they were made."`
	ResponseDateStart   *admin.Date     `query:"responseDateStart" doc:"Earliest response date."`
	ResponseDateEnd     *admin.Date     `query:"responseDateEnd" doc:"Date before which they were answered."`
	ExpirationDateStart *admin.Date     `query:"expirationDateStart" doc:"Earliest expiration date; ignored if invitations do not expire."`
	ExpirationDateEnd   *admin.Date     `query:"expirationDateEnd" doc:"Date before which they expire; ignored if invitations do not expire."`
}

func (f groupInvitationFilter) filter() (group.InvitationFilter, error) {
	out := group.InvitationFilter{
		Stored:   store.GroupInvitationFilter{IDs: f.IDs, GroupIDs: f.GroupIDs, InviterIDs: f.InviterIDs, InviteeIDs: f.InviteeIDs},
		Statuses: enumsOf[store.RequestStatus](store.RequestStatusNames, f.Statuses),
	}
	err := dateRanges(
		namedRange{"creationDate", f.CreationDateStart, f.CreationDateEnd, &out.Stored.CreationDate},
		namedRange{"responseDate", f.ResponseDateStart, f.ResponseDateEnd, &out.Stored.ResponseDate},
		namedRange{"expirationDate", f.ExpirationDateStart, f.ExpirationDateEnd, &out.ExpirationDate},
	)
	return out, err
}

// groupInvitationUpdate is the body of PUT /groups/invitations.
type groupInvitationUpdate struct {
	GroupID      *int64         `json:"groupId,omitempty" doc:"Id of the group." example:"1"`
	InviterID    *int64         `json:"inviterId,omitempty" doc:"Id of the user who invites." example:"1"`
	InviteeID    *int64         `json:"inviteeId,omitempty" doc:"Id of the user who is invited." example:"2"`
	Content      *string        `json:"content,omitempty" doc:"Content of the invitation." example:"Join us!"`
	Status       *requestStatus `json:"status,omitempty" doc:"Status."`
	CreationDate *admin.Date    `json:"creationDate,omitempty" doc:"When it was made, not in the future."`
	ResponseDate *admin.Date    `json:"responseDate,omitempty" doc:"When it was answered, not in the future; needs a status, and is now if absent."`
}

func (h groupInvitationHandlers) update(ctx context.Context, ids []int64, b groupInvitationUpdate) (store.UpdateResult, error) {
	return h.invitations.Update(ctx, ids, store.GroupInvitationChange{
		GroupID: b.GroupID, InviterID: b.InviterID, InviteeID: b.InviteeID, Content: b.Content,
		Status: optionalEnum[store.RequestStatus](store.RequestStatusNames, b.Status), CreationDate: givenTime(b.CreationDate),
	}, givenTime(b.ResponseDate))
}
