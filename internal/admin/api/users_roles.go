// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	"example.org/app/internal/admin"
	"example.org/app/internal/apierr"
	"example.org/app/internal/im/user"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const userRoleTag = "UserRoleController"

type userRoleHandlers struct{ users *user.Directory }

func userRoleOperations(d *user.Directory) []*admin.Operation {
	h := userRoleHandlers{d}
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "createUserRole", Method: http.MethodPost, Path: "/users/roles", Tag: userRoleTag, Permission: permission.UserRoleCreate,
			Summary: "Create a user role", Description: "Creates a role that says which groups users may create and how many they may own.",
			Errors: []apierr.Code{apierr.RecordContainsDuplicateKey},
		}, h.create),
		admin.Handle(admin.Operation{
			ID: "queryUserRoles", Method: http.MethodGet, Path: "/users/roles", Tag: userRoleTag, Permission: permission.UserRoleQuery,
			Summary: "Query user roles", Description: "Returns roles in the order of their ids.",
		}, h.query),
		admin.Handle(admin.Operation{
			ID: "queryUserRolePage", Method: http.MethodGet, Path: "/users/roles/page", Tag: userRoleTag, Permission: permission.UserRoleQuery,
			Summary: "Query user roles by page", Description: "Returns a page of roles and how many there are.",
		}, h.queryPage),
		admin.Handle(admin.Operation{
			ID: "updateUserRoles", Method: http.MethodPut, Path: "/users/roles", Tag: userRoleTag, Permission: permission.UserRoleUpdate,
			Summary: "Update user roles", Description: "Changes roles. What is absent stays as it is.",
		}, h.update),
		admin.Handle(admin.Operation{
			ID: "deleteUserRoles", Method: http.MethodDelete, Path: "/users/roles", Tag: userRoleTag, Permission: permission.UserRoleDelete,
			Summary: "Delete user roles", Description: "Deletes roles, but not the default role, whose id is 0. Users keep the ids of deleted roles and can create no groups.",
		}, h.delete),
	}
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

type userRoleCreationInput struct{ Body userRoleCreation }

func (h userRoleHandlers) create(ctx context.Context, in *userRoleCreationInput) (UserRole, error) {
	role, err := h.users.CreateRole(ctx, user.RoleCreation(in.Body))
	return newUserRole(role), err
}

type userRoleQuery struct{ admin.Paging }

type userRolePageQuery struct{ admin.PageRequest }

func (h userRoleHandlers) query(ctx context.Context, in *userRoleQuery) ([]UserRole, error) {
	roles, err := h.users.FindRoles(ctx, in.Limit(), 0)
	return convert(roles, newUserRole), err
}

func (h userRoleHandlers) queryPage(ctx context.Context, in *userRolePageQuery) (admin.Page[UserRole], error) {
	return newPage(in.PageRequest, newUserRole, func(page store.Page) (int64, []store.UserRole, error) {
		return h.users.FindRolePage(ctx, page)
	})
}

// userRoleUpdate is the body of PUT /users/roles.
type userRoleUpdate struct {
	Name                            *string          `json:"name,omitempty" doc:"New name." example:"premium"`
	CreatableGroupTypeIDs           *[]int64         `json:"creatableGroupTypeIds,omitempty" uniqueItems:"true" doc:"New ids of group types." example:"[0]"`
	OwnedGroupLimit                 *int32           `json:"ownedGroupLimit,omitempty" minimum:"0" doc:"New limit of all groups." example:"10"`
	OwnedGroupLimitForEachGroupType *int32           `json:"ownedGroupLimitForEachGroupType,omitempty" minimum:"0" doc:"New limit of groups of each type." example:"10"`
	GroupTypeIDToLimit              *map[int64]int32 `json:"groupTypeIdToLimit,omitempty" doc:"New limits of groups of certain types."`
}

type userRoleUpdateInput struct {
	IDs  []int64 `query:"ids" required:"true" uniqueItems:"true" selector:"true" doc:"Ids of roles." example:"[1]"`
	Body userRoleUpdate
}

func (h userRoleHandlers) update(ctx context.Context, in *userRoleUpdateInput) (admin.UpdateResult, error) {
	r, err := h.users.UpdateRoles(ctx, in.IDs, store.UserRoleChange(in.Body))
	return newUpdateResult(r), err
}

type userRoleDeletion struct {
	IDs []int64 `query:"ids" required:"true" uniqueItems:"true" selector:"true" doc:"Ids of roles, not 0." example:"[1]"`
}

func (h userRoleHandlers) delete(ctx context.Context, in *userRoleDeletion) (admin.DeleteResult, error) {
	n, err := h.users.DeleteRoles(ctx, in.IDs)
	return admin.DeleteResult{DeletedCount: n}, err
}
