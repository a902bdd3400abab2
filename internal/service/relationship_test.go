// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/wire"
)

// circle is a user with two sessions, and two others with one each.
type circle struct {
	*world
	phone, second, third session
}

func newCircle(t *testing.T) *circle {
	t.Helper()
	c := &circle{world: newWorld(t)}
	c.People(1, 2, 3)
	c.online(1, desktop, "gateway1")
	c.phone = c.online(1, android, "gateway2")
	c.second, c.third = c.online(2, desktop, "gateway1"), c.online(3, desktop, "gateway2")
	return c
}

// switched sends a request of user 1 four times, with each setting of two switches, and checks the
// notifications: the first switch selects the phone, the second the others. before runs before each
// request. A nil switch does not exist and counts as off; a nil relay is the request itself.
func (c *circle) switched(self, others *bool, before func() (request, relay proto.Message), told ...session) {
	c.T.Helper()
	for _, tellSelf := range []bool{true, false} {
		for _, tellOthers := range []bool{true, false} {
			if self == nil && tellSelf || others == nil && tellOthers {
				continue
			}
			if self != nil {
				*self = tellSelf
			}
			if others != nil {
				*others = tellOthers
			}
			request, relay := before()
			c.forget()
			c.want(apierr.OK, 1, request)
			if relay == nil {
				relay = request
			}
			var want []session
			if tellSelf {
				want = append(want, c.phone)
			}
			if tellOthers {
				want = append(want, told...)
			}
			c.wantNotified(1, relay, want...)
		}
	}
}

// forget drops the received notifications.
func (w *world) forget() {
	w.notifier.Flush()
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.inbox)
}

// quiet sends a request of user 1 that succeeds without notification.
func (c *circle) quiet(request proto.Message) answer {
	c.T.Helper()
	a := c.want(apierr.OK, 1, request)
	c.wantNotified(1, nil)
	return a
}

func TestRelationshipRequests(t *testing.T) {
	c := newCircle(t)
	flags := &c.Rules.Notification

	create := &wire.CreateRelationshipRequest{UserId: 2, Name: proto.String("two")}
	filled := proto.CloneOf(create)
	filled.GroupIndex = proto.Int32(0)
	added := &flags.OneSidedRelationshipGroupMemberAdded
	c.switched(&added.NotifyRequesterOtherOnlineSessions, &added.NotifyNewRelationshipGroupMember, func() (proto.Message, proto.Message) {
		c.want(apierr.OK, 1, &wire.DeleteRelationshipRequest{UserId: 2})
		return create, filled
	}, c.second)
	for name, test := range map[string]struct {
		code    apierr.Code
		request proto.Message
	}{
		"again":         {apierr.CreateExistingRelationship, create},
		"oneself":       {apierr.IllegalArgument, &wire.CreateRelationshipRequest{UserId: 1}},
		"block oneself": {apierr.IllegalArgument, &wire.CreateRelationshipRequest{UserId: 1, Blocked: true}},
		"nobody":        {apierr.IllegalArgument, &wire.CreateRelationshipRequest{}},
		"unknown group": {apierr.IllegalArgument, &wire.CreateRelationshipRequest{UserId: 3, GroupIndex: proto.Int32(9)}},
		"same groups":   {apierr.IllegalArgument, &wire.UpdateRelationshipRequest{UserId: 2, NewGroupIndex: proto.Int32(1), DeleteGroupIndex: proto.Int32(1)}},
		"new group":     {apierr.IllegalArgument, &wire.UpdateRelationshipRequest{UserId: 2, NewGroupIndex: proto.Int32(9)}},
		"update self":   {apierr.IllegalArgument, &wire.UpdateRelationshipRequest{UserId: 1, Blocked: proto.Bool(true)}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.request(1, test.request); got.Code != test.code || got.Reason == "" {
				t.Errorf("the answer is %v %q, want %v", got.Code, got.Reason, test.code)
			}
		})
	}

	// Absent fields stay unchanged.
	c.advance(time.Second)
	established := c.Now.Add(-time.Second).UnixMilli()
	c.want(apierr.OK, 1, &wire.UpdateRelationshipRequest{UserId: 2, Blocked: proto.Bool(true), Note: proto.String("ignored")})
	c.want(apierr.OK, 1, &wire.UpdateRelationshipRequest{UserId: 2, Name: proto.String("deux")})
	group := int32(c.want(apierr.OK, 1, &wire.CreateRelationshipGroupRequest{Name: "g"}).Data.GetLong())
	if group <= 0 {
		t.Errorf("the index of the group is %d", group)
	}
	want := &wire.UserRelationship{
		OwnerId: proto.Int64(1), RelatedUserId: proto.Int64(2), Name: proto.String("deux"), BlockDate: proto.Int64(c.Now.UnixMilli()),
		GroupIndex: proto.Int64(0), EstablishmentDate: &established,
	}
	check := func(what string, request *wire.QueryRelationshipsRequest) {
		t.Helper()
		data := c.want(apierr.OK, 1, request).Data.GetUserRelationshipsWithVersion()
		if len(data.GetUserRelationships()) != 1 || !proto.Equal(data.GetUserRelationships()[0], want) || data.LastUpdatedDate == nil {
			t.Errorf("%s: found %v, want %v", what, data, want)
		}
	}
	check("all", &wire.QueryRelationshipsRequest{})
	check("blocked", &wire.QueryRelationshipsRequest{UserIds: []int64{2, 3}, Blocked: proto.Bool(true), GroupIndexes: []int32{0}, UserIdsForCommonRelationships: []int64{9}})
	c.want(apierr.NoContent, 1, &wire.QueryRelationshipsRequest{UserIds: []int64{3}})
	c.want(apierr.NoContent, 1, &wire.QueryRelationshipsRequest{Blocked: proto.Bool(false)})
	c.want(apierr.NoContent, 1, &wire.QueryRelationshipsRequest{GroupIndexes: []int32{group}})
	c.want(apierr.NoContent, 2, &wire.QueryRelationshipsRequest{})
	ids := c.want(apierr.OK, 1, &wire.QueryRelatedUserIdsRequest{Blocked: proto.Bool(true)}).Data.GetLongsWithVersion()
	if !slices.Equal(ids.GetLongs(), []int64{2}) || ids.LastUpdatedDate == nil {
		t.Errorf("found %v", ids)
	}
	c.want(apierr.NoContent, 1, &wire.QueryRelatedUserIdsRequest{GroupIndexes: []int32{group}})
	c.want(apierr.AlreadyUpToDate, 1, &wire.QueryRelatedUserIdsRequest{LastUpdatedDate: ids.LastUpdatedDate})
	c.want(apierr.AlreadyUpToDate, 1, &wire.QueryRelationshipsRequest{LastUpdatedDate: ids.LastUpdatedDate})
	c.want(apierr.OK, 1, &wire.QueryRelationshipsRequest{LastUpdatedDate: proto.Int64(ids.GetLastUpdatedDate() - 1)})
	c.want(apierr.AlreadyUpToDate, 99, &wire.QueryRelationshipsRequest{})

	// Groups: a new one is added, the old one left.
	c.want(apierr.OK, 1, &wire.UpdateRelationshipRequest{UserId: 2, NewGroupIndex: &group, DeleteGroupIndex: proto.Int32(0), Blocked: proto.Bool(false)})
	want.GroupIndex, want.BlockDate = proto.Int64(int64(group)), nil
	check("moved", &wire.QueryRelationshipsRequest{GroupIndexes: []int32{group}})
	c.want(apierr.OK, 1, &wire.UpdateRelationshipRequest{UserId: 2, DeleteGroupIndex: &group})
	want.GroupIndex = proto.Int64(0)
	check("back", &wire.QueryRelationshipsRequest{})

	updated, blocked := &flags.OneSidedRelationshipUpdated, true
	c.switched(&updated.NotifyRequesterOtherOnlineSessions, &updated.NotifyRelatedUser, func() (proto.Message, proto.Message) {
		request := &wire.UpdateRelationshipRequest{UserId: 2, Blocked: proto.Bool(blocked)}
		blocked = !blocked
		return request, nil
	}, c.second)
	c.quiet(&wire.UpdateRelationshipRequest{UserId: 2})

	removed := &flags.OneSidedRelationshipGroupMemberRemoved
	c.switched(&removed.NotifyRequesterOtherOnlineSessions, &removed.NotifyRemovedRelationshipGroupMember, func() (proto.Message, proto.Message) {
		c.request(1, create)
		return &wire.DeleteRelationshipRequest{UserId: 2, TargetGroupIndex: proto.Int32(77)}, nil
	}, c.second)
	c.quiet(&wire.DeleteRelationshipRequest{UserId: 2})
	c.quiet(&wire.DeleteRelationshipRequest{UserId: 2, GroupIndex: proto.Int32(0)})

	// Removing the last group ends the relationship, and a setting ends the other side, too.
	c.Rules.User.DeleteTwoSidedRelationships = true
	c.want(apierr.OK, 2, &wire.CreateRelationshipRequest{UserId: 1})
	c.want(apierr.OK, 1, &wire.CreateRelationshipRequest{UserId: 2, GroupIndex: &group})
	c.want(apierr.OK, 1, &wire.DeleteRelationshipRequest{UserId: 2, GroupIndex: proto.Int32(0)})
	c.want(apierr.OK, 2, &wire.QueryRelationshipsRequest{})
	c.want(apierr.OK, 1, &wire.DeleteRelationshipRequest{UserId: 2, GroupIndex: &group})
	c.want(apierr.NoContent, 1, &wire.QueryRelationshipsRequest{})
	c.want(apierr.NoContent, 2, &wire.QueryRelationshipsRequest{})
}

func TestRelationshipGroupRequests(t *testing.T) {
	c := newCircle(t)
	create := func() int32 {
		return int32(c.want(apierr.OK, 1, &wire.CreateRelationshipGroupRequest{Name: "friends"}).Data.GetLong())
	}
	index := create()
	c.wantNotified(1, nil)
	c.want(apierr.OK, 1, &wire.CreateRelationshipRequest{UserId: 2, GroupIndex: &index})
	c.want(apierr.OK, 1, &wire.CreateRelationshipRequest{UserId: 3})

	updated, name := &c.Rules.Notification.OneSidedRelationshipGroupUpdated, "x"
	c.switched(&updated.NotifyRequesterOtherOnlineSessions, &updated.NotifyRelationshipGroupMembers, func() (proto.Message, proto.Message) {
		name += "x"
		return &wire.UpdateRelationshipGroupRequest{GroupIndex: index, NewName: name}, nil
	}, c.second)
	c.quiet(&wire.UpdateRelationshipGroupRequest{GroupIndex: index, NewName: name})
	c.quiet(&wire.UpdateRelationshipGroupRequest{GroupIndex: index + 1, NewName: "none"})

	data := c.want(apierr.OK, 1, &wire.QueryRelationshipGroupsRequest{}).Data.GetUserRelationshipGroupsWithVersion()
	want := []*wire.UserRelationshipGroup{{Index: 0}, {Index: index, Name: name}}
	if got := data.GetUserRelationshipGroups(); len(got) != 2 || !proto.Equal(got[0], want[0]) || !proto.Equal(got[1], want[1]) {
		t.Errorf("the groups are %v, want %v", got, want)
	}
	c.want(apierr.AlreadyUpToDate, 1, &wire.QueryRelationshipGroupsRequest{LastUpdatedDate: data.LastUpdatedDate})
	c.want(apierr.AlreadyUpToDate, 99, &wire.QueryRelationshipGroupsRequest{})

	c.want(apierr.IllegalArgument, 1, &wire.DeleteRelationshipGroupRequest{})
	c.want(apierr.IllegalArgument, 1, &wire.DeleteRelationshipGroupRequest{GroupIndex: index, TargetGroupIndex: proto.Int32(index + 1)})
	deleted := &c.Rules.Notification.OneSidedRelationshipGroupDeleted
	first := true
	c.switched(&deleted.NotifyRequesterOtherOnlineSessions, &deleted.NotifyRelationshipGroupMembers, func() (proto.Message, proto.Message) {
		if !first {
			index = create()
			c.want(apierr.OK, 1, &wire.UpdateRelationshipRequest{UserId: 2, NewGroupIndex: &index})
		}
		first = false
		return &wire.DeleteRelationshipGroupRequest{GroupIndex: index}, &wire.DeleteRelationshipGroupRequest{GroupIndex: index, TargetGroupIndex: proto.Int32(0)}
	}, c.second)
	c.quiet(&wire.DeleteRelationshipGroupRequest{GroupIndex: index})

	from, to := create(), create()
	c.want(apierr.OK, 1, &wire.UpdateRelationshipRequest{UserId: 2, NewGroupIndex: &from, DeleteGroupIndex: proto.Int32(0)})
	c.want(apierr.OK, 1, &wire.DeleteRelationshipGroupRequest{GroupIndex: from, TargetGroupIndex: &to})
	if got := c.want(apierr.OK, 1, &wire.QueryRelatedUserIdsRequest{GroupIndexes: []int32{to}}).Data.GetLongsWithVersion().GetLongs(); !slices.Equal(got, []int64{2}) {
		t.Errorf("the users in the group are %v", got)
	}
}

func TestFriendRequests(t *testing.T) {
	c := newCircle(t)
	rules, flags := &c.Rules.User.FriendRequest, &c.Rules.Notification
	rules.AllowRecallPendingFriendRequestBySender = true
	var id int64
	recall := func() {
		if id != 0 {
			c.request(1, &wire.DeleteFriendRequestRequest{RequestId: id})
		}
	}

	c.want(apierr.IllegalArgument, 1, &wire.CreateFriendRequestRequest{RecipientId: 1})
	c.want(apierr.IllegalArgument, 1, &wire.CreateFriendRequestRequest{RecipientId: 2, Content: strings.Repeat("x", 201)})
	c.Relate(3, 1, true)
	c.want(apierr.BlockedUserToSendFriendRequest, 1, &wire.CreateFriendRequestRequest{RecipientId: 3})

	send := &wire.CreateFriendRequestRequest{RecipientId: 2, Content: "hi"}
	created := &flags.FriendRequestCreated
	for _, tellSelf := range []bool{true, false} {
		for _, tellRecipient := range []bool{true, false} {
			recall()
			c.forget()
			created.NotifyRequesterOtherOnlineSessions, created.NotifyFriendRequestRecipient = tellSelf, tellRecipient
			id = c.want(apierr.OK, 1, send).Data.GetLong()
			var told []session
			if tellSelf {
				told = append(told, c.phone)
			}
			if tellRecipient {
				told = append(told, c.second)
			}
			c.wantNotified(1, send, told...)
		}
	}
	c.want(apierr.CreateExistingFriendRequest, 1, send)

	// Both sides see it.
	want := &wire.UserFriendRequest{
		Id: &id, CreationDate: proto.Int64(c.Now.UnixMilli()), Content: proto.String("hi"), RequestStatus: wire.RequestStatus_PENDING.Enum(),
		ExpirationDate: proto.Int64(c.Now.Add(30 * 24 * time.Hour).UnixMilli()), RequesterId: proto.Int64(1), RecipientId: proto.Int64(2),
	}
	check := func(userID int64, sent bool, count int) *int64 {
		t.Helper()
		data := c.want(apierr.OK, userID, &wire.QueryFriendRequestsRequest{AreSentByMe: sent}).Data.GetUserFriendRequestsWithVersion()
		list := data.GetUserFriendRequests()
		if len(list) != count || !proto.Equal(list[count-1], want) {
			t.Errorf("the requests are %v, want %v", list, want)
		}
		c.want(apierr.AlreadyUpToDate, userID, &wire.QueryFriendRequestsRequest{AreSentByMe: sent, LastUpdatedDate: data.LastUpdatedDate})
		return data.LastUpdatedDate
	}
	before := check(1, true, 4)
	check(2, false, 4)
	c.want(apierr.NoContent, 1, &wire.QueryFriendRequestsRequest{})
	c.want(apierr.AlreadyUpToDate, 99, &wire.QueryFriendRequestsRequest{})

	// Only the sender recalls, only the recipient answers, only once.
	c.want(apierr.NotSenderToRecallFriendRequest, 2, &wire.DeleteFriendRequestRequest{RequestId: id})
	c.want(apierr.NotSenderToRecallFriendRequest, 1, &wire.DeleteFriendRequestRequest{RequestId: 1})
	c.want(apierr.NotRecipientToUpdateFriendRequest, 1, &wire.UpdateFriendRequestRequest{RequestId: id})
	c.want(apierr.NotRecipientToUpdateFriendRequest, 2, &wire.UpdateFriendRequestRequest{RequestId: 1})
	c.want(apierr.IllegalArgument, 2, &wire.UpdateFriendRequestRequest{RequestId: id, Reason: proto.String(strings.Repeat("x", 201))})
	c.want(apierr.IllegalArgument, 2, &wire.UpdateFriendRequestRequest{RequestId: id, ResponseAction: 7})
	rules.AllowRecallPendingFriendRequestBySender = false
	c.want(apierr.RecallingFriendRequestIsDisabled, 1, &wire.DeleteFriendRequestRequest{RequestId: id})
	rules.AllowRecallPendingFriendRequestBySender = true
	c.notifier.Flush()

	recalled := &flags.FriendRequestRecalled
	first := true
	c.switched(&recalled.NotifyRequesterOtherOnlineSessions, &recalled.NotifyFriendRequestRecipient, func() (proto.Message, proto.Message) {
		if !first {
			id = c.want(apierr.OK, 1, send).Data.GetLong()
		}
		first = false
		return &wire.DeleteFriendRequestRequest{RequestId: id}, nil
	}, c.second)
	c.want(apierr.RecallNonPendingFriendRequest, 1, &wire.DeleteFriendRequestRequest{RequestId: id})
	c.want(apierr.UpdateNonPendingFriendRequest, 2, &wire.UpdateFriendRequestRequest{RequestId: id})
	c.want(apierr.OK, 1, &wire.QueryFriendRequestsRequest{AreSentByMe: true, LastUpdatedDate: before})

	// An expired request can be neither recalled nor answered.
	id = c.want(apierr.OK, 1, send).Data.GetLong()
	c.advance(31 * 24 * time.Hour)
	c.want(apierr.RecallNonPendingFriendRequest, 1, &wire.DeleteFriendRequestRequest{RequestId: id})
	c.want(apierr.UpdateNonPendingFriendRequest, 2, &wire.UpdateFriendRequestRequest{RequestId: id})
	c.want(apierr.CreateExistingFriendRequest, 1, send)
	rules.AllowSendRequestAfterDeclinedOrIgnoredOrExpired = true
	c.want(apierr.OK, 1, send)
}

func TestFriendRequestReplies(t *testing.T) {
	c := newCircle(t)
	c.Rules.User.FriendRequest.AllowSendRequestAfterDeclinedOrIgnoredOrExpired = true
	flags := &c.Rules.Notification
	replied := &flags.FriendRequestReplied
	request := func() int64 {
		return c.want(apierr.OK, 2, &wire.CreateFriendRequestRequest{RecipientId: 1}).Data.GetLong()
	}
	c.switched(&replied.NotifyRequesterOtherOnlineSessions, &replied.NotifyFriendRequestSender, func() (proto.Message, proto.Message) {
		return &wire.UpdateFriendRequestRequest{RequestId: request(), ResponseAction: wire.ResponseAction_DECLINE, Reason: proto.String("no")}, nil
	}, c.second)
	c.want(apierr.NoContent, 1, &wire.QueryRelationshipsRequest{})
	ignored := request()
	c.want(apierr.OK, 1, &wire.UpdateFriendRequestRequest{RequestId: ignored, ResponseAction: wire.ResponseAction_IGNORE})
	list := c.want(apierr.OK, 2, &wire.QueryFriendRequestsRequest{AreSentByMe: true}).Data.GetUserFriendRequestsWithVersion().GetUserFriendRequests()
	if len(list) != 5 || list[0].GetRequestStatus() != wire.RequestStatus_DECLINED || list[0].GetReason() != "no" || list[4].GetRequestStatus() != wire.RequestStatus_IGNORED {
		t.Errorf("the requests are %v", list)
	}

	// Both become related, and each is notified depending on its own switch.
	replied.NotifyRequesterOtherOnlineSessions, replied.NotifyFriendRequestSender = false, false
	flags.OneSidedRelationshipGroupMemberAdded.NotifyNewRelationshipGroupMember = true
	id := request()
	c.forget()
	c.want(apierr.OK, 1, &wire.UpdateFriendRequestRequest{RequestId: id, ResponseAction: wire.ResponseAction_ACCEPT})
	for who, s := range map[int64]session{1: c.phone, 2: c.second} {
		got := c.received(s)
		want := &wire.CreateRelationshipRequest{UserId: who, GroupIndex: proto.Int32(0)}
		if len(got) != 1 || got[0].GetRequesterId() != 3-who || !proto.Equal(bodyOf(got[0].GetRelayedRequest()), want) {
			t.Errorf("user %d got %v", who, got)
		}
		c.want(apierr.OK, who, &wire.QueryRelationshipsRequest{UserIds: []int64{3 - who}, Blocked: proto.Bool(false), GroupIndexes: []int32{0}})
	}
	c.wantNotified(1, nil)

	// An existing relationship is not gained again.
	id = request()
	c.forget()
	c.quiet(&wire.UpdateFriendRequestRequest{RequestId: id})
}
