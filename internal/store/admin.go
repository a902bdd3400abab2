// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"
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

// An AdminFilter selects administrators. An empty field is no restriction; a value matches when it is any of the
// field's; all fields must match.
type AdminFilter struct {
	IDs        []int64
	LoginNames []string
	RoleIDs    []int64
}

// An AdminChange says what to change. A nil field stays as it is.
type AdminChange struct {
	LoginName   *string
	Password    *[]byte
	DisplayName *string
	RoleIDs     *[]int64
}

type adminRow struct {
	bun.BaseModel    `bun:"table:admin,alias:a"`
	ID               int64  `bun:"id,pk"`
	LoginName        string `bun:"login_name"`
	Password         []byte `bun:"password"`
	DisplayName      string `bun:"display_name"`
	RegistrationDate int64  `bun:"registration_date"`
}

type adminRoleMemberRow struct {
	bun.BaseModel `bun:"table:admin_role_member,alias:m"`
	AdminID       int64 `bun:"admin_id,pk"`
	RoleID        int64 `bun:"role_id,pk"`
}

// InsertAdmins stores new administrators. An id or a login name that exists is an ErrDuplicateKey.
func InsertAdmins(ctx context.Context, tx Tx, admins ...Admin) error {
	if len(admins) == 0 {
		return nil
	}
	var rows []adminRow
	var members []adminRoleMemberRow
	for _, admin := range admins {
		rows = append(rows, adminRow{
			ID:               admin.ID,
			LoginName:        admin.LoginName,
			Password:         bytesOf(admin.Password),
			DisplayName:      admin.DisplayName,
			RegistrationDate: admin.RegistrationDate.UnixMilli(),
		})
		for _, role := range uniqueSorted(admin.RoleIDs) {
			members = append(members, adminRoleMemberRow{AdminID: admin.ID, RoleID: role})
		}
	}
	if err := insertRows(ctx, tx, rows); err != nil {
		return fmt.Errorf("insert admins: %w", err)
	}
	if err := insertRows(ctx, tx, members); err != nil {
		return fmt.Errorf("insert roles of admins: %w", err)
	}
	return BumpRevision(ctx, tx, RevisionAdmin)
}

// insertRows inserts any number of rows of one table.
func insertRows[R any](ctx context.Context, tx Tx, rows []R) error {
	for chunk := range slices.Chunk(rows, insertChunk) {
		if _, err := tx.NewInsert().Model(&chunk).Returning("NULL").Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (f AdminFilter) apply(r Reader, query *bun.SelectQuery) *bun.SelectQuery {
	if len(f.IDs) > 0 {
		query = query.Where("?", In(r.Engine(), "a.id", f.IDs))
	}
	if len(f.LoginNames) > 0 {
		query = query.Where("?", In(r.Engine(), "a.login_name", f.LoginNames))
	}
	if len(f.RoleIDs) > 0 {
		query = query.Where("a.id IN (SELECT m.admin_id FROM admin_role_member AS m WHERE ?)", In(r.Engine(), "m.role_id", f.RoleIDs))
	}
	return query
}

// FindAdmins returns the administrators that match the filter, ordered by id. It is one statement, so that the roles
// belong to the same moment as the rest.
func FindAdmins(ctx context.Context, r Reader, filter AdminFilter, page Page) ([]Admin, error) {
	selected := filter.apply(r, r.NewSelect().Model((*adminRow)(nil)))
	var rows []struct {
		adminRow
		RoleID sql.NullInt64 `bun:"role_id"`
	}
	err := r.NewSelect().
		TableExpr("(?) AS a", page.apply(selected, "a.id")).
		ColumnExpr("a.id, a.login_name, a.password, a.display_name, a.registration_date, m.role_id").
		Join("LEFT JOIN admin_role_member AS m ON m.admin_id = a.id").
		OrderExpr("a.id ASC, m.role_id ASC").
		Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("find admins: %w", translate(err))
	}
	admins := []Admin{}
	for _, row := range rows {
		if len(admins) == 0 || admins[len(admins)-1].ID != row.ID {
			admins = append(admins, Admin{
				ID:               row.ID,
				LoginName:        row.LoginName,
				Password:         bytesOf(row.Password),
				DisplayName:      row.DisplayName,
				RegistrationDate: time.UnixMilli(row.RegistrationDate).UTC(),
				RoleIDs:          []int64{},
			})
		}
		if row.RoleID.Valid {
			admin := &admins[len(admins)-1]
			admin.RoleIDs = append(admin.RoleIDs, row.RoleID.Int64)
		}
	}
	return admins, nil
}

// CountAdmins returns how many administrators match the filter.
func CountAdmins(ctx context.Context, r Reader, filter AdminFilter) (int64, error) {
	var count int64
	err := filter.apply(r, r.NewSelect().TableExpr("admin AS a").ColumnExpr("count(*)")).Scan(ctx, &count)
	if err != nil {
		return 0, fmt.Errorf("count admins: %w", translate(err))
	}
	return count, nil
}

// AnyAdminWithRole reports whether an administrator has one of the roles.
func AnyAdminWithRole(ctx context.Context, r Reader, roleIDs ...int64) (bool, error) {
	var count int64
	some := r.NewSelect().TableExpr("admin_role_member AS m").ColumnExpr("1").Where("?", In(r.Engine(), "m.role_id", roleIDs)).Limit(1)
	if err := r.NewSelect().TableExpr("(?) AS x", some).ColumnExpr("count(*)").Scan(ctx, &count); err != nil {
		return false, fmt.Errorf("look for admins with a role: %w", translate(err))
	}
	return count > 0, nil
}

// UpdateAdmins changes the administrators with the given ids. Modified counts those that differ afterwards.
func UpdateAdmins(ctx context.Context, tx Tx, ids []int64, change AdminChange) (UpdateResult, error) {
	var existing []int64
	err := tx.NewSelect().TableExpr("admin AS a").Column("a.id").Where("?", In(tx.Engine(), "a.id", ids)).Order("a.id").Scan(ctx, &existing)
	if err != nil {
		return UpdateResult{}, fmt.Errorf("find admins to update: %w", translate(err))
	}
	if len(existing) == 0 {
		return UpdateResult{}, nil
	}
	fields := fieldChanges{}
	if change.LoginName != nil {
		fields.add("login_name", *change.LoginName)
	}
	if change.Password != nil {
		fields.add("password", bytesOf(*change.Password))
	}
	if change.DisplayName != nil {
		fields.add("display_name", *change.DisplayName)
	}
	modified, err := fields.update(ctx, tx, "admin", existing)
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

// updated bumps the revision if anything was modified and counts.
func updated(ctx context.Context, tx Tx, matched, modified []int64) (UpdateResult, error) {
	modified = uniqueSorted(modified)
	if len(modified) > 0 {
		if err := BumpRevision(ctx, tx, RevisionAdmin); err != nil {
			return UpdateResult{}, err
		}
	}
	return UpdateResult{Matched: int64(len(matched)), Modified: int64(len(modified))}, nil
}

// replaceRoles gives every admin exactly the wanted roles and returns the admins for which that was a change.
func replaceRoles(ctx context.Context, tx Tx, admins, wanted []int64) ([]int64, error) {
	var rows []adminRoleMemberRow
	err := tx.NewSelect().Model(&rows).Where("?", In(tx.Engine(), "m.admin_id", admins)).Order("m.admin_id", "m.role_id").Scan(ctx)
	if err != nil {
		return nil, translate(err)
	}
	current := map[int64][]int64{}
	for _, row := range rows {
		current[row.AdminID] = append(current[row.AdminID], row.RoleID)
	}
	changed := differing(admins, current, wanted)
	if len(changed) == 0 {
		return nil, nil
	}
	if _, err := tx.NewDelete().TableExpr("admin_role_member AS m").Where("?", In(tx.Engine(), "m.admin_id", changed)).Exec(ctx); err != nil {
		return nil, err
	}
	var members []adminRoleMemberRow
	for _, admin := range changed {
		for _, role := range wanted {
			members = append(members, adminRoleMemberRow{AdminID: admin, RoleID: role})
		}
	}
	return changed, insertRows(ctx, tx, members)
}

// differing returns the owners whose current set is not the wanted one. Sets are sorted.
func differing[K Key](owners []int64, current map[int64][]K, wanted []K) []int64 {
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

func deleteByID(ctx context.Context, tx Tx, table string, ids []int64) (int64, error) {
	result, err := tx.NewDelete().TableExpr("? AS t", bun.Ident(table)).Where("?", In(tx.Engine(), "t.id", ids)).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("delete from %q: %w", table, err)
	}
	count, err := result.RowsAffected()
	if err != nil || count == 0 {
		return 0, err
	}
	return count, BumpRevision(ctx, tx, RevisionAdmin)
}

// fieldChanges are the columns that an update sets.
type fieldChanges struct {
	columns []string
	values  []any
}

func (c *fieldChanges) add(column string, value any) {
	c.columns = append(c.columns, column)
	c.values = append(c.values, value)
}

// update sets the columns where one of them differs and returns the ids of those rows.
func (c *fieldChanges) update(ctx context.Context, tx Tx, table string, ids []int64) ([]int64, error) {
	if len(c.columns) == 0 {
		return nil, nil
	}
	query := tx.NewUpdate().TableExpr("? AS t", bun.Ident(table)).Where("?", In(tx.Engine(), "t.id", ids)).Returning("id")
	for i, column := range c.columns {
		query = query.Set("? = ?", bun.Ident(column), c.values[i])
	}
	query = query.WhereGroup(" AND ", func(q *bun.UpdateQuery) *bun.UpdateQuery {
		for i, column := range c.columns {
			q = q.WhereOr("? <> ?", bun.Ident("t."+column), c.values[i])
		}
		return q
	})
	var changed []int64
	err := query.Scan(ctx, &changed)
	return changed, translate(err)
}
