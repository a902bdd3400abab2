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
