// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
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

// An AdminRoleFilter selects roles, by the rules of AdminFilter. Permissions matches a role that
// has any of them.
type AdminRoleFilter struct {
	IDs         []int64
	Names       []string
	Ranks       []int32
	Permissions []string
}

// An AdminRoleChange describes a change. Nil fields stay unchanged.
type AdminRoleChange struct {
	Name        *string
	Rank        *int32
	Permissions *[]string
}

var adminRoles = newTable("admin_role", "id name rank creation_date", func(r *AdminRole) []any {
	return []any{&r.ID, &r.Name, &r.Rank, (*millis)(&r.CreationDate)}
})

// An adminRolePermission is a permission of a role.
type adminRolePermission struct {
	roleID     int64
	permission string
}

var adminRolePermissions = newTable("admin_role_permission", "role_id permission", func(p *adminRolePermission) []any {
	return []any{&p.roleID, &p.permission}
})

// InsertAdminRoles stores new roles. It returns ErrDuplicateKey if an id exists.
func InsertAdminRoles(ctx context.Context, tx Tx, roles ...AdminRole) error {
	if len(roles) == 0 {
		return nil
	}
	var permissions []adminRolePermission
	for _, role := range roles {
		for _, permission := range uniqueSorted(role.Permissions) {
			permissions = append(permissions, adminRolePermission{role.ID, permission})
		}
	}
	if err := adminRoles.insert(ctx, tx, roles...); err != nil {
		return fmt.Errorf("insert admin roles: %w", err)
	}
	if err := adminRolePermissions.insert(ctx, tx, permissions...); err != nil {
		return fmt.Errorf("insert permissions of admin roles: %w", err)
	}
	for _, role := range roles {
		journalOf(tx).setOf(adminRoles.name, role.ID, nil, uniqueSorted(role.Permissions))
	}
	return BumpRevision(ctx, tx, RevisionAdmin)
}

func (f AdminRoleFilter) conditions() (c conditions) {
	anyOf(&c, "t.id", f.IDs)
	anyOf(&c, "t.name", f.Names)
	anyOf(&c, "t.rank", f.Ranks)
	if len(f.Permissions) > 0 {
		c.when("t.id IN (SELECT p.role_id FROM admin_role_permission AS p WHERE ?)", sqldb.In("p.permission", f.Permissions))
	}
	return c
}

// FindAdminRoles returns the roles that match the filter, ordered by id, in one statement.
func FindAdminRoles(ctx context.Context, r Reader, filter AdminRoleFilter, page Page) ([]AdminRole, error) {
	roles := []AdminRole{}
	// The permissions are sorted below: the order of text differs between engines and their
	// settings.
	statement := sqldb.New("SELECT "+adminRoles.list("r")+", p.permission FROM (?) AS r LEFT JOIN admin_role_permission AS p ON p.role_id = r.id ORDER BY r.id",
		pageOf(adminRoles.selected(filter.conditions()), page, "t.id"))
	err := sqldb.Query(ctx, r, statement, func(row sqldb.Row) error {
		role := AdminRole{Permissions: []string{}}
		var permission sql.NullString
		if err := row.Scan(append(adminRoles.fields(&role), &permission)...); err != nil {
			return err
		}
		if last := len(roles) - 1; last < 0 || roles[last].ID != role.ID {
			roles = append(roles, role)
		}
		if permission.Valid {
			last := &roles[len(roles)-1]
			last.Permissions = append(last.Permissions, permission.String)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find admin roles: %w", err)
	}
	for i := range roles {
		roles[i].Permissions = uniqueSorted(roles[i].Permissions)
	}
	return roles, nil
}

// CountAdminRoles returns how many roles match the filter.
func CountAdminRoles(ctx context.Context, r Reader, filter AdminRoleFilter) (int64, error) {
	return countRows(ctx, r, adminRoles.name, filter.conditions())
}

// UpdateAdminRoles changes the roles with the given ids. Modified counts those that differ
// afterwards.
func UpdateAdminRoles(ctx context.Context, tx Tx, ids []int64, change AdminRoleChange) (UpdateResult, error) {
	existing, err := sqldb.List[int64](ctx, tx, sqldb.New("SELECT t.id FROM admin_role AS t WHERE ? ORDER BY t.id", sqldb.In("t.id", ids)))
	if err != nil {
		return UpdateResult{}, fmt.Errorf("find admin roles to update: %w", err)
	}
	if len(existing) == 0 {
		return UpdateResult{}, nil
	}
	var columns columnChanges
	setIf(&columns, "name", change.Name)
	setIf(&columns, "rank", change.Rank)
	modified, err := columns.update(ctx, tx, adminRoles.name, "id", in("t.id", existing))
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

// replacePermissions gives every role exactly the wanted permissions and returns the roles for
// which that was a change.
func replacePermissions(ctx context.Context, tx Tx, roles []int64, wanted []string) ([]int64, error) {
	has, err := adminRolePermissions.find(ctx, tx, in("t.role_id", roles), Page{})
	if err != nil {
		return nil, err
	}
	current := map[int64][]string{}
	for _, p := range has {
		current[p.roleID] = append(current[p.roleID], p.permission)
	}
	for role, permissions := range current {
		current[role] = uniqueSorted(permissions)
	}
	changed := differing(roles, current, wanted)
	if len(changed) == 0 {
		return nil, nil
	}
	if _, err := deleteRows(ctx, tx, adminRolePermissions.name, in("t.role_id", changed)); err != nil {
		return nil, err
	}
	var permissions []adminRolePermission
	for _, role := range changed {
		journalOf(tx).setOf(adminRoles.name, role, current[role], wanted)
		for _, permission := range wanted {
			permissions = append(permissions, adminRolePermission{role, permission})
		}
	}
	return changed, adminRolePermissions.insert(ctx, tx, permissions...)
}

// DeleteAdminRoles deletes the roles with the given ids and returns how many there were.
// Administrators keep the ids of deleted roles.
func DeleteAdminRoles(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deleteByID(ctx, tx, "admin_role", ids)
}
