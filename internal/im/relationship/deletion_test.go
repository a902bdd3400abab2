// SPDX-License-Identifier: Apache-2.0

package relationship

import (
	"context"
	"testing"
	"time"

	"example.org/app/internal/store"
)

// TestDeleteAll deletes more than one transaction does.
func TestDeleteAll(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *fixture) {
		const many = 2*deletionBatch + 1
		date := time.UnixMilli(1)
		err := f.opts.Store.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			var requests []store.FriendRequest
			var groups []store.RelationshipGroup
			for i := int64(1); i <= many; i++ {
				requests = append(requests, store.FriendRequest{ID: i, RequesterID: i, RecipientID: i + 1, CreationDate: date})
				groups = append(groups, store.RelationshipGroup{RelationshipGroupKey: store.RelationshipGroupKey{OwnerID: i % 7, Index: int32(i)}, CreationDate: date})
			}
			if err := store.InsertFriendRequests(ctx, tx, requests...); err != nil {
				return err
			}
			return store.InsertRelationshipGroups(ctx, tx, groups...)
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Establish(t.Context(), key(1, 2), false, new(int32(1)), nil); err != nil {
			t.Fatal(err)
		}
		if n, err := f.FriendRequests.DeleteAll(t.Context()); err != nil || n != many {
			t.Errorf("deleted %d requests, %v", n, err)
		}
		if n, err := f.DeleteGroups(t.Context(), nil); err != nil || n != many {
			t.Errorf("deleted %d groups, %v", n, err)
		}
		if n, err := f.FriendRequests.DeleteAll(t.Context()); err != nil || n != 0 {
			t.Errorf("deleted %d requests that are gone, %v", n, err)
		}
		found, err := f.Find(t.Context(), store.RelationshipFilter{}, true, 0, 0)
		if err != nil || len(found) != 1 || len(found[0].GroupIndexes) != 1 || found[0].GroupIndexes[0] != store.DefaultRelationshipGroup {
			t.Errorf("the related user is in %+v, %v", found, err)
		}
		for _, user := range []int64{1, many} {
			if f.version(store.VersionSentFriendRequests, user) < 0 {
				t.Errorf("the requests of user %d have no version", user)
			}
		}
	})
}
