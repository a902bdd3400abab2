// SPDX-License-Identifier: Apache-2.0

package config

// Notification selects who is notified of users' actions. Each switch relays the request,
// unchanged, to the online sessions of some users; the types below contain the switches of one kind
// of event each.
type Notification struct {
	UserInfoUpdated                        NotifyOfUser               `doc:"A user changed their profile."`
	UserOnlineStatusUpdated                NotifyOfUser               `doc:"A user changed their online status."`
	UserSettingDeleted                     NotifyOfOwn                `doc:"A user deleted settings."`
	UserSettingUpdated                     NotifyOfOwn                `doc:"A user changed settings."`
	FriendRequestCreated                   NotifyOfFriendRequest      `doc:"A user sent a friend request."`
	FriendRequestRecalled                  NotifyOfFriendRequest      `doc:"A user recalled a friend request."`
	FriendRequestReplied                   NotifyOfFriendRequestReply `doc:"A user answered a friend request."`
	OneSidedRelationshipUpdated            NotifyOfRelationship       `doc:"A user changed a relationship."`
	OneSidedRelationshipGroupDeleted       NotifyOfRelationshipGroup  `doc:"A user removed a relationship group."`
	OneSidedRelationshipGroupUpdated       NotifyOfRelationshipGroup  `doc:"A user renamed a relationship group."`
	OneSidedRelationshipGroupMemberAdded   NotifyOfNewRelationship    `doc:"A user created a relationship."`
	OneSidedRelationshipGroupMemberRemoved NotifyOfEndedRelationship  `doc:"A user ended a relationship."`
	GroupCreated                           NotifyOfOwn                `doc:"A user made a group."`
	GroupDeleted                           NotifyOfGroup              `doc:"The owner deleted a group."`
	GroupUpdated                           NotifyOfGroup              `doc:"A group was changed or its ownership transferred."`
	GroupMemberAdded                       NotifyOfJoining            `doc:"Users joined a group."`
	GroupMemberRemoved                     NotifyOfLeaving            `doc:"Users left a group."`
	GroupMemberInfoUpdated                 NotifyOfMemberChange       `doc:"The role, name or mute end date of a group member was changed."`
	GroupMemberOnlineStatusUpdated         NotifyOfMemberStatus       `doc:"A member of a group changed their online status."`
	GroupBlockedUserAdded                  NotifyOfGroupBlock         `doc:"A user was blocked in a group."`
	GroupBlockedUserRemoved                NotifyOfGroupUnblock       `doc:"A user was unblocked in a group."`
	GroupInvitationAdded                   NotifyOfInvitation         `doc:"A user was invited to a group."`
	GroupInvitationRecalled                NotifyOfInvitation         `doc:"An invitation to a group was recalled."`
	GroupInvitationReplied                 NotifyOfInvitationReply    `doc:"An invitation to a group was answered."`
	GroupJoinRequestCreated                NotifyOfJoinRequest        `doc:"A user asked to join a group."`
	GroupJoinRequestRecalled               NotifyOfJoinRequest        `doc:"A request to join a group was recalled."`
	GroupJoinRequestReplied                NotifyOfJoinRequestReply   `doc:"A request to join a group was answered."`
	PrivateConversationReadDateUpdated     NotifyOfPrivateReading     `doc:"A user read a private conversation."`
	PrivateConversationSettingDeleted      NotifyOfOwn                `doc:"A user deleted settings of private conversations."`
	PrivateConversationSettingUpdated      NotifyOfOwn                `doc:"A user changed settings of a private conversation."`
	GroupConversationReadDateUpdated       NotifyOfGroupReading       `doc:"A user read a group conversation."`
	GroupConversationSettingDeleted        NotifyOfOwn                `doc:"A user deleted settings of group conversations."`
	GroupConversationSettingUpdated        NotifyOfOwn                `doc:"A user changed settings of a group conversation."`
	MessageCreated                         NotifyOfMessage            `doc:"A message was sent."`
	MessageUpdated                         NotifyOfMessage            `doc:"A message was edited or recalled."`
	MeetingCanceled                        NotifyOfMeeting            `doc:"A meeting was cancelled."`
	MeetingUpdated                         NotifyOfMeeting            `doc:"A meeting was changed."`
	MeetingInvitationUpdated               NotifyOfMeeting            `defaults:"notify-requester-other-online-sessions=true;notify-meeting-participants=true" doc:"An invitation to a meeting was answered."`
}

type NotifyOfUser struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyNonBlockedRelatedUsers       bool `default:"false" doc:"Whether the users to whom the requester has a relationship without block are notified."`
}

// NotifyOfOwn contains the switches of events that concern one user alone.
type NotifyOfOwn struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
}

type NotifyOfFriendRequest struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyFriendRequestRecipient       bool `default:"true" doc:"Whether the recipient of the friend request is notified."`
}

type NotifyOfFriendRequestReply struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyFriendRequestSender          bool `default:"true" doc:"Whether the sender of the friend request is notified."`
}

type NotifyOfRelationship struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyRelatedUser                  bool `default:"false" doc:"Whether the related user is notified."`
}

type NotifyOfRelationshipGroup struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyRelationshipGroupMembers     bool `default:"false" doc:"Whether the users in the relationship group are notified."`
}

type NotifyOfNewRelationship struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyNewRelationshipGroupMember   bool `default:"false" doc:"Whether the user that was added is notified."`
}

type NotifyOfEndedRelationship struct {
	NotifyRequesterOtherOnlineSessions   bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyRemovedRelationshipGroupMember bool `default:"false" doc:"Whether the user that was removed is notified."`
}

type NotifyOfGroup struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyGroupMembers                 bool `default:"true" doc:"Whether the members of the group are notified."`
}

type NotifyOfJoining struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyAddedGroupMember             bool `default:"true" doc:"Whether the new member is notified."`
	NotifyOtherGroupMembers            bool `default:"true" doc:"Whether the other members of the group are notified."`
}

type NotifyOfLeaving struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyRemovedGroupMember           bool `default:"true" doc:"Whether the removed member is notified."`
	NotifyOtherGroupMembers            bool `default:"true" doc:"Whether the other members of the group are notified."`
}

type NotifyOfMemberChange struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyUpdatedGroupMember           bool `default:"false" doc:"Whether the changed member is notified."`
	NotifyOtherGroupMembers            bool `default:"false" doc:"Whether the other members of the group are notified."`
}

type NotifyOfMemberStatus struct {
	NotifyGroupMembers bool `default:"false" doc:"Whether the members of the group are notified."`
}

type NotifyOfGroupBlock struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyBlockedUser                  bool `default:"false" doc:"Whether the blocked user is notified."`
	NotifyGroupMembers                 bool `default:"false" doc:"Whether the members of the group are notified."`
}

type NotifyOfGroupUnblock struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyUnblockedUser                bool `default:"false" doc:"Whether the unblocked user is notified."`
	NotifyGroupMembers                 bool `default:"false" doc:"Whether the members of the group are notified."`
}

type NotifyOfInvitation struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyInvitee                      bool `default:"true" doc:"Whether the invited user is notified."`
	NotifyGroupOwnerAndManagers        bool `default:"true" doc:"Whether the owner and the managers of the group are notified."`
	NotifyGroupMembers                 bool `default:"false" doc:"Whether the members of the group are notified."`
}

type NotifyOfInvitationReply struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyGroupInvitationInviter       bool `default:"true" doc:"Whether the inviter is notified."`
	NotifyGroupOwnerAndManagers        bool `default:"true" doc:"Whether the owner and the managers of the group are notified."`
	NotifyGroupMembers                 bool `default:"false" doc:"Whether the members of the group are notified."`
}

type NotifyOfJoinRequest struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyGroupOwnerAndManagers        bool `default:"true" doc:"Whether the owner and the managers of the group are notified."`
	NotifyGroupMembers                 bool `default:"false" doc:"Whether the members of the group are notified."`
}

type NotifyOfJoinRequestReply struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyGroupJoinRequestSender       bool `default:"true" doc:"Whether the sender of the join request is notified."`
	NotifyGroupOwnerAndManagers        bool `default:"true" doc:"Whether the owner and the managers of the group are notified."`
	NotifyGroupMembers                 bool `default:"false" doc:"Whether the members of the group are notified."`
}

type NotifyOfPrivateReading struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyContact                      bool `default:"false" doc:"Whether the other user of the conversation is notified."`
}

type NotifyOfGroupReading struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyOtherGroupMembers            bool `default:"false" doc:"Whether the other members of the group are notified."`
}

type NotifyOfMessage struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are notified."`
	NotifyMessageRecipients            bool `default:"true" doc:"Whether the recipients of the message are notified."`
}

type NotifyOfMeeting struct {
	NotifyRequesterOtherOnlineSessions bool `default:"false" doc:"Whether the other sessions of the requester are notified."`
	NotifyMeetingParticipants          bool `default:"false" doc:"Whether the participants of the meeting are notified."`
}
