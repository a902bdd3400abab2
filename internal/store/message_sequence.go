// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"

	"example.org/app/internal/store/sqldb"
)

// NextGroupSequence returns the next sequence number of messages to a group, starting at 1. Numbers
// follow the order of commits, without gaps.
func NextGroupSequence(ctx context.Context, tx Tx, group int64) (int32, error) {
	return nextSequence(ctx, tx, true, group, 0)
}

// NextPrivateSequence returns the next sequence number of messages between two users. See
// NextGroupSequence.
func NextPrivateSequence(ctx context.Context, tx Tx, a, b int64) (int32, error) {
	return nextSequence(ctx, tx, false, min(a, b), max(a, b))
}

func nextSequence(ctx context.Context, tx Tx, isGroup bool, first, second int64) (int32, error) {
	var value int32
	err := sqldb.First(ctx, tx, sqldb.New("INSERT INTO message_sequence AS t (is_group, first_id, second_id, value) VALUES (?, ?, ?, 1) "+
		"ON CONFLICT (is_group, first_id, second_id) DO UPDATE SET value = t.value + 1 RETURNING value", isGroup, first, second), &value)
	if err != nil {
		return 0, fmt.Errorf("next message sequence: %w", err)
	}
	return value, nil
}

// DeleteGroupSequences deletes the sequence numbers of groups.
func DeleteGroupSequences(ctx context.Context, tx Tx, groups []int64) error {
	_, err := deleteRows(ctx, tx, "message_sequence", where("t.is_group = ? AND ?", true, sqldb.In("t.first_id", groups)))
	return err
}

// DeletePrivateSequences deletes the sequence numbers of the private conversations of users.
func DeletePrivateSequences(ctx context.Context, tx Tx, users []int64) error {
	for _, column := range []string{"t.first_id", "t.second_id"} {
		if _, err := deleteRows(ctx, tx, "message_sequence", where("t.is_group = ? AND ?", false, sqldb.In(column, users))); err != nil {
			return err
		}
	}
	return nil
}
