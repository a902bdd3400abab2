// SPDX-License-Identifier: Apache-2.0

package relationship

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

func TestSend(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *fixture) {
		send := func(what string, requester, recipient int64, code apierr.Code) FriendRequest {
			t.Helper()
			r, err := f.FriendRequests.Send(t.Context(), requester, recipient, "hi", nil)
			wantCode(t, what, err, code)
			return r
		}
		r := send("first", 1, 2, apierr.OK)
		if r.Status != store.RequestPending || !r.ExpirationDate.Equal(beginning.Add(30*24*time.Hour)) || r.ID == 0 {
			t.Errorf("sent %+v", r)
		}
		send("again", 1, 2, apierr.CreateExistingFriendRequest)
		send("the other way", 2, 1, apierr.OK)
		send("oneself", 1, 1, apierr.IllegalArgument)
		send("nobody", 1, 0, apierr.IllegalArgument)
		_, err := f.FriendRequests.Send(t.Context(), 1, 3, strings.Repeat("x", 201), nil)
		wantCode(t, "long", err, apierr.IllegalArgument)
		if _, err := f.Establish(t.Context(), key(3, 1), true, nil, nil); err != nil {
			t.Fatal(err)
		}
		send("blocked", 1, 3, apierr.BlockedUserToSendFriendRequest)
		for _, answer := range []store.RequestStatus{store.RequestDeclined, store.RequestIgnored} {
			r := send("to be answered", int64(answer)+10, 2, apierr.OK)
			if _, err := f.FriendRequests.Reply(t.Context(), 2, r.ID, answer, nil); err != nil {
				t.Fatal(err)
			}
			send("after "+answer.String(), int64(answer)+10, 2, apierr.CreateExistingFriendRequest)
			f.rules.FriendRequest.AllowSendRequestAfterDeclinedOrIgnoredOrExpired = true
			send("allowed after "+answer.String(), int64(answer)+10, 2, apierr.OK)
			f.rules.FriendRequest.AllowSendRequestAfterDeclinedOrIgnoredOrExpired = false
		}
		f.clock = f.clock.Add(30*24*time.Hour + time.Millisecond)
		send("after expiry", 1, 2, apierr.CreateExistingFriendRequest)
		f.rules.FriendRequest.AllowSendRequestAfterDeclinedOrIgnoredOrExpired = true
		send("allowed after expiry", 1, 2, apierr.OK)
		send("one is pending again", 1, 2, apierr.CreateExistingFriendRequest)
		r = send("to be accepted", 20, 21, apierr.OK)
		if _, err := f.FriendRequests.Reply(t.Context(), 21, r.ID, store.RequestAccepted, nil); err != nil {
			t.Fatal(err)
		}
		send("friends may ask again", 20, 21, apierr.OK)
	})
}

func TestReply(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *fixture) {
		send := func(requester, recipient int64) int64 {
			t.Helper()
			r, err := f.FriendRequests.Send(t.Context(), requester, recipient, "hi", nil)
			if err != nil {
				t.Fatal(err)
			}
			return r.ID
		}
		reply := func(what string, by, id int64, answer store.RequestStatus, reason *string, code apierr.Code) Replied {
			t.Helper()
			r, err := f.FriendRequests.Reply(t.Context(), by, id, answer, reason)
			wantCode(t, what, err, code)
			return r
		}
		id := send(1, 2)
		reply("requester", 1, id, store.RequestAccepted, nil, apierr.NotRecipientToUpdateFriendRequest)
		reply("unknown request", 2, id+1, store.RequestAccepted, nil, apierr.NotRecipientToUpdateFriendRequest)
		reply("no answer", 2, id, store.RequestPending, nil, apierr.IllegalArgument)
		reply("long reason", 2, id, store.RequestAccepted, new(strings.Repeat("x", 201)), apierr.IllegalArgument)
		f.want("1?2=PENDING")
		got := reply("accept", 2, id, store.RequestAccepted, new("ok"), apierr.OK)
		if got.Request.Status != store.RequestAccepted || *got.Request.Reason != "ok" || !got.Request.ResponseDate.Equal(beginning) ||
			!slices.Equal(got.Gained, []store.RelationshipKey{key(1, 2), key(2, 1)}) {
			t.Errorf("replied %+v", got)
		}
		f.want("1>2[0] 2>1[0] 1/0: 2/0: 1?2=ACCEPTED")
		reply("again", 2, id, store.RequestDeclined, nil, apierr.UpdateNonPendingFriendRequest)

		// One side has a relationship already, in a group of its own; the other has blocked it.
		f.group(3, 5, "")
		if _, err := f.Establish(t.Context(), key(3, 4), false, new(int32(5)), new("D")); err != nil {
			t.Fatal(err)
		}
		id = send(3, 4)
		if _, err := f.Establish(t.Context(), key(4, 3), true, nil, new("C")); err != nil {
			t.Fatal(err)
		}
		before := f.version(store.VersionRelationships, 3)
		got = reply("accept and unblock", 4, id, store.RequestAccepted, nil, apierr.OK)
		if !slices.Equal(got.Gained, []store.RelationshipKey{key(4, 3)}) {
			t.Errorf("gained %v", got.Gained)
		}
		if after := f.version(store.VersionRelationships, 3); after != before {
			t.Errorf("the relationships of user 3 did not change, but their version is %d instead of %d", after, before)
		}
		f.want("1>2[0] 2>1[0] 3>4[5]D 4>3[0]C 1/0: 2/0: 3/0: 3/5: 4/0: 1?2=ACCEPTED 3?4=ACCEPTED")

		id = send(5, 6)
		f.clock = f.clock.Add(30*24*time.Hour + time.Millisecond)
		reply("too late", 6, id, store.RequestAccepted, nil, apierr.UpdateNonPendingFriendRequest)
	})
}

func TestRecall(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *fixture) {
		r, err := f.FriendRequests.Send(t.Context(), 1, 2, "hi", nil)
		if err != nil {
			t.Fatal(err)
		}
		recall := func(what string, by, id int64, code apierr.Code) {
			t.Helper()
			_, err := f.FriendRequests.Recall(t.Context(), by, id)
			wantCode(t, what, err, code)
		}
		recall("disabled", 1, r.ID, apierr.RecallingFriendRequestIsDisabled)
		f.rules.FriendRequest.AllowRecallPendingFriendRequestBySender = true
		recall("recipient", 2, r.ID, apierr.NotSenderToRecallFriendRequest)
		recall("unknown request", 1, r.ID+1, apierr.NotSenderToRecallFriendRequest)
		recall("sender", 1, r.ID, apierr.OK)
		f.want("1?2=CANCELED")
		recall("again", 1, r.ID, apierr.RecallNonPendingFriendRequest)
		if r, err = f.FriendRequests.Send(t.Context(), 1, 2, "hi", nil); err != nil {
			t.Fatalf("after a recall: %v", err)
		}
		f.clock = f.clock.Add(30*24*time.Hour + time.Millisecond)
		recall("expired", 1, r.ID, apierr.RecallNonPendingFriendRequest)
	})
}

func TestDeleteExpired(t *testing.T) {
	onBothEngines(t, func(t *testing.T, f *fixture) {
		f.rules.FriendRequest.FriendRequestExpireAfterSeconds = 60
		var requests []store.FriendRequest
		for i := range int64(2*deletionBatch + 10) {
			requests = append(requests, store.FriendRequest{ID: i + 1, RequesterID: 1, RecipientID: 2, CreationDate: beginning.Add(-time.Hour)})
		}
		// These stay: pending, or answered long ago.
		requests[0].CreationDate = beginning.Add(-time.Minute)
		requests[1].Status = store.RequestAccepted
		err := f.db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error { return store.InsertFriendRequests(ctx, tx, requests...) })
		if err != nil {
			t.Fatal(err)
		}
		run := func(want int64) {
			t.Helper()
			if got, err := f.FriendRequests.DeleteExpired(t.Context(), f.db); err != nil || got != want {
				t.Errorf("deleted %d, %v, want %d", got, err, want)
			}
		}
		run(0)
		f.rules.FriendRequest.DeleteExpiredRequestsWhenCronTriggered = true
		f.rules.FriendRequest.FriendRequestExpireAfterSeconds = 0
		run(0)
		f.rules.FriendRequest.FriendRequestExpireAfterSeconds = 60
		run(2*deletionBatch + 8)
		run(0)
		f.want("1?2=PENDING 1?2=ACCEPTED")
		if f.version(store.VersionSentFriendRequests, 1) < 0 || f.version(store.VersionReceivedFriendRequests, 2) < 0 {
			t.Error("nobody hears of the deletion")
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := f.FriendRequests.DeleteExpired(cancelled, f.db); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

// TestConcurrentFriendships has many callers do the same concurrently: one succeeds.
func TestConcurrentFriendships(t *testing.T) {
	const callers = 12
	together := func(do func(i int) error) (succeeded int, errs []error) {
		var mu sync.Mutex
		var group sync.WaitGroup
		for i := range callers {
			group.Go(func() {
				err := do(i)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					succeeded++
				} else {
					errs = append(errs, err)
				}
			})
		}
		group.Wait()
		return succeeded, errs
	}
	onBothEngines(t, func(t *testing.T, f *fixture) {
		f.rules.FriendRequest.AllowRecallPendingFriendRequestBySender = true
		n, errs := together(func(int) error {
			_, err := f.FriendRequests.Send(t.Context(), 1, 2, "hi", nil)
			return err
		})
		if n != 1 {
			t.Errorf("%d requests were sent: %v", n, errs)
		}
		for _, err := range errs {
			wantCode(t, "send", err, apierr.CreateExistingFriendRequest)
		}
		found, err := f.FriendRequests.Find(t.Context(), RequestFilter{}, 0, 0)
		if err != nil || len(found) != 1 {
			t.Fatalf("found %v, %v", found, err)
		}
		// Answers and recalls compete.
		n, errs = together(func(i int) error {
			if i%3 == 0 {
				_, err := f.FriendRequests.Recall(t.Context(), 1, found[0].ID)
				return err
			}
			_, err := f.FriendRequests.Reply(t.Context(), 2, found[0].ID, []store.RequestStatus{store.RequestAccepted, store.RequestDeclined}[i%3-1], nil)
			return err
		})
		if n != 1 {
			t.Errorf("%d answers counted: %v", n, errs)
		}
		for _, err := range errs {
			if code := apierr.From(err).Code; code != apierr.UpdateNonPendingFriendRequest && code != apierr.RecallNonPendingFriendRequest {
				t.Errorf("answer: %v", err)
			}
		}
		switch state := f.state(); state {
		case "1>2[0] 2>1[0] 1/0: 2/0: 1?2=ACCEPTED", "1?2=DECLINED", "1?2=CANCELED":
		default:
			t.Errorf("state %s", state)
		}
	})
}
