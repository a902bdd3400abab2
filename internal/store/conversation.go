// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// A PrivateConversationKey names what a user has read of another one's messages.
type PrivateConversationKey struct{ OwnerID, TargetID int64 }

// A PrivateConversation is up to when an owner has read what the target wrote.
type PrivateConversation struct {
	PrivateConversationKey
	ReadDate time.Time
}

// A GroupConversation is up to when the members of a group have read what was written to it.
type GroupConversation struct {
	GroupID   int64
	ReadDates map[int64]time.Time
}

// A PrivateConversationFilter selects private conversations: those with the keys and those of the owners. Without any
// it selects none.
type PrivateConversationFilter struct {
	Keys     []PrivateConversationKey
	OwnerIDs []int64
}

type privateConversationRow struct {
	bun.BaseModel `bun:"table:private_conversation,alias:t"`
	OwnerID       int64 `bun:"owner_id,pk"`
	TargetID      int64 `bun:"target_id,pk"`
	ReadDate      int64 `bun:"read_date"`
}

type groupConversationRow struct {
	bun.BaseModel `bun:"table:group_conversation,alias:t"`
	GroupID       int64 `bun:"group_id,pk"`
	MemberID      int64 `bun:"member_id,pk"`
	ReadDate      int64 `bun:"read_date"`
}

// parts returns the conditions each of which selects a part of the conversations.
func (f PrivateConversationFilter) parts(engine Engine) (list []schema.QueryAppender) {
	if len(f.Keys) > 0 {
		pairs := make([]Pair, len(f.Keys))
		for i, key := range f.Keys {
			pairs[i] = Pair{key.OwnerID, key.TargetID}
		}
		list = append(list, InPairs(engine, [2]string{"t.owner_id", "t.target_id"}, pairs))
	}
	if len(f.OwnerIDs) > 0 {
		list = append(list, In(engine, "t.owner_id", f.OwnerIDs))
	}
	return list
}

// FindPrivateConversations returns the private conversations that the filter selects, each once, ordered by owner and
// target.
func FindPrivateConversations(ctx context.Context, r Reader, filter PrivateConversationFilter) ([]PrivateConversation, error) {
	found := []PrivateConversation{}
	for _, part := range filter.parts(r.Engine()) {
		var rows []privateConversationRow
		if err := r.NewSelect().Model(&rows).Where("?", part).Scan(ctx); err != nil {
			return nil, fmt.Errorf("find private conversations: %w", translate(err))
		}
		for _, row := range rows {
			found = append(found, PrivateConversation{PrivateConversationKey{row.OwnerID, row.TargetID}, time.UnixMilli(row.ReadDate).UTC()})
		}
	}
	slices.SortStableFunc(found, func(a, b PrivateConversation) int {
		return slices.Compare([]int64{a.OwnerID, a.TargetID}, []int64{b.OwnerID, b.TargetID})
	})
	// The parts may overlap.
	return slices.CompactFunc(found, func(a, b PrivateConversation) bool { return a.PrivateConversationKey == b.PrivateConversationKey }), nil
}

// FindGroupConversations returns the conversations of the groups that have one, ordered by group.
func FindGroupConversations(ctx context.Context, r Reader, groups []int64) ([]GroupConversation, error) {
	found := []GroupConversation{}
	var rows []groupConversationRow
	err := r.NewSelect().Model(&rows).Where("?", In(r.Engine(), "t.group_id", groups)).OrderExpr("t.group_id ASC, t.member_id ASC").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("find group conversations: %w", translate(err))
	}
	for _, row := range rows {
		if last := len(found) - 1; last < 0 || found[last].GroupID != row.GroupID {
			found = append(found, GroupConversation{row.GroupID, map[int64]time.Time{}})
		}
		found[len(found)-1].ReadDates[row.MemberID] = time.UnixMilli(row.ReadDate).UTC()
	}
	return found, nil
}

// PutPrivateReadDates sets the read date of private conversations, which need not exist, and returns how many it set.
// Unless back is set it leaves those alone whose date is not before the new one.
func PutPrivateReadDates(ctx context.Context, tx Tx, keys []PrivateConversationKey, date time.Time, back bool) (int64, error) {
	rows := make([]privateConversationRow, len(keys))
	for i, key := range keys {
		rows[i] = privateConversationRow{OwnerID: key.OwnerID, TargetID: key.TargetID, ReadDate: date.UnixMilli()}
	}
	return putPrivateReadDates(ctx, tx, rows, back)
}

var advancePrivateReadDates = newRowsStatement(
	"INSERT INTO private_conversation AS t (owner_id, target_id, read_date) VALUES ",
	"(?, ?, ?)",
	" ON CONFLICT (owner_id, target_id) DO UPDATE SET read_date = excluded.read_date WHERE t.read_date < excluded.read_date",
)

// putPrivateReadDates takes rows with different keys.
func putPrivateReadDates(ctx context.Context, tx Tx, rows []privateConversationRow, back bool) (int64, error) {
	c, ok := boundConn(tx)
	if !ok || back {
		return putReadDates(ctx, tx, rows, "CONFLICT (owner_id, target_id) DO UPDATE", back)
	}
	set, err := advancePrivateReadDates.exec(ctx, c, len(rows), func(args []any, i int) []any {
		return append(args, rows[i].OwnerID, rows[i].TargetID, rows[i].ReadDate)
	})
	if err != nil {
		return 0, fmt.Errorf("set read dates: %w", err)
	}
	return set, nil
}

// PutGroupReadDates is PutPrivateReadDates for members of groups.
func PutGroupReadDates(ctx context.Context, tx Tx, keys []GroupUserKey, date time.Time, back bool) (int64, error) {
	rows := make([]groupConversationRow, len(keys))
	for i, key := range keys {
		rows[i] = groupConversationRow{GroupID: key.GroupID, MemberID: key.UserID, ReadDate: date.UnixMilli()}
	}
	return putReadDates(ctx, tx, rows, "CONFLICT (group_id, member_id) DO UPDATE", back)
}

// putReadDates takes rows with different keys.
func putReadDates[R any](ctx context.Context, tx Tx, rows []R, conflict string, back bool) (set int64, err error) {
	for chunk := range slices.Chunk(rows, insertChunk) {
		query := tx.NewInsert().Model(&chunk).On(conflict).Set("read_date = excluded.read_date")
		if !back {
			query = query.Where("t.read_date < excluded.read_date")
		}
		result, err := query.Returning("NULL").Exec(ctx)
		if err != nil {
			return 0, fmt.Errorf("set read dates: %w", err)
		}
		n, err := result.RowsAffected()
		if err != nil {
			return 0, fmt.Errorf("set read dates: %w", err)
		}
		set += n
	}
	return set, nil
}

// DeletePrivateConversations deletes the private conversations that the filter selects and returns how many there were.
func DeletePrivateConversations(ctx context.Context, tx Tx, filter PrivateConversationFilter) (deleted int64, err error) {
	for _, part := range filter.parts(tx.Engine()) {
		n, err := deleteRows(ctx, tx, "private_conversation", conditions{part})
		if err != nil {
			return 0, err
		}
		deleted += n
	}
	return deleted, nil
}

// DeleteGroupConversations deletes the conversations of groups and returns how many groups had one.
func DeleteGroupConversations(ctx context.Context, tx Tx, groups []int64) (int64, error) {
	var gone []int64
	query := tx.NewDelete().TableExpr("group_conversation AS t").Where("?", In(tx.Engine(), "t.group_id", groups)).Returning("group_id")
	if err := query.Scan(ctx, &gone); err != nil {
		return 0, fmt.Errorf("delete group conversations: %w", translate(err))
	}
	return int64(len(uniqueSorted(gone))), nil
}

// DeleteGroupReadDatesOfUsers deletes what users have read in groups.
func DeleteGroupReadDatesOfUsers(ctx context.Context, tx Tx, users []int64) error {
	_, err := deleteRows(ctx, tx, "group_conversation", conditions{In(tx.Engine(), "t.member_id", users)})
	return err
}
