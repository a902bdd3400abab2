// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"database/sql"
	"fmt"
)

// A MessageRecipient is what decides whether a user gets the private messages of another.
type MessageRecipient struct {
	// Active means that the recipient has an account that is active and was not deleted.
	Active       bool `bun:"active"`
	BlocksSender bool `bun:"blocks_sender"`
}

// A MessageRoute is whom a private message goes to and who sends it.
type MessageRoute struct{ RecipientID, SenderID int64 }

var findMessageRecipients = newRowsStatement(
	"WITH route (i, recipient_id, sender_id) AS (VALUES ",
	"(?, ?, ?)",
	") SELECT i, "+
		"EXISTS (SELECT 1 FROM user_account AS u WHERE u.id = route.recipient_id AND u.is_active AND u.deletion_date IS NULL), "+
		"EXISTS (SELECT 1 FROM relationship AS o WHERE o.owner_id = route.recipient_id AND o.related_user_id = route.sender_id AND o.block_date IS NOT NULL) "+
		"FROM route",
)

// FindMessageRecipients returns what decides whether recipients get private messages of senders, in the order of the routes.
func FindMessageRecipients(ctx context.Context, r Reader, routes []MessageRoute) ([]MessageRecipient, error) {
	found := make([]MessageRecipient, len(routes))
	c, ok := boundConn(r)
	if !ok {
		for i, route := range routes {
			if err := findMessageRecipient(ctx, r, route, &found[i]); err != nil {
				return nil, fmt.Errorf("find the recipient %d of a message: %w", route.RecipientID, translate(err))
			}
		}
		return found, nil
	}
	err := findMessageRecipients.query(ctx, c, len(routes),
		func(args []any, i int) []any { return append(args, i, routes[i].RecipientID, routes[i].SenderID) },
		func(rows *sql.Rows) error {
			var i int
			var recipient MessageRecipient
			if err := rows.Scan(&i, &recipient.Active, &recipient.BlocksSender); err != nil {
				return err
			}
			found[i] = recipient
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("find the recipients of messages: %w", translate(err))
	}
	return found, nil
}

func findMessageRecipient(ctx context.Context, r Reader, route MessageRoute, found *MessageRecipient) error {
	return r.NewSelect().
		ColumnExpr("EXISTS (SELECT 1 FROM user_account AS u WHERE u.id = ? AND u.is_active AND u.deletion_date IS NULL) AS active", route.RecipientID).
		ColumnExpr("EXISTS (SELECT 1 FROM relationship AS o WHERE o.owner_id = ? AND o.related_user_id = ? AND o.block_date IS NOT NULL) AS blocks_sender",
			route.RecipientID, route.SenderID).
		Scan(ctx, found)
}
