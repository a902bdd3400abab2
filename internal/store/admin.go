// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"example.org/app/internal/store/sqldb"
)

// An Admin is an administrator. Password is an opaque hash.
type Admin struct {
	ID               int64
	LoginName        string
	Password         []byte
	DisplayName      string
	RegistrationDate time.Time
	// RoleIDs is a set, in ascending order when read. A role need not exist.
	RoleIDs []int64
}

// An AdminFilter selects administrators. Empty fields do not restrict; all others must match, with
// any of their values.
type AdminFilter struct {
	IDs        []int64
	LoginNames []string
	RoleIDs    []int64
}

// An AdminChange describes a change. Nil fields stay unchanged.
type AdminChange struct {
	LoginName   *string
	Password    *[]byte
	DisplayName *string
	RoleIDs     *[]int64
}

var admins = newTable("admin", "id login_name password display_name registration_date", func(a *Admin) []any {
	return []any{&a.ID, &a.LoginName, (*blob)(&a.Password), &a.DisplayName, (*millis)(&a.RegistrationDate)}
})

// An adminRoleMember is a role of an administrator.
type adminRoleMember struct{ adminID, roleID int64 }

var adminRoleMembers = newTable("admin_role_member", "admin_id role_id", func(m *adminRoleMember) []any {
	return []any{&m.adminID, &m.roleID}
})

// InsertAdmins stores new administrators. It returns ErrDuplicateKey if an id or a login name
// exists.
func InsertAdmins(ctx context.Context, tx Tx, list ...Admin) error {
	if len(list) == 0 {
		return nil
	}
	var members []adminRoleMember
	for _, admin := range list {
		for _, role := range uniqueSorted(admin.RoleIDs) {
			members = append(members, adminRoleMember{admin.ID, role})
		}
	}
	if err := admins.insert(ctx, tx, list...); err != nil {
		return fmt.Errorf("insert admins: %w", err)
	}
	if err := adminRoleMembers.insert(ctx, tx, members...); err != nil {
		return fmt.Errorf("insert roles of admins: %w", err)
	}
	for _, admin := range list {
		journalOf(tx).setOf(admins.name, admin.ID, nil, uniqueSorted(admin.RoleIDs))
	}
	return BumpRevision(ctx, tx, RevisionAdmin)
}

func (f AdminFilter) conditions() (c conditions) {
	anyOf(&c, "t.id", f.IDs)
	anyOf(&c, "t.login_name", f.LoginNames)
	if len(f.RoleIDs) > 0 {
		c.when("t.id IN (SELECT m.admin_id FROM admin_role_member AS m WHERE ?)", sqldb.In("m.role_id", f.RoleIDs))
	}
	return c
}

// FindAdmins returns the administrators that match the filter, ordered by id. It is one statement,
// so that the roles belong to the same moment as the rest.
func FindAdmins(ctx context.Context, r Reader, filter AdminFilter, page Page) ([]Admin, error) {
	found := []Admin{}
	statement := sqldb.New("SELECT "+admins.list("a")+", m.role_id FROM (?) AS a LEFT JOIN admin_role_member AS m ON m.admin_id = a.id ORDER BY a.id, m.role_id",
		pageOf(admins.selected(filter.conditions()), page, "t.id"))
	err := sqldb.Query(ctx, r, statement, func(row sqldb.Row) error {
		admin := Admin{RoleIDs: []int64{}}
		var role sql.NullInt64
		if err := row.Scan(append(admins.fields(&admin), &role)...); err != nil {
			return err
		}
		if last := len(found) - 1; last < 0 || found[last].ID != admin.ID {
			found = append(found, admin)
		}
		if role.Valid {
			last := &found[len(found)-1]
			last.RoleIDs = append(last.RoleIDs, role.Int64)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find admins: %w", err)
	}
	return found, nil
}

// CountAdmins returns how many administrators match the filter.
func CountAdmins(ctx context.Context, r Reader, filter AdminFilter) (int64, error) {
	return countRows(ctx, r, admins.name, filter.conditions())
}

// AnyAdminWithRole reports whether an administrator has one of the roles.
func AnyAdminWithRole(ctx context.Context, r Reader, roleIDs ...int64) (bool, error) {
	found, err := sqldb.List[int64](ctx, r, sqldb.New("SELECT 1 FROM admin_role_member AS m WHERE ? LIMIT 1", sqldb.In("m.role_id", roleIDs)))
	if err != nil {
		return false, fmt.Errorf("look for admins with a role: %w", err)
	}
	return len(found) > 0, nil
}

// UpdateAdmins changes the administrators with the given ids. Modified counts those that differ
// afterwards.
func UpdateAdmins(ctx context.Context, tx Tx, ids []int64, change AdminChange) (UpdateResult, error) {
	existing, err := sqldb.List[int64](ctx, tx, sqldb.New("SELECT t.id FROM admin AS t WHERE ? ORDER BY t.id", sqldb.In("t.id", ids)))
	if err != nil {
		return UpdateResult{}, fmt.Errorf("find admins to update: %w", err)
	}
	if len(existing) == 0 {
		return UpdateResult{}, nil
	}
	var columns columnChanges
	setIf(&columns, "login_name", change.LoginName)
	if change.Password != nil {
		columns.set("password", bytesOf(*change.Password))
	}
	setIf(&columns, "display_name", change.DisplayName)
	modified, err := columns.update(ctx, tx, admins.name, "id", in("t.id", existing))
	if err == nil && change.RoleIDs != nil {
		var replaced []int64
		replaced, err = replaceRoles(ctx, tx, existing, uniqueSorted(*change.RoleIDs))
		modified = append(modified, replaced...)
	}
	if err != nil {
		return UpdateResult{}, fmt.Errorf("update admins: %w", err)
	}
	return updated(ctx, tx, existing, modified)
}

// updated increments the revision if anything was modified, and returns the counts.
func updated(ctx context.Context, tx Tx, matched, modified []int64) (UpdateResult, error) {
	modified = uniqueSorted(modified)
	if len(modified) > 0 {
		if err := BumpRevision(ctx, tx, RevisionAdmin); err != nil {
			return UpdateResult{}, err
		}
	}
	return UpdateResult{Matched: int64(len(matched)), Modified: int64(len(modified))}, nil
}

// replaceRoles gives every admin exactly the wanted roles and returns the admins for which that was
// a change.
func replaceRoles(ctx context.Context, tx Tx, owners, wanted []int64) ([]int64, error) {
	has, err := adminRoleMembers.find(ctx, tx, in("t.admin_id", owners), Page{}, "t.admin_id", "t.role_id")
	if err != nil {
		return nil, err
	}
	current := map[int64][]int64{}
	for _, member := range has {
		current[member.adminID] = append(current[member.adminID], member.roleID)
	}
	changed := differing(owners, current, wanted)
	if len(changed) == 0 {
		return nil, nil
	}
	if _, err := deleteRows(ctx, tx, adminRoleMembers.name, in("t.admin_id", changed)); err != nil {
		return nil, err
	}
	var members []adminRoleMember
	for _, admin := range changed {
		journalOf(tx).setOf(admins.name, admin, current[admin], wanted)
		for _, role := range wanted {
			members = append(members, adminRoleMember{admin, role})
		}
	}
	return changed, adminRoleMembers.insert(ctx, tx, members...)
}

// differing returns the owners whose current set differs from the wanted one. Sets are sorted.
func differing[K sqldb.Key](owners []int64, current map[int64][]K, wanted []K) []int64 {
	var changed []int64
	for _, owner := range owners {
		if !slices.Equal(current[owner], wanted) {
			changed = append(changed, owner)
		}
	}
	return changed
}

// DeleteAdmins deletes the administrators with the given ids and returns how many there were.
func DeleteAdmins(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deleteByID(ctx, tx, "admin", ids)
}

// deleteByID deletes administrators or roles and increments their revision if there were any.
func deleteByID(ctx context.Context, tx Tx, table string, ids []int64) (int64, error) {
	count, err := deleteRows(ctx, tx, table, in("t.id", ids))
	if err != nil || count == 0 {
		return 0, err
	}
	return count, BumpRevision(ctx, tx, RevisionAdmin)
}
