// SPDX-License-Identifier: Apache-2.0

// Package link is where gateways and services meet: the calls between the two roles, declared once for both. It has
// no rule and no connection; a role never imports the other, both import this.
package link

import (
	"net/netip"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// HandleRequest lets a service answer a request of a client that a gateway does not answer itself.
var HandleRequest = cluster.Endpoint[Request, Response]{Name: "client.request", Role: role.Service, Codec: codec{}, Direct: true}

// A Request is a client's request as a gateway passes it on.
type Request struct {
	UserID    int64
	Device    wire.DeviceType
	SessionID int32
	// IP is the address of the client.
	IP netip.Addr
	// Payload is the AppRequest as it came.
	Payload []byte
	// Conversation stands for the conversation that a new message goes to, see wire.ConversationKey: requests of one
	// conversation are carried out in the order in which they arrive. 0 is none.
	Conversation uint64
	// Key identifies the request, so that it can be sent to another service without being carried out twice. It is nil for
	// requests that are sent once.
	Key []byte
	// Repeated says that the request was sent to another service before, which does not answer any more.
	Repeated bool
}

// A Response is what the gateway answers. Refusals are responses too; an error of the call means that no service
// could answer.
type Response struct {
	Code   int32
	Reason string
	// Data is an encoded AppNotification.Data; nil is none.
	Data []byte
	// Corrupted tells the gateway that the request could not be decoded, which counts against the client.
	Corrupted bool
}

// VerifyPassword asks a service whether a user may log in with a password.
var VerifyPassword = cluster.Endpoint[Credentials, Verdict]{Name: "client.password", Role: role.Service, Direct: true}

// Credentials are what somebody says to be.
type Credentials struct {
	UserID int64 `json:"userId"`
	// Password is nil if none was sent.
	Password *string `json:"password,omitempty"`
}

// A Verdict is 1000, or why the login is refused: 2011 or 2012.
type Verdict struct {
	Code int32 `json:"code"`
}

// Deliver lets a gateway send a notification to sessions. It goes to a named node.
var Deliver = cluster.Endpoint[Delivery, Delivered]{Name: "session.deliver", Codec: codec{}, Direct: true}

// A Delivery is a notification and whom it is for: every session of the recipients on the gateway.
type Delivery struct {
	// Notification is an encoded AppNotification, written to the sockets as it is.
	Notification []byte
	Recipients   []int64
	// Except leaves out one session, that of the requester; nil leaves out none.
	Except *Session
	// Message is set if the notification is a message whose place among those of its conversation matters.
	Message *MessageOrder
}

// A MessageOrder is the place of a message in its conversation. Gateways get the messages of a conversation by rising ids,
// unless two services have some of them at the same time.
type MessageOrder struct {
	// Conversation stands for the conversation, as that of a Request.
	Conversation uint64
	ID           int64
	// Service is the id of the node that stored it.
	Service string
	// Stored is a time of the cluster at which the message was stored: sessions that began later find it when they ask for
	// what is new.
	Stored time.Time
}

// HandOver lets the service that has a conversation deliver what another one has stored: a message of an administrator or of a
// plugin. It delivers everything of the conversation, so that all members get it in one order.
var HandOver = cluster.Endpoint[Handed, struct{}]{Name: "message.hand-over", Role: role.Service}

// A Handed is a notification of a message that is to be delivered among the others of its conversation.
type Handed struct {
	// Conversation stands for the conversation, as that of a Request.
	Conversation uint64 `json:"conversation"`
	// Notification is an encoded AppNotification.
	Notification []byte `json:"notification"`
	// SenderID and TargetID are those of the message, IsGroup says that the target is a group.
	SenderID int64 `json:"senderId"`
	TargetID int64 `json:"targetId"`
	IsGroup  bool  `json:"isGroup,omitempty"`
	// ToRecipients is whether the recipients of the message get it, ToSender whether the sender's sessions on other devices than
	// Device do.
	ToRecipients bool            `json:"toRecipients,omitempty"`
	ToSender     bool            `json:"toSender,omitempty"`
	Device       wire.DeviceType `json:"device,omitempty"`
}

// A Session is named by its user and the kind of device.
type Session struct {
	UserID int64           `json:"userId"`
	Device wire.DeviceType `json:"device"`
}

// Delivered says how far a delivery came.
type Delivered struct {
	// Sessions is how many it was written to.
	Sessions int `json:"sessions"`
	// Missed are recipients without session on the gateway.
	Missed []int64 `json:"missed,omitempty"`
}

// Disconnect lets a gateway close sessions. It goes to a named node.
var Disconnect = cluster.Endpoint[Disconnection, Disconnected]{Name: "session.disconnect"}

// A Disconnection selects sessions: those of the users, those with the ids and those from the addresses.
type Disconnection struct {
	UserIDs []int64 `json:"userIds,omitempty"`
	// Devices restricts UserIDs; none is all.
	Devices    []wire.DeviceType `json:"devices,omitempty"`
	SessionIDs []int32           `json:"sessionIds,omitempty"`
	IPs        []netip.Addr      `json:"ips,omitempty"`
	// All selects every session of the gateway.
	All bool `json:"all,omitempty"`
	// Before leaves out sessions whose login began later, by the clock of the cluster: when a request is repeated, they
	// have nothing to do with its cause. Zero leaves out none.
	Before time.Time        `json:"before,omitzero"`
	Status wire.CloseStatus `json:"status"`
}

// Disconnected says how many sessions were closed.
type Disconnected struct {
	Sessions int `json:"sessions"`
}
