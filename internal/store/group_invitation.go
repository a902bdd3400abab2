// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"
)

// A GroupInvitation is an invitation of a user to join a group.
type GroupInvitation struct {
	ID, GroupID, InviterID, InviteeID int64
	Content                           string
	Status                            RequestStatus
	CreationDate                      time.Time
	ResponseDate                      *time.Time
	// Reason is the reason of the reply; nil means none.
	Reason *string
}

// A GroupInvitationFilter selects invitations. Empty fields do not restrict; all others must match.
type GroupInvitationFilter struct {
	IDs, GroupIDs, InviterIDs, InviteeIDs []int64
	Status                                StatusFilter
	CreationDate, ResponseDate            DateRange
}

// A GroupInvitationChange describes a change. Nil fields stay unchanged.
type GroupInvitationChange struct {
	GroupID, InviterID, InviteeID *int64
	Content                       *string
	Status                        *RequestStatus
	CreationDate                  *time.Time
	// ResponseDate is the new date; a pointer to nil removes it.
	ResponseDate **time.Time
	Reason       *string
}

var groupInvitations = newTable("group_invitation", "id group_id inviter_id invitee_id content status creation_date response_date reason", func(v *GroupInvitation) []any {
	return []any{
		&v.ID, &v.GroupID, &v.InviterID, &v.InviteeID, &v.Content, &v.Status, (*millis)(&v.CreationDate), optionalMillis{&v.ResponseDate}, &v.Reason,
	}
})

// InsertGroupInvitations stores new invitations. It returns ErrDuplicateKey if an id exists.
func InsertGroupInvitations(ctx context.Context, tx Tx, invitations ...GroupInvitation) error {
	if err := groupInvitations.insert(ctx, tx, invitations...); err != nil {
		return fmt.Errorf("insert group invitations: %w", err)
	}
	return nil
}

func (f GroupInvitationFilter) conditions() (c conditions) {
	anyOf(&c, "t.id", f.IDs)
	anyOf(&c, "t.group_id", f.GroupIDs)
	anyOf(&c, "t.inviter_id", f.InviterIDs)
	anyOf(&c, "t.invitee_id", f.InviteeIDs)
	c.and(f.Status.conditions()...)
	c.and(f.CreationDate.conditions("t.creation_date")...)
	c.and(f.ResponseDate.conditions("t.response_date")...)
	return c
}

// FindGroupInvitations returns the invitations that match the filter, ordered by the date that the
// filter asks for, if any, and id.
func FindGroupInvitations(ctx context.Context, r Reader, filter GroupInvitationFilter, page Page) ([]GroupInvitation, error) {
	order := orderBy([]string{"t.id"}, datedColumn{"t.creation_date", filter.CreationDate}, datedColumn{"t.response_date", filter.ResponseDate})
	return selectGroupInvitations(ctx, r, filter.conditions(), order, page)
}

func selectGroupInvitations(ctx context.Context, r Reader, c conditions, order []string, page Page) ([]GroupInvitation, error) {
	invitations, err := groupInvitations.find(ctx, r, c, page, order...)
	if err != nil {
		return nil, fmt.Errorf("find group invitations: %w", err)
	}
	return invitations, nil
}

// CountGroupInvitations returns how many invitations match the filter.
func CountGroupInvitations(ctx context.Context, r Reader, filter GroupInvitationFilter) (int64, error) {
	return countRows(ctx, r, "group_invitation", filter.conditions())
}

// UpdateGroupInvitations changes the invitations with the given ids and returns the ids of those
// that differ afterwards.
func UpdateGroupInvitations(ctx context.Context, tx Tx, ids []int64, change GroupInvitationChange) ([]int64, error) {
	var c columnChanges
	setIf(&c, "group_id", change.GroupID)
	setIf(&c, "inviter_id", change.InviterID)
	setIf(&c, "invitee_id", change.InviteeID)
	setIf(&c, "content", change.Content)
	setIf(&c, "status", change.Status)
	setIf(&c, "creation_date", millisOrNull(change.CreationDate))
	if change.ResponseDate != nil {
		c.set("response_date", millisOrNull(*change.ResponseDate))
	}
	setIf(&c, "reason", change.Reason)
	return c.update(ctx, tx, "group_invitation", "id", in("t.id", ids))
}

// DeleteGroupInvitations deletes the invitations with the given ids and returns how many there
// were.
func DeleteGroupInvitations(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deleteRows(ctx, tx, "group_invitation", in("t.id", ids))
}
