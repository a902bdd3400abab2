// SPDX-License-Identifier: Apache-2.0

package administrator

import (
	"context"
	"math"
	"slices"

	"example.org/app/internal/apierr"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

// requester is the administrator who wants a change, as the store knows it
// inside the transaction of that change: ranks that another administrator just
// took away do not count any more.
type requester struct {
	id          int64
	rank        int32
	permissions permission.Set
}

func unauthorized(format string, args ...any) error {
	return apierr.New(apierr.Unauthorized, format, args...)
}

func loadRequester(ctx context.Context, r store.Reader, id int64) (requester, error) {
	admins, err := store.FindAdmins(ctx, r, store.AdminFilter{IDs: []int64{id}}, store.Page{})
	if err != nil {
		return requester{}, err
	}
	if len(admins) == 0 {
		return requester{}, unauthorized("the administrator who makes the request does not exist any more")
	}
	roles, err := findRoles(ctx, r, admins[0].RoleIDs)
	if err != nil {
		return requester{}, err
	}
	if len(roles) == 0 {
		return requester{}, unauthorized("the administrator who makes the request has no role")
	}
	req := requester{id: id, rank: effectiveRank(roles)}
	for _, role := range roles {
		req.permissions = req.permissions.Union(permissionSet(role))
	}
	return req, nil
}

// findRoles returns the roles with these ids that exist, the root role among
// them.
func findRoles(ctx context.Context, r store.Reader, roleIDs []int64) ([]store.AdminRole, error) {
	if len(roleIDs) == 0 {
		return nil, nil
	}
	roles, err := store.FindAdminRoles(ctx, r, store.AdminRoleFilter{IDs: roleIDs}, store.Page{})
	if err != nil {
		return nil, err
	}
	if slices.Contains(roleIDs, RootRoleID) {
		roles = append(roles, RootRole)
	}
	return roles, nil
}

// effectiveRank is the highest rank of the roles, but at least 0 with any role.
func effectiveRank(roles []store.AdminRole) int32 {
	if len(roles) == 0 {
		return math.MinInt32
	}
	rank := int32(0)
	for _, role := range roles {
		rank = max(rank, role.Rank)
	}
	return rank
}

// mayGrant refuses roles that do not exist or that the requester may not give.
func (r requester) mayGrant(ctx context.Context, tx store.Tx, roleIDs []int64) error {
	if len(roleIDs) == 0 {
		return apierr.New(apierr.IllegalArgument, "roleIds: at least one role is needed")
	}
	if slices.Contains(roleIDs, RootRoleID) {
		return apierr.New(apierr.IllegalArgument, "roleIds: the root role (id %d) cannot be given", RootRoleID)
	}
	roles, err := findRoles(ctx, tx, roleIDs)
	if err != nil {
		return err
	}
	for _, id := range roleIDs {
		if !slices.ContainsFunc(roles, func(role store.AdminRole) bool { return role.ID == id }) {
			return apierr.New(apierr.IllegalArgument, "roleIds: there is no role %d", id)
		}
	}
	return r.outranksRoles(roles)
}

// outranksRoles refuses roles whose rank is not below the requester's.
func (r requester) outranksRoles(roles []store.AdminRole) error {
	for _, role := range roles {
		if role.Rank >= r.rank {
			return unauthorized("the rank %d of role %d is not below your rank %d", role.Rank, role.ID, r.rank)
		}
	}
	return nil
}

// mayChange refuses administrators whose rank is not below the requester's.
// The requester itself is allowed.
func (r requester) mayChange(ctx context.Context, tx store.Tx, adminIDs []int64) error {
	admins, err := store.FindAdmins(ctx, tx, store.AdminFilter{IDs: adminIDs}, store.Page{})
	if err != nil {
		return err
	}
	var roleIDs []int64
	for _, a := range admins {
		roleIDs = append(roleIDs, a.RoleIDs...)
	}
	roles, err := findRoles(ctx, tx, roleIDs)
	if err != nil {
		return err
	}
	for _, a := range admins {
		if a.ID == r.id {
			continue
		}
		held := slices.DeleteFunc(slices.Clone(roles), func(role store.AdminRole) bool { return !slices.Contains(a.RoleIDs, role.ID) })
		if rank := effectiveRank(held); rank >= r.rank {
			return unauthorized("the rank %d of administrator %d is not below your rank %d", rank, a.ID, r.rank)
		}
	}
	return nil
}

// holds refuses permissions that the requester lacks.
func (r requester) holds(permissions []string) error {
	wanted := make([]permission.Permission, len(permissions))
	for i, p := range permissions {
		wanted[i] = permission.Permission(p)
	}
	if missing := r.permissions.Missing(wanted); len(missing) > 0 {
		return unauthorized("you cannot give permissions that you lack: %v", missing)
	}
	return nil
}
