// SPDX-License-Identifier: Apache-2.0

package service

import "example.org/app/internal/wire"

// table has the handler of each kind of request.
func (d *Dispatcher) table() map[wire.Kind]handler {
	return map[wire.Kind]handler{
		5:  on((*wire.AppRequest).GetQueryConversationsRequest, d.queryConversations),
		6:  on((*wire.AppRequest).GetUpdateConversationRequest, d.updateConversation),
		7:  on((*wire.AppRequest).GetUpdateTypingStatusRequest, d.updateTypingStatus),
		8:  on((*wire.AppRequest).GetCreateMessageRequest, d.createMessage),
		9:  on((*wire.AppRequest).GetQueryMessagesRequest, d.queryMessages),
		10: on((*wire.AppRequest).GetUpdateMessageRequest, d.updateMessage),
		11: on((*wire.AppRequest).GetCreateGroupMembersRequest, d.createGroupMembers),
		12: on((*wire.AppRequest).GetDeleteGroupMembersRequest, d.deleteGroupMembers),
		13: on((*wire.AppRequest).GetQueryGroupMembersRequest, d.queryGroupMembers),
		14: on((*wire.AppRequest).GetUpdateGroupMemberRequest, d.updateGroupMember),

		100: on((*wire.AppRequest).GetQueryUserProfilesRequest, d.queryUserProfiles),
		101: on((*wire.AppRequest).GetQueryNearbyUsersRequest, d.queryNearbyUsers),
		102: on((*wire.AppRequest).GetQueryUserOnlineStatusesRequest, d.queryUserOnlineStatuses),
		103: on((*wire.AppRequest).GetUpdateUserLocationRequest, d.updateUserLocation),
		104: on((*wire.AppRequest).GetUpdateUserOnlineStatusRequest, d.updateUserOnlineStatus),
		105: on((*wire.AppRequest).GetUpdateUserRequest, d.updateUser),
		106: on((*wire.AppRequest).GetUpdateUserSettingsRequest, d.updateUserSettings),
		107: on((*wire.AppRequest).GetDeleteUserSettingsRequest, d.deleteUserSettings),
		108: on((*wire.AppRequest).GetQueryUserSettingsRequest, d.queryUserSettings),

		200: on((*wire.AppRequest).GetCreateFriendRequestRequest, d.createFriendRequest),
		201: on((*wire.AppRequest).GetCreateRelationshipGroupRequest, d.createRelationshipGroup),
		202: on((*wire.AppRequest).GetCreateRelationshipRequest, d.createRelationship),
		203: on((*wire.AppRequest).GetDeleteFriendRequestRequest, d.deleteFriendRequest),
		204: on((*wire.AppRequest).GetDeleteRelationshipGroupRequest, d.deleteRelationshipGroup),
		205: on((*wire.AppRequest).GetDeleteRelationshipRequest, d.deleteRelationship),
		206: on((*wire.AppRequest).GetQueryFriendRequestsRequest, d.queryFriendRequests),
		207: on((*wire.AppRequest).GetQueryRelatedUserIdsRequest, d.queryRelatedUserIDs),
		208: on((*wire.AppRequest).GetQueryRelationshipGroupsRequest, d.queryRelationshipGroups),
		209: on((*wire.AppRequest).GetQueryRelationshipsRequest, d.queryRelationships),
		210: on((*wire.AppRequest).GetUpdateFriendRequestRequest, d.updateFriendRequest),
		211: on((*wire.AppRequest).GetUpdateRelationshipGroupRequest, d.updateRelationshipGroup),
		212: on((*wire.AppRequest).GetUpdateRelationshipRequest, d.updateRelationship),

		300: on((*wire.AppRequest).GetCreateGroupRequest, d.createGroup),
		301: on((*wire.AppRequest).GetDeleteGroupRequest, d.deleteGroup),
		302: on((*wire.AppRequest).GetQueryGroupsRequest, d.queryGroups),
		303: on((*wire.AppRequest).GetQueryJoinedGroupIdsRequest, d.queryJoinedGroupIDs),
		304: on((*wire.AppRequest).GetQueryJoinedGroupInfosRequest, d.queryJoinedGroupInfos),
		305: on((*wire.AppRequest).GetUpdateGroupRequest, d.updateGroup),

		400: on((*wire.AppRequest).GetCreateGroupBlockedUserRequest, d.createGroupBlockedUser),
		401: on((*wire.AppRequest).GetDeleteGroupBlockedUserRequest, d.deleteGroupBlockedUser),
		402: on((*wire.AppRequest).GetQueryGroupBlockedUserIdsRequest, d.queryGroupBlockedUserIDs),
		403: on((*wire.AppRequest).GetQueryGroupBlockedUserInfosRequest, d.queryGroupBlockedUserInfos),

		500: on((*wire.AppRequest).GetCheckGroupJoinQuestionsAnswersRequest, d.checkGroupJoinQuestionsAnswers),
		501: on((*wire.AppRequest).GetCreateGroupInvitationRequest, d.createGroupInvitation),
		502: on((*wire.AppRequest).GetCreateGroupJoinRequestRequest, d.createGroupJoinRequest),
		503: on((*wire.AppRequest).GetCreateGroupJoinQuestionsRequest, d.createGroupJoinQuestions),
		504: on((*wire.AppRequest).GetDeleteGroupInvitationRequest, d.deleteGroupInvitation),
		505: on((*wire.AppRequest).GetDeleteGroupJoinRequestRequest, d.deleteGroupJoinRequest),
		506: on((*wire.AppRequest).GetDeleteGroupJoinQuestionsRequest, d.deleteGroupJoinQuestions),
		507: on((*wire.AppRequest).GetQueryGroupInvitationsRequest, d.queryGroupInvitations),
		508: on((*wire.AppRequest).GetQueryGroupJoinRequestsRequest, d.queryGroupJoinRequests),
		509: on((*wire.AppRequest).GetQueryGroupJoinQuestionsRequest, d.queryGroupJoinQuestions),
		510: on((*wire.AppRequest).GetUpdateGroupInvitationRequest, d.updateGroupInvitation),
		511: on((*wire.AppRequest).GetUpdateGroupJoinQuestionRequest, d.updateGroupJoinQuestion),
		512: on((*wire.AppRequest).GetUpdateGroupJoinRequestRequest, d.updateGroupJoinRequest),

		900: on((*wire.AppRequest).GetCreateMeetingRequest, d.createMeeting),
		901: on((*wire.AppRequest).GetDeleteMeetingRequest, d.deleteMeeting),
		902: on((*wire.AppRequest).GetQueryMeetingsRequest, d.queryMeetings),
		903: on((*wire.AppRequest).GetUpdateMeetingRequest, d.updateMeeting),
		904: on((*wire.AppRequest).GetUpdateMeetingInvitationRequest, d.updateMeetingInvitation),

		1000: on((*wire.AppRequest).GetDeleteResourceRequest, d.deleteResource),
		1001: on((*wire.AppRequest).GetQueryResourceDownloadInfoRequest, d.queryResourceDownloadInfo),
		1002: on((*wire.AppRequest).GetQueryResourceUploadInfoRequest, d.queryResourceUploadInfo),
		1003: on((*wire.AppRequest).GetQueryMessageAttachmentInfosRequest, d.queryMessageAttachmentInfos),
		1004: on((*wire.AppRequest).GetUpdateMessageAttachmentInfoRequest, d.updateMessageAttachmentInfo),

		1100: on((*wire.AppRequest).GetDeleteConversationSettingsRequest, d.deleteConversationSettings),
		1101: on((*wire.AppRequest).GetQueryConversationSettingsRequest, d.queryConversationSettings),
		1102: on((*wire.AppRequest).GetUpdateConversationSettingsRequest, d.updateConversationSettings),

		1200: d.refuseReaction,
		1201: d.refuseReaction,
	}
}
