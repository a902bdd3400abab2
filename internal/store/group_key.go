// SPDX-License-Identifier: Apache-2.0

package store

import "github.com/uptrace/bun/schema"

// A GroupUserKey names what a group knows of a user: a membership or a block.
type GroupUserKey struct{ GroupID, UserID int64 }

// inKeys is the condition that a row of a table called t has one of the keys.
func inKeys(engine Engine, keys []GroupUserKey) schema.QueryAppender {
	pairs := make([]Pair, len(keys))
	for i, key := range keys {
		pairs[i] = Pair{key.GroupID, key.UserID}
	}
	return InPairs(engine, [2]string{"t.group_id", "t.user_id"}, pairs)
}
