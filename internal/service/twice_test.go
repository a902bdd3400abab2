// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/link"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// TestUnansweredInTime sends messages while the database is busy until the deadline: a message that
// may have been stored by an earlier attempt is answered with 1200, another one with 1201.
func TestUnansweredInTime(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2)
	busy, free := make(chan struct{}), make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() {
		_ = w.DB.Write(t.Context(), func(context.Context, store.Tx) error {
			close(busy)
			<-free
			return errors.New("nothing to store")
		})
	})
	<-busy
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	context.AfterFunc(ctx, func() { close(free) })
	for name, repeated := range map[string]bool{"first": false, "again": true} {
		others.Go(func() {
			payload, err := proto.Marshal(requestOf(77, &wire.CreateMessageRequest{RecipientId: proto.Int64(2), Text: &name}))
			if err != nil {
				t.Error(err)
				return
			}
			want := apierr.ServerUnavailable
			if repeated {
				want = apierr.ServerInternalError
			}
			r := w.dispatcher.Dispatch(ctx, &link.Request{UserID: 1, Device: desktop, Payload: payload, Key: []byte(name), Repeated: repeated}, nil)
			if apierr.Code(r.Code) != want {
				t.Errorf("%s: the answer is %v, want %v", name, apierr.Code(r.Code), want)
			}
		})
	}
	others.Wait()
	if n, err := w.Messages.Count(t.Context(), store.MessageFilter{}); err != nil || n != 0 {
		t.Errorf("%d messages are stored after their deadline: %v", n, err)
	}
}

// TestUnansweredByClosedDatabase sends messages to a service that has closed its database.
func TestUnansweredByClosedDatabase(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2)
	if err := w.DB.Close(); err != nil {
		t.Fatal(err)
	}
	for repeated, want := range map[bool]apierr.Code{false: apierr.ServerUnavailable, true: apierr.ServerInternalError} {
		payload, err := proto.Marshal(requestOf(77, &wire.CreateMessageRequest{RecipientId: proto.Int64(2), Text: proto.String("hello")}))
		if err != nil {
			t.Fatal(err)
		}
		r := w.dispatcher.Dispatch(t.Context(), &link.Request{UserID: 1, Device: desktop, Payload: payload, Key: []byte("key"), Repeated: repeated}, nil)
		if apierr.Code(r.Code) != want {
			t.Errorf("repeated %v: the answer is %v, want %v", repeated, apierr.Code(r.Code), want)
		}
	}
}

// TestSentTwice repeats each request that creates something, with the same key: docs/protocol.md
// defines the result.
func TestSentTwice(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2, 3, 4, 5, 6, 9)
	w.withConference()
	open := w.groupOf(store.GroupType{GroupSizeLimit: 100, JoinStrategy: store.JoinByRequest}, 1)
	free := w.groupOf(store.GroupType{GroupSizeLimit: 100, InvitationStrategy: store.InviteOwnerManager, JoinStrategy: store.JoinByMembershipRequest}, 1)
	asking := w.groupOf(store.GroupType{GroupSizeLimit: 100, JoinStrategy: store.JoinByQuestion}, 1)
	key := []*wire.Value{{ListValue: []*wire.Value{
		{Kind: &wire.Value_StringValue{StringValue: "idempotency-key"}}, {Kind: &wire.Value_StringValue{StringValue: "a"}},
	}}}
	for name, test := range map[string]struct {
		user int64
		body proto.Message
		// code is the response to the second request; same is true if it has the id of the first.
		code apierr.Code
		same bool
	}{
		"message":            {1, &wire.CreateMessageRequest{RecipientId: proto.Int64(2), Text: proto.String("hi")}, apierr.OK, true},
		"group":              {1, &wire.CreateGroupRequest{Name: "g"}, apierr.OK, true},
		"invitation":         {1, &wire.CreateGroupInvitationRequest{GroupId: open, InviteeId: 4, Content: "come"}, apierr.OK, true},
		"join request":       {5, &wire.CreateGroupJoinRequestRequest{GroupId: open, Content: "please"}, apierr.OK, true},
		"friend request":     {1, &wire.CreateFriendRequestRequest{RecipientId: 5, Content: "friends?"}, apierr.OK, true},
		"relationship group": {1, &wire.CreateRelationshipGroupRequest{Name: "friends"}, apierr.OK, true},
		"relationship":       {1, &wire.CreateRelationshipRequest{UserId: 6}, apierr.CreateExistingRelationship, false},
		"blocked user":       {1, &wire.CreateGroupBlockedUserRequest{GroupId: open, UserId: 9}, apierr.RecordContainsDuplicateKey, false},
		"members":            {1, &wire.CreateGroupMembersRequest{GroupId: free, UserIds: []int64{3}}, apierr.RecordContainsDuplicateKey, false},
		"questions": {1, &wire.CreateGroupJoinQuestionsRequest{
			GroupId: asking, Questions: []*wire.GroupJoinQuestion{
				{Question: proto.String("?"), Answers: []string{"!"}, Score: proto.Int32(1)}, {Question: proto.String("??"), Answers: []string{"!"}, Score: proto.Int32(1)},
			},
		}, apierr.OK, true},
		"meeting": {1, &wire.CreateMeetingRequest{UserId: proto.Int64(3)}, apierr.OK, true},
	} {
		t.Run(name, func(t *testing.T) {
			request := func(device wire.DeviceType) answer {
				r := requestOf(77, test.body)
				r.CustomAttributes = key
				return w.requestFrom(test.user, device, r)
			}
			first, second := request(desktop), request(desktop)
			if first.Code != apierr.OK || second.Code != test.code {
				t.Fatalf("the answers are %v %q and %v %q", first.Code, first.Reason, second.Code, second.Reason)
			}
			if test.same != (first.Data.GetKind() != nil && proto.Equal(first.Data, second.Data)) {
				t.Errorf("the answers are %v and %v", first.Data, second.Data)
			}
			// The same key on another device is a different key.
			if third := request(android); third.Code == apierr.OK && third.Data.GetKind() != nil && proto.Equal(third.Data, first.Data) {
				t.Errorf("another device is answered %v", third.Data)
			}
		})
	}
	// Of concurrent requests one creates the meeting.
	meetings := func() int {
		return len(w.want(apierr.OK, 1, &wire.QueryMeetingsRequest{CreatorIds: []int64{1}}).Data.GetMeetings().GetMeetings())
	}
	before := meetings()
	answers := make([]answer, 8)
	var together sync.WaitGroup
	for i := range answers {
		together.Go(func() {
			r := requestOf(78, &wire.CreateMeetingRequest{UserId: proto.Int64(4)})
			r.CustomAttributes = key
			answers[i] = w.requestFrom(1, wire.DeviceType_IOS, r)
		})
	}
	together.Wait()
	for _, a := range answers {
		if a.Code != apierr.OK || a.Data.GetLong() == 0 || a.Data.GetLong() != answers[0].Data.GetLong() {
			t.Errorf("one of the requests is answered %v %q %v", a.Code, a.Reason, a.Data)
		}
	}
	if n := meetings(); n != before+1 {
		t.Errorf("there are %d meetings more", n-before)
	}
	groups := w.want(apierr.OK, 1, &wire.QueryJoinedGroupIdsRequest{}).Data.GetLongsWithVersion().GetLongs()
	if len(groups) != 5 { // Three existed before.
		t.Errorf("the groups are %v", groups)
	}
}
