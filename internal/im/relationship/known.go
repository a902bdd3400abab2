// SPDX-License-Identifier: Apache-2.0

package relationship

import (
	"context"
	"time"

	"example.org/app/internal/store"
)

// Functions for other packages, within their transactions.

// Blocks reports whether the owner has blocked the other user.
func Blocks(ctx context.Context, r store.Reader, owner, other int64) (bool, error) {
	found, err := store.FindRelationship(ctx, r, store.RelationshipKey{OwnerID: owner, RelatedUserID: other})
	return found != nil && found.BlockDate != nil, err
}

// Knows reports whether the owner has a relationship to the other user that is no block.
func Knows(ctx context.Context, r store.Reader, owner, other int64) (bool, error) {
	found, err := store.FindRelationship(ctx, r, store.RelationshipKey{OwnerID: owner, RelatedUserID: other})
	return found != nil && found.BlockDate == nil, err
}

// EnsureDefaultGroups creates missing default groups.
func EnsureDefaultGroups(ctx context.Context, tx store.Tx, now time.Time, owners ...int64) error {
	created, err := store.EnsureDefaultRelationshipGroups(ctx, tx, now, owners...)
	if err != nil {
		return err
	}
	return store.BumpUserVersion(ctx, tx, store.VersionRelationshipGroups, now, created...)
}

// DeleteOf deletes the relationships of the users in both directions and their groups. Friend
// requests stay.
func DeleteOf(ctx context.Context, tx store.Tx, now time.Time, users []int64) error {
	gone, err := store.DeleteRelationshipsOfUsers(ctx, tx, users)
	if err != nil {
		return err
	}
	groups, err := store.DeleteRelationshipGroupsOfUsers(ctx, tx, users)
	if err != nil {
		return err
	}
	if err := bumpGroups(ctx, tx, now, groups); err != nil {
		return err
	}
	return bumpBoth(ctx, tx, now, owners(gone)...)
}
