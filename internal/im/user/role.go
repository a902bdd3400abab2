// SPDX-License-Identifier: Apache-2.0

package user

import (
	"context"
	"slices"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// RoleCreation defines a new role.
type RoleCreation struct {
	// ID is generated if it is nil.
	ID                              *int64
	Name                            *string
	CreatableGroupTypeIDs           []int64
	OwnedGroupLimit                 int32
	OwnedGroupLimitForEachGroupType int32
	GroupTypeIDToLimit              map[int64]int32
}

// CreateRole adds a role.
func (d *Directory) CreateRole(ctx context.Context, c RoleCreation) (store.UserRole, error) {
	if err := checkLimits(&c.OwnedGroupLimit, &c.OwnedGroupLimitForEachGroupType, c.GroupTypeIDToLimit); err != nil {
		return store.UserRole{}, err
	}
	role := store.UserRole{
		Name: c.Name, CreatableGroupTypeIDs: sorted(c.CreatableGroupTypeIDs), OwnedGroupLimit: c.OwnedGroupLimit,
		OwnedGroupLimitForEachGroupType: c.OwnedGroupLimitForEachGroupType, GroupTypeIDToLimit: c.GroupTypeIDToLimit,
	}
	if role.GroupTypeIDToLimit == nil {
		role.GroupTypeIDToLimit = map[int64]int32{}
	}
	var err error
	if c.ID != nil {
		role.ID = *c.ID
	} else if role.ID, err = d.opts.IDs.NextContext(ctx); err != nil {
		return store.UserRole{}, err
	}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error { return store.InsertUserRoles(ctx, tx, role) })
	if err != nil {
		return store.UserRole{}, err
	}
	return role, nil
}

// sorted returns the ids in their stored order.
func sorted(ids []int64) []int64 {
	set := slices.Clone(ids)
	slices.Sort(set)
	return append([]int64{}, slices.Compact(set)...)
}

func checkLimits(total, each *int32, byType map[int64]int32) error {
	if total != nil && *total < 0 {
		return apierr.New(apierr.IllegalArgument, "ownedGroupLimit: %d must be at least 0", *total)
	}
	if each != nil && *each < 0 {
		return apierr.New(apierr.IllegalArgument, "ownedGroupLimitForEachGroupType: %d must be at least 0", *each)
	}
	for id, limit := range byType {
		if limit < 0 {
			return apierr.New(apierr.IllegalArgument, "groupTypeIdToLimit.%d: %d must be at least 0", id, limit)
		}
	}
	return nil
}

// FindRoles returns roles in the order of their ids.
func (d *Directory) FindRoles(ctx context.Context, limit, offset int) (roles []store.UserRole, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		roles, err = store.FindUserRoles(ctx, r, nil, store.Page{Limit: limit, Offset: offset})
		return err
	})
	return roles, err
}

// FindRolePage returns a page of roles and how many there are in all.
func (d *Directory) FindRolePage(ctx context.Context, page store.Page) (total int64, roles []store.UserRole, err error) {
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if total, err = store.CountUserRoles(ctx, r); err != nil || total == 0 {
			return err
		}
		roles, err = store.FindUserRoles(ctx, r, nil, page)
		return err
	})
	return total, roles, err
}

// UpdateRoles changes the roles with these ids, all or none.
func (d *Directory) UpdateRoles(ctx context.Context, roleIDs []int64, c store.UserRoleChange) (result store.UpdateResult, err error) {
	var byType map[int64]int32
	if c.GroupTypeIDToLimit != nil {
		byType = *c.GroupTypeIDToLimit
	}
	if err := checkLimits(c.OwnedGroupLimit, c.OwnedGroupLimitForEachGroupType, byType); err != nil {
		return store.UpdateResult{}, err
	}
	if c == (store.UserRoleChange{}) {
		return store.UpdateResult{}, nil
	}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		result, err = store.UpdateUserRoles(ctx, tx, roleIDs, c)
		return err
	})
	return result, err
}

// DeleteRoles deletes the roles with these ids. Users keep the ids of deleted roles. The default
// role cannot be deleted.
func (d *Directory) DeleteRoles(ctx context.Context, roleIDs []int64) (deleted int64, err error) {
	if slices.Contains(roleIDs, store.DefaultUserRoleID) {
		return 0, apierr.New(apierr.IllegalArgument, "the default user role (id %d) cannot be deleted", store.DefaultUserRoleID)
	}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		deleted, err = store.DeleteUserRoles(ctx, tx, roleIDs)
		return err
	})
	return deleted, err
}

// GroupRole returns the role that defines which groups a user may create and own; a user without
// account has the default role. ok is false for an account that is inactive or deleted, and for a
// role that does not exist. It is for other packages, within their transactions.
func (d *Directory) GroupRole(ctx context.Context, r store.Reader, userID int64) (role store.UserRole, ok bool, err error) {
	roleID := store.DefaultUserRoleID
	users, err := store.FindUsers(ctx, r, store.UserFilter{IDs: []int64{userID}}, store.Page{})
	if err != nil {
		return store.UserRole{}, false, err
	}
	if len(users) > 0 {
		if !users[0].IsActive || users[0].DeletionDate != nil {
			return store.UserRole{}, false, nil
		}
		roleID = users[0].RoleID
	}
	roles, err := store.FindUserRoles(ctx, r, []int64{roleID}, store.Page{})
	switch {
	case err != nil:
		return store.UserRole{}, false, err
	case len(roles) > 0:
		return roles[0], true, nil
	case roleID == store.DefaultUserRoleID:
		// The default role can only be deleted directly in the database.
		return store.DefaultUserRole(), true, nil
	default:
		return store.UserRole{}, false, nil
	}
}
