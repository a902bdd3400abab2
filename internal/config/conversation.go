// SPDX-License-Identifier: Apache-2.0

package config

// Conversation holds the rules about conversations.
type Conversation struct {
	ReadReceipt  ReadReceipt  `doc:"Up to when users have read conversations."`
	TypingStatus TypingStatus `doc:"Whether users see that others are typing."`
	Settings     Settings     `doc:"What users keep on the server about each of their conversations."`
}

// ReadReceipt holds the rules about read dates.
type ReadReceipt struct {
	Enabled                               bool `default:"true" doc:"Whether users may say up to when they have read a conversation."`
	AllowMoveReadDateForward              bool `default:"false" doc:"Whether a read date may be replaced by an earlier one."`
	UseServerTime                         bool `default:"true" doc:"Whether the time of the server replaces the read date that a user says."`
	UpdateReadDateWhenUserQueryingMessage bool `default:"false" doc:"Whether a user who queries messages has read the conversation."`
	UpdateReadDateAfterMessageSent        bool `default:"true" doc:"Whether a user who sends a message has read the conversation."`
}

// TypingStatus holds the rules about typing.
type TypingStatus struct {
	Enabled bool `default:"true" doc:"Whether users may say that they are typing."`
}
