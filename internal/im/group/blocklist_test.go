// SPDX-License-Identifier: Apache-2.0

package group

import (
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

func TestBlockBy(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		id := w.cast(store.GroupType{})
		for name, test := range map[string]struct {
			requester, group, user int64
			code                   apierr.Code
		}{
			"oneself":     {2, id, 2, apierr.IllegalArgument},
			"user 0":      {2, id, 0, apierr.IllegalArgument},
			"by member":   {3, id, 9, apierr.NotGroupOwnerOrManagerToAddBlockedUser},
			"by stranger": {9, id, 3, apierr.NotGroupOwnerOrManagerToAddBlockedUser},
			"no group":    {1, 404, 3, apierr.NotGroupOwnerOrManagerToAddBlockedUser},
			"owner":       {2, id, 1, apierr.NotGroupOwnerToRemoveGroupOwnerOrManager},
			"again":       {2, id, 8, apierr.RecordContainsDuplicateKey},
		} {
			wantRefusal(w, name, w.Blocklist.BlockBy(ctx, test.requester, test.group, test.user), test.code)
		}
		w.wantRoles(id, "1:OWNER 2:MANAGER 3:MEMBER 4:MEMBER 5:GUEST ")
		w.advance(time.Minute)
		w.wantBumps(id, []int64{9}, func() error { return w.Blocklist.BlockBy(ctx, 2, id, 9) }, "blocklist")
		w.wantBumps(id, []int64{3}, func() error { return w.Blocklist.BlockBy(ctx, 2, id, 3) }, "blocklist", "members", "joined_groups:3")
		w.wantRoles(id, "1:OWNER 2:MANAGER 4:MEMBER 5:GUEST ")
		blocked := must(w.Blocklist.Find(ctx, store.GroupBlockedUserFilter{UserIDs: []int64{3}}, 1, 0))(w)
		if len(blocked) != 1 || blocked[0].RequesterID != 2 || !blocked[0].BlockDate.Equal(w.clock()) {
			w.Errorf("blocked are %+v", blocked)
		}

		for _, requester := range []int64{4, 9} {
			_, err := w.Blocklist.UnblockBy(ctx, requester, id, 3)
			wantCode(w, err, apierr.NotGroupOwnerOrManagerToRemoveBlockedUser)
		}
		w.wantBumps(id, nil, func() error {
			if !must(w.Blocklist.UnblockBy(ctx, 1, id, 3))(w) {
				w.Error("there was no block")
			}
			return nil
		}, "blocklist")
		w.wantBumps(id, nil, func() error {
			if must(w.Blocklist.UnblockBy(ctx, 1, id, 3))(w) {
				w.Error("there was a block")
			}
			return nil
		})
	})
}
