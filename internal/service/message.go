// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/message"
	"example.org/app/internal/link"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// messageHandlers answers requests about messages.
type messageHandlers struct {
	audiences
	directory *message.Directory
	keys      keys
}

func (h messageHandlers) create(ctx context.Context, r *Request, body *wire.CreateMessageRequest) (Answer, error) {
	if body.GetIsSystemMessage() {
		return Answer{}, apierr.New(apierr.IllegalArgument, "isSystemMessage: only the server sends system messages")
	}
	c := message.Creation{
		SenderID: &r.UserID, SenderIP: r.IP, SenderDevice: r.Device.String(),
		Text: body.Text, Records: body.GetRecords(), MayBeEmpty: true, BurnAfter: body.BurnAfter,
		ReferenceID: body.MessageId, PreMessageID: body.PreMessageId, DeliveryDate: date(body.DeliveryDate),
		Deliver: true, Origin: origin{r.AppRequest, r.kept, r.pendingSends}, Turn: r.turn,
	}
	var err error
	if c.Key, err = h.keys.ofMessage(r); err != nil {
		return Answer{}, err
	}
	switch {
	case body.GroupId != nil:
		c.IsGroupMessage, c.TargetID = true, body.GetGroupId()
	case body.RecipientId != nil:
		c.TargetID = body.GetRecipientId()
	default:
		return Answer{}, apierr.New(apierr.IllegalArgument, "groupId or recipientId is required")
	}
	m, err := h.directory.Send(ctx, c)
	if err != nil {
		return Answer{}, err
	}
	if !h.settings().Message.PersistMessage {
		return Answer{}, nil
	}
	return long(m.ID), nil
}

func (h messageHandlers) update(ctx context.Context, r *Request, body *wire.UpdateMessageRequest) (Answer, error) {
	e := message.Edit{Text: body.Text, RecallDate: date(body.RecallDate), Origin: origin{r.AppRequest, r.kept, r.pendingSends}, Turn: r.turn}
	if records := body.GetRecords(); len(records) > 0 {
		e.Records = &records
	}
	return Answer{}, h.directory.UpdateBySender(ctx, r.UserID, r.Device.String(), body.GetMessageId(), e)
}

func (h messageHandlers) query(ctx context.Context, r *Request, body *wire.QueryMessagesRequest) (Answer, error) {
	if body.AreGroupMessages == nil {
		return Answer{}, apierr.New(apierr.InvalidRequest, "areGroupMessages is required")
	}
	q := message.Query{
		IDs: body.GetIds(), AreGroupMessages: body.GetAreGroupMessages(), AreSystemMessages: body.AreSystemMessages,
		FromIDs: body.GetFromIds(), DeliveryDate: store.DateRange{Start: date(body.DeliveryDateStart), End: date(body.DeliveryDateEnd)},
		MaxCount: body.MaxCount, Descending: body.GetDescending(),
	}
	if !body.GetWithTotal() {
		found, err := h.directory.Query(ctx, r.UserID, q)
		if err != nil || len(found) == 0 {
			return noContent, err
		}
		return Answer{Data: &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_Messages{
			Messages: &wire.Messages{Messages: convert(found, wireMessage)},
		}}}, nil
	}
	parts, err := h.directory.QueryWithTotal(ctx, r.UserID, q)
	if err != nil || len(parts) == 0 {
		return noContent, err
	}
	list := convert(parts, func(p message.Part) *wire.MessagesWithTotal {
		return &wire.MessagesWithTotal{
			Total: int32(p.Total), IsGroupMessage: q.AreGroupMessages, FromId: p.FromID, Messages: convert(p.Messages, wireMessage),
		}
	})
	return Answer{Data: &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_MessagesWithTotalList{
		MessagesWithTotalList: &wire.MessagesWithTotalList{MessagesWithTotalList: list},
	}}}, nil
}

// wireMessage converts a stored message to its wire form.
func wireMessage(m store.Message) *wire.Message {
	out := &wire.Message{
		Id: &m.ID, DeliveryDate: millis(m.DeliveryDate), ModificationDate: millisOrNil(m.ModificationDate), Text: m.Text,
		SenderId: &m.SenderID, IsSystemMessage: &m.IsSystemMessage, RecipientId: &m.TargetID, Records: m.Records,
		SequenceId: m.SequenceID, PreMessageId: m.PreMessageID,
	}
	if m.IsGroupMessage {
		out.GroupId = &m.TargetID
	}
	return out
}

// A Deliverer delivers messages to online users. It implements the Deliverer of package message.
type Deliverer struct {
	Notifier *Notifier
	// Settings returns the notification settings.
	Settings func() config.Notification
}

// Deliver queues a message for delivery.
func (c *Deliverer) Deliver(ctx context.Context, d message.Delivery) error {
	flags := c.Settings().MessageCreated
	if d.Event == message.Updated {
		flags = c.Settings().MessageUpdated
	}
	m := d.Message
	e := task{
		ctx: ctx, notification: &wire.AppNotification{RequesterId: &m.SenderID, RelayedRequest: relayOf(d)}, requester: m.SenderID,
	}
	if m.IsSystemMessage {
		e.notification.RequestId = proto.Int64(0)
	}
	node := c.Notifier.node
	switch {
	case node.Cluster().Exclusive():
	case !d.InOrder && d.Event == message.Created:
		e.stored = &link.StoredMessage{Conversation: conversationKey(m), ID: m.ID}
	case d.InOrder:
		e.message = &link.MessageOrder{Conversation: conversationKey(m), ID: m.ID, Service: node.ID(), Stored: node.Cluster().Now()}
	}
	if flags.NotifyMessageRecipients {
		e.to = d.Recipients
	}
	if device, ok := wire.DeviceType_value[d.SenderDevice]; ok && flags.NotifyRequesterOtherOnlineSessions {
		e.self, e.device = true, wire.DeviceType(device)
	}
	from, _ := d.Origin.(origin)
	e.pendingSends = from.pendingSends
	switch {
	case e.to == nil && !e.self:
	case from.kept != nil && !m.IsSystemMessage: // Messages of the server itself are no notifications of a request.
		from.kept.add(conversationOf(m), e)
	case !d.InTurn && !c.Notifier.node.Cluster().Exclusive():
		return c.Notifier.handOver(m, e)
	default:
		c.Notifier.send(conversationOf(m), e)
	}
	return nil
}

// conversationOf returns a number for the conversation of a message, the same in both directions.
func conversationOf(m store.Message) int64 {
	if m.IsGroupMessage {
		return m.TargetID
	}
	return m.TargetID ^ m.SenderID
}

// conversationKey returns the key by which gateways identify the conversation of a message.
func conversationKey(m store.Message) uint64 {
	if m.IsGroupMessage {
		return wire.GroupConversationKey(m.TargetID)
	}
	return wire.PrivateConversationKey(m.SenderID, m.TargetID)
}

// relayOf returns what recipients of a message get: the request of the sender, completed by what
// the server decided. It shares immutable parts with the request.
func relayOf(d message.Delivery) *wire.AppRequest {
	relay := &wire.AppRequest{}
	from, _ := d.Origin.(origin)
	if request := from.request; request != nil {
		relay.RequestId, relay.CustomAttributes = request.RequestId, request.CustomAttributes
		keepUnknown(relay, request)
	}
	if d.Event == message.Updated {
		body := from.request.GetUpdateMessageRequest()
		if body == nil {
			body = &wire.UpdateMessageRequest{MessageId: d.Message.ID, Text: d.Edit.Text, RecallDate: millisOrNil(d.Edit.RecallDate)}
			if d.Edit.Records != nil {
				body.Records = *d.Edit.Records
			}
		}
		relay.Kind = &wire.AppRequest_UpdateMessageRequest{UpdateMessageRequest: body}
		return relay
	}
	m := d.Message
	body := &wire.CreateMessageRequest{
		MessageId: &m.ID, DeliveryDate: millis(m.DeliveryDate), Text: m.Text, Records: m.Records, BurnAfter: m.BurnAfter, PreMessageId: m.PreMessageID,
	}
	if asked := from.request.GetCreateMessageRequest(); asked != nil {
		body.IsSystemMessage, body.GroupId, body.RecipientId, body.CustomAttributes = asked.IsSystemMessage, asked.GroupId, asked.RecipientId, asked.CustomAttributes
		keepUnknown(body, asked)
	}
	if m.IsSystemMessage {
		body.IsSystemMessage = proto.Bool(true)
	}
	if m.IsGroupMessage {
		body.GroupId = &m.TargetID
	} else {
		body.RecipientId = &m.TargetID
	}
	relay.Kind = &wire.AppRequest_CreateMessageRequest{CreateMessageRequest: body}
	return relay
}

// keepUnknown copies unknown fields, which a newer client has sent.
func keepUnknown(to, from proto.Message) {
	if unknown := from.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		to.ProtoReflect().SetUnknown(unknown)
	}
}

func date(millis *int64) *time.Time {
	if millis == nil {
		return nil
	}
	t := time.UnixMilli(*millis).UTC()
	return &t
}

func millis(t time.Time) *int64 {
	n := t.UnixMilli()
	return &n
}

func millisOrNil(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	return millis(*t)
}

// convert converts each element of a list.
func convert[In, Out any](list []In, fn func(In) Out) []Out {
	out := make([]Out, len(list))
	for i, in := range list {
		out[i] = fn(in)
	}
	return out
}
