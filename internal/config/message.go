// SPDX-License-Identifier: Apache-2.0

package config

// MessageTimeType says whose time the delivery date of a message is.
type MessageTimeType string

// The kinds of delivery dates.
const (
	MessageClientTime MessageTimeType = "CLIENT_TIME"
	MessageServerTime MessageTimeType = "LOCAL_SERVER_TIME"
)

// Message holds the rules about messages.
type Message struct {
	UseConversationID                bool              `default:"false" mutable:"false" doc:"Whether messages have the id of their conversation, so that both directions of a private conversation can be queried at once."`
	SequenceID                       MessageSequenceID `mutable:"false" doc:"Numbers of the messages of a conversation."`
	TimeType                         MessageTimeType   `default:"LOCAL_SERVER_TIME" enum:"CLIENT_TIME,LOCAL_SERVER_TIME" doc:"Whether the delivery date of a message is the one that the client says or the time of the server."`
	CheckIfTargetActiveAndNotDeleted bool              `default:"true" doc:"Whether the recipient of a private message, or the group of a group message, must be active, and its sender not muted there."`
	MaxTextLimit                     int32             `default:"500" min:"0" doc:"The greatest number of characters of a message."`
	MaxRecordsSizeBytes              int32             `default:"15728640" min:"0" doc:"The greatest number of bytes of all records of a message."`
	PersistMessage                   bool              `default:"true" doc:"Whether messages are stored."`
	PersistRecord                    bool              `default:"false" doc:"Whether the records of messages are stored; those of system messages always are."`
	PersistPreMessageID              bool              `default:"false" doc:"Whether it is stored which message comes before a message."`
	PersistSenderIP                  bool              `default:"false" doc:"Whether the address of the sender is stored."`
	MessageRetentionPeriodHours      int32             `default:"0" min:"0" doc:"For how long messages are kept; 0 means for ever."`
	ExpiredMessagesCleanupCron       string            `default:"0 45 2 * * *" required:"true" mutable:"false" global:"false" doc:"When messages that are kept no longer are deleted: second, minute, hour, day of month, month, day of week."`
	DeleteMessageLogicallyByDefault  bool              `default:"true" doc:"Whether a deleted message is kept with a deletion date when the caller says nothing of it."`
	IsRecalledMessageVisible         bool              `default:"false" doc:"Whether users can query and forward messages that were recalled."`
	AllowSendMessagesToStranger      bool              `default:"true" doc:"Whether users may send messages to users who do not know them."`
	AllowSendMessagesToOneself       bool              `default:"false" doc:"Whether users may send messages to themselves."`
	AllowRecallMessage               bool              `default:"true" doc:"Whether senders may recall messages."`
	AllowEditMessageBySender         bool              `default:"true" doc:"Whether senders may edit messages."`
	IdempotencyKeyLifetimeMinutes    int32             `default:"60" min:"5" doc:"For how long the idempotency key of a request is remembered: a request with the same key makes no second message, group, invitation, join request, friend request or group of friends in that time."`
	AvailableRecallDurationSeconds   int32             `default:"300" min:"0" doc:"For how long after its delivery a message can be recalled."`

	DefaultAvailableMessagesNumberWithoutTotal int32 `default:"1000" min:"0" doc:"How many messages a user gets who does not say how many."`
	MaxAvailableMessagesNumberWithoutTotal     int32 `default:"1000" min:"0" doc:"The greatest number of messages that a user gets at once."`
	DefaultAvailableMessagesNumberWithTotal    int32 `default:"1" min:"0" doc:"How many messages a user gets who asks for totals and does not say how many."`
	MaxAvailableMessagesNumberWithTotal        int32 `default:"1000" min:"0" doc:"The greatest number of messages that a user who asks for totals gets at once."`
}

// MessageSequenceID says which messages are numbered.
type MessageSequenceID struct {
	UseSequenceIDForGroupConversation   bool `default:"false" doc:"Whether the messages of each group are numbered."`
	UseSequenceIDForPrivateConversation bool `default:"false" doc:"Whether the messages of each two users are numbered."`
}
