// SPDX-License-Identifier: Apache-2.0

package administrator

import (
	"context"
	"math"
	"slices"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

// RootRoleID is the id of the role that holds every permission.
const RootRoleID int64 = 0

// RootRole is the role that holds every permission. It is not stored.
var RootRole = store.AdminRole{
	ID: RootRoleID, Name: "ROOT", Rank: math.MaxInt32,
	Permissions: permission.Names(), CreationDate: time.Unix(0, 0).UTC(),
}

func permissionSet(role store.AdminRole) permission.Set {
	list := make([]permission.Permission, len(role.Permissions))
	for i, p := range role.Permissions {
		list[i] = permission.Permission(p)
	}
	return permission.NewSet(list...)
}

// RoleFilter selects roles. Empty fields do not restrict; all other fields must match one of their
// values.
type RoleFilter struct {
	IDs         []int64
	Names       []string
	Ranks       []int32
	Permissions []string
}

func (f RoleFilter) matches(role store.AdminRole) bool {
	return anyOf(f.IDs, role.ID) && anyOf(f.Names, role.Name) && anyOf(f.Ranks, role.Rank) && f.matchesPermissions(role)
}

// matchesPermissions reports whether a stored role has any of the permissions. The root role
// matches only a filter for all permissions.
func (f RoleFilter) matchesPermissions(role store.AdminRole) bool {
	if len(f.Permissions) == 0 {
		return true
	}
	if role.ID == RootRoleID {
		return !slices.ContainsFunc(role.Permissions, func(p string) bool { return !slices.Contains(f.Permissions, p) })
	}
	return slices.ContainsFunc(f.Permissions, func(p string) bool { return slices.Contains(role.Permissions, p) })
}

func anyOf[T comparable](wanted []T, value T) bool {
	return len(wanted) == 0 || slices.Contains(wanted, value)
}

// FindRoles returns a page of the roles by id, the root role first, and their total number. All
// roles are in memory.
func (d *Directory) FindRoles(f RoleFilter, limit, offset int) (total int64, roles []store.AdminRole) {
	for _, role := range d.current.Load().roles {
		if !f.matches(role) {
			continue
		}
		if total >= int64(offset) && len(roles) < limit {
			roles = append(roles, role)
		}
		total++
	}
	return total, roles
}

// CreateRole adds a role on behalf of the requester. Permissions are patterns.
func (d *Directory) CreateRole(ctx context.Context, by By, role store.AdminRole) (store.AdminRole, error) {
	if role.ID == RootRoleID {
		return store.AdminRole{}, unauthorized("the role id %d is reserved for the root role", RootRoleID)
	}
	var err error
	if role.Permissions, err = expand(role.Permissions); err != nil {
		return store.AdminRole{}, err
	}
	role.CreationDate = time.Now().UTC().Truncate(time.Millisecond)
	err = d.change(ctx, func(ctx context.Context, tx store.Tx) error {
		r, err := loadRequester(ctx, tx, by)
		if err != nil {
			return err
		}
		if err := r.outranks(role.Rank); err != nil {
			return err
		}
		if err := r.holds(role.Permissions); err != nil {
			return err
		}
		return store.InsertAdminRoles(ctx, tx, role)
	})
	return role, err
}

// outranks returns an error for a rank that is not below the requester's.
func (r requester) outranks(rank int32) error {
	if rank >= r.rank {
		return unauthorized("the rank %d is not below your rank %d", rank, r.rank)
	}
	return nil
}

// expand expands permission patterns to names. It returns an error if they match nothing, because a
// role without permissions is a mistake.
func expand(patterns []string) ([]string, error) {
	found := permission.Expand(patterns)
	if len(found) == 0 {
		return nil, apierr.New(apierr.IllegalArgument, "permissions: %q match no permission", patterns)
	}
	names := make([]string, len(found))
	for i, p := range found {
		names[i] = string(p)
	}
	return names, nil
}

// UpdateRoles changes the roles with these ids, all or none. The new rank must be below the
// requester's, who must have the permissions.
func (d *Directory) UpdateRoles(ctx context.Context, by By, roleIDs []int64, c store.AdminRoleChange) (store.UpdateResult, error) {
	if c == (store.AdminRoleChange{}) {
		return store.UpdateResult{}, nil
	}
	if c.Permissions != nil {
		names, err := expand(*c.Permissions)
		if err != nil {
			return store.UpdateResult{}, err
		}
		c.Permissions = &names
	}
	var result store.UpdateResult
	err := d.change(ctx, func(ctx context.Context, tx store.Tx) error {
		r, err := d.mayChangeRoles(ctx, tx, by, roleIDs)
		if err != nil {
			return err
		}
		if c.Rank != nil {
			if err := r.outranks(*c.Rank); err != nil {
				return err
			}
		}
		if c.Permissions != nil {
			if err := r.holds(*c.Permissions); err != nil {
				return err
			}
		}
		result, err = store.UpdateAdminRoles(ctx, tx, roleIDs, c)
		return err
	})
	return result, err
}

// DeleteRoles deletes the roles with these ids, all or none. Administrators keep the ids, which
// have no effect.
func (d *Directory) DeleteRoles(ctx context.Context, by By, roleIDs []int64) (deleted int64, err error) {
	err = d.change(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := d.mayChangeRoles(ctx, tx, by, roleIDs); err != nil {
			return err
		}
		deleted, err = store.DeleteAdminRoles(ctx, tx, roleIDs)
		return err
	})
	return deleted, err
}

func (d *Directory) mayChangeRoles(ctx context.Context, tx store.Tx, by By, roleIDs []int64) (requester, error) {
	r, err := loadRequester(ctx, tx, by)
	if err != nil {
		return r, err
	}
	roles, err := findRoles(ctx, tx, roleIDs)
	if err != nil {
		return r, err
	}
	return r, r.outranksRoles(roles)
}
