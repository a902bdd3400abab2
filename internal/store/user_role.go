// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"math"
)

// DefaultUserRoleID is the id of the role of users who have no other.
const DefaultUserRoleID int64 = 0

// UnlimitedGroups is the limit of a role that sets none.
const UnlimitedGroups int32 = math.MaxInt32

// A UserRole says which groups its users may create and how many they may own.
type UserRole struct {
	ID   int64
	Name *string
	// CreatableGroupTypeIDs is a set, in ascending order when read.
	CreatableGroupTypeIDs           []int64
	OwnedGroupLimit                 int32
	OwnedGroupLimitForEachGroupType int32
	// GroupTypeIDToLimit replaces OwnedGroupLimitForEachGroupType for some types.
	GroupTypeIDToLimit map[int64]int32
}

// DefaultUserRole is the role that a new database has.
func DefaultUserRole() UserRole {
	return UserRole{
		ID: DefaultUserRoleID, Name: new("default"), CreatableGroupTypeIDs: []int64{0},
		OwnedGroupLimit: UnlimitedGroups, OwnedGroupLimitForEachGroupType: UnlimitedGroups, GroupTypeIDToLimit: map[int64]int32{},
	}
}

// A UserRoleChange describes a change. Nil fields stay unchanged.
type UserRoleChange struct {
	Name                            *string
	CreatableGroupTypeIDs           *[]int64
	OwnedGroupLimit                 *int32
	OwnedGroupLimitForEachGroupType *int32
	GroupTypeIDToLimit              *map[int64]int32
}

const userRoleTable = "user_role"

var userRoles = newTable(userRoleTable, "id name creatable_group_type_ids owned_group_limit owned_group_limit_for_each_group_type "+
	"group_type_id_to_limit", func(r *UserRole) []any {
	return []any{
		&r.ID, &r.Name, typeIDs(&r.CreatableGroupTypeIDs), &r.OwnedGroupLimit, &r.OwnedGroupLimitForEachGroupType, typeLimits(&r.GroupTypeIDToLimit),
	}
})

func typeIDs(field *[]int64) document[[]int64] {
	return document[[]int64]{field, func(ids []int64) any { return append([]int64{}, uniqueSorted(ids)...) }}
}

func typeLimits(field *map[int64]int32) document[map[int64]int32] {
	return document[map[int64]int32]{field, func(limits map[int64]int32) any {
		if limits == nil {
			return map[int64]int32{}
		}
		return limits
	}}
}

// InsertUserRoles stores new roles. It returns ErrDuplicateKey if an id exists.
func InsertUserRoles(ctx context.Context, tx Tx, roles ...UserRole) error {
	if err := userRoles.insert(ctx, tx, roles...); err != nil {
		return fmt.Errorf("insert user roles: %w", err)
	}
	return nil
}

// FindUserRoles returns the roles with the given ids, or all of them without ids, ordered by id.
func FindUserRoles(ctx context.Context, r Reader, ids []int64, page Page) ([]UserRole, error) {
	var list conditions
	anyOf(&list, "t.id", ids)
	roles, err := userRoles.find(ctx, r, list, page, "t.id")
	if err != nil {
		return nil, fmt.Errorf("find user roles: %w", err)
	}
	return roles, nil
}

// CountUserRoles returns how many roles there are.
func CountUserRoles(ctx context.Context, r Reader) (int64, error) {
	return countRows(ctx, r, userRoleTable, nil)
}

// UpdateUserRoles changes the roles with the given ids. Modified counts those that differ
// afterwards.
func UpdateUserRoles(ctx context.Context, tx Tx, ids []int64, change UserRoleChange) (UpdateResult, error) {
	where := in("t.id", ids)
	var columns columnChanges
	setIf(&columns, "name", change.Name)
	if change.CreatableGroupTypeIDs != nil {
		columns.setField("creatable_group_type_ids", typeIDs(change.CreatableGroupTypeIDs))
	}
	setIf(&columns, "owned_group_limit", change.OwnedGroupLimit)
	setIf(&columns, "owned_group_limit_for_each_group_type", change.OwnedGroupLimitForEachGroupType)
	if change.GroupTypeIDToLimit != nil {
		columns.setField("group_type_id_to_limit", typeLimits(change.GroupTypeIDToLimit))
	}
	result, _, err := columns.updateMatched(ctx, tx, userRoleTable, "id", where)
	return result, err
}

// DeleteUserRoles deletes the roles with the given ids and returns how many there were. Users keep
// the ids of deleted roles.
func DeleteUserRoles(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deleteRows(ctx, tx, userRoleTable, in("t.id", ids))
}
