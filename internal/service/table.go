// SPDX-License-Identifier: Apache-2.0

package service

import "example.org/app/internal/wire"

// newTable returns the handler of each kind of request.
func newTable(o Options) map[wire.Kind]handler {
	var (
		to                 = audiences{o.Store, o.Groups.Members, o.Settings, o.Logger}
		keys               = keys{o.Settings, o.Clock}
		conversations      = conversationHandlers{to, o.Conversations}
		messages           = messageHandlers{to, o.Messages, keys}
		meetings           = meetingHandlers{to, o.Meetings, o.Messages}
		users              = userHandlers{to, o.Users}
		online             = presenceHandlers{to, o.Presence, users, o.NearbyLimits, o.Clock}
		relationships      = relationshipHandlers{to, o.Relationships}
		relationshipGroups = relationshipGroupHandlers{to, o.Relationships}
		friendRequests     = friendRequestHandlers{to, o.Relationships.FriendRequests}
		groups             = groupHandlers{to, o.Groups}
		members            = groupMemberHandlers{to, o.Groups, online}
		blocklist          = groupBlocklistHandlers{to, o.Groups.Blocklist, users}
		invitations        = groupInvitationHandlers{to, o.Groups.Invitations}
		joinRequests       = groupJoinRequestHandlers{to, o.Groups.JoinRequests}
		questions          = groupQuestionHandlers{to, o.Groups.Questions}
		files              = storageHandlers{o.Plugins}
	)
	return map[wire.Kind]handler{
		wire.KindQueryConversations: on((*wire.AppRequest).GetQueryConversationsRequest, conversations.query),
		wire.KindUpdateConversation: on((*wire.AppRequest).GetUpdateConversationRequest, conversations.update),
		wire.KindUpdateTypingStatus: on((*wire.AppRequest).GetUpdateTypingStatusRequest, conversations.updateTypingStatus),
		wire.KindCreateMessage:      on((*wire.AppRequest).GetCreateMessageRequest, messages.create),
		wire.KindQueryMessages:      on((*wire.AppRequest).GetQueryMessagesRequest, messages.query),
		wire.KindUpdateMessage:      on((*wire.AppRequest).GetUpdateMessageRequest, messages.update),
		wire.KindCreateGroupMembers: on((*wire.AppRequest).GetCreateGroupMembersRequest, members.create),
		wire.KindDeleteGroupMembers: on((*wire.AppRequest).GetDeleteGroupMembersRequest, members.delete),
		wire.KindQueryGroupMembers:  on((*wire.AppRequest).GetQueryGroupMembersRequest, members.query),
		wire.KindUpdateGroupMember:  on((*wire.AppRequest).GetUpdateGroupMemberRequest, members.update),

		wire.KindQueryUserProfiles:       on((*wire.AppRequest).GetQueryUserProfilesRequest, users.queryProfiles),
		wire.KindQueryNearbyUsers:        on((*wire.AppRequest).GetQueryNearbyUsersRequest, online.queryNearby),
		wire.KindQueryUserOnlineStatuses: on((*wire.AppRequest).GetQueryUserOnlineStatusesRequest, online.queryStatuses),
		wire.KindUpdateUserLocation:      on((*wire.AppRequest).GetUpdateUserLocationRequest, online.updateLocation),
		wire.KindUpdateUserOnlineStatus:  on((*wire.AppRequest).GetUpdateUserOnlineStatusRequest, online.updateStatus),
		wire.KindUpdateUser:              on((*wire.AppRequest).GetUpdateUserRequest, users.update),
		wire.KindUpdateUserSettings:      on((*wire.AppRequest).GetUpdateUserSettingsRequest, users.updateSettings),
		wire.KindDeleteUserSettings:      on((*wire.AppRequest).GetDeleteUserSettingsRequest, users.deleteSettings),
		wire.KindQueryUserSettings:       on((*wire.AppRequest).GetQueryUserSettingsRequest, users.querySettings),

		wire.KindCreateFriendRequest:     keys.once(on((*wire.AppRequest).GetCreateFriendRequestRequest, friendRequests.create)),
		wire.KindCreateRelationshipGroup: keys.once(on((*wire.AppRequest).GetCreateRelationshipGroupRequest, relationshipGroups.create)),
		wire.KindCreateRelationship:      on((*wire.AppRequest).GetCreateRelationshipRequest, relationships.create),
		wire.KindDeleteFriendRequest:     on((*wire.AppRequest).GetDeleteFriendRequestRequest, friendRequests.delete),
		wire.KindDeleteRelationshipGroup: on((*wire.AppRequest).GetDeleteRelationshipGroupRequest, relationshipGroups.delete),
		wire.KindDeleteRelationship:      on((*wire.AppRequest).GetDeleteRelationshipRequest, relationships.delete),
		wire.KindQueryFriendRequests:     on((*wire.AppRequest).GetQueryFriendRequestsRequest, friendRequests.query),
		wire.KindQueryRelatedUserIds:     on((*wire.AppRequest).GetQueryRelatedUserIdsRequest, relationships.queryRelatedUserIDs),
		wire.KindQueryRelationshipGroups: on((*wire.AppRequest).GetQueryRelationshipGroupsRequest, relationshipGroups.query),
		wire.KindQueryRelationships:      on((*wire.AppRequest).GetQueryRelationshipsRequest, relationships.query),
		wire.KindUpdateFriendRequest:     on((*wire.AppRequest).GetUpdateFriendRequestRequest, friendRequests.update),
		wire.KindUpdateRelationshipGroup: on((*wire.AppRequest).GetUpdateRelationshipGroupRequest, relationshipGroups.update),
		wire.KindUpdateRelationship:      on((*wire.AppRequest).GetUpdateRelationshipRequest, relationships.update),

		wire.KindCreateGroup:           keys.once(on((*wire.AppRequest).GetCreateGroupRequest, groups.create)),
		wire.KindDeleteGroup:           on((*wire.AppRequest).GetDeleteGroupRequest, groups.delete),
		wire.KindQueryGroups:           on((*wire.AppRequest).GetQueryGroupsRequest, groups.query),
		wire.KindQueryJoinedGroupIds:   on((*wire.AppRequest).GetQueryJoinedGroupIdsRequest, groups.queryJoinedIDs),
		wire.KindQueryJoinedGroupInfos: on((*wire.AppRequest).GetQueryJoinedGroupInfosRequest, groups.queryJoinedInfos),
		wire.KindUpdateGroup:           on((*wire.AppRequest).GetUpdateGroupRequest, groups.update),

		wire.KindCreateGroupBlockedUser:     on((*wire.AppRequest).GetCreateGroupBlockedUserRequest, blocklist.create),
		wire.KindDeleteGroupBlockedUser:     on((*wire.AppRequest).GetDeleteGroupBlockedUserRequest, blocklist.delete),
		wire.KindQueryGroupBlockedUserIds:   on((*wire.AppRequest).GetQueryGroupBlockedUserIdsRequest, blocklist.queryIDs),
		wire.KindQueryGroupBlockedUserInfos: on((*wire.AppRequest).GetQueryGroupBlockedUserInfosRequest, blocklist.queryInfos),

		wire.KindCheckGroupJoinQuestionsAnswers: on((*wire.AppRequest).GetCheckGroupJoinQuestionsAnswersRequest, questions.checkAnswers),
		wire.KindCreateGroupInvitation:          keys.once(on((*wire.AppRequest).GetCreateGroupInvitationRequest, invitations.create)),
		wire.KindCreateGroupJoinRequest:         keys.once(on((*wire.AppRequest).GetCreateGroupJoinRequestRequest, joinRequests.create)),
		wire.KindCreateGroupJoinQuestions:       keys.onceAs(questionIDs, on((*wire.AppRequest).GetCreateGroupJoinQuestionsRequest, questions.create)),
		wire.KindDeleteGroupInvitation:          on((*wire.AppRequest).GetDeleteGroupInvitationRequest, invitations.delete),
		wire.KindDeleteGroupJoinRequest:         on((*wire.AppRequest).GetDeleteGroupJoinRequestRequest, joinRequests.delete),
		wire.KindDeleteGroupJoinQuestions:       on((*wire.AppRequest).GetDeleteGroupJoinQuestionsRequest, questions.delete),
		wire.KindQueryGroupInvitations:          on((*wire.AppRequest).GetQueryGroupInvitationsRequest, invitations.query),
		wire.KindQueryGroupJoinRequests:         on((*wire.AppRequest).GetQueryGroupJoinRequestsRequest, joinRequests.query),
		wire.KindQueryGroupJoinQuestions:        on((*wire.AppRequest).GetQueryGroupJoinQuestionsRequest, questions.query),
		wire.KindUpdateGroupInvitation:          on((*wire.AppRequest).GetUpdateGroupInvitationRequest, invitations.update),
		wire.KindUpdateGroupJoinQuestion:        on((*wire.AppRequest).GetUpdateGroupJoinQuestionRequest, questions.update),
		wire.KindUpdateGroupJoinRequest:         on((*wire.AppRequest).GetUpdateGroupJoinRequestRequest, joinRequests.update),

		wire.KindCreateMeeting:           keys.once(on((*wire.AppRequest).GetCreateMeetingRequest, meetings.create)),
		wire.KindDeleteMeeting:           on((*wire.AppRequest).GetDeleteMeetingRequest, meetings.delete),
		wire.KindQueryMeetings:           on((*wire.AppRequest).GetQueryMeetingsRequest, meetings.query),
		wire.KindUpdateMeeting:           on((*wire.AppRequest).GetUpdateMeetingRequest, meetings.update),
		wire.KindUpdateMeetingInvitation: on((*wire.AppRequest).GetUpdateMeetingInvitationRequest, meetings.updateInvitation),

		wire.KindDeleteResource:              on((*wire.AppRequest).GetDeleteResourceRequest, files.deleteResource),
		wire.KindQueryResourceDownloadInfo:   on((*wire.AppRequest).GetQueryResourceDownloadInfoRequest, files.queryResourceDownloadInfo),
		wire.KindQueryResourceUploadInfo:     on((*wire.AppRequest).GetQueryResourceUploadInfoRequest, files.queryResourceUploadInfo),
		wire.KindQueryMessageAttachmentInfos: on((*wire.AppRequest).GetQueryMessageAttachmentInfosRequest, files.queryMessageAttachmentInfos),
		wire.KindUpdateMessageAttachmentInfo: on((*wire.AppRequest).GetUpdateMessageAttachmentInfoRequest, files.updateMessageAttachmentInfo),

		wire.KindDeleteConversationSettings: on((*wire.AppRequest).GetDeleteConversationSettingsRequest, conversations.deleteSettings),
		wire.KindQueryConversationSettings:  on((*wire.AppRequest).GetQueryConversationSettingsRequest, conversations.querySettings),
		wire.KindUpdateConversationSettings: on((*wire.AppRequest).GetUpdateConversationSettingsRequest, conversations.updateSettings),

		wire.KindCreateMessageReactions: refuseReaction,
		wire.KindDeleteMessageReactions: refuseReaction,
	}
}
