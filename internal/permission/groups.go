// SPDX-License-Identifier: Apache-2.0

package permission

// The permissions, in display order.
const (
	FlightRecordingCreate Permission = "FLIGHT_RECORDING_CREATE"
	FlightRecordingDelete Permission = "FLIGHT_RECORDING_DELETE"
	FlightRecordingUpdate Permission = "FLIGHT_RECORDING_UPDATE"
	FlightRecordingQuery  Permission = "FLIGHT_RECORDING_QUERY"

	UserCreate Permission = "USER_CREATE"
	UserDelete Permission = "USER_DELETE"
	UserUpdate Permission = "USER_UPDATE"
	UserQuery  Permission = "USER_QUERY"

	UserRelationshipCreate Permission = "USER_RELATIONSHIP_CREATE"
	UserRelationshipDelete Permission = "USER_RELATIONSHIP_DELETE"
	UserRelationshipUpdate Permission = "USER_RELATIONSHIP_UPDATE"
	UserRelationshipQuery  Permission = "USER_RELATIONSHIP_QUERY"

	UserRelationshipGroupCreate Permission = "USER_RELATIONSHIP_GROUP_CREATE"
	UserRelationshipGroupDelete Permission = "USER_RELATIONSHIP_GROUP_DELETE"
	UserRelationshipGroupUpdate Permission = "USER_RELATIONSHIP_GROUP_UPDATE"
	UserRelationshipGroupQuery  Permission = "USER_RELATIONSHIP_GROUP_QUERY"

	UserFriendRequestCreate Permission = "USER_FRIEND_REQUEST_CREATE"
	UserFriendRequestDelete Permission = "USER_FRIEND_REQUEST_DELETE"
	UserFriendRequestUpdate Permission = "USER_FRIEND_REQUEST_UPDATE"
	UserFriendRequestQuery  Permission = "USER_FRIEND_REQUEST_QUERY"

	UserRoleCreate Permission = "USER_ROLE_CREATE"
	UserRoleDelete Permission = "USER_ROLE_DELETE"
	UserRoleUpdate Permission = "USER_ROLE_UPDATE"
	UserRoleQuery  Permission = "USER_ROLE_QUERY"

	UserOnlineInfoUpdate Permission = "USER_ONLINE_INFO_UPDATE"
	UserOnlineInfoQuery  Permission = "USER_ONLINE_INFO_QUERY"

	GroupCreate Permission = "GROUP_CREATE"
	GroupDelete Permission = "GROUP_DELETE"
	GroupUpdate Permission = "GROUP_UPDATE"
	GroupQuery  Permission = "GROUP_QUERY"

	GroupBlocklistCreate Permission = "GROUP_BLOCKLIST_CREATE"
	GroupBlocklistDelete Permission = "GROUP_BLOCKLIST_DELETE"
	GroupBlocklistUpdate Permission = "GROUP_BLOCKLIST_UPDATE"
	GroupBlocklistQuery  Permission = "GROUP_BLOCKLIST_QUERY"

	GroupInvitationCreate Permission = "GROUP_INVITATION_CREATE"
	GroupInvitationDelete Permission = "GROUP_INVITATION_DELETE"
	GroupInvitationUpdate Permission = "GROUP_INVITATION_UPDATE"
	GroupInvitationQuery  Permission = "GROUP_INVITATION_QUERY"

	GroupQuestionCreate Permission = "GROUP_QUESTION_CREATE"
	GroupQuestionDelete Permission = "GROUP_QUESTION_DELETE"
	GroupQuestionUpdate Permission = "GROUP_QUESTION_UPDATE"
	GroupQuestionQuery  Permission = "GROUP_QUESTION_QUERY"

	GroupJoinRequestCreate Permission = "GROUP_JOIN_REQUEST_CREATE"
	GroupJoinRequestDelete Permission = "GROUP_JOIN_REQUEST_DELETE"
	GroupJoinRequestUpdate Permission = "GROUP_JOIN_REQUEST_UPDATE"
	GroupJoinRequestQuery  Permission = "GROUP_JOIN_REQUEST_QUERY"

	GroupMemberUpdate Permission = "GROUP_MEMBER_UPDATE"
	GroupMemberCreate Permission = "GROUP_MEMBER_CREATE"
	GroupMemberDelete Permission = "GROUP_MEMBER_DELETE"
	GroupMemberQuery  Permission = "GROUP_MEMBER_QUERY"

	GroupTypeCreate Permission = "GROUP_TYPE_CREATE"
	GroupTypeDelete Permission = "GROUP_TYPE_DELETE"
	GroupTypeUpdate Permission = "GROUP_TYPE_UPDATE"
	GroupTypeQuery  Permission = "GROUP_TYPE_QUERY"

	ConversationQuery  Permission = "CONVERSATION_QUERY"
	ConversationDelete Permission = "CONVERSATION_DELETE"
	ConversationUpdate Permission = "CONVERSATION_UPDATE"

	MessageCreate Permission = "MESSAGE_CREATE"
	MessageDelete Permission = "MESSAGE_DELETE"
	MessageUpdate Permission = "MESSAGE_UPDATE"
	MessageQuery  Permission = "MESSAGE_QUERY"

	SessionDelete Permission = "SESSION_DELETE"

	StatisticsUserQuery    Permission = "STATISTICS_USER_QUERY"
	StatisticsGroupQuery   Permission = "STATISTICS_GROUP_QUERY"
	StatisticsMessageQuery Permission = "STATISTICS_MESSAGE_QUERY"

	AdminCreate Permission = "ADMIN_CREATE"
	AdminDelete Permission = "ADMIN_DELETE"
	AdminUpdate Permission = "ADMIN_UPDATE"
	AdminQuery  Permission = "ADMIN_QUERY"

	AdminRoleCreate Permission = "ADMIN_ROLE_CREATE"
	AdminRoleDelete Permission = "ADMIN_ROLE_DELETE"
	AdminRoleUpdate Permission = "ADMIN_ROLE_UPDATE"
	AdminRoleQuery  Permission = "ADMIN_ROLE_QUERY"

	AdminPermissionQuery Permission = "ADMIN_PERMISSION_QUERY"

	// AuditQuery permits reading the changes of others, with the values before and after.
	AuditQuery Permission = "AUDIT_QUERY"

	ClientBlocklistCreate Permission = "CLIENT_BLOCKLIST_CREATE"
	ClientBlocklistDelete Permission = "CLIENT_BLOCKLIST_DELETE"
	ClientBlocklistQuery  Permission = "CLIENT_BLOCKLIST_QUERY"

	ClientRequestCreate Permission = "CLIENT_REQUEST_CREATE"

	ClusterMemberCreate Permission = "CLUSTER_MEMBER_CREATE"
	ClusterMemberDelete Permission = "CLUSTER_MEMBER_DELETE"
	ClusterMemberUpdate Permission = "CLUSTER_MEMBER_UPDATE"
	ClusterMemberQuery  Permission = "CLUSTER_MEMBER_QUERY"

	ClusterLeaderUpdate Permission = "CLUSTER_LEADER_UPDATE"
	ClusterLeaderQuery  Permission = "CLUSTER_LEADER_QUERY"

	ClusterSettingUpdate Permission = "CLUSTER_SETTING_UPDATE"
	ClusterSettingQuery  Permission = "CLUSTER_SETTING_QUERY"

	// PluginCreate permits running code in the server, which means control of the machine.
	PluginCreate Permission = "PLUGIN_CREATE"
	PluginDelete Permission = "PLUGIN_DELETE"
	PluginUpdate Permission = "PLUGIN_UPDATE"
	PluginQuery  Permission = "PLUGIN_QUERY"
	// PluginDebug permits reading and changing all state of plugins, and pausing their calls.
	PluginDebug Permission = "PLUGIN_DEBUG"
	// PluginTraceQuery permits reading what plugins did to single requests of users.
	PluginTraceQuery Permission = "PLUGIN_TRACE_QUERY"

	LogQuery Permission = "LOG_QUERY"

	Shutdown Permission = "SHUTDOWN"

	NodeInfoQuery       Permission = "NODE_INFO_QUERY"
	NodeThreadDumpQuery Permission = "NODE_THREAD_DUMP_QUERY"
	NodeHeapDumpQuery   Permission = "NODE_HEAP_DUMP_QUERY"
)

// Groups is the table of permissions: each permission is in exactly one group.
var Groups = []Group{
	{"FLIGHT_RECORDING", []Permission{FlightRecordingCreate, FlightRecordingDelete, FlightRecordingUpdate, FlightRecordingQuery}},
	{"USER", []Permission{UserCreate, UserDelete, UserUpdate, UserQuery}},
	{"USER_RELATIONSHIP", []Permission{UserRelationshipCreate, UserRelationshipDelete, UserRelationshipUpdate, UserRelationshipQuery}},
	{"USER_RELATIONSHIP_GROUP", []Permission{UserRelationshipGroupCreate, UserRelationshipGroupDelete, UserRelationshipGroupUpdate, UserRelationshipGroupQuery}},
	{"USER_FRIEND_REQUEST", []Permission{UserFriendRequestCreate, UserFriendRequestDelete, UserFriendRequestUpdate, UserFriendRequestQuery}},
	{"USER_ROLE", []Permission{UserRoleCreate, UserRoleDelete, UserRoleUpdate, UserRoleQuery}},
	{"USER_ONLINE_INFO", []Permission{UserOnlineInfoUpdate, UserOnlineInfoQuery}},
	{"GROUP", []Permission{GroupCreate, GroupDelete, GroupUpdate, GroupQuery}},
	{"GROUP_BLOCKLIST", []Permission{GroupBlocklistCreate, GroupBlocklistDelete, GroupBlocklistUpdate, GroupBlocklistQuery}},
	{"GROUP_INVITATION", []Permission{GroupInvitationCreate, GroupInvitationDelete, GroupInvitationUpdate, GroupInvitationQuery}},
	{"GROUP_QUESTION", []Permission{GroupQuestionCreate, GroupQuestionDelete, GroupQuestionUpdate, GroupQuestionQuery}},
	{"GROUP_JOIN_REQUEST", []Permission{GroupJoinRequestCreate, GroupJoinRequestDelete, GroupJoinRequestUpdate, GroupJoinRequestQuery}},
	{"GROUP_MEMBER", []Permission{GroupMemberUpdate, GroupMemberCreate, GroupMemberDelete, GroupMemberQuery}},
	{"GROUP_TYPE", []Permission{GroupTypeCreate, GroupTypeDelete, GroupTypeUpdate, GroupTypeQuery}},
	{"CONVERSATION", []Permission{ConversationQuery, ConversationDelete, ConversationUpdate}},
	{"MESSAGE", []Permission{MessageCreate, MessageDelete, MessageUpdate, MessageQuery}},
	{"SESSION", []Permission{SessionDelete}},
	{"STATISTICS", []Permission{StatisticsUserQuery, StatisticsGroupQuery, StatisticsMessageQuery}},
	{"ADMIN", []Permission{AdminCreate, AdminDelete, AdminUpdate, AdminQuery}},
	{"ADMIN_ROLE", []Permission{AdminRoleCreate, AdminRoleDelete, AdminRoleUpdate, AdminRoleQuery}},
	{"ADMIN_PERMISSION", []Permission{AdminPermissionQuery}},
	{"AUDIT", []Permission{AuditQuery}},
	{"CLIENT_BLOCKLIST", []Permission{ClientBlocklistCreate, ClientBlocklistDelete, ClientBlocklistQuery}},
	{"CLIENT_REQUEST", []Permission{ClientRequestCreate}},
	{"CLUSTER_MEMBER", []Permission{ClusterMemberCreate, ClusterMemberDelete, ClusterMemberUpdate, ClusterMemberQuery}},
	{"CLUSTER_LEADER", []Permission{ClusterLeaderUpdate, ClusterLeaderQuery}},
	{"CLUSTER_SETTING", []Permission{ClusterSettingUpdate, ClusterSettingQuery}},
	{"PLUGIN", []Permission{PluginCreate, PluginDelete, PluginUpdate, PluginQuery, PluginDebug, PluginTraceQuery}},
	{"LOG", []Permission{LogQuery}},
	{"LIFECYCLE", []Permission{Shutdown}},
	{"NODE", []Permission{NodeInfoQuery, NodeThreadDumpQuery, NodeHeapDumpQuery}},
}
