// SPDX-License-Identifier: Apache-2.0

package config

// Group holds the rules about groups.
type Group struct {
	ActivateGroupWhenCreated       bool             `default:"true" doc:"Whether a new group is active if the request does not specify it."`
	AllowGroupOwnerChangeGroupType bool             `default:"false" doc:"Whether the owner of a group may change its type."`
	DeleteGroupLogicallyByDefault  bool             `default:"true" doc:"Whether a deleted group is kept with a deletion date if the request does not specify it."`
	Info                           GroupInfo        `doc:"The profiles of groups."`
	Invitation                     GroupInvitation  `doc:"Invitations to groups."`
	JoinRequest                    GroupJoinRequest `doc:"Requests to join groups."`
	Question                       GroupQuestion    `doc:"Questions that users must answer to join a group."`
}

// GroupInfo contains the rules about the descriptions of groups.
type GroupInfo struct {
	UserDefinedAttributes UserDefinedAttributes `doc:"Additional attributes of groups."`
}

// GroupInvitation holds the rules about invitations to groups.
type GroupInvitation struct {
	MaxContentLength                              int32  `default:"200" min:"0" doc:"The maximum number of characters of an invitation; 0 means no limit."`
	MaxResponseReasonLength                       int32  `default:"200" min:"0" doc:"The maximum number of characters of the reason of a response to an invitation; 0 means no limit."`
	AllowRecallPendingInvitationByOwnerAndManager bool   `default:"false" doc:"Whether the owner and the managers of a group may recall a pending invitation."`
	AllowRecallPendingInvitationBySender          bool   `default:"false" doc:"Whether users may recall their own pending invitations."`
	ExpireAfterSeconds                            int32  `default:"2592000" min:"0" doc:"The time for which an invitation can be answered; 0 means no limit."`
	DeleteExpiredInvitationsWhenCronTriggered     bool   `default:"false" doc:"Whether the clean-up deletes expired invitations."`
	ExpiredInvitationsCleanupCron                 string `default:"0 15 2 * * *" required:"true" mutable:"false" global:"false" doc:"The times at which expired invitations are deleted: second, minute, hour, day of month, month, day of week."`
}

// GroupJoinRequest contains the rules about requests to join groups.
type GroupJoinRequest struct {
	MaxContentLength                           int32  `default:"200" min:"0" doc:"The maximum number of characters of a request; 0 means no limit."`
	MaxResponseReasonLength                    int32  `default:"200" min:"0" doc:"The maximum number of characters of the reason of a response to a request; 0 means no limit."`
	AllowRecallPendingJoinRequestBySender      bool   `default:"false" doc:"Whether users may recall their own pending requests."`
	ExpireAfterSeconds                         int32  `default:"2592000" min:"0" doc:"The time for which a request can be answered; 0 means no limit."`
	DeleteExpiredJoinRequestsWhenCronTriggered bool   `default:"false" doc:"Whether the clean-up deletes expired requests."`
	ExpiredJoinRequestsCleanupCron             string `default:"0 30 2 * * *" required:"true" mutable:"false" global:"false" doc:"The times at which expired requests are deleted: second, minute, hour, day of month, month, day of week."`
}

// GroupQuestion limits the questions of groups.
type GroupQuestion struct {
	QuestionContentLimit int32 `default:"200" min:"0" doc:"The maximum number of characters of a question; 0 means no limit."`
	AnswerContentLimit   int32 `default:"50" min:"0" doc:"The maximum number of characters of an answer; 0 means no limit."`
	MaxAnswerCount       int32 `default:"10" min:"0" doc:"The maximum number of answers to a question; 0 means no limit."`
}
