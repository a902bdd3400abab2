// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"example.org/app/internal/admin"
	"example.org/app/internal/apierr"
	"example.org/app/internal/im/administrator"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const adminRoleTag = "AdminRoleController"

type adminRoleHandlers struct{ directory *administrator.Directory }

func adminRoleOperations(d *administrator.Directory) []*admin.Operation {
	h := adminRoleHandlers{d}
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "createAdminRole", Method: http.MethodPost, Path: "/admins/roles", Tag: adminRoleTag, Permission: permission.AdminRoleCreate,
			Summary:     "Create a role",
			Description: "Creates a role that ranks below the caller and holds only permissions that the caller holds.",
			Errors:      []apierr.Code{apierr.RecordContainsDuplicateKey},
		}, h.create),
		admin.Handle(admin.Operation{
			ID: "queryAdminRoles", Method: http.MethodGet, Path: "/admins/roles", Tag: adminRoleTag, Permission: permission.AdminRoleQuery,
			Summary: "Query roles", Description: "Returns roles in the order of their ids; the root role is the first.",
		}, h.query),
		admin.Handle(admin.Operation{
			ID: "queryAdminRolePage", Method: http.MethodGet, Path: "/admins/roles/page", Tag: adminRoleTag, Permission: permission.AdminRoleQuery,
			Summary: "Query roles by page", Description: "Returns a page of roles and how many match.",
		}, h.queryPage),
		admin.Handle(admin.Operation{
			ID: "updateAdminRoles", Method: http.MethodPut, Path: "/admins/roles", Tag: adminRoleTag, Permission: permission.AdminRoleUpdate,
			Summary: "Update roles",
			Description: "Changes roles that rank below the caller. " +
				"The new rank must be below the caller's, and the new permissions must be among the caller's.",
		}, h.update),
		admin.Handle(admin.Operation{
			ID: "deleteAdminRoles", Method: http.MethodDelete, Path: "/admins/roles", Tag: adminRoleTag, Permission: permission.AdminRoleDelete,
			Summary: "Delete roles", Description: "Deletes roles that rank below the caller. Administrators who held them lose what they allowed.",
		}, h.delete),
		admin.Handle(admin.Operation{
			ID: "queryAdminPermissions", Method: http.MethodGet, Path: "/admins/permissions", Tag: adminRoleTag, Permission: permission.AdminPermissionQuery,
			Summary: "List the permissions", Description: "Lists every permission that a role can hold, with the group that it belongs to.",
		}, h.permissions),
	}
}

// AdminRole is a role as the interface returns it.
type AdminRole struct {
	ID           int64      `json:"id" doc:"Id; 0 is the root role." example:"1"`
	Name         string     `json:"name" doc:"Name." example:"SUPPORT"`
	Permissions  []string   `json:"permissions" doc:"Permissions that the role holds." example:"[\"USER_QUERY\"]"`
	Rank         int32      `json:"rank" doc:"Rank; a higher rank may change a lower one." example:"10"`
	CreationDate admin.Date `json:"creationDate" doc:"When the role was created."`
}

func newAdminRole(r store.AdminRole) AdminRole {
	return AdminRole{r.ID, r.Name, r.Permissions, r.Rank, admin.NewDate(r.CreationDate)}
}

// adminRoleCreation is the body of POST /admins/roles.
type adminRoleCreation struct {
	ID          int64    `json:"id" doc:"Id, chosen by the caller; not 0." example:"1"`
	Name        string   `json:"name" minLength:"1" maxLength:"32" pattern:"^\\S*$" doc:"Name." example:"SUPPORT"`
	Permissions []string `json:"permissions" uniqueItems:"true" doc:"Permissions or patterns: * stands for any characters, ? for one." example:"[\"USER_*\",\"*_QUERY\"]"`
	Rank        int32    `json:"rank" minimum:"0" doc:"Rank; below the caller's." example:"10"`
}

type adminRoleCreationInput struct{ Body adminRoleCreation }

func (h adminRoleHandlers) create(ctx context.Context, in *adminRoleCreationInput) (AdminRole, error) {
	b := in.Body
	role, err := h.directory.CreateRole(ctx, requester(ctx), store.AdminRole{ID: b.ID, Name: b.Name, Permissions: b.Permissions, Rank: b.Rank})
	return newAdminRole(role), err
}

// permissionName is the name of a permission in a filter; unlike in a role, a
// name that does not exist is a mistake.
type permissionName string

// Schema implements huma.SchemaProvider.
func (permissionName) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, name := range permission.Names() {
		s.Enum = append(s.Enum, name)
	}
	return s
}

type adminRoleFilter struct {
	IDs                 []int64          `query:"ids" uniqueItems:"true" doc:"Ids of roles." example:"[1]"`
	Names               []string         `query:"names" uniqueItems:"true" doc:"Names of roles." example:"[\"SUPPORT\"]"`
	IncludedPermissions []permissionName `query:"includedPermissions" uniqueItems:"true" doc:"Permissions; a role matches that holds any of them. The root role matches if all are listed."`
	Ranks               []int32          `query:"ranks" uniqueItems:"true" doc:"Ranks." example:"[10]"`
}

func (f adminRoleFilter) filter() administrator.RoleFilter {
	return administrator.RoleFilter{
		IDs: f.IDs, Names: f.Names, Ranks: f.Ranks,
		Permissions: convert(f.IncludedPermissions, func(p permissionName) string { return string(p) }),
	}
}

type adminRoleQuery struct {
	adminRoleFilter
	admin.Paging
}

type adminRolePageQuery struct {
	adminRoleFilter
	admin.PageRequest
}

func (h adminRoleHandlers) query(_ context.Context, in *adminRoleQuery) ([]AdminRole, error) {
	_, roles := h.directory.FindRoles(in.filter(), in.Limit(), 0)
	return convert(roles, newAdminRole), nil
}

func (h adminRoleHandlers) queryPage(_ context.Context, in *adminRolePageQuery) (admin.Page[AdminRole], error) {
	total, roles := h.directory.FindRoles(in.filter(), in.Limit(), in.Offset())
	return admin.NewPage(total, convert(roles, newAdminRole)), nil
}

// adminRoleUpdate is the body of PUT /admins/roles.
type adminRoleUpdate struct {
	Name        *string   `json:"name,omitempty" minLength:"1" maxLength:"32" pattern:"^\\S*$" doc:"New name." example:"SUPPORT"`
	Permissions *[]string `json:"permissions,omitempty" uniqueItems:"true" doc:"New permissions or patterns." example:"[\"USER_*\"]"`
	Rank        *int32    `json:"rank,omitempty" minimum:"0" doc:"New rank." example:"10"`
}

type adminRoleUpdateInput struct {
	IDs  []int64 `query:"ids" required:"true" uniqueItems:"true" selector:"true" doc:"Ids of roles." example:"[1]"`
	Body adminRoleUpdate
}

func (h adminRoleHandlers) update(ctx context.Context, in *adminRoleUpdateInput) (admin.UpdateResult, error) {
	r, err := h.directory.UpdateRoles(ctx, requester(ctx), in.IDs, store.AdminRoleChange{
		Name: in.Body.Name, Permissions: in.Body.Permissions, Rank: in.Body.Rank,
	})
	return newUpdateResult(r), err
}

type adminRoleDeletion struct {
	IDs []int64 `query:"ids" required:"true" uniqueItems:"true" selector:"true" doc:"Ids of roles." example:"[1]"`
}

func (h adminRoleHandlers) delete(ctx context.Context, in *adminRoleDeletion) (admin.DeleteResult, error) {
	n, err := h.directory.DeleteRoles(ctx, requester(ctx), in.IDs)
	return admin.DeleteResult{DeletedCount: n}, err
}

// AdminPermission is a permission and the group that it belongs to.
type AdminPermission struct {
	Group      string `json:"group" doc:"Group." example:"USER"`
	Permission string `json:"permission" doc:"Permission." example:"USER_QUERY"`
}

func (h adminRoleHandlers) permissions(context.Context, *admin.NoInput) ([]AdminPermission, error) {
	var list []AdminPermission
	for _, g := range permission.Groups {
		for _, p := range g.Permissions {
			list = append(list, AdminPermission{g.Name, string(p)})
		}
	}
	return list, nil
}
