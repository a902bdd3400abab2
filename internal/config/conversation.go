// SPDX-License-Identifier: Apache-2.0

package config

// Conversation holds the rules about conversations.
type Conversation struct {
	ReadReceipt  ReadReceipt  `doc:"The read dates of conversations."`
	TypingStatus TypingStatus `doc:"Typing notifications."`
	Settings     Settings     `doc:"Settings of users for their conversations."`
}

// ReadReceipt holds the rules about read dates.
type ReadReceipt struct {
	Enabled                               bool `default:"true" doc:"Whether users may set the read date of a conversation."`
	AllowMoveReadDateForward              bool `default:"false" doc:"Whether a read date may be replaced by an earlier one."`
	UseServerTime                         bool `default:"true" doc:"Whether the time of the server replaces the read date in the request."`
	UpdateReadDateWhenUserQueryingMessage bool `default:"false" doc:"Whether querying messages updates the read date of the conversation."`
	UpdateReadDateAfterMessageSent        bool `default:"true" doc:"Whether sending a message updates the read date of the conversation."`
}

// TypingStatus holds the rules about typing.
type TypingStatus struct {
	Enabled bool `default:"true" doc:"Whether users may send typing statuses."`
}
