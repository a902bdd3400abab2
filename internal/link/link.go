// SPDX-License-Identifier: Apache-2.0

// Package link declares the calls between gateways and services. It has no rules and no
// connections. The roles never import each other; both import this package.
package link

import (
	"net/netip"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// HandleRequest calls a service to handle a client's request that the gateway does not handle
// itself.
var HandleRequest = cluster.Endpoint[Request, Response]{Name: "client.request", Role: role.Service, Codec: codec{}, Direct: true}

// A Request is a client's request as a gateway passes it on.
type Request struct {
	UserID    int64
	Device    wire.DeviceType
	SessionID int32
	// IP is the address of the client.
	IP netip.Addr
	// Payload is the encoded AppRequest, unchanged.
	Payload []byte
	// Conversation identifies the conversation of a new message, see wire.ConversationKey:
	// requests of one conversation are executed in the order of arrival. 0 means none.
	Conversation uint64
	// Key identifies the request, so that it can be sent to another service without being
	// executed twice. It is nil for requests that are sent only once.
	Key []byte
	// Repeated is true if the request was sent before to a service that stopped responding.
	Repeated bool
}

// A Response is the response for the client. Refused requests have responses too; an error of
// the call means that no service responded.
type Response struct {
	Code   int32
	Reason string
	// Data is an encoded AppNotification.Data; nil means none.
	Data []byte
	// Corrupted is true if the request could not be decoded, which the gateway counts against the
	// client.
	Corrupted bool
}

// VerifyPassword asks a service whether a user may log in with a password.
var VerifyPassword = cluster.Endpoint[Credentials, Verdict]{Name: "client.password", Role: role.Service, Direct: true}

// Credentials are the claimed identity of a client.
type Credentials struct {
	UserID int64 `json:"userId"`
	// Password is nil if none was sent.
	Password *string `json:"password,omitempty"`
}

// A Verdict is 1000, or the reason to refuse the login: 2011 or 2012.
type Verdict struct {
	Code int32 `json:"code"`
}

// Deliver calls a gateway to deliver a notification to sessions. It goes to a named node.
var Deliver = cluster.Endpoint[Delivery, Delivered]{Name: "session.deliver", Codec: codec{}, Direct: true}

// A Delivery is a notification for every session of the recipients on the gateway.
type Delivery struct {
	// Notification is an encoded AppNotification, written to the sockets unchanged.
	Notification []byte
	Recipients   []int64
	// Except is the session that does not receive it, that of the requester; nil means none.
	Except *Session
	// Message is set if the notification is a message whose order in its conversation matters.
	Message *MessageOrder
	// Stored is set if the notification is another message that was stored.
	Stored *StoredMessage
}

// A StoredMessage identifies a message: the gateway remembers for a while that it delivered it.
type StoredMessage struct {
	// Conversation identifies the conversation, like that of a Request.
	Conversation uint64
	ID           int64
}

// A MessageOrder is the position of a message in its conversation. Gateways receive the
// messages of a conversation by increasing ids, unless two services handle some of them at the
// same time.
type MessageOrder struct {
	// Conversation identifies the conversation, like that of a Request.
	Conversation uint64
	ID           int64
	// Service is the id of the node that stored it.
	Service string
	// Stored is a time of the cluster at which the message was stored: sessions that began later
	// find it when they query new messages.
	Stored time.Time
}

// HandOver asks the service that owns a conversation to deliver what another one has stored: a
// message of an administrator or of a plugin. The owner delivers all messages of the
// conversation, so that all members receive them in the same order.
var HandOver = cluster.Endpoint[Handed, struct{}]{Name: "message.hand-over", Role: role.Service}

// A Handed is the notification of a message, to be delivered in the order of its conversation.
type Handed struct {
	// Conversation identifies the conversation, like that of a Request.
	Conversation uint64 `json:"conversation"`
	// Notification is an encoded AppNotification.
	Notification []byte `json:"notification"`
	// ID is that of a new message; 0 means another notification.
	ID int64 `json:"id,omitempty"`
	// SenderID and TargetID are those of the message; IsGroup is true if the target is a group.
	SenderID int64 `json:"senderId"`
	TargetID int64 `json:"targetId"`
	IsGroup  bool  `json:"isGroup,omitempty"`
	// ToRecipients selects the recipients of the message, ToSender the sender's sessions on other
	// devices than Device.
	ToRecipients bool            `json:"toRecipients,omitempty"`
	ToSender     bool            `json:"toSender,omitempty"`
	Device       wire.DeviceType `json:"device,omitempty"`
}

// A Session is identified by its user and device type.
type Session struct {
	UserID int64           `json:"userId"`
	Device wire.DeviceType `json:"device"`
}

// Delivered is the result of a delivery.
type Delivered struct {
	// Sessions is the number of sessions that it was written to.
	Sessions int `json:"sessions"`
	// Missed are recipients without session on the gateway.
	Missed []int64 `json:"missed,omitempty"`
}

// Disconnect calls a gateway to close sessions. It goes to a named node.
var Disconnect = cluster.Endpoint[Disconnection, Disconnected]{Name: "session.disconnect"}

// A Disconnection selects sessions: those of the users, those with the ids and those from the
// addresses.
type Disconnection struct {
	UserIDs []int64 `json:"userIds,omitempty"`
	// Devices restricts UserIDs to these device types; empty means all.
	Devices    []wire.DeviceType `json:"devices,omitempty"`
	SessionIDs []int32           `json:"sessionIds,omitempty"`
	IPs        []netip.Addr      `json:"ips,omitempty"`
	// All selects every session of the gateway.
	All bool `json:"all,omitempty"`
	// Before excludes sessions whose login began later, by the clock of the cluster: when a request
	// is repeated, they are unrelated to its cause. Zero excludes none.
	Before time.Time        `json:"before,omitzero"`
	Status wire.CloseStatus `json:"status"`
}

// Disconnected reports how many sessions were closed.
type Disconnected struct {
	Sessions int `json:"sessions"`
}

// CloseUnaware asks a gateway to close the sessions whose users did not get messages that a killed
// service had stored. It goes to a named node.
var CloseUnaware = cluster.Endpoint[Undelivered, Disconnected]{Name: "session.close-unaware"}

// An Undelivered lists messages that may not have been delivered.
type Undelivered struct {
	// Alive is a time until which the killed service was certainly running; it is zero if the
	// gateway has been told already.
	Alive         time.Time                 `json:"alive,omitzero"`
	Conversations []UndeliveredConversation `json:"conversations"`
}

// An UndeliveredConversation lists messages of a conversation, and those of its users who may have
// sessions on the gateway.
type UndeliveredConversation struct {
	// Conversation identifies the conversation, like that of a Request.
	Conversation uint64  `json:"conversation"`
	MessageIDs   []int64 `json:"messageIds"`
	UserIDs      []int64 `json:"userIds"`
	// SenderID is the sender, unless it is in UserIDs. It has sent the messages from one of its
	// sessions; others are closed only if there are several. 0 means none.
	SenderID int64 `json:"senderId,omitempty"`
}
