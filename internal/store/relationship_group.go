// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
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

// A RelationshipGroupChange says what to change. A nil field stays as it is.
type RelationshipGroupChange struct {
	Name         *string
	CreationDate *time.Time
}

const relationshipGroupTable = "relationship_group"

type relationshipGroupRow struct {
	bun.BaseModel `bun:"table:relationship_group,alias:t"`
	OwnerID       int64  `bun:"owner_id,pk"`
	GroupIndex    int32  `bun:"group_index,pk"`
	Name          string `bun:"name"`
	CreationDate  int64  `bun:"creation_date"`
}

type relationshipGroupMemberRow struct {
	bun.BaseModel `bun:"table:relationship_group_member,alias:t"`
	OwnerID       int64 `bun:"owner_id,pk"`
	RelatedUserID int64 `bun:"related_user_id,pk"`
	GroupIndex    int32 `bun:"group_index,pk"`
}

// InsertRelationshipGroups stores new groups. A key that exists is an ErrDuplicateKey.
func InsertRelationshipGroups(ctx context.Context, tx Tx, groups ...RelationshipGroup) error {
	rows := make([]relationshipGroupRow, len(groups))
	for i, group := range groups {
		rows[i] = relationshipGroupRow{OwnerID: group.OwnerID, GroupIndex: group.Index, Name: group.Name, CreationDate: group.CreationDate.UnixMilli()}
	}
	if err := insertRows(ctx, tx, rows); err != nil {
		return fmt.Errorf("insert relationship groups: %w", err)
	}
	return nil
}

// EnsureDefaultRelationshipGroups gives the owners who have no default group one, without name, and returns those owners.
func EnsureDefaultRelationshipGroups(ctx context.Context, tx Tx, date time.Time, ownerIDs ...int64) ([]int64, error) {
	if len(ownerIDs) == 0 {
		return nil, nil
	}
	var created []int64
	err := tx.NewRaw("INSERT INTO relationship_group (owner_id, group_index, name, creation_date) SELECT k.value, ?, '', ? FROM ? WHERE 1 = 1 "+
		"ON CONFLICT (owner_id, group_index) DO NOTHING RETURNING owner_id",
		DefaultRelationshipGroup, date.UnixMilli(), idTable(tx.Engine(), ownerIDs)).Scan(ctx, &created)
	if err != nil {
		return nil, fmt.Errorf("insert default relationship groups: %w", translate(err))
	}
	return created, nil
}

func (f RelationshipGroupFilter) conditions(engine Engine) conditions {
	var list conditions
	anyOf(&list, engine, "t.owner_id", f.OwnerIDs)
	anyOf(&list, engine, "t.group_index", f.Indexes)
	anyOf(&list, engine, "t.name", f.Names)
	list.and(f.Creation.conditions("t.creation_date")...)
	return list
}

// relationshipGroupIn is the condition that a row of a table that is called t belongs to one of the keys.
func relationshipGroupIn(engine Engine, keys []RelationshipGroupKey) conditions {
	pairs := make([]Pair, len(keys))
	for i, key := range keys {
		pairs[i] = Pair{key.OwnerID, int64(key.Index)}
	}
	return conditions{InPairs(engine, [2]string{"t.owner_id", "t.group_index"}, pairs)}
}

// FindRelationshipGroups returns the groups that match the filter, ordered by the creation date, if the filter asks for it,
// owner and index.
func FindRelationshipGroups(ctx context.Context, r Reader, filter RelationshipGroupFilter, page Page) ([]RelationshipGroup, error) {
	var rows []relationshipGroupRow
	query := whereAll(r.NewSelect().Model(&rows), filter.conditions(r.Engine()))
	order := orderBy([]string{"t.owner_id", "t.group_index"}, datedColumn{"t.creation_date", filter.Creation})
	if err := pageOf(query, page, order...).Scan(ctx); err != nil {
		return nil, fmt.Errorf("find relationship groups: %w", translate(err))
	}
	groups := make([]RelationshipGroup, len(rows))
	for i, row := range rows {
		groups[i] = RelationshipGroup{
			RelationshipGroupKey: RelationshipGroupKey{row.OwnerID, row.GroupIndex}, Name: row.Name,
			CreationDate: time.UnixMilli(row.CreationDate).UTC(),
		}
	}
	return groups, nil
}

// CountRelationshipGroups returns how many groups match the filter.
func CountRelationshipGroups(ctx context.Context, r Reader, filter RelationshipGroupFilter) (int64, error) {
	return countRows(ctx, r, relationshipGroupTable, filter.conditions(r.Engine()))
}

// UpdateRelationshipGroups changes the groups with the given keys. Modified counts those that differ afterwards; the
// owners of those are returned as well.
func UpdateRelationshipGroups(ctx context.Context, tx Tx, keys []RelationshipGroupKey, change RelationshipGroupChange) (UpdateResult, []int64, error) {
	where := relationshipGroupIn(tx.Engine(), keys)
	matched, err := countRows(ctx, tx, relationshipGroupTable, where)
	if err != nil || matched == 0 {
		return UpdateResult{}, nil, err
	}
	var columns columnChanges
	setIf(&columns, "name", change.Name)
	if change.CreationDate != nil {
		columns.set("creation_date", change.CreationDate.UnixMilli())
	}
	owners, err := columns.update(ctx, tx, relationshipGroupTable, "owner_id", where)
	if err != nil {
		return UpdateResult{}, nil, err
	}
	return UpdateResult{Matched: matched, Modified: int64(len(owners))}, uniqueSorted(owners), nil
}

// DeleteRelationshipGroups deletes the groups with the given keys and returns the keys of what there was. Their members
// must have been moved.
func DeleteRelationshipGroups(ctx context.Context, tx Tx, keys []RelationshipGroupKey) ([]RelationshipGroupKey, error) {
	return deleteRelationshipGroups(ctx, tx, relationshipGroupIn(tx.Engine(), keys))
}

// DeleteSomeRelationshipGroups deletes at most limit groups, whichever they are except the default ones, and returns their
// keys.
func DeleteSomeRelationshipGroups(ctx context.Context, tx Tx, limit int) ([]RelationshipGroupKey, error) {
	some := tx.NewSelect().TableExpr("relationship_group AS s").Column("s.owner_id", "s.group_index").
		Where("s.group_index > ?", DefaultRelationshipGroup).Limit(int64(limit))
	return deleteRelationshipGroups(ctx, tx, conditions{bun.SafeQuery("(t.owner_id, t.group_index) IN (?)", some)})
}

// DeleteRelationshipGroupsOfUsers deletes the groups of the owners, the default ones as well, and returns the keys of what
// there was.
func DeleteRelationshipGroupsOfUsers(ctx context.Context, tx Tx, ownerIDs []int64) ([]RelationshipGroupKey, error) {
	return deleteRelationshipGroups(ctx, tx, conditions{In(tx.Engine(), "t.owner_id", ownerIDs)})
}

func deleteRelationshipGroups(ctx context.Context, tx Tx, where conditions) ([]RelationshipGroupKey, error) {
	var rows []relationshipGroupRow
	err := whereAll(tx.NewDelete().TableExpr("relationship_group AS t"), where).Returning("owner_id, group_index").Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("delete relationship groups: %w", translate(err))
	}
	keys := make([]RelationshipGroupKey, len(rows))
	for i, row := range rows {
		keys[i] = RelationshipGroupKey{row.OwnerID, row.GroupIndex}
	}
	return keys, nil
}

// AddRelationshipGroupMember puts a related user into a group of the owner, and reports whether that was a change. The
// relationship must exist.
func AddRelationshipGroupMember(ctx context.Context, tx Tx, key RelationshipKey, index int32) (bool, error) {
	row := relationshipGroupMemberRow{OwnerID: key.OwnerID, RelatedUserID: key.RelatedUserID, GroupIndex: index}
	result, err := tx.NewInsert().Model(&row).On("CONFLICT (owner_id, related_user_id, group_index) DO NOTHING").Returning("NULL").Exec(ctx)
	if err != nil {
		return false, fmt.Errorf("add user %d to a relationship group: %w", key.RelatedUserID, err)
	}
	count, err := result.RowsAffected()
	return count > 0, err
}

// RemoveRelationshipGroupMember takes a related user out of a group of the owner, and reports whether that was a change.
func RemoveRelationshipGroupMember(ctx context.Context, tx Tx, key RelationshipKey, index int32) (bool, error) {
	count, err := deleteRows(ctx, tx, "relationship_group_member", conditions{bun.SafeQuery(
		"t.owner_id = ? AND t.related_user_id = ? AND t.group_index = ?", key.OwnerID, key.RelatedUserID, index)})
	return count > 0, err
}

// FindRelationshipGroupIndexes returns the groups of the owner that a related user is in, in ascending order.
func FindRelationshipGroupIndexes(ctx context.Context, r Reader, key RelationshipKey) ([]int32, error) {
	indexes := []int32{}
	err := r.NewSelect().TableExpr("relationship_group_member AS t").Column("t.group_index").
		Where("t.owner_id = ?", key.OwnerID).Where("t.related_user_id = ?", key.RelatedUserID).Order("t.group_index").Scan(ctx, &indexes)
	if err != nil {
		return nil, fmt.Errorf("find the groups of user %d: %w", key.RelatedUserID, translate(err))
	}
	return indexes, nil
}

// MoveRelationshipGroupMembers moves the members of the groups to another group of the same owner and returns the owners
// for whom that was a change. Those who are in both groups already stay in one.
func MoveRelationshipGroupMembers(ctx context.Context, tx Tx, keys []RelationshipGroupKey, target int32) ([]int64, error) {
	where := relationshipGroupIn(tx.Engine(), keys)
	members := whereAll(tx.NewSelect().TableExpr("relationship_group_member AS t").
		ColumnExpr("DISTINCT t.owner_id, t.related_user_id, CAST(? AS INTEGER)", target), where)
	_, err := tx.NewRaw("INSERT INTO relationship_group_member (owner_id, related_user_id, group_index) ? "+
		"ON CONFLICT (owner_id, related_user_id, group_index) DO NOTHING", members).Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("move members to relationship group %d: %w", target, err)
	}
	var owners []int64
	err = whereAll(tx.NewDelete().TableExpr("relationship_group_member AS t"), where).Where("t.group_index <> ?", target).
		Returning("owner_id").Scan(ctx, &owners)
	if err != nil {
		return nil, fmt.Errorf("remove moved members: %w", translate(err))
	}
	return uniqueSorted(owners), nil
}

// RelationshipGroupMemberIDsAfter returns the related users in a group of the owner whose ids are above a given one, in
// ascending order, at most limit of them. A nil id stands for the beginning, a limit of 0 for none.
func RelationshipGroupMemberIDsAfter(ctx context.Context, r Reader, key RelationshipGroupKey, after *int64, limit int) ([]int64, error) {
	query := r.NewSelect().TableExpr("relationship_group_member AS t").Where("t.owner_id = ?", key.OwnerID).Where("t.group_index = ?", key.Index)
	return relatedUserIDsAfter(ctx, query, after, limit)
}
