// SPDX-License-Identifier: Apache-2.0

package relationship

import (
	"cmp"
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/im/check"
	"example.org/app/internal/im/request"
	"example.org/app/internal/store"
)

// FriendRequest is a request with its current status, which may be expired.
type FriendRequest struct {
	store.FriendRequest

	// ExpirationDate is nil while requests never expire.
	ExpirationDate *time.Time
}

// FriendRequests manages the friend requests of the cluster.
type FriendRequests struct {
	*request.Book[store.FriendRequest, FriendRequest, store.FriendRequestFilter, store.FriendRequestChange]
	store    *store.DB
	now      func() time.Time
	settings func() config.FriendRequest
}

func newFriendRequests(db *store.DB, generator *ids.Generator, now func() time.Time, settings func() config.FriendRequest) *FriendRequests {
	return &FriendRequests{request.NewBook(request.Kind[store.FriendRequest, FriendRequest, store.FriendRequestFilter, store.FriendRequestChange]{
		Store: db, IDs: generator, Now: now,
		Settings: func() request.Settings {
			s := settings()
			return request.Settings{
				Lifetime: request.Seconds(s.FriendRequestExpireAfterSeconds), MaxContent: s.MaxContentLength, MaxReason: s.MaxResponseReasonLength,
				DeleteExpired: s.FriendRequestExpireAfterSeconds > 0 && s.DeleteExpiredRequestsWhenCronTriggered,
			}
		},
		Head: func(r *store.FriendRequest) request.Head {
			return request.Head{ID: &r.ID, Content: &r.Content, Status: &r.Status, Reason: &r.Reason, CreationDate: &r.CreationDate, ResponseDate: &r.ResponseDate}
		},
		View: func(r store.FriendRequest, expiration *time.Time) FriendRequest { return FriendRequest{r, expiration} },
		Selection: func(f *store.FriendRequestFilter) request.Selection {
			return request.Selection{IDs: &f.IDs, Status: &f.Status, CreationDate: &f.Creation}
		},
		Edit: func(c store.FriendRequestChange) request.Edit {
			return request.Edit{Content: c.Content, Status: c.Status, CreationDate: c.CreationDate}
		},
		Respond: func(c *store.FriendRequestChange, at *time.Time) { c.ResponseDate = at },
		Conclude: func(r store.FriendRequest) store.FriendRequestChange {
			return store.FriendRequestChange{Status: &r.Status, Reason: r.Reason, ResponseDate: r.ResponseDate}
		},
		After: after,
		// Users cannot request themselves.
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
	}), db, now, settings}
}

// after returns a request with the users that a change gives it.
func after(r store.FriendRequest, c store.FriendRequestChange) store.FriendRequest {
	if c.RequesterID != nil {
		r.RequesterID = *c.RequesterID
	}
	if c.RecipientID != nil {
		r.RecipientID = *c.RecipientID
	}
	return r
}

// RequestCreation defines a new request. It is for administrators and has no further effects.
type RequestCreation struct {
	// ID is generated if it is nil.
	ID                       *int64
	RequesterID, RecipientID int64
	Content                  string
	Status                   store.RequestStatus
	Reason                   *string
	// CreationDate is now if it is nil.
	CreationDate *time.Time
	// ResponseDate is ignored for a request without answer; nil means now.
	ResponseDate *time.Time
}

// Create adds a request.
func (f *FriendRequests) Create(ctx context.Context, c RequestCreation) (FriendRequest, error) {
	if err := cmp.Or(checkPair("requesterId", c.RequesterID, "recipientId", c.RecipientID), f.CheckReason(c.Reason)); err != nil {
		return FriendRequest{}, err
	}
	return f.Book.Create(ctx, store.FriendRequest{
		RequesterID: c.RequesterID, RecipientID: c.RecipientID, Content: c.Content, Status: c.Status, Reason: c.Reason, ResponseDate: c.ResponseDate,
	}, c.ID, c.CreationDate)
}

// requestsChanged increments the versions of the affected lists.
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

// RequestFilter selects requests by their current status.
type RequestFilter = request.Filter[store.FriendRequestFilter]

// Update changes the requests with these ids, all or none, see request.Book.
func (f *FriendRequests) Update(ctx context.Context, requestIDs []int64, c store.FriendRequestChange) (store.UpdateResult, error) {
	if err := cmp.Or(checkUsers(c), f.CheckReason(c.Reason)); err != nil {
		return store.UpdateResult{}, err
	}
	response := c.ResponseDate
	c.ResponseDate = nil
	return f.Book.Update(ctx, requestIDs, c, response)
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

// Send requests a relationship on behalf of the requester. It returns an error if the recipient has
// blocked the requester or has a request already. The key is stored for repeated requests; nil
// means none.
func (f *FriendRequests) Send(ctx context.Context, requester, recipient int64, content string, key *store.MessageKey) (FriendRequest, error) {
	if err := checkPair("requesterId", requester, "recipientId", recipient); err != nil {
		return FriendRequest{}, err
	}
	asked := store.FriendRequest{RequesterID: requester, RecipientID: recipient, Content: content}
	return f.Ask(ctx, asked, key, func(ctx context.Context, tx store.Tx) error {
		blocked, err := Blocks(ctx, tx, recipient, requester)
		if err != nil {
			return err
		}
		if blocked {
			return apierr.New(apierr.BlockedUserToSendFriendRequest, "")
		}
		hindering, err := store.CountFriendRequests(ctx, tx, f.hindrances(requester, recipient))
		if err != nil {
			return err
		}
		if hindering > 0 {
			return apierr.New(apierr.CreateExistingFriendRequest, "")
		}
		return nil
	})
}

// hindrances returns the filter for requests that prevent another one.
func (f *FriendRequests) hindrances(requester, recipient int64) store.FriendRequestFilter {
	statuses := []store.RequestStatus{store.RequestPending}
	if !f.settings().AllowSendRequestAfterDeclinedOrIgnoredOrExpired {
		statuses = append(statuses, store.RequestDeclined, store.RequestIgnored, store.RequestExpired)
	}
	return store.FriendRequestFilter{
		RequesterIDs: []int64{requester}, RecipientIDs: []int64{recipient}, Status: f.Status(statuses...),
	}
}

// Recall recalls a pending request on behalf of the requester.
func (f *FriendRequests) Recall(ctx context.Context, requester, id int64) (FriendRequest, error) {
	if !f.settings().AllowRecallPendingFriendRequestBySender {
		return FriendRequest{}, apierr.New(apierr.RecallingFriendRequestIsDisabled, "")
	}
	return f.End(ctx, id, request.Ending[store.FriendRequest]{
		Status: store.RequestCanceled, NotPending: apierr.RecallNonPendingFriendRequest,
		May: func(_ context.Context, _ store.Tx, r *store.FriendRequest) error {
			if r == nil || r.RequesterID != requester {
				return apierr.New(apierr.NotSenderToRecallFriendRequest, "")
			}
			return nil
		},
	})
}

// Replied is the result of a reply.
type Replied struct {
	Request FriendRequest
	// Gained are the relationships that are new or no longer blocks. The related users are in the
	// default groups of their owners.
	Gained []store.RelationshipKey
}

// Reply answers a request on behalf of the recipient: with accepted, declined or ignored. Accepting
// creates the relationships in both directions.
func (f *FriendRequests) Reply(ctx context.Context, recipient, id int64, answer store.RequestStatus, reason *string) (Replied, error) {
	if err := f.CheckAnswer(answer, reason); err != nil {
		return Replied{}, err
	}
	var gained []store.RelationshipKey
	replied, err := f.End(ctx, id, request.Ending[store.FriendRequest]{
		Status: answer, Reason: reason, NotPending: apierr.UpdateNonPendingFriendRequest,
		May: func(_ context.Context, _ store.Tx, r *store.FriendRequest) error {
			if r == nil || r.RecipientID != recipient {
				return apierr.New(apierr.NotRecipientToUpdateFriendRequest, "")
			}
			return nil
		},
		Then: func(ctx context.Context, tx store.Tx, r *store.FriendRequest, now time.Time) (err error) {
			gained = nil
			if answer == store.RequestAccepted {
				gained, err = befriend(ctx, tx, r.RequesterID, r.RecipientID, now)
			}
			return err
		},
	})
	if err != nil {
		return Replied{}, err
	}
	return Replied{Request: replied, Gained: gained}, nil
}

// befriend creates the relationships of two users in both directions.
func befriend(ctx context.Context, tx store.Tx, a, b int64, now time.Time) (gained []store.RelationshipKey, err error) {
	key := store.RelationshipKey{OwnerID: a, RelatedUserID: b}
	if err := EnsureDefaultGroups(ctx, tx, now, a, b); err != nil {
		return nil, err
	}
	for _, key := range []store.RelationshipKey{key, key.Reverse()} {
		changed, err := store.Befriend(ctx, tx, store.Relationship{RelationshipKey: key, EstablishmentDate: now})
		if err != nil {
			return nil, err
		}
		if !changed {
			continue
		}
		gained = append(gained, key)
		if err := intoDefaultGroup(ctx, tx, key, now); err != nil {
			return nil, err
		}
	}
	return gained, nil
}

func intoDefaultGroup(ctx context.Context, tx store.Tx, key store.RelationshipKey, now time.Time) error {
	if _, err := store.AddRelationshipGroupMember(ctx, tx, key, store.DefaultRelationshipGroup); err != nil {
		return err
	}
	return bumpBoth(ctx, tx, now, key.OwnerID)
}

// List returns the friend requests that a user sent or received, unless the known version is
// current.
func (f *FriendRequests) List(ctx context.Context, userID int64, sent bool, known *time.Time) (requests []FriendRequest, version *time.Time, err error) {
	list, filter := store.VersionReceivedFriendRequests, store.FriendRequestFilter{RecipientIDs: []int64{userID}}
	if sent {
		list, filter = store.VersionSentFriendRequests, store.FriendRequestFilter{RequesterIDs: []int64{userID}}
	}
	now := f.now()
	err = f.store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if version, err = newerVersion(ctx, r, userID, known, list); err != nil || version == nil {
			return err
		}
		found, err := store.FindFriendRequests(ctx, r, filter, store.Page{})
		requests = f.AllAsOf(found, now)
		return err
	})
	return requests, version, err
}
