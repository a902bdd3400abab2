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

// requester is the administrator who requests a change, as read inside its transaction, so that a
// rank that was just removed does not count.
type requester struct {
	id          int64
	rank        int32
	permissions permission.Set
	// external is true if an identity provider manages the administrator.
	external bool
}

func unauthorized(format string, args ...any) error {
	return apierr.New(apierr.Unauthorized, format, args...)
}

// By is the administrator who requests a change, and the credential of the request.
type By struct {
	ID int64
	// Limit restricts the permissions of the administrator; nil means no restriction.
	Limit *permission.Set
	// Token is the token or session; nil means a password.
	Token *TokenInfo
}

func loadRequester(ctx context.Context, r store.Reader, by By) (requester, error) {
	admins, err := store.FindAdmins(ctx, r, store.AdminFilter{IDs: []int64{by.ID}}, store.Page{})
	if err != nil {
		return requester{}, err
	}
	if len(admins) == 0 {
		return requester{}, unauthorized("the administrator who makes the request does not exist any more")
	}
	roleIDs := admins[0].RoleIDs
	if by.Token != nil && by.Token.Roles != nil {
		roleIDs = by.Token.Roles
	}
	roles, err := findRoles(ctx, r, roleIDs)
	if err != nil {
		return requester{}, err
	}
	if len(roles) == 0 {
		return requester{}, unauthorized("the administrator who makes the request has no role")
	}
	req := requester{id: by.ID, rank: effectiveRank(roles), external: isExternal(admins[0].LoginName)}
	for _, role := range roles {
		req.permissions = req.permissions.Union(permissionSet(role))
	}
	if by.Limit != nil {
		req.permissions = req.permissions.Intersect(*by.Limit)
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

// mayGrant returns an error if roles do not exist or the requester may not grant them.
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
	if err := r.outranksRoles(roles); err != nil {
		return err
	}
	for _, role := range roles {
		if err := r.holds(role.Permissions); err != nil {
			return err
		}
	}
	return nil
}

// outranksRoles returns an error for roles whose rank is not below the requester's.
func (r requester) outranksRoles(roles []store.AdminRole) error {
	for _, role := range roles {
		if role.Rank >= r.rank {
			return unauthorized("the rank %d of role %d is not below your rank %d", role.Rank, role.ID, r.rank)
		}
	}
	return nil
}

// held is an administrator with its roles.
type held struct {
	id    int64
	roles []store.AdminRole
}

func loadHeld(ctx context.Context, tx store.Tx, adminIDs []int64) ([]held, error) {
	admins, err := store.FindAdmins(ctx, tx, store.AdminFilter{IDs: adminIDs}, store.Page{})
	if err != nil {
		return nil, err
	}
	var roleIDs []int64
	for _, a := range admins {
		roleIDs = append(roleIDs, a.RoleIDs...)
	}
	roles, err := findRoles(ctx, tx, roleIDs)
	if err != nil {
		return nil, err
	}
	list := make([]held, len(admins))
	for i, a := range admins {
		list[i] = held{a.ID, slices.DeleteFunc(slices.Clone(roles), func(role store.AdminRole) bool { return !slices.Contains(a.RoleIDs, role.ID) })}
	}
	return list, nil
}

// mayChange returns an error for administrators whose rank is not below the requester's, except the
// requester itself.
func (r requester) mayChange(ctx context.Context, tx store.Tx, adminIDs []int64) error {
	admins, err := loadHeld(ctx, tx, adminIDs)
	if err != nil {
		return err
	}
	for _, a := range admins {
		if a.id == r.id {
			continue
		}
		if rank := effectiveRank(a.roles); rank >= r.rank {
			return unauthorized("the rank %d of administrator %d is not below your rank %d", rank, a.id, r.rank)
		}
	}
	return nil
}

// mayTakeOver returns an error for administrators with a permission that the requester lacks,
// because setting a password gives access to the account. For the same reason, a token with fewer
// permissions than its owner cannot change the owner's password.
func (r requester) mayTakeOver(ctx context.Context, tx store.Tx, adminIDs []int64) error {
	admins, err := loadHeld(ctx, tx, adminIDs)
	if err != nil {
		return err
	}
	for _, a := range admins {
		for _, role := range a.roles {
			if missing := r.missing(role.Permissions); len(missing) > 0 {
				return unauthorized("you cannot change the password of administrator %d, who has permissions that you lack: %v", a.id, missing)
			}
		}
	}
	return nil
}

// holds returns an error for permissions that the requester lacks.
func (r requester) holds(permissions []string) error {
	if missing := r.missing(permissions); len(missing) > 0 {
		return unauthorized("you cannot give permissions that you lack: %v", missing)
	}
	return nil
}

// missing returns the permissions that the requester lacks. Unknown names are ignored.
func (r requester) missing(permissions []string) []permission.Permission {
	var wanted []permission.Permission
	for _, p := range permissions {
		if permission.Known(permission.Permission(p)) {
			wanted = append(wanted, permission.Permission(p))
		}
	}
	return r.permissions.Missing(wanted)
}
