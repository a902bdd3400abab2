// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/im/request"
	"example.org/app/internal/store"
)

// JoinRequest is a request to join a group with its current status, which may be expired.
type JoinRequest struct {
	store.GroupJoinRequest
	// ExpirationDate is the end of its validity; nil means none.
	ExpirationDate *time.Time
}

// JoinRequests manages the requests to join groups. Its administrative functions change only
// records: they neither add nor remove members, nor check groups and permissions; the functions for
// users do.
type JoinRequests struct {
	*request.Book[store.GroupJoinRequest, JoinRequest, store.GroupJoinRequestFilter, store.GroupJoinRequestChange]
	store    *store.DB
	now      func() time.Time
	settings func() config.GroupJoinRequest
}

func newJoinRequests(db *store.DB, generator *ids.Generator, now func() time.Time, settings func() config.GroupJoinRequest) *JoinRequests {
	return &JoinRequests{request.NewBook(request.Kind[store.GroupJoinRequest, JoinRequest, store.GroupJoinRequestFilter, store.GroupJoinRequestChange]{
		Store: db, IDs: generator, Now: now,
		Settings: func() request.Settings {
			s := settings()
			return request.Settings{
				Lifetime: request.Seconds(s.ExpireAfterSeconds), MaxContent: s.MaxContentLength, MaxReason: s.MaxResponseReasonLength,
				DeleteExpired: s.DeleteExpiredJoinRequestsWhenCronTriggered,
			}
		},
		Head: func(v *store.GroupJoinRequest) request.Head {
			return request.Head{ID: &v.ID, Content: &v.Content, Status: &v.Status, Reason: &v.Reason, CreationDate: &v.CreationDate, ResponseDate: &v.ResponseDate}
		},
		View: func(v store.GroupJoinRequest, expiration *time.Time) JoinRequest { return JoinRequest{v, expiration} },
		Selection: func(f *store.GroupJoinRequestFilter) request.Selection {
			return request.Selection{IDs: &f.IDs, Status: &f.Status, CreationDate: &f.CreationDate}
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
	}), db, now, settings}
}

// joinRequestsChanged increments the versions of the affected lists.
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

// JoinRequestFilter selects join requests by their current status.
type JoinRequestFilter = request.Filter[store.GroupJoinRequestFilter]

// Send requests to join a group on behalf of a requester. The key is stored for repeated requests;
// nil means none.
func (j *JoinRequests) Send(ctx context.Context, requester, groupID int64, content string, key *store.MessageKey) (JoinRequest, error) {
	v := store.GroupJoinRequest{GroupID: groupID, RequesterID: requester, Content: content}
	return j.Ask(ctx, v, key, func(ctx context.Context, tx store.Tx) error { return mayAsk(ctx, tx, requester, groupID) })
}

func mayAsk(ctx context.Context, r store.Reader, requester, groupID int64) error {
	at, err := standingOf(ctx, r, groupID, requester)
	if err != nil {
		return err
	}
	if at.member != nil {
		return apierr.New(apierr.GroupMemberSendGroupJoinRequest, "")
	}
	if blocked, err := IsBlocked(ctx, r, groupID, requester); err != nil || blocked {
		if err != nil {
			return err
		}
		return apierr.New(apierr.BlockedUserSendGroupJoinRequest, "")
	}
	if !at.active() {
		return apierr.New(apierr.SendGroupJoinRequestToInactiveGroup, "")
	}
	switch at.kind.JoinStrategy {
	case store.JoinByRequest:
		return nil
	case store.JoinByMembershipRequest:
		return apierr.New(apierr.SendGroupJoinRequestToGroupUsingMembershipRequest, "")
	case store.JoinByInvitation:
		return apierr.New(apierr.SendGroupJoinRequestToGroupUsingInvitation, "")
	default:
		return apierr.New(apierr.SendGroupJoinRequestToGroupUsingQuestion, "")
	}
}

// Recall recalls a pending join request on behalf of its sender, if the settings allow it.
func (j *JoinRequests) Recall(ctx context.Context, requester, id int64) (JoinRequest, error) {
	if !j.settings().AllowRecallPendingJoinRequestBySender {
		return JoinRequest{}, apierr.New(apierr.RecallingGroupJoinRequestIsDisabled, "")
	}
	return j.End(ctx, id, request.Ending[store.GroupJoinRequest]{
		Status: store.RequestCanceled, NotPending: apierr.RecallNonPendingGroupJoinRequest,
		May: func(_ context.Context, _ store.Tx, v *store.GroupJoinRequest) error {
			if v == nil || v.RequesterID != requester {
				return apierr.New(apierr.NotSenderToRecallGroupJoinRequest, "")
			}
			return nil
		},
	})
}

// Reply answers a join request on behalf of a manager of the group: with accepted, declined or
// ignored. Accepting adds the user as a plain member; joined is true if that is new.
func (j *JoinRequests) Reply(ctx context.Context, responder, id int64, status store.RequestStatus, reason *string) (answered JoinRequest, joined bool, err error) {
	if err := j.CheckAnswer(status, reason); err != nil {
		return JoinRequest{}, false, err
	}
	answered, err = j.End(ctx, id, request.Ending[store.GroupJoinRequest]{
		Status: status, Reason: reason, NotPending: apierr.UpdateNonPendingGroupJoinRequest,
		May: func(ctx context.Context, tx store.Tx, v *store.GroupJoinRequest) error {
			if v == nil {
				return apierr.New(apierr.NotGroupOwnerOrManagerToUpdateGroupJoinRequest, "")
			}
			_, err := managed(ctx, tx, v.GroupID, responder, apierr.NotGroupOwnerOrManagerToUpdateGroupJoinRequest)
			return err
		},
		Then: func(ctx context.Context, tx store.Tx, v *store.GroupJoinRequest, now time.Time) (err error) {
			v.ResponderID, joined = &responder, false
			if status == store.RequestAccepted {
				joined, err = enter(ctx, tx, v.GroupID, v.RequesterID, now)
			}
			return err
		},
	})
	return answered, joined && err == nil, err
}

// ListOfGroup returns the join requests of a group for one of its managers.
func (j *JoinRequests) ListOfGroup(ctx context.Context, requester, groupID int64, since *time.Time) ([]JoinRequest, *time.Time, error) {
	l := j.list(versionOfGroup(store.GroupJoinRequests, groupID), store.GroupJoinRequestFilter{GroupIDs: []int64{groupID}})
	l.allowed = managedBy(requester, groupID, apierr.NotGroupOwnerOrManagerToQueryGroupJoinRequest)
	return l.read(ctx, j.store, since)
}

// ListSent returns the join requests that a user has sent.
func (j *JoinRequests) ListSent(ctx context.Context, userID int64, since *time.Time) ([]JoinRequest, *time.Time, error) {
	version := versionOfUser(store.VersionSentGroupJoinRequests, userID)
	return j.list(version, store.GroupJoinRequestFilter{RequesterIDs: []int64{userID}}).read(ctx, j.store, since)
}

func (j *JoinRequests) list(version version, f store.GroupJoinRequestFilter) list[JoinRequest] {
	return list[JoinRequest]{version: version, items: func(ctx context.Context, r store.Reader) ([]JoinRequest, error) {
		found, err := store.FindGroupJoinRequests(ctx, r, f, store.Page{})
		return j.AllAsOf(found, j.now()), err
	}}
}
