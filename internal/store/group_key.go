// SPDX-License-Identifier: Apache-2.0

package store

import "example.org/app/internal/store/sqldb"

// A GroupUserKey names what a group knows of a user: a membership or a block.
type GroupUserKey struct{ GroupID, UserID int64 }

// inKeys is the condition that a row of a table called t has one of the keys.
func inKeys(keys []GroupUserKey) conditions {
	pairs := make([]sqldb.Pair, len(keys))
	for i, key := range keys {
		pairs[i] = sqldb.Pair{key.GroupID, key.UserID}
	}
	return conditions{sqldb.InPairs("t.group_id", "t.user_id", pairs)}
}
