// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/im/user"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const userRoleTag = "UserRoleController"

type userRoleHandlers struct{ users *user.Directory }

func userRoleOperations(d *user.Directory) []*admin.Operation {
	h := userRoleHandlers{d}
	r := resource.Resource{
		Path: "/users/roles", Tag: userRoleTag, Name: "UserRole", Records: "roles",
		Pages:  "Returns a page of roles and how many there are.",
		Create: permission.UserRoleCreate, Query: permission.UserRoleQuery, Update: permission.UserRoleUpdate, Delete: permission.UserRoleDelete,
	}
	return concat(
		resource.Create(r, admin.Operation{
			Summary: "Create a user role", Description: "Creates a role, which determines which groups users may create and how many they may own.",
			Errors: []apierr.Code{apierr.RecordContainsDuplicateKey},
		}, h.create),
		resource.List(r, admin.Operation{
			Summary: "Query user roles", Description: "Returns roles in the order of their ids.",
		}, resource.Same[struct{}], h.find, h.findPage, newUserRole),
		resource.UpdateByID(r, admin.Operation{
			Summary: "Update user roles", Description: "Changes roles. Absent fields are not changed.",
		}, h.update),
		resource.Delete(r, admin.Operation{
			Summary: "Delete user roles", Description: "Deletes roles, but not the default role, whose id is 0. Users keep the ids of deleted roles and can create no groups.",
		}, h.delete),
	)
}

// UserRole is a user role as the interface returns it.
type UserRole struct {
	ID                              int64           `json:"id" doc:"Id; 0 is the default role." example:"1"`
	Name                            *string         `json:"name,omitempty" doc:"Name." example:"default"`
	CreatableGroupTypeIDs           []int64         `json:"creatableGroupTypeIds" doc:"Ids of the group types of which users may create groups." example:"[0]"`
	OwnedGroupLimit                 int32           `json:"ownedGroupLimit" doc:"How many groups a user may own; 2147483647 is no limit." example:"2147483647"`
	OwnedGroupLimitForEachGroupType int32           `json:"ownedGroupLimitForEachGroupType" doc:"How many groups of each type a user may own; 2147483647 is no limit." example:"2147483647"`
	GroupTypeIDToLimit              map[int64]int32 `json:"groupTypeIdToLimit" doc:"How many groups of certain types a user may own, by the id of the type."`
}

func newUserRole(r store.UserRole) UserRole { return UserRole(r) }

// userRoleCreation is the body of POST /users/roles.
type userRoleCreation struct {
	ID                              *int64          `json:"id,omitempty" doc:"Id; absent: generated." example:"1"`
	Name                            *string         `json:"name,omitempty" doc:"Name." example:"premium"`
	CreatableGroupTypeIDs           []int64         `json:"creatableGroupTypeIds,omitempty" uniqueItems:"true" doc:"Ids of the group types of which users may create groups." example:"[0]"`
	OwnedGroupLimit                 int32           `json:"ownedGroupLimit" minimum:"0" doc:"How many groups a user may own." example:"10"`
	OwnedGroupLimitForEachGroupType int32           `json:"ownedGroupLimitForEachGroupType" minimum:"0" doc:"How many groups of each type a user may own." example:"10"`
	GroupTypeIDToLimit              map[int64]int32 `json:"groupTypeIdToLimit,omitempty" doc:"How many groups of certain types a user may own, by the id of the type."`
}

func (h userRoleHandlers) create(ctx context.Context, b userRoleCreation) (UserRole, error) {
	role, err := h.users.CreateRole(ctx, user.RoleCreation(b))
	return newUserRole(role), err
}

func (h userRoleHandlers) find(ctx context.Context, _ struct{}, limit, offset int) ([]store.UserRole, error) {
	return h.users.FindRoles(ctx, limit, offset)
}

func (h userRoleHandlers) findPage(ctx context.Context, _ struct{}, page store.Page) (int64, []store.UserRole, error) {
	return h.users.FindRolePage(ctx, page)
}

// userRoleUpdate is the body of PUT /users/roles.
type userRoleUpdate struct {
	Name                            *string          `json:"name,omitempty" doc:"New name." example:"premium"`
	CreatableGroupTypeIDs           *[]int64         `json:"creatableGroupTypeIds,omitempty" uniqueItems:"true" doc:"New ids of group types." example:"[0]"`
	OwnedGroupLimit                 *int32           `json:"ownedGroupLimit,omitempty" minimum:"0" doc:"New limit of all groups." example:"10"`
	OwnedGroupLimitForEachGroupType *int32           `json:"ownedGroupLimitForEachGroupType,omitempty" minimum:"0" doc:"New limit of groups of each type." example:"10"`
	GroupTypeIDToLimit              *map[int64]int32 `json:"groupTypeIdToLimit,omitempty" doc:"New limits of groups of certain types."`
}

func (h userRoleHandlers) update(ctx context.Context, ids []int64, b userRoleUpdate) (store.UpdateResult, error) {
	return h.users.UpdateRoles(ctx, ids, store.UserRoleChange(b))
}

type userRoleDeletion struct {
	IDs []int64 `query:"ids" required:"true" uniqueItems:"true" selector:"true" doc:"Ids of roles, not 0." example:"[1]"`
}

func (h userRoleHandlers) delete(ctx context.Context, in *userRoleDeletion) (int64, error) {
	return h.users.DeleteRoles(ctx, in.IDs)
}
