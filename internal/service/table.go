// SPDX-License-Identifier: Apache-2.0

package service

import "example.org/app/internal/wire"

// table has the handler of each kind of request.
func (d *Dispatcher) table() map[wire.Kind]handler {
	return map[wire.Kind]handler{
		wire.KindQueryConversations: on((*wire.AppRequest).GetQueryConversationsRequest, d.queryConversations),
		wire.KindUpdateConversation: on((*wire.AppRequest).GetUpdateConversationRequest, d.updateConversation),
		wire.KindUpdateTypingStatus: on((*wire.AppRequest).GetUpdateTypingStatusRequest, d.updateTypingStatus),
		wire.KindCreateMessage:      on((*wire.AppRequest).GetCreateMessageRequest, d.createMessage),
		wire.KindQueryMessages:      on((*wire.AppRequest).GetQueryMessagesRequest, d.queryMessages),
		wire.KindUpdateMessage:      on((*wire.AppRequest).GetUpdateMessageRequest, d.updateMessage),
		wire.KindCreateGroupMembers: on((*wire.AppRequest).GetCreateGroupMembersRequest, d.createGroupMembers),
		wire.KindDeleteGroupMembers: on((*wire.AppRequest).GetDeleteGroupMembersRequest, d.deleteGroupMembers),
		wire.KindQueryGroupMembers:  on((*wire.AppRequest).GetQueryGroupMembersRequest, d.queryGroupMembers),
		wire.KindUpdateGroupMember:  on((*wire.AppRequest).GetUpdateGroupMemberRequest, d.updateGroupMember),

		wire.KindQueryUserProfiles:       on((*wire.AppRequest).GetQueryUserProfilesRequest, d.queryUserProfiles),
		wire.KindQueryNearbyUsers:        on((*wire.AppRequest).GetQueryNearbyUsersRequest, d.queryNearbyUsers),
		wire.KindQueryUserOnlineStatuses: on((*wire.AppRequest).GetQueryUserOnlineStatusesRequest, d.queryUserOnlineStatuses),
		wire.KindUpdateUserLocation:      on((*wire.AppRequest).GetUpdateUserLocationRequest, d.updateUserLocation),
		wire.KindUpdateUserOnlineStatus:  on((*wire.AppRequest).GetUpdateUserOnlineStatusRequest, d.updateUserOnlineStatus),
		wire.KindUpdateUser:              on((*wire.AppRequest).GetUpdateUserRequest, d.updateUser),
		wire.KindUpdateUserSettings:      on((*wire.AppRequest).GetUpdateUserSettingsRequest, d.updateUserSettings),
		wire.KindDeleteUserSettings:      on((*wire.AppRequest).GetDeleteUserSettingsRequest, d.deleteUserSettings),
		wire.KindQueryUserSettings:       on((*wire.AppRequest).GetQueryUserSettingsRequest, d.queryUserSettings),

		wire.KindCreateFriendRequest:     d.once(on((*wire.AppRequest).GetCreateFriendRequestRequest, d.createFriendRequest)),
		wire.KindCreateRelationshipGroup: d.once(on((*wire.AppRequest).GetCreateRelationshipGroupRequest, d.createRelationshipGroup)),
		wire.KindCreateRelationship:      on((*wire.AppRequest).GetCreateRelationshipRequest, d.createRelationship),
		wire.KindDeleteFriendRequest:     on((*wire.AppRequest).GetDeleteFriendRequestRequest, d.deleteFriendRequest),
		wire.KindDeleteRelationshipGroup: on((*wire.AppRequest).GetDeleteRelationshipGroupRequest, d.deleteRelationshipGroup),
		wire.KindDeleteRelationship:      on((*wire.AppRequest).GetDeleteRelationshipRequest, d.deleteRelationship),
		wire.KindQueryFriendRequests:     on((*wire.AppRequest).GetQueryFriendRequestsRequest, d.queryFriendRequests),
		wire.KindQueryRelatedUserIds:     on((*wire.AppRequest).GetQueryRelatedUserIdsRequest, d.queryRelatedUserIDs),
		wire.KindQueryRelationshipGroups: on((*wire.AppRequest).GetQueryRelationshipGroupsRequest, d.queryRelationshipGroups),
		wire.KindQueryRelationships:      on((*wire.AppRequest).GetQueryRelationshipsRequest, d.queryRelationships),
		wire.KindUpdateFriendRequest:     on((*wire.AppRequest).GetUpdateFriendRequestRequest, d.updateFriendRequest),
		wire.KindUpdateRelationshipGroup: on((*wire.AppRequest).GetUpdateRelationshipGroupRequest, d.updateRelationshipGroup),
		wire.KindUpdateRelationship:      on((*wire.AppRequest).GetUpdateRelationshipRequest, d.updateRelationship),

		wire.KindCreateGroup:           d.once(on((*wire.AppRequest).GetCreateGroupRequest, d.createGroup)),
		wire.KindDeleteGroup:           on((*wire.AppRequest).GetDeleteGroupRequest, d.deleteGroup),
		wire.KindQueryGroups:           on((*wire.AppRequest).GetQueryGroupsRequest, d.queryGroups),
		wire.KindQueryJoinedGroupIds:   on((*wire.AppRequest).GetQueryJoinedGroupIdsRequest, d.queryJoinedGroupIDs),
		wire.KindQueryJoinedGroupInfos: on((*wire.AppRequest).GetQueryJoinedGroupInfosRequest, d.queryJoinedGroupInfos),
		wire.KindUpdateGroup:           on((*wire.AppRequest).GetUpdateGroupRequest, d.updateGroup),

		wire.KindCreateGroupBlockedUser:     on((*wire.AppRequest).GetCreateGroupBlockedUserRequest, d.createGroupBlockedUser),
		wire.KindDeleteGroupBlockedUser:     on((*wire.AppRequest).GetDeleteGroupBlockedUserRequest, d.deleteGroupBlockedUser),
		wire.KindQueryGroupBlockedUserIds:   on((*wire.AppRequest).GetQueryGroupBlockedUserIdsRequest, d.queryGroupBlockedUserIDs),
		wire.KindQueryGroupBlockedUserInfos: on((*wire.AppRequest).GetQueryGroupBlockedUserInfosRequest, d.queryGroupBlockedUserInfos),

		wire.KindCheckGroupJoinQuestionsAnswers: on((*wire.AppRequest).GetCheckGroupJoinQuestionsAnswersRequest, d.checkGroupJoinQuestionsAnswers),
		wire.KindCreateGroupInvitation:          d.once(on((*wire.AppRequest).GetCreateGroupInvitationRequest, d.createGroupInvitation)),
		wire.KindCreateGroupJoinRequest:         d.once(on((*wire.AppRequest).GetCreateGroupJoinRequestRequest, d.createGroupJoinRequest)),
		wire.KindCreateGroupJoinQuestions:       d.onceAs(questionIDs, on((*wire.AppRequest).GetCreateGroupJoinQuestionsRequest, d.createGroupJoinQuestions)),
		wire.KindDeleteGroupInvitation:          on((*wire.AppRequest).GetDeleteGroupInvitationRequest, d.deleteGroupInvitation),
		wire.KindDeleteGroupJoinRequest:         on((*wire.AppRequest).GetDeleteGroupJoinRequestRequest, d.deleteGroupJoinRequest),
		wire.KindDeleteGroupJoinQuestions:       on((*wire.AppRequest).GetDeleteGroupJoinQuestionsRequest, d.deleteGroupJoinQuestions),
		wire.KindQueryGroupInvitations:          on((*wire.AppRequest).GetQueryGroupInvitationsRequest, d.queryGroupInvitations),
		wire.KindQueryGroupJoinRequests:         on((*wire.AppRequest).GetQueryGroupJoinRequestsRequest, d.queryGroupJoinRequests),
		wire.KindQueryGroupJoinQuestions:        on((*wire.AppRequest).GetQueryGroupJoinQuestionsRequest, d.queryGroupJoinQuestions),
		wire.KindUpdateGroupInvitation:          on((*wire.AppRequest).GetUpdateGroupInvitationRequest, d.updateGroupInvitation),
		wire.KindUpdateGroupJoinQuestion:        on((*wire.AppRequest).GetUpdateGroupJoinQuestionRequest, d.updateGroupJoinQuestion),
		wire.KindUpdateGroupJoinRequest:         on((*wire.AppRequest).GetUpdateGroupJoinRequestRequest, d.updateGroupJoinRequest),

		wire.KindCreateMeeting:           d.once(on((*wire.AppRequest).GetCreateMeetingRequest, d.createMeeting)),
		wire.KindDeleteMeeting:           on((*wire.AppRequest).GetDeleteMeetingRequest, d.deleteMeeting),
		wire.KindQueryMeetings:           on((*wire.AppRequest).GetQueryMeetingsRequest, d.queryMeetings),
		wire.KindUpdateMeeting:           on((*wire.AppRequest).GetUpdateMeetingRequest, d.updateMeeting),
		wire.KindUpdateMeetingInvitation: on((*wire.AppRequest).GetUpdateMeetingInvitationRequest, d.updateMeetingInvitation),

		wire.KindDeleteResource:              on((*wire.AppRequest).GetDeleteResourceRequest, d.deleteResource),
		wire.KindQueryResourceDownloadInfo:   on((*wire.AppRequest).GetQueryResourceDownloadInfoRequest, d.queryResourceDownloadInfo),
		wire.KindQueryResourceUploadInfo:     on((*wire.AppRequest).GetQueryResourceUploadInfoRequest, d.queryResourceUploadInfo),
		wire.KindQueryMessageAttachmentInfos: on((*wire.AppRequest).GetQueryMessageAttachmentInfosRequest, d.queryMessageAttachmentInfos),
		wire.KindUpdateMessageAttachmentInfo: on((*wire.AppRequest).GetUpdateMessageAttachmentInfoRequest, d.updateMessageAttachmentInfo),

		wire.KindDeleteConversationSettings: on((*wire.AppRequest).GetDeleteConversationSettingsRequest, d.deleteConversationSettings),
		wire.KindQueryConversationSettings:  on((*wire.AppRequest).GetQueryConversationSettingsRequest, d.queryConversationSettings),
		wire.KindUpdateConversationSettings: on((*wire.AppRequest).GetUpdateConversationSettingsRequest, d.updateConversationSettings),

		wire.KindCreateMessageReactions: d.refuseReaction,
		wire.KindDeleteMessageReactions: d.refuseReaction,
	}
}
