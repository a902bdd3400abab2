// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

func TestRemoveMembersBy(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		id := w.cast(store.GroupType{})
		w.join(id, 6)
		w.appoint(id, 6, store.GroupManager)
		for name, test := range map[string]struct {
			requester int64
			users     []int64
			code      apierr.Code
		}{
			"too many":                {1, make([]int64, 101), apierr.IllegalArgument},
			"owner leaves":            {1, []int64{1}, apierr.GroupOwnerQuitWithoutSpecifyingSuccessor},
			"owner leaves with other": {1, []int64{1, 3}, apierr.NotGroupOwnerToRemoveGroupOwnerOrManager},
			"owner by manager":        {2, []int64{1}, apierr.NotGroupOwnerToRemoveGroupOwnerOrManager},
			"manager by manager":      {2, []int64{3, 6}, apierr.NotGroupOwnerToRemoveGroupOwnerOrManager},
			"member by member":        {3, []int64{4}, apierr.NotGroupOwnerOrManagerToRemoveGroupMember},
			"guest by member":         {3, []int64{5}, apierr.NotGroupOwnerOrManagerToRemoveGroupMember},
			"member by stranger":      {9, []int64{4}, apierr.NotGroupOwnerOrManagerToRemoveGroupMember},
		} {
			removed, err := w.Members.RemoveBy(ctx, test.requester, id, test.users)
			wantRefusal(w, name, err, test.code)
			if removed != nil {
				w.Errorf("%s: removed %v", name, removed)
			}
		}
		w.wantRoles(id, "1:OWNER 2:MANAGER 3:MEMBER 4:MEMBER 5:GUEST 6:MANAGER ")

		remove := func(requester int64, want string, users ...int64) {
			w.Helper()
			if got := fmt.Sprint(must(w.Members.RemoveBy(ctx, requester, id, users))(w)); got != want {
				w.Errorf("removed %v, want %v", got, want)
			}
		}
		remove(9, "[]", 9)
		remove(1, "[]")
		remove(2, "[]", 77)
		w.advance(time.Minute)
		w.wantBumps(id, []int64{2, 3, 4, 5, 77}, func() error {
			remove(2, "[3 5]", 5, 3, 77, 5)
			return nil
		}, "members", "joined_groups:3", "joined_groups:5")
		w.change(id, store.GroupChange{IsActive: new(false)})
		remove(2, "[2]", 2)
		remove(1, "[4 6]", 4, 6)
		w.wantRoles(id, "1:OWNER ")
	})
}
