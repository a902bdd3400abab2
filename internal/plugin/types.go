// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"time"

	"example.org/app/internal/wire"
)

// The types in this file are what extensions get and answer. Plugins see them by the names in the
// json tags: in JavaScript as objects, where int64 is a decimal string, time.Time a Date, []byte
// base64 text and an enum its name, and where protobuf messages follow the JSON mapping of
// protobuf; in Java as records, where nullable types are pointers here. What is omitted is
// undefined or null there. Texts with the tag trace:"plain" are recorded as they are when calls are
// traced; of others only the length is, unless the settings say otherwise.

// AdminAction is an operation of an administrator.
type AdminAction struct {
	// AdminID is nil if nobody was authenticated.
	AdminID     *int64    `json:"adminId,omitempty"`
	IP          string    `json:"ip"`
	RequestTime time.Time `json:"requestTime"`
	// Action is the name of the operation; it is empty if there is no such operation.
	Action string `json:"action,omitempty" trace:"plain"`
	// Params are the parameters and the body, with secrets masked.
	Params map[string]any `json:"params"`
	// ProcessingTime is in milliseconds.
	ProcessingTime int32 `json:"processingTime"`
	// Code is the business status code of the answer.
	Code int32 `json:"code"`
}

// UserLoginInfo is what a client says when it logs in.
type UserLoginInfo struct {
	Version             int32             `json:"version"`
	UserID              int64             `json:"userId"`
	Password            *string           `json:"password,omitempty"`
	LoggingInDeviceType wire.DeviceType   `json:"loggingInDeviceType"`
	DeviceDetails       map[string]string `json:"deviceDetails,omitempty"`
	UserStatus          *wire.UserStatus  `json:"userStatus,omitempty"`
	Location            *Location         `json:"location,omitempty"`
	IP                  string            `json:"ip"`
}

// Location is a place in degrees.
type Location struct {
	Longitude float32           `json:"longitude"`
	Latitude  float32           `json:"latitude"`
	Timestamp *time.Time        `json:"timestamp,omitempty"`
	Details   map[string]string `json:"details,omitempty"`
}

// ClientSessions are the sessions of one user on this gateway.
type ClientSessions struct {
	UserID     int64           `json:"userId"`
	UserStatus wire.UserStatus `json:"userStatus"`
	Sessions   []ClientSession `json:"sessions"`
}

// ClientSession is a session of a user on this gateway.
type ClientSession struct {
	ID            int32             `json:"id"`
	Version       int32             `json:"version"`
	UserID        int64             `json:"userId"`
	DeviceType    wire.DeviceType   `json:"deviceType"`
	DeviceDetails map[string]string `json:"deviceDetails,omitempty"`
	LoginDate     time.Time         `json:"loginDate"`
	LoginLocation *Location         `json:"loginLocation,omitempty"`
	IP            string            `json:"ip"`
}

// CloseReason is why a session ended.
type CloseReason struct {
	CloseStatus int32  `json:"closeStatus"`
	Code        *int32 `json:"businessStatusCode,omitempty"`
	Reason      string `json:"reason,omitempty"`
}

// ClientRequest is a request of a client on its way to the rules.
type ClientRequest struct {
	UserID     int64            `json:"userId"`
	DeviceType wire.DeviceType  `json:"deviceType"`
	ClientIP   string           `json:"clientIp"`
	RequestID  int64            `json:"requestId"`
	Request    *wire.AppRequest `json:"request"`
}

// RequestHandlerResult is the answer to a client request and who is told of it.
type RequestHandlerResult struct {
	// Code is 1000 if it is 0.
	Code          int32                      `json:"code,omitempty"`
	Reason        string                     `json:"reason,omitempty" trace:"plain"`
	Response      *wire.AppNotification_Data `json:"response,omitempty"`
	Notifications []Notification             `json:"notifications,omitempty"`
}

// Notification tells users of a request.
type Notification struct {
	ForwardToRequesterOtherOnlineSessions bool             `json:"forwardToRequesterOtherOnlineSessions,omitempty"`
	Recipients                            []int64          `json:"recipients,omitempty"`
	Notification                          *wire.AppRequest `json:"notification"`
}

// StoredMessage is a stored message.
type StoredMessage struct {
	ID               int64      `json:"id"`
	ConversationID   []byte     `json:"conversationId,omitempty"`
	IsGroupMessage   bool       `json:"isGroupMessage"`
	IsSystemMessage  bool       `json:"isSystemMessage"`
	DeliveryDate     time.Time  `json:"deliveryDate"`
	ModificationDate *time.Time `json:"modificationDate,omitempty"`
	DeletionDate     *time.Time `json:"deletionDate,omitempty"`
	RecallDate       *time.Time `json:"recallDate,omitempty"`
	Text             *string    `json:"text,omitempty"`
	SenderID         int64      `json:"senderId"`
	SenderIP         string     `json:"senderIp,omitempty"`
	TargetID         int64      `json:"targetId"`
	Records          [][]byte   `json:"records,omitempty"`
	BurnAfter        *int32     `json:"burnAfter,omitempty"`
	ReferenceID      *int64     `json:"referenceId,omitempty"`
	SequenceID       *int32     `json:"sequenceId,omitempty"`
	PreMessageID     *int64     `json:"preMessageId,omitempty"`
}

// DateRange is from Start, inclusive, to End, exclusive; nil is open.
type DateRange struct {
	Start *time.Time `json:"start,omitempty"`
	End   *time.Time `json:"end,omitempty"`
}

// StorageResourceInfo describes a stored file.
type StorageResourceInfo struct {
	IDNum        *int64    `json:"idNum,omitempty"`
	IDStr        *string   `json:"idStr,omitempty"`
	Name         string    `json:"name"`
	MediaType    string    `json:"mediaType"`
	UploaderID   int64     `json:"uploaderId"`
	CreationDate time.Time `json:"creationDate"`
}

// Meeting is a conference.
type Meeting struct {
	ID           int64      `json:"id"`
	CreatorID    int64      `json:"creatorId"`
	UserID       *int64     `json:"userId,omitempty"`
	GroupID      *int64     `json:"groupId,omitempty"`
	Name         *string    `json:"name,omitempty"`
	Intro        *string    `json:"intro,omitempty"`
	Password     *string    `json:"password,omitempty"`
	CreationDate time.Time  `json:"creationDate"`
	StartDate    time.Time  `json:"startDate"`
	EndDate      *time.Time `json:"endDate,omitempty"`
	CancelDate   *time.Time `json:"cancelDate,omitempty"`
}

// CreateMeetingOptions limit a meeting.
type CreateMeetingOptions struct {
	MaxParticipants   *int32 `json:"maxParticipants,omitempty"`
	IdleTimeoutMillis *int64 `json:"idleTimeoutMillis,omitempty"`
}

// MeetingAccess lets somebody into a meeting.
type MeetingAccess struct {
	AccessToken string `json:"accessToken"`
}

// DomainEvent is a change of a user, a group, a message or a session. It names what changed and has
// no values: the admin API tells how that is now.
type DomainEvent struct {
	// ID is its place among all events, by which one that comes again is known. DomainEventHandlers
	// get events without it.
	ID *int64 `json:"id,omitempty"`
	// Type is USER_CREATED, USER_UPDATED, USER_DELETED, GROUP_CREATED, GROUP_UPDATED,
	// GROUP_DISSOLVED, MEMBER_JOINED, MEMBER_LEFT, MESSAGE_STORED, MESSAGE_UPDATED or
	// MESSAGE_DELETED; for DomainEventHandlers also SESSION_OPENED or SESSION_CLOSED.
	Type string    `json:"type"`
	Date time.Time `json:"date"`
	// UserID is the user, the member, the owner of a session, or the sender of a message that was
	// stored.
	UserID *int64 `json:"userId,omitempty"`
	// GroupID is the group, or the one that a message that was stored is for.
	GroupID   *int64 `json:"groupId,omitempty"`
	MessageID *int64 `json:"messageId,omitempty"`
	// TargetID is the user that a message that was stored is for.
	TargetID *int64 `json:"targetId,omitempty"`
	// SessionID is the session of a user that was opened or closed.
	SessionID *int64 `json:"sessionId,omitempty"`
}

// MeetingEndedEvent says that a meeting has ended.
type MeetingEndedEvent struct {
	MeetingID int64 `json:"meetingId"`
	// Timestamp is when; nil is now.
	Timestamp *time.Time `json:"timestamp,omitempty"`
}
