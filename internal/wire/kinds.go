// SPDX-License-Identifier: Apache-2.0

// Code generated from proto by go test ./internal/wire -run Golden. DO NOT EDIT.

package wire

// The kinds of requests.
const (
	KindCreateSession                  Kind = 3
	KindDeleteSession                  Kind = 4
	KindQueryConversations             Kind = 5
	KindUpdateConversation             Kind = 6
	KindUpdateTypingStatus             Kind = 7
	KindCreateMessage                  Kind = 8
	KindQueryMessages                  Kind = 9
	KindUpdateMessage                  Kind = 10
	KindCreateGroupMembers             Kind = 11
	KindDeleteGroupMembers             Kind = 12
	KindQueryGroupMembers              Kind = 13
	KindUpdateGroupMember              Kind = 14
	KindQueryUserProfiles              Kind = 100
	KindQueryNearbyUsers               Kind = 101
	KindQueryUserOnlineStatuses        Kind = 102
	KindUpdateUserLocation             Kind = 103
	KindUpdateUserOnlineStatus         Kind = 104
	KindUpdateUser                     Kind = 105
	KindUpdateUserSettings             Kind = 106
	KindDeleteUserSettings             Kind = 107
	KindQueryUserSettings              Kind = 108
	KindCreateFriendRequest            Kind = 200
	KindCreateRelationshipGroup        Kind = 201
	KindCreateRelationship             Kind = 202
	KindDeleteFriendRequest            Kind = 203
	KindDeleteRelationshipGroup        Kind = 204
	KindDeleteRelationship             Kind = 205
	KindQueryFriendRequests            Kind = 206
	KindQueryRelatedUserIds            Kind = 207
	KindQueryRelationshipGroups        Kind = 208
	KindQueryRelationships             Kind = 209
	KindUpdateFriendRequest            Kind = 210
	KindUpdateRelationshipGroup        Kind = 211
	KindUpdateRelationship             Kind = 212
	KindCreateGroup                    Kind = 300
	KindDeleteGroup                    Kind = 301
	KindQueryGroups                    Kind = 302
	KindQueryJoinedGroupIds            Kind = 303
	KindQueryJoinedGroupInfos          Kind = 304
	KindUpdateGroup                    Kind = 305
	KindCreateGroupBlockedUser         Kind = 400
	KindDeleteGroupBlockedUser         Kind = 401
	KindQueryGroupBlockedUserIds       Kind = 402
	KindQueryGroupBlockedUserInfos     Kind = 403
	KindCheckGroupJoinQuestionsAnswers Kind = 500
	KindCreateGroupInvitation          Kind = 501
	KindCreateGroupJoinRequest         Kind = 502
	KindCreateGroupJoinQuestions       Kind = 503
	KindDeleteGroupInvitation          Kind = 504
	KindDeleteGroupJoinRequest         Kind = 505
	KindDeleteGroupJoinQuestions       Kind = 506
	KindQueryGroupInvitations          Kind = 507
	KindQueryGroupJoinRequests         Kind = 508
	KindQueryGroupJoinQuestions        Kind = 509
	KindUpdateGroupInvitation          Kind = 510
	KindUpdateGroupJoinQuestion        Kind = 511
	KindUpdateGroupJoinRequest         Kind = 512
	KindCreateMeeting                  Kind = 900
	KindDeleteMeeting                  Kind = 901
	KindQueryMeetings                  Kind = 902
	KindUpdateMeeting                  Kind = 903
	KindUpdateMeetingInvitation        Kind = 904
	KindDeleteResource                 Kind = 1000
	KindQueryResourceDownloadInfo      Kind = 1001
	KindQueryResourceUploadInfo        Kind = 1002
	KindQueryMessageAttachmentInfos    Kind = 1003
	KindUpdateMessageAttachmentInfo    Kind = 1004
	KindDeleteConversationSettings     Kind = 1100
	KindQueryConversationSettings      Kind = 1101
	KindUpdateConversationSettings     Kind = 1102
	KindCreateMessageReactions         Kind = 1200
	KindDeleteMessageReactions         Kind = 1201
)
