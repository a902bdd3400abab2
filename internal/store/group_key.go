// SPDX-License-Identifier: Apache-2.0

package store

import "example.org/app/internal/store/sqldb"

// A GroupUserKey identifies a membership or a block.
type GroupUserKey struct{ GroupID, UserID int64 }

// inKeys returns the condition that a row with the table alias t has one of the keys.
func inKeys(keys []GroupUserKey) conditions {
	pairs := make([]sqldb.Pair, len(keys))
	for i, key := range keys {
		pairs[i] = sqldb.Pair{key.GroupID, key.UserID}
	}
	return conditions{sqldb.InPairs("t.group_id", "t.user_id", pairs)}
}
