// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/user"
	"example.org/app/internal/store"
)

func (w *world) get(groupID int64) store.Group {
	w.Helper()
	found := must(w.Find(w.Context(), store.GroupFilter{IDs: []int64{groupID}}, 1, 0))(w)
	if len(found) != 1 {
		w.Fatalf("there is no group %d", groupID)
	}
	return found[0]
}

func TestUpdateBy(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		id := w.cast(store.GroupType{})
		edit := func(e Edit, want bool) {
			w.Helper()
			if got := must(w.UpdateBy(ctx, 1, id, e))(w); got != want {
				w.Errorf("changed %v, want %v", got, want)
			}
		}
		edit(Edit{}, false)
		w.advance(time.Minute)
		end := w.clock().Add(time.Hour)
		all := Edit{Name: new("n"), Intro: new("i"), Announcement: new("a"), MinimumScore: new(int32(3)), MuteEndDate: &end}
		w.wantBumps(id, []int64{1, 2}, func() error { edit(all, true); return nil }, "info")
		w.wantBumps(id, []int64{1, 2}, func() error { edit(all, false); return nil })
		g := w.get(id)
		if *g.Name != "n" || *g.Intro != "i" || *g.Announcement != "a" || g.MinimumScore != 3 || !g.MuteEndDate.Equal(end) || !g.LastUpdatedDate.Equal(w.clock()) {
			w.Errorf("the group is %+v", g)
		}
		edit(Edit{TypeID: &g.TypeID}, false)
		_, err := w.UpdateBy(ctx, 1, id, Edit{MinimumScore: new(int32(-1))})
		wantCode(w, err, apierr.IllegalArgument)
		_, err = w.UpdateBy(ctx, 1, 404, Edit{Name: new("x")})
		wantCode(w, err, apierr.UpdateInfoOfNonexistentGroup)
		w.change(id, store.GroupChange{IsActive: new(false)})
		_, err = w.UpdateBy(ctx, 1, id, Edit{Name: new("x")})
		wantCode(w, err, apierr.UpdateInfoOfNonexistentGroup)
	})
}

// whoMayUpdate has users of every role change a group under every strategy.
func whoMayUpdate(w *world) {
	for strategy, test := range map[store.GroupUpdateStrategy]struct {
		able []int64
		code apierr.Code
	}{
		store.UpdateByAll:                {[]int64{1, 2, 3, 5, 9}, 0},
		store.UpdateByOwnerManagerMember: {[]int64{1, 2, 3}, apierr.NotGroupMemberToUpdateGroupInfo},
		store.UpdateByOwnerManager:       {[]int64{1, 2}, apierr.NotGroupOwnerOrManagerToUpdateGroupInfo},
		store.UpdateByOwner:              {[]int64{1}, apierr.NotGroupOwnerToUpdateGroupInfo},
	} {
		id := w.cast(store.GroupType{GroupInfoUpdateStrategy: strategy})
		for _, user := range []int64{1, 2, 3, 5, 9} {
			want := test.code
			if slices.Contains(test.able, user) {
				want = 0
			}
			_, err := w.UpdateBy(w.Context(), user, id, Edit{Name: new(fmt.Sprint(user))})
			wantRefusal(w, fmt.Sprintf("user %d under %s", user, strategy), err, want)
		}
	}
}

func TestChangeType(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		newType := func(limit int32) *int64 {
			return new(must(w.Types.Create(ctx, store.GroupType{Name: "T", GroupSizeLimit: limit, GroupInfoUpdateStrategy: store.UpdateByAll}))(w).ID)
		}
		club, small, foreign, once := newType(10), newType(1), newType(10), newType(10)
		role := must(w.users.CreateRole(ctx, user.RoleCreation{
			CreatableGroupTypeIDs: []int64{0, *club, *small, *once}, OwnedGroupLimit: 3, OwnedGroupLimitForEachGroupType: store.UnlimitedGroups,
			GroupTypeIDToLimit: map[int64]int32{*once: 1},
		}))(w)
		owner := must(w.users.Create(ctx, user.Creation{RoleID: role.ID}))(w).ID
		a, b := w.group(owner, 2), w.group(owner, 2)
		change := func(requester, groupID int64, typeID *int64, want apierr.Code) {
			w.Helper()
			_, err := w.UpdateBy(ctx, requester, groupID, Edit{TypeID: typeID})
			wantRefusal(w, fmt.Sprint("type ", *typeID), err, want)
		}
		change(owner, a, club, apierr.UpdatingGroupTypeIsDisabled)
		w.settings.AllowGroupOwnerChangeGroupType = true
		change(owner, a, new(int64(404)), apierr.UpdateGroupToNonexistentGroupType)
		change(owner, a, foreign, apierr.NoPermissionToUpdateGroupToGroupType)
		change(owner, a, small, apierr.AddUserToGroupWithSizeLimitReached)
		change(owner, a, once, 0)
		change(owner, b, once, apierr.MaxOwnedGroupsReached)
		change(owner, b, club, 0)
		change(2, b, once, apierr.NotGroupOwnerToUpdateGroupType)
		change(2, b, club, 0)
		if g := w.get(a); g.TypeID != *once {
			w.Errorf("the type is %d", g.TypeID)
		}
		if g := w.get(b); g.TypeID != *club {
			w.Errorf("the type is %d", g.TypeID)
		}
	})
}

func TestHandOver(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		id := w.cast(store.GroupType{})
		handOver := func(requester, groupID, successor int64, quit bool, want apierr.Code) {
			w.Helper()
			_, err := w.HandOver(ctx, requester, groupID, successor, quit)
			wantRefusal(w, fmt.Sprintf("%d to %d", requester, successor), err, want)
		}
		handOver(1, 404, 2, false, apierr.TransferNonexistentGroup)
		handOver(2, id, 3, false, apierr.NotGroupOwnerToTransferGroup)
		handOver(1, id, 9, false, apierr.GroupSuccessorNotGroupMember)
		// The successor may not own groups of this type.
		handOver(1, id, 2, false, apierr.NoPermissionToCreateGroupWithGroupType)
		w.change(id, store.GroupChange{TypeID: new(DefaultTypeID)})
		poor := must(w.users.CreateRole(ctx, user.RoleCreation{CreatableGroupTypeIDs: []int64{0}, OwnedGroupLimit: 0}))(w)
		successor := must(w.users.Create(ctx, user.Creation{RoleID: poor.ID}))(w).ID
		w.join(id, successor)
		handOver(1, id, successor, false, apierr.MaxOwnedGroupsReached)
		must(w.Members.RemoveBy(ctx, successor, id, []int64{successor}))(w)

		if must(w.HandOver(ctx, 1, id, 1, true))(w) {
			w.Error("a group that stays with its owner counts as changed")
		}
		w.advance(time.Minute)
		w.wantBumps(id, []int64{1, 3}, func() error {
			if !must(w.HandOver(ctx, 1, id, 3, false))(w) {
				w.Error("nothing changed")
			}
			return nil
		}, "info", "members")
		w.wantRoles(id, "1:MEMBER 2:MANAGER 3:OWNER 4:MEMBER 5:GUEST ")
		handOver(3, id, 5, true, 0)
		w.wantRoles(id, "1:MEMBER 2:MANAGER 4:MEMBER 5:OWNER ")
	})
}

func TestDeleteBy(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		a, b := w.cast(store.GroupType{}), w.group(1, 2)
		for _, requester := range []int64{2, 3, 9} {
			_, err := w.DeleteBy(ctx, requester, a)
			wantCode(w, err, apierr.NotGroupOwnerToDeleteGroup)
		}
		_, err := w.DeleteBy(ctx, 1, 404)
		wantCode(w, err, apierr.NotGroupOwnerToDeleteGroup)
		w.wantRoles(a, "1:OWNER 2:MANAGER 3:MEMBER 4:MEMBER 5:GUEST ")
		w.wantBumps(0, []int64{1, 5, 9}, func() error {
			members := must(w.DeleteBy(ctx, 1, a))(w)
			slices.Sort(members)
			if !slices.Equal(members, []int64{1, 2, 3, 4, 5}) {
				w.Errorf("the members were %v", members)
			}
			return nil
		}, "joined_groups:1", "joined_groups:5")
		if g := w.get(a); g.DeletionDate == nil || !slices.Equal(w.hooked, []int64{a}) || w.deleted.Load() != 1 {
			w.Errorf("the group is %+v", g)
		}
		_, err = w.DeleteBy(ctx, 1, a)
		wantCode(w, err, apierr.NotGroupOwnerToDeleteGroup)
		w.settings.DeleteGroupLogicallyByDefault = false
		must(w.DeleteBy(ctx, 1, b))(w)
		if n := must(w.Count(ctx, store.GroupFilter{}))(w); n != 1 {
			w.Errorf("%d groups are left", n)
		}
	})
}
