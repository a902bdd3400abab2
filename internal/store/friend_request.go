// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"
)

// A FriendRequest is the request of one user to become related to another.
type FriendRequest struct {
	ID                       int64
	RequesterID, RecipientID int64
	Content                  string
	Status                   RequestStatus
	Reason                   *string
	CreationDate             time.Time
	ResponseDate             *time.Time
}

// A FriendRequestFilter selects requests. Empty fields do not restrict; all others must match, with
// any of their values.
type FriendRequestFilter struct {
	IDs, RequesterIDs, RecipientIDs []int64
	Status                          StatusFilter
	Creation, Response              DateRange
}

// A FriendRequestChange describes a change. Nil fields stay unchanged.
type FriendRequestChange struct {
	RequesterID, RecipientID *int64
	Content                  *string
	Reason                   *string
	CreationDate             *time.Time
	// Status also replaces the response date, even by nil. Without Status only answered requests
	// get the ResponseDate.
	Status       *RequestStatus
	ResponseDate *time.Time
}

const friendRequestTable = "friend_request"

var friendRequests = newTable(friendRequestTable, "id requester_id recipient_id content status reason creation_date response_date", func(r *FriendRequest) []any {
	return []any{&r.ID, &r.RequesterID, &r.RecipientID, &r.Content, &r.Status, &r.Reason, (*millis)(&r.CreationDate), optionalMillis{&r.ResponseDate}}
})

// InsertFriendRequests stores new requests. It returns ErrDuplicateKey if an id exists.
func InsertFriendRequests(ctx context.Context, tx Tx, requests ...FriendRequest) error {
	if err := friendRequests.insert(ctx, tx, requests...); err != nil {
		return fmt.Errorf("insert friend requests: %w", err)
	}
	return nil
}

func (f FriendRequestFilter) conditions() conditions {
	var list conditions
	anyOf(&list, "t.id", f.IDs)
	anyOf(&list, "t.requester_id", f.RequesterIDs)
	anyOf(&list, "t.recipient_id", f.RecipientIDs)
	list.and(f.Status.conditions()...)
	list.and(f.Creation.conditions("t.creation_date")...)
	list.and(f.Response.conditions("t.response_date")...)
	return list
}

func (f FriendRequestFilter) order() []string {
	return orderBy([]string{"t.id"}, datedColumn{"t.creation_date", f.Creation}, datedColumn{"t.response_date", f.Response})
}

// FindFriendRequests returns the requests that match the filter, ordered by the date that the
// filter asks for, if any, and id. Their statuses are the stored ones.
func FindFriendRequests(ctx context.Context, r Reader, filter FriendRequestFilter, page Page) ([]FriendRequest, error) {
	found, err := friendRequests.find(ctx, r, filter.conditions(), page, filter.order()...)
	if err != nil {
		return nil, fmt.Errorf("find friend requests: %w", err)
	}
	return found, nil
}

// CountFriendRequests returns how many requests match the filter.
func CountFriendRequests(ctx context.Context, r Reader, filter FriendRequestFilter) (int64, error) {
	return countRows(ctx, r, friendRequestTable, filter.conditions())
}

// UpdateFriendRequests changes the requests with the given ids. Modified counts those that differ
// afterwards; their ids are returned as well.
func UpdateFriendRequests(ctx context.Context, tx Tx, ids []int64, change FriendRequestChange) (UpdateResult, []int64, error) {
	where := in("t.id", ids)
	var columns columnChanges
	setIf(&columns, "requester_id", change.RequesterID)
	setIf(&columns, "recipient_id", change.RecipientID)
	setIf(&columns, "content", change.Content)
	setIf(&columns, "reason", change.Reason)
	if change.CreationDate != nil {
		columns.set("creation_date", change.CreationDate.UnixMilli())
	}
	if change.Status != nil {
		columns.set("status", int32(*change.Status))
		columns.set("response_date", millisOrNull(change.ResponseDate))
	}
	return columns.updateMatched(ctx, tx, friendRequestTable, "id", where)
}

// DeleteFriendRequests deletes the requests with the given ids and returns them.
func DeleteFriendRequests(ctx context.Context, tx Tx, ids []int64) ([]FriendRequest, error) {
	gone, err := friendRequests.delete(ctx, tx, in("t.id", ids))
	if err != nil {
		return nil, fmt.Errorf("delete friend requests: %w", err)
	}
	return gone, nil
}
