// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/im/check"
	"example.org/app/internal/im/request"
	"example.org/app/internal/store"
)

// Invitation is an invitation to a group with its current status, which may be expired.
type Invitation struct {
	store.GroupInvitation
	// ExpirationDate is the end of its validity; nil means none.
	ExpirationDate *time.Time
}

// Invitations manages the invitations to groups. Its administrative functions change only records:
// they neither add nor remove members, nor check groups and permissions; the functions for users
// do.
type Invitations struct {
	*request.Book[store.GroupInvitation, Invitation, store.GroupInvitationFilter, store.GroupInvitationChange]
	store    *store.DB
	now      func() time.Time
	settings func() config.GroupInvitation
}

func newInvitations(db *store.DB, generator *ids.Generator, now func() time.Time, settings func() config.GroupInvitation) *Invitations {
	return &Invitations{request.NewBook(request.Kind[store.GroupInvitation, Invitation, store.GroupInvitationFilter, store.GroupInvitationChange]{
		Store: db, IDs: generator, Now: now, AnyResponse: true,
		Settings: func() request.Settings {
			s := settings()
			return request.Settings{
				Lifetime: request.Seconds(s.ExpireAfterSeconds), MaxContent: s.MaxContentLength, MaxReason: s.MaxResponseReasonLength,
				DeleteExpired: s.DeleteExpiredInvitationsWhenCronTriggered,
			}
		},
		Head: func(v *store.GroupInvitation) request.Head {
			return request.Head{ID: &v.ID, Content: &v.Content, Status: &v.Status, Reason: &v.Reason, CreationDate: &v.CreationDate, ResponseDate: &v.ResponseDate}
		},
		View: func(v store.GroupInvitation, expiration *time.Time) Invitation { return Invitation{v, expiration} },
		Selection: func(f *store.GroupInvitationFilter) request.Selection {
			return request.Selection{IDs: &f.IDs, Status: &f.Status, CreationDate: &f.CreationDate}
		},
		Edit: func(c store.GroupInvitationChange) request.Edit {
			return request.Edit{Content: c.Content, Status: c.Status, CreationDate: c.CreationDate}
		},
		Respond: func(c *store.GroupInvitationChange, at *time.Time) { c.ResponseDate = &at },
		Conclude: func(v store.GroupInvitation) store.GroupInvitationChange {
			return store.GroupInvitationChange{Status: &v.Status, Reason: v.Reason, ResponseDate: &v.ResponseDate}
		},
		After: func(v store.GroupInvitation, c store.GroupInvitationChange) store.GroupInvitation {
			v.GroupID, v.InviterID, v.InviteeID = deref(c.GroupID, v.GroupID), deref(c.InviterID, v.InviterID), deref(c.InviteeID, v.InviteeID)
			return v
		},
		Changed: invitationsChanged,
		Insert:  store.InsertGroupInvitations, Find: store.FindGroupInvitations, Count: store.CountGroupInvitations, Update: store.UpdateGroupInvitations,
		Delete: func(ctx context.Context, tx store.Tx, ids []int64) error {
			_, err := store.DeleteGroupInvitations(ctx, tx, ids)
			return err
		},
	}), db, now, settings}
}

// invitationsChanged increments the versions of the affected lists.
func invitationsChanged(ctx context.Context, tx store.Tx, now time.Time, invitations ...store.GroupInvitation) error {
	var groups, inviters, invitees []int64
	for _, v := range invitations {
		groups, inviters, invitees = append(groups, v.GroupID), append(inviters, v.InviterID), append(invitees, v.InviteeID)
	}
	if err := store.BumpGroupVersions(ctx, tx, store.GroupInvitations, groups, now); err != nil {
		return err
	}
	if err := store.BumpUserVersion(ctx, tx, store.VersionSentGroupInvitations, now, distinct(inviters)...); err != nil {
		return err
	}
	return store.BumpUserVersion(ctx, tx, store.VersionReceivedGroupInvitations, now, distinct(invitees)...)
}

// InvitationFilter selects invitations to groups by their current status.
type InvitationFilter = request.Filter[store.GroupInvitationFilter]

// Send invites a user to a group on behalf of an inviter, whose role must be allowed to by the type
// of the group. The key is stored for repeated requests; nil means none.
func (i *Invitations) Send(ctx context.Context, inviter, groupID, invitee int64, content string, key *store.MessageKey) (Invitation, error) {
	if err := check.UserID("inviteeId", invitee); err != nil {
		return Invitation{}, err
	}
	v := store.GroupInvitation{GroupID: groupID, InviterID: inviter, InviteeID: invitee, Content: content}
	return i.Ask(ctx, v, key, func(ctx context.Context, tx store.Tx) error { return mayInvite(ctx, tx, v) })
}

func mayInvite(ctx context.Context, r store.Reader, v store.GroupInvitation) error {
	at, err := standingOf(ctx, r, v.GroupID, v.InviterID)
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
	if member, err := IsMember(ctx, r, v.GroupID, v.InviteeID); err != nil || member {
		if err != nil {
			return err
		}
		return apierr.New(apierr.SendGroupInvitationToGroupMember, "")
	}
	if blocked, err := IsBlocked(ctx, r, v.GroupID, v.InviteeID); err != nil || blocked {
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

// Recall recalls a pending invitation on behalf of its sender or of a manager of the group,
// depending on the settings.
func (i *Invitations) Recall(ctx context.Context, requester, id int64) (Invitation, error) {
	settings := i.settings()
	if !settings.AllowRecallPendingInvitationByOwnerAndManager && !settings.AllowRecallPendingInvitationBySender {
		return Invitation{}, apierr.New(apierr.RecallingGroupInvitationIsDisabled, "")
	}
	return i.End(ctx, id, request.Ending[store.GroupInvitation]{
		Status: store.RequestCanceled, NotPending: apierr.RecallNonPendingGroupInvitation,
		May: func(ctx context.Context, tx store.Tx, v *store.GroupInvitation) error {
			return mayRecall(ctx, tx, requester, v, settings)
		},
	})
}

func mayRecall(ctx context.Context, r store.Reader, requester int64, v *store.GroupInvitation, s config.GroupInvitation) error {
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
	_, err := managed(ctx, r, v.GroupID, requester, refusal.Code)
	return err
}

// Reply answers an invitation on behalf of the invitee: with accepted, declined or ignored.
// Accepting adds the invitee as a plain member; joined is true if that is new.
func (i *Invitations) Reply(ctx context.Context, invitee, id int64, status store.RequestStatus, reason *string) (answered Invitation, joined bool, err error) {
	if err := i.CheckAnswer(status, reason); err != nil {
		return Invitation{}, false, err
	}
	answered, err = i.End(ctx, id, request.Ending[store.GroupInvitation]{
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
				joined, err = enter(ctx, tx, v.GroupID, invitee, now)
			}
			return err
		},
	})
	return answered, joined && err == nil, err
}

// ListOfGroup returns the invitations to a group for one of its managers.
func (i *Invitations) ListOfGroup(ctx context.Context, requester, groupID int64, since *time.Time) ([]Invitation, *time.Time, error) {
	l := i.list(versionOfGroup(store.GroupInvitations, groupID), store.GroupInvitationFilter{GroupIDs: []int64{groupID}})
	l.allowed = managedBy(requester, groupID, apierr.NotGroupOwnerOrManagerToQueryGroupInvitation)
	return l.read(ctx, i.store, since)
}

// ListSent returns the invitations that a user has sent.
func (i *Invitations) ListSent(ctx context.Context, userID int64, since *time.Time) ([]Invitation, *time.Time, error) {
	version := versionOfUser(store.VersionSentGroupInvitations, userID)
	return i.list(version, store.GroupInvitationFilter{InviterIDs: []int64{userID}}).read(ctx, i.store, since)
}

// ListReceived returns the invitations that a user received.
func (i *Invitations) ListReceived(ctx context.Context, userID int64, since *time.Time) ([]Invitation, *time.Time, error) {
	version := versionOfUser(store.VersionReceivedGroupInvitations, userID)
	return i.list(version, store.GroupInvitationFilter{InviteeIDs: []int64{userID}}).read(ctx, i.store, since)
}

func (i *Invitations) list(version version, f store.GroupInvitationFilter) list[Invitation] {
	return list[Invitation]{version: version, items: func(ctx context.Context, r store.Reader) ([]Invitation, error) {
		found, err := store.FindGroupInvitations(ctx, r, f, store.Page{})
		return i.AllAsOf(found, i.now()), err
	}}
}
