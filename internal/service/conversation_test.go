// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"maps"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

func TestPrivateReadDates(t *testing.T) {
	c := newCircle(t)
	read := &wire.UpdateConversationRequest{UserId: proto.Int64(2), ReadDate: 5}
	c.quiet(read) // User 2 never wrote.
	c.want(apierr.NoContent, 2, &wire.QueryConversationsRequest{UserIds: []int64{1}})
	c.want(apierr.OK, 2, &wire.CreateMessageRequest{RecipientId: proto.Int64(1)})

	flags := &c.Rules.Notification.PrivateConversationReadDateUpdated
	c.switched(&flags.NotifyRequesterOtherOnlineSessions, &flags.NotifyContact, func() (proto.Message, proto.Message) {
		c.advance(time.Second)
		return read, &wire.UpdateConversationRequest{UserId: proto.Int64(2), ReadDate: c.Now.UnixMilli()}
	}, c.second)
	list := c.want(apierr.OK, 2, &wire.QueryConversationsRequest{UserIds: []int64{1, 3}, GroupIds: []int64{1}}).Data.GetConversations()
	want := &wire.PrivateConversation{OwnerId: 1, TargetId: 2, ReadDate: c.Now.UnixMilli()}
	if len(list.GetGroupConversations()) != 0 || len(list.GetPrivateConversations()) != 1 || !proto.Equal(list.GetPrivateConversations()[0], want) {
		t.Errorf("the conversations are %v, want %v", list, want)
	}
	c.want(apierr.NoContent, 2, &wire.QueryConversationsRequest{})

	c.Rules.Conversation.ReadReceipt.UseServerTime = false
	c.want(apierr.MovingReadDateForwardIsDisabled, 1, read)
	c.want(apierr.IllegalArgument, 1, &wire.UpdateConversationRequest{UserId: proto.Int64(2), ReadDate: c.Now.UnixMilli() + 1})
	c.want(apierr.IllegalArgument, 1, &wire.UpdateConversationRequest{ReadDate: 5})
	c.want(apierr.IllegalArgument, 1, &wire.UpdateConversationRequest{UserId: proto.Int64(2), GroupId: proto.Int64(2)})
	c.Rules.Conversation.ReadReceipt.AllowMoveReadDateForward = true
	c.want(apierr.OK, 1, read)
	c.Rules.Conversation.ReadReceipt.Enabled = false
	c.want(apierr.UpdatingReadDateIsDisabled, 1, read)
	c.want(apierr.UpdatingReadDateIsDisabled, 1, &wire.UpdateConversationRequest{GroupId: proto.Int64(2)})
}

func TestGroupReadDates(t *testing.T) {
	c := newCircle(t)
	c.Rules.Conversation.ReadReceipt.UseServerTime = false
	group := c.Group(2, 1, 3)
	read := func() *wire.UpdateConversationRequest {
		c.advance(time.Second)
		return &wire.UpdateConversationRequest{GroupId: &group, ReadDate: c.Now.UnixMilli()}
	}
	flags := &c.Rules.Notification.GroupConversationReadDateUpdated
	c.want(apierr.OK, 1, read())
	c.forget()
	for _, test := range []struct {
		self, members bool
		told          []session
	}{
		{true, false, []session{c.phone}},
		{false, true, []session{c.phone, c.second, c.third}},
		{true, true, []session{c.phone, c.second, c.third}},
		{false, false, nil},
	} {
		flags.NotifyRequesterOtherOnlineSessions, flags.NotifyOtherGroupMembers = test.self, test.members
		request := read()
		c.want(apierr.OK, 1, request)
		c.wantNotified(1, request, test.told...)
	}
	c.want(apierr.OK, 3, &wire.UpdateConversationRequest{GroupId: &group, ReadDate: 5})
	list := c.want(apierr.OK, 2, &wire.QueryConversationsRequest{GroupIds: []int64{group, 99}}).Data.GetConversations()
	want := map[int64]int64{1: c.Now.UnixMilli(), 3: 5}
	if got := list.GetGroupConversations(); len(got) != 1 || got[0].GetGroupId() != group || !maps.Equal(got[0].GetMemberIdToReadDate(), want) {
		t.Errorf("the conversations are %v, want %v", got, want)
	}
	c.want(apierr.MovingReadDateForwardIsDisabled, 1, &wire.UpdateConversationRequest{GroupId: &group, ReadDate: 5})
	c.want(apierr.UpdatingReadDateOfNonexistentGroupConversation, 1, &wire.UpdateConversationRequest{GroupId: proto.Int64(99)})
	other := c.Group(2)
	c.want(apierr.NotGroupMemberToUpdateReadDateOfGroupConversation, 1, &wire.UpdateConversationRequest{GroupId: &other})
	if _, err := c.Groups.Types.Update(t.Context(), []int64{0}, store.GroupTypeChange{EnableReadReceipt: new(false)}); err != nil {
		t.Fatal(err)
	}
	c.want(apierr.UpdatingReadDateIsDisabledByGroup, 1, &wire.UpdateConversationRequest{GroupId: &group, ReadDate: c.Now.UnixMilli()})
}

func TestTypingStatus(t *testing.T) {
	c := newCircle(t)
	c.Relate(2, 1, false)
	c.Relate(3, 1, true)
	group, other := c.Group(2, 1, 3), c.Group(2)

	typing := &wire.UpdateTypingStatusRequest{ToId: 2}
	c.want(apierr.OK, 1, typing)
	c.wantNotified(1, typing, c.second)
	typing = &wire.UpdateTypingStatusRequest{ToId: group, IsGroupMessage: true}
	c.want(apierr.OK, 1, typing)
	c.wantNotified(1, typing, c.second, c.third)

	c.want(apierr.NotFriendToSendTypingStatus, 1, &wire.UpdateTypingStatusRequest{ToId: 3})
	c.want(apierr.NotFriendToSendTypingStatus, 2, &wire.UpdateTypingStatusRequest{ToId: 1})
	c.want(apierr.NotGroupMemberToSendTypingStatus, 1, &wire.UpdateTypingStatusRequest{ToId: other, IsGroupMessage: true})
	c.Rules.Conversation.TypingStatus.Enabled = false
	c.want(apierr.UpdatingTypingStatusIsDisabled, 1, typing)
	c.wantNotified(1, nil)
}
