// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// groupOf creates a group of a new type.
func (w *world) groupOf(t store.GroupType, owner int64, members ...int64) int64 {
	w.Helper()
	if t.GroupSizeLimit == 0 {
		t.GroupSizeLimit = 500
	}
	t = must(w.Types.Create(w.Context(), t))(w)
	id := w.group(owner, members...)
	w.change(id, store.GroupChange{TypeID: &t.ID})
	return id
}

func (w *world) change(groupID int64, c store.GroupChange) {
	w.Helper()
	if got := must(w.Update(w.Context(), []int64{groupID}, c))(w); got.Modified != 1 {
		w.Fatalf("changed %+v", got)
	}
}

func (w *world) appoint(groupID, userID int64, role store.GroupMemberRole) {
	w.Helper()
	must(w.Members.Update(w.Context(), []store.GroupUserKey{key(groupID, userID)}, store.GroupMemberChange{Role: &role}))(w)
}

func (w *world) block(groupID, userID int64) {
	w.Helper()
	must(w.Blocklist.Block(w.Context(), store.GroupBlockedUser{GroupUserKey: key(groupID, userID), RequesterID: 1}, nil))(w)
}

// wantRefusal checks the code of an error; 0 is none.
func wantRefusal(t testing.TB, name string, err error, want apierr.Code) {
	t.Helper()
	if want == 0 && err == nil || want != 0 && err != nil && apierr.From(store.Code(err)).Code == want {
		return
	}
	t.Errorf("%s: error %v, want %v", name, err, want)
}

// cast is a group with every role: 1 owns it, 2 manages it, 3 and 4 are members, 5 is a guest, 9 is
// no member, and 8 is no member and blocked.
func (w *world) cast(t store.GroupType) int64 {
	w.Helper()
	id := w.groupOf(t, 1)
	err := w.db.Write(w.Context(), func(ctx context.Context, tx store.Tx) error {
		return w.Members.Join(ctx, tx, id, member(id, 2, store.GroupManager), member(id, 3, store.GroupRegularMember),
			member(id, 4, store.GroupRegularMember), member(id, 5, store.GroupGuest))
	})
	if err != nil {
		w.Fatal(err)
	}
	w.block(id, 8)
	return id
}

func TestAddMembersBy(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		id := w.groupOf(store.GroupType{InvitationStrategy: store.InviteOwnerManager}, 1)
		end := w.clock().Add(time.Hour).UTC()
		w.advance(time.Minute)
		w.wantBumps(id, []int64{1, 7, 6}, func() error {
			return w.Members.AddBy(ctx, 1, id, Newcomers{UserIDs: []int64{7, 6, 7}, Name: new("n"), Role: new(store.GroupManager), MuteEndDate: &end})
		}, "members", "joined_groups:6", "joined_groups:7")
		w.wantRoles(id, "1:OWNER 6:MANAGER 7:MANAGER ")
		got := must(w.Members.Find(ctx, store.GroupMemberFilter{GroupIDs: []int64{id}, UserIDs: []int64{7}}, 1, 0))(w)
		want := []store.GroupMember{{GroupUserKey: key(id, 7), Name: new("n"), Role: store.GroupManager, JoinDate: w.clock().UTC(), MuteEndDate: &end}}
		if diff := cmp.Diff(want, got); diff != "" {
			w.Errorf("-want +got:\n%s", diff)
		}
		wantRefusal(w, "nobody", w.Members.AddBy(ctx, 9, id, Newcomers{}), 0)
		wantRefusal(w, "member", w.Members.AddBy(ctx, 1, id, Newcomers{UserIDs: []int64{5, 6}}), apierr.RecordContainsDuplicateKey)
		w.wantRoles(id, "1:OWNER 6:MANAGER 7:MANAGER ")
	})
}

// whoMayAdd has users of every role add somebody under every strategy.
func whoMayAdd(w *world) {
	ctx := w.Context()
	next := int64(100)
	for strategy, test := range map[store.GroupInvitationStrategy]struct {
		able []int64
		code apierr.Code
	}{
		store.InviteAll:                                 {[]int64{1, 2, 3, 5, 9}, 0},
		store.InviteOwnerManagerMember:                  {[]int64{1, 2, 3}, apierr.NotGroupMemberToAddGroupMember},
		store.InviteOwnerManager:                        {[]int64{1, 2}, apierr.NotGroupOwnerOrManagerToAddGroupMember},
		store.InviteOwner:                               {[]int64{1}, apierr.NotGroupOwnerToAddGroupMember},
		store.InviteAllRequiringApproval:                {nil, apierr.AddUserToGroupRequiringUsersApproval},
		store.InviteOwnerRequiringApproval:              {nil, apierr.AddUserToGroupRequiringUsersApproval},
		store.InviteOwnerManagerRequiringApproval:       {nil, apierr.AddUserToGroupRequiringUsersApproval},
		store.InviteOwnerManagerMemberRequiringApproval: {nil, apierr.AddUserToGroupRequiringUsersApproval},
	} {
		id := w.cast(store.GroupType{InvitationStrategy: strategy})
		for _, user := range []int64{1, 2, 3, 5, 9} {
			next++
			want := test.code
			if slices.Contains(test.able, user) {
				want = 0
			}
			wantRefusal(w, fmt.Sprintf("user %d under %s", user, strategy), w.Members.AddBy(ctx, user, id, Newcomers{UserIDs: []int64{next}}), want)
		}
		w.sound(id)
	}
}

func addRefusals(w *world) {
	ctx := w.Context()
	open := w.cast(store.GroupType{InvitationStrategy: store.InviteAll, GroupSizeLimit: 7})
	inactive := w.cast(store.GroupType{InvitationStrategy: store.InviteAll})
	w.change(inactive, store.GroupChange{IsActive: new(false)})
	crowd := make([]int64, 101)
	for name, test := range map[string]struct {
		requester, group int64
		n                Newcomers
		code             apierr.Code
	}{
		"too many":            {1, open, Newcomers{UserIDs: crowd}, apierr.IllegalArgument},
		"user 0":              {1, open, Newcomers{UserIDs: []int64{0}}, apierr.IllegalArgument},
		"with oneself":        {9, open, Newcomers{UserIDs: []int64{9, 10}}, apierr.IllegalArgument},
		"oneself as manager":  {9, open, Newcomers{UserIDs: []int64{9}, Role: new(store.GroupManager)}, apierr.IllegalArgument},
		"as owner":            {1, open, Newcomers{UserIDs: []int64{9}, Role: new(store.GroupOwner)}, apierr.IllegalArgument},
		"as guest":            {1, open, Newcomers{UserIDs: []int64{9}, Role: new(store.GroupGuest)}, apierr.IllegalArgument},
		"as nothing":          {1, open, Newcomers{UserIDs: []int64{9}, Role: new(store.GroupMemberRole(77))}, apierr.IllegalArgument},
		"manager by manager":  {2, open, Newcomers{UserIDs: []int64{9}, Role: new(store.GroupManager)}, apierr.NotGroupOwnerToAddGroupManager},
		"manager by stranger": {9, open, Newcomers{UserIDs: []int64{10}, Role: new(store.GroupManager)}, apierr.NotGroupOwnerToAddGroupManager},
		"blocked":             {1, open, Newcomers{UserIDs: []int64{9, 8}}, apierr.AddBlockedUserToGroup},
		"full":                {1, open, Newcomers{UserIDs: []int64{9, 10, 11}}, apierr.AddUserToGroupWithSizeLimitReached},
		"inactive group":      {1, inactive, Newcomers{UserIDs: []int64{9}}, apierr.AddUserToInactiveGroup},
		"no group":            {1, 404, Newcomers{UserIDs: []int64{9}}, apierr.AddUserToInactiveGroup},
	} {
		wantRefusal(w, name, w.Members.AddBy(ctx, test.requester, test.group, test.n), test.code)
	}
	w.wantRoles(open, "1:OWNER 2:MANAGER 3:MEMBER 4:MEMBER 5:GUEST ")
}

func joinAlone(w *world) {
	ctx := w.Context()
	for strategy, code := range map[store.GroupJoinStrategy]apierr.Code{
		store.JoinByMembershipRequest: 0,
		store.JoinByInvitation:        apierr.UserJoinGroupWithoutAcceptingGroupInvitation,
		store.JoinByQuestion:          apierr.UserJoinGroupWithoutAnsweringGroupQuestion,
		store.JoinByRequest:           apierr.UserJoinGroupWithoutSendingGroupJoinRequest,
	} {
		id := w.groupOf(store.GroupType{JoinStrategy: strategy, InvitationStrategy: store.InviteAll}, 1)
		wantRefusal(w, strategy.String(), w.Members.AddBy(ctx, 9, id, Newcomers{UserIDs: []int64{9}}), code)
		if code != 0 {
			continue
		}
		w.wantRoles(id, "1:OWNER 9:MEMBER ")
		w.block(id, 8)
		wantRefusal(w, "blocked", w.Members.AddBy(ctx, 8, id, Newcomers{UserIDs: []int64{8}}), apierr.AddBlockedUserToGroup)
	}
}
