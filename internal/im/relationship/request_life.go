// SPDX-License-Identifier: Apache-2.0

package relationship

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/check"
	"example.org/app/internal/store"
)

// What users do with friend requests.

// Send asks the recipient on behalf of the requester to become related. A
// recipient who has blocked the requester is not asked, nor is one who has been
// asked already.
func (d *Directory) Send(ctx context.Context, requester, recipient int64, content string) (FriendRequest, error) {
	now, settings := d.now(), d.opts.Settings().FriendRequest
	if err := checkPair("requesterId", requester, "recipientId", recipient); err != nil {
		return FriendRequest{}, err
	}
	if err := check.MaxLength("content", content, settings.MaxContentLength); err != nil {
		return FriendRequest{}, err
	}
	id, err := d.opts.IDs.NextContext(ctx)
	if err != nil {
		return FriendRequest{}, err
	}
	request := store.FriendRequest{ID: id, RequesterID: requester, RecipientID: recipient, Content: content, CreationDate: now}
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		blocked, err := Blocks(ctx, tx, recipient, requester)
		if err != nil {
			return err
		}
		if blocked {
			return apierr.New(apierr.BlockedUserToSendFriendRequest, "")
		}
		hindering, err := store.CountFriendRequests(ctx, tx, hindrances(requester, recipient, now, settings))
		if err != nil {
			return err
		}
		if hindering > 0 {
			return apierr.New(apierr.CreateExistingFriendRequest, "")
		}
		return insertRequest(ctx, tx, request, now)
	})
	if err != nil {
		return FriendRequest{}, err
	}
	return current(request, now, settings), nil
}

// hindrances are the requests that keep a requester from asking again.
func hindrances(requester, recipient int64, now time.Time, s config.FriendRequest) store.FriendRequestFilter {
	statuses := []store.RequestStatus{store.RequestPending}
	if !s.AllowSendRequestAfterDeclinedOrIgnoredOrExpired {
		statuses = append(statuses, store.RequestDeclined, store.RequestIgnored, store.RequestExpired)
	}
	return store.FriendRequestFilter{
		RequesterIDs: []int64{requester}, RecipientIDs: []int64{recipient},
		Status: store.StatusFilter{Statuses: statuses, ExpiredBefore: expiredBefore(now, s)},
	}
}

// Recall takes back a request that is not answered yet on behalf of the
// requester.
func (d *Directory) Recall(ctx context.Context, requester, id int64) (FriendRequest, error) {
	now, settings := d.now(), d.opts.Settings().FriendRequest
	if !settings.AllowRecallPendingFriendRequestBySender {
		return FriendRequest{}, apierr.New(apierr.RecallingFriendRequestIsDisabled, "")
	}
	var recalled FriendRequest
	err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		request, err := findRequest(ctx, tx, id)
		if err != nil {
			return err
		}
		if request == nil || request.RequesterID != requester {
			return apierr.New(apierr.NotSenderToRecallFriendRequest, "")
		}
		if current(*request, now, settings).Status != store.RequestPending {
			return apierr.New(apierr.RecallNonPendingFriendRequest, "")
		}
		request.Status = store.RequestCanceled
		recalled = current(*request, now, settings)
		return conclude(ctx, tx, *request, now)
	})
	return recalled, err
}

func findRequest(ctx context.Context, r store.Reader, id int64) (*store.FriendRequest, error) {
	found, err := store.FindFriendRequests(ctx, r, store.FriendRequestFilter{IDs: []int64{id}}, store.Page{})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// conclude stores the new status of a request.
func conclude(ctx context.Context, tx store.Tx, request store.FriendRequest, now time.Time) error {
	change := store.FriendRequestChange{Status: &request.Status, Reason: request.Reason, ResponseDate: request.ResponseDate}
	if _, _, err := store.UpdateFriendRequests(ctx, tx, []int64{request.ID}, change); err != nil {
		return err
	}
	return bumpRequests(ctx, tx, now, []int64{request.RequesterID}, []int64{request.RecipientID})
}

// Replied says what an answer did.
type Replied struct {
	Request FriendRequest
	// Gained are the relationships that are new or no longer blocks. The related
	// users are in the default groups of their owners.
	Gained []store.RelationshipKey
}

// Reply answers a request on behalf of the recipient: with accepted, declined or
// ignored. Whoever accepts becomes related to the requester and the other way
// round.
func (d *Directory) Reply(ctx context.Context, recipient, id int64, answer store.RequestStatus, reason *string) (Replied, error) {
	now, settings := d.now(), d.opts.Settings().FriendRequest
	if !answer.Answered() {
		return Replied{}, apierr.New(apierr.IllegalArgument, "the answer %q must be ACCEPTED, DECLINED or IGNORED", answer.String())
	}
	if err := checkTexts(settings, nil, reason); err != nil {
		return Replied{}, err
	}
	var replied Replied
	err := d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		replied = Replied{}
		request, err := findRequest(ctx, tx, id)
		if err != nil {
			return err
		}
		if request == nil || request.RecipientID != recipient {
			return apierr.New(apierr.NotRecipientToUpdateFriendRequest, "")
		}
		if current(*request, now, settings).Status != store.RequestPending {
			return apierr.New(apierr.UpdateNonPendingFriendRequest, "")
		}
		request.Status, request.ResponseDate = answer, &now
		if reason != nil {
			request.Reason = reason
		}
		replied.Request = current(*request, now, settings)
		if answer == store.RequestAccepted {
			if replied.Gained, err = befriend(ctx, tx, request.RequesterID, request.RecipientID, now); err != nil {
				return err
			}
		}
		return conclude(ctx, tx, *request, now)
	})
	if err != nil {
		return Replied{}, err
	}
	return replied, nil
}

// befriend makes each of two users know the other.
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
