// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// What users do with join requests.

// AskToJoin asks those who manage a group on behalf of a requester to be let in.
func (d *Directory) AskToJoin(ctx context.Context, requester, groupID int64, content string) (JoinRequest, error) {
	now := d.now()
	if err := d.checkJoinRequest(&content, nil, nil, now); err != nil {
		return JoinRequest{}, err
	}
	id, err := d.opts.IDs.NextContext(ctx)
	if err != nil {
		return JoinRequest{}, err
	}
	v := store.GroupJoinRequest{ID: id, GroupID: groupID, RequesterID: requester, Content: content, CreationDate: now}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := d.mayAsk(ctx, tx, requester, groupID); err != nil {
			return err
		}
		return d.insertJoinRequest(ctx, tx, v, now)
	})
	if err != nil {
		return JoinRequest{}, err
	}
	return d.joinRequest(v), nil
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
	now := d.now()
	if !d.opts.Settings().JoinRequest.AllowRecallPendingJoinRequestBySender {
		return JoinRequest{}, apierr.New(apierr.RecallingGroupJoinRequestIsDisabled, "")
	}
	var recalled JoinRequest
	err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		v, err := d.findJoinRequest(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case v == nil || v.RequesterID != requester:
			return apierr.New(apierr.NotSenderToRecallGroupJoinRequest, "")
		case v.Status != store.RequestPending:
			return apierr.New(apierr.RecallNonPendingGroupJoinRequest, "")
		}
		recalled = *v
		return d.concludeJoinRequest(ctx, tx, &recalled, store.RequestCanceled, now)
	})
	return recalled, err
}

// findJoinRequest returns a join request as of now, or nil if there is none.
func (d *Directory) findJoinRequest(ctx context.Context, r store.Reader, id int64) (*JoinRequest, error) {
	found, err := store.FindGroupJoinRequests(ctx, r, store.GroupJoinRequestFilter{IDs: []int64{id}}, store.Page{})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	v := d.joinRequest(found[0])
	return &v, nil
}

// concludeJoinRequest stores what became of a join request.
func (d *Directory) concludeJoinRequest(ctx context.Context, tx store.Tx, v *JoinRequest, status store.RequestStatus, now time.Time) error {
	v.Status, v.ResponseDate = status, responseDate(status, nil, now)
	c := store.GroupJoinRequestChange{Status: &v.Status, Reason: v.Reason, ResponderID: v.ResponderID, ResponseDate: &v.ResponseDate}
	if _, err := store.UpdateGroupJoinRequests(ctx, tx, []int64{v.ID}, c); err != nil {
		return err
	}
	return d.joinRequestsChanged(ctx, tx, now, v.GroupJoinRequest)
}

// ReplyToJoinRequest answers a join request on behalf of somebody who manages the
// group: with accepted, declined or ignored. Whoever is accepted joins the group
// as a plain member, unless that user is in it already; joined reports it.
func (d *Directory) ReplyToJoinRequest(ctx context.Context, responder, id int64, status store.RequestStatus, reason *string) (answered JoinRequest, joined bool, err error) {
	now := d.now()
	if err := checkReply(status, reason, d.opts.Settings().JoinRequest.MaxResponseReasonLength); err != nil {
		return JoinRequest{}, false, err
	}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		joined = false
		v, err := d.findJoinRequest(ctx, tx, id)
		if err != nil {
			return err
		}
		if v == nil {
			return apierr.New(apierr.NotGroupOwnerOrManagerToUpdateGroupJoinRequest, "")
		}
		if _, err := d.managed(ctx, tx, v.GroupID, responder, apierr.NotGroupOwnerOrManagerToUpdateGroupJoinRequest); err != nil {
			return err
		}
		if v.Status != store.RequestPending {
			return apierr.New(apierr.UpdateNonPendingGroupJoinRequest, "")
		}
		answered = *v
		answered.ResponderID, answered.Reason = &responder, reason
		if err := d.concludeJoinRequest(ctx, tx, &answered, status, now); err != nil {
			return err
		}
		if status == store.RequestAccepted {
			joined, err = d.enter(ctx, tx, v.GroupID, v.RequesterID, now)
		}
		return err
	})
	if err != nil {
		return JoinRequest{}, false, err
	}
	return answered, joined, nil
}
