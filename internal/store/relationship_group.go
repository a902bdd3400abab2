// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
)

// DefaultRelationshipGroup is the index of the group that every owner has.
const DefaultRelationshipGroup int32 = 0

// A RelationshipGroupKey names a group of one owner.
type RelationshipGroupKey struct {
	OwnerID int64
	Index   int32
}

// A RelationshipGroup is a group into which an owner sorts related users.
type RelationshipGroup struct {
	RelationshipGroupKey

	Name         string
	CreationDate time.Time
}

// A RelationshipGroupFilter selects groups, by the rules of RelationshipFilter.
type RelationshipGroupFilter struct {
	OwnerIDs []int64
	Indexes  []int32
	Names    []string
	Creation DateRange
}

// A RelationshipGroupChange describes a change. Nil fields stay unchanged.
type RelationshipGroupChange struct {
	Name         *string
	CreationDate *time.Time
}

const relationshipGroupTable = "relationship_group"

var relationshipGroups = newTable(relationshipGroupTable, "owner_id group_index name creation_date", func(g *RelationshipGroup) []any {
	return []any{&g.OwnerID, &g.Index, &g.Name, (*millis)(&g.CreationDate)}
})

var relationshipGroupMembers = newTable("relationship_group_member", "owner_id related_user_id group_index", func(m *RelationshipGroupMember) []any {
	return []any{&m.OwnerID, &m.RelatedUserID, &m.Index}
})

// InsertRelationshipGroups stores new groups. It returns ErrDuplicateKey if a key exists.
func InsertRelationshipGroups(ctx context.Context, tx Tx, list ...RelationshipGroup) error {
	if err := relationshipGroups.insert(ctx, tx, list...); err != nil {
		return fmt.Errorf("insert relationship groups: %w", err)
	}
	return nil
}

// EnsureDefaultRelationshipGroups creates missing default groups, without name, and returns their
// owners.
func EnsureDefaultRelationshipGroups(ctx context.Context, tx Tx, date time.Time, ownerIDs ...int64) ([]int64, error) {
	if len(ownerIDs) == 0 {
		return nil, nil
	}
	created, err := sqldb.List[int64](ctx, tx, sqldb.New("INSERT INTO relationship_group (owner_id, group_index, name, creation_date) SELECT k.value, ?, '', ? FROM ? WHERE 1 = 1 "+
		"ON CONFLICT (owner_id, group_index) DO NOTHING RETURNING owner_id",
		DefaultRelationshipGroup, date.UnixMilli(), sqldb.Keys(uniqueSorted(ownerIDs))))
	if err != nil {
		return nil, fmt.Errorf("insert default relationship groups: %w", err)
	}
	return created, nil
}

func (f RelationshipGroupFilter) conditions() conditions {
	var list conditions
	anyOf(&list, "t.owner_id", f.OwnerIDs)
	anyOf(&list, "t.group_index", f.Indexes)
	anyOf(&list, "t.name", f.Names)
	list.and(f.Creation.conditions("t.creation_date")...)
	return list
}

// relationshipGroupIn is the condition that a row of a table that is called t belongs to one of the
// keys.
func relationshipGroupIn(keys []RelationshipGroupKey) conditions {
	pairs := make([]sqldb.Pair, len(keys))
	for i, key := range keys {
		pairs[i] = sqldb.Pair{key.OwnerID, int64(key.Index)}
	}
	return conditions{sqldb.InPairs("t.owner_id", "t.group_index", pairs)}
}

// FindRelationshipGroups returns the groups that match the filter, ordered by the creation date, if
// the filter asks for it, owner and index.
func FindRelationshipGroups(ctx context.Context, r Reader, filter RelationshipGroupFilter, page Page) ([]RelationshipGroup, error) {
	order := orderBy([]string{"t.owner_id", "t.group_index"}, datedColumn{"t.creation_date", filter.Creation})
	found, err := relationshipGroups.find(ctx, r, filter.conditions(), page, order...)
	if err != nil {
		return nil, fmt.Errorf("find relationship groups: %w", err)
	}
	return found, nil
}

// CountRelationshipGroups returns how many groups match the filter.
func CountRelationshipGroups(ctx context.Context, r Reader, filter RelationshipGroupFilter) (int64, error) {
	return countRows(ctx, r, relationshipGroupTable, filter.conditions())
}

// UpdateRelationshipGroups changes the groups with the given keys. Modified counts those that
// differ afterwards; the owners of those are returned as well.
func UpdateRelationshipGroups(ctx context.Context, tx Tx, keys []RelationshipGroupKey, change RelationshipGroupChange) (UpdateResult, []int64, error) {
	selected := relationshipGroupIn(keys)
	var columns columnChanges
	setIf(&columns, "name", change.Name)
	if change.CreationDate != nil {
		columns.set("creation_date", change.CreationDate.UnixMilli())
	}
	result, owners, err := columns.updateMatched(ctx, tx, relationshipGroupTable, "owner_id", selected)
	return result, uniqueSorted(owners), err
}

// DeleteRelationshipGroups deletes the groups with the given keys and returns the keys of what
// there was. Their members must have been moved.
func DeleteRelationshipGroups(ctx context.Context, tx Tx, keys []RelationshipGroupKey) ([]RelationshipGroupKey, error) {
	return deleteRelationshipGroups(ctx, tx, relationshipGroupIn(keys))
}

// DeleteSomeRelationshipGroups deletes at most limit arbitrary groups, except default ones, and
// returns their keys.
func DeleteSomeRelationshipGroups(ctx context.Context, tx Tx, limit int) ([]RelationshipGroupKey, error) {
	return deleteRelationshipGroups(ctx, tx, where("(t.owner_id, t.group_index) IN "+
		"(SELECT s.owner_id, s.group_index FROM relationship_group AS s WHERE s.group_index > ? LIMIT ?)", DefaultRelationshipGroup, limit))
}

// DeleteRelationshipGroupsOfUsers deletes the groups of the owners, the default ones as well, and
// returns the keys of what there was.
func DeleteRelationshipGroupsOfUsers(ctx context.Context, tx Tx, ownerIDs []int64) ([]RelationshipGroupKey, error) {
	return deleteRelationshipGroups(ctx, tx, in("t.owner_id", ownerIDs))
}

func deleteRelationshipGroups(ctx context.Context, tx Tx, selected conditions) ([]RelationshipGroupKey, error) {
	gone, err := relationshipGroups.delete(ctx, tx, selected)
	if err != nil {
		return nil, fmt.Errorf("delete relationship groups: %w", err)
	}
	keys := make([]RelationshipGroupKey, len(gone))
	for i, group := range gone {
		keys[i] = group.RelationshipGroupKey
	}
	return keys, nil
}

// AddRelationshipGroupMember adds a related user to a group of the owner, and reports whether that
// was a change. The relationship must exist.
func AddRelationshipGroupMember(ctx context.Context, tx Tx, key RelationshipKey, index int32) (bool, error) {
	count, err := relationshipGroupMembers.put(ctx, tx, []RelationshipGroupMember{{key, index}}, "(owner_id, related_user_id, group_index) DO NOTHING")
	if err != nil {
		return false, fmt.Errorf("add user %d to a relationship group: %w", key.RelatedUserID, err)
	}
	return count > 0, nil
}

// RemoveRelationshipGroupMember removes a related user from a group of the owner, and reports
// whether that was a change.
func RemoveRelationshipGroupMember(ctx context.Context, tx Tx, key RelationshipKey, index int32) (bool, error) {
	count, err := deleteRows(ctx, tx, relationshipGroupMembers.name,
		where("t.owner_id = ? AND t.related_user_id = ? AND t.group_index = ?", key.OwnerID, key.RelatedUserID, index))
	return count > 0, err
}

// FindRelationshipGroupIndexes returns the groups of the owner that a related user is in, in
// ascending order.
func FindRelationshipGroupIndexes(ctx context.Context, r Reader, key RelationshipKey) ([]int32, error) {
	indexes, err := sqldb.List[int32](ctx, r, sqldb.New("SELECT t.group_index FROM relationship_group_member AS t "+
		"WHERE t.owner_id = ? AND t.related_user_id = ? ORDER BY t.group_index", key.OwnerID, key.RelatedUserID))
	if err != nil {
		return nil, fmt.Errorf("find the groups of user %d: %w", key.RelatedUserID, err)
	}
	return indexes, nil
}

// MoveRelationshipGroupMembers moves the members of the groups to another group of the same owner
// and returns the owners with changes. Members of both groups stay in one.
func MoveRelationshipGroupMembers(ctx context.Context, tx Tx, keys []RelationshipGroupKey, target int32) ([]int64, error) {
	selected := relationshipGroupIn(keys)
	_, err := sqldb.Exec(ctx, tx, sqldb.New("INSERT INTO relationship_group_member (owner_id, related_user_id, group_index) "+
		"SELECT DISTINCT t.owner_id, t.related_user_id, CAST(? AS INTEGER) FROM relationship_group_member AS t? "+
		"ON CONFLICT (owner_id, related_user_id, group_index) DO NOTHING", target, selected.clause()))
	if err != nil {
		return nil, fmt.Errorf("move members to relationship group %d: %w", target, err)
	}
	selected.when("t.group_index <> ?", target)
	owners, err := deleted(ctx, tx, relationshipGroupMembers.name, "owner_id", selected)
	if err != nil {
		return nil, fmt.Errorf("remove moved members: %w", err)
	}
	return uniqueSorted(owners), nil
}

// RelationshipGroupMemberIDsAfter returns the related users in a group of the owner with ids
// greater than after, in ascending order, at most limit. A nil id means the beginning, a limit of 0
// no limit.
func RelationshipGroupMemberIDsAfter(ctx context.Context, r Reader, key RelationshipGroupKey, after *int64, limit int) ([]int64, error) {
	return relatedUserIDsAfter(ctx, r, relationshipGroupMembers.name, where("t.owner_id = ? AND t.group_index = ?", key.OwnerID, key.Index), after, limit)
}
