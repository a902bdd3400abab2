// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/im/administrator"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const adminRoleTag = "AdminRoleController"

type adminRoleHandlers struct{ directory *administrator.Directory }

func adminRoleOperations(d *administrator.Directory) []*admin.Operation {
	h := adminRoleHandlers{d}
	r := resource.Resource{
		Path: "/admins/roles", Tag: adminRoleTag, Name: "AdminRole", Records: "roles",
		Pages:  "Returns a page of roles and how many match.",
		Create: permission.AdminRoleCreate, Query: permission.AdminRoleQuery, Update: permission.AdminRoleUpdate, Delete: permission.AdminRoleDelete,
	}
	return concat(
		resource.Create(r, admin.Operation{
			Summary:     "Create a role",
			Description: "Creates a role that ranks below the caller and holds only permissions that the caller holds.",
			Errors:      []apierr.Code{apierr.RecordContainsDuplicateKey},
		}, h.create),
		resource.List(r, admin.Operation{
			Summary: "Query roles", Description: "Returns roles in the order of their ids; the root role is the first.",
		}, adminRoleFilter.filter, h.find, h.findPage, newAdminRole),
		resource.UpdateByID(r, admin.Operation{
			Summary: "Update roles",
			Description: "Changes roles that rank below the caller. " +
				"The new rank must be below the caller's, and the new permissions must be among the caller's.",
		}, h.update),
		resource.DeleteByID(r, admin.Operation{
			Summary: "Delete roles", Description: "Deletes roles that rank below the caller. Administrators with these roles lose the permissions of the roles.",
		}, h.delete),
		resource.Handle(r, admin.Operation{
			ID: "queryAdminPermissions", Method: http.MethodGet, Path: "/admins/permissions", Permission: permission.AdminPermissionQuery,
			Summary: "List the permissions", Description: "Lists every permission that a role can hold, with the group that it belongs to.",
		}, h.permissions),
	)
}

// AdminRole is a role as the interface returns it.
type AdminRole struct {
	ID           int64      `json:"id" doc:"Id; 0 is the root role." example:"1"`
	Name         string     `json:"name" doc:"Name." example:"SUPPORT"`
	Permissions  []string   `json:"permissions" doc:"Permissions of the role." example:"[\"USER_QUERY\"]"`
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
	Permissions []string `json:"permissions" uniqueItems:"true" doc:"Permissions or patterns: * matches any characters, ? matches one." example:"[\"USER_*\",\"*_QUERY\"]"`
	Rank        int32    `json:"rank" minimum:"0" doc:"Rank; below the caller's." example:"10"`
}

func (h adminRoleHandlers) create(ctx context.Context, b adminRoleCreation) (AdminRole, error) {
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

func (f adminRoleFilter) filter() (administrator.RoleFilter, error) {
	return administrator.RoleFilter{
		IDs: f.IDs, Names: f.Names, Ranks: f.Ranks,
		Permissions: resource.Convert(f.IncludedPermissions, func(p permissionName) string { return string(p) }),
	}, nil
}

func (h adminRoleHandlers) find(_ context.Context, f administrator.RoleFilter, limit, offset int) ([]store.AdminRole, error) {
	_, roles := h.directory.FindRoles(f, limit, offset)
	return roles, nil
}

func (h adminRoleHandlers) findPage(_ context.Context, f administrator.RoleFilter, page store.Page) (int64, []store.AdminRole, error) {
	total, roles := h.directory.FindRoles(f, page.Limit, page.Offset)
	return total, roles, nil
}

// adminRoleUpdate is the body of PUT /admins/roles.
type adminRoleUpdate struct {
	Name        *string   `json:"name,omitempty" minLength:"1" maxLength:"32" pattern:"^\\S*$" doc:"New name." example:"SUPPORT"`
	Permissions *[]string `json:"permissions,omitempty" uniqueItems:"true" doc:"New permissions or patterns." example:"[\"USER_*\"]"`
	Rank        *int32    `json:"rank,omitempty" minimum:"0" doc:"New rank." example:"10"`
}

func (h adminRoleHandlers) update(ctx context.Context, ids []int64, b adminRoleUpdate) (store.UpdateResult, error) {
	return h.directory.UpdateRoles(ctx, requester(ctx), ids, store.AdminRoleChange{
		Name: b.Name, Permissions: b.Permissions, Rank: b.Rank,
	})
}

func (h adminRoleHandlers) delete(ctx context.Context, ids []int64) (int64, error) {
	return h.directory.DeleteRoles(ctx, requester(ctx), ids)
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
