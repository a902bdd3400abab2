// SPDX-License-Identifier: Apache-2.0

package config

// MessageTimeType defines whose clock sets the delivery date of a message.
type MessageTimeType string

// The kinds of delivery dates.
const (
	MessageClientTime MessageTimeType = "CLIENT_TIME"
	MessageServerTime MessageTimeType = "LOCAL_SERVER_TIME"
)

// Message holds the rules about messages.
type Message struct {
	UseConversationID                bool              `default:"false" mutable:"false" doc:"Whether messages have the id of their conversation, so that one query can return both directions of a private conversation."`
	SequenceID                       MessageSequenceID `mutable:"false" doc:"Sequence numbers of the messages of a conversation."`
	TimeType                         MessageTimeType   `default:"LOCAL_SERVER_TIME" enum:"CLIENT_TIME,LOCAL_SERVER_TIME" doc:"Whether the delivery date of a message is the one in the request or the time of the server."`
	CheckIfTargetActiveAndNotDeleted bool              `default:"true" doc:"Whether the recipient of a private message, or the group of a group message, must be active, and its sender not muted there."`
	MaxTextLimit                     int32             `default:"500" min:"0" doc:"The maximum number of characters of a message."`
	MaxRecordsSizeBytes              int32             `default:"15728640" min:"0" doc:"The maximum number of bytes of all records of a message."`
	PersistMessage                   bool              `default:"true" doc:"Whether messages are stored."`
	PersistRecord                    bool              `default:"false" doc:"Whether the records of messages are stored; those of system messages always are."`
	PersistPreMessageID              bool              `default:"false" doc:"Whether the id of the previous message is stored with a message."`
	PersistSenderIP                  bool              `default:"false" doc:"Whether the address of the sender is stored."`
	MessageRetentionPeriodHours      int32             `default:"0" min:"0" doc:"The time for which messages are kept; 0 means forever."`
	ExpiredMessagesCleanupCron       string            `default:"0 45 2 * * *" required:"true" mutable:"false" global:"false" doc:"The times at which messages past their retention are deleted: second, minute, hour, day of month, month, day of week."`
	DeleteMessageLogicallyByDefault  bool              `default:"true" doc:"Whether a deleted message is kept with a deletion date if the request does not specify it."`
	IsRecalledMessageVisible         bool              `default:"false" doc:"Whether users can query and forward messages that were recalled."`
	AllowSendMessagesToStranger      bool              `default:"true" doc:"Whether users may send messages to users who have no relationship with them."`
	AllowSendMessagesToOneself       bool              `default:"false" doc:"Whether users may send messages to themselves."`
	AllowRecallMessage               bool              `default:"true" doc:"Whether senders may recall messages."`
	AllowEditMessageBySender         bool              `default:"true" doc:"Whether senders may edit messages."`
	IdempotencyKeyLifetimeMinutes    int32             `default:"60" min:"5" doc:"The lifetime of the idempotency key of a request: during this time a request with the same key creates no second message, group, invitation, join request, friend request or group of friends."`
	AvailableRecallDurationSeconds   int32             `default:"300" min:"0" doc:"The time after its delivery for which a message can be recalled."`

	DefaultAvailableMessagesNumberWithoutTotal int32 `default:"1000" min:"0" doc:"The number of messages that a query without a size returns."`
	MaxAvailableMessagesNumberWithoutTotal     int32 `default:"1000" min:"0" doc:"The maximum number of messages that a query returns."`
	DefaultAvailableMessagesNumberWithTotal    int32 `default:"1" min:"0" doc:"The number of messages that a query with totals and without a size returns."`
	MaxAvailableMessagesNumberWithTotal        int32 `default:"1000" min:"0" doc:"The maximum number of messages that a query with totals returns."`
}

// MessageSequenceID selects which messages get sequence numbers.
type MessageSequenceID struct {
	UseSequenceIDForGroupConversation   bool `default:"false" doc:"Whether the messages of each group are numbered."`
	UseSequenceIDForPrivateConversation bool `default:"false" doc:"Whether the messages between two users are numbered."`
}
