// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

func TestUpdateMemberBy(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		id := w.cast(store.GroupType{MemberInfoUpdateStrategy: store.UpdateByOwner, SelfInfoUpdatable: true})
		edit := func(requester, user int64, e MemberEdit, want bool) {
			w.Helper()
			if got := must(w.Members.UpdateBy(ctx, requester, id, user, e))(w); got != want {
				w.Errorf("changed %v, want %v", got, want)
			}
		}
		end := w.clock().Add(time.Hour)
		edit(9, 3, MemberEdit{}, false)
		w.advance(time.Minute)
		w.wantBumps(id, []int64{1, 3}, func() error {
			edit(1, 3, MemberEdit{Name: new("n"), Role: new(store.GroupManager), MuteEndDate: &end}, true)
			return nil
		}, "members")
		w.wantBumps(id, []int64{1, 3}, func() error {
			edit(1, 3, MemberEdit{Name: new("n"), Role: new(store.GroupManager), MuteEndDate: &end}, false)
			return nil
		})
		m := must(w.Members.Find(ctx, store.GroupMemberFilter{GroupIDs: []int64{id}, UserIDs: []int64{3}}, 1, 0))(w)[0]
		if *m.Name != "n" || m.Role != store.GroupManager || !m.MuteEndDate.Equal(end) {
			w.Errorf("the member is %+v", m)
		}
		// Muting alone is enough.
		edit(2, 4, MemberEdit{MuteEndDate: &end}, true)
		w.read(func(ctx context.Context, r store.Reader) error {
			s, err := w.Members.Speaker(ctx, r, id, 4)
			if !s.MemberMuted() {
				w.Error("the member is not muted")
			}
			return err
		})
		w.advance(2 * time.Hour)
		w.read(func(ctx context.Context, r store.Reader) error {
			s, err := w.Members.Speaker(ctx, r, id, 4)
			if s.MemberMuted() {
				w.Error("the member is muted for ever")
			}
			return err
		})
		// All or nothing.
		_, err := w.Members.UpdateBy(ctx, 2, id, 4, MemberEdit{Name: new("x"), MuteEndDate: new(w.clock())})
		wantCode(w, err, apierr.NotGroupOwnerToUpdateGroupMemberInfo)
		m = must(w.Members.Find(ctx, store.GroupMemberFilter{GroupIDs: []int64{id}, UserIDs: []int64{4}}, 1, 0))(w)[0]
		if m.Name != nil || !m.MuteEndDate.Equal(end) {
			w.Errorf("the member is %+v", m)
		}
	})
}

func memberEditRefusals(w *world) {
	ctx := w.Context()
	id := w.cast(store.GroupType{})
	inactive := w.cast(store.GroupType{})
	w.change(inactive, store.GroupChange{IsActive: new(false)})
	role, mute, name := MemberEdit{Role: new(store.GroupGuest)}, MemberEdit{MuteEndDate: new(w.clock())}, MemberEdit{Name: new("n")}
	for what, test := range map[string]struct {
		requester, group, user int64
		e                      MemberEdit
		code                   apierr.Code
	}{
		"role of owner":            {1, id, 3, MemberEdit{Role: new(store.GroupOwner)}, apierr.IllegalArgument},
		"no role":                  {1, id, 3, MemberEdit{Role: new(store.GroupMemberRole(9))}, apierr.IllegalArgument},
		"role by manager":          {2, id, 3, role, apierr.NotGroupOwnerToUpdateGroupMemberRole},
		"role by stranger":         {9, id, 3, role, apierr.NotGroupOwnerToUpdateGroupMemberRole},
		"role in inactive group":   {1, inactive, 3, role, apierr.UpdateGroupMemberRoleOfNonexistentGroup},
		"role in no group":         {1, 404, 3, role, apierr.UpdateGroupMemberRoleOfNonexistentGroup},
		"role of stranger":         {1, id, 9, role, apierr.UpdateInfoOfNonexistentGroupMember},
		"owner steps down":         {1, id, 1, role, apierr.IllegalArgument},
		"mute oneself":             {2, id, 2, mute, apierr.IllegalArgument},
		"mute in inactive group":   {1, inactive, 3, mute, apierr.MuteGroupMemberOfNonexistentGroup},
		"mute by stranger":         {9, id, 3, mute, apierr.NotGroupOwnerOrManagerToMuteGroupMember},
		"mute stranger":            {1, id, 9, mute, apierr.MuteNonexistentGroupMember},
		"mute equal":               {3, id, 4, mute, apierr.MuteGroupMemberWithRoleEqualToOrHigherThanRequester},
		"mute owner":               {2, id, 1, mute, apierr.MuteGroupMemberWithRoleEqualToOrHigherThanRequester},
		"rename in inactive group": {1, inactive, 3, name, apierr.UpdateGroupMemberInfoOfNonexistentGroup},
		"rename stranger":          {1, id, 9, name, apierr.UpdateInfoOfNonexistentGroupMember},
	} {
		_, err := w.Members.UpdateBy(ctx, test.requester, test.group, test.user, test.e)
		wantRefusal(w, what, err, test.code)
	}
}

// whoMayRename has users of every role rename a member, and themselves, under every strategy.
func whoMayRename(w *world) {
	ctx := w.Context()
	for strategy, test := range map[store.GroupUpdateStrategy]struct {
		able []int64
		code apierr.Code
	}{
		store.UpdateByAll:                {[]int64{1, 2, 3, 5, 9}, 0},
		store.UpdateByOwnerManagerMember: {[]int64{1, 2, 3}, apierr.NotGroupMemberToUpdateGroupMemberInfo},
		store.UpdateByOwnerManager:       {[]int64{1, 2}, apierr.NotGroupOwnerOrManagerToUpdateGroupMemberInfo},
		store.UpdateByOwner:              {[]int64{1}, apierr.NotGroupOwnerToUpdateGroupMemberInfo},
	} {
		for _, selfish := range []bool{true, false} {
			id := w.cast(store.GroupType{MemberInfoUpdateStrategy: strategy, SelfInfoUpdatable: selfish})
			for _, user := range []int64{1, 2, 3, 5, 9} {
				want := test.code
				if slices.Contains(test.able, user) {
					want = 0
				}
				_, err := w.Members.UpdateBy(ctx, user, id, 4, MemberEdit{Name: new(fmt.Sprint(user))})
				wantRefusal(w, fmt.Sprintf("user %d under %s", user, strategy), err, want)
				if selfish {
					want = 0
				}
				if user != 9 {
					_, err = w.Members.UpdateBy(ctx, user, id, user, MemberEdit{Name: new("me")})
					wantRefusal(w, fmt.Sprintf("user %d oneself under %s", user, strategy), err, want)
				}
			}
		}
	}
}
