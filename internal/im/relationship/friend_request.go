// SPDX-License-Identifier: Apache-2.0

package relationship

import (
	"cmp"
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// FriendRequest is a request as it stands now: one that nobody answered in time
// has expired, although that is not stored.
type FriendRequest struct {
	store.FriendRequest

	// ExpirationDate is nil while requests never expire.
	ExpirationDate *time.Time
}

// lifetime is how long requests can be answered, and 0 for ever.
func lifetime(s config.FriendRequest) time.Duration {
	return time.Duration(s.FriendRequestExpireAfterSeconds) * time.Second
}

// expiredBefore is the date before which a pending request must have been
// created to have expired, or nil if requests never expire.
func expiredBefore(now time.Time, s config.FriendRequest) *time.Time {
	if s.FriendRequestExpireAfterSeconds <= 0 {
		return nil
	}
	return new(now.Add(-lifetime(s)))
}

func current(request store.FriendRequest, now time.Time, s config.FriendRequest) FriendRequest {
	r := FriendRequest{FriendRequest: request}
	limit := expiredBefore(now, s)
	if limit == nil {
		return r
	}
	r.ExpirationDate = new(request.CreationDate.Add(lifetime(s)))
	if r.Status == store.RequestPending && request.CreationDate.Before(*limit) {
		r.Status = store.RequestExpired
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
	now, settings := d.now(), d.opts.Settings().FriendRequest
	err := cmp.Or(checkPair("requesterId", c.RequesterID, "recipientId", c.RecipientID),
		checkTexts(settings, &c.Content, c.Reason),
		check.NotFuture("creationDate", c.CreationDate, now), check.NotFuture("responseDate", c.ResponseDate, now))
	if err != nil {
		return FriendRequest{}, err
	}
	request := store.FriendRequest{
		RequesterID: c.RequesterID, RecipientID: c.RecipientID, Content: c.Content, Status: c.Status, Reason: c.Reason,
		CreationDate: now, ResponseDate: responseDate(c.Status, c.ResponseDate, now),
	}
	if c.CreationDate != nil {
		request.CreationDate = *c.CreationDate
	}
	if c.ID != nil {
		request.ID = *c.ID
	} else if request.ID, err = d.opts.IDs.NextContext(ctx); err != nil {
		return FriendRequest{}, err
	}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error { return insertRequest(ctx, tx, request, now) })
	if err != nil {
		return FriendRequest{}, err
	}
	return current(request, now, settings), nil
}

func checkTexts(s config.FriendRequest, content, reason *string) error {
	if content != nil {
		if err := check.MaxLength("content", *content, s.MaxContentLength); err != nil {
			return err
		}
	}
	if reason != nil {
		return check.MaxLength("reason", *reason, s.MaxResponseReasonLength)
	}
	return nil
}

// responseDate is the date that goes with a status.
func responseDate(status store.RequestStatus, date *time.Time, now time.Time) *time.Time {
	switch {
	case !status.Answered():
		return nil
	case date == nil:
		return &now
	default:
		return date
	}
}

func insertRequest(ctx context.Context, tx store.Tx, request store.FriendRequest, now time.Time) error {
	if err := store.InsertFriendRequests(ctx, tx, request); err != nil {
		return err
	}
	return bumpRequests(ctx, tx, now, []int64{request.RequesterID}, []int64{request.RecipientID})
}

// bumpRequests notes that requests of these users have changed.
func bumpRequests(ctx context.Context, tx store.Tx, now time.Time, requesters, recipients []int64) error {
	if err := store.BumpUserVersion(ctx, tx, store.VersionSentFriendRequests, now, requesters...); err != nil {
		return err
	}
	return store.BumpUserVersion(ctx, tx, store.VersionReceivedFriendRequests, now, recipients...)
}

func usersOf(requests []store.FriendRequest) (requesters, recipients []int64) {
	for _, request := range requests {
		requesters = append(requesters, request.RequesterID)
		recipients = append(recipients, request.RecipientID)
	}
	return requesters, recipients
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

func (f RequestFilter) at(now time.Time, s config.FriendRequest) (store.FriendRequestFilter, error) {
	filter := store.FriendRequestFilter{
		IDs: f.IDs, RequesterIDs: f.RequesterIDs, RecipientIDs: f.RecipientIDs,
		Status:   store.StatusFilter{Statuses: f.Statuses, ExpiredBefore: expiredBefore(now, s)},
		Creation: f.Creation, Response: f.Response,
	}
	if f.Expiration == (store.DateRange{}) || s.FriendRequestExpireAfterSeconds <= 0 {
		return filter, nil
	}
	// A request expires its lifetime after its creation.
	if start := f.Expiration.Start; start != nil {
		filter.Creation.Start = later(filter.Creation.Start, start.Add(-lifetime(s)))
	}
	if end := f.Expiration.End; end != nil {
		filter.Creation.End = earlier(filter.Creation.End, end.Add(-lifetime(s)))
	}
	if c := filter.Creation; c.Start != nil && c.End != nil && !c.Start.Before(*c.End) {
		return filter, apierr.New(apierr.IllegalArgument, "creationDate and expirationDate: no request can be in both ranges while requests expire after %v", lifetime(s))
	}
	return filter, nil
}

func later(a *time.Time, b time.Time) *time.Time {
	if a != nil && a.After(b) {
		return a
	}
	return &b
}

func earlier(a *time.Time, b time.Time) *time.Time {
	if a != nil && a.Before(b) {
		return a
	}
	return &b
}

// FindRequests returns requests in the order of their ids, or of the first date
// that the filter asks for.
func (d *Directory) FindRequests(ctx context.Context, f RequestFilter, limit, offset int) ([]FriendRequest, error) {
	_, found, err := d.findRequests(ctx, f, limit, offset, false)
	return found, err
}

// FindRequestPage returns a page of requests and how many there are in all, as far as
// store.ForTotal counts.
func (d *Directory) FindRequestPage(ctx context.Context, f RequestFilter, limit, offset int) (total int64, found []FriendRequest, err error) {
	return d.findRequests(ctx, f, limit, offset, true)
}

func (d *Directory) findRequests(ctx context.Context, f RequestFilter, limit, offset int, count bool) (total int64, found []FriendRequest, err error) {
	now, settings := d.now(), d.opts.Settings().FriendRequest
	filter, err := f.at(now, settings)
	if err != nil {
		return 0, nil, err
	}
	var stored []store.FriendRequest
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		page := store.Page{Limit: limit, Offset: offset}
		if count {
			if total, err = store.CountFriendRequests(ctx, store.ForTotal(r, page), filter); err != nil || total == 0 {
				return err
			}
		}
		stored, err = store.FindFriendRequests(ctx, r, filter, page)
		return err
	})
	for _, request := range stored {
		found = append(found, current(request, now, settings))
	}
	return total, found, err
}

// UpdateRequests changes the requests with these ids, all of them or none. A
// status takes its response date with it: it is kept, or now, for an answered
// request and removed otherwise. Nothing else follows from a status.
func (d *Directory) UpdateRequests(ctx context.Context, requestIDs []int64, c store.FriendRequestChange) (result store.UpdateResult, err error) {
	now, settings := d.now(), d.opts.Settings().FriendRequest
	err = cmp.Or(checkUsers(c), checkTexts(settings, c.Content, c.Reason),
		check.NotFuture("creationDate", c.CreationDate, now), check.NotFuture("responseDate", c.ResponseDate, now))
	if err != nil || c == (store.FriendRequestChange{}) {
		return store.UpdateResult{}, err
	}
	if c.Status != nil {
		c.ResponseDate = responseDate(*c.Status, c.ResponseDate, now)
	}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		old, err := store.FindFriendRequests(ctx, tx, store.FriendRequestFilter{IDs: requestIDs}, store.Page{})
		if err != nil {
			return err
		}
		for _, request := range old {
			if err := differAfter(request, c); err != nil {
				return err
			}
		}
		var modified []int64
		if result, modified, err = store.UpdateFriendRequests(ctx, tx, requestIDs, c); err != nil {
			return err
		}
		return bumpModified(ctx, tx, now, old, modified, c)
	})
	return result, err
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

// differAfter refuses a change that would make a request one to oneself.
func differAfter(request store.FriendRequest, c store.FriendRequestChange) error {
	requester, recipient := request.RequesterID, request.RecipientID
	if c.RequesterID != nil {
		requester = *c.RequesterID
	}
	if c.RecipientID != nil {
		recipient = *c.RecipientID
	}
	return checkPair("requesterId", requester, "recipientId", recipient)
}

// bumpModified notes the changes for those who had the modified requests and for
// those who have them now.
func bumpModified(ctx context.Context, tx store.Tx, now time.Time, old []store.FriendRequest, modified []int64, c store.FriendRequestChange) error {
	isModified := make(map[int64]bool, len(modified))
	for _, id := range modified {
		isModified[id] = true
	}
	var changed []store.FriendRequest
	for _, request := range old {
		if isModified[request.ID] {
			changed = append(changed, request)
		}
	}
	requesters, recipients := usersOf(changed)
	if len(changed) > 0 && c.RequesterID != nil {
		requesters = append(requesters, *c.RequesterID)
	}
	if len(changed) > 0 && c.RecipientID != nil {
		recipients = append(recipients, *c.RecipientID)
	}
	return bumpRequests(ctx, tx, now, requesters, recipients)
}

// DeleteRequests removes the requests with these ids, or all requests if the
// ids are nil.
func (d *Directory) DeleteRequests(ctx context.Context, requestIDs []int64) (deleted int64, err error) {
	if requestIDs == nil {
		return d.deleteRequests(ctx, func(ctx context.Context, tx store.Tx) ([]store.FriendRequest, error) {
			return store.DeleteSomeFriendRequests(ctx, tx, deletionBatch)
		})
	}
	now := d.now()
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		gone, err := store.DeleteFriendRequests(ctx, tx, requestIDs)
		if err != nil {
			return err
		}
		deleted = int64(len(gone))
		requesters, recipients := usersOf(gone)
		return bumpRequests(ctx, tx, now, requesters, recipients)
	})
	return deleted, err
}

// deletionBatch bounds how many records one transaction removes when more are
// removed than the caller named, so that it holds up nobody.
const deletionBatch = 1000

// deleteRequests removes requests, a batch in each transaction, until a batch is
// not full.
func (d *Directory) deleteRequests(ctx context.Context, remove func(ctx context.Context, tx store.Tx) ([]store.FriendRequest, error)) (deleted int64, err error) {
	now := d.now()
	for {
		var gone []store.FriendRequest
		err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) (err error) {
			if gone, err = remove(ctx, tx); err != nil {
				return err
			}
			requesters, recipients := usersOf(gone)
			return bumpRequests(ctx, tx, now, requesters, recipients)
		})
		if err != nil {
			return deleted, err
		}
		deleted += int64(len(gone))
		if len(gone) < deletionBatch {
			return deleted, nil
		}
	}
}

// DeleteExpired removes the requests that have expired, if the settings say so,
// and returns how many there were. One node at a time should call it.
func (d *Directory) DeleteExpired(ctx context.Context) (deleted int64, err error) {
	now, settings := d.now(), d.opts.Settings().FriendRequest
	limit := expiredBefore(now, settings)
	if limit == nil || !settings.DeleteExpiredRequestsWhenCronTriggered {
		return 0, nil
	}
	return d.deleteRequests(ctx, func(ctx context.Context, tx store.Tx) ([]store.FriendRequest, error) {
		return store.DeleteExpiredFriendRequests(ctx, tx, *limit, deletionBatch)
	})
}
