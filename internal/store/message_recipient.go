// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"

	"example.org/app/internal/store/sqldb"
)

// A MessageRecipient contains what decides whether a user accepts private messages of another.
type MessageRecipient struct {
	// Active is true if the recipient's account is active and not deleted.
	Active       bool
	BlocksSender bool
}

// A MessageRoute is the recipient and the sender of a private message.
type MessageRoute struct{ RecipientID, SenderID int64 }

// FindMessageRecipients returns the recipients in the order of the routes. It takes one statement
// on PostgreSQL, and one per 64 routes on SQLite.
func FindMessageRecipients(ctx context.Context, r Reader, routes []MessageRoute) ([]MessageRecipient, error) {
	found := make([]MessageRecipient, len(routes))
	pairs := make([]sqldb.Pair, len(routes))
	for i, route := range routes {
		pairs[i] = sqldb.Pair{route.RecipientID, route.SenderID}
	}
	for part := range sqldb.PairTables(r, pairs) {
		err := sqldb.Query(ctx, r, sqldb.New("SELECT k.i, "+
			"EXISTS (SELECT 1 FROM user_account AS u WHERE u.id = k.first AND u.is_active AND u.deletion_date IS NULL), "+
			"EXISTS (SELECT 1 FROM relationship AS o WHERE o.owner_id = k.first AND o.related_user_id = k.second AND o.block_date IS NOT NULL) "+
			"FROM ?", part), func(row sqldb.Row) error {
			var i int
			var recipient MessageRecipient
			if err := row.Scan(&i, &recipient.Active, &recipient.BlocksSender); err != nil {
				return err
			}
			found[i] = recipient
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("find the recipients of messages: %w", err)
		}
	}
	return found, nil
}
