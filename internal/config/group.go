// SPDX-License-Identifier: Apache-2.0

package config

// Group holds the rules about groups.
type Group struct {
	ActivateGroupWhenCreated       bool             `default:"true" doc:"Whether a new group is active when its creator says nothing of it."`
	AllowGroupOwnerChangeGroupType bool             `default:"false" doc:"Whether the owner of a group may give it another type."`
	DeleteGroupLogicallyByDefault  bool             `default:"true" doc:"Whether a deleted group is kept with a deletion date when the caller says nothing of it."`
	Info                           GroupInfo        `doc:"What groups say of themselves."`
	Invitation                     GroupInvitation  `doc:"Invitations to groups."`
	JoinRequest                    GroupJoinRequest `doc:"Requests to be let into groups."`
	Question                       GroupQuestion    `doc:"Questions that groups ask of those who want to join."`
}

// GroupInfo holds the rules about what groups say of themselves.
type GroupInfo struct {
	UserDefinedAttributes UserDefinedAttributes `doc:"What groups say of themselves beyond that."`
}

// GroupInvitation holds the rules about invitations to groups.
type GroupInvitation struct {
	MaxContentLength                              int32  `default:"200" min:"0" doc:"The greatest number of characters of an invitation; 0 means without limit."`
	MaxResponseReasonLength                       int32  `default:"200" min:"0" doc:"The greatest number of characters of the reason that comes with the answer to an invitation; 0 means without limit."`
	AllowRecallPendingInvitationByOwnerAndManager bool   `default:"false" doc:"Whether the owner and the managers of a group may take back an invitation that is not answered yet."`
	AllowRecallPendingInvitationBySender          bool   `default:"false" doc:"Whether users may take back an invitation of their own that is not answered yet."`
	ExpireAfterSeconds                            int32  `default:"2592000" min:"0" doc:"How long an invitation can be answered; 0 means for ever."`
	DeleteExpiredInvitationsWhenCronTriggered     bool   `default:"false" doc:"Whether invitations that expired are deleted at the times of the clean-up."`
	ExpiredInvitationsCleanupCron                 string `default:"0 15 2 * * *" required:"true" mutable:"false" global:"false" doc:"When expired invitations are deleted: second, minute, hour, day of month, month, day of week."`
}

// GroupJoinRequest holds the rules about requests to be let into groups.
type GroupJoinRequest struct {
	MaxContentLength                           int32  `default:"200" min:"0" doc:"The greatest number of characters of a request; 0 means without limit."`
	MaxResponseReasonLength                    int32  `default:"200" min:"0" doc:"The greatest number of characters of the reason that comes with the answer to a request; 0 means without limit."`
	AllowRecallPendingJoinRequestBySender      bool   `default:"false" doc:"Whether users may take back a request of their own that is not answered yet."`
	ExpireAfterSeconds                         int32  `default:"2592000" min:"0" doc:"How long a request can be answered; 0 means for ever."`
	DeleteExpiredJoinRequestsWhenCronTriggered bool   `default:"false" doc:"Whether requests that expired are deleted at the times of the clean-up."`
	ExpiredJoinRequestsCleanupCron             string `default:"0 30 2 * * *" required:"true" mutable:"false" global:"false" doc:"When expired requests are deleted: second, minute, hour, day of month, month, day of week."`
}

// GroupQuestion holds the limits of the questions that groups ask.
type GroupQuestion struct {
	QuestionContentLimit int32 `default:"200" min:"0" doc:"The greatest number of characters of a question; 0 means without limit."`
	AnswerContentLimit   int32 `default:"50" min:"0" doc:"The greatest number of characters of an answer; 0 means without limit."`
	MaxAnswerCount       int32 `default:"10" min:"0" doc:"The greatest number of answers to a question; 0 means without limit."`
}
