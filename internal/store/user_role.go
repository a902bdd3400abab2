// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/uptrace/bun"
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

// A UserRoleChange says what to change. A nil field stays as it is.
type UserRoleChange struct {
	Name                            *string
	CreatableGroupTypeIDs           *[]int64
	OwnedGroupLimit                 *int32
	OwnedGroupLimitForEachGroupType *int32
	GroupTypeIDToLimit              *map[int64]int32
}

const userRoleTable = "user_role"

type userRoleRow struct {
	bun.BaseModel                   `bun:"table:user_role,alias:t"`
	ID                              int64   `bun:"id,pk"`
	Name                            *string `bun:"name"`
	CreatableGroupTypeIDs           string  `bun:"creatable_group_type_ids"`
	OwnedGroupLimit                 int32   `bun:"owned_group_limit"`
	OwnedGroupLimitForEachGroupType int32   `bun:"owned_group_limit_for_each_group_type"`
	GroupTypeIDToLimit              string  `bun:"group_type_id_to_limit"`
}

// InsertUserRoles stores new roles. An id that exists is an ErrDuplicateKey.
func InsertUserRoles(ctx context.Context, tx Tx, roles ...UserRole) error {
	rows := make([]userRoleRow, len(roles))
	for i, role := range roles {
		rows[i] = userRoleRow{
			ID: role.ID, Name: role.Name, CreatableGroupTypeIDs: idsText(role.CreatableGroupTypeIDs), OwnedGroupLimit: role.OwnedGroupLimit,
			OwnedGroupLimitForEachGroupType: role.OwnedGroupLimitForEachGroupType, GroupTypeIDToLimit: limitsText(role.GroupTypeIDToLimit),
		}
	}
	if err := insertRows(ctx, tx, rows); err != nil {
		return fmt.Errorf("insert user roles: %w", err)
	}
	return nil
}

// idsText is the one form that a set of ids is stored in, so that equal sets are equal texts.
func idsText(ids []int64) string {
	if len(ids) == 0 {
		return "[]"
	}
	return mustJSON(uniqueSorted(ids))
}

func limitsText(limits map[int64]int32) string {
	if len(limits) == 0 {
		return "{}"
	}
	return mustJSON(limits)
}

// mustJSON is for numbers, which always have a JSON form.
func mustJSON(value any) string {
	document, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(document)
}

// FindUserRoles returns the roles with the given ids, or all of them without ids, ordered by id.
func FindUserRoles(ctx context.Context, r Reader, ids []int64, page Page) ([]UserRole, error) {
	var list conditions
	anyOf(&list, r.Engine(), "t.id", ids)
	var rows []userRoleRow
	if err := pageOf(whereAll(r.NewSelect().Model(&rows), list), page, "t.id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("find user roles: %w", translate(err))
	}
	roles := make([]UserRole, len(rows))
	for i, row := range rows {
		roles[i] = UserRole{
			ID: row.ID, Name: row.Name, CreatableGroupTypeIDs: []int64{}, OwnedGroupLimit: row.OwnedGroupLimit,
			OwnedGroupLimitForEachGroupType: row.OwnedGroupLimitForEachGroupType, GroupTypeIDToLimit: map[int64]int32{},
		}
		if err := json.Unmarshal([]byte(row.CreatableGroupTypeIDs), &roles[i].CreatableGroupTypeIDs); err != nil {
			return nil, fmt.Errorf("read the group types of user role %d: %w", row.ID, err)
		}
		if err := json.Unmarshal([]byte(row.GroupTypeIDToLimit), &roles[i].GroupTypeIDToLimit); err != nil {
			return nil, fmt.Errorf("read the limits of user role %d: %w", row.ID, err)
		}
	}
	return roles, nil
}

// CountUserRoles returns how many roles there are.
func CountUserRoles(ctx context.Context, r Reader) (int64, error) {
	return countRows(ctx, r, userRoleTable, nil)
}

// UpdateUserRoles changes the roles with the given ids. Modified counts those that differ afterwards.
func UpdateUserRoles(ctx context.Context, tx Tx, ids []int64, change UserRoleChange) (UpdateResult, error) {
	where := conditions{In(tx.Engine(), "t.id", ids)}
	matched, err := countRows(ctx, tx, userRoleTable, where)
	if err != nil || matched == 0 {
		return UpdateResult{}, err
	}
	var columns columnChanges
	setIf(&columns, "name", change.Name)
	if change.CreatableGroupTypeIDs != nil {
		columns.set("creatable_group_type_ids", idsText(*change.CreatableGroupTypeIDs))
	}
	setIf(&columns, "owned_group_limit", change.OwnedGroupLimit)
	setIf(&columns, "owned_group_limit_for_each_group_type", change.OwnedGroupLimitForEachGroupType)
	if change.GroupTypeIDToLimit != nil {
		columns.set("group_type_id_to_limit", limitsText(*change.GroupTypeIDToLimit))
	}
	modified, err := columns.update(ctx, tx, userRoleTable, "id", where)
	if err != nil {
		return UpdateResult{}, err
	}
	return UpdateResult{Matched: matched, Modified: int64(len(modified))}, nil
}

// DeleteUserRoles deletes the roles with the given ids and returns how many there were. Users keep the ids of deleted
// roles.
func DeleteUserRoles(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deleteRows(ctx, tx, userRoleTable, conditions{In(tx.Engine(), "t.id", ids)})
}
