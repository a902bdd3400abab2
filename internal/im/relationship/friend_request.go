// SPDX-License-Identifier: Apache-2.0

package relationship

import (
	"cmp"
	"context"
	"time"

	"example.org/app/internal/im/check"
	"example.org/app/internal/im/request"
	"example.org/app/internal/store"
)

// FriendRequest is a request as it stands now: one that nobody answered in time
// has expired, although that is not stored.
type FriendRequest struct {
	store.FriendRequest

	// ExpirationDate is nil while requests never expire.
	ExpirationDate *time.Time
}

// requests is the book of friend requests.
type requests = request.Book[store.FriendRequest, FriendRequest, store.FriendRequestFilter, store.FriendRequestChange]

func (d *Directory) newRequests() *requests {
	return &requests{Kind: request.Kind[store.FriendRequest, FriendRequest, store.FriendRequestFilter, store.FriendRequestChange]{
		Store: d.opts.Store, IDs: d.opts.IDs, Now: d.now,
		Settings: func() request.Settings {
			s := d.opts.Settings().FriendRequest
			return request.Settings{
				Lifetime: request.Seconds(s.FriendRequestExpireAfterSeconds), MaxContent: s.MaxContentLength, MaxReason: s.MaxResponseReasonLength,
			}
		},
		Head: func(r *store.FriendRequest) request.Head {
			return request.Head{ID: &r.ID, Content: &r.Content, Status: &r.Status, Reason: &r.Reason, CreationDate: &r.CreationDate, ResponseDate: &r.ResponseDate}
		},
		View: func(r store.FriendRequest, expiration *time.Time) FriendRequest { return FriendRequest{r, expiration} },
		Select: func(ids []int64, status store.StatusFilter) store.FriendRequestFilter {
			return store.FriendRequestFilter{IDs: ids, Status: status}
		},
		Edit: func(c store.FriendRequestChange) request.Edit {
			return request.Edit{Content: c.Content, Status: c.Status, CreationDate: c.CreationDate}
		},
		Respond: func(c *store.FriendRequestChange, at *time.Time) { c.ResponseDate = at },
		Conclude: func(r store.FriendRequest) store.FriendRequestChange {
			return store.FriendRequestChange{Status: &r.Status, Reason: r.Reason, ResponseDate: r.ResponseDate}
		},
		After: after,
		// Nobody asks oneself.
		Check: func(r store.FriendRequest, c store.FriendRequestChange) error {
			after := after(r, c)
			return checkPair("requesterId", after.RequesterID, "recipientId", after.RecipientID)
		},
		Changed: requestsChanged,
		Insert:  store.InsertFriendRequests, Find: store.FindFriendRequests, Count: store.CountFriendRequests,
		Update: func(ctx context.Context, tx store.Tx, ids []int64, c store.FriendRequestChange) ([]int64, error) {
			_, modified, err := store.UpdateFriendRequests(ctx, tx, ids, c)
			return modified, err
		},
		Delete: func(ctx context.Context, tx store.Tx, ids []int64) error {
			_, err := store.DeleteFriendRequests(ctx, tx, ids)
			return err
		},
	}}
}

// after is a request with the users that a change gives it.
func after(r store.FriendRequest, c store.FriendRequestChange) store.FriendRequest {
	if c.RequesterID != nil {
		r.RequesterID = *c.RequesterID
	}
	if c.RecipientID != nil {
		r.RecipientID = *c.RecipientID
	}
	return r
}

// RequestCreation says what a new request shall be. It is for administrators:
// nothing else follows from it.
type RequestCreation struct {
	// ID is generated if it is nil.
	ID                       *int64
	RequesterID, RecipientID int64
	Content                  string
	Status                   store.RequestStatus
	Reason                   *string
	// CreationDate is now if it is nil.
	CreationDate *time.Time
	// ResponseDate is only kept for an answered request, where it is now if it
	// is nil.
	ResponseDate *time.Time
}

// CreateRequest adds a request.
func (d *Directory) CreateRequest(ctx context.Context, c RequestCreation) (FriendRequest, error) {
	if err := cmp.Or(checkPair("requesterId", c.RequesterID, "recipientId", c.RecipientID), d.requests.CheckReason(c.Reason)); err != nil {
		return FriendRequest{}, err
	}
	return d.requests.Create(ctx, store.FriendRequest{
		RequesterID: c.RequesterID, RecipientID: c.RecipientID, Content: c.Content, Status: c.Status, Reason: c.Reason, ResponseDate: c.ResponseDate,
	}, c.ID, c.CreationDate)
}

// requestsChanged notes that those concerned have an old copy.
func requestsChanged(ctx context.Context, tx store.Tx, now time.Time, changed ...store.FriendRequest) error {
	var requesters, recipients []int64
	for _, r := range changed {
		requesters, recipients = append(requesters, r.RequesterID), append(recipients, r.RecipientID)
	}
	if err := store.BumpUserVersion(ctx, tx, store.VersionSentFriendRequests, now, requesters...); err != nil {
		return err
	}
	return store.BumpUserVersion(ctx, tx, store.VersionReceivedFriendRequests, now, recipients...)
}

// RequestFilter selects requests as they stand now. An empty field is no
// restriction; a value matches when it is any of the field's; all fields must
// match.
type RequestFilter struct {
	IDs, RequesterIDs, RecipientIDs []int64
	Statuses                        []store.RequestStatus
	// Expiration is ignored while requests never expire.
	Creation, Response, Expiration store.DateRange
}

// FindRequests returns requests in the order of their ids, or of the first date
// that the filter asks for.
func (d *Directory) FindRequests(ctx context.Context, f RequestFilter, limit, offset int) ([]FriendRequest, error) {
	_, found, err := d.findRequests(ctx, f, store.Page{Limit: limit, Offset: offset}, false)
	return found, err
}

// FindRequestPage returns a page of requests and how many there are in all, as far as
// store.ForTotal counts.
func (d *Directory) FindRequestPage(ctx context.Context, f RequestFilter, page store.Page) (total int64, found []FriendRequest, err error) {
	return d.findRequests(ctx, f, page, true)
}

func (d *Directory) findRequests(ctx context.Context, f RequestFilter, page store.Page, total bool) (int64, []FriendRequest, error) {
	creation, err := d.requests.Settings().Lifetime.Creation(f.Creation, f.Expiration)
	if err != nil {
		return 0, nil, err
	}
	return d.requests.Query(ctx, store.FriendRequestFilter{
		IDs: f.IDs, RequesterIDs: f.RequesterIDs, RecipientIDs: f.RecipientIDs,
		Status: d.requests.Status(f.Statuses...), Creation: creation, Response: f.Response,
	}, page, total)
}

// UpdateRequests changes the requests with these ids, all of them or none, as request.Book says.
func (d *Directory) UpdateRequests(ctx context.Context, requestIDs []int64, c store.FriendRequestChange) (store.UpdateResult, error) {
	if err := cmp.Or(checkUsers(c), d.requests.CheckReason(c.Reason)); err != nil {
		return store.UpdateResult{}, err
	}
	response := c.ResponseDate
	c.ResponseDate = nil
	return d.requests.Change(ctx, requestIDs, c, response)
}

func checkUsers(c store.FriendRequestChange) error {
	var err error
	if c.RequesterID != nil {
		err = check.UserID("requesterId", *c.RequesterID)
	}
	if c.RecipientID != nil && err == nil {
		err = check.UserID("recipientId", *c.RecipientID)
	}
	return err
}

// deletionBatch bounds how many records one transaction removes when more are
// removed than the caller named, so that it holds up nobody.
const deletionBatch = 1000

// DeleteRequests removes the requests with these ids, or all requests if the
// ids are nil.
func (d *Directory) DeleteRequests(ctx context.Context, requestIDs []int64) (deleted int64, err error) {
	if requestIDs == nil {
		return d.requests.RemoveAll(ctx)
	}
	return d.requests.Remove(ctx, requestIDs)
}

// DeleteExpired removes the requests that have expired, if the settings say so,
// and returns how many there were. One node at a time should call it.
func (d *Directory) DeleteExpired(ctx context.Context, db store.Writer) (deleted int64, err error) {
	s := d.opts.Settings().FriendRequest
	if s.FriendRequestExpireAfterSeconds <= 0 || !s.DeleteExpiredRequestsWhenCronTriggered {
		return 0, nil
	}
	return d.requests.RemoveExpired(ctx, db)
}
