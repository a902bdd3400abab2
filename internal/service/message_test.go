// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/im/message"
	"example.org/app/internal/im/user"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

const (
	desktop = wire.DeviceType_DESKTOP
	android = wire.DeviceType_ANDROID
	browser = wire.DeviceType_BROWSER
)

func TestPrivateMessage(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2, 3)
	w.online(1, desktop, "gateway1")
	phone := w.online(1, android, "gateway2")
	friend := w.online(2, desktop, "gateway1")
	tablet := w.online(2, browser, "gateway2")
	w.online(3, desktop, "gateway1")

	request := &wire.CreateMessageRequest{
		RecipientId: proto.Int64(2), Text: proto.String("hi"), Records: [][]byte{{9}}, BurnAfter: proto.Int32(60), PreMessageId: proto.Int64(8),
		CustomAttributes: []*wire.Value{{Kind: &wire.Value_StringValue{StringValue: "kept"}}},
	}
	id := w.want(apierr.OK, 1, request).Data.GetLong()
	relay := proto.CloneOf(request)
	relay.MessageId, relay.DeliveryDate = &id, proto.Int64(w.Now.UnixMilli())
	w.wantNotified(1, relay, phone, friend, tablet)

	stored := w.stored(id)
	if *stored.Text != "hi" || stored.SenderID != 1 || stored.TargetID != 2 || stored.IsGroupMessage || stored.Records != nil || stored.PreMessageID != nil {
		t.Errorf("stored is %+v", stored)
	}
	found := w.want(apierr.OK, 2, &wire.QueryMessagesRequest{AreGroupMessages: proto.Bool(false)}).Data.GetMessages().GetMessages()
	want := &wire.Message{
		Id: &id, DeliveryDate: proto.Int64(w.Now.UnixMilli()), Text: proto.String("hi"), SenderId: proto.Int64(1),
		RecipientId: proto.Int64(2), IsSystemMessage: proto.Bool(false),
	}
	if len(found) != 1 || !proto.Equal(found[0], want) {
		t.Errorf("found %v, want %v", found, want)
	}

	w.Rules.Notification.MessageCreated.NotifyMessageRecipients = false
	w.want(apierr.OK, 1, &wire.CreateMessageRequest{RecipientId: proto.Int64(2)})
	if got := w.received(phone); len(got) != 1 {
		t.Errorf("the sender's phone got %v", got)
	}
	if got := w.received(friend); len(got) != 0 {
		t.Errorf("the recipient got %v", got)
	}
	w.Rules.Notification.MessageCreated.NotifyRequesterOtherOnlineSessions = false
	w.want(apierr.OK, 1, &wire.CreateMessageRequest{RecipientId: proto.Int64(2)})
	w.wantNotified(1, nil)

	w.Rules.Message.PersistMessage = false
	if got := w.want(apierr.OK, 1, &wire.CreateMessageRequest{RecipientId: proto.Int64(2)}); got.Data.GetKind() != nil {
		t.Errorf("a message that is not kept has the id %v", got.Data)
	}
}

func TestGroupMessage(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2, 3, 4)
	id := w.Group(1, 2, 3)
	sender := w.online(2, desktop, "gateway1")
	phone := w.online(2, android, "gateway1")
	owner := w.online(1, desktop, "gateway1")
	member := w.online(3, desktop, "gateway2")
	w.online(4, desktop, "gateway2")

	request := &wire.CreateMessageRequest{GroupId: &id, Text: proto.String("all")}
	messageID := w.want(apierr.OK, 2, request).Data.GetLong()
	relay := proto.CloneOf(request)
	relay.MessageId, relay.DeliveryDate = &messageID, proto.Int64(w.Now.UnixMilli())
	w.wantNotified(2, relay, phone, owner, member)
	if got := w.received(sender); len(got) != 0 {
		t.Errorf("the sender's session got %v", got)
	}
	if w.calls["gateway1"] != 1 || w.calls["gateway2"] != 1 {
		t.Errorf("the gateways were called %v", w.calls)
	}
	w.want(apierr.NotGroupMemberToQueryGroupMessages, 4, &wire.QueryMessagesRequest{AreGroupMessages: proto.Bool(true), FromIds: []int64{id}})
	parts := w.want(apierr.OK, 3, &wire.QueryMessagesRequest{AreGroupMessages: proto.Bool(true), WithTotal: true}).
		Data.GetMessagesWithTotalList().GetMessagesWithTotalList()
	if len(parts) != 1 || parts[0].GetTotal() != 1 || !parts[0].GetIsGroupMessage() || parts[0].GetFromId() != id ||
		parts[0].GetMessages()[0].GetGroupId() != id || parts[0].GetMessages()[0].GetRecipientId() != id {
		t.Errorf("the messages are %v", parts)
	}
}

func TestMessageRefusals(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2, 3, 4, 5)
	w.Relate(3, 1, true)
	if _, err := w.Users.Update(t.Context(), []int64{4}, user.Change{IsActive: new(false)}); err != nil {
		t.Fatal(err)
	}
	joined, muted := w.Group(1, 2), w.Group(1, 2)
	w.UpdateGroup(muted, store.GroupChange{MuteEndDate: new(w.Now.Add(time.Hour))})
	silenced := w.Group(5, 1)
	w.silence(silenced, 1)
	blocked := store.GroupBlockedUser{GroupUserKey: store.GroupUserKey{GroupID: joined, UserID: 5}, RequesterID: 1}
	if _, err := w.Groups.Blocklist.Block(t.Context(), blocked, nil); err != nil {
		t.Fatal(err)
	}
	theirs := w.want(apierr.OK, 2, &wire.CreateMessageRequest{RecipientId: proto.Int64(5)}).Data.GetLong()
	for name, test := range map[string]struct {
		code    apierr.Code
		request *wire.CreateMessageRequest
	}{
		"no target":          {apierr.IllegalArgument, &wire.CreateMessageRequest{Text: proto.String("hi")}},
		"system message":     {apierr.IllegalArgument, &wire.CreateMessageRequest{RecipientId: proto.Int64(2), IsSystemMessage: proto.Bool(true)}},
		"user 0":             {apierr.IllegalArgument, &wire.CreateMessageRequest{RecipientId: proto.Int64(0)}},
		"long text":          {apierr.IllegalArgument, &wire.CreateMessageRequest{RecipientId: proto.Int64(2), Text: proto.String(fmt.Sprintf("%501d", 1))}},
		"negative burning":   {apierr.IllegalArgument, &wire.CreateMessageRequest{RecipientId: proto.Int64(2), BurnAfter: proto.Int32(-1)}},
		"future":             {apierr.IllegalArgument, &wire.CreateMessageRequest{RecipientId: proto.Int64(2), DeliveryDate: proto.Int64(w.Now.UnixMilli() + 1)}},
		"oneself":            {apierr.SendingMessagesToOneselfIsDisabled, &wire.CreateMessageRequest{RecipientId: proto.Int64(1)}},
		"blocking recipient": {apierr.BlockedUserSendPrivateMessage, &wire.CreateMessageRequest{RecipientId: proto.Int64(3)}},
		"inactive recipient": {apierr.MessageRecipientNotActive, &wire.CreateMessageRequest{RecipientId: proto.Int64(4)}},
		"unknown recipient":  {apierr.MessageRecipientNotActive, &wire.CreateMessageRequest{RecipientId: proto.Int64(99)}},
		"unknown group":      {apierr.SendMessageToInactiveGroup, &wire.CreateMessageRequest{GroupId: proto.Int64(99)}},
		"muted group":        {apierr.SendMessageToMutedGroup, &wire.CreateMessageRequest{GroupId: &muted}},
		"silenced member":    {apierr.MutedGroupMemberSendMessage, &wire.CreateMessageRequest{GroupId: &silenced}},
		"foreign message":    {apierr.NotMessageRecipientOrSenderToForwardMessage, &wire.CreateMessageRequest{RecipientId: proto.Int64(2), MessageId: &theirs}},
		"no such message":    {apierr.NotMessageRecipientOrSenderToForwardMessage, &wire.CreateMessageRequest{RecipientId: proto.Int64(2), MessageId: proto.Int64(1)}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := w.request(1, test.request); got.Code != test.code || got.Reason == "" {
				t.Errorf("the answer is %v %q, want %v", got.Code, got.Reason, test.code)
			}
		})
	}
	w.want(apierr.NotSpeakableGroupGuestToSendMessage, 4, &wire.CreateMessageRequest{GroupId: &joined})
	w.Rules.Message.AllowSendMessagesToStranger = false
	w.want(apierr.NotFriendToSendPrivateMessage, 1, &wire.CreateMessageRequest{RecipientId: proto.Int64(2)})
	w.want(apierr.InvalidRequest, 1, &wire.QueryMessagesRequest{})
	w.want(apierr.NoContent, 1, &wire.QueryMessagesRequest{AreGroupMessages: proto.Bool(false)})
	w.want(apierr.NoContent, 1, &wire.QueryMessagesRequest{AreGroupMessages: proto.Bool(false), WithTotal: true})
}

func TestForwardedMessage(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2, 3)
	original := w.want(apierr.OK, 1, &wire.CreateMessageRequest{RecipientId: proto.Int64(2), Text: proto.String("secret"), BurnAfter: proto.Int32(5)}).Data.GetLong()
	third := w.online(3, desktop, "gateway1")
	id := w.want(apierr.OK, 2, &wire.CreateMessageRequest{RecipientId: proto.Int64(3), MessageId: &original}).Data.GetLong()
	w.wantNotified(2, &wire.CreateMessageRequest{
		RecipientId: proto.Int64(3), MessageId: &id, DeliveryDate: proto.Int64(w.Now.UnixMilli()), Text: proto.String("secret"), BurnAfter: proto.Int32(5),
	}, third)
	if got := w.stored(id); got.ReferenceID == nil || *got.ReferenceID != original {
		t.Errorf("stored is %+v", got)
	}
}

func TestUpdateMessage(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2, 3)
	id := w.want(apierr.OK, 1, &wire.CreateMessageRequest{RecipientId: proto.Int64(2), Text: proto.String("helo")}).Data.GetLong()
	w.online(1, desktop, "gateway1")
	phone, friend := w.online(1, android, "gateway2"), w.online(2, desktop, "gateway1")

	edit := &wire.UpdateMessageRequest{MessageId: id, Text: proto.String("hello")}
	w.want(apierr.NotSenderToUpdateMessage, 2, edit)
	w.want(apierr.OK, 1, edit)
	w.wantNotified(1, edit, phone, friend)
	if got := w.stored(id); *got.Text != "hello" || got.ModificationDate == nil {
		t.Errorf("stored is %+v", got)
	}
	w.Rules.Message.AllowEditMessageBySender = false
	w.want(apierr.UpdatingMessageBySenderIsDisabled, 1, edit)

	recall := &wire.UpdateMessageRequest{MessageId: id, RecallDate: proto.Int64(w.Now.UnixMilli())}
	w.want(apierr.NotSenderToRecallMessage, 2, recall)
	w.want(apierr.NotSenderToRecallMessage, 1, &wire.UpdateMessageRequest{MessageId: 99, RecallDate: recall.RecallDate})
	w.want(apierr.IllegalArgument, 1, &wire.UpdateMessageRequest{MessageId: id, RecallDate: proto.Int64(w.Now.UnixMilli() + 1)})
	w.want(apierr.OK, 1, recall)
	got := w.received(friend)
	if len(got) != 2 || !proto.Equal(got[0].GetRelayedRequest().GetUpdateMessageRequest(), recall) || got[0].RequestId != nil {
		t.Fatalf("the recipient got %v", got)
	}
	notice := got[1].GetRelayedRequest().GetCreateMessageRequest()
	if !notice.GetIsSystemMessage() || len(notice.GetRecords()) != 2 || notice.GetRecords()[0][0] != 1 || got[1].RequestId == nil || got[1].GetRequestId() != 0 {
		t.Errorf("the notice is %v", got[1])
	}
	w.advance(301 * time.Second)
	late := w.want(apierr.OK, 1, &wire.CreateMessageRequest{RecipientId: proto.Int64(2)}).Data.GetLong()
	w.advance(301 * time.Second)
	w.want(apierr.MessageRecallTimeout, 1, &wire.UpdateMessageRequest{MessageId: late, RecallDate: proto.Int64(w.Now.UnixMilli())})
	w.Rules.Message.AllowRecallMessage = false
	w.want(apierr.RecallingMessageIsDisabled, 1, recall)
}

// TestAdministratorsMessage sends a message that no client requested.
func TestAdministratorsMessage(t *testing.T) {
	w := newWorld(t)
	w.People(1)
	s := w.online(1, desktop, "gateway1")
	m, err := w.Messages.Send(t.Context(), message.Creation{IsSystemMessage: true, TargetID: 1, Text: new("from above"), Deliver: true})
	if err != nil {
		t.Fatal(err)
	}
	got := w.received(s)
	want := &wire.AppNotification{
		Timestamp: w.Now.UnixMilli(), RequestId: proto.Int64(0), RequesterId: proto.Int64(0),
		RelayedRequest: &wire.AppRequest{Kind: &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: &wire.CreateMessageRequest{
			MessageId: &m.ID, IsSystemMessage: proto.Bool(true), RecipientId: proto.Int64(1), DeliveryDate: proto.Int64(w.Now.UnixMilli()), Text: proto.String("from above"),
		}}},
	}
	if len(got) != 1 || !proto.Equal(got[0], want) {
		t.Errorf("the user got %v, want %v", got, want)
	}
}

// TestOrder proves that messages to one user arrive in the order in which they were accepted.
func TestOrder(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2)
	s := w.online(2, desktop, "gateway1")
	for i := range 200 {
		w.want(apierr.OK, 1, &wire.CreateMessageRequest{RecipientId: proto.Int64(2), Text: proto.String(fmt.Sprint(i))})
	}
	got := w.received(s)
	if len(got) != 200 {
		t.Fatalf("%d messages arrived", len(got))
	}
	for i, n := range got {
		if text := n.GetRelayedRequest().GetCreateMessageRequest().GetText(); text != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, text)
		}
	}
}

func (w *world) stored(id int64) store.Message {
	w.T.Helper()
	found, err := w.Messages.Find(w.T.Context(), store.MessageFilter{IDs: []int64{id}}, store.MessagesByID, 1, 0)
	if err != nil || len(found) != 1 {
		w.T.Fatal(found, err)
	}
	return found[0]
}

// silence mutes a member of a group.
func (w *world) silence(groupID, userID int64) {
	w.T.Helper()
	end := w.Now.Add(time.Hour)
	if _, err := w.Groups.Members.Update(w.T.Context(), []store.GroupUserKey{{GroupID: groupID, UserID: userID}}, store.GroupMemberChange{MuteEndDate: &end}); err != nil {
		w.T.Fatal(err)
	}
}
