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

const relationshipGroupTag = "UserRelationshipGroupController"

type relationshipGroupHandlers struct{ relationships *relationship.Directory }

func relationshipGroupOperations(d *relationship.Directory) []*admin.Operation {
	h := relationshipGroupHandlers{d}
	r := resource.Resource{
		Path: "/users/relationships/groups", Tag: relationshipGroupTag, Name: "UserRelationshipGroup", Records: "relationship groups",
		Create: permission.UserRelationshipGroupCreate, Query: permission.UserRelationshipGroupQuery, Update: permission.UserRelationshipGroupUpdate, Delete: permission.UserRelationshipGroupDelete,
	}
	return concat(
		resource.Create(r, admin.Operation{
			Summary: "Create a relationship group", Description: "Creates a group of related users.",
			Errors: []apierr.Code{apierr.RecordContainsDuplicateKey},
		}, h.create),
		resource.List(r, admin.Operation{
			Summary: "Query relationship groups", Description: "Returns relationship groups in the order of owner and index, or of the first date in the query.",
		}, relationshipGroupFilter.filter, d.FindGroups, d.FindGroupPage, newUserRelationshipGroup),
		resource.Update(r, admin.Operation{
			Summary: "Update relationship groups", Description: "Changes relationship groups. Absent fields are not changed.",
		}, h.update),
		resource.Delete(r, admin.Operation{
			Summary: "Delete relationship groups",
			Description: "Deletes relationship groups and moves their members to the default groups of their owners, whose index is 0. " +
				"Those cannot be deleted. Without keys, where that is allowed, all groups but the default ones are deleted.",
		}, h.delete),
	)
}

// UserRelationshipGroupKey names a relationship group.
type UserRelationshipGroupKey struct {
	OwnerID    int64 `json:"ownerId" doc:"Id of the user whose group it is." example:"1"`
	GroupIndex int32 `json:"groupIndex" doc:"Index of the group; 0 is the default group." example:"1"`
}

// UserRelationshipGroup is a relationship group as the interface returns it.
type UserRelationshipGroup struct {
	Key          UserRelationshipGroupKey `json:"key" doc:"Owner and index."`
	Name         string                   `json:"name" doc:"Name." example:"family"`
	CreationDate admin.Date               `json:"creationDate" doc:"When the group was created."`
}

func newUserRelationshipGroup(g store.RelationshipGroup) UserRelationshipGroup {
	return UserRelationshipGroup{UserRelationshipGroupKey{g.OwnerID, g.Index}, g.Name, admin.NewDate(g.CreationDate)}
}

// relationshipGroupCreation is the body of POST /users/relationships/groups.
type relationshipGroupCreation struct {
	OwnerID      int64       `json:"ownerId" doc:"Id of the user whose group it is, not 0." example:"1"`
	Index        *int32      `json:"index,omitempty" minimum:"0" doc:"Index of the group; absent: a random positive number." example:"1"`
	Name         string      `json:"name" doc:"Name." example:"family"`
	CreationDate *admin.Date `json:"creationDate,omitempty" doc:"When the group was created, not in the future; absent: now."`
}

func (h relationshipGroupHandlers) create(ctx context.Context, b relationshipGroupCreation) (UserRelationshipGroup, error) {
	g, err := h.relationships.CreateGroup(ctx, relationship.GroupCreation{OwnerID: b.OwnerID, Index: b.Index, Name: b.Name, CreationDate: givenTime(b.CreationDate)})
	return newUserRelationshipGroup(g), err
}

type relationshipGroupFilter struct {
	OwnerIDs          []int64     `query:"ownerIds" uniqueItems:"true" doc:"Ids of the owners of the groups." example:"[1]"`
	Indexes           []int32     `query:"indexes" uniqueItems:"true" doc:"Indexes of groups." example:"[1]"`
	Names             []string    `query:"names" uniqueItems:"true" doc:"Names of groups." example:"[\"family\"]"`
	CreationDateStart *admin.Date `query:"creationDateStart" doc:"Created at this date or later."`
	CreationDateEnd   *admin.Date `query:"creationDateEnd" doc:"Created before this date."`
}

func (f relationshipGroupFilter) filter() (filter store.RelationshipGroupFilter, err error) {
	filter = store.RelationshipGroupFilter{OwnerIDs: f.OwnerIDs, Indexes: f.Indexes, Names: f.Names}
	filter.Creation, err = dateRange("creationDate", f.CreationDateStart, f.CreationDateEnd)
	return filter, err
}

// relationshipGroupUpdate is the body of PUT /users/relationships/groups.
type relationshipGroupUpdate struct {
	Name         *string     `json:"name,omitempty" doc:"New name." example:"family"`
	CreationDate *admin.Date `json:"creationDate,omitempty" doc:"New creation date, not in the future."`
}

type relationshipGroupUpdateInput struct {
	Keys []UserRelationshipGroupKey `query:"keys" required:"true" uniqueItems:"true" selector:"true" doc:"Groups, as keys[0].ownerId and keys[0].groupIndex, then keys[1] and so on."`
	Body relationshipGroupUpdate
}

func storedGroupKey(k UserRelationshipGroupKey) store.RelationshipGroupKey {
	return store.RelationshipGroupKey{OwnerID: k.OwnerID, Index: k.GroupIndex}
}

func (h relationshipGroupHandlers) update(ctx context.Context, in *relationshipGroupUpdateInput) (store.UpdateResult, error) {
	return h.relationships.UpdateGroups(ctx, resource.Convert(in.Keys, storedGroupKey), store.RelationshipGroupChange{
		Name: in.Body.Name, CreationDate: givenTime(in.Body.CreationDate),
	})
}

type relationshipGroupDeletion struct {
	Keys []UserRelationshipGroupKey `query:"keys" uniqueItems:"true" selector:"all" doc:"Groups, as keys[0].ownerId and keys[0].groupIndex, then keys[1] and so on."`
}

func (h relationshipGroupHandlers) delete(ctx context.Context, in *relationshipGroupDeletion) (int64, error) {
	var keys []store.RelationshipGroupKey
	if in.Keys != nil {
		keys = resource.Convert(in.Keys, storedGroupKey)
	}
	return h.relationships.DeleteGroups(ctx, keys)
}
