// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// What fills and empties whole databases.

// domainTables hold users, groups and all that belongs to them. Those who are deleted last say that the database is not
// empty for as long as anything is left.
var domainTables = []string{
	"message_sequence", "message", "private_conversation", "group_conversation", "group_join_request", "group_invitation",
	"group_blocked_user", "group_question", "group_version", "group_member", "im_group", "friend_request",
	"relationship_group_member", "relationship", "relationship_group", "user_version", "group_type", "user_role", "user_account",
}

// bookkeeping are tables whose rows alone do not make a database hold anything.
var bookkeeping = map[string]bool{"user_version": true, "group_version": true, "message_sequence": true}

// exceptDefault leaves out the role and the type that every database has.
func exceptDefault(table string) conditions {
	if table == "group_type" || table == userRoleTable {
		return conditions{bun.SafeQuery("t.id <> 0")}
	}
	return nil
}

// FindDomainTableInUse returns the name of a table that holds users, groups or anything that belongs to them, or "" if
// there is nothing of the kind.
func FindDomainTableInUse(ctx context.Context, r Reader) (string, error) {
	for i := len(domainTables) - 1; i >= 0; i-- {
		table := domainTables[i]
		if bookkeeping[table] {
			continue
		}
		var found []int
		query := whereAll(r.NewSelect().TableExpr("? AS t", bun.Ident(table)).ColumnExpr("1"), exceptDefault(table)).Limit(1)
		if err := query.Scan(ctx, &found); err != nil {
			return "", fmt.Errorf("look into table %q: %w", table, translate(err))
		}
		if len(found) > 0 {
			return table, nil
		}
	}
	return "", nil
}

// clearBatch bounds how many rows a transaction of ClearDomain looks at one by one.
const clearBatch = 20_000

// ClearDomain deletes all users, all groups and all that belongs to them. Administrators, settings and the default role
// and type stay. It takes several transactions; one that is interrupted can be repeated.
func ClearDomain(ctx context.Context, db *DB) error {
	for _, table := range domainTables {
		for {
			var deleted int64
			err := db.Write(ctx, func(ctx context.Context, tx Tx) (err error) {
				deleted, err = clearTable(ctx, tx, table)
				return err
			})
			if err != nil {
				return err
			}
			if deleted < clearBatch {
				break
			}
		}
	}
	return nil
}

// clearTable deletes the rows of a table, at most a batch of them where the engine would look at each.
func clearTable(ctx context.Context, tx Tx, table string) (int64, error) {
	switch where := exceptDefault(table); {
	case where != nil:
		return deleteRows(ctx, tx, table, where)
	case tx.Engine() == SQLite && table == relationshipTable:
		// Rows that others may refer to are deleted one by one.
		return deleteRows(ctx, tx, table, conditions{bun.SafeQuery("t.rowid IN (SELECT rowid FROM relationship LIMIT ?)", clearBatch)})
	case tx.Engine() == SQLite:
		// Without a condition SQLite forgets the whole table at once.
		_, err := tx.NewRaw("DELETE FROM ?", bun.Ident(table)).Exec(ctx)
		return 0, err
	}
	_, err := tx.NewRaw("TRUNCATE ? CASCADE", bun.Ident(table)).Exec(ctx)
	return 0, err
}

// A RelationshipGroupMember is a related user in a group of the owner.
type RelationshipGroupMember struct {
	RelationshipKey
	Index int32
}

// InsertRelationshipGroupMembers puts related users into groups that they are not in yet. The relationships must exist.
func InsertRelationshipGroupMembers(ctx context.Context, tx Tx, members ...RelationshipGroupMember) error {
	rows := make([]relationshipGroupMemberRow, len(members))
	for i, m := range members {
		rows[i] = relationshipGroupMemberRow{OwnerID: m.OwnerID, RelatedUserID: m.RelatedUserID, GroupIndex: m.Index}
	}
	if err := insertRows(ctx, tx, rows); err != nil {
		return fmt.Errorf("insert members of relationship groups: %w", err)
	}
	return nil
}

// InsertGroupVersions is InsertGroupVersion for groups with the given numbers of members.
func InsertGroupVersions(ctx context.Context, tx Tx, now time.Time, memberCounts map[int64]int32) error {
	ms := now.UnixMilli()
	rows := make([]groupVersionRow, 0, len(memberCounts))
	for group, members := range memberCounts {
		rows = append(rows, groupVersionRow{
			GroupID: group, Info: ms, Members: ms, Blocklist: ms, JoinRequests: ms, Questions: ms, Invitations: ms, MemberCount: members,
		})
	}
	if err := insertRows(ctx, tx, rows); err != nil {
		return fmt.Errorf("insert group versions: %w", err)
	}
	return nil
}

// PutConversations sets the read dates of conversations, which need not exist. Dates that are later stay.
func PutConversations(ctx context.Context, tx Tx, private map[PrivateConversationKey]time.Time, members map[GroupUserKey]time.Time) error {
	privateRows := make([]privateConversationRow, 0, len(private))
	for key, date := range private {
		privateRows = append(privateRows, privateConversationRow{OwnerID: key.OwnerID, TargetID: key.TargetID, ReadDate: date.UnixMilli()})
	}
	if _, err := putPrivateReadDates(ctx, tx, privateRows, false); err != nil {
		return err
	}
	memberRows := make([]groupConversationRow, 0, len(members))
	for key, date := range members {
		memberRows = append(memberRows, groupConversationRow{GroupID: key.GroupID, MemberID: key.UserID, ReadDate: date.UnixMilli()})
	}
	_, err := putReadDates(ctx, tx, memberRows, "CONFLICT (group_id, member_id) DO UPDATE", false)
	return err
}

// FindValue returns the value of the cluster with this name, or nil if there is none.
func FindValue(ctx context.Context, r Reader, name string) ([]byte, error) {
	var value []byte
	err := r.NewSelect().TableExpr("cluster_value").Column("value").Where("name = ?", name).Scan(ctx, &value)
	if err = translate(err); errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find cluster value %q: %w", name, err)
	}
	return bytesOf(value), nil
}

// ErrSwapped means that a value is not what the caller took it for.
var ErrSwapped = errors.New("the value was changed by somebody else")

// SwapValue replaces the value of the cluster with this name, which must be the old one; a nil one stands for none. If
// it is not, the result is ErrSwapped.
func SwapValue(ctx context.Context, tx Tx, name string, old, value []byte) error {
	found, err := FindValue(ctx, tx, name)
	if err != nil {
		return err
	}
	if (found == nil) != (old == nil) || !bytes.Equal(found, old) {
		return fmt.Errorf("swap cluster value %q: %w", name, ErrSwapped)
	}
	row := valueRow{Name: name, Value: bytesOf(value)}
	_, err = tx.NewInsert().Model(&row).ModelTableExpr("cluster_value").On("CONFLICT (name) DO UPDATE").Set("value = excluded.value").Exec(ctx)
	if err != nil {
		return fmt.Errorf("swap cluster value %q: %w", name, err)
	}
	return nil
}
