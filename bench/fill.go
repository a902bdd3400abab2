// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	_ "modernc.org/sqlite" // driver
)

// The databases have the same shape at every size, so that a filter on a name or a time span
// selects the same number of records. Every user owns a group.
const membersPerGroup = 3

// born is when the first user registered. Then one user registers per second, and ten messages are
// sent.
var born = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// fill writes the records of a database directly into its file: without indexes, which are created
// afterwards, and without fsync.
func fill(ctx context.Context, url string, users, messages int) (err error) {
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(url, "sqlite:")+"?_pragma=synchronous(OFF)&_pragma=cache_size(-400000)&_pragma=temp_store(MEMORY)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	indexes, err := secondaryIndexes(ctx, db)
	if err != nil {
		return err
	}
	for name := range indexes {
		if _, err := db.ExecContext(ctx, "DROP INDEX "+name); err != nil {
			return err
		}
	}
	for _, statement := range fillStatements(users, messages) {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	for _, statement := range indexes {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// fillMessages writes messages into a database of either engine that has users. Group messages go
// to a group without members.
func fillMessages(ctx context.Context, url string, messages int) (err error) {
	driver, source, series := "pgx", url, fmt.Sprintf("generate_series(0, %d) AS s(i)", messages-1)
	after := []string{"VACUUM ANALYZE message", "CHECKPOINT"}
	if file, ok := strings.CutPrefix(url, "sqlite:"); ok {
		driver, source = "sqlite", "file:"+file+"?_pragma=synchronous(OFF)&_pragma=cache_size(-400000)"
		series = fmt.Sprintf("(WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < %d) SELECT i FROM s)", messages-1)
		after = []string{"ANALYZE message", "PRAGMA wal_checkpoint(TRUNCATE)"}
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	insert := fmt.Sprintf("INSERT INTO message SELECT i + 1, NULL, i %% 4 = 0, FALSE, %d + CAST(i AS BIGINT) * 100, NULL, NULL, NULL, 'How are you, number ' || i || '?', "+
		"i %% 1000 + 1, NULL, CASE WHEN i %% 4 = 0 THEN 1000000 + i %% 997 ELSE (i + 1) %% 1000 + 1 END, NULL, NULL, NULL, NULL, NULL FROM %s", born.UnixMilli(), series)
	for _, statement := range append([]string{insert}, after...) {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// secondaryIndexes returns the statements that create the indexes that are not part of a table.
func secondaryIndexes(ctx context.Context, db *sql.DB) (_ map[string]string, err error) {
	rows, err := db.QueryContext(ctx, "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	indexes := map[string]string{}
	for rows.Next() {
		var name, statement string
		if err := rows.Scan(&name, &statement); err != nil {
			return nil, err
		}
		indexes[name] = statement
	}
	return indexes, rows.Err()
}

func fillStatements(users, messages int) []string {
	series := func(n int) string {
		return fmt.Sprintf("(WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < %d) SELECT i FROM s)", n-1)
	}
	replace := strings.NewReplacer(
		"{users}", series(users), "{N}", fmt.Sprint(users),
		"{messages}", series(messages), "{members}", series(users*membersPerGroup), "{M}", fmt.Sprint(membersPerGroup),
		"{born}", fmt.Sprint(born.UnixMilli()),
	)
	statements := []string{
		"INSERT INTO user_account SELECT i + 1, x'00', 'User ' || i, '', NULL, 0, 0, {born} + i * 1000, NULL, {born}, i % 97 <> 0, NULL FROM {users}",
		"INSERT INTO user_version SELECT i + 1, {born}, {born}, {born}, {born}, {born}, {born}, {born}, {born}, {born} FROM {users}",
		"INSERT INTO relationship_group SELECT i + 1, 0, '', {born} + i * 1000 FROM {users}",
		// Every user knows the next one and has blocked the previous one.
		"INSERT INTO relationship SELECT i + 1, (i + d + {N}) % {N} + 1, NULL, CASE WHEN d = -1 THEN {born} END, {born} + i * 1000 " +
			"FROM {users} CROSS JOIN (SELECT -1 AS d UNION ALL SELECT 1)",
		"INSERT INTO relationship_group_member SELECT owner_id, related_user_id, 0 FROM relationship",
		"INSERT INTO im_group SELECT i + 1, 0, i + 1, i + 1, 'Group ' || i, NULL, NULL, 0, {born} + i * 1000, NULL, {born}, NULL, 1, NULL FROM {users}",
		"INSERT INTO group_version SELECT i + 1, {born}, {born}, {born}, {born}, {born}, {born}, {M} FROM {users}",
		"INSERT INTO group_member SELECT i / {M} + 1, (i / {M} + i % {M} * 7) % {N} + 1, NULL, CASE WHEN i % {M} = 0 THEN 0 ELSE 2 END, {born} + i * 1000, NULL FROM {members}",
		"INSERT INTO group_conversation SELECT group_id, user_id, {born} FROM group_member",
		"INSERT INTO private_conversation SELECT owner_id, related_user_id, {born} FROM relationship",
		// Every fourth message goes to a group, from its owner.
		"INSERT INTO message SELECT i + 1, NULL, i % 4 = 0, 0, {born} + i * 100, NULL, NULL, NULL, 'How are you, number ' || i || '?', " +
			"CASE WHEN i % 4 = 0 THEN i / 4 % {N} + 1 ELSE i % {N} + 1 END, NULL, " +
			"CASE WHEN i % 4 = 0 THEN i / 4 % {N} + 1 ELSE (i + 1) % {N} + 1 END, NULL, NULL, NULL, NULL, NULL FROM {messages}",
	}
	for i, statement := range statements {
		statements[i] = replace.Replace(statement)
	}
	return statements
}
