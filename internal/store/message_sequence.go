// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

type messageSequenceRow struct {
	bun.BaseModel `bun:"table:message_sequence,alias:t"`
	IsGroup       bool  `bun:"is_group,pk"`
	FirstID       int64 `bun:"first_id,pk"`
	SecondID      int64 `bun:"second_id,pk"`
	Value         int32 `bun:"value"`
}

// NextGroupSequence returns the next number of a message to a group, the first of which is 1. Who commits first has the
// smaller number, and no number is left out.
func NextGroupSequence(ctx context.Context, tx Tx, group int64) (int32, error) {
	return nextSequence(ctx, tx, messageSequenceRow{IsGroup: true, FirstID: group})
}

// NextPrivateSequence returns the next number of a message between two users. See NextGroupSequence.
func NextPrivateSequence(ctx context.Context, tx Tx, a, b int64) (int32, error) {
	return nextSequence(ctx, tx, messageSequenceRow{FirstID: min(a, b), SecondID: max(a, b)})
}

func nextSequence(ctx context.Context, tx Tx, row messageSequenceRow) (int32, error) {
	row.Value = 1
	var value int32
	err := tx.NewInsert().Model(&row).On("CONFLICT (is_group, first_id, second_id) DO UPDATE").Set("value = t.value + 1").
		Returning("value").Scan(ctx, &value)
	if err != nil {
		return 0, fmt.Errorf("next message sequence: %w", translate(err))
	}
	return value, nil
}

// DeleteGroupSequences forgets the numbers of messages to groups.
func DeleteGroupSequences(ctx context.Context, tx Tx, groups []int64) error {
	_, err := deleteRows(ctx, tx, "message_sequence", conditions{bun.SafeQuery("t.is_group = ?", true), In(tx.Engine(), "t.first_id", groups)})
	return err
}

// DeletePrivateSequences forgets the numbers of messages from and to users.
func DeletePrivateSequences(ctx context.Context, tx Tx, users []int64) error {
	for _, column := range []string{"t.first_id", "t.second_id"} {
		if _, err := deleteRows(ctx, tx, "message_sequence", conditions{bun.SafeQuery("t.is_group = ?", false), In(tx.Engine(), column, users)}); err != nil {
			return err
		}
	}
	return nil
}
