// SPDX-License-Identifier: Apache-2.0

package relationship

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/request"
	"example.org/app/internal/store"
)

// What users do with friend requests.

// Send asks the recipient on behalf of the requester to become related. A
// recipient who has blocked the requester is not asked, nor is one who has been
// asked already. The key remembers the request; nil does not.
func (d *Directory) Send(ctx context.Context, requester, recipient int64, content string, key *store.MessageKey) (FriendRequest, error) {
	if err := checkPair("requesterId", requester, "recipientId", recipient); err != nil {
		return FriendRequest{}, err
	}
	asked := store.FriendRequest{RequesterID: requester, RecipientID: recipient, Content: content}
	return d.requests.Ask(ctx, asked, key, func(ctx context.Context, tx store.Tx) error {
		blocked, err := Blocks(ctx, tx, recipient, requester)
		if err != nil {
			return err
		}
		if blocked {
			return apierr.New(apierr.BlockedUserToSendFriendRequest, "")
		}
		hindering, err := store.CountFriendRequests(ctx, tx, d.hindrances(requester, recipient))
		if err != nil {
			return err
		}
		if hindering > 0 {
			return apierr.New(apierr.CreateExistingFriendRequest, "")
		}
		return nil
	})
}

// hindrances are the requests that keep a requester from asking again.
func (d *Directory) hindrances(requester, recipient int64) store.FriendRequestFilter {
	statuses := []store.RequestStatus{store.RequestPending}
	if !d.opts.Settings().FriendRequest.AllowSendRequestAfterDeclinedOrIgnoredOrExpired {
		statuses = append(statuses, store.RequestDeclined, store.RequestIgnored, store.RequestExpired)
	}
	return store.FriendRequestFilter{
		RequesterIDs: []int64{requester}, RecipientIDs: []int64{recipient}, Status: d.requests.Status(statuses...),
	}
}

// Recall takes back a request that is not answered yet on behalf of the
// requester.
func (d *Directory) Recall(ctx context.Context, requester, id int64) (FriendRequest, error) {
	if !d.opts.Settings().FriendRequest.AllowRecallPendingFriendRequestBySender {
		return FriendRequest{}, apierr.New(apierr.RecallingFriendRequestIsDisabled, "")
	}
	return d.requests.End(ctx, id, request.Ending[store.FriendRequest]{
		Status: store.RequestCanceled, NotPending: apierr.RecallNonPendingFriendRequest,
		May: func(_ context.Context, _ store.Tx, r *store.FriendRequest) error {
			if r == nil || r.RequesterID != requester {
				return apierr.New(apierr.NotSenderToRecallFriendRequest, "")
			}
			return nil
		},
	})
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
	if err := d.requests.CheckAnswer(answer, reason); err != nil {
		return Replied{}, err
	}
	var gained []store.RelationshipKey
	replied, err := d.requests.End(ctx, id, request.Ending[store.FriendRequest]{
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
