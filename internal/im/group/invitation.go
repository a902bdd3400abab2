// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"slices"
	"time"

	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// Invitation is an invitation to a group as of now: its status says whether it
// has expired.
type Invitation struct {
	store.GroupInvitation
	// ExpirationDate is until when it can be answered; nil is for ever.
	ExpirationDate *time.Time
}

func (d *Directory) invitationLifetime() lifetime {
	return seconds(d.opts.Settings().Invitation.ExpireAfterSeconds)
}

func (d *Directory) invitation(v store.GroupInvitation) Invitation {
	l := d.invitationLifetime()
	v.Status = l.status(v.Status, v.CreationDate, d.now())
	return Invitation{v, l.end(v.CreationDate)}
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
	now := d.now()
	if err := d.checkInvitation(&v.Content, creationDate, v.ResponseDate, now); err != nil {
		return Invitation{}, err
	}
	v.CreationDate = deref(creationDate, now)
	if id == nil {
		next, err := d.opts.IDs.NextContext(ctx)
		if err != nil {
			return Invitation{}, err
		}
		id = &next
	}
	v.ID = *id
	err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error { return d.insertInvitation(ctx, tx, v, now) })
	if err != nil {
		return Invitation{}, err
	}
	return d.invitation(v), nil
}

func (d *Directory) insertInvitation(ctx context.Context, tx store.Tx, v store.GroupInvitation, now time.Time) error {
	if err := store.InsertGroupInvitations(ctx, tx, v); err != nil {
		return err
	}
	return d.invitationsChanged(ctx, tx, now, v)
}

func (d *Directory) checkInvitation(content *string, creation, response *time.Time, now time.Time) error {
	if content != nil {
		if err := check.MaxLength("content", *content, d.opts.Settings().Invitation.MaxContentLength); err != nil {
			return err
		}
	}
	if err := check.NotFuture("creationDate", creation, now); err != nil {
		return err
	}
	return check.NotFuture("responseDate", response, now)
}

// invitationsChanged notes that those concerned have an old copy.
func (d *Directory) invitationsChanged(ctx context.Context, tx store.Tx, now time.Time, invitations ...store.GroupInvitation) error {
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
	l := d.invitationLifetime()
	creation, err := l.creation(f.CreationDate, f.ExpirationDate)
	return store.GroupInvitationFilter{
		IDs: f.IDs, GroupIDs: f.GroupIDs, InviterIDs: f.InviterIDs, InviteeIDs: f.InviteeIDs,
		Status:       store.StatusFilter{Statuses: f.Statuses, ExpiredBefore: l.expiredBefore(d.now())},
		CreationDate: creation, ResponseDate: f.ResponseDate,
	}, err
}

// FindInvitations returns invitations in the order of their ids, or of the first
// date that the filter asks for.
func (d *Directory) FindInvitations(ctx context.Context, f InvitationFilter, limit, offset int) ([]Invitation, error) {
	filter, err := d.invitationFilter(f)
	if err != nil {
		return nil, err
	}
	found, err := find(ctx, d, filter, limit, offset, store.FindGroupInvitations)
	return convert(found, d.invitation), err
}

// FindInvitationPage returns a page of invitations and how many there are, as
// far as store.ForTotal counts.
func (d *Directory) FindInvitationPage(ctx context.Context, f InvitationFilter, limit, offset int) (int64, []Invitation, error) {
	filter, err := d.invitationFilter(f)
	if err != nil {
		return 0, nil, err
	}
	total, found, err := findPage(ctx, d, filter, limit, offset, store.CountGroupInvitations, store.FindGroupInvitations)
	return total, convert(found, d.invitation), err
}

// UpdateInvitations changes the invitations with these ids. A response date is
// changed only with the status: an answer has one, anything else has none.
// Nobody joins or leaves a group by it.
func (d *Directory) UpdateInvitations(ctx context.Context, invitationIDs []int64, c store.GroupInvitationChange, response *time.Time) (store.UpdateResult, error) {
	now := d.now()
	if err := d.checkInvitation(c.Content, c.CreationDate, response, now); err != nil {
		return store.UpdateResult{}, err
	}
	c.ResponseDate = nil
	if c.Status != nil {
		at := responseDate(*c.Status, response, now)
		c.ResponseDate = &at
	}
	if c == (store.GroupInvitationChange{}) {
		return store.UpdateResult{}, nil
	}
	var result store.UpdateResult
	err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		before, err := store.FindGroupInvitations(ctx, tx, store.GroupInvitationFilter{IDs: invitationIDs}, store.Page{})
		if err != nil {
			return err
		}
		modified, err := store.UpdateGroupInvitations(ctx, tx, invitationIDs, c)
		if err != nil {
			return err
		}
		result = store.UpdateResult{Matched: int64(len(before)), Modified: int64(len(modified))}
		var concerned []store.GroupInvitation
		for _, v := range before {
			if slices.Contains(modified, v.ID) {
				after := v
				after.GroupID, after.InviterID, after.InviteeID = deref(c.GroupID, v.GroupID), deref(c.InviterID, v.InviterID), deref(c.InviteeID, v.InviteeID)
				concerned = append(concerned, v, after)
			}
		}
		return d.invitationsChanged(ctx, tx, now, concerned...)
	})
	return result, err
}

// DeleteInvitations removes the invitations with these ids.
func (d *Directory) DeleteInvitations(ctx context.Context, invitationIDs []int64) (deleted int64, err error) {
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		found, err := store.FindGroupInvitations(ctx, tx, store.GroupInvitationFilter{IDs: invitationIDs}, store.Page{})
		if err != nil {
			return err
		}
		deleted = int64(len(found))
		return d.deleteInvitations(ctx, tx, found)
	})
	return deleted, err
}

func (d *Directory) deleteInvitations(ctx context.Context, tx store.Tx, found []store.GroupInvitation) error {
	list := convert(found, func(v store.GroupInvitation) int64 { return v.ID })
	if _, err := store.DeleteGroupInvitations(ctx, tx, list); err != nil {
		return err
	}
	return d.invitationsChanged(ctx, tx, d.now(), found...)
}

// DeleteAllInvitations removes all invitations, in several transactions.
func (d *Directory) DeleteAllInvitations(ctx context.Context) (int64, error) {
	return deleteAll(ctx, d, store.GroupInvitationsAfter, func(v store.GroupInvitation) int64 { return v.ID }, d.deleteInvitations)
}

// DeleteExpiredInvitations removes the invitations that have expired, in several
// transactions, if the settings say so, and returns how many there were.
func (d *Directory) DeleteExpiredInvitations(ctx context.Context) (int64, error) {
	if !d.opts.Settings().Invitation.DeleteExpiredInvitationsWhenCronTriggered {
		return 0, nil
	}
	expired := func(ctx context.Context, r store.Reader, _ *int64, limit int) ([]store.GroupInvitation, error) {
		f, err := d.invitationFilter(InvitationFilter{Statuses: []store.RequestStatus{store.RequestExpired}})
		if err != nil {
			return nil, err
		}
		return store.FindGroupInvitations(ctx, r, f, store.Page{Limit: limit})
	}
	return deleteAll(ctx, d, expired, func(v store.GroupInvitation) int64 { return v.ID }, d.deleteInvitations)
}
