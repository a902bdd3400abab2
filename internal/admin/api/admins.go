// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/im/administrator"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const adminTag = "AdminController"

type adminHandlers struct{ directory *administrator.Directory }

func adminOperations(d *administrator.Directory) []*admin.Operation {
	h := adminHandlers{d}
	r := resource.Resource{
		Path: "/admins", Tag: adminTag, Name: "Admin", Records: "administrators",
		Pages:  "Returns a page of administrators and how many match.",
		Create: permission.AdminCreate, Query: permission.AdminQuery, Update: permission.AdminUpdate, Delete: permission.AdminDelete,
	}
	return concat(
		resource.Handle(r, admin.Operation{
			ID: "checkCredentials", Method: http.MethodHead, Path: "/admins", Access: admin.AnyAdmin,
			Summary: "Check credentials", Description: "Answers 200 if the credentials are valid and 401 if they are not.",
		}, h.check),
		resource.Create(r, admin.Operation{
			Summary: "Create an administrator",
			Description: "Creates an administrator. The roles must exist and rank below the caller. " +
				"A missing login name or password is generated; a generated password is not returned.",
			Errors: []apierr.Code{apierr.RecordContainsDuplicateKey},
		}, h.create),
		resource.List(r, admin.Operation{
			OwnID: "ids", Summary: "Query administrators", Description: "Returns administrators. Every administrator may query their own account with `ids=<own id>`. Passwords are never returned.",
		}, adminFilter.filter, d.Find, d.FindPage, newAdmin),
		resource.UpdateByID(r, admin.Operation{
			Summary: "Update administrators",
			Description: "Changes password, display name or roles of administrators who rank below the caller. " +
				"Administrators may change their own password and display name, but not their own roles.",
		}, h.update),
		resource.DeleteByID(r, admin.Operation{
			Summary: "Delete administrators", Description: "Deletes administrators who rank below the caller. The root administrator cannot be deleted.",
		}, h.delete),
	)
}

// Admin is an administrator as the interface returns it.
type Admin struct {
	ID               int64      `json:"id" doc:"Id; 0 is root." example:"1234567890123456789"`
	LoginName        string     `json:"loginName" doc:"Login name; unique." example:"alice"`
	DisplayName      string     `json:"displayName" doc:"Display name." example:"Alice"`
	RoleIDs          []int64    `json:"roleIds" doc:"Ids of the roles." example:"[1]"`
	RegistrationDate admin.Date `json:"registrationDate" doc:"When the administrator was created."`
}

func newAdmin(a store.Admin) Admin {
	roleIDs := a.RoleIDs
	if roleIDs == nil {
		roleIDs = []int64{}
	}
	return Admin{a.ID, a.LoginName, a.DisplayName, roleIDs, admin.NewDate(a.RegistrationDate)}
}

func (h adminHandlers) check(context.Context, *admin.NoInput) (admin.Done, error) {
	return admin.Done{}, nil
}

// adminCreation is the body of POST /admins.
type adminCreation struct {
	LoginName   string  `json:"loginName,omitempty" minLength:"1" maxLength:"64" doc:"Login name: 1 to 64 visible characters without white space or colon; absent: 16 random letters." example:"alice"`
	Password    string  `json:"password,omitempty" minLength:"1" maxLength:"32" pattern:"^\\S*$" secret:"true" doc:"Password; absent: random." example:"correct-horse"`
	DisplayName string  `json:"displayName,omitempty" minLength:"1" maxLength:"32" doc:"Display name; absent: the login name." example:"Alice"`
	RoleIDs     []int64 `json:"roleIds" uniqueItems:"true" doc:"Ids of the roles; at least one, not 0." example:"[1]"`
}

func (h adminHandlers) create(ctx context.Context, b adminCreation) (Admin, error) {
	a, err := h.directory.Create(ctx, requester(ctx), administrator.Creation(b))
	return newAdmin(a), err
}

type adminFilter struct {
	IDs        []int64  `query:"ids" uniqueItems:"true" doc:"Ids of administrators." example:"[1]"`
	LoginNames []string `query:"loginNames" uniqueItems:"true" doc:"Login names." example:"[\"alice\"]"`
	RoleIDs    []int64  `query:"roleIds" uniqueItems:"true" doc:"Ids of roles; an administrator matches who holds any of them." example:"[1]"`
}

func (f adminFilter) filter() (store.AdminFilter, error) { return store.AdminFilter(f), nil }

// adminUpdate is the body of PUT /admins.
type adminUpdate struct {
	Password    *string  `json:"password,omitempty" minLength:"1" maxLength:"32" pattern:"^\\S*$" secret:"true" doc:"New password." example:"correct-horse"`
	DisplayName *string  `json:"displayName,omitempty" minLength:"1" maxLength:"32" doc:"New display name." example:"Alice"`
	RoleIDs     *[]int64 `json:"roleIds,omitempty" uniqueItems:"true" doc:"New roles." example:"[1]"`
}

func (h adminHandlers) update(ctx context.Context, ids []int64, b adminUpdate) (store.UpdateResult, error) {
	return h.directory.Update(ctx, requester(ctx), ids, administrator.Change(b))
}

func (h adminHandlers) delete(ctx context.Context, ids []int64) (int64, error) {
	return h.directory.Delete(ctx, requester(ctx), ids)
}
