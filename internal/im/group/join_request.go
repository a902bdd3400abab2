// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"slices"
	"time"

	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// JoinRequest is a request to be let into a group as of now: its status says
// whether it has expired.
type JoinRequest struct {
	store.GroupJoinRequest
	// ExpirationDate is until when it can be answered; nil is for ever.
	ExpirationDate *time.Time
}

func (d *Directory) joinRequestLifetime() lifetime {
	return seconds(d.opts.Settings().JoinRequest.ExpireAfterSeconds)
}

func (d *Directory) joinRequest(v store.GroupJoinRequest) JoinRequest {
	l := d.joinRequestLifetime()
	v.Status = l.status(v.Status, v.CreationDate, d.now())
	return JoinRequest{v, l.end(v.CreationDate)}
}

// CreateJoinRequest stores a join request. A nil id is made up, a nil creation
// date is now. The response date is kept only of a request that was
// answered. Whether the group exists, and who may ask, is up to the caller.
func (d *Directory) CreateJoinRequest(ctx context.Context, v store.GroupJoinRequest, id *int64, creationDate *time.Time) (JoinRequest, error) {
	now := d.now()
	if err := d.checkJoinRequest(&v.Content, creationDate, v.ResponseDate, now); err != nil {
		return JoinRequest{}, err
	}
	v.CreationDate = deref(creationDate, now)
	v.ResponseDate = responseDate(v.Status, v.ResponseDate, now)
	if id == nil {
		next, err := d.opts.IDs.NextContext(ctx)
		if err != nil {
			return JoinRequest{}, err
		}
		id = &next
	}
	v.ID = *id
	err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error { return d.insertJoinRequest(ctx, tx, v, now) })
	if err != nil {
		return JoinRequest{}, err
	}
	return d.joinRequest(v), nil
}

func (d *Directory) insertJoinRequest(ctx context.Context, tx store.Tx, v store.GroupJoinRequest, now time.Time) error {
	if err := store.InsertGroupJoinRequests(ctx, tx, v); err != nil {
		return err
	}
	return d.joinRequestsChanged(ctx, tx, now, v)
}

func (d *Directory) checkJoinRequest(content *string, creation, response *time.Time, now time.Time) error {
	if content != nil {
		if err := check.MaxLength("content", *content, d.opts.Settings().JoinRequest.MaxContentLength); err != nil {
			return err
		}
	}
	if err := check.NotFuture("creationDate", creation, now); err != nil {
		return err
	}
	return check.NotFuture("responseDate", response, now)
}

// joinRequestsChanged notes that those concerned have an old copy.
func (d *Directory) joinRequestsChanged(ctx context.Context, tx store.Tx, now time.Time, requests ...store.GroupJoinRequest) error {
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
	l := d.joinRequestLifetime()
	creation, err := l.creation(f.CreationDate, f.ExpirationDate)
	return store.GroupJoinRequestFilter{
		IDs: f.IDs, GroupIDs: f.GroupIDs, RequesterIDs: f.RequesterIDs, ResponderIDs: f.ResponderIDs,
		Status:       store.StatusFilter{Statuses: f.Statuses, ExpiredBefore: l.expiredBefore(d.now())},
		CreationDate: creation, ResponseDate: f.ResponseDate,
	}, err
}

// FindJoinRequests returns join requests in the order of their ids, or of the
// first date that the filter asks for.
func (d *Directory) FindJoinRequests(ctx context.Context, f JoinRequestFilter, limit, offset int) ([]JoinRequest, error) {
	filter, err := d.joinRequestFilter(f)
	if err != nil {
		return nil, err
	}
	found, err := find(ctx, d, filter, limit, offset, store.FindGroupJoinRequests)
	return convert(found, d.joinRequest), err
}

// FindJoinRequestPage returns a page of join requests and how many there are, as
// far as store.ForTotal counts.
func (d *Directory) FindJoinRequestPage(ctx context.Context, f JoinRequestFilter, limit, offset int) (int64, []JoinRequest, error) {
	filter, err := d.joinRequestFilter(f)
	if err != nil {
		return 0, nil, err
	}
	total, found, err := findPage(ctx, d, filter, limit, offset, store.CountGroupJoinRequests, store.FindGroupJoinRequests)
	return total, convert(found, d.joinRequest), err
}

// UpdateJoinRequests changes the join requests with these ids. A response date is
// changed only with the status: an answer has one, anything else has none.
// Nobody joins or leaves a group by it.
func (d *Directory) UpdateJoinRequests(ctx context.Context, joinRequestIDs []int64, c store.GroupJoinRequestChange, response *time.Time) (store.UpdateResult, error) {
	now := d.now()
	if err := d.checkJoinRequest(c.Content, c.CreationDate, response, now); err != nil {
		return store.UpdateResult{}, err
	}
	c.ResponseDate = nil
	if c.Status != nil {
		at := responseDate(*c.Status, response, now)
		c.ResponseDate = &at
	}
	if c == (store.GroupJoinRequestChange{}) {
		return store.UpdateResult{}, nil
	}
	var result store.UpdateResult
	err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		before, err := store.FindGroupJoinRequests(ctx, tx, store.GroupJoinRequestFilter{IDs: joinRequestIDs}, store.Page{})
		if err != nil {
			return err
		}
		modified, err := store.UpdateGroupJoinRequests(ctx, tx, joinRequestIDs, c)
		if err != nil {
			return err
		}
		result = store.UpdateResult{Matched: int64(len(before)), Modified: int64(len(modified))}
		var concerned []store.GroupJoinRequest
		for _, v := range before {
			if slices.Contains(modified, v.ID) {
				after := v
				after.GroupID, after.RequesterID = deref(c.GroupID, v.GroupID), deref(c.RequesterID, v.RequesterID)
				concerned = append(concerned, v, after)
			}
		}
		return d.joinRequestsChanged(ctx, tx, now, concerned...)
	})
	return result, err
}

// DeleteJoinRequests removes the join requests with these ids.
func (d *Directory) DeleteJoinRequests(ctx context.Context, joinRequestIDs []int64) (deleted int64, err error) {
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		found, err := store.FindGroupJoinRequests(ctx, tx, store.GroupJoinRequestFilter{IDs: joinRequestIDs}, store.Page{})
		if err != nil {
			return err
		}
		deleted = int64(len(found))
		return d.deleteJoinRequests(ctx, tx, found)
	})
	return deleted, err
}

func (d *Directory) deleteJoinRequests(ctx context.Context, tx store.Tx, found []store.GroupJoinRequest) error {
	list := convert(found, func(v store.GroupJoinRequest) int64 { return v.ID })
	if _, err := store.DeleteGroupJoinRequests(ctx, tx, list); err != nil {
		return err
	}
	return d.joinRequestsChanged(ctx, tx, d.now(), found...)
}

// DeleteAllJoinRequests removes all join requests, in several transactions.
func (d *Directory) DeleteAllJoinRequests(ctx context.Context) (int64, error) {
	return deleteAll(ctx, d, store.GroupJoinRequestsAfter, func(v store.GroupJoinRequest) int64 { return v.ID }, d.deleteJoinRequests)
}

// DeleteExpiredJoinRequests removes the join requests that have expired, in several
// transactions, if the settings say so, and returns how many there were.
func (d *Directory) DeleteExpiredJoinRequests(ctx context.Context) (int64, error) {
	if !d.opts.Settings().JoinRequest.DeleteExpiredJoinRequestsWhenCronTriggered {
		return 0, nil
	}
	expired := func(ctx context.Context, r store.Reader, _ *int64, limit int) ([]store.GroupJoinRequest, error) {
		f, err := d.joinRequestFilter(JoinRequestFilter{Statuses: []store.RequestStatus{store.RequestExpired}})
		if err != nil {
			return nil, err
		}
		return store.FindGroupJoinRequests(ctx, r, f, store.Page{Limit: limit})
	}
	return deleteAll(ctx, d, expired, func(v store.GroupJoinRequest) int64 { return v.ID }, d.deleteJoinRequests)
}
