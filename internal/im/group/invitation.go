// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"example.org/app/internal/im/request"
	"example.org/app/internal/store"
)

// Invitation is an invitation to a group as of now: its status says whether it
// has expired.
type Invitation struct {
	store.GroupInvitation
	// ExpirationDate is until when it can be answered; nil is for ever.
	ExpirationDate *time.Time
}

// invitations is the book of invitations to groups.
type invitations = request.Book[store.GroupInvitation, Invitation, store.GroupInvitationFilter, store.GroupInvitationChange]

func (d *Directory) newInvitations() *invitations {
	return &invitations{Kind: request.Kind[store.GroupInvitation, Invitation, store.GroupInvitationFilter, store.GroupInvitationChange]{
		Store: d.opts.Store, IDs: d.opts.IDs, Now: d.now, AnyResponse: true,
		Settings: func() request.Settings {
			s := d.opts.Settings().Invitation
			return request.Settings{Lifetime: request.Seconds(s.ExpireAfterSeconds), MaxContent: s.MaxContentLength, MaxReason: s.MaxResponseReasonLength}
		},
		Head: func(v *store.GroupInvitation) request.Head {
			return request.Head{ID: &v.ID, Content: &v.Content, Status: &v.Status, Reason: &v.Reason, CreationDate: &v.CreationDate, ResponseDate: &v.ResponseDate}
		},
		View: func(v store.GroupInvitation, expiration *time.Time) Invitation { return Invitation{v, expiration} },
		Select: func(ids []int64, status store.StatusFilter) store.GroupInvitationFilter {
			return store.GroupInvitationFilter{IDs: ids, Status: status}
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
	}}
}

// invitation returns an invitation as of now.
func (d *Directory) invitation(v store.GroupInvitation) Invitation {
	return d.invitations.AsOf(v, d.now())
}

func convert[From, To any](list []From, f func(From) To) []To {
	out := make([]To, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}

// CreateInvitation stores an invitation. A nil id is made up, a nil creation
// date is now. Whether the group exists, and who may invite whom, is up to the
// caller.
func (d *Directory) CreateInvitation(ctx context.Context, v store.GroupInvitation, id *int64, creationDate *time.Time) (Invitation, error) {
	return d.invitations.Create(ctx, v, id, creationDate)
}

// invitationsChanged notes that those concerned have an old copy.
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

// InvitationFilter selects invitations. An empty field is no restriction; all
// fields must match. Statuses are those as of now.
type InvitationFilter struct {
	IDs, GroupIDs, InviterIDs, InviteeIDs      []int64
	Statuses                                   []store.RequestStatus
	CreationDate, ResponseDate, ExpirationDate store.DateRange
}

func (d *Directory) invitationFilter(f InvitationFilter) (store.GroupInvitationFilter, error) {
	creation, err := d.invitations.Settings().Lifetime.Creation(f.CreationDate, f.ExpirationDate)
	return store.GroupInvitationFilter{
		IDs: f.IDs, GroupIDs: f.GroupIDs, InviterIDs: f.InviterIDs, InviteeIDs: f.InviteeIDs,
		Status: d.invitations.Status(f.Statuses...), CreationDate: creation, ResponseDate: f.ResponseDate,
	}, err
}

// FindInvitations returns invitations in the order of their ids, or of the first
// date that the filter asks for.
func (d *Directory) FindInvitations(ctx context.Context, f InvitationFilter, limit, offset int) ([]Invitation, error) {
	_, found, err := d.queryInvitations(ctx, f, store.Page{Limit: limit, Offset: offset}, false)
	return found, err
}

// FindInvitationPage returns a page of invitations and how many there are, as
// far as store.ForTotal counts.
func (d *Directory) FindInvitationPage(ctx context.Context, f InvitationFilter, page store.Page) (int64, []Invitation, error) {
	return d.queryInvitations(ctx, f, page, true)
}

func (d *Directory) queryInvitations(ctx context.Context, f InvitationFilter, page store.Page, total bool) (int64, []Invitation, error) {
	filter, err := d.invitationFilter(f)
	if err != nil {
		return 0, nil, err
	}
	return d.invitations.Query(ctx, filter, page, total)
}

// UpdateInvitations changes the invitations with these ids, as request.Book says.
// Nobody joins or leaves a group by it.
func (d *Directory) UpdateInvitations(ctx context.Context, invitationIDs []int64, c store.GroupInvitationChange, response *time.Time) (store.UpdateResult, error) {
	return d.invitations.Change(ctx, invitationIDs, c, response)
}

// DeleteInvitations removes the invitations with these ids.
func (d *Directory) DeleteInvitations(ctx context.Context, invitationIDs []int64) (deleted int64, err error) {
	return d.invitations.Remove(ctx, invitationIDs)
}

// DeleteAllInvitations removes all invitations, in several transactions.
func (d *Directory) DeleteAllInvitations(ctx context.Context) (int64, error) {
	return d.invitations.RemoveAll(ctx)
}

// DeleteExpiredInvitations removes the invitations that have expired, in several
// transactions, if the settings say so, and returns how many there were.
func (d *Directory) DeleteExpiredInvitations(ctx context.Context, db store.Writer) (int64, error) {
	if !d.opts.Settings().Invitation.DeleteExpiredInvitationsWhenCronTriggered {
		return 0, nil
	}
	return d.invitations.RemoveExpired(ctx, db)
}
