// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
)

// A RelationshipKey identifies the relationship of an owner to another user.
type RelationshipKey struct{ OwnerID, RelatedUserID int64 }

// Reverse is the key of the other direction.
func (k RelationshipKey) Reverse() RelationshipKey {
	return RelationshipKey{k.RelatedUserID, k.OwnerID}
}

// A Relationship is the relationship of its owner to another user.
type Relationship struct {
	RelationshipKey

	Name *string
	// BlockDate is when the owner blocked the other; nil means not blocked.
	BlockDate         *time.Time
	EstablishmentDate time.Time
	// GroupIndexes are the owner's groups that the other is in, in ascending order. Only
	// FindRelationshipsWithGroups fills them in.
	GroupIndexes []int32
}

// A RelationshipFilter selects relationships. Empty fields do not restrict; all others must match,
// with any of their values.
type RelationshipFilter struct {
	OwnerIDs, RelatedUserIDs []int64
	// GroupIndexes matches if the related user is in one of these groups of the owner.
	GroupIndexes  []int32
	IsBlocked     *bool
	Establishment DateRange
}

// A RelationshipChange describes a change. Nil fields stay unchanged.
type RelationshipChange struct {
	Name              *string
	BlockDate         *time.Time
	EstablishmentDate *time.Time
	// Unblock removes the block date.
	Unblock bool
}

const relationshipTable = "relationship"

var relationships = newTable(relationshipTable, "owner_id related_user_id name block_date establishment_date", func(r *Relationship) []any {
	return []any{&r.OwnerID, &r.RelatedUserID, &r.Name, optionalMillis{&r.BlockDate}, (*millis)(&r.EstablishmentDate)}
})

// relationshipIn is the condition that a row of a table that is called t belongs to one of the
// keys.
func relationshipIn(keys []RelationshipKey) conditions {
	pairs := make([]sqldb.Pair, len(keys))
	for i, key := range keys {
		pairs[i] = sqldb.Pair{key.OwnerID, key.RelatedUserID}
	}
	return conditions{sqldb.InPairs("t.owner_id", "t.related_user_id", pairs)}
}

// InsertRelationships stores new relationships, which are in no group yet. It returns
// ErrDuplicateKey if a key exists.
func InsertRelationships(ctx context.Context, tx Tx, list ...Relationship) error {
	if err := relationships.insert(ctx, tx, list...); err != nil {
		return fmt.Errorf("insert relationships: %w", err)
	}
	return nil
}

// Befriend stores a relationship or, if it exists, removes its block, and reports whether anything
// changed.
func Befriend(ctx context.Context, tx Tx, relationship Relationship) (changed bool, err error) {
	relationship.BlockDate = nil
	count, err := relationships.put(ctx, tx, []Relationship{relationship},
		"(owner_id, related_user_id) DO UPDATE SET block_date = NULL WHERE t.block_date IS NOT NULL")
	if err != nil {
		return false, fmt.Errorf("befriend user %d: %w", relationship.RelatedUserID, err)
	}
	return count > 0, nil
}

func (f RelationshipFilter) conditions() conditions {
	var list conditions
	anyOf(&list, "t.owner_id", f.OwnerIDs)
	anyOf(&list, "t.related_user_id", f.RelatedUserIDs)
	switch {
	case f.byGroup():
		list.when("m.group_index = ? AND t.owner_id = m.owner_id AND t.related_user_id = m.related_user_id", f.GroupIndexes[0])
	case len(f.GroupIndexes) > 0:
		list.and(f.groupCondition())
	}
	if f.IsBlocked != nil && *f.IsBlocked {
		list.when("t.block_date IS NOT NULL")
	} else if f.IsBlocked != nil {
		list.when("t.block_date IS NULL")
	}
	list.and(f.Establishment.conditions("t.establishment_date")...)
	return list
}

// groupCondition checks the membership of each relationship if other fields select few of them, and
// otherwise collects the members of the groups.
func (f RelationshipFilter) groupCondition() sqldb.SQL {
	groups := sqldb.In("m.group_index", f.GroupIndexes)
	if f.few() {
		return sqldb.New("EXISTS (SELECT 1 FROM relationship_group_member AS m "+
			"WHERE m.owner_id = t.owner_id AND m.related_user_id = t.related_user_id AND ?)", groups)
	}
	return sqldb.New("(t.owner_id, t.related_user_id) IN (SELECT m.owner_id, m.related_user_id FROM relationship_group_member AS m WHERE ?)", groups)
}

// few reports whether fields other than the groups select the relationships.
func (f RelationshipFilter) few() bool {
	return len(f.OwnerIDs) > 0 || len(f.RelatedUserIDs) > 0 || f.IsBlocked != nil && *f.IsBlocked || f.Establishment != (DateRange{})
}

// byGroup reports whether the relationships are read through the members of one group, in their
// order.
func (f RelationshipFilter) byGroup() bool { return len(f.GroupIndexes) == 1 && !f.few() }

// from returns the FROM clause. The cross join makes SQLite start with the members.
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
func (f RelationshipFilter) page(page Page) sqldb.SQL {
	order := f.order("t")
	if f.byGroup() {
		order = f.order("m")
	}
	return pageOf(sqldb.New("SELECT "+relationships.list("t")+" FROM "+f.from()+"?", f.conditions().clause()), page, order...)
}

// FindRelationships returns the relationships that match the filter, ordered by the establishment
// date, if the filter asks for it, owner and related user.
func FindRelationships(ctx context.Context, r Reader, filter RelationshipFilter, page Page) ([]Relationship, error) {
	found, err := relationships.read(ctx, r, filter.page(page))
	if err != nil {
		return nil, fmt.Errorf("find relationships: %w", err)
	}
	return found, nil
}

// FindRelationshipsWithGroups is FindRelationships with the groups of each, in one statement.
func FindRelationshipsWithGroups(ctx context.Context, r Reader, filter RelationshipFilter, page Page) ([]Relationship, error) {
	found := []Relationship{}
	statement := sqldb.New("SELECT "+relationships.list("t")+", m.group_index FROM (?) AS t "+
		"LEFT JOIN relationship_group_member AS m ON m.owner_id = t.owner_id AND m.related_user_id = t.related_user_id", filter.page(page))
	statement = pageOf(statement, Page{}, append(filter.order("t"), "m.group_index")...)
	err := sqldb.Query(ctx, r, statement, func(row sqldb.Row) error {
		relationship := Relationship{GroupIndexes: []int32{}}
		var index sql.NullInt32
		if err := row.Scan(append(relationships.fields(&relationship), &index)...); err != nil {
			return err
		}
		if last := len(found) - 1; last < 0 || found[last].RelationshipKey != relationship.RelationshipKey {
			found = append(found, relationship)
		}
		if index.Valid {
			last := &found[len(found)-1]
			last.GroupIndexes = append(last.GroupIndexes, index.Int32)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find relationships with their groups: %w", err)
	}
	return found, nil
}

// FindRelationship returns one relationship, or nil if there is none.
func FindRelationship(ctx context.Context, r Reader, key RelationshipKey) (*Relationship, error) {
	found, err := FindRelationships(ctx, r, RelationshipFilter{OwnerIDs: []int64{key.OwnerID}, RelatedUserIDs: []int64{key.RelatedUserID}}, Page{})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// KnownUserIDsAfter returns the users related to the owner and not blocked, with ids greater than
// after, in ascending order, at most limit. A nil id means the beginning, a limit of 0 no limit.
func KnownUserIDsAfter(ctx context.Context, r Reader, owner int64, after *int64, limit int) ([]int64, error) {
	return relatedUserIDsAfter(ctx, r, relationshipTable, where("t.owner_id = ? AND t.block_date IS NULL", owner), after, limit)
}

func relatedUserIDsAfter(ctx context.Context, r Reader, table string, selected conditions, after *int64, limit int) ([]int64, error) {
	if after != nil {
		selected.when("t.related_user_id > ?", *after)
	}
	query := sqldb.New("SELECT t.related_user_id FROM "+table+" AS t?", selected.clause())
	ids, err := sqldb.List[int64](ctx, r, pageOf(query, Page{Limit: limit}, "t.related_user_id"))
	if err != nil {
		return nil, fmt.Errorf("find ids of related users: %w", err)
	}
	return ids, nil
}

// CountRelationships returns how many relationships match the filter.
func CountRelationships(ctx context.Context, r Reader, filter RelationshipFilter) (int64, error) {
	if filter.byGroup() && filter.IsBlocked == nil {
		// Every member is a related user.
		return countRows(ctx, r, "relationship_group_member", where("t.group_index = ?", filter.GroupIndexes[0]))
	}
	return countFrom(ctx, r, filter.from(), filter.conditions())
}

// UpdateRelationships changes the relationships with the given keys. Modified counts those that
// differ afterwards; the owners of those are returned as well.
func UpdateRelationships(ctx context.Context, tx Tx, keys []RelationshipKey, change RelationshipChange) (UpdateResult, []int64, error) {
	selected := relationshipIn(keys)
	var columns columnChanges
	setIf(&columns, "name", change.Name)
	if change.Unblock || change.BlockDate != nil {
		columns.set("block_date", millisOrNull(change.BlockDate))
	}
	if change.EstablishmentDate != nil {
		columns.set("establishment_date", change.EstablishmentDate.UnixMilli())
	}
	result, owners, err := columns.updateMatched(ctx, tx, relationshipTable, "owner_id", selected)
	return result, uniqueSorted(owners), err
}

// DeleteRelationships deletes the relationships with the given keys and the memberships of those.
// It returns the keys of what there was.
func DeleteRelationships(ctx context.Context, tx Tx, keys []RelationshipKey) ([]RelationshipKey, error) {
	return deleteRelationships(ctx, tx, relationshipIn(keys))
}

// DeleteRelationshipsOfUsers deletes the relationships of the users in both directions, with the
// memberships of those. It returns the keys of what there was.
func DeleteRelationshipsOfUsers(ctx context.Context, tx Tx, userIDs []int64) ([]RelationshipKey, error) {
	owned, err := deleteRelationships(ctx, tx, in("t.owner_id", userIDs))
	if err != nil {
		return nil, err
	}
	others, err := deleteRelationships(ctx, tx, in("t.related_user_id", userIDs))
	return append(owned, others...), err
}

func deleteRelationships(ctx context.Context, tx Tx, selected conditions) ([]RelationshipKey, error) {
	gone, err := relationships.delete(ctx, tx, selected)
	if err != nil {
		return nil, fmt.Errorf("delete relationships: %w", err)
	}
	keys := make([]RelationshipKey, len(gone))
	for i, relationship := range gone {
		keys[i] = relationship.RelationshipKey
	}
	return keys, nil
}
