// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"slices"

	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

// An administrator who may query and create everything, but neither change nor delete anything.
const (
	GuestLoginName = "guest"
	GuestPassword  = "guest"
	guestRoleName  = "GUEST"
)

// guest adds that administrator unless somebody has the login name.
func (w *world) guest(ctx context.Context, tx store.Tx) error {
	admins, err := store.FindAdmins(ctx, tx, store.AdminFilter{}, store.Page{})
	if err != nil {
		return err
	}
	roles, err := store.FindAdminRoles(ctx, tx, store.AdminRoleFilter{}, store.Page{})
	if err != nil {
		return err
	}
	var adminIDs, roleIDs []int64
	for _, admin := range admins {
		if admin.LoginName == GuestLoginName {
			return nil
		}
		adminIDs = append(adminIDs, admin.ID)
	}
	for _, role := range roles {
		roleIDs = append(roleIDs, role.ID)
	}
	role := store.AdminRole{ID: free(roleIDs), Name: guestRoleName, CreationDate: w.Date}
	for _, p := range permission.Expand([]string{"*_QUERY", "*_CREATE"}) {
		role.Permissions = append(role.Permissions, string(p))
	}
	if err := store.InsertAdminRoles(ctx, tx, role); err != nil {
		return err
	}
	return store.InsertAdmins(ctx, tx, store.Admin{
		ID: free(adminIDs), LoginName: GuestLoginName, Password: w.guestHash, DisplayName: "Guest", RegistrationDate: w.Date,
		RoleIDs: []int64{role.ID},
	})
}

// free returns the smallest positive id that is not in use.
func free(taken []int64) int64 {
	id := int64(1)
	for slices.Contains(taken, id) {
		id++
	}
	return id
}
