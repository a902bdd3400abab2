// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"
)

// A GroupJoinRequest is a request of a user to join a group.
type GroupJoinRequest struct {
	ID, GroupID, RequesterID int64
	// ResponderID is the user who answered or is to answer; nil means nobody in particular.
	ResponderID  *int64
	Content      string
	Status       RequestStatus
	CreationDate time.Time
	ResponseDate *time.Time
	// Reason is the reason of the reply; nil means none.
	Reason *string
}

// A GroupJoinRequestFilter selects requests. Empty fields do not restrict; all others must match.
type GroupJoinRequestFilter struct {
	IDs, GroupIDs, RequesterIDs, ResponderIDs []int64
	Status                                    StatusFilter
	CreationDate, ResponseDate                DateRange
}

// A GroupJoinRequestChange describes a change. Nil fields stay unchanged.
type GroupJoinRequestChange struct {
	GroupID, RequesterID, ResponderID *int64
	Content                           *string
	Status                            *RequestStatus
	CreationDate                      *time.Time
	// ResponseDate is the new date; a pointer to nil removes it.
	ResponseDate **time.Time
	Reason       *string
}

var groupJoinRequests = newTable("group_join_request", "id group_id requester_id responder_id content status creation_date response_date reason", func(v *GroupJoinRequest) []any {
	return []any{
		&v.ID, &v.GroupID, &v.RequesterID, &v.ResponderID, &v.Content, &v.Status, (*millis)(&v.CreationDate), optionalMillis{&v.ResponseDate}, &v.Reason,
	}
})

// InsertGroupJoinRequests stores new requests. It returns ErrDuplicateKey if an id exists.
func InsertGroupJoinRequests(ctx context.Context, tx Tx, requests ...GroupJoinRequest) error {
	if err := groupJoinRequests.insert(ctx, tx, requests...); err != nil {
		return fmt.Errorf("insert group join requests: %w", err)
	}
	return nil
}

func (f GroupJoinRequestFilter) conditions() (c conditions) {
	anyOf(&c, "t.id", f.IDs)
	anyOf(&c, "t.group_id", f.GroupIDs)
	anyOf(&c, "t.requester_id", f.RequesterIDs)
	anyOf(&c, "t.responder_id", f.ResponderIDs)
	c.and(f.Status.conditions()...)
	c.and(f.CreationDate.conditions("t.creation_date")...)
	c.and(f.ResponseDate.conditions("t.response_date")...)
	return c
}

// FindGroupJoinRequests returns the requests that match the filter, ordered by the date that the
// filter asks for, if any, and id.
func FindGroupJoinRequests(ctx context.Context, r Reader, filter GroupJoinRequestFilter, page Page) ([]GroupJoinRequest, error) {
	order := orderBy([]string{"t.id"}, datedColumn{"t.creation_date", filter.CreationDate}, datedColumn{"t.response_date", filter.ResponseDate})
	return selectGroupJoinRequests(ctx, r, filter.conditions(), order, page)
}

func selectGroupJoinRequests(ctx context.Context, r Reader, c conditions, order []string, page Page) ([]GroupJoinRequest, error) {
	requests, err := groupJoinRequests.find(ctx, r, c, page, order...)
	if err != nil {
		return nil, fmt.Errorf("find group join requests: %w", err)
	}
	return requests, nil
}

// CountGroupJoinRequests returns how many requests match the filter.
func CountGroupJoinRequests(ctx context.Context, r Reader, filter GroupJoinRequestFilter) (int64, error) {
	return countRows(ctx, r, "group_join_request", filter.conditions())
}

// UpdateGroupJoinRequests changes the requests with the given ids and returns the ids of those that
// differ afterwards.
func UpdateGroupJoinRequests(ctx context.Context, tx Tx, ids []int64, change GroupJoinRequestChange) ([]int64, error) {
	var c columnChanges
	setIf(&c, "group_id", change.GroupID)
	setIf(&c, "requester_id", change.RequesterID)
	setIf(&c, "responder_id", change.ResponderID)
	setIf(&c, "content", change.Content)
	setIf(&c, "status", change.Status)
	setIf(&c, "creation_date", millisOrNull(change.CreationDate))
	if change.ResponseDate != nil {
		c.set("response_date", millisOrNull(*change.ResponseDate))
	}
	setIf(&c, "reason", change.Reason)
	return c.update(ctx, tx, "group_join_request", "id", in("t.id", ids))
}

// DeleteGroupJoinRequests deletes the requests with the given ids and returns how many there were.
func DeleteGroupJoinRequests(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deleteRows(ctx, tx, "group_join_request", in("t.id", ids))
}
