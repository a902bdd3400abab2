// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// An AdminRole is a named set of permissions that administrators have.
type AdminRole struct {
	ID   int64
	Name string
	Rank int32
	// Permissions is a set of names, in ascending order when read.
	Permissions  []string
	CreationDate time.Time
}

// An AdminRoleFilter selects roles, by the rules of AdminFilter. Permissions matches a role that has any of them.
type AdminRoleFilter struct {
	IDs         []int64
	Names       []string
	Ranks       []int32
	Permissions []string
}

// An AdminRoleChange says what to change. A nil field stays as it is.
type AdminRoleChange struct {
	Name        *string
	Rank        *int32
	Permissions *[]string
}

type adminRoleRow struct {
	bun.BaseModel `bun:"table:admin_role,alias:r"`
	ID            int64  `bun:"id,pk"`
	Name          string `bun:"name"`
	Rank          int32  `bun:"rank"`
	CreationDate  int64  `bun:"creation_date"`
}

type adminRolePermissionRow struct {
	bun.BaseModel `bun:"table:admin_role_permission,alias:p"`
	RoleID        int64  `bun:"role_id,pk"`
	Permission    string `bun:"permission,pk"`
}

// InsertAdminRoles stores new roles. An id that exists is an ErrDuplicateKey.
func InsertAdminRoles(ctx context.Context, tx Tx, roles ...AdminRole) error {
	if len(roles) == 0 {
		return nil
	}
	var rows []adminRoleRow
	var permissions []adminRolePermissionRow
	for _, role := range roles {
		rows = append(rows, adminRoleRow{ID: role.ID, Name: role.Name, Rank: role.Rank, CreationDate: role.CreationDate.UnixMilli()})
		for _, permission := range uniqueSorted(role.Permissions) {
			permissions = append(permissions, adminRolePermissionRow{RoleID: role.ID, Permission: permission})
		}
	}
	if err := insertRows(ctx, tx, rows); err != nil {
		return fmt.Errorf("insert admin roles: %w", err)
	}
	if err := insertRows(ctx, tx, permissions); err != nil {
		return fmt.Errorf("insert permissions of admin roles: %w", err)
	}
	return BumpRevision(ctx, tx, RevisionAdmin)
}

func (f AdminRoleFilter) apply(r Reader, query *bun.SelectQuery) *bun.SelectQuery {
	if len(f.IDs) > 0 {
		query = query.Where("?", In(r.Engine(), "r.id", f.IDs))
	}
	if len(f.Names) > 0 {
		query = query.Where("?", In(r.Engine(), "r.name", f.Names))
	}
	if len(f.Ranks) > 0 {
		query = query.Where("?", In(r.Engine(), "r.rank", f.Ranks))
	}
	if len(f.Permissions) > 0 {
		query = query.Where("r.id IN (SELECT p.role_id FROM admin_role_permission AS p WHERE ?)", In(r.Engine(), "p.permission", f.Permissions))
	}
	return query
}

// FindAdminRoles returns the roles that match the filter, ordered by id, in one statement.
func FindAdminRoles(ctx context.Context, r Reader, filter AdminRoleFilter, page Page) ([]AdminRole, error) {
	selected := filter.apply(r, r.NewSelect().Model((*adminRoleRow)(nil)))
	var rows []struct {
		adminRoleRow
		Permission sql.NullString `bun:"permission"`
	}
	// The permissions are sorted below: the order of text differs between engines and their settings.
	err := r.NewSelect().
		TableExpr("(?) AS r", page.apply(selected, "r.id")).
		ColumnExpr("r.id, r.name, r.rank, r.creation_date, p.permission").
		Join("LEFT JOIN admin_role_permission AS p ON p.role_id = r.id").
		OrderExpr("r.id ASC").
		Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("find admin roles: %w", translate(err))
	}
	roles := []AdminRole{}
	for _, row := range rows {
		if len(roles) == 0 || roles[len(roles)-1].ID != row.ID {
			roles = append(roles, AdminRole{
				ID: row.ID, Name: row.Name, Rank: row.Rank, Permissions: []string{},
				CreationDate: time.UnixMilli(row.CreationDate).UTC(),
			})
		}
		if row.Permission.Valid {
			role := &roles[len(roles)-1]
			role.Permissions = append(role.Permissions, row.Permission.String)
		}
	}
	for i := range roles {
		roles[i].Permissions = uniqueSorted(roles[i].Permissions)
	}
	return roles, nil
}

// CountAdminRoles returns how many roles match the filter.
func CountAdminRoles(ctx context.Context, r Reader, filter AdminRoleFilter) (int64, error) {
	var count int64
	err := filter.apply(r, r.NewSelect().TableExpr("admin_role AS r").ColumnExpr("count(*)")).Scan(ctx, &count)
	if err != nil {
		return 0, fmt.Errorf("count admin roles: %w", translate(err))
	}
	return count, nil
}

// UpdateAdminRoles changes the roles with the given ids. Modified counts those that differ afterwards.
func UpdateAdminRoles(ctx context.Context, tx Tx, ids []int64, change AdminRoleChange) (UpdateResult, error) {
	var existing []int64
	err := tx.NewSelect().TableExpr("admin_role AS r").Column("r.id").Where("?", In(tx.Engine(), "r.id", ids)).Order("r.id").Scan(ctx, &existing)
	if err != nil {
		return UpdateResult{}, fmt.Errorf("find admin roles to update: %w", translate(err))
	}
	if len(existing) == 0 {
		return UpdateResult{}, nil
	}
	fields := fieldChanges{}
	if change.Name != nil {
		fields.add("name", *change.Name)
	}
	if change.Rank != nil {
		fields.add("rank", *change.Rank)
	}
	modified, err := fields.update(ctx, tx, "admin_role", existing)
	if err == nil && change.Permissions != nil {
		var replaced []int64
		replaced, err = replacePermissions(ctx, tx, existing, uniqueSorted(*change.Permissions))
		modified = append(modified, replaced...)
	}
	if err != nil {
		return UpdateResult{}, fmt.Errorf("update admin roles: %w", err)
	}
	return updated(ctx, tx, existing, modified)
}

// replacePermissions gives every role exactly the wanted permissions and returns the roles for which that was a change.
func replacePermissions(ctx context.Context, tx Tx, roles []int64, wanted []string) ([]int64, error) {
	var rows []adminRolePermissionRow
	err := tx.NewSelect().Model(&rows).Where("?", In(tx.Engine(), "p.role_id", roles)).Scan(ctx)
	if err != nil {
		return nil, translate(err)
	}
	current := map[int64][]string{}
	for _, row := range rows {
		current[row.RoleID] = append(current[row.RoleID], row.Permission)
	}
	for role, permissions := range current {
		current[role] = uniqueSorted(permissions)
	}
	changed := differing(roles, current, wanted)
	if len(changed) == 0 {
		return nil, nil
	}
	if _, err := tx.NewDelete().TableExpr("admin_role_permission AS p").Where("?", In(tx.Engine(), "p.role_id", changed)).Exec(ctx); err != nil {
		return nil, err
	}
	var permissions []adminRolePermissionRow
	for _, role := range changed {
		for _, permission := range wanted {
			permissions = append(permissions, adminRolePermissionRow{RoleID: role, Permission: permission})
		}
	}
	return changed, insertRows(ctx, tx, permissions)
}

// DeleteAdminRoles deletes the roles with the given ids and returns how many there were. Administrators keep the ids
// of deleted roles.
func DeleteAdminRoles(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deleteByID(ctx, tx, "admin_role", ids)
}
