// SPDX-License-Identifier: Apache-2.0

package group

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

func TestAskToJoin(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		ask := func(requester, groupID int64, content string, want apierr.Code) {
			w.Helper()
			_, err := w.JoinRequests.Send(ctx, requester, groupID, content, nil)
			wantRefusal(w, fmt.Sprintf("request of %d", requester), err, want)
		}
		for strategy, code := range map[store.GroupJoinStrategy]apierr.Code{
			store.JoinByMembershipRequest: apierr.SendGroupJoinRequestToGroupUsingMembershipRequest,
			store.JoinByInvitation:        apierr.SendGroupJoinRequestToGroupUsingInvitation,
			store.JoinByQuestion:          apierr.SendGroupJoinRequestToGroupUsingQuestion,
			store.JoinByRequest:           0,
		} {
			ask(9, w.cast(store.GroupType{JoinStrategy: strategy}), "", code)
		}
		id := w.cast(store.GroupType{JoinStrategy: store.JoinByRequest})
		ask(9, id, strings.Repeat("x", 201), apierr.IllegalArgument)
		ask(5, id, "", apierr.GroupMemberSendGroupJoinRequest)
		ask(8, id, "", apierr.BlockedUserSendGroupJoinRequest)
		ask(9, 404, "", apierr.SendGroupJoinRequestToInactiveGroup)
		w.advance(time.Minute)
		w.wantBumps(id, []int64{1, 9}, func() error {
			v, err := w.JoinRequests.Send(ctx, 9, id, "please", nil)
			if v.GroupID != id || v.RequesterID != 9 || v.Content != "please" || v.Status != store.RequestPending || v.ResponderID != nil {
				w.Errorf("the request is %+v", v)
			}
			return err
		}, "join_requests", "sent_group_join_requests:9")
		w.change(id, store.GroupChange{IsActive: new(false)})
		ask(9, id, "", apierr.SendGroupJoinRequestToInactiveGroup)
	})
}

func TestRecallJoinRequest(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		id := w.cast(store.GroupType{JoinStrategy: store.JoinByRequest})
		recall := func(requester, request int64, want apierr.Code) {
			w.Helper()
			_, err := w.JoinRequests.Recall(ctx, requester, request)
			wantRefusal(w, fmt.Sprintf("recall by %d", requester), err, want)
		}
		v, late := must(w.JoinRequests.Send(ctx, 9, id, "", nil))(w).ID, must(w.JoinRequests.Send(ctx, 9, id, "", nil))(w).ID
		recall(9, v, apierr.RecallingGroupJoinRequestIsDisabled)
		w.settings.JoinRequest.AllowRecallPendingJoinRequestBySender = true
		recall(1, v, apierr.NotSenderToRecallGroupJoinRequest)
		recall(9, 404, apierr.NotSenderToRecallGroupJoinRequest)
		w.advance(time.Minute)
		w.wantBumps(id, []int64{9}, func() error {
			got, err := w.JoinRequests.Recall(ctx, 9, v)
			if got.Status != store.RequestCanceled || got.GroupID != id || got.ResponseDate != nil || got.ResponderID != nil {
				w.Errorf("recalled is %+v", got)
			}
			return err
		}, "join_requests", "sent_group_join_requests:9")
		recall(9, v, apierr.RecallNonPendingGroupJoinRequest)
		w.advance(31 * 24 * time.Hour)
		recall(9, late, apierr.RecallNonPendingGroupJoinRequest)
	})
}

func TestReplyToJoinRequest(t *testing.T) {
	onBothEngines(t, func(w *world) {
		ctx := w.Context()
		id := w.cast(store.GroupType{JoinStrategy: store.JoinByRequest, GroupSizeLimit: 6})
		ask := func(requester int64) int64 { return must(w.JoinRequests.Send(ctx, requester, id, "", nil))(w).ID }
		reply := func(responder, request int64, status store.RequestStatus, wantJoined bool, want apierr.Code) {
			w.Helper()
			got, joined, err := w.JoinRequests.Reply(ctx, responder, request, status, nil)
			wantRefusal(w, fmt.Sprintf("reply of %d", responder), err, want)
			if joined != wantJoined || err == nil && (got.Status != status || got.GroupID != id || *got.ResponderID != responder) {
				w.Errorf("joined %v, %+v", joined, got)
			}
		}
		first, second, third, declined, late := ask(9), ask(9), ask(10), ask(11), ask(12)
		for _, responder := range []int64{3, 5, 9} {
			reply(responder, first, store.RequestAccepted, false, apierr.NotGroupOwnerOrManagerToUpdateGroupJoinRequest)
		}
		reply(1, 404, store.RequestAccepted, false, apierr.NotGroupOwnerOrManagerToUpdateGroupJoinRequest)
		reply(1, first, store.RequestPending, false, apierr.IllegalArgument)
		_, _, err := w.JoinRequests.Reply(ctx, 1, first, store.RequestDeclined, new(strings.Repeat("x", 201)))
		wantCode(w, err, apierr.IllegalArgument)
		w.advance(time.Minute)
		w.wantBumps(id, []int64{2, 9}, func() error {
			reply(2, first, store.RequestAccepted, true, 0)
			return nil
		}, "join_requests", "sent_group_join_requests:9", "members", "joined_groups:9")
		w.wantRoles(id, "1:OWNER 2:MANAGER 3:MEMBER 4:MEMBER 5:GUEST 9:MEMBER ")
		reply(1, first, store.RequestDeclined, false, apierr.UpdateNonPendingGroupJoinRequest)
		reply(1, second, store.RequestAccepted, false, 0)
		reply(1, third, store.RequestAccepted, false, apierr.AddUserToGroupWithSizeLimitReached)
		must(w.Members.RemoveBy(ctx, 9, id, []int64{9}))(w)
		w.block(id, 10)
		reply(1, third, store.RequestAccepted, false, apierr.AddBlockedUserToGroup)
		reply(1, third, store.RequestIgnored, false, 0)
		got, _, err := w.JoinRequests.Reply(ctx, 1, declined, store.RequestDeclined, new("no"))
		if err != nil || *got.Reason != "no" || !got.ResponseDate.Equal(w.clock()) {
			w.Errorf("answered is %+v, error %v", got, err)
		}
		stored := must(w.JoinRequests.Find(ctx, JoinRequestFilter{Stored: store.GroupJoinRequestFilter{IDs: []int64{declined}}}, 1, 0))(w)[0]
		if *stored.Reason != "no" || *stored.ResponderID != 1 || !stored.ResponseDate.Equal(w.clock()) || stored.Status != store.RequestDeclined {
			w.Errorf("stored is %+v", stored)
		}
		w.advance(31 * 24 * time.Hour)
		reply(1, late, store.RequestAccepted, false, apierr.UpdateNonPendingGroupJoinRequest)
		w.wantRoles(id, "1:OWNER 2:MANAGER 3:MEMBER 4:MEMBER 5:GUEST ")
	})
}
