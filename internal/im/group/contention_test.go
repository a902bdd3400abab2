// SPDX-License-Identifier: Apache-2.0

package group

import (
	"sync/atomic"
	"testing"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// outcomes counts successes, and refusals by code.
type outcomes struct {
	well    atomic.Int64
	refused [10_000]atomic.Int64
}

func (o *outcomes) note(t testing.TB, err error) {
	if err == nil {
		o.well.Add(1)
		return
	}
	code := apierr.From(store.Code(err)).Code
	if code == apierr.ServerInternalError || code == apierr.ServerUnavailable {
		t.Error(err)
	}
	o.refused[code].Add(1)
}

func (o *outcomes) want(t testing.TB, well int64, code apierr.Code, refused int64) {
	t.Helper()
	if o.well.Load() != well || o.refused[code].Load() != refused {
		t.Errorf("%d went well and %d were refused with %v, want %d and %d", o.well.Load(), o.refused[code].Load(), code, well, refused)
	}
}

// TestContention has many users act on the same objects concurrently.
func TestContention(t *testing.T) {
	onBothEngines(t, func(w *world) {
		lastPlace(w)
		answeredOnce(w)
		ownerWhileHandingOver(w)
		joinedOnce(w)
		deletedWhileJoining(w)
	})
}

// lastPlace has many users accept their invitations concurrently while one place is free.
func lastPlace(w *world) {
	const n = 12
	id := w.groupOf(store.GroupType{InvitationStrategy: store.InviteAllRequiringApproval, GroupSizeLimit: 3}, 1, 2)
	var invitations [n]int64
	for i := range invitations {
		invitations[i] = must(w.Invitations.Send(w.Context(), 1, id, int64(100+i), "", nil))(w).ID
	}
	var o outcomes
	together(n, func(i int) {
		_, joined, err := w.Invitations.Reply(w.Context(), int64(100+i), invitations[i], store.RequestAccepted, nil)
		if joined != (err == nil) {
			w.Errorf("joined %v, error %v", joined, err)
		}
		o.note(w, err)
	})
	o.want(w, 1, apierr.AddUserToGroupWithSizeLimitReached, n-1)
	w.sound(id)
	accepted := must(w.Invitations.Find(w.Context(), InvitationFilter{Stored: store.GroupInvitationFilter{GroupIDs: []int64{id}}, Statuses: []store.RequestStatus{store.RequestAccepted}}, 0, 0))(w)
	if len(accepted) != 1 {
		w.Errorf("%d invitations are accepted", len(accepted))
	}
	if in, err := w.Members.FindSome(w.Context(), 1, id, []int64{accepted[0].InviteeID}); err != nil || len(in) != 1 {
		w.Errorf("the invitee is not a member: %v %v", in, err)
	}
}

// answeredOnce answers one invitation, and one join request, many times concurrently.
func answeredOnce(w *world) {
	const n = 12
	ctx := w.Context()
	id := w.cast(store.GroupType{InvitationStrategy: store.InviteAllRequiringApproval, JoinStrategy: store.JoinByRequest})
	invitation := must(w.Invitations.Send(ctx, 1, id, 9, "", nil))(w).ID
	statuses := []store.RequestStatus{store.RequestAccepted, store.RequestDeclined, store.RequestIgnored}
	var o outcomes
	var joins atomic.Int64
	together(n, func(i int) {
		_, joined, err := w.Invitations.Reply(ctx, 9, invitation, statuses[i%3], nil)
		if joined {
			joins.Add(1)
		}
		o.note(w, err)
	})
	o.want(w, 1, apierr.UpdateNonPendingGroupInvitation, n-1)
	v := must(w.Invitations.Find(ctx, InvitationFilter{Stored: store.GroupInvitationFilter{IDs: []int64{invitation}}}, 1, 0))(w)[0]
	if in := must(w.Members.FindSome(ctx, 1, id, []int64{9}))(w); (len(in) == 1) != (v.Status == store.RequestAccepted) || joins.Load() != int64(len(in)) {
		w.Errorf("%v is the status, %d joined, members are %v", v.Status, joins.Load(), in)
	}
	w.sound(id)

	request := must(w.JoinRequests.Send(ctx, 10, id, "", nil))(w).ID
	w.settings.JoinRequest.AllowRecallPendingJoinRequestBySender = true
	var replies, recalls outcomes
	together(n, func(i int) {
		if i%2 == 0 {
			_, _, err := w.JoinRequests.Reply(ctx, int64(1+i/2%2), request, store.RequestAccepted, nil)
			replies.note(w, err)
			return
		}
		_, err := w.JoinRequests.Recall(ctx, 10, request)
		recalls.note(w, err)
	})
	if replies.well.Load()+recalls.well.Load() != 1 {
		w.Errorf("%d replies and %d recalls went well", replies.well.Load(), recalls.well.Load())
	}
	if in := must(w.Members.FindSome(ctx, 1, id, []int64{10}))(w); int64(len(in)) != replies.well.Load() {
		w.Errorf("members are %v after %d replies", in, replies.well.Load())
	}
	w.sound(id)
}

// ownerWhileHandingOver has the owner concurrently transfer the group, leave, remove members and
// change it, while the new owners leave, are removed and transfer it again.
func ownerWhileHandingOver(w *world) {
	ctx := w.Context()
	id := w.group(1, 2, 3, 4)
	refuse := func(err error) {
		if err == nil {
			return
		}
		switch apierr.From(store.Code(err)).Code {
		case apierr.ServerInternalError, apierr.ServerUnavailable:
			w.Error(err)
		}
	}
	for range 5 {
		together(12, func(i int) {
			user := int64(i%4 + 1)
			switch i % 6 {
			case 0, 1:
				_, err := w.HandOver(ctx, user, id, user%4+1, i%2 == 0)
				refuse(err)
			case 2:
				_, err := w.Members.RemoveBy(ctx, user, id, []int64{user})
				refuse(err)
			case 3:
				_, err := w.Members.RemoveBy(ctx, user, id, []int64{user%4 + 1})
				refuse(err)
			case 4:
				_, err := w.Members.UpdateBy(ctx, user, id, user%4+1, MemberEdit{Role: new(store.GroupManager)})
				refuse(err)
			case 5:
				refuse(w.Blocklist.BlockBy(ctx, user, id, user%4+1))
			}
		})
		w.sound(id)
	}
	if len(must(w.Members.Managers(ctx, id))(w)) == 0 {
		w.Error("nobody owns the group")
	}
}

// joinedOnce has one user join a group in every way concurrently.
func joinedOnce(w *world) {
	ctx := w.Context()
	id := w.groupOf(store.GroupType{InvitationStrategy: store.InviteAllRequiringApproval, JoinStrategy: store.JoinByQuestion}, 1)
	question := must(w.Questions.CreateBy(ctx, 1, id, []store.GroupQuestion{{Question: "q", Answers: []string{"a"}}}, nil))(w)[0]
	const n = 12
	var invitations [n]int64
	for i := range invitations {
		invitations[i] = must(w.Invitations.Send(ctx, 1, id, 9, "", nil))(w).ID
	}
	var joins atomic.Int64
	var o outcomes
	together(n, func(i int) {
		joined := false
		if i%2 == 0 {
			var err error
			_, joined, err = w.Invitations.Reply(ctx, 9, invitations[i], store.RequestAccepted, nil)
			o.note(w, err)
		} else {
			result, err := w.Questions.Answer(ctx, 9, map[int64]string{question: "a"})
			joined = result.Joined
			o.note(w, err)
		}
		if joined {
			joins.Add(1)
		}
	})
	if joins.Load() != 1 {
		w.Errorf("the user joined %d times", joins.Load())
	}
	w.wantRoles(id, "1:OWNER 9:MEMBER ")
}

// deletedWhileJoining deletes a group while others join it: no membership remains.
func deletedWhileJoining(w *world) {
	ctx := w.Context()
	id := w.groupOf(store.GroupType{JoinStrategy: store.JoinByMembershipRequest}, 1)
	var o outcomes
	var deletions atomic.Int64
	together(16, func(i int) {
		if i%4 == 3 {
			if _, err := w.DeleteBy(ctx, 1, id); err == nil {
				deletions.Add(1)
			} else {
				wantCode(w, err, apierr.NotGroupOwnerToDeleteGroup)
			}
			return
		}
		o.note(w, w.Members.AddBy(ctx, int64(100+i), id, Newcomers{UserIDs: []int64{int64(100 + i)}}))
	})
	if deletions.Load() != 1 || o.well.Load()+o.refused[apierr.AddUserToInactiveGroup].Load() != 12 {
		w.Errorf("%d deletions, %d joined, %d were refused", deletions.Load(), o.well.Load(), o.refused[apierr.AddUserToInactiveGroup].Load())
	}
	w.wantRoles(id, "")
}
