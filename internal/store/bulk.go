// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/app/internal/store/sqldb"
)

// Functions that fill and clear whole databases.

// domainTables are the tables of users, groups and dependent data. Tables that are cleared last
// make the database count as not empty until then.
var domainTables = []string{
	"message_key", "message_sequence", "message", "private_conversation", "group_conversation", "group_join_request", "group_invitation",
	"group_blocked_user", "group_question", "group_version", "group_member", "im_group", "friend_request",
	"relationship_group_member", "relationship", "relationship_group", "user_version", "group_type", "user_role", "user_account",
}

// bookkeeping are tables whose rows do not make a database count as not empty.
var bookkeeping = map[string]bool{"user_version": true, "group_version": true, "message_sequence": true, "message_key": true}

// exceptDefault excludes the default role and type, which every database has.
func exceptDefault(table string) conditions {
	if table == "group_type" || table == userRoleTable {
		return where("t.id <> 0")
	}
	return nil
}

// FindDomainTableInUse returns the name of a domain table with rows, or "" if there is none.
func FindDomainTableInUse(ctx context.Context, r Reader) (string, error) {
	for i := len(domainTables) - 1; i >= 0; i-- {
		table := domainTables[i]
		if bookkeeping[table] {
			continue
		}
		found, err := sqldb.List[int](ctx, r, sqldb.New("SELECT 1 FROM "+table+" AS t? LIMIT 1", exceptDefault(table).clause()))
		if err != nil {
			return "", fmt.Errorf("look into table %q: %w", table, err)
		}
		if len(found) > 0 {
			return table, nil
		}
	}
	return "", nil
}

// clearBatch is how many rows a transaction of ClearDomain deletes individually.
const clearBatch = 20_000

// ClearDomain deletes all users, all groups and dependent data. Administrators, settings and the
// default role and type stay. It takes several transactions; if interrupted, it can be repeated.
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

// clearTable deletes the rows of a table, in batches where the engine has to visit each.
func clearTable(ctx context.Context, tx Tx, table string) (int64, error) {
	statement := "DELETE FROM " + table
	switch selected := exceptDefault(table); {
	case selected != nil:
		return deleteRows(ctx, tx, table, selected)
	case sqldb.EngineOf(tx) != SQLite:
		statement = "TRUNCATE " + table + " CASCADE"
	case table == relationshipTable:
		// Rows that others may reference are deleted individually.
		return deleteRows(ctx, tx, table, where("t.rowid IN (SELECT rowid FROM relationship LIMIT ?)", clearBatch))
	}
	// Without a condition SQLite truncates the table.
	_, err := sqldb.Exec(ctx, tx, sqldb.New(statement))
	return 0, err
}

// A RelationshipGroupMember is a related user in a group of the owner.
type RelationshipGroupMember struct {
	RelationshipKey
	Index int32
}

// InsertRelationshipGroupMembers adds related users to groups that they are not in yet. The
// relationships must exist.
func InsertRelationshipGroupMembers(ctx context.Context, tx Tx, members ...RelationshipGroupMember) error {
	if err := relationshipGroupMembers.insert(ctx, tx, members...); err != nil {
		return fmt.Errorf("insert members of relationship groups: %w", err)
	}
	return nil
}

// InsertGroupVersions is InsertGroupVersion for groups with the given numbers of members.
func InsertGroupVersions(ctx context.Context, tx Tx, now time.Time, memberCounts map[int64]int32) error {
	records := make([]groupVersion, 0, len(memberCounts))
	for group, members := range memberCounts {
		records = append(records, groupVersion{group, now, members})
	}
	if err := groupVersions.insert(ctx, tx, records...); err != nil {
		return fmt.Errorf("insert group versions: %w", err)
	}
	return nil
}

// FindValue returns the value of the cluster with this name, or nil if there is none.
func FindValue(ctx context.Context, r Reader, name string) ([]byte, error) {
	var value blob
	err := sqldb.First(ctx, r, sqldb.New("SELECT value FROM cluster_value WHERE name = ?", name), &value)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find cluster value %q: %w", name, err)
	}
	return value, nil
}

// ErrSwapped means that a value differs from the expected one.
var ErrSwapped = errors.New("the value was changed by somebody else")

// SwapValue replaces the value of the cluster with this name if it equals old, where nil means
// none. Otherwise it returns ErrSwapped.
func SwapValue(ctx context.Context, tx Tx, name string, old, value []byte) error {
	found, err := FindValue(ctx, tx, name)
	if err != nil {
		return err
	}
	if (found == nil) != (old == nil) || !bytes.Equal(found, old) {
		return fmt.Errorf("swap cluster value %q: %w", name, ErrSwapped)
	}
	_, err = sqldb.Exec(ctx, tx, sqldb.New("INSERT INTO cluster_value (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
		name, bytesOf(value)))
	if err != nil {
		return fmt.Errorf("swap cluster value %q: %w", name, err)
	}
	return nil
}
