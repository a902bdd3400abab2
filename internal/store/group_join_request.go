// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// A GroupJoinRequest asks a group to let a user in.
type GroupJoinRequest struct {
	ID, GroupID, RequesterID int64
	// ResponderID is who answered or is to answer; nil is nobody in particular.
	ResponderID  *int64
	Content      string
	Status       RequestStatus
	CreationDate time.Time
	ResponseDate *time.Time
	// Reason is what the responder answered; nil is nothing.
	Reason *string
}

// A GroupJoinRequestFilter selects requests. An empty field is no restriction; all fields must match.
type GroupJoinRequestFilter struct {
	IDs, GroupIDs, RequesterIDs, ResponderIDs []int64
	Status                                    StatusFilter
	CreationDate, ResponseDate                DateRange
}

// A GroupJoinRequestChange says what to change. A nil field stays as it is.
type GroupJoinRequestChange struct {
	GroupID, RequesterID, ResponderID *int64
	Content                           *string
	Status                            *RequestStatus
	CreationDate                      *time.Time
	// ResponseDate is given, or removed if it points to nil.
	ResponseDate **time.Time
	Reason       *string
}

type groupJoinRequestRow struct {
	bun.BaseModel `bun:"table:group_join_request,alias:t"`
	ID            int64   `bun:"id,pk"`
	GroupID       int64   `bun:"group_id"`
	RequesterID   int64   `bun:"requester_id"`
	ResponderID   *int64  `bun:"responder_id"`
	Content       string  `bun:"content"`
	Status        int32   `bun:"status"`
	CreationDate  int64   `bun:"creation_date"`
	ResponseDate  *int64  `bun:"response_date"`
	Reason        *string `bun:"reason"`
}

// InsertGroupJoinRequests stores new requests. An id that exists is an ErrDuplicateKey.
func InsertGroupJoinRequests(ctx context.Context, tx Tx, requests ...GroupJoinRequest) error {
	rows := make([]groupJoinRequestRow, len(requests))
	for i, v := range requests {
		rows[i] = groupJoinRequestRow{
			ID: v.ID, GroupID: v.GroupID, RequesterID: v.RequesterID, ResponderID: v.ResponderID, Content: v.Content, Status: int32(v.Status),
			CreationDate: v.CreationDate.UnixMilli(), ResponseDate: millisOrNull(v.ResponseDate), Reason: v.Reason,
		}
	}
	if err := insertRows(ctx, tx, rows); err != nil {
		return fmt.Errorf("insert group join requests: %w", err)
	}
	return nil
}

func (f GroupJoinRequestFilter) conditions(engine Engine) (c conditions) {
	anyOf(&c, engine, "t.id", f.IDs)
	anyOf(&c, engine, "t.group_id", f.GroupIDs)
	anyOf(&c, engine, "t.requester_id", f.RequesterIDs)
	anyOf(&c, engine, "t.responder_id", f.ResponderIDs)
	c.and(f.Status.conditions(engine)...)
	c.and(f.CreationDate.conditions("t.creation_date")...)
	c.and(f.ResponseDate.conditions("t.response_date")...)
	return c
}

// FindGroupJoinRequests returns the requests that match the filter, ordered by the date that the filter asks for, if any, and
// id.
func FindGroupJoinRequests(ctx context.Context, r Reader, filter GroupJoinRequestFilter, page Page) ([]GroupJoinRequest, error) {
	order := orderBy([]string{"t.id"}, datedColumn{"t.creation_date", filter.CreationDate}, datedColumn{"t.response_date", filter.ResponseDate})
	return selectGroupJoinRequests(ctx, r, filter.conditions(r.Engine()), order, page)
}

func selectGroupJoinRequests(ctx context.Context, r Reader, c conditions, order []string, page Page) ([]GroupJoinRequest, error) {
	var rows []groupJoinRequestRow
	if err := pageOf(whereAll(r.NewSelect().Model(&rows), c), page, order...).Scan(ctx); err != nil {
		return nil, fmt.Errorf("find group join requests: %w", translate(err))
	}
	requests := make([]GroupJoinRequest, len(rows))
	for i, row := range rows {
		requests[i] = GroupJoinRequest{
			ID: row.ID, GroupID: row.GroupID, RequesterID: row.RequesterID, ResponderID: row.ResponderID, Content: row.Content,
			Status: RequestStatus(row.Status), CreationDate: time.UnixMilli(row.CreationDate).UTC(),
			ResponseDate: timeOrNil(row.ResponseDate), Reason: row.Reason,
		}
	}
	return requests, nil
}

// GroupJoinRequestsAfter returns the requests with an id above a given one, at most limit of them.
func GroupJoinRequestsAfter(ctx context.Context, r Reader, after *int64, limit int) ([]GroupJoinRequest, error) {
	return selectGroupJoinRequests(ctx, r, idAfter(after), []string{"t.id"}, Page{Limit: limit})
}

// CountGroupJoinRequests returns how many requests match the filter.
func CountGroupJoinRequests(ctx context.Context, r Reader, filter GroupJoinRequestFilter) (int64, error) {
	return countRows(ctx, r, "group_join_request", filter.conditions(r.Engine()))
}

// UpdateGroupJoinRequests changes the requests with the given ids and returns the ids of those that differ afterwards.
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
	return c.update(ctx, tx, "group_join_request", "id", conditions{In(tx.Engine(), "t.id", ids)})
}

// DeleteGroupJoinRequests deletes the requests with the given ids and returns how many there were.
func DeleteGroupJoinRequests(ctx context.Context, tx Tx, ids []int64) (int64, error) {
	return deleteRows(ctx, tx, "group_join_request", conditions{In(tx.Engine(), "t.id", ids)})
}
