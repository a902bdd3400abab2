// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// A RelationshipKey names what one user knows about another.
type RelationshipKey struct{ OwnerID, RelatedUserID int64 }

// Reverse is the key of the other direction.
func (k RelationshipKey) Reverse() RelationshipKey {
	return RelationshipKey{k.RelatedUserID, k.OwnerID}
}

// A Relationship is what its owner knows about another user.
type Relationship struct {
	RelationshipKey

	Name *string
	// BlockDate is when the owner blocked the other; nil means not blocked.
	BlockDate         *time.Time
	EstablishmentDate time.Time
	// GroupIndexes are the owner's groups that the other is in, in ascending order. Only FindRelationshipsWithGroups fills
	// them in.
	GroupIndexes []int32
}

// A RelationshipFilter selects relationships. An empty field is no restriction; a value matches when it is any of the
// field's; all fields must match.
type RelationshipFilter struct {
	OwnerIDs, RelatedUserIDs []int64
	// GroupIndexes matches if the related user is in one of these groups of the owner.
	GroupIndexes  []int32
	IsBlocked     *bool
	Establishment DateRange
}

// A RelationshipChange says what to change. A nil field stays as it is.
type RelationshipChange struct {
	Name              *string
	BlockDate         *time.Time
	EstablishmentDate *time.Time
	// Unblock removes the block date.
	Unblock bool
}

const relationshipTable = "relationship"

type relationshipRow struct {
	bun.BaseModel     `bun:"table:relationship,alias:t"`
	OwnerID           int64   `bun:"owner_id,pk"`
	RelatedUserID     int64   `bun:"related_user_id,pk"`
	Name              *string `bun:"name"`
	BlockDate         *int64  `bun:"block_date"`
	EstablishmentDate int64   `bun:"establishment_date"`
}

func newRelationshipRow(r Relationship) relationshipRow {
	return relationshipRow{
		OwnerID: r.OwnerID, RelatedUserID: r.RelatedUserID, Name: r.Name,
		BlockDate: millisOrNull(r.BlockDate), EstablishmentDate: r.EstablishmentDate.UnixMilli(),
	}
}

func (row relationshipRow) relationship() Relationship {
	return Relationship{
		RelationshipKey: RelationshipKey{row.OwnerID, row.RelatedUserID}, Name: row.Name,
		BlockDate: timeOrNil(row.BlockDate), EstablishmentDate: time.UnixMilli(row.EstablishmentDate).UTC(),
	}
}

// relationshipIn is the condition that a row of a table that is called t belongs to one of the keys.
func relationshipIn(engine Engine, keys []RelationshipKey) conditions {
	pairs := make([]Pair, len(keys))
	for i, key := range keys {
		pairs[i] = Pair{key.OwnerID, key.RelatedUserID}
	}
	return conditions{InPairs(engine, [2]string{"t.owner_id", "t.related_user_id"}, pairs)}
}

// InsertRelationships stores new relationships, which are in no group yet. A key that exists is an ErrDuplicateKey.
func InsertRelationships(ctx context.Context, tx Tx, relationships ...Relationship) error {
	rows := make([]relationshipRow, len(relationships))
	for i, relationship := range relationships {
		rows[i] = newRelationshipRow(relationship)
	}
	if err := insertRows(ctx, tx, rows); err != nil {
		return fmt.Errorf("insert relationships: %w", err)
	}
	return nil
}

// Befriend stores a relationship or, if it exists, removes its block. It reports whether anything changed.
func Befriend(ctx context.Context, tx Tx, relationship Relationship) (changed bool, err error) {
	row := newRelationshipRow(relationship)
	row.BlockDate = nil
	result, err := tx.NewInsert().Model(&row).On("CONFLICT (owner_id, related_user_id) DO UPDATE").Set("block_date = NULL").
		Where("t.block_date IS NOT NULL").Returning("NULL").Exec(ctx)
	if err != nil {
		return false, fmt.Errorf("befriend user %d: %w", relationship.RelatedUserID, err)
	}
	count, err := result.RowsAffected()
	return count > 0, err
}

func (f RelationshipFilter) conditions(engine Engine) conditions {
	var list conditions
	anyOf(&list, engine, "t.owner_id", f.OwnerIDs)
	anyOf(&list, engine, "t.related_user_id", f.RelatedUserIDs)
	switch {
	case f.byGroup():
		list.and(bun.SafeQuery("m.group_index = ? AND t.owner_id = m.owner_id AND t.related_user_id = m.related_user_id", f.GroupIndexes[0]))
	case len(f.GroupIndexes) > 0:
		list.and(f.groupCondition(engine))
	}
	if f.IsBlocked != nil && *f.IsBlocked {
		list.and(bun.SafeQuery("t.block_date IS NOT NULL"))
	} else if f.IsBlocked != nil {
		list.and(bun.SafeQuery("t.block_date IS NULL"))
	}
	list.and(f.Establishment.conditions("t.establishment_date")...)
	return list
}

// groupCondition asks for each relationship whether it is in one of the groups if other fields select few of them, and
// otherwise collects those who are.
func (f RelationshipFilter) groupCondition(engine Engine) schema.QueryAppender {
	groups := In(engine, "m.group_index", f.GroupIndexes)
	if f.few() {
		return bun.SafeQuery("EXISTS (SELECT 1 FROM relationship_group_member AS m "+
			"WHERE m.owner_id = t.owner_id AND m.related_user_id = t.related_user_id AND ?)", groups)
	}
	return bun.SafeQuery("(t.owner_id, t.related_user_id) IN (SELECT m.owner_id, m.related_user_id FROM relationship_group_member AS m WHERE ?)", groups)
}

// few reports whether fields other than the groups lead to the relationships.
func (f RelationshipFilter) few() bool {
	return len(f.OwnerIDs) > 0 || len(f.RelatedUserIDs) > 0 || f.IsBlocked != nil && *f.IsBlocked || f.Establishment != (DateRange{})
}

// byGroup reports whether the members of one group lead to the relationships, in their order.
func (f RelationshipFilter) byGroup() bool { return len(f.GroupIndexes) == 1 && !f.few() }

// from is what the conditions are about. The cross join has SQLite begin with the members.
func (f RelationshipFilter) from() string {
	if f.byGroup() {
		return "relationship_group_member AS m CROSS JOIN relationship AS t"
	}
	return "relationship AS t"
}

// order returns the columns by which the relationships are ordered, in a table with this name.
func (f RelationshipFilter) order(table string) []string {
	return orderBy([]string{table + ".owner_id", table + ".related_user_id"}, datedColumn{table + ".establishment_date", f.Establishment})
}

// page returns a query for a page of the relationships that match.
func (f RelationshipFilter) page(r Reader, page Page) *bun.SelectQuery {
	query := r.NewSelect().TableExpr(f.from()).ColumnExpr("t.owner_id, t.related_user_id, t.name, t.block_date, t.establishment_date")
	order := f.order("t")
	if f.byGroup() {
		order = f.order("m")
	}
	return pageOf(whereAll(query, f.conditions(r.Engine())), page, order...)
}

// FindRelationships returns the relationships that match the filter, ordered by the establishment date, if the filter asks
// for it, owner and related user.
func FindRelationships(ctx context.Context, r Reader, filter RelationshipFilter, page Page) ([]Relationship, error) {
	var rows []relationshipRow
	if err := filter.page(r, page).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("find relationships: %w", translate(err))
	}
	relationships := make([]Relationship, len(rows))
	for i, row := range rows {
		relationships[i] = row.relationship()
	}
	return relationships, nil
}

// FindRelationshipsWithGroups is FindRelationships with the groups of each, in one statement.
func FindRelationshipsWithGroups(ctx context.Context, r Reader, filter RelationshipFilter, page Page) ([]Relationship, error) {
	var rows []struct {
		relationshipRow
		GroupIndex sql.NullInt32 `bun:"group_index"`
	}
	query := r.NewSelect().
		TableExpr("(?) AS t", filter.page(r, page)).
		ColumnExpr("t.owner_id, t.related_user_id, t.name, t.block_date, t.establishment_date, m.group_index").
		Join("LEFT JOIN relationship_group_member AS m ON m.owner_id = t.owner_id AND m.related_user_id = t.related_user_id")
	if err := pageOf(query, Page{}, append(filter.order("t"), "m.group_index")...).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("find relationships with their groups: %w", translate(err))
	}
	relationships := []Relationship{}
	for _, row := range rows {
		key := RelationshipKey{row.OwnerID, row.RelatedUserID}
		if len(relationships) == 0 || relationships[len(relationships)-1].RelationshipKey != key {
			relationship := row.relationship()
			relationship.GroupIndexes = []int32{}
			relationships = append(relationships, relationship)
		}
		if row.GroupIndex.Valid {
			last := &relationships[len(relationships)-1]
			last.GroupIndexes = append(last.GroupIndexes, row.GroupIndex.Int32)
		}
	}
	return relationships, nil
}

// FindRelationship returns one relationship, or nil if there is none.
func FindRelationship(ctx context.Context, r Reader, key RelationshipKey) (*Relationship, error) {
	found, err := FindRelationships(ctx, r, RelationshipFilter{OwnerIDs: []int64{key.OwnerID}, RelatedUserIDs: []int64{key.RelatedUserID}}, Page{})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// KnownUserIDsAfter returns the users whom the owner knows and has not blocked and whose ids are above a given one, in
// ascending order, at most limit of them. A nil id stands for the beginning, a limit of 0 for none.
func KnownUserIDsAfter(ctx context.Context, r Reader, owner int64, after *int64, limit int) ([]int64, error) {
	query := r.NewSelect().TableExpr("relationship AS t").Where("t.owner_id = ?", owner).Where("t.block_date IS NULL")
	return relatedUserIDsAfter(ctx, query, after, limit)
}

func relatedUserIDsAfter(ctx context.Context, query *bun.SelectQuery, after *int64, limit int) ([]int64, error) {
	ids := []int64{}
	query = query.Column("t.related_user_id").OrderExpr("t.related_user_id ASC")
	if limit > 0 {
		query = query.Limit(int64(limit))
	}
	if after != nil {
		query = query.Where("t.related_user_id > ?", *after)
	}
	if err := query.Scan(ctx, &ids); err != nil {
		return nil, fmt.Errorf("find ids of related users: %w", translate(err))
	}
	return ids, nil
}

// CountRelationships returns how many relationships match the filter.
func CountRelationships(ctx context.Context, r Reader, filter RelationshipFilter) (int64, error) {
	if filter.byGroup() && filter.IsBlocked == nil {
		// Every member is a related user.
		return countRows(ctx, r, "relationship_group_member", conditions{bun.SafeQuery("t.group_index = ?", filter.GroupIndexes[0])})
	}
	return countFrom(ctx, r, filter.from(), filter.conditions(r.Engine()))
}

// UpdateRelationships changes the relationships with the given keys. Modified counts those that differ afterwards; the
// owners of those are returned as well.
func UpdateRelationships(ctx context.Context, tx Tx, keys []RelationshipKey, change RelationshipChange) (UpdateResult, []int64, error) {
	where := relationshipIn(tx.Engine(), keys)
	matched, err := countRows(ctx, tx, relationshipTable, where)
	if err != nil || matched == 0 {
		return UpdateResult{}, nil, err
	}
	var columns columnChanges
	setIf(&columns, "name", change.Name)
	if change.Unblock || change.BlockDate != nil {
		columns.set("block_date", millisOrNull(change.BlockDate))
	}
	if change.EstablishmentDate != nil {
		columns.set("establishment_date", change.EstablishmentDate.UnixMilli())
	}
	owners, err := columns.update(ctx, tx, relationshipTable, "owner_id", where)
	if err != nil {
		return UpdateResult{}, nil, err
	}
	return UpdateResult{Matched: matched, Modified: int64(len(owners))}, uniqueSorted(owners), nil
}

// DeleteRelationships deletes the relationships with the given keys and the memberships of those. It returns the keys of
// what there was.
func DeleteRelationships(ctx context.Context, tx Tx, keys []RelationshipKey) ([]RelationshipKey, error) {
	return deleteRelationships(ctx, tx, relationshipIn(tx.Engine(), keys))
}

// DeleteRelationshipsOfUsers deletes the relationships of the users in both directions, with the memberships of those.
// It returns the keys of what there was.
func DeleteRelationshipsOfUsers(ctx context.Context, tx Tx, userIDs []int64) ([]RelationshipKey, error) {
	owned, err := deleteRelationships(ctx, tx, conditions{In(tx.Engine(), "t.owner_id", userIDs)})
	if err != nil {
		return nil, err
	}
	others, err := deleteRelationships(ctx, tx, conditions{In(tx.Engine(), "t.related_user_id", userIDs)})
	return append(owned, others...), err
}

func deleteRelationships(ctx context.Context, tx Tx, where conditions) ([]RelationshipKey, error) {
	var rows []relationshipRow
	err := whereAll(tx.NewDelete().TableExpr("relationship AS t"), where).Returning("owner_id, related_user_id").Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("delete relationships: %w", translate(err))
	}
	keys := make([]RelationshipKey, len(rows))
	for i, row := range rows {
		keys[i] = RelationshipKey{row.OwnerID, row.RelatedUserID}
	}
	return keys, nil
}
