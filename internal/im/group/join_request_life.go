// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/request"
	"example.org/app/internal/store"
)

// What users do with join requests.

// AskToJoin asks those who manage a group on behalf of a requester to be let in. The key remembers it; nil does not.
func (d *Directory) AskToJoin(ctx context.Context, requester, groupID int64, content string, key *store.MessageKey) (JoinRequest, error) {
	v := store.GroupJoinRequest{GroupID: groupID, RequesterID: requester, Content: content}
	return d.joinRequests.Ask(ctx, v, key, func(ctx context.Context, tx store.Tx) error { return d.mayAsk(ctx, tx, requester, groupID) })
}

func (d *Directory) mayAsk(ctx context.Context, r store.Reader, requester, groupID int64) error {
	at, err := d.standing(ctx, r, groupID, requester)
	if err != nil {
		return err
	}
	if at.member != nil {
		return apierr.New(apierr.GroupMemberSendGroupJoinRequest, "")
	}
	if blocked, err := d.IsBlocked(ctx, r, groupID, requester); err != nil || blocked {
		if err != nil {
			return err
		}
		return apierr.New(apierr.BlockedUserSendGroupJoinRequest, "")
	}
	if !at.active() {
		return apierr.New(apierr.SendGroupJoinRequestToInactiveGroup, "")
	}
	switch at.kind.JoinStrategy {
	case store.JoinByRequest:
		return nil
	case store.JoinByMembershipRequest:
		return apierr.New(apierr.SendGroupJoinRequestToGroupUsingMembershipRequest, "")
	case store.JoinByInvitation:
		return apierr.New(apierr.SendGroupJoinRequestToGroupUsingInvitation, "")
	default:
		return apierr.New(apierr.SendGroupJoinRequestToGroupUsingQuestion, "")
	}
}

// RecallJoinRequest takes back a join request that is not answered yet on behalf
// of its sender, if the settings allow it.
func (d *Directory) RecallJoinRequest(ctx context.Context, requester, id int64) (JoinRequest, error) {
	if !d.opts.Settings().JoinRequest.AllowRecallPendingJoinRequestBySender {
		return JoinRequest{}, apierr.New(apierr.RecallingGroupJoinRequestIsDisabled, "")
	}
	return d.joinRequests.End(ctx, id, request.Ending[store.GroupJoinRequest]{
		Status: store.RequestCanceled, NotPending: apierr.RecallNonPendingGroupJoinRequest,
		May: func(_ context.Context, _ store.Tx, v *store.GroupJoinRequest) error {
			if v == nil || v.RequesterID != requester {
				return apierr.New(apierr.NotSenderToRecallGroupJoinRequest, "")
			}
			return nil
		},
	})
}

// ReplyToJoinRequest answers a join request on behalf of somebody who manages the
// group: with accepted, declined or ignored. Whoever is accepted joins the group
// as a plain member, unless that user is in it already; joined reports it.
func (d *Directory) ReplyToJoinRequest(ctx context.Context, responder, id int64, status store.RequestStatus, reason *string) (answered JoinRequest, joined bool, err error) {
	if err := d.joinRequests.CheckAnswer(status, reason); err != nil {
		return JoinRequest{}, false, err
	}
	answered, err = d.joinRequests.End(ctx, id, request.Ending[store.GroupJoinRequest]{
		Status: status, Reason: reason, NotPending: apierr.UpdateNonPendingGroupJoinRequest,
		May: func(ctx context.Context, tx store.Tx, v *store.GroupJoinRequest) error {
			if v == nil {
				return apierr.New(apierr.NotGroupOwnerOrManagerToUpdateGroupJoinRequest, "")
			}
			_, err := d.managed(ctx, tx, v.GroupID, responder, apierr.NotGroupOwnerOrManagerToUpdateGroupJoinRequest)
			return err
		},
		Then: func(ctx context.Context, tx store.Tx, v *store.GroupJoinRequest, now time.Time) (err error) {
			v.ResponderID, joined = &responder, false
			if status == store.RequestAccepted {
				joined, err = d.enter(ctx, tx, v.GroupID, v.RequesterID, now)
			}
			return err
		},
	})
	return answered, joined && err == nil, err
}
