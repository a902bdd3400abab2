// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"encoding/binary"
	"math"
	"net/http"
	"net/netip"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/im/message"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const messageTag = "MessageController"

type messageHandlers struct {
	messages *message.Directory
	limits   func() StatisticsLimits
}

func messageOperations(s Service) []*admin.Operation {
	h := messageHandlers{s.Messages, s.StatisticsLimits}
	r := resource.Resource{
		Path: "/messages", Tag: messageTag, Name: "Message", Records: "messages",
		Create: permission.MessageCreate, Query: permission.MessageQuery, Update: permission.MessageUpdate, Delete: permission.MessageDelete,
	}
	return concat(
		resource.Handle(r, admin.Operation{
			ID: "createMessage", Method: http.MethodPost, Path: "/messages", Permission: permission.MessageCreate,
			Summary: "Send a message",
			Description: "Sends a message in the name of a user, who must be allowed to send it, or of the server. " +
				"What is stored of it is set below `app.service.message`; recipients who are online get all of it unless `send` is false.",
			Errors: []apierr.Code{
				apierr.RecordContainsDuplicateKey, apierr.MessageRecipientNotActive, apierr.NotFriendToSendPrivateMessage,
				apierr.BlockedUserSendPrivateMessage, apierr.BlockedUserSendGroupMessage, apierr.SendMessageToInactiveGroup,
				apierr.SendMessageToMutedGroup, apierr.SendingMessagesToOneselfIsDisabled, apierr.MutedGroupMemberSendMessage,
				apierr.NotSpeakableGroupGuestToSendMessage, apierr.NotMessageRecipientOrSenderToForwardMessage,
			},
		}, h.create),
		resource.List(r, admin.Operation{
			Summary: "Query messages",
			Description: "Returns messages in the order that `ascending` says, logically deleted and recalled ones included. " +
				"If messages have conversation ids, a query for private messages by both senders and targets returns both directions.",
		}, messageFilter.filter, h.find, h.findPage, newMessage),
		resource.Handle(r, admin.Operation{
			ID: "queryMessageCounts", Method: http.MethodGet, Path: "/messages/count", Permission: permission.MessageQuery, Deprecated: true,
			Summary: "Count messages",
			Description: "Counts messages by delivery date. A number is given for each range of which a bound is given, and the number of sent messages " +
				"if none is. With `divideBy` a list is given for each range of which both bounds are given: one number for each unit of time.",
			Errors: []apierr.Code{apierr.AdminRequestsTooFrequent},
		}, h.count),
		resource.UpdateByID(r, admin.Operation{
			Summary: "Update messages",
			Description: "Changes messages. Absent fields are not changed. For each message that is recalled, a system message goes to its target: " +
				"its records are the byte 1 and the id of the recalled message as 8 bytes, the most significant first.",
		}, h.update),
		resource.Delete(r, admin.Operation{
			Summary: "Delete messages", Description: "Deletes messages. Logically deleted messages only get a deletion date.",
		}, h.delete),
	)
}

// Message is a message as the interface returns it.
type Message struct {
	ID               int64       `json:"id" doc:"Id." example:"1234567890123456789"`
	ConversationID   []byte      `json:"conversationId,omitempty" doc:"Id of the conversation, if app.service.message.use-conversation-id is on: the id of the group as 8 bytes, the least significant first, or the ids of both users as 8 bytes each, the most significant first, the smaller id first." example:"AQAAAAAAAAA="`
	IsGroupMessage   bool        `json:"isGroupMessage" doc:"Whether the target is a group." example:"false"`
	IsSystemMessage  bool        `json:"isSystemMessage" doc:"Whether it is a message of the server." example:"false"`
	DeliveryDate     admin.Date  `json:"deliveryDate" doc:"When the message was sent."`
	ModificationDate *admin.Date `json:"modificationDate,omitempty" doc:"When the message was changed last."`
	DeletionDate     *admin.Date `json:"deletionDate,omitempty" doc:"When the message was deleted logically."`
	RecallDate       *admin.Date `json:"recallDate,omitempty" doc:"When the message was recalled."`
	Text             *string     `json:"text,omitempty" doc:"Text." example:"Hello!"`
	SenderID         int64       `json:"senderId" doc:"Id of the sender; 0 is the server." example:"1"`
	SenderIP         *int32      `json:"senderIp,omitempty" doc:"IPv4 address of the sender as a number, less 2^31." example:"1073742337"`
	SenderIPV6       []byte      `json:"senderIpV6,omitempty" doc:"IPv6 address of the sender as 16 bytes." example:"IAENuAAAAAAAAAAAAAAAAQ=="`
	TargetID         int64       `json:"targetId" doc:"Id of the group or user who got the message." example:"2"`
	Records          [][]byte    `json:"records,omitempty" doc:"What applications attached to the message."`
	BurnAfter        *int32      `json:"burnAfter,omitempty" doc:"Number of seconds after which readers should delete the message." example:"60"`
	ReferenceID      *int64      `json:"referenceId,omitempty" doc:"Id of the message that was forwarded." example:"1234567890123456788"`
	SequenceID       *int32      `json:"sequenceId,omitempty" doc:"Number of the message in its conversation." example:"1"`
	PreMessageID     *int64      `json:"preMessageId,omitempty" doc:"Id of the message before it." example:"1234567890123456787"`
}

func newMessage(m store.Message) Message {
	view := Message{
		ID: m.ID, ConversationID: m.ConversationID, IsGroupMessage: m.IsGroupMessage, IsSystemMessage: m.IsSystemMessage,
		DeliveryDate: admin.NewDate(m.DeliveryDate), ModificationDate: optionalDate(m.ModificationDate),
		DeletionDate: optionalDate(m.DeletionDate), RecallDate: optionalDate(m.RecallDate), Text: m.Text,
		SenderID: m.SenderID, TargetID: m.TargetID, Records: m.Records, BurnAfter: m.BurnAfter,
		ReferenceID: m.ReferenceID, SequenceID: m.SequenceID, PreMessageID: m.PreMessageID,
	}
	switch {
	case m.SenderIP.Is4():
		ip := m.SenderIP.As4()
		view.SenderIP = new(int32(int64(binary.BigEndian.Uint32(ip[:])) + math.MinInt32))
	case m.SenderIP.Is6():
		view.SenderIPV6 = m.SenderIP.AsSlice()
	}
	return view
}

// messageCreation is the body of POST /messages.
type messageCreation struct {
	ID               *int64   `json:"id,omitempty" doc:"Id; absent: generated." example:"1234567890123456789"`
	IsGroupMessage   bool     `json:"isGroupMessage" doc:"Whether the target is a group." example:"false"`
	IsSystemMessage  bool     `json:"isSystemMessage" doc:"Whether it is a message of the server, for which no permission of the users is needed." example:"false"`
	Text             *string  `json:"text,omitempty" doc:"Text. How long it may be is set by app.service.message.max-text-limit, in UTF-16 units. Text and records must not both be empty." example:"Hello!"`
	Records          [][]byte `json:"records,omitempty" doc:"What applications attach to the message, in Base64. How big it may be is set by app.service.message.max-records-size-bytes."`
	SenderID         *int64   `json:"senderId,omitempty" doc:"Id of the sender, not 0; only a system message may have none." example:"1"`
	SenderIP         string   `json:"senderIp,omitempty" doc:"IPv4 or IPv6 address of the sender." example:"192.0.2.1"`
	SenderDeviceType string   `json:"senderDeviceType,omitempty" enum:"DESKTOP,BROWSER,IOS,ANDROID,OTHERS,UNKNOWN" doc:"Device that the message comes from; if it is given, the other devices of the sender get the message too." example:"DESKTOP"`
	TargetID         int64    `json:"targetId" doc:"Id of the group or user who gets the message." example:"2"`
	BurnAfter        *int32   `json:"burnAfter,omitempty" minimum:"0" doc:"Number of seconds after which readers should delete the message." example:"60"`
	ReferenceID      *int64   `json:"referenceId,omitempty" doc:"Id of a message to forward: its text, records and burn time replace those that are given." example:"1234567890123456788"`
	PreMessageID     *int64   `json:"preMessageId,omitempty" doc:"Id of the message before it." example:"1234567890123456787"`
}

type messageCreationInput struct {
	Send bool `query:"send" default:"true" doc:"Whether recipients who are online get the message."`
	Body messageCreation
}

func (h messageHandlers) create(ctx context.Context, in *messageCreationInput) (admin.Done, error) {
	b := in.Body
	ip, err := parseIP("senderIp", b.SenderIP)
	if err != nil {
		return admin.Done{}, err
	}
	_, err = h.messages.Send(ctx, message.Creation{
		ID: b.ID, IsGroupMessage: b.IsGroupMessage, IsSystemMessage: b.IsSystemMessage, SenderID: b.SenderID, SenderIP: ip,
		SenderDevice: b.SenderDeviceType, TargetID: b.TargetID, Text: b.Text, Records: b.Records, BurnAfter: b.BurnAfter,
		ReferenceID: b.ReferenceID, PreMessageID: b.PreMessageID, Deliver: in.Send,
	})
	return admin.Done{}, err
}

// parseIP reads an address of a body; an empty one is none.
func parseIP(field, text string) (netip.Addr, error) {
	if text == "" {
		return netip.Addr{}, nil
	}
	ip, err := netip.ParseAddr(text)
	if err != nil || ip.Zone() != "" {
		return netip.Addr{}, apierr.New(apierr.IllegalArgument, "%s: must be an IPv4 or IPv6 address without zone", field)
	}
	return ip.Unmap(), nil
}

type messageFilter struct {
	IDs               []int64     `query:"ids" uniqueItems:"true" doc:"Ids of messages." example:"[1]"`
	SenderIDs         []int64     `query:"senderIds" uniqueItems:"true" doc:"Ids of senders." example:"[1]"`
	TargetIDs         []int64     `query:"targetIds" uniqueItems:"true" doc:"Ids of groups or users who got the messages." example:"[2]"`
	AreGroupMessages  *bool       `query:"areGroupMessages" doc:"Whether the targets are groups."`
	AreSystemMessages *bool       `query:"areSystemMessages" doc:"Whether they are messages of the server."`
	DeliveryDateStart *admin.Date `query:"deliveryDateStart" doc:"Sent at this date or later."`
	DeliveryDateEnd   *admin.Date `query:"deliveryDateEnd" doc:"Sent before this date."`
	DeletionDateStart *admin.Date `query:"deletionDateStart" doc:"Deleted at this date or later."`
	DeletionDateEnd   *admin.Date `query:"deletionDateEnd" doc:"Deleted before this date."`
	RecallDateStart   *admin.Date `query:"recallDateStart" doc:"Recalled at this date or later."`
	RecallDateEnd     *admin.Date `query:"recallDateEnd" doc:"Recalled before this date."`
	Ascending         *bool       `query:"ascending" doc:"Whether the oldest messages come first, or the newest; absent: in the order of the ids, or of the first date in the query, or, if the query contains only kinds, of the delivery dates."`
}

// messageSelection is which messages are found, in which order.
type messageSelection struct {
	filter store.MessageFilter
	order  store.MessageOrder
}

func (f messageFilter) filter() (s messageSelection, err error) {
	s.filter = store.MessageFilter{
		IDs: f.IDs, SenderIDs: f.SenderIDs, TargetIDs: f.TargetIDs, IsGroupMessage: f.AreGroupMessages, IsSystemMessage: f.AreSystemMessages,
	}
	err = dateRanges(
		namedRange{"deliveryDate", f.DeliveryDateStart, f.DeliveryDateEnd, &s.filter.DeliveryDate},
		namedRange{"deletionDate", f.DeletionDateStart, f.DeletionDateEnd, &s.filter.DeletionDate},
		namedRange{"recallDate", f.RecallDateStart, f.RecallDateEnd, &s.filter.RecallDate},
	)
	switch {
	case f.Ascending == nil:
	case *f.Ascending:
		s.order = store.MessagesOldestFirst
	default:
		s.order = store.MessagesNewestFirst
	}
	return s, err
}

func (h messageHandlers) find(ctx context.Context, s messageSelection, limit, offset int) ([]store.Message, error) {
	return h.messages.Find(ctx, s.filter, s.order, limit, offset)
}

func (h messageHandlers) findPage(ctx context.Context, s messageSelection, page store.Page) (int64, []store.Message, error) {
	return h.messages.FindPage(ctx, s.filter, s.order, page)
}

// messageUpdate is the body of PUT /messages.
type messageUpdate struct {
	IsSystemMessage  *bool       `json:"isSystemMessage,omitempty" doc:"Whether they are messages of the server." example:"false"`
	Text             *string     `json:"text,omitempty" doc:"New text." example:"Hello!"`
	Records          *[][]byte   `json:"records,omitempty" doc:"New records, in Base64; an empty list removes them."`
	BurnAfter        *int32      `json:"burnAfter,omitempty" minimum:"0" doc:"Number of seconds after which readers should delete the messages." example:"60"`
	RecallDate       *admin.Date `json:"recallDate,omitempty" doc:"When the messages are recalled, not in the future."`
	SenderIP         string      `json:"senderIp,omitempty" doc:"New address of the sender." example:"192.0.2.1"`
	SenderID         *int64      `json:"senderId,omitempty" doc:"Who recalls the messages; absent: the server. It does not change the sender." example:"1"`
	SenderDeviceType string      `json:"senderDeviceType,omitempty" enum:"DESKTOP,BROWSER,IOS,ANDROID,OTHERS,UNKNOWN" doc:"Device from which the messages are recalled; if it is given, the other devices of whoever recalls are told too." example:"DESKTOP"`
}

func (h messageHandlers) update(ctx context.Context, ids []int64, b messageUpdate) (store.UpdateResult, error) {
	change := message.Change{
		IsSystemMessage: b.IsSystemMessage, Text: b.Text, Records: b.Records, BurnAfter: b.BurnAfter, RecallDate: givenTime(b.RecallDate),
		SenderID: b.SenderID, SenderDevice: b.SenderDeviceType,
	}
	ip, err := parseIP("senderIp", b.SenderIP)
	if err != nil {
		return store.UpdateResult{}, err
	}
	if ip.IsValid() {
		change.SenderIP = &ip
	}
	return h.messages.Update(ctx, ids, change)
}

type messageDeletion struct {
	IDs             []int64 `query:"ids" required:"true" uniqueItems:"true" selector:"true" doc:"Ids of messages." example:"[1]"`
	DeleteLogically *bool   `query:"deleteLogically" doc:"Whether the messages only get a deletion date; absent: app.service.message.delete-message-logically-by-default."`
}

func (h messageHandlers) delete(ctx context.Context, in *messageDeletion) (int64, error) {
	return h.messages.Delete(ctx, in.IDs, in.DeleteLogically)
}
