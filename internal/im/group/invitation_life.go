// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// What users do with invitations.

// Invite asks a user to join a group on behalf of an inviter, whose role must be
// one that the type of the group lets invite.
func (d *Directory) Invite(ctx context.Context, inviter, groupID, invitee int64, content string) (Invitation, error) {
	now := d.now()
	if err := check.UserID("inviteeId", invitee); err != nil {
		return Invitation{}, err
	}
	if err := d.checkInvitation(&content, nil, nil, now); err != nil {
		return Invitation{}, err
	}
	id, err := d.opts.IDs.NextContext(ctx)
	if err != nil {
		return Invitation{}, err
	}
	v := store.GroupInvitation{ID: id, GroupID: groupID, InviterID: inviter, InviteeID: invitee, Content: content, CreationDate: now}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := d.mayInvite(ctx, tx, v); err != nil {
			return err
		}
		return d.insertInvitation(ctx, tx, v, now)
	})
	if err != nil {
		return Invitation{}, err
	}
	return d.invitation(v), nil
}

func (d *Directory) mayInvite(ctx context.Context, r store.Reader, v store.GroupInvitation) error {
	at, err := d.standing(ctx, r, v.GroupID, v.InviterID)
	switch {
	case err != nil:
		return err
	case !at.active():
		return apierr.New(apierr.AddUserToInactiveGroup, "")
	}
	err = at.mayLetIn(refusals{
		owner: apierr.NotGroupOwnerToSendGroupInvitation, manager: apierr.NotGroupOwnerOrManagerToSendGroupInvitation,
		member: apierr.NotGroupMemberToSendGroupInvitation,
	})
	if err != nil {
		return err
	}
	if at.member == nil {
		return apierr.New(apierr.NotGroupMemberToSendGroupInvitation, "")
	}
	if member, err := d.IsMember(ctx, r, v.GroupID, v.InviteeID); err != nil || member {
		if err != nil {
			return err
		}
		return apierr.New(apierr.SendGroupInvitationToGroupMember, "")
	}
	if blocked, err := d.IsBlocked(ctx, r, v.GroupID, v.InviteeID); err != nil || blocked {
		if err != nil {
			return err
		}
		return apierr.New(apierr.SendGroupInvitationToBlockedUser, "")
	}
	if !InvitationNeedsApproval(at.kind.InvitationStrategy) {
		return apierr.New(apierr.SendGroupInvitationToGroupNotRequiringUsersApproval, "")
	}
	return nil
}

// RecallInvitation takes back an invitation that is not answered yet on behalf
// of its sender or of somebody who manages the group, as the settings allow.
func (d *Directory) RecallInvitation(ctx context.Context, requester, id int64) (Invitation, error) {
	now, settings := d.now(), d.opts.Settings().Invitation
	if !settings.AllowRecallPendingInvitationByOwnerAndManager && !settings.AllowRecallPendingInvitationBySender {
		return Invitation{}, apierr.New(apierr.RecallingGroupInvitationIsDisabled, "")
	}
	var recalled Invitation
	err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		v, err := d.findInvitation(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := d.mayRecall(ctx, tx, requester, v, settings); err != nil {
			return err
		}
		if v.Status != store.RequestPending {
			return apierr.New(apierr.RecallNonPendingGroupInvitation, "")
		}
		recalled = *v
		return d.concludeInvitation(ctx, tx, &recalled, store.RequestCanceled, nil, now)
	})
	return recalled, err
}

func (d *Directory) mayRecall(ctx context.Context, r store.Reader, requester int64, v *Invitation, s config.GroupInvitation) error {
	if s.AllowRecallPendingInvitationBySender && v != nil && v.InviterID == requester {
		return nil
	}
	refusal := apierr.New(apierr.NotGroupOwnerOrManagerToRecallGroupInvitation, "")
	if s.AllowRecallPendingInvitationBySender {
		refusal = apierr.New(apierr.NotGroupOwnerOrManagerOrSenderToRecallGroupInvitation, "")
	}
	if v == nil || !s.AllowRecallPendingInvitationByOwnerAndManager {
		return refusal
	}
	_, err := d.managed(ctx, r, v.GroupID, requester, refusal.Code)
	return err
}

// findInvitation returns an invitation as of now, or nil if there is none.
func (d *Directory) findInvitation(ctx context.Context, r store.Reader, id int64) (*Invitation, error) {
	found, err := store.FindGroupInvitations(ctx, r, store.GroupInvitationFilter{IDs: []int64{id}}, store.Page{})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	v := d.invitation(found[0])
	return &v, nil
}

// concludeInvitation stores what became of an invitation.
func (d *Directory) concludeInvitation(ctx context.Context, tx store.Tx, v *Invitation, status store.RequestStatus, reason *string, now time.Time) error {
	v.Status, v.Reason, v.ResponseDate = status, reason, responseDate(status, nil, now)
	c := store.GroupInvitationChange{Status: &v.Status, Reason: v.Reason, ResponseDate: &v.ResponseDate}
	if _, err := store.UpdateGroupInvitations(ctx, tx, []int64{v.ID}, c); err != nil {
		return err
	}
	return d.invitationsChanged(ctx, tx, now, v.GroupInvitation)
}

// ReplyToInvitation answers an invitation on behalf of the invitee: with
// accepted, declined or ignored. Whoever accepts joins the group as a plain
// member, unless the invitee is in it already; joined reports it.
func (d *Directory) ReplyToInvitation(ctx context.Context, invitee, id int64, status store.RequestStatus, reason *string) (answered Invitation, joined bool, err error) {
	now := d.now()
	if err := checkReply(status, reason, d.opts.Settings().Invitation.MaxResponseReasonLength); err != nil {
		return Invitation{}, false, err
	}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		joined = false
		v, err := d.findInvitation(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case v == nil || v.InviteeID != invitee:
			return apierr.New(apierr.NotInviteeToUpdateGroupInvitation, "")
		case v.Status != store.RequestPending:
			return apierr.New(apierr.UpdateNonPendingGroupInvitation, "")
		}
		answered = *v
		if err := d.concludeInvitation(ctx, tx, &answered, status, reason, now); err != nil {
			return err
		}
		if status == store.RequestAccepted {
			joined, err = d.enter(ctx, tx, v.GroupID, invitee, now)
		}
		return err
	})
	if err != nil {
		return Invitation{}, false, err
	}
	return answered, joined, nil
}

// checkReply checks the answer to an invitation or a join request.
func checkReply(status store.RequestStatus, reason *string, limit int32) error {
	if !status.Answered() {
		return apierr.New(apierr.IllegalArgument, "responseAction: must be ACCEPT, DECLINE or IGNORE")
	}
	if reason == nil {
		return nil
	}
	return check.MaxLength("reason", *reason, limit)
}
