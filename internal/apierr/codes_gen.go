// SPDX-License-Identifier: Apache-2.0

// Code generated from codes.json; DO NOT EDIT.

package apierr

// The business status codes.
const (
	OK                                                                     Code = 1000
	NoContent                                                              Code = 1001
	AlreadyUpToDate                                                        Code = 1002
	InvalidRequest                                                         Code = 1100
	ClientRequestsTooFrequent                                              Code = 1101
	IllegalArgument                                                        Code = 1102
	RecordContainsDuplicateKey                                             Code = 1103
	RequestedRecordsTooMany                                                Code = 1104
	SendRequestFromNonexistentSession                                      Code = 1105
	UnauthorizedRequest                                                    Code = 1106
	ServerInternalError                                                    Code = 1200
	ServerUnavailable                                                      Code = 1201
	Unauthorized                                                           Code = 1300
	NoFilterForDeleteOperation                                             Code = 1301
	ResourceNotFound                                                       Code = 1302
	DuplicateResource                                                      Code = 1303
	AdminRequestsTooFrequent                                               Code = 1304
	DumpJFRInIllegalStatus                                                 Code = 1310
	JavaScriptPluginIsDisabled                                             Code = 1320
	SavingJavaPluginIsDisabled                                             Code = 1321
	SavingJavaScriptPluginIsDisabled                                       Code = 1322
	IPBlocklistIsDisabled                                                  Code = 1400
	UserIDBlocklistIsDisabled                                              Code = 1401
	DebugIsDisabled                                                        Code = 1500
	NonexistentMemberToBeLeader                                            Code = 1800
	NoQualifiedMemberToBeLeader                                            Code = 1801
	NotQualifiedMemberToBeLeader                                           Code = 1802
	UnsupportedClientVersion                                               Code = 2000
	LoginTimeout                                                           Code = 2010
	LoginAuthenticationFailed                                              Code = 2011
	LoggingInUserNotActive                                                 Code = 2012
	LoginFromForbiddenDeviceType                                           Code = 2013
	SessionSimultaneousConflictsDecline                                    Code = 2100
	SessionSimultaneousConflictsNotify                                     Code = 2101
	SessionSimultaneousConflictsOffline                                    Code = 2102
	CreateExistingSession                                                  Code = 2103
	UpdateHeartbeatOfNonexistentSession                                    Code = 2104
	UserLocationRelatedFeaturesAreDisabled                                 Code = 2200
	QueryingNearestUsersBySessionIDIsDisabled                              Code = 2201
	UpdateInfoOfNonexistentUser                                            Code = 2300
	NotFriendToQueryUserProfile                                            Code = 2301
	BlockedUserToQueryUserProfile                                          Code = 2302
	QueryPermissionOfNonexistentUser                                       Code = 2400
	AddNonRelatedUserToGroup                                               Code = 2500
	CreateExistingRelationship                                             Code = 2501
	CannotBlockOneself                                                     Code = 2502
	CreateExistingFriendRequest                                            Code = 2600
	BlockedUserToSendFriendRequest                                         Code = 2601
	RecallNonPendingFriendRequest                                          Code = 2602
	RecallingFriendRequestIsDisabled                                       Code = 2603
	NotSenderToRecallFriendRequest                                         Code = 2604
	UpdateNonPendingFriendRequest                                          Code = 2605
	NotRecipientToUpdateFriendRequest                                      Code = 2606
	UpdateInfoOfNonexistentGroup                                           Code = 3000
	NotGroupOwnerToUpdateGroupInfo                                         Code = 3001
	NotGroupOwnerOrManagerToUpdateGroupInfo                                Code = 3002
	NotGroupMemberToUpdateGroupInfo                                        Code = 3003
	NoPermissionToCreateGroupWithGroupType                                 Code = 3100
	CreateGroupWithNonexistentGroupType                                    Code = 3101
	UpdatingGroupTypeIsDisabled                                            Code = 3102
	NotGroupOwnerToUpdateGroupType                                         Code = 3103
	NoPermissionToUpdateGroupToGroupType                                   Code = 3104
	UpdateGroupToNonexistentGroupType                                      Code = 3105
	NotActiveUserToCreateGroup                                             Code = 3200
	NotGroupOwnerToTransferGroup                                           Code = 3201
	NotGroupOwnerToDeleteGroup                                             Code = 3202
	GroupSuccessorNotGroupMember                                           Code = 3203
	GroupOwnerQuitWithoutSpecifyingSuccessor                               Code = 3204
	MaxOwnedGroupsReached                                                  Code = 3205
	TransferNonexistentGroup                                               Code = 3206
	NotGroupOwnerOrManagerToCreateGroupQuestion                            Code = 3300
	NotGroupOwnerOrManagerToDeleteGroupQuestion                            Code = 3301
	NotGroupOwnerOrManagerToUpdateGroupQuestion                            Code = 3302
	NotGroupOwnerOrManagerToQueryGroupQuestionAnswer                       Code = 3303
	CreateGroupQuestionForInactiveGroup                                    Code = 3304
	CreateGroupQuestionForGroupUsingJoinRequest                            Code = 3305
	CreateGroupQuestionForGroupUsingInvitation                             Code = 3306
	CreateGroupQuestionForGroupUsingMembershipRequest                      Code = 3307
	GroupQuestionAnswererHasBeenBlocked                                    Code = 3308
	GroupMemberAnswerGroupQuestion                                         Code = 3309
	AnswerInactiveGroupQuestion                                            Code = 3310
	AnswerGroupQuestionOfInactiveGroup                                     Code = 3311
	AddUserToGroupRequiringUsersApproval                                   Code = 3400
	AddUserToInactiveGroup                                                 Code = 3401
	NotGroupOwnerToAddGroupManager                                         Code = 3402
	AddUserToGroupWithSizeLimitReached                                     Code = 3403
	AddBlockedUserToGroup                                                  Code = 3404
	NotGroupOwnerToAddGroupMember                                          Code = 3405
	NotGroupOwnerOrManagerToAddGroupMember                                 Code = 3406
	NotGroupMemberToAddGroupMember                                         Code = 3407
	NotGroupOwnerOrManagerToRemoveGroupMember                              Code = 3408
	NotGroupOwnerToRemoveGroupOwnerOrManager                               Code = 3409
	NotGroupOwnerToUpdateGroupMemberRole                                   Code = 3410
	UpdateGroupMemberRoleOfNonexistentGroup                                Code = 3411
	NotGroupOwnerToUpdateGroupMemberInfo                                   Code = 3412
	NotGroupOwnerOrManagerToUpdateGroupMemberInfo                          Code = 3413
	NotGroupMemberToUpdateGroupMemberInfo                                  Code = 3414
	UpdateGroupMemberInfoOfNonexistentGroup                                Code = 3415
	UpdateInfoOfNonexistentGroupMember                                     Code = 3416
	NotGroupOwnerOrManagerToMuteGroupMember                                Code = 3417
	MuteGroupMemberWithRoleEqualToOrHigherThanRequester                    Code = 3418
	MuteGroupMemberOfNonexistentGroup                                      Code = 3419
	MuteNonexistentGroupMember                                             Code = 3420
	NotGroupMemberToQueryGroupMemberInfo                                   Code = 3421
	UserJoinGroupWithoutAcceptingGroupInvitation                           Code = 3422
	UserJoinGroupWithoutAnsweringGroupQuestion                             Code = 3423
	UserJoinGroupWithoutSendingGroupJoinRequest                            Code = 3424
	NotGroupOwnerOrManagerToAddBlockedUser                                 Code = 3500
	NotGroupOwnerOrManagerToRemoveBlockedUser                              Code = 3501
	BlockedUserSendGroupJoinRequest                                        Code = 3600
	GroupMemberSendGroupJoinRequest                                        Code = 3601
	NotSenderToRecallGroupJoinRequest                                      Code = 3602
	NotGroupOwnerOrManagerToQueryGroupJoinRequest                          Code = 3603
	RecallNonPendingGroupJoinRequest                                       Code = 3604
	SendGroupJoinRequestToInactiveGroup                                    Code = 3605
	SendGroupJoinRequestToGroupUsingMembershipRequest                      Code = 3606
	SendGroupJoinRequestToGroupUsingInvitation                             Code = 3607
	SendGroupJoinRequestToGroupUsingQuestion                               Code = 3608
	RecallingGroupJoinRequestIsDisabled                                    Code = 3609
	UpdateNonPendingGroupJoinRequest                                       Code = 3610
	NotGroupOwnerOrManagerToUpdateGroupJoinRequest                         Code = 3611
	SendGroupInvitationToGroupMember                                       Code = 3700
	SendGroupInvitationToBlockedUser                                       Code = 3701
	SendGroupInvitationToGroupNotRequiringUsersApproval                    Code = 3702
	NotGroupOwnerToSendGroupInvitation                                     Code = 3703
	NotGroupOwnerOrManagerToSendGroupInvitation                            Code = 3704
	NotGroupMemberToSendGroupInvitation                                    Code = 3705
	RecallingGroupInvitationIsDisabled                                     Code = 3706
	NotGroupOwnerOrManagerToRecallGroupInvitation                          Code = 3707
	NotGroupOwnerOrManagerOrSenderToRecallGroupInvitation                  Code = 3708
	RecallNonPendingGroupInvitation                                        Code = 3709
	UpdateNonPendingGroupInvitation                                        Code = 3710
	NotInviteeToUpdateGroupInvitation                                      Code = 3711
	NotGroupOwnerOrManagerToQueryGroupInvitation                           Code = 3712
	UpdatingReadDateIsDisabled                                             Code = 4000
	UpdatingReadDateIsDisabledByGroup                                      Code = 4001
	UpdatingReadDateOfNonexistentGroupConversation                         Code = 4002
	NotGroupMemberToUpdateReadDateOfGroupConversation                      Code = 4003
	MovingReadDateForwardIsDisabled                                        Code = 4004
	UpdatingTypingStatusIsDisabled                                         Code = 4100
	NotGroupMemberToSendTypingStatus                                       Code = 4101
	NotFriendToSendTypingStatus                                            Code = 4102
	NotRelatedUserToUpdatePrivateConversationSetting                       Code = 4200
	NotGroupMemberToUpdateGroupConversationSetting                         Code = 4201
	MessageRecipientNotActive                                              Code = 5000
	NotFriendToSendPrivateMessage                                          Code = 5001
	BlockedUserSendPrivateMessage                                          Code = 5002
	BlockedUserSendGroupMessage                                            Code = 5003
	SendMessageToInactiveGroup                                             Code = 5004
	SendMessageToMutedGroup                                                Code = 5005
	SendMessageToNonexistentGroup                                          Code = 5006
	SendingMessagesToOneselfIsDisabled                                     Code = 5007
	MutedGroupMemberSendMessage                                            Code = 5008
	NotSpeakableGroupGuestToSendMessage                                    Code = 5009
	MessageIsIllegal                                                       Code = 5010
	NotMessageRecipientOrSenderToForwardMessage                            Code = 5011
	UpdatingMessageBySenderIsDisabled                                      Code = 5100
	NotSenderToUpdateMessage                                               Code = 5101
	UpdateMessageOfNonexistentGroup                                        Code = 5102
	UpdatingGroupMessageBySenderIsDisabled                                 Code = 5103
	RecallNonexistentMessage                                               Code = 5200
	RecallingMessageIsDisabled                                             Code = 5201
	NotSenderToRecallMessage                                               Code = 5202
	RecallMessageOfNonexistentGroup                                        Code = 5203
	MessageRecallTimeout                                                   Code = 5204
	NotGroupMemberToQueryGroupMessages                                     Code = 5300
	StorageNotImplemented                                                  Code = 6000
	NotFriendToUploadMessageAttachmentInPrivateConversation                Code = 6100
	NotGroupMemberToUploadMessageAttachmentInGroupConversation             Code = 6101
	NotUploaderToShareMessageAttachment                                    Code = 6102
	NotUploaderOrGroupManagerToUnshareMessageAttachmentInGroupConversation Code = 6103
	NotUploaderToUnshareMessageAttachmentInPrivateConversation             Code = 6104
	NotUploaderOrGroupManagerToDeleteMessageAttachmentInGroupConversation  Code = 6105
	NotUploaderToDeleteMessageAttachmentInPrivateConversation              Code = 6106
	NotUploaderOrSharedWithUserToDownloadMessageAttachment                 Code = 6107
	NotFriendToQueryMessageAttachmentInfoInPrivateConversation             Code = 6130
	NotGroupMemberToQueryMessageAttachmentInfoInGroupConversation          Code = 6131
	SearchingUserIsDisabled                                                Code = 7100
	SearchingGroupIsDisabled                                               Code = 7200
	ConferenceNotImplemented                                               Code = 8000
	CreateMeetingExceedingMaxActiveMeetingCount                            Code = 8100
	NotCreatorToCancelMeeting                                              Code = 8101
	CancelingMeetingIsDisabled                                             Code = 8102
	CancelNonexistentMeeting                                               Code = 8103
	NotCreatorToUpdateMeetingPassword                                      Code = 8104
	UpdateInfoOfNonexistentMeeting                                         Code = 8105
	AcceptMeetingInvitationWithWrongPassword                               Code = 8200
	AcceptMeetingInvitationOfCanceledMeeting                               Code = 8201
	AcceptMeetingInvitationOfEndedMeeting                                  Code = 8202
	AcceptMeetingInvitationOfExpiredMeeting                                Code = 8203
	AcceptMeetingInvitationOfPendingMeeting                                Code = 8204
	AcceptNonexistentMeetingInvitation                                     Code = 8205
)

var table = map[Code]info{
	OK:                                                                     {"OK", 200, "ok"},
	NoContent:                                                              {"NO_CONTENT", 204, "nothing found"},
	AlreadyUpToDate:                                                        {"ALREADY_UP_TO_DATE", 204, "already up to date"},
	InvalidRequest:                                                         {"INVALID_REQUEST", 400, "the request is not valid"},
	ClientRequestsTooFrequent:                                              {"CLIENT_REQUESTS_TOO_FREQUENT", 429, "too many requests from this address: try again later"},
	IllegalArgument:                                                        {"ILLEGAL_ARGUMENT", 400, "an argument is not valid"},
	RecordContainsDuplicateKey:                                             {"RECORD_CONTAINS_DUPLICATE_KEY", 409, "a record with this key already exists"},
	RequestedRecordsTooMany:                                                {"REQUESTED_RECORDS_TOO_MANY", 429, "too many records were asked for"},
	SendRequestFromNonexistentSession:                                      {"SEND_REQUEST_FROM_NONEXISTENT_SESSION", 403, "the session that sent the request does not exist"},
	UnauthorizedRequest:                                                    {"UNAUTHORIZED_REQUEST", 401, "the request is not allowed for this session"},
	ServerInternalError:                                                    {"SERVER_INTERNAL_ERROR", 500, "internal server error"},
	ServerUnavailable:                                                      {"SERVER_UNAVAILABLE", 503, "the server is not available now"},
	Unauthorized:                                                           {"UNAUTHORIZED", 401, "not authorised"},
	NoFilterForDeleteOperation:                                             {"NO_FILTER_FOR_DELETE_OPERATION", 400, "a delete needs at least one filter"},
	ResourceNotFound:                                                       {"RESOURCE_NOT_FOUND", 404, "the resource does not exist"},
	DuplicateResource:                                                      {"DUPLICATE_RESOURCE", 409, "the resource already exists"},
	AdminRequestsTooFrequent:                                               {"ADMIN_REQUESTS_TOO_FREQUENT", 429, "the requested range is too long"},
	DumpJFRInIllegalStatus:                                                 {"DUMP_JFR_IN_ILLEGAL_STATUS", 406, "the recording has not started yet"},
	JavaScriptPluginIsDisabled:                                             {"JAVASCRIPT_PLUGIN_IS_DISABLED", 403, "JavaScript plugins are disabled"},
	SavingJavaPluginIsDisabled:                                             {"SAVING_JAVA_PLUGIN_IS_DISABLED", 403, "saving Java plugins is disabled"},
	SavingJavaScriptPluginIsDisabled:                                       {"SAVING_JAVASCRIPT_PLUGIN_IS_DISABLED", 403, "saving JavaScript plugins is disabled"},
	IPBlocklistIsDisabled:                                                  {"IP_BLOCKLIST_IS_DISABLED", 403, "the IP blocklist is disabled"},
	UserIDBlocklistIsDisabled:                                              {"USER_ID_BLOCKLIST_IS_DISABLED", 403, "the user blocklist is disabled"},
	DebugIsDisabled:                                                        {"DEBUG_IS_DISABLED", 403, "debugging is disabled"},
	NonexistentMemberToBeLeader:                                            {"NONEXISTENT_MEMBER_TO_BE_LEADER", 404, "the member that should become leader does not exist"},
	NoQualifiedMemberToBeLeader:                                            {"NO_QUALIFIED_MEMBER_TO_BE_LEADER", 503, "no member may become leader"},
	NotQualifiedMemberToBeLeader:                                           {"NOT_QUALIFIED_MEMBER_TO_BE_LEADER", 403, "this member may not become leader"},
	UnsupportedClientVersion:                                               {"UNSUPPORTED_CLIENT_VERSION", 403, "this client version is not supported"},
	LoginTimeout:                                                           {"LOGIN_TIMEOUT", 408, "the login took too long"},
	LoginAuthenticationFailed:                                              {"LOGIN_AUTHENTICATION_FAILED", 401, "the login name or password is wrong"},
	LoggingInUserNotActive:                                                 {"LOGGING_IN_USER_NOT_ACTIVE", 401, "the user is not active"},
	LoginFromForbiddenDeviceType:                                           {"LOGIN_FROM_FORBIDDEN_DEVICE_TYPE", 401, "logging in from this device type is not allowed"},
	SessionSimultaneousConflictsDecline:                                    {"SESSION_SIMULTANEOUS_CONFLICTS_DECLINE", 409, "another device is logged in, so this login is declined"},
	SessionSimultaneousConflictsNotify:                                     {"SESSION_SIMULTANEOUS_CONFLICTS_NOTIFY", 409, "another device tries to log in"},
	SessionSimultaneousConflictsOffline:                                    {"SESSION_SIMULTANEOUS_CONFLICTS_OFFLINE", 409, "another device logged in, so this one goes offline"},
	CreateExistingSession:                                                  {"CREATE_EXISTING_SESSION", 503, "the session already exists"},
	UpdateHeartbeatOfNonexistentSession:                                    {"UPDATE_HEARTBEAT_OF_NONEXISTENT_SESSION", 403, "the session to keep alive does not exist"},
	UserLocationRelatedFeaturesAreDisabled:                                 {"USER_LOCATION_RELATED_FEATURES_ARE_DISABLED", 510, "user location related features are disabled"},
	QueryingNearestUsersBySessionIDIsDisabled:                              {"QUERYING_NEAREST_USERS_BY_SESSION_ID_IS_DISABLED", 510, "querying nearest users by session id is disabled"},
	UpdateInfoOfNonexistentUser:                                            {"UPDATE_INFO_OF_NONEXISTENT_USER", 403, "cannot update info of nonexistent user"},
	NotFriendToQueryUserProfile:                                            {"NOT_FRIEND_TO_QUERY_USER_PROFILE", 403, "only a friend may query user profile"},
	BlockedUserToQueryUserProfile:                                          {"BLOCKED_USER_TO_QUERY_USER_PROFILE", 403, "a blocked user cannot query user profile"},
	QueryPermissionOfNonexistentUser:                                       {"QUERY_PERMISSION_OF_NONEXISTENT_USER", 404, "the user whose permission is asked for does not exist"},
	AddNonRelatedUserToGroup:                                               {"ADD_NON_RELATED_USER_TO_GROUP", 403, "only a related user may be added to a relationship group"},
	CreateExistingRelationship:                                             {"CREATE_EXISTING_RELATIONSHIP", 409, "the relationship already exists"},
	CannotBlockOneself:                                                     {"CANNOT_BLOCK_ONESELF", 403, "nobody can block themselves"},
	CreateExistingFriendRequest:                                            {"CREATE_EXISTING_FRIEND_REQUEST", 409, "the friend request already exists"},
	BlockedUserToSendFriendRequest:                                         {"BLOCKED_USER_TO_SEND_FRIEND_REQUEST", 403, "a blocked user cannot send friend request"},
	RecallNonPendingFriendRequest:                                          {"RECALL_NON_PENDING_FRIEND_REQUEST", 403, "cannot recall no longer pending friend request"},
	RecallingFriendRequestIsDisabled:                                       {"RECALLING_FRIEND_REQUEST_IS_DISABLED", 510, "recalling friend request is disabled"},
	NotSenderToRecallFriendRequest:                                         {"NOT_SENDER_TO_RECALL_FRIEND_REQUEST", 403, "only a sender may recall friend request"},
	UpdateNonPendingFriendRequest:                                          {"UPDATE_NON_PENDING_FRIEND_REQUEST", 403, "cannot update no longer pending friend request"},
	NotRecipientToUpdateFriendRequest:                                      {"NOT_RECIPIENT_TO_UPDATE_FRIEND_REQUEST", 403, "only a recipient may update friend request"},
	UpdateInfoOfNonexistentGroup:                                           {"UPDATE_INFO_OF_NONEXISTENT_GROUP", 403, "cannot update info of nonexistent group"},
	NotGroupOwnerToUpdateGroupInfo:                                         {"NOT_GROUP_OWNER_TO_UPDATE_GROUP_INFO", 403, "only a group owner may update group info"},
	NotGroupOwnerOrManagerToUpdateGroupInfo:                                {"NOT_GROUP_OWNER_OR_MANAGER_TO_UPDATE_GROUP_INFO", 403, "only a group owner or manager may update group info"},
	NotGroupMemberToUpdateGroupInfo:                                        {"NOT_GROUP_MEMBER_TO_UPDATE_GROUP_INFO", 403, "only a group member may update group info"},
	NoPermissionToCreateGroupWithGroupType:                                 {"NO_PERMISSION_TO_CREATE_GROUP_WITH_GROUP_TYPE", 403, "the user may not create groups of this type"},
	CreateGroupWithNonexistentGroupType:                                    {"CREATE_GROUP_WITH_NONEXISTENT_GROUP_TYPE", 403, "cannot create group with nonexistent group type"},
	UpdatingGroupTypeIsDisabled:                                            {"UPDATING_GROUP_TYPE_IS_DISABLED", 510, "updating group type is disabled"},
	NotGroupOwnerToUpdateGroupType:                                         {"NOT_GROUP_OWNER_TO_UPDATE_GROUP_TYPE", 403, "only a group owner may update group type"},
	NoPermissionToUpdateGroupToGroupType:                                   {"NO_PERMISSION_TO_UPDATE_GROUP_TO_GROUP_TYPE", 403, "the user may not change the group to this type"},
	UpdateGroupToNonexistentGroupType:                                      {"UPDATE_GROUP_TO_NONEXISTENT_GROUP_TYPE", 403, "cannot update group to nonexistent group type"},
	NotActiveUserToCreateGroup:                                             {"NOT_ACTIVE_USER_TO_CREATE_GROUP", 403, "only an active user may create group"},
	NotGroupOwnerToTransferGroup:                                           {"NOT_GROUP_OWNER_TO_TRANSFER_GROUP", 403, "only a group owner may transfer group"},
	NotGroupOwnerToDeleteGroup:                                             {"NOT_GROUP_OWNER_TO_DELETE_GROUP", 403, "only a group owner may delete group"},
	GroupSuccessorNotGroupMember:                                           {"GROUP_SUCCESSOR_NOT_GROUP_MEMBER", 403, "the successor must be a member of the group"},
	GroupOwnerQuitWithoutSpecifyingSuccessor:                               {"GROUP_OWNER_QUIT_WITHOUT_SPECIFYING_SUCCESSOR", 400, "the owner must name a successor before quitting the group"},
	MaxOwnedGroupsReached:                                                  {"MAX_OWNED_GROUPS_REACHED", 403, "the user owns as many groups as allowed"},
	TransferNonexistentGroup:                                               {"TRANSFER_NONEXISTENT_GROUP", 403, "cannot transfer nonexistent group"},
	NotGroupOwnerOrManagerToCreateGroupQuestion:                            {"NOT_GROUP_OWNER_OR_MANAGER_TO_CREATE_GROUP_QUESTION", 403, "only a group owner or manager may create group question"},
	NotGroupOwnerOrManagerToDeleteGroupQuestion:                            {"NOT_GROUP_OWNER_OR_MANAGER_TO_DELETE_GROUP_QUESTION", 403, "only a group owner or manager may delete group question"},
	NotGroupOwnerOrManagerToUpdateGroupQuestion:                            {"NOT_GROUP_OWNER_OR_MANAGER_TO_UPDATE_GROUP_QUESTION", 403, "only a group owner or manager may update group question"},
	NotGroupOwnerOrManagerToQueryGroupQuestionAnswer:                       {"NOT_GROUP_OWNER_OR_MANAGER_TO_QUERY_GROUP_QUESTION_ANSWER", 403, "only a group owner or manager may query group question answer"},
	CreateGroupQuestionForInactiveGroup:                                    {"CREATE_GROUP_QUESTION_FOR_INACTIVE_GROUP", 403, "cannot create group question for inactive group"},
	CreateGroupQuestionForGroupUsingJoinRequest:                            {"CREATE_GROUP_QUESTION_FOR_GROUP_USING_JOIN_REQUEST", 403, "cannot create group question for group using join request"},
	CreateGroupQuestionForGroupUsingInvitation:                             {"CREATE_GROUP_QUESTION_FOR_GROUP_USING_INVITATION", 403, "cannot create group question for group using invitation"},
	CreateGroupQuestionForGroupUsingMembershipRequest:                      {"CREATE_GROUP_QUESTION_FOR_GROUP_USING_MEMBERSHIP_REQUEST", 403, "cannot create group question for group using membership request"},
	GroupQuestionAnswererHasBeenBlocked:                                    {"GROUP_QUESTION_ANSWERER_HAS_BEEN_BLOCKED", 403, "the user is blocked by the group and cannot answer its questions"},
	GroupMemberAnswerGroupQuestion:                                         {"GROUP_MEMBER_ANSWER_GROUP_QUESTION", 409, "a group member cannot answer group question"},
	AnswerInactiveGroupQuestion:                                            {"ANSWER_INACTIVE_GROUP_QUESTION", 403, "cannot answer inactive group question"},
	AnswerGroupQuestionOfInactiveGroup:                                     {"ANSWER_GROUP_QUESTION_OF_INACTIVE_GROUP", 403, "cannot answer group question of inactive group"},
	AddUserToGroupRequiringUsersApproval:                                   {"ADD_USER_TO_GROUP_REQUIRING_USERS_APPROVAL", 403, "cannot add user to group requiring users approval"},
	AddUserToInactiveGroup:                                                 {"ADD_USER_TO_INACTIVE_GROUP", 403, "cannot add user to inactive group"},
	NotGroupOwnerToAddGroupManager:                                         {"NOT_GROUP_OWNER_TO_ADD_GROUP_MANAGER", 403, "only a group owner may add group manager"},
	AddUserToGroupWithSizeLimitReached:                                     {"ADD_USER_TO_GROUP_WITH_SIZE_LIMIT_REACHED", 403, "the group is full"},
	AddBlockedUserToGroup:                                                  {"ADD_BLOCKED_USER_TO_GROUP", 403, "cannot add blocked user to group"},
	NotGroupOwnerToAddGroupMember:                                          {"NOT_GROUP_OWNER_TO_ADD_GROUP_MEMBER", 403, "only a group owner may add group member"},
	NotGroupOwnerOrManagerToAddGroupMember:                                 {"NOT_GROUP_OWNER_OR_MANAGER_TO_ADD_GROUP_MEMBER", 403, "only a group owner or manager may add group member"},
	NotGroupMemberToAddGroupMember:                                         {"NOT_GROUP_MEMBER_TO_ADD_GROUP_MEMBER", 403, "only a group member may add group member"},
	NotGroupOwnerOrManagerToRemoveGroupMember:                              {"NOT_GROUP_OWNER_OR_MANAGER_TO_REMOVE_GROUP_MEMBER", 403, "only a group owner or manager may remove group member"},
	NotGroupOwnerToRemoveGroupOwnerOrManager:                               {"NOT_GROUP_OWNER_TO_REMOVE_GROUP_OWNER_OR_MANAGER", 403, "only a group owner may remove group owner or manager"},
	NotGroupOwnerToUpdateGroupMemberRole:                                   {"NOT_GROUP_OWNER_TO_UPDATE_GROUP_MEMBER_ROLE", 403, "only a group owner may update group member role"},
	UpdateGroupMemberRoleOfNonexistentGroup:                                {"UPDATE_GROUP_MEMBER_ROLE_OF_NONEXISTENT_GROUP", 403, "cannot update group member role of nonexistent group"},
	NotGroupOwnerToUpdateGroupMemberInfo:                                   {"NOT_GROUP_OWNER_TO_UPDATE_GROUP_MEMBER_INFO", 403, "only a group owner may update group member info"},
	NotGroupOwnerOrManagerToUpdateGroupMemberInfo:                          {"NOT_GROUP_OWNER_OR_MANAGER_TO_UPDATE_GROUP_MEMBER_INFO", 403, "only a group owner or manager may update group member info"},
	NotGroupMemberToUpdateGroupMemberInfo:                                  {"NOT_GROUP_MEMBER_TO_UPDATE_GROUP_MEMBER_INFO", 403, "only a group member may update group member info"},
	UpdateGroupMemberInfoOfNonexistentGroup:                                {"UPDATE_GROUP_MEMBER_INFO_OF_NONEXISTENT_GROUP", 403, "cannot update group member info of nonexistent group"},
	UpdateInfoOfNonexistentGroupMember:                                     {"UPDATE_INFO_OF_NONEXISTENT_GROUP_MEMBER", 403, "cannot update info of nonexistent group member"},
	NotGroupOwnerOrManagerToMuteGroupMember:                                {"NOT_GROUP_OWNER_OR_MANAGER_TO_MUTE_GROUP_MEMBER", 403, "only a group owner or manager may mute group member"},
	MuteGroupMemberWithRoleEqualToOrHigherThanRequester:                    {"MUTE_GROUP_MEMBER_WITH_ROLE_EQUAL_TO_OR_HIGHER_THAN_REQUESTER", 403, "cannot mute group member with role equal to or higher than requester"},
	MuteGroupMemberOfNonexistentGroup:                                      {"MUTE_GROUP_MEMBER_OF_NONEXISTENT_GROUP", 403, "cannot mute group member of nonexistent group"},
	MuteNonexistentGroupMember:                                             {"MUTE_NONEXISTENT_GROUP_MEMBER", 403, "cannot mute nonexistent group member"},
	NotGroupMemberToQueryGroupMemberInfo:                                   {"NOT_GROUP_MEMBER_TO_QUERY_GROUP_MEMBER_INFO", 403, "only a group member may query group member info"},
	UserJoinGroupWithoutAcceptingGroupInvitation:                           {"USER_JOIN_GROUP_WITHOUT_ACCEPTING_GROUP_INVITATION", 403, "a user may join this group only by accepting an invitation"},
	UserJoinGroupWithoutAnsweringGroupQuestion:                             {"USER_JOIN_GROUP_WITHOUT_ANSWERING_GROUP_QUESTION", 403, "a user may join this group only by answering its questions"},
	UserJoinGroupWithoutSendingGroupJoinRequest:                            {"USER_JOIN_GROUP_WITHOUT_SENDING_GROUP_JOIN_REQUEST", 403, "a user may join this group only by sending a join request"},
	NotGroupOwnerOrManagerToAddBlockedUser:                                 {"NOT_GROUP_OWNER_OR_MANAGER_TO_ADD_BLOCKED_USER", 403, "only a group owner or manager may add blocked user"},
	NotGroupOwnerOrManagerToRemoveBlockedUser:                              {"NOT_GROUP_OWNER_OR_MANAGER_TO_REMOVE_BLOCKED_USER", 403, "only a group owner or manager may remove blocked user"},
	BlockedUserSendGroupJoinRequest:                                        {"BLOCKED_USER_SEND_GROUP_JOIN_REQUEST", 403, "a blocked user cannot send group join request"},
	GroupMemberSendGroupJoinRequest:                                        {"GROUP_MEMBER_SEND_GROUP_JOIN_REQUEST", 409, "a group member cannot send group join request"},
	NotSenderToRecallGroupJoinRequest:                                      {"NOT_SENDER_TO_RECALL_GROUP_JOIN_REQUEST", 403, "only a sender may recall group join request"},
	NotGroupOwnerOrManagerToQueryGroupJoinRequest:                          {"NOT_GROUP_OWNER_OR_MANAGER_TO_QUERY_GROUP_JOIN_REQUEST", 403, "only a group owner or manager may query group join request"},
	RecallNonPendingGroupJoinRequest:                                       {"RECALL_NON_PENDING_GROUP_JOIN_REQUEST", 403, "cannot recall no longer pending group join request"},
	SendGroupJoinRequestToInactiveGroup:                                    {"SEND_GROUP_JOIN_REQUEST_TO_INACTIVE_GROUP", 403, "cannot send group join request to inactive group"},
	SendGroupJoinRequestToGroupUsingMembershipRequest:                      {"SEND_GROUP_JOIN_REQUEST_TO_GROUP_USING_MEMBERSHIP_REQUEST", 403, "cannot send group join request to group using membership request"},
	SendGroupJoinRequestToGroupUsingInvitation:                             {"SEND_GROUP_JOIN_REQUEST_TO_GROUP_USING_INVITATION", 403, "cannot send group join request to group using invitation"},
	SendGroupJoinRequestToGroupUsingQuestion:                               {"SEND_GROUP_JOIN_REQUEST_TO_GROUP_USING_QUESTION", 403, "cannot send group join request to group using question"},
	RecallingGroupJoinRequestIsDisabled:                                    {"RECALLING_GROUP_JOIN_REQUEST_IS_DISABLED", 510, "recalling group join request is disabled"},
	UpdateNonPendingGroupJoinRequest:                                       {"UPDATE_NON_PENDING_GROUP_JOIN_REQUEST", 403, "cannot update no longer pending group join request"},
	NotGroupOwnerOrManagerToUpdateGroupJoinRequest:                         {"NOT_GROUP_OWNER_OR_MANAGER_TO_UPDATE_GROUP_JOIN_REQUEST", 403, "only a group owner or manager may update group join request"},
	SendGroupInvitationToGroupMember:                                       {"SEND_GROUP_INVITATION_TO_GROUP_MEMBER", 409, "cannot send group invitation to group member"},
	SendGroupInvitationToBlockedUser:                                       {"SEND_GROUP_INVITATION_TO_BLOCKED_USER", 403, "cannot send group invitation to blocked user"},
	SendGroupInvitationToGroupNotRequiringUsersApproval:                    {"SEND_GROUP_INVITATION_TO_GROUP_NOT_REQUIRING_USERS_APPROVAL", 406, "cannot send group invitation to group not requiring users approval"},
	NotGroupOwnerToSendGroupInvitation:                                     {"NOT_GROUP_OWNER_TO_SEND_GROUP_INVITATION", 403, "only a group owner may send group invitation"},
	NotGroupOwnerOrManagerToSendGroupInvitation:                            {"NOT_GROUP_OWNER_OR_MANAGER_TO_SEND_GROUP_INVITATION", 403, "only a group owner or manager may send group invitation"},
	NotGroupMemberToSendGroupInvitation:                                    {"NOT_GROUP_MEMBER_TO_SEND_GROUP_INVITATION", 403, "only a group member may send group invitation"},
	RecallingGroupInvitationIsDisabled:                                     {"RECALLING_GROUP_INVITATION_IS_DISABLED", 510, "recalling group invitation is disabled"},
	NotGroupOwnerOrManagerToRecallGroupInvitation:                          {"NOT_GROUP_OWNER_OR_MANAGER_TO_RECALL_GROUP_INVITATION", 403, "only a group owner or manager may recall group invitation"},
	NotGroupOwnerOrManagerOrSenderToRecallGroupInvitation:                  {"NOT_GROUP_OWNER_OR_MANAGER_OR_SENDER_TO_RECALL_GROUP_INVITATION", 403, "only a group owner or manager or sender may recall group invitation"},
	RecallNonPendingGroupInvitation:                                        {"RECALL_NON_PENDING_GROUP_INVITATION", 403, "cannot recall no longer pending group invitation"},
	UpdateNonPendingGroupInvitation:                                        {"UPDATE_NON_PENDING_GROUP_INVITATION", 403, "cannot update no longer pending group invitation"},
	NotInviteeToUpdateGroupInvitation:                                      {"NOT_INVITEE_TO_UPDATE_GROUP_INVITATION", 403, "only an invitee may update group invitation"},
	NotGroupOwnerOrManagerToQueryGroupInvitation:                           {"NOT_GROUP_OWNER_OR_MANAGER_TO_QUERY_GROUP_INVITATION", 403, "only a group owner or manager may query group invitation"},
	UpdatingReadDateIsDisabled:                                             {"UPDATING_READ_DATE_IS_DISABLED", 510, "updating the read date is disabled"},
	UpdatingReadDateIsDisabledByGroup:                                      {"UPDATING_READ_DATE_IS_DISABLED_BY_GROUP", 510, "updating the read date is disabled by the group"},
	UpdatingReadDateOfNonexistentGroupConversation:                         {"UPDATING_READ_DATE_OF_NONEXISTENT_GROUP_CONVERSATION", 510, "cannot update the read date of a nonexistent group conversation"},
	NotGroupMemberToUpdateReadDateOfGroupConversation:                      {"NOT_GROUP_MEMBER_TO_UPDATE_READ_DATE_OF_GROUP_CONVERSATION", 403, "only a group member may update read date of group conversation"},
	MovingReadDateForwardIsDisabled:                                        {"MOVING_READ_DATE_FORWARD_IS_DISABLED", 510, "moving read date forward is disabled"},
	UpdatingTypingStatusIsDisabled:                                         {"UPDATING_TYPING_STATUS_IS_DISABLED", 510, "updating typing status is disabled"},
	NotGroupMemberToSendTypingStatus:                                       {"NOT_GROUP_MEMBER_TO_SEND_TYPING_STATUS", 403, "only a group member may send typing status"},
	NotFriendToSendTypingStatus:                                            {"NOT_FRIEND_TO_SEND_TYPING_STATUS", 403, "only a friend may send typing status"},
	NotRelatedUserToUpdatePrivateConversationSetting:                       {"NOT_RELATED_USER_TO_UPDATE_PRIVATE_CONVERSATION_SETTING", 403, "only a related user may update private conversation setting"},
	NotGroupMemberToUpdateGroupConversationSetting:                         {"NOT_GROUP_MEMBER_TO_UPDATE_GROUP_CONVERSATION_SETTING", 403, "only a group member may update group conversation setting"},
	MessageRecipientNotActive:                                              {"MESSAGE_RECIPIENT_NOT_ACTIVE", 403, "the recipient of the message is not active"},
	NotFriendToSendPrivateMessage:                                          {"NOT_FRIEND_TO_SEND_PRIVATE_MESSAGE", 403, "only a friend may send private message"},
	BlockedUserSendPrivateMessage:                                          {"BLOCKED_USER_SEND_PRIVATE_MESSAGE", 403, "a blocked user cannot send private message"},
	BlockedUserSendGroupMessage:                                            {"BLOCKED_USER_SEND_GROUP_MESSAGE", 403, "a blocked user cannot send group message"},
	SendMessageToInactiveGroup:                                             {"SEND_MESSAGE_TO_INACTIVE_GROUP", 403, "cannot send message to inactive group"},
	SendMessageToMutedGroup:                                                {"SEND_MESSAGE_TO_MUTED_GROUP", 403, "cannot send message to muted group"},
	SendMessageToNonexistentGroup:                                          {"SEND_MESSAGE_TO_NONEXISTENT_GROUP", 403, "cannot send message to nonexistent group"},
	SendingMessagesToOneselfIsDisabled:                                     {"SENDING_MESSAGES_TO_ONESELF_IS_DISABLED", 510, "sending messages to oneself is disabled"},
	MutedGroupMemberSendMessage:                                            {"MUTED_GROUP_MEMBER_SEND_MESSAGE", 403, "a muted group member cannot send message"},
	NotSpeakableGroupGuestToSendMessage:                                    {"NOT_SPEAKABLE_GROUP_GUEST_TO_SEND_MESSAGE", 403, "guests may not send messages to this group"},
	MessageIsIllegal:                                                       {"MESSAGE_IS_ILLEGAL", 403, "the message is not allowed"},
	NotMessageRecipientOrSenderToForwardMessage:                            {"NOT_MESSAGE_RECIPIENT_OR_SENDER_TO_FORWARD_MESSAGE", 403, "only a message recipient or sender may forward message"},
	UpdatingMessageBySenderIsDisabled:                                      {"UPDATING_MESSAGE_BY_SENDER_IS_DISABLED", 510, "updating message by sender is disabled"},
	NotSenderToUpdateMessage:                                               {"NOT_SENDER_TO_UPDATE_MESSAGE", 403, "only a sender may update message"},
	UpdateMessageOfNonexistentGroup:                                        {"UPDATE_MESSAGE_OF_NONEXISTENT_GROUP", 403, "cannot update message of nonexistent group"},
	UpdatingGroupMessageBySenderIsDisabled:                                 {"UPDATING_GROUP_MESSAGE_BY_SENDER_IS_DISABLED", 403, "updating group message by sender is disabled"},
	RecallNonexistentMessage:                                               {"RECALL_NONEXISTENT_MESSAGE", 403, "cannot recall nonexistent message"},
	RecallingMessageIsDisabled:                                             {"RECALLING_MESSAGE_IS_DISABLED", 510, "recalling message is disabled"},
	NotSenderToRecallMessage:                                               {"NOT_SENDER_TO_RECALL_MESSAGE", 403, "only a sender may recall message"},
	RecallMessageOfNonexistentGroup:                                        {"RECALL_MESSAGE_OF_NONEXISTENT_GROUP", 403, "cannot recall message of nonexistent group"},
	MessageRecallTimeout:                                                   {"MESSAGE_RECALL_TIMEOUT", 403, "the message is too old to be recalled"},
	NotGroupMemberToQueryGroupMessages:                                     {"NOT_GROUP_MEMBER_TO_QUERY_GROUP_MESSAGES", 403, "only a group member may query group messages"},
	StorageNotImplemented:                                                  {"STORAGE_NOT_IMPLEMENTED", 501, "no storage service is installed"},
	NotFriendToUploadMessageAttachmentInPrivateConversation:                {"NOT_FRIEND_TO_UPLOAD_MESSAGE_ATTACHMENT_IN_PRIVATE_CONVERSATION", 403, "only a friend may upload message attachment in private conversation"},
	NotGroupMemberToUploadMessageAttachmentInGroupConversation:             {"NOT_GROUP_MEMBER_TO_UPLOAD_MESSAGE_ATTACHMENT_IN_GROUP_CONVERSATION", 403, "only a group member may upload message attachment in group conversation"},
	NotUploaderToShareMessageAttachment:                                    {"NOT_UPLOADER_TO_SHARE_MESSAGE_ATTACHMENT", 403, "only an uploader may share message attachment"},
	NotUploaderOrGroupManagerToUnshareMessageAttachmentInGroupConversation: {"NOT_UPLOADER_OR_GROUP_MANAGER_TO_UNSHARE_MESSAGE_ATTACHMENT_IN_GROUP_CONVERSATION", 403, "only an uploader or group manager may unshare message attachment in group conversation"},
	NotUploaderToUnshareMessageAttachmentInPrivateConversation:             {"NOT_UPLOADER_TO_UNSHARE_MESSAGE_ATTACHMENT_IN_PRIVATE_CONVERSATION", 403, "only an uploader may unshare message attachment in private conversation"},
	NotUploaderOrGroupManagerToDeleteMessageAttachmentInGroupConversation:  {"NOT_UPLOADER_OR_GROUP_MANAGER_TO_DELETE_MESSAGE_ATTACHMENT_IN_GROUP_CONVERSATION", 403, "only an uploader or group manager may delete message attachment in group conversation"},
	NotUploaderToDeleteMessageAttachmentInPrivateConversation:              {"NOT_UPLOADER_TO_DELETE_MESSAGE_ATTACHMENT_IN_PRIVATE_CONVERSATION", 403, "only an uploader may delete message attachment in private conversation"},
	NotUploaderOrSharedWithUserToDownloadMessageAttachment:                 {"NOT_UPLOADER_OR_SHARED_WITH_USER_TO_DOWNLOAD_MESSAGE_ATTACHMENT", 403, "only an uploader or shared with user may download message attachment"},
	NotFriendToQueryMessageAttachmentInfoInPrivateConversation:             {"NOT_FRIEND_TO_QUERY_MESSAGE_ATTACHMENT_INFO_IN_PRIVATE_CONVERSATION", 403, "only a friend may query message attachment info in private conversation"},
	NotGroupMemberToQueryMessageAttachmentInfoInGroupConversation:          {"NOT_GROUP_MEMBER_TO_QUERY_MESSAGE_ATTACHMENT_INFO_IN_GROUP_CONVERSATION", 403, "only a group member may query message attachment info in group conversation"},
	SearchingUserIsDisabled:                                                {"SEARCHING_USER_IS_DISABLED", 510, "searching user is disabled"},
	SearchingGroupIsDisabled:                                               {"SEARCHING_GROUP_IS_DISABLED", 510, "searching group is disabled"},
	ConferenceNotImplemented:                                               {"CONFERENCE_NOT_IMPLEMENTED", 501, "no conference service is installed"},
	CreateMeetingExceedingMaxActiveMeetingCount:                            {"CREATE_MEETING_EXCEEDING_MAX_ACTIVE_MEETING_COUNT", 403, "cannot create meeting exceeding max active meeting count"},
	NotCreatorToCancelMeeting:                                              {"NOT_CREATOR_TO_CANCEL_MEETING", 403, "only a creator may cancel meeting"},
	CancelingMeetingIsDisabled:                                             {"CANCELING_MEETING_IS_DISABLED", 510, "canceling meeting is disabled"},
	CancelNonexistentMeeting:                                               {"CANCEL_NONEXISTENT_MEETING", 403, "cannot cancel nonexistent meeting"},
	NotCreatorToUpdateMeetingPassword:                                      {"NOT_CREATOR_TO_UPDATE_MEETING_PASSWORD", 403, "only a creator may update meeting password"},
	UpdateInfoOfNonexistentMeeting:                                         {"UPDATE_INFO_OF_NONEXISTENT_MEETING", 403, "cannot update info of nonexistent meeting"},
	AcceptMeetingInvitationWithWrongPassword:                               {"ACCEPT_MEETING_INVITATION_WITH_WRONG_PASSWORD", 403, "cannot accept meeting invitation with wrong password"},
	AcceptMeetingInvitationOfCanceledMeeting:                               {"ACCEPT_MEETING_INVITATION_OF_CANCELED_MEETING", 403, "cannot accept meeting invitation of canceled meeting"},
	AcceptMeetingInvitationOfEndedMeeting:                                  {"ACCEPT_MEETING_INVITATION_OF_ENDED_MEETING", 403, "cannot accept meeting invitation of ended meeting"},
	AcceptMeetingInvitationOfExpiredMeeting:                                {"ACCEPT_MEETING_INVITATION_OF_EXPIRED_MEETING", 403, "cannot accept meeting invitation of expired meeting"},
	AcceptMeetingInvitationOfPendingMeeting:                                {"ACCEPT_MEETING_INVITATION_OF_PENDING_MEETING", 403, "cannot accept meeting invitation of pending meeting"},
	AcceptNonexistentMeetingInvitation:                                     {"ACCEPT_NONEXISTENT_MEETING_INVITATION", 403, "cannot accept nonexistent meeting invitation"},
}
