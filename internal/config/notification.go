// SPDX-License-Identifier: Apache-2.0

package config

// Notification says who is told of what users do. Each switch lets the request, as it came, go to the online sessions
// of some users.
type Notification struct {
	UserInfoUpdated                        NotifyOfUser               `doc:"A user changed their profile."`
	UserOnlineStatusUpdated                NotifyOfUser               `doc:"A user changed their online status."`
	UserSettingDeleted                     NotifyOfOwn                `doc:"A user removed settings."`
	UserSettingUpdated                     NotifyOfOwn                `doc:"A user changed settings."`
	FriendRequestCreated                   NotifyOfFriendRequest      `doc:"A user sent a friend request."`
	FriendRequestRecalled                  NotifyOfFriendRequest      `doc:"A user took a friend request back."`
	FriendRequestReplied                   NotifyOfFriendRequestReply `doc:"A user answered a friend request."`
	OneSidedRelationshipUpdated            NotifyOfRelationship       `doc:"A user changed a relationship."`
	OneSidedRelationshipGroupDeleted       NotifyOfRelationshipGroup  `doc:"A user removed a relationship group."`
	OneSidedRelationshipGroupUpdated       NotifyOfRelationshipGroup  `doc:"A user renamed a relationship group."`
	OneSidedRelationshipGroupMemberAdded   NotifyOfNewRelationship    `doc:"A user entered into a relationship."`
	OneSidedRelationshipGroupMemberRemoved NotifyOfEndedRelationship  `doc:"A user ended a relationship."`
	GroupCreated                           NotifyOfOwn                `doc:"A user made a group."`
	GroupDeleted                           NotifyOfGroup              `doc:"A group was removed by its owner."`
	GroupUpdated                           NotifyOfGroup              `doc:"A group was changed or handed over."`
	GroupMemberAdded                       NotifyOfJoining            `doc:"Users joined a group."`
	GroupMemberRemoved                     NotifyOfLeaving            `doc:"Users left a group."`
	GroupMemberInfoUpdated                 NotifyOfMemberChange       `doc:"The role, name or silence of a group member was changed."`
	GroupMemberOnlineStatusUpdated         NotifyOfMemberStatus       `doc:"A member of a group changed their online status."`
	GroupBlockedUserAdded                  NotifyOfGroupBlock         `doc:"A user was blocked in a group."`
	GroupBlockedUserRemoved                NotifyOfGroupUnblock       `doc:"The block of a user in a group was lifted."`
	GroupInvitationAdded                   NotifyOfInvitation         `doc:"A user was invited into a group."`
	GroupInvitationRecalled                NotifyOfInvitation         `doc:"An invitation into a group was taken back."`
	GroupInvitationReplied                 NotifyOfInvitationReply    `doc:"An invitation into a group was answered."`
	GroupJoinRequestCreated                NotifyOfJoinRequest        `doc:"A user asked to join a group."`
	GroupJoinRequestRecalled               NotifyOfJoinRequest        `doc:"A request to join a group was taken back."`
	GroupJoinRequestReplied                NotifyOfJoinRequestReply   `doc:"A request to join a group was answered."`
	PrivateConversationReadDateUpdated     NotifyOfPrivateReading     `doc:"A user read a private conversation."`
	PrivateConversationSettingDeleted      NotifyOfOwn                `doc:"A user removed settings of private conversations."`
	PrivateConversationSettingUpdated      NotifyOfOwn                `doc:"A user changed settings of a private conversation."`
	GroupConversationReadDateUpdated       NotifyOfGroupReading       `doc:"A user read a group conversation."`
	GroupConversationSettingDeleted        NotifyOfOwn                `doc:"A user removed settings of group conversations."`
	GroupConversationSettingUpdated        NotifyOfOwn                `doc:"A user changed settings of a group conversation."`
	MessageCreated                         NotifyOfMessage            `doc:"A message was sent."`
	MessageUpdated                         NotifyOfMessage            `doc:"A message was edited or recalled."`
	MeetingCanceled                        NotifyOfMeeting            `doc:"A meeting was cancelled."`
	MeetingUpdated                         NotifyOfMeeting            `doc:"A meeting was changed."`
	MeetingInvitationUpdated               NotifyOfMeeting            `defaults:"notify-requester-other-online-sessions=true;notify-meeting-participants=true" doc:"An invitation to a meeting was answered."`
}

// NotifyOfUser are the switches of such an event.
type NotifyOfUser struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyNonBlockedRelatedUsers       bool `default:"false" doc:"Whether users are told to whom the requester has a relationship without block."`
}

// NotifyOfOwn are the switches of events of one user alone.
type NotifyOfOwn struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
}

// NotifyOfFriendRequest are the switches of such an event.
type NotifyOfFriendRequest struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyFriendRequestRecipient       bool `default:"true" doc:"Whether the recipient of the friend request is told."`
}

// NotifyOfFriendRequestReply are the switches of such an event.
type NotifyOfFriendRequestReply struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyFriendRequestSender          bool `default:"true" doc:"Whether the sender of the friend request is told."`
}

// NotifyOfRelationship are the switches of such an event.
type NotifyOfRelationship struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyRelatedUser                  bool `default:"false" doc:"Whether the related user is told."`
}

// NotifyOfRelationshipGroup are the switches of such an event.
type NotifyOfRelationshipGroup struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyRelationshipGroupMembers     bool `default:"false" doc:"Whether the users in the relationship group are told."`
}

// NotifyOfNewRelationship are the switches of such an event.
type NotifyOfNewRelationship struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyNewRelationshipGroupMember   bool `default:"false" doc:"Whether the user that was added is told."`
}

// NotifyOfEndedRelationship are the switches of such an event.
type NotifyOfEndedRelationship struct {
	NotifyRequesterOtherOnlineSessions   bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyRemovedRelationshipGroupMember bool `default:"false" doc:"Whether the user that was removed is told."`
}

// NotifyOfGroup are the switches of such an event.
type NotifyOfGroup struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyGroupMembers                 bool `default:"true" doc:"Whether the members of the group are told."`
}

// NotifyOfJoining are the switches of such an event.
type NotifyOfJoining struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyAddedGroupMember             bool `default:"true" doc:"Whether the new member is told."`
	NotifyOtherGroupMembers            bool `default:"true" doc:"Whether the other members of the group are told."`
}

// NotifyOfLeaving are the switches of such an event.
type NotifyOfLeaving struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyRemovedGroupMember           bool `default:"true" doc:"Whether the removed member is told."`
	NotifyOtherGroupMembers            bool `default:"true" doc:"Whether the other members of the group are told."`
}

// NotifyOfMemberChange are the switches of such an event.
type NotifyOfMemberChange struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyUpdatedGroupMember           bool `default:"false" doc:"Whether the changed member is told."`
	NotifyOtherGroupMembers            bool `default:"false" doc:"Whether the other members of the group are told."`
}

// NotifyOfMemberStatus are the switches of such an event.
type NotifyOfMemberStatus struct {
	NotifyGroupMembers bool `default:"false" doc:"Whether the members of the group are told."`
}

// NotifyOfGroupBlock are the switches of such an event.
type NotifyOfGroupBlock struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyBlockedUser                  bool `default:"false" doc:"Whether the blocked user is told."`
	NotifyGroupMembers                 bool `default:"false" doc:"Whether the members of the group are told."`
}

// NotifyOfGroupUnblock are the switches of such an event.
type NotifyOfGroupUnblock struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyUnblockedUser                bool `default:"false" doc:"Whether the user whose block was lifted is told."`
	NotifyGroupMembers                 bool `default:"false" doc:"Whether the members of the group are told."`
}

// NotifyOfInvitation are the switches of such an event.
type NotifyOfInvitation struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyInvitee                      bool `default:"true" doc:"Whether the invited user is told."`
	NotifyGroupOwnerAndManagers        bool `default:"true" doc:"Whether the owner and the managers of the group are told."`
	NotifyGroupMembers                 bool `default:"false" doc:"Whether the members of the group are told."`
}

// NotifyOfInvitationReply are the switches of such an event.
type NotifyOfInvitationReply struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyGroupInvitationInviter       bool `default:"true" doc:"Whether the user who invited is told."`
	NotifyGroupOwnerAndManagers        bool `default:"true" doc:"Whether the owner and the managers of the group are told."`
	NotifyGroupMembers                 bool `default:"false" doc:"Whether the members of the group are told."`
}

// NotifyOfJoinRequest are the switches of such an event.
type NotifyOfJoinRequest struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyGroupOwnerAndManagers        bool `default:"true" doc:"Whether the owner and the managers of the group are told."`
	NotifyGroupMembers                 bool `default:"false" doc:"Whether the members of the group are told."`
}

// NotifyOfJoinRequestReply are the switches of such an event.
type NotifyOfJoinRequestReply struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyGroupJoinRequestSender       bool `default:"true" doc:"Whether the sender of the join request is told."`
	NotifyGroupOwnerAndManagers        bool `default:"true" doc:"Whether the owner and the managers of the group are told."`
	NotifyGroupMembers                 bool `default:"false" doc:"Whether the members of the group are told."`
}

// NotifyOfPrivateReading are the switches of such an event.
type NotifyOfPrivateReading struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyContact                      bool `default:"false" doc:"Whether the other user of the conversation is told."`
}

// NotifyOfGroupReading are the switches of such an event.
type NotifyOfGroupReading struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyOtherGroupMembers            bool `default:"false" doc:"Whether the other members of the group are told."`
}

// NotifyOfMessage are the switches of such an event.
type NotifyOfMessage struct {
	NotifyRequesterOtherOnlineSessions bool `default:"true" doc:"Whether the other sessions of the requester are told."`
	NotifyMessageRecipients            bool `default:"true" doc:"Whether the recipients of the message are told."`
}

// NotifyOfMeeting are the switches of such an event.
type NotifyOfMeeting struct {
	NotifyRequesterOtherOnlineSessions bool `default:"false" doc:"Whether the other sessions of the requester are told."`
	NotifyMeetingParticipants          bool `default:"false" doc:"Whether the participants of the meeting are told."`
}
