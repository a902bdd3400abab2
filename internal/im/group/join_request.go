// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"example.org/app/internal/im/request"
	"example.org/app/internal/store"
)

// JoinRequest is a request to be let into a group as of now: its status says
// whether it has expired.
type JoinRequest struct {
	store.GroupJoinRequest
	// ExpirationDate is until when it can be answered; nil is for ever.
	ExpirationDate *time.Time
}

// joinRequests is the book of requests to join groups.
type joinRequests = request.Book[store.GroupJoinRequest, JoinRequest, store.GroupJoinRequestFilter, store.GroupJoinRequestChange]

func (d *Directory) newJoinRequests() *joinRequests {
	return &joinRequests{Kind: request.Kind[store.GroupJoinRequest, JoinRequest, store.GroupJoinRequestFilter, store.GroupJoinRequestChange]{
		Store: d.opts.Store, IDs: d.opts.IDs, Now: d.now,
		Settings: func() request.Settings {
			s := d.opts.Settings().JoinRequest
			return request.Settings{Lifetime: request.Seconds(s.ExpireAfterSeconds), MaxContent: s.MaxContentLength, MaxReason: s.MaxResponseReasonLength}
		},
		Head: func(v *store.GroupJoinRequest) request.Head {
			return request.Head{ID: &v.ID, Content: &v.Content, Status: &v.Status, Reason: &v.Reason, CreationDate: &v.CreationDate, ResponseDate: &v.ResponseDate}
		},
		View: func(v store.GroupJoinRequest, expiration *time.Time) JoinRequest { return JoinRequest{v, expiration} },
		Select: func(ids []int64, status store.StatusFilter) store.GroupJoinRequestFilter {
			return store.GroupJoinRequestFilter{IDs: ids, Status: status}
		},
		Edit: func(c store.GroupJoinRequestChange) request.Edit {
			return request.Edit{Content: c.Content, Status: c.Status, CreationDate: c.CreationDate}
		},
		Respond: func(c *store.GroupJoinRequestChange, at *time.Time) { c.ResponseDate = &at },
		Conclude: func(v store.GroupJoinRequest) store.GroupJoinRequestChange {
			return store.GroupJoinRequestChange{Status: &v.Status, Reason: v.Reason, ResponderID: v.ResponderID, ResponseDate: &v.ResponseDate}
		},
		After: func(v store.GroupJoinRequest, c store.GroupJoinRequestChange) store.GroupJoinRequest {
			v.GroupID, v.RequesterID = deref(c.GroupID, v.GroupID), deref(c.RequesterID, v.RequesterID)
			return v
		},
		Changed: joinRequestsChanged,
		Insert:  store.InsertGroupJoinRequests, Find: store.FindGroupJoinRequests, Count: store.CountGroupJoinRequests, Update: store.UpdateGroupJoinRequests,
		Delete: func(ctx context.Context, tx store.Tx, ids []int64) error {
			_, err := store.DeleteGroupJoinRequests(ctx, tx, ids)
			return err
		},
	}}
}

// joinRequest returns a join request as of now.
func (d *Directory) joinRequest(v store.GroupJoinRequest) JoinRequest {
	return d.joinRequests.AsOf(v, d.now())
}

// CreateJoinRequest stores a join request. A nil id is made up, a nil creation
// date is now. The response date is kept only of a request that was
// answered. Whether the group exists, and who may ask, is up to the caller.
func (d *Directory) CreateJoinRequest(ctx context.Context, v store.GroupJoinRequest, id *int64, creationDate *time.Time) (JoinRequest, error) {
	return d.joinRequests.Create(ctx, v, id, creationDate)
}

// joinRequestsChanged notes that those concerned have an old copy.
func joinRequestsChanged(ctx context.Context, tx store.Tx, now time.Time, requests ...store.GroupJoinRequest) error {
	var groups, requesters []int64
	for _, v := range requests {
		groups, requesters = append(groups, v.GroupID), append(requesters, v.RequesterID)
	}
	if err := store.BumpGroupVersions(ctx, tx, store.GroupJoinRequests, groups, now); err != nil {
		return err
	}
	return store.BumpUserVersion(ctx, tx, store.VersionSentGroupJoinRequests, now, distinct(requesters)...)
}

// JoinRequestFilter selects join requests. An empty field is no restriction; all
// fields must match. Statuses are those as of now.
type JoinRequestFilter struct {
	IDs, GroupIDs, RequesterIDs, ResponderIDs  []int64
	Statuses                                   []store.RequestStatus
	CreationDate, ResponseDate, ExpirationDate store.DateRange
}

func (d *Directory) joinRequestFilter(f JoinRequestFilter) (store.GroupJoinRequestFilter, error) {
	creation, err := d.joinRequests.Settings().Lifetime.Creation(f.CreationDate, f.ExpirationDate)
	return store.GroupJoinRequestFilter{
		IDs: f.IDs, GroupIDs: f.GroupIDs, RequesterIDs: f.RequesterIDs, ResponderIDs: f.ResponderIDs,
		Status: d.joinRequests.Status(f.Statuses...), CreationDate: creation, ResponseDate: f.ResponseDate,
	}, err
}

// FindJoinRequests returns join requests in the order of their ids, or of the first
// date that the filter asks for.
func (d *Directory) FindJoinRequests(ctx context.Context, f JoinRequestFilter, limit, offset int) ([]JoinRequest, error) {
	_, found, err := d.queryJoinRequests(ctx, f, store.Page{Limit: limit, Offset: offset}, false)
	return found, err
}

// FindJoinRequestPage returns a page of join requests and how many there are, as
// far as store.ForTotal counts.
func (d *Directory) FindJoinRequestPage(ctx context.Context, f JoinRequestFilter, page store.Page) (int64, []JoinRequest, error) {
	return d.queryJoinRequests(ctx, f, page, true)
}

func (d *Directory) queryJoinRequests(ctx context.Context, f JoinRequestFilter, page store.Page, total bool) (int64, []JoinRequest, error) {
	filter, err := d.joinRequestFilter(f)
	if err != nil {
		return 0, nil, err
	}
	return d.joinRequests.Query(ctx, filter, page, total)
}

// UpdateJoinRequests changes the join requests with these ids, as request.Book says.
// Nobody joins or leaves a group by it.
func (d *Directory) UpdateJoinRequests(ctx context.Context, joinRequestIDs []int64, c store.GroupJoinRequestChange, response *time.Time) (store.UpdateResult, error) {
	return d.joinRequests.Change(ctx, joinRequestIDs, c, response)
}

// DeleteJoinRequests removes the join requests with these ids.
func (d *Directory) DeleteJoinRequests(ctx context.Context, joinRequestIDs []int64) (deleted int64, err error) {
	return d.joinRequests.Remove(ctx, joinRequestIDs)
}

// DeleteAllJoinRequests removes all join requests, in several transactions.
func (d *Directory) DeleteAllJoinRequests(ctx context.Context) (int64, error) {
	return d.joinRequests.RemoveAll(ctx)
}

// DeleteExpiredJoinRequests removes the join requests that have expired, in several
// transactions, if the settings say so, and returns how many there were.
func (d *Directory) DeleteExpiredJoinRequests(ctx context.Context, db store.Writer) (int64, error) {
	if !d.opts.Settings().JoinRequest.DeleteExpiredJoinRequestsWhenCronTriggered {
		return 0, nil
	}
	return d.joinRequests.RemoveExpired(ctx, db)
}
