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

const relationshipTag = "UserRelationshipController"

type relationshipHandlers struct{ relationships *relationship.Directory }

func relationshipOperations(d *relationship.Directory) []*admin.Operation {
	h := relationshipHandlers{d}
	r := resource.Resource{
		Path: "/users/relationships", Tag: relationshipTag, Name: "UserRelationship", Records: "relationships",
		Create: permission.UserRelationshipCreate, Query: permission.UserRelationshipQuery, Update: permission.UserRelationshipUpdate, Delete: permission.UserRelationshipDelete,
	}
	return concat(
		resource.Create(r, admin.Operation{
			Summary: "Create a relationship",
			Description: "Creates a relationship of one user to another, in one direction only, and puts the related user into the owner's default relationship group. " +
				"The users need not exist.",
			Errors: []apierr.Code{apierr.CreateExistingRelationship},
		}, h.create),
		resource.List(r, admin.Operation{
			Summary: "Query relationships", Description: "Returns relationships in the order of owner and related user, or of the first date in the query.",
		}, relationshipFilter.filter, h.find, h.findPage, newUserRelationship),
		resource.Update(r, admin.Operation{
			Summary: "Update relationships", Description: "Changes relationships. Absent fields are not changed, so a block cannot be removed.",
		}, h.update),
		resource.Delete(r, admin.Operation{
			Summary: "Delete relationships", Description: "Deletes relationships, one direction only, and takes the related users out of the owners' relationship groups.",
		}, h.delete),
	)
}

// UserRelationshipKey names a relationship.
type UserRelationshipKey struct {
	OwnerID       int64 `json:"ownerId" doc:"Id of the user who knows." example:"1"`
	RelatedUserID int64 `json:"relatedUserId" doc:"Id of the related user." example:"2"`
}

// UserRelationship is a relationship as the interface returns it.
type UserRelationship struct {
	Key               UserRelationshipKey `json:"key" doc:"Who knows whom."`
	Name              *string             `json:"name,omitempty" doc:"Name that the owner gave the related user." example:"Bob"`
	BlockDate         *admin.Date         `json:"blockDate,omitempty" doc:"When the owner blocked the related user; absent: not blocked."`
	EstablishmentDate admin.Date          `json:"establishmentDate" doc:"Since when the relationship exists."`
	GroupIndexes      []int32             `json:"groupIndexes,omitzero" doc:"Indexes of the owner's relationship groups that the related user is in; only on demand." example:"[0]"`
}

func newUserRelationship(r store.Relationship) UserRelationship {
	return UserRelationship{
		Key: UserRelationshipKey(r.RelationshipKey), Name: r.Name, BlockDate: optionalDate(r.BlockDate),
		EstablishmentDate: admin.NewDate(r.EstablishmentDate), GroupIndexes: r.GroupIndexes,
	}
}

// relationshipCreation is the body of POST /users/relationships.
type relationshipCreation struct {
	OwnerID           int64       `json:"ownerId" doc:"Id of the user who knows, not 0." example:"1"`
	RelatedUserID     int64       `json:"relatedUserId" doc:"Id of the related user, neither 0 nor the owner's." example:"2"`
	Name              *string     `json:"name,omitempty" doc:"Name that the owner gives the related user." example:"Bob"`
	BlockDate         *admin.Date `json:"blockDate,omitempty" doc:"When the owner blocked the related user, not in the future; absent: not blocked."`
	EstablishmentDate *admin.Date `json:"establishmentDate,omitempty" doc:"Since when the relationship exists, not in the future; absent: now."`
}

func (h relationshipHandlers) create(ctx context.Context, b relationshipCreation) (admin.Done, error) {
	return admin.Done{}, h.relationships.Create(ctx, relationship.Creation{
		RelationshipKey: store.RelationshipKey{OwnerID: b.OwnerID, RelatedUserID: b.RelatedUserID}, Name: b.Name,
		BlockDate: givenTime(b.BlockDate), EstablishmentDate: givenTime(b.EstablishmentDate),
	})
}

type relationshipFilter struct {
	OwnerIDs               []int64     `query:"ownerIds" uniqueItems:"true" doc:"Ids of the owners." example:"[1]"`
	RelatedUserIDs         []int64     `query:"relatedUserIds" uniqueItems:"true" doc:"Ids of the related users." example:"[2]"`
	GroupIndexes           []int32     `query:"groupIndexes" uniqueItems:"true" doc:"Indexes of relationship groups; a relationship matches whose related user is in any of these groups of the owner." example:"[0]"`
	IsBlocked              *bool       `query:"isBlocked" doc:"Whether the owner has blocked the related user."`
	EstablishmentDateStart *admin.Date `query:"establishmentDateStart" doc:"Established at this date or later."`
	EstablishmentDateEnd   *admin.Date `query:"establishmentDateEnd" doc:"Established before this date."`
	WithGroupIndexes       bool        `query:"withGroupIndexes" default:"false" doc:"Whether to return the relationship groups of each related user."`
}

// relationshipSelection is which relationships are found, and whether with their groups.
type relationshipSelection struct {
	filter     store.RelationshipFilter
	withGroups bool
}

func (f relationshipFilter) filter() (s relationshipSelection, err error) {
	s.withGroups = f.WithGroupIndexes
	s.filter = store.RelationshipFilter{OwnerIDs: f.OwnerIDs, RelatedUserIDs: f.RelatedUserIDs, GroupIndexes: f.GroupIndexes, IsBlocked: f.IsBlocked}
	s.filter.Establishment, err = dateRange("establishmentDate", f.EstablishmentDateStart, f.EstablishmentDateEnd)
	return s, err
}

func (h relationshipHandlers) find(ctx context.Context, s relationshipSelection, limit, offset int) ([]store.Relationship, error) {
	return h.relationships.Find(ctx, s.filter, s.withGroups, limit, offset)
}

func (h relationshipHandlers) findPage(ctx context.Context, s relationshipSelection, page store.Page) (int64, []store.Relationship, error) {
	return h.relationships.FindPage(ctx, s.filter, s.withGroups, page)
}

// relationshipUpdate is the body of PUT /users/relationships.
type relationshipUpdate struct {
	Name              *string     `json:"name,omitempty" doc:"New name that the owner gives the related user." example:"Bob"`
	BlockDate         *admin.Date `json:"blockDate,omitempty" doc:"When the owner blocked the related user, not in the future."`
	EstablishmentDate *admin.Date `json:"establishmentDate,omitempty" doc:"Since when the relationship exists, not in the future."`
}

type relationshipUpdateInput struct {
	Keys []UserRelationshipKey `query:"keys" required:"true" uniqueItems:"true" selector:"true" doc:"Who knows whom, as keys[0].ownerId and keys[0].relatedUserId, then keys[1] and so on."`
	Body relationshipUpdate
}

func storedRelationshipKey(k UserRelationshipKey) store.RelationshipKey {
	return store.RelationshipKey(k)
}

func (h relationshipHandlers) update(ctx context.Context, in *relationshipUpdateInput) (store.UpdateResult, error) {
	return h.relationships.Update(ctx, resource.Convert(in.Keys, storedRelationshipKey), store.RelationshipChange{
		Name: in.Body.Name, BlockDate: givenTime(in.Body.BlockDate), EstablishmentDate: givenTime(in.Body.EstablishmentDate),
	})
}

type relationshipDeletion struct {
	Keys []UserRelationshipKey `query:"keys" required:"true" uniqueItems:"true" selector:"true" doc:"Who knows whom, as keys[0].ownerId and keys[0].relatedUserId, then keys[1] and so on."`
}

func (h relationshipHandlers) delete(ctx context.Context, in *relationshipDeletion) (int64, error) {
	return h.relationships.Delete(ctx, resource.Convert(in.Keys, storedRelationshipKey))
}
