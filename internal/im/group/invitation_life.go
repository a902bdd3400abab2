// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/check"
	"example.org/app/internal/im/request"
	"example.org/app/internal/store"
)

// What users do with invitations.

// Invite asks a user to join a group on behalf of an inviter, whose role must be
// one that the type of the group lets invite. The key remembers it; nil does not.
func (d *Directory) Invite(ctx context.Context, inviter, groupID, invitee int64, content string, key *store.MessageKey) (Invitation, error) {
	if err := check.UserID("inviteeId", invitee); err != nil {
		return Invitation{}, err
	}
	v := store.GroupInvitation{GroupID: groupID, InviterID: inviter, InviteeID: invitee, Content: content}
	return d.invitations.Ask(ctx, v, key, func(ctx context.Context, tx store.Tx) error { return d.mayInvite(ctx, tx, v) })
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
	settings := d.opts.Settings().Invitation
	if !settings.AllowRecallPendingInvitationByOwnerAndManager && !settings.AllowRecallPendingInvitationBySender {
		return Invitation{}, apierr.New(apierr.RecallingGroupInvitationIsDisabled, "")
	}
	return d.invitations.End(ctx, id, request.Ending[store.GroupInvitation]{
		Status: store.RequestCanceled, NotPending: apierr.RecallNonPendingGroupInvitation,
		May: func(ctx context.Context, tx store.Tx, v *store.GroupInvitation) error {
			return d.mayRecall(ctx, tx, requester, v, settings)
		},
	})
}

func (d *Directory) mayRecall(ctx context.Context, r store.Reader, requester int64, v *store.GroupInvitation, s config.GroupInvitation) error {
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

// ReplyToInvitation answers an invitation on behalf of the invitee: with
// accepted, declined or ignored. Whoever accepts joins the group as a plain
// member, unless the invitee is in it already; joined reports it.
func (d *Directory) ReplyToInvitation(ctx context.Context, invitee, id int64, status store.RequestStatus, reason *string) (answered Invitation, joined bool, err error) {
	if err := d.invitations.CheckAnswer(status, reason); err != nil {
		return Invitation{}, false, err
	}
	answered, err = d.invitations.End(ctx, id, request.Ending[store.GroupInvitation]{
		Status: status, Reason: reason, NotPending: apierr.UpdateNonPendingGroupInvitation,
		May: func(_ context.Context, _ store.Tx, v *store.GroupInvitation) error {
			if v == nil || v.InviteeID != invitee {
				return apierr.New(apierr.NotInviteeToUpdateGroupInvitation, "")
			}
			return nil
		},
		Then: func(ctx context.Context, tx store.Tx, v *store.GroupInvitation, now time.Time) (err error) {
			joined = false
			if status == store.RequestAccepted {
				joined, err = d.enter(ctx, tx, v.GroupID, invitee, now)
			}
			return err
		},
	})
	return answered, joined && err == nil, err
}
