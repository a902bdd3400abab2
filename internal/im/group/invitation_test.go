// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

func TestInvite(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		id := w.cast(store.GroupType{InvitationStrategy: store.InviteOwnerManagerMemberRequiringApproval})
		direct := w.cast(store.GroupType{InvitationStrategy: store.InviteOwnerManagerMember})
		inactive := w.cast(store.GroupType{})
		w.change(inactive, store.GroupChange{IsActive: new(false)})
		w.advance(time.Minute)
		w.wantBumps(id, []int64{3, 9}, func() error {
			v, err := w.Invitations.Send(ctx, 3, id, 9, "come", nil)
			if v.GroupID != id || v.InviterID != 3 || v.InviteeID != 9 || v.Content != "come" || v.Status != store.RequestPending || !v.CreationDate.Equal(w.clock()) {
				w.Errorf("the invitation is %+v", v)
			}
			return err
		}, "invitations", "sent_group_invitations:3", "received_group_invitations:9")
		for name, test := range map[string]struct {
			inviter, group, invitee int64
			content                 string
			code                    apierr.Code
		}{
			"long text":      {1, id, 9, strings.Repeat("x", 201), apierr.IllegalArgument},
			"user 0":         {1, id, 0, "", apierr.IllegalArgument},
			"member":         {1, id, 3, "", apierr.SendGroupInvitationToGroupMember},
			"oneself":        {1, id, 1, "", apierr.SendGroupInvitationToGroupMember},
			"blocked user":   {1, id, 8, "", apierr.SendGroupInvitationToBlockedUser},
			"no approval":    {1, direct, 9, "", apierr.SendGroupInvitationToGroupNotRequiringUsersApproval},
			"inactive group": {1, inactive, 9, "", apierr.AddUserToInactiveGroup},
			"no group":       {1, 404, 9, "", apierr.AddUserToInactiveGroup},
		} {
			_, err := w.Invitations.Send(ctx, test.inviter, test.group, test.invitee, test.content, nil)
			wantRefusal(w, name, err, test.code)
		}
	})
}

// whoMayInvite has users of every role invite somebody under every strategy.
func whoMayInvite(w *world) {
	for strategy, test := range map[store.GroupInvitationStrategy]struct {
		able []int64
		code apierr.Code
	}{
		store.InviteAllRequiringApproval:                {[]int64{1, 2, 3, 5}, apierr.NotGroupMemberToSendGroupInvitation},
		store.InviteOwnerManagerMemberRequiringApproval: {[]int64{1, 2, 3}, apierr.NotGroupMemberToSendGroupInvitation},
		store.InviteOwnerManagerRequiringApproval:       {[]int64{1, 2}, apierr.NotGroupOwnerOrManagerToSendGroupInvitation},
		store.InviteOwnerRequiringApproval:              {[]int64{1}, apierr.NotGroupOwnerToSendGroupInvitation},
	} {
		id := w.cast(store.GroupType{InvitationStrategy: strategy})
		for _, user := range []int64{1, 2, 3, 5, 9} {
			want := test.code
			if slices.Contains(test.able, user) {
				want = 0
			}
			_, err := w.Invitations.Send(w.Context(), user, id, 77, "", nil)
			wantRefusal(w, fmt.Sprintf("user %d under %s", user, strategy), err, want)
		}
	}
}

func TestRecallInvitation(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		id := w.cast(store.GroupType{InvitationStrategy: store.InviteAllRequiringApproval})
		invite := func() int64 { return must(w.Invitations.Send(ctx, 3, id, 9, "", nil))(w).ID }
		recall := func(requester, invitation int64, want apierr.Code) {
			w.Helper()
			_, err := w.Invitations.Recall(ctx, requester, invitation)
			wantRefusal(w, fmt.Sprintf("recall by %d", requester), err, want)
		}
		v := invite()
		recall(3, v, apierr.RecallingGroupInvitationIsDisabled)
		s := &w.settings.Invitation
		s.AllowRecallPendingInvitationByOwnerAndManager = true
		recall(3, v, apierr.NotGroupOwnerOrManagerToRecallGroupInvitation)
		recall(1, 404, apierr.NotGroupOwnerOrManagerToRecallGroupInvitation)
		w.advance(time.Minute)
		w.wantBumps(id, []int64{2, 3, 9}, func() error {
			got, err := w.Invitations.Recall(ctx, 2, v)
			if got.Status != store.RequestCanceled || got.InviteeID != 9 || got.ResponseDate != nil {
				w.Errorf("recalled is %+v", got)
			}
			return err
		}, "invitations", "sent_group_invitations:3", "received_group_invitations:9")
		recall(2, v, apierr.RecallNonPendingGroupInvitation)
		_, _, err := w.Invitations.Reply(ctx, 9, v, store.RequestAccepted, nil)
		wantCode(w, err, apierr.UpdateNonPendingGroupInvitation)

		v = invite()
		s.AllowRecallPendingInvitationBySender = true
		recall(4, v, apierr.NotGroupOwnerOrManagerOrSenderToRecallGroupInvitation)
		recall(1, 404, apierr.NotGroupOwnerOrManagerOrSenderToRecallGroupInvitation)
		recall(3, v, 0)
		recall(1, invite(), 0)
		v = invite()
		s.AllowRecallPendingInvitationByOwnerAndManager = false
		recall(1, v, apierr.NotGroupOwnerOrManagerOrSenderToRecallGroupInvitation)
		w.advance(31 * 24 * time.Hour)
		recall(3, v, apierr.RecallNonPendingGroupInvitation)
	})
}

func TestReplyToInvitation(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		id := w.cast(store.GroupType{InvitationStrategy: store.InviteAllRequiringApproval, GroupSizeLimit: 6})
		invite := func(invitee int64) int64 { return must(w.Invitations.Send(ctx, 3, id, invitee, "", nil))(w).ID }
		reply := func(invitee, invitation int64, status store.RequestStatus, wantJoined bool, want apierr.Code) {
			w.Helper()
			got, joined, err := w.Invitations.Reply(ctx, invitee, invitation, status, nil)
			wantRefusal(w, fmt.Sprintf("reply of %d", invitee), err, want)
			if joined != wantJoined || err == nil && (got.Status != status || got.GroupID != id || got.InviterID != 3) {
				w.Errorf("joined %v, %+v", joined, got)
			}
		}
		first, second := invite(9), invite(9)
		reply(3, first, store.RequestAccepted, false, apierr.NotInviteeToUpdateGroupInvitation)
		reply(9, 404, store.RequestAccepted, false, apierr.NotInviteeToUpdateGroupInvitation)
		reply(9, first, store.RequestCanceled, false, apierr.IllegalArgument)
		_, _, err := w.Invitations.Reply(ctx, 9, first, store.RequestAccepted, new(strings.Repeat("x", 201)))
		wantCode(w, err, apierr.IllegalArgument)
		w.advance(time.Minute)
		w.wantBumps(id, []int64{3, 9}, func() error {
			reply(9, first, store.RequestAccepted, true, 0)
			return nil
		}, "invitations", "sent_group_invitations:3", "received_group_invitations:9", "members", "joined_groups:9")
		w.wantRoles(id, "1:OWNER 2:MANAGER 3:MEMBER 4:MEMBER 5:GUEST 9:MEMBER ")
		reply(9, first, store.RequestDeclined, false, apierr.UpdateNonPendingGroupInvitation)
		// A member who accepts does not join again.
		reply(9, second, store.RequestAccepted, false, 0)

		full := invite(10)
		reply(10, full, store.RequestAccepted, false, apierr.AddUserToGroupWithSizeLimitReached)
		must(w.Members.RemoveBy(ctx, 9, id, []int64{9}))(w)
		if must(w.Invitations.Find(ctx, InvitationFilter{Stored: store.GroupInvitationFilter{IDs: []int64{full}}}, 1, 0))(w)[0].Status != store.RequestPending {
			w.Error("an invitation was answered that let nobody in")
		}
		w.block(id, 10)
		reply(10, full, store.RequestAccepted, false, apierr.AddBlockedUserToGroup)
		declined, ignored, late, idle := invite(11), invite(12), invite(13), invite(14)
		got, _, err := w.Invitations.Reply(ctx, 11, declined, store.RequestDeclined, new("busy"))
		if err != nil || *got.Reason != "busy" || !got.ResponseDate.Equal(w.clock()) {
			w.Errorf("answered is %+v, error %v", got, err)
		}
		if stored := must(w.Invitations.Find(ctx, InvitationFilter{Stored: store.GroupInvitationFilter{IDs: []int64{declined}}}, 1, 0))(w)[0]; *stored.Reason != "busy" || !stored.ResponseDate.Equal(w.clock()) {
			w.Errorf("stored is %+v", stored)
		}
		reply(12, ignored, store.RequestIgnored, false, 0)
		w.change(id, store.GroupChange{IsActive: new(false)})
		reply(14, idle, store.RequestAccepted, false, apierr.AddUserToInactiveGroup)
		w.advance(31 * 24 * time.Hour)
		reply(13, late, store.RequestAccepted, false, apierr.UpdateNonPendingGroupInvitation)
		w.wantRoles(id, "1:OWNER 2:MANAGER 3:MEMBER 4:MEMBER 5:GUEST ")
	})
}
