// SPDX-License-Identifier: Apache-2.0
// The types for plugins in JavaScript, as of version 1.0.0-SNAPSHOT.
// go run ./internal/plugin/typings/compat/renew writes it, for a release. DO NOT EDIT.
declare namespace api {
  interface Functions {
    admins: {
      check(): Promise<undefined>;
      create(input: {
        body: AdminCreation;
      }): Promise<Admin | undefined>;
      createRoles(input: {
        body: AdminRoleCreation;
      }): Promise<AdminRole | undefined>;
      createSessions(): Promise<AdminSession | undefined>;
      createTokens(input: {
        body: AdminTokenCreation;
      }): Promise<NewAdminToken | undefined>;
      delete(input: {
        ids: Int64[];
      }): Promise<DeleteResult | undefined>;
      deleteRoles(input: {
        ids: Int64[];
      }): Promise<DeleteResult | undefined>;
      deleteSessions(input: {
        current: boolean;
      }): Promise<DeleteResult | undefined>;
      deleteTokens(input: {
        ids: Int64[];
      }): Promise<DeleteResult | undefined>;
      query(input?: {
        ids?: Int64[];
        loginNames?: string[];
        roleIds?: Int64[];
        size?: number;
      }): Promise<Admin[] | undefined>;
      queryPage(input?: {
        ids?: Int64[];
        loginNames?: string[];
        roleIds?: Int64[];
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageAdmin | undefined>;
      queryPermissions(): Promise<AdminPermission[] | undefined>;
      queryRoles(input?: {
        ids?: Int64[];
        names?: string[];
        includedPermissions?: ("FLIGHT_RECORDING_CREATE" | "FLIGHT_RECORDING_DELETE" | "FLIGHT_RECORDING_UPDATE" | "FLIGHT_RECORDING_QUERY" | "USER_CREATE" | "USER_DELETE" | "USER_UPDATE" | "USER_QUERY" | "USER_RELATIONSHIP_CREATE" | "USER_RELATIONSHIP_DELETE" | "USER_RELATIONSHIP_UPDATE" | "USER_RELATIONSHIP_QUERY" | "USER_RELATIONSHIP_GROUP_CREATE" | "USER_RELATIONSHIP_GROUP_DELETE" | "USER_RELATIONSHIP_GROUP_UPDATE" | "USER_RELATIONSHIP_GROUP_QUERY" | "USER_FRIEND_REQUEST_CREATE" | "USER_FRIEND_REQUEST_DELETE" | "USER_FRIEND_REQUEST_UPDATE" | "USER_FRIEND_REQUEST_QUERY" | "USER_ROLE_CREATE" | "USER_ROLE_DELETE" | "USER_ROLE_UPDATE" | "USER_ROLE_QUERY" | "USER_ONLINE_INFO_UPDATE" | "USER_ONLINE_INFO_QUERY" | "GROUP_CREATE" | "GROUP_DELETE" | "GROUP_UPDATE" | "GROUP_QUERY" | "GROUP_BLOCKLIST_CREATE" | "GROUP_BLOCKLIST_DELETE" | "GROUP_BLOCKLIST_UPDATE" | "GROUP_BLOCKLIST_QUERY" | "GROUP_INVITATION_CREATE" | "GROUP_INVITATION_DELETE" | "GROUP_INVITATION_UPDATE" | "GROUP_INVITATION_QUERY" | "GROUP_QUESTION_CREATE" | "GROUP_QUESTION_DELETE" | "GROUP_QUESTION_UPDATE" | "GROUP_QUESTION_QUERY" | "GROUP_JOIN_REQUEST_CREATE" | "GROUP_JOIN_REQUEST_DELETE" | "GROUP_JOIN_REQUEST_UPDATE" | "GROUP_JOIN_REQUEST_QUERY" | "GROUP_MEMBER_UPDATE" | "GROUP_MEMBER_CREATE" | "GROUP_MEMBER_DELETE" | "GROUP_MEMBER_QUERY" | "GROUP_TYPE_CREATE" | "GROUP_TYPE_DELETE" | "GROUP_TYPE_UPDATE" | "GROUP_TYPE_QUERY" | "CONVERSATION_QUERY" | "CONVERSATION_DELETE" | "CONVERSATION_UPDATE" | "MESSAGE_CREATE" | "MESSAGE_DELETE" | "MESSAGE_UPDATE" | "MESSAGE_QUERY" | "SESSION_DELETE" | "STATISTICS_USER_QUERY" | "STATISTICS_GROUP_QUERY" | "STATISTICS_MESSAGE_QUERY" | "ADMIN_CREATE" | "ADMIN_DELETE" | "ADMIN_UPDATE" | "ADMIN_QUERY" | "ADMIN_ROLE_CREATE" | "ADMIN_ROLE_DELETE" | "ADMIN_ROLE_UPDATE" | "ADMIN_ROLE_QUERY" | "ADMIN_PERMISSION_QUERY" | "AUDIT_QUERY" | "CLIENT_BLOCKLIST_CREATE" | "CLIENT_BLOCKLIST_DELETE" | "CLIENT_BLOCKLIST_QUERY" | "CLIENT_REQUEST_CREATE" | "CLUSTER_MEMBER_CREATE" | "CLUSTER_MEMBER_DELETE" | "CLUSTER_MEMBER_UPDATE" | "CLUSTER_MEMBER_QUERY" | "CLUSTER_LEADER_UPDATE" | "CLUSTER_LEADER_QUERY" | "CLUSTER_SETTING_UPDATE" | "CLUSTER_SETTING_QUERY" | "PLUGIN_CREATE" | "PLUGIN_DELETE" | "PLUGIN_UPDATE" | "PLUGIN_QUERY" | "PLUGIN_DEBUG" | "PLUGIN_TRACE_QUERY" | "LOG_QUERY" | "SHUTDOWN" | "NODE_INFO_QUERY" | "NODE_THREAD_DUMP_QUERY" | "NODE_HEAP_DUMP_QUERY")[];
        ranks?: number[];
        size?: number;
      }): Promise<AdminRole[] | undefined>;
      queryRolesPage(input?: {
        ids?: Int64[];
        names?: string[];
        includedPermissions?: ("FLIGHT_RECORDING_CREATE" | "FLIGHT_RECORDING_DELETE" | "FLIGHT_RECORDING_UPDATE" | "FLIGHT_RECORDING_QUERY" | "USER_CREATE" | "USER_DELETE" | "USER_UPDATE" | "USER_QUERY" | "USER_RELATIONSHIP_CREATE" | "USER_RELATIONSHIP_DELETE" | "USER_RELATIONSHIP_UPDATE" | "USER_RELATIONSHIP_QUERY" | "USER_RELATIONSHIP_GROUP_CREATE" | "USER_RELATIONSHIP_GROUP_DELETE" | "USER_RELATIONSHIP_GROUP_UPDATE" | "USER_RELATIONSHIP_GROUP_QUERY" | "USER_FRIEND_REQUEST_CREATE" | "USER_FRIEND_REQUEST_DELETE" | "USER_FRIEND_REQUEST_UPDATE" | "USER_FRIEND_REQUEST_QUERY" | "USER_ROLE_CREATE" | "USER_ROLE_DELETE" | "USER_ROLE_UPDATE" | "USER_ROLE_QUERY" | "USER_ONLINE_INFO_UPDATE" | "USER_ONLINE_INFO_QUERY" | "GROUP_CREATE" | "GROUP_DELETE" | "GROUP_UPDATE" | "GROUP_QUERY" | "GROUP_BLOCKLIST_CREATE" | "GROUP_BLOCKLIST_DELETE" | "GROUP_BLOCKLIST_UPDATE" | "GROUP_BLOCKLIST_QUERY" | "GROUP_INVITATION_CREATE" | "GROUP_INVITATION_DELETE" | "GROUP_INVITATION_UPDATE" | "GROUP_INVITATION_QUERY" | "GROUP_QUESTION_CREATE" | "GROUP_QUESTION_DELETE" | "GROUP_QUESTION_UPDATE" | "GROUP_QUESTION_QUERY" | "GROUP_JOIN_REQUEST_CREATE" | "GROUP_JOIN_REQUEST_DELETE" | "GROUP_JOIN_REQUEST_UPDATE" | "GROUP_JOIN_REQUEST_QUERY" | "GROUP_MEMBER_UPDATE" | "GROUP_MEMBER_CREATE" | "GROUP_MEMBER_DELETE" | "GROUP_MEMBER_QUERY" | "GROUP_TYPE_CREATE" | "GROUP_TYPE_DELETE" | "GROUP_TYPE_UPDATE" | "GROUP_TYPE_QUERY" | "CONVERSATION_QUERY" | "CONVERSATION_DELETE" | "CONVERSATION_UPDATE" | "MESSAGE_CREATE" | "MESSAGE_DELETE" | "MESSAGE_UPDATE" | "MESSAGE_QUERY" | "SESSION_DELETE" | "STATISTICS_USER_QUERY" | "STATISTICS_GROUP_QUERY" | "STATISTICS_MESSAGE_QUERY" | "ADMIN_CREATE" | "ADMIN_DELETE" | "ADMIN_UPDATE" | "ADMIN_QUERY" | "ADMIN_ROLE_CREATE" | "ADMIN_ROLE_DELETE" | "ADMIN_ROLE_UPDATE" | "ADMIN_ROLE_QUERY" | "ADMIN_PERMISSION_QUERY" | "AUDIT_QUERY" | "CLIENT_BLOCKLIST_CREATE" | "CLIENT_BLOCKLIST_DELETE" | "CLIENT_BLOCKLIST_QUERY" | "CLIENT_REQUEST_CREATE" | "CLUSTER_MEMBER_CREATE" | "CLUSTER_MEMBER_DELETE" | "CLUSTER_MEMBER_UPDATE" | "CLUSTER_MEMBER_QUERY" | "CLUSTER_LEADER_UPDATE" | "CLUSTER_LEADER_QUERY" | "CLUSTER_SETTING_UPDATE" | "CLUSTER_SETTING_QUERY" | "PLUGIN_CREATE" | "PLUGIN_DELETE" | "PLUGIN_UPDATE" | "PLUGIN_QUERY" | "PLUGIN_DEBUG" | "PLUGIN_TRACE_QUERY" | "LOG_QUERY" | "SHUTDOWN" | "NODE_INFO_QUERY" | "NODE_THREAD_DUMP_QUERY" | "NODE_HEAP_DUMP_QUERY")[];
        ranks?: number[];
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageAdminRole | undefined>;
      queryTokens(input?: {
        ids?: Int64[];
        ownerIds?: Int64[];
        kinds?: ("TOKEN" | "SESSION")[];
        size?: number;
      }): Promise<AdminToken[] | undefined>;
      queryTokensPage(input?: {
        ids?: Int64[];
        ownerIds?: Int64[];
        kinds?: ("TOKEN" | "SESSION")[];
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageAdminToken | undefined>;
      update(input: {
        ids: Int64[];
        body: AdminUpdate;
      }): Promise<UpdateResult | undefined>;
      updateRoles(input: {
        ids: Int64[];
        body: AdminRoleUpdate;
      }): Promise<UpdateResult | undefined>;
    };
    audit: {
      query(input?: {
        ids?: Int64[];
        dateStart?: string;
        dateEnd?: string;
        outcomes?: ("DONE" | "REFUSED" | "FAILED")[];
        adminIds?: Int64[];
        loginNames?: string[];
        tokenIds?: Int64[];
        pluginIds?: string[];
        requestIds?: string[];
        operations?: string[];
        targetId?: string;
        size?: number;
      }): Promise<AuditRecord[] | undefined>;
      queryCsv(input?: {
        ids?: Int64[];
        dateStart?: string;
        dateEnd?: string;
        outcomes?: ("DONE" | "REFUSED" | "FAILED")[];
        adminIds?: Int64[];
        loginNames?: string[];
        tokenIds?: Int64[];
        pluginIds?: string[];
        requestIds?: string[];
        operations?: string[];
        targetId?: string;
        size?: number;
      }): Promise<undefined>;
      queryPage(input?: {
        ids?: Int64[];
        dateStart?: string;
        dateEnd?: string;
        outcomes?: ("DONE" | "REFUSED" | "FAILED")[];
        adminIds?: Int64[];
        loginNames?: string[];
        tokenIds?: Int64[];
        pluginIds?: string[];
        requestIds?: string[];
        operations?: string[];
        targetId?: string;
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageAuditRecord | undefined>;
    };
    blockedClientsIps: {
      create(input: {
        body: BlockedIPCreation;
      }): Promise<undefined>;
      delete(input?: {
        ids?: string[];
        deleteAll?: boolean;
      }): Promise<undefined>;
      query(input: {
        ids: string[];
      }): Promise<BlockedIP[] | undefined>;
      queryPage(input?: {
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageBlockedIP | undefined>;
    };
    blockedClientsUsers: {
      create(input: {
        body: BlockedUserCreation;
      }): Promise<undefined>;
      delete(input?: {
        ids?: Int64[];
        deleteAll?: boolean;
      }): Promise<undefined>;
      query(input: {
        ids: Int64[];
      }): Promise<BlockedUser[] | undefined>;
      queryPage(input?: {
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageBlockedUser | undefined>;
    };
    clusterMembers: {
      create(input: {
        body: MemberCreation;
      }): Promise<undefined>;
      createLeader(input?: {
        id?: string;
      }): Promise<Member | undefined>;
      delete(input: {
        ids: string[];
      }): Promise<DeleteResult | undefined>;
      query(): Promise<Member[] | undefined>;
      queryLeader(): Promise<Member | undefined>;
      update(input: {
        id: string;
        body: MemberUpdate;
      }): Promise<undefined>;
    };
    clusterSettings: {
      query(input?: {
        queryLocalSettings?: boolean;
        onlyMutable?: boolean;
      }): Promise<Settings | undefined>;
      queryHistory(input?: {
        size?: number;
      }): Promise<SettingRevision[] | undefined>;
      queryHistoryPage(input?: {
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageSettingRevision | undefined>;
      queryMetadata(input?: {
        queryLocalSettings?: boolean;
        onlyMutable?: boolean;
        withValue?: boolean;
      }): Promise<Settings | undefined>;
      update(input?: {
        reset?: boolean;
        revertTo?: Int64;
        updateLocalSettings?: boolean;
        body?: { [name: string]: JsonValue };
      }): Promise<undefined>;
    };
    conversations: {
      delete(input?: {
        privateConversationKeys?: PrivateConversationKey[];
        ownerIds?: Int64[];
        groupIds?: Int64[];
      }): Promise<DeleteResult | undefined>;
      query(input?: {
        privateConversationKeys?: PrivateConversationKey[];
        ownerIds?: Int64[];
        groupIds?: Int64[];
      }): Promise<Conversations | undefined>;
      update(input: {
        privateConversationKeys?: PrivateConversationKey[];
        groupConversationMemberKeys?: GroupConversationMemberKey[];
        body: ConversationUpdate;
      }): Promise<undefined>;
    };
    flightRecordings: {
      create(input?: {
        body?: FlightRecordingCreation;
      }): Promise<Int64 | undefined>;
      delete(input?: {
        ids?: Int64[];
      }): Promise<DeleteResult | undefined>;
      query(input?: {
        ids?: Int64[];
      }): Promise<FlightRecording[] | undefined>;
      queryJfr(input: {
        id: Int64;
        close?: boolean;
      }): Promise<undefined>;
      queryPprof(input: {
        id: Int64;
        kind: "cpu" | "heap" | "mutex" | "block" | "goroutine";
      }): Promise<undefined>;
      queryTrace(input: {
        id: Int64;
      }): Promise<undefined>;
      update(input?: {
        ids?: Int64[];
      }): Promise<UpdateResult | undefined>;
    };
    groups: {
      create(input: {
        body: GroupCreation;
      }): Promise<Group | undefined>;
      delete(input?: {
        ids?: Int64[];
        deleteLogically?: boolean;
      }): Promise<DeleteResult | undefined>;
      query(input?: {
        ids?: Int64[];
        name?: string;
        typeIds?: Int64[];
        creatorIds?: Int64[];
        ownerIds?: Int64[];
        memberIds?: Int64[];
        isActive?: boolean;
        creationDateStart?: string;
        creationDateEnd?: string;
        deletionDateStart?: string;
        deletionDateEnd?: string;
        lastUpdatedDateStart?: string;
        lastUpdatedDateEnd?: string;
        muteEndDateStart?: string;
        muteEndDateEnd?: string;
        size?: number;
      }): Promise<Group[] | undefined>;
      queryCount(input?: {
        createdStartDate?: string;
        createdEndDate?: string;
        deletedStartDate?: string;
        deletedEndDate?: string;
        sentMessageStartDate?: string;
        sentMessageEndDate?: string;
        divideBy?: "HOUR" | "DAY" | "MONTH" | "NOOP";
      }): Promise<GroupStatistics | undefined>;
      queryPage(input?: {
        ids?: Int64[];
        name?: string;
        typeIds?: Int64[];
        creatorIds?: Int64[];
        ownerIds?: Int64[];
        memberIds?: Int64[];
        isActive?: boolean;
        creationDateStart?: string;
        creationDateEnd?: string;
        deletionDateStart?: string;
        deletionDateEnd?: string;
        lastUpdatedDateStart?: string;
        lastUpdatedDateEnd?: string;
        muteEndDateStart?: string;
        muteEndDateEnd?: string;
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageGroup | undefined>;
      update(input: {
        ids: Int64[];
        body: GroupUpdate;
      }): Promise<UpdateResult | undefined>;
    };
    groupsBlockedUsers: {
      create(input: {
        body: GroupBlockedUserCreation;
      }): Promise<GroupBlockedUser | undefined>;
      delete(input: {
        keys: GroupUserKey[];
      }): Promise<DeleteResult | undefined>;
      query(input?: {
        groupIds?: Int64[];
        userIds?: Int64[];
        requesterIds?: Int64[];
        blockDateStart?: string;
        blockDateEnd?: string;
        size?: number;
      }): Promise<GroupBlockedUser[] | undefined>;
      queryPage(input?: {
        groupIds?: Int64[];
        userIds?: Int64[];
        requesterIds?: Int64[];
        blockDateStart?: string;
        blockDateEnd?: string;
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageGroupBlockedUser | undefined>;
      update(input: {
        keys: GroupUserKey[];
        body: GroupBlockedUserUpdate;
      }): Promise<UpdateResult | undefined>;
    };
    groupsInvitations: {
      create(input: {
        body: GroupInvitationCreation;
      }): Promise<GroupInvitation | undefined>;
      delete(input?: {
        ids?: Int64[];
      }): Promise<DeleteResult | undefined>;
      query(input?: {
        ids?: Int64[];
        groupIds?: Int64[];
        inviterIds?: Int64[];
        inviteeIds?: Int64[];
        statuses?: ("PENDING" | "ACCEPTED" | "ACCEPTED_WITHOUT_CONFIRM" | "DECLINED" | "IGNORED" | "EXPIRED" | "CANCELED")[];
        creationDateStart?: string;
        creationDateEnd?: string;
        responseDateStart?: string;
        responseDateEnd?: string;
        expirationDateStart?: string;
        expirationDateEnd?: string;
        size?: number;
      }): Promise<GroupInvitation[] | undefined>;
      queryPage(input?: {
        ids?: Int64[];
        groupIds?: Int64[];
        inviterIds?: Int64[];
        inviteeIds?: Int64[];
        statuses?: ("PENDING" | "ACCEPTED" | "ACCEPTED_WITHOUT_CONFIRM" | "DECLINED" | "IGNORED" | "EXPIRED" | "CANCELED")[];
        creationDateStart?: string;
        creationDateEnd?: string;
        responseDateStart?: string;
        responseDateEnd?: string;
        expirationDateStart?: string;
        expirationDateEnd?: string;
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageGroupInvitation | undefined>;
      update(input: {
        ids: Int64[];
        body: GroupInvitationUpdate;
      }): Promise<UpdateResult | undefined>;
    };
    groupsJoinRequests: {
      create(input: {
        body: GroupJoinRequestCreation;
      }): Promise<GroupJoinRequest | undefined>;
      delete(input?: {
        ids?: Int64[];
      }): Promise<DeleteResult | undefined>;
      query(input?: {
        ids?: Int64[];
        groupIds?: Int64[];
        requesterIds?: Int64[];
        responderIds?: Int64[];
        statuses?: ("PENDING" | "ACCEPTED" | "ACCEPTED_WITHOUT_CONFIRM" | "DECLINED" | "IGNORED" | "EXPIRED" | "CANCELED")[];
        creationDateStart?: string;
        creationDateEnd?: string;
        responseDateStart?: string;
        responseDateEnd?: string;
        expirationDateStart?: string;
        expirationDateEnd?: string;
        size?: number;
      }): Promise<GroupJoinRequest[] | undefined>;
      queryPage(input?: {
        ids?: Int64[];
        groupIds?: Int64[];
        requesterIds?: Int64[];
        responderIds?: Int64[];
        statuses?: ("PENDING" | "ACCEPTED" | "ACCEPTED_WITHOUT_CONFIRM" | "DECLINED" | "IGNORED" | "EXPIRED" | "CANCELED")[];
        creationDateStart?: string;
        creationDateEnd?: string;
        responseDateStart?: string;
        responseDateEnd?: string;
        expirationDateStart?: string;
        expirationDateEnd?: string;
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageGroupJoinRequest | undefined>;
      update(input: {
        ids: Int64[];
        body: GroupJoinRequestUpdate;
      }): Promise<UpdateResult | undefined>;
    };
    groupsMembers: {
      create(input: {
        body: GroupMemberCreation;
      }): Promise<GroupMember | undefined>;
      delete(input?: {
        keys?: GroupUserKey[];
      }): Promise<DeleteResult | undefined>;
      query(input?: {
        groupIds?: Int64[];
        userIds?: Int64[];
        roles?: ("OWNER" | "MANAGER" | "MEMBER" | "GUEST" | "ANONYMOUS_GUEST")[];
        joinDateStart?: string;
        joinDateEnd?: string;
        muteEndDateStart?: string;
        muteEndDateEnd?: string;
        size?: number;
      }): Promise<GroupMember[] | undefined>;
      queryPage(input?: {
        groupIds?: Int64[];
        userIds?: Int64[];
        roles?: ("OWNER" | "MANAGER" | "MEMBER" | "GUEST" | "ANONYMOUS_GUEST")[];
        joinDateStart?: string;
        joinDateEnd?: string;
        muteEndDateStart?: string;
        muteEndDateEnd?: string;
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageGroupMember | undefined>;
      update(input: {
        keys: GroupUserKey[];
        body: GroupMemberUpdate;
      }): Promise<UpdateResult | undefined>;
    };
    groupsQuestions: {
      create(input: {
        body: GroupQuestionCreation;
      }): Promise<GroupQuestion | undefined>;
      delete(input?: {
        ids?: Int64[];
      }): Promise<DeleteResult | undefined>;
      query(input?: {
        ids?: Int64[];
        groupIds?: Int64[];
        size?: number;
      }): Promise<GroupQuestion[] | undefined>;
      queryPage(input?: {
        ids?: Int64[];
        groupIds?: Int64[];
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageGroupQuestion | undefined>;
      update(input: {
        ids: Int64[];
        body: GroupQuestionUpdate;
      }): Promise<UpdateResult | undefined>;
    };
    groupsTypes: {
      create(input: {
        body: GroupTypeCreation;
      }): Promise<GroupType | undefined>;
      delete(input: {
        ids: Int64[];
      }): Promise<DeleteResult | undefined>;
      query(input?: {
        size?: number;
      }): Promise<GroupType[] | undefined>;
      queryPage(input?: {
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageGroupType | undefined>;
      update(input: {
        ids: Int64[];
        body: GroupTypeUpdate;
      }): Promise<UpdateResult | undefined>;
    };
    logs: {
      query(input: {
        path: string;
      }): Promise<undefined>;
      queryPaths(): Promise<string[] | undefined>;
    };
    messages: {
      create(input: {
        send?: boolean;
        body: MessageCreation;
      }): Promise<undefined>;
      delete(input: {
        ids: Int64[];
        deleteLogically?: boolean;
      }): Promise<DeleteResult | undefined>;
      query(input?: {
        ids?: Int64[];
        senderIds?: Int64[];
        targetIds?: Int64[];
        areGroupMessages?: boolean;
        areSystemMessages?: boolean;
        deliveryDateStart?: string;
        deliveryDateEnd?: string;
        deletionDateStart?: string;
        deletionDateEnd?: string;
        recallDateStart?: string;
        recallDateEnd?: string;
        ascending?: boolean;
        size?: number;
      }): Promise<Message[] | undefined>;
      queryCount(input?: {
        sentStartDate?: string;
        sentEndDate?: string;
        sentOnAverageStartDate?: string;
        sentOnAverageEndDate?: string;
        acknowledgedStartDate?: string;
        acknowledgedEndDate?: string;
        acknowledgedOnAverageStartDate?: string;
        acknowledgedOnAverageEndDate?: string;
        areGroupMessages?: boolean;
        areSystemMessages?: boolean;
        divideBy?: "HOUR" | "DAY" | "MONTH" | "NOOP";
      }): Promise<MessageCounts | undefined>;
      queryPage(input?: {
        ids?: Int64[];
        senderIds?: Int64[];
        targetIds?: Int64[];
        areGroupMessages?: boolean;
        areSystemMessages?: boolean;
        deliveryDateStart?: string;
        deliveryDateEnd?: string;
        deletionDateStart?: string;
        deletionDateEnd?: string;
        recallDateStart?: string;
        recallDateEnd?: string;
        ascending?: boolean;
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageMessage | undefined>;
      update(input: {
        ids: Int64[];
        body: MessageUpdate;
      }): Promise<UpdateResult | undefined>;
    };
    metrics: {
      query(input?: {
        names?: string[];
        tags?: string[];
        returnDescription?: boolean;
        returnAvailableTags?: boolean;
      }): Promise<Metric[] | undefined>;
      queryCsv(input: {
        names: string[];
      }): Promise<undefined>;
      queryNames(): Promise<string[] | undefined>;
      queryPrometheus(input?: {
        names?: string[];
      }): Promise<undefined>;
    };
    plugins: {
      createJs(input: {
        save?: boolean;
        dryRun?: boolean;
        replace?: boolean;
        grant?: boolean;
        scope?: "NODE" | "CLUSTER";
        activate?: boolean;
        body: ScriptList;
      }): Promise<PluginOutcome[] | undefined>;
      createRollouts(input: {
        body: NewRollout;
      }): Promise<RolloutRecord | undefined>;
      delete(input?: {
        ids?: string[];
        deleteLocalFiles?: boolean;
      }): Promise<undefined>;
      deleteVersions(input: {
        id: string;
        numbers: Int64[];
      }): Promise<DeleteResult | undefined>;
      query(input?: {
        ids?: string[];
        includeRejected?: boolean;
      }): Promise<PluginRecord[] | undefined>;
      queryDebugging(input?: {
        ids?: string[];
      }): Promise<DebuggingRecord[] | undefined>;
      queryGrants(input?: {
        ids?: string[];
      }): Promise<GrantRecord[] | undefined>;
      queryJs(input: {
        ids: string[];
      }): Promise<ScriptRecord[] | undefined>;
      queryRollouts(input?: {
        pluginIds?: string[];
      }): Promise<RolloutRecord[] | undefined>;
      queryRolloutsSamples(input: {
        id: Int64;
      }): Promise<SamplePage | undefined>;
      queryTraces(input?: {
        requestIds?: string[];
        userIds?: Int64[];
        pluginIds?: string[];
        extensionPoints?: string[];
        outcomes?: ("UNCHANGED" | "CHANGED" | "ANSWERED" | "REFUSED" | "ERROR" | "TIMEOUT")[];
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<TracePage | undefined>;
      queryVersions(input?: {
        ids?: string[];
      }): Promise<VersionRecord[] | undefined>;
      update(input: {
        ids: string[];
        body: PluginStatus;
      }): Promise<PluginUpdateResult | undefined>;
      updateDebugging(input: {
        id: string;
        body: DebuggingSwitch;
      }): Promise<DebuggingRecord | undefined>;
      updateGrants(input: {
        id: string;
        body: GrantBody;
      }): Promise<GrantRecord | undefined>;
      updateRollouts(input: {
        id: Int64;
        body: RolloutStep;
      }): Promise<RolloutRecord | undefined>;
      updateVersions(input: {
        id: string;
        body: ActiveVersion;
      }): Promise<ClusterRecord | undefined>;
    };
    sessions: {
      delete(input?: {
        ids?: Int64[];
        ips?: string[];
      }): Promise<DeleteResult | undefined>;
    };
    system: {
      queryHealth(input?: {
        probe?: "LIVENESS" | "READINESS";
      }): Promise<HealthReport | undefined>;
      queryHeapdump(input?: {
        live?: boolean;
      }): Promise<undefined>;
      queryInfos(): Promise<undefined>;
      queryThreaddump(): Promise<undefined>;
      updateShutdown(): Promise<undefined>;
    };
    users: {
      create(input: {
        body: UserCreation;
      }): Promise<User | undefined>;
      delete(input: {
        ids: Int64[];
        deleteLogically?: boolean;
      }): Promise<DeleteResult | undefined>;
      query(input?: {
        ids?: Int64[];
        name?: string;
        registrationDateStart?: string;
        registrationDateEnd?: string;
        deletionDateStart?: string;
        deletionDateEnd?: string;
        isActive?: boolean;
        size?: number;
      }): Promise<User[] | undefined>;
      queryCount(input?: {
        registeredStartDate?: string;
        registeredEndDate?: string;
        deletedStartDate?: string;
        deletedEndDate?: string;
        sentMessageStartDate?: string;
        sentMessageEndDate?: string;
        divideBy?: "HOUR" | "DAY" | "MONTH" | "NOOP";
      }): Promise<UserStatistics | undefined>;
      queryPage(input?: {
        ids?: Int64[];
        name?: string;
        registrationDateStart?: string;
        registrationDateEnd?: string;
        deletionDateStart?: string;
        deletionDateEnd?: string;
        isActive?: boolean;
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageUser | undefined>;
      update(input: {
        ids: Int64[];
        body: UserUpdate;
      }): Promise<UpdateResult | undefined>;
    };
    usersOnlineInfos: {
      queryCount(input?: {
        countByNodes?: boolean;
      }): Promise<OnlineUserCount | undefined>;
      queryLocations(input: {
        ids: Int64[];
        deviceType: "DESKTOP" | "BROWSER" | "IOS" | "ANDROID" | "OTHERS" | "UNKNOWN";
      }): Promise<UserPosition[] | undefined>;
      queryNearbyUsers(input: {
        userId: Int64;
        deviceType: "DESKTOP" | "BROWSER" | "IOS" | "ANDROID" | "OTHERS" | "UNKNOWN";
        maxCount?: number;
        maxDistance?: number;
        withCoordinates?: boolean;
        withDistance?: boolean;
        withUserInfo?: boolean;
      }): Promise<NearbyUser[] | undefined>;
      querySessions(input: {
        ids: Int64[];
        returnNonExistingUsers?: boolean;
      }): Promise<UserSessions[] | undefined>;
      queryStatuses(input: {
        ids: Int64[];
        returnNonExistingUsers?: boolean;
      }): Promise<UserSessionsStatus[] | undefined>;
      updateStatuses(input: {
        ids: Int64[];
        deviceTypes?: ("DESKTOP" | "BROWSER" | "IOS" | "ANDROID" | "OTHERS" | "UNKNOWN")[];
        body: UserStatusUpdate;
      }): Promise<undefined>;
    };
    usersRelationships: {
      create(input: {
        body: RelationshipCreation;
      }): Promise<undefined>;
      delete(input: {
        keys: UserRelationshipKey[];
      }): Promise<DeleteResult | undefined>;
      query(input?: {
        ownerIds?: Int64[];
        relatedUserIds?: Int64[];
        groupIndexes?: number[];
        isBlocked?: boolean;
        establishmentDateStart?: string;
        establishmentDateEnd?: string;
        withGroupIndexes?: boolean;
        size?: number;
      }): Promise<UserRelationship[] | undefined>;
      queryPage(input?: {
        ownerIds?: Int64[];
        relatedUserIds?: Int64[];
        groupIndexes?: number[];
        isBlocked?: boolean;
        establishmentDateStart?: string;
        establishmentDateEnd?: string;
        withGroupIndexes?: boolean;
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageUserRelationship | undefined>;
      update(input: {
        keys: UserRelationshipKey[];
        body: RelationshipUpdate;
      }): Promise<UpdateResult | undefined>;
    };
    usersRelationshipsFriendRequests: {
      create(input: {
        body: FriendRequestCreation;
      }): Promise<FriendRequest | undefined>;
      delete(input?: {
        ids?: Int64[];
      }): Promise<DeleteResult | undefined>;
      query(input?: {
        ids?: Int64[];
        requesterIds?: Int64[];
        recipientIds?: Int64[];
        statuses?: ("PENDING" | "ACCEPTED" | "ACCEPTED_WITHOUT_CONFIRM" | "DECLINED" | "IGNORED" | "EXPIRED" | "CANCELED")[];
        creationDateStart?: string;
        creationDateEnd?: string;
        responseDateStart?: string;
        responseDateEnd?: string;
        expirationDateStart?: string;
        expirationDateEnd?: string;
        size?: number;
      }): Promise<FriendRequest[] | undefined>;
      queryPage(input?: {
        ids?: Int64[];
        requesterIds?: Int64[];
        recipientIds?: Int64[];
        statuses?: ("PENDING" | "ACCEPTED" | "ACCEPTED_WITHOUT_CONFIRM" | "DECLINED" | "IGNORED" | "EXPIRED" | "CANCELED")[];
        creationDateStart?: string;
        creationDateEnd?: string;
        responseDateStart?: string;
        responseDateEnd?: string;
        expirationDateStart?: string;
        expirationDateEnd?: string;
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageFriendRequest | undefined>;
      update(input: {
        ids: Int64[];
        body: FriendRequestUpdate;
      }): Promise<UpdateResult | undefined>;
    };
    usersRelationshipsGroups: {
      create(input: {
        body: RelationshipGroupCreation;
      }): Promise<UserRelationshipGroup | undefined>;
      delete(input?: {
        keys?: UserRelationshipGroupKey[];
      }): Promise<DeleteResult | undefined>;
      query(input?: {
        ownerIds?: Int64[];
        indexes?: number[];
        names?: string[];
        creationDateStart?: string;
        creationDateEnd?: string;
        size?: number;
      }): Promise<UserRelationshipGroup[] | undefined>;
      queryPage(input?: {
        ownerIds?: Int64[];
        indexes?: number[];
        names?: string[];
        creationDateStart?: string;
        creationDateEnd?: string;
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageUserRelationshipGroup | undefined>;
      update(input: {
        keys: UserRelationshipGroupKey[];
        body: RelationshipGroupUpdate;
      }): Promise<UpdateResult | undefined>;
    };
    usersRoles: {
      create(input: {
        body: UserRoleCreation;
      }): Promise<UserRole | undefined>;
      delete(input: {
        ids: Int64[];
      }): Promise<DeleteResult | undefined>;
      query(input?: {
        size?: number;
      }): Promise<UserRole[] | undefined>;
      queryPage(input?: {
        page?: number;
        exactTotal?: boolean;
        size?: number;
      }): Promise<PageUserRole | undefined>;
      update(input: {
        ids: Int64[];
        body: UserRoleUpdate;
      }): Promise<UpdateResult | undefined>;
    };
  }
  interface ActiveVersion {
    number: Int64;
  }
  interface Admin {
    displayName: string;
    id: Int64;
    loginName: string;
    registrationDate: string;
    roleIds: Int64[];
  }
  interface AdminCreation {
    displayName?: string;
    loginName?: string;
    password?: string;
    roleIds: Int64[];
  }
  interface AdminPermission {
    group: string;
    permission: string;
  }
  interface AdminRole {
    creationDate: string;
    id: Int64;
    name: string;
    permissions: string[];
    rank: number;
  }
  interface AdminRoleCreation {
    id: Int64;
    name: string;
    permissions: string[];
    rank: number;
  }
  interface AdminRoleUpdate {
    name?: string;
    permissions?: string[];
    rank?: number;
  }
  interface AdminSession {
    adminId: Int64;
    creationDate: string;
    expirationDate: string;
    id: Int64;
    loginName: string;
    permissions: string[];
    token: string;
  }
  interface AdminToken {
    creationDate: string;
    expirationDate: string;
    id: Int64;
    kind: "TOKEN" | "SESSION";
    lastUseDate?: string;
    name?: string;
    networks: string[];
    ownerId: Int64;
    permissions?: string[];
  }
  interface AdminTokenCreation {
    expirationDate?: string;
    name: string;
    networks?: string[];
    permissions?: string[];
  }
  interface AdminUpdate {
    displayName?: string;
    password?: string;
    roleIds?: Int64[];
  }
  interface ArgumentRecord {
    path: string;
    value: string;
  }
  interface AuditChange {
    action: "CREATE" | "UPDATE" | "DELETE";
    after?: { [name: string]: JsonValue };
    before?: { [name: string]: JsonValue };
    key?: { [name: string]: JsonValue };
    record: string;
  }
  interface AuditRecord {
    adminId?: Int64;
    changes?: AuditChange[];
    code: number;
    date: string;
    id: Int64;
    ip?: string;
    loginName?: string;
    nodeId: string;
    omittedChanges?: Int64;
    onBehalfOf?: string;
    operation: string;
    outcome: "DONE" | "REFUSED" | "FAILED";
    params?: JsonValue;
    pluginId?: string;
    pluginVersion?: string;
    reason?: string;
    requestId?: string;
    status: number;
    targetIds: string[];
    tokenId?: Int64;
  }
  interface BlockedIP {
    blockEndTime: string;
    id: string;
  }
  interface BlockedIPCreation {
    blockDurationMillis?: Int64;
    ids: string[];
  }
  interface BlockedUser {
    blockEndTime: string;
    id: Int64;
  }
  interface BlockedUserCreation {
    blockDurationMillis?: Int64;
    ids?: Int64[];
  }
  interface Build {
    buildTime: string;
    commitId: string;
    version: string;
  }
  interface CandidateRecord {
    active: UsageRecord;
    number: Int64;
    reason?: string;
    shadow?: ShadowRecord;
    state: "LOADED" | "STARTED" | "PAUSED" | "STOPPED" | "FAILED";
    usage: UsageRecord;
    version?: string;
  }
  interface ClusterRecord {
    adminId: Int64;
    changeDate: string;
    digest: string;
    nodes: NodeStateRecord[];
    number: Int64;
    revision: Int64;
    rollout?: RolloutRecord;
    status: "LOADED" | "STARTED" | "PAUSED" | "STOPPED";
    version?: string;
  }
  interface ConversationUpdate {
    readDate?: string;
  }
  interface Conversations {
    groupConversations: GroupConversation[];
    privateConversations: PrivateConversation[];
  }
  interface DebuggingRecord {
    address?: string;
    configured: boolean;
    enabled: boolean;
    link?: string;
    pluginId: string;
  }
  interface DebuggingSwitch {
    enabled: boolean;
  }
  interface DeleteResult {
    deletedCount: Int64;
  }
  interface DeliveryRecord {
    delivered: Int64;
    failures: Int64;
    lastError?: string;
    lost: Int64;
    nextDate?: string;
    nodeId?: string;
    position: Int64;
    waiting: Int64;
  }
  interface DeviceSessionInfo {
    active: boolean;
    heartbeatTimestampSeconds: Int64;
    nodeId: string;
  }
  interface EndpointRecord {
    method: string;
    operationId: string;
    path: string;
    permission: string;
    summary: string;
  }
  interface ExtensionOutcome {
    extensionClass: string;
    extensionPointClasses: string[];
    functions?: string[];
  }
  interface ExtensionRecord {
    calls: Int64;
    delivery?: DeliveryRecord;
    endpoints?: EndpointRecord[];
    errors: Int64;
    extensionClass: string;
    extensionPointClasses: string[];
    functions?: string[];
    lastError?: FailureRecord;
    quarantine?: string;
    queueLength?: number;
    running: boolean;
    schedules?: ScheduleRecord[];
    started: boolean;
    state: "LOADED" | "WAITING" | "STARTED" | "PAUSED" | "STOPPED";
    timeouts?: Int64;
  }
  interface Failure {
    code: number;
    exception?: string;
    reason: string;
    timestamp: string;
  }
  interface FailureRecord {
    date: string;
    in: string;
    reason: string;
  }
  interface FlightRecording {
    closeDate?: string;
    description?: string;
    id: Int64;
    startDate?: string;
    state: "NEW" | "DELAYED" | "RUNNING" | "STOPPED" | "CLOSED";
  }
  interface FlightRecordingCreation {
    customSettings?: { [name: string]: string };
    delaySeconds?: number;
    description?: string;
    durationSeconds?: number;
    maxAgeSeconds?: number;
    maxSizeBytes?: number;
  }
  interface FriendRequest {
    content: string;
    creationDate: string;
    expirationDate?: string;
    id: Int64;
    reason?: string;
    recipientId: Int64;
    requesterId: Int64;
    responseDate?: string;
    status: "PENDING" | "ACCEPTED" | "ACCEPTED_WITHOUT_CONFIRM" | "DECLINED" | "IGNORED" | "EXPIRED" | "CANCELED";
  }
  interface FriendRequestCreation {
    content: string;
    creationDate?: string;
    id?: Int64;
    reason?: string;
    recipientId: Int64;
    requesterId: Int64;
    responseDate?: string;
    status?: "PENDING" | "ACCEPTED" | "ACCEPTED_WITHOUT_CONFIRM" | "DECLINED" | "IGNORED" | "EXPIRED" | "CANCELED";
  }
  interface FriendRequestUpdate {
    content?: string;
    creationDate?: string;
    reason?: string;
    recipientId?: Int64;
    requesterId?: Int64;
    responseDate?: string;
    status?: "PENDING" | "ACCEPTED" | "ACCEPTED_WITHOUT_CONFIRM" | "DECLINED" | "IGNORED" | "EXPIRED" | "CANCELED";
  }
  interface GrantBody {
    hosts?: string[];
    java?: boolean;
    permissions?: string[];
  }
  interface GrantRecord {
    adminId: Int64;
    changeDate: string;
    hosts: string[];
    java: boolean;
    permissions: string[];
    pluginId: string;
    revision: Int64;
  }
  interface GrantsRecord {
    hosts: string[];
    java: boolean;
    permissions: string[];
  }
  interface Group {
    announcement?: string;
    creationDate: string;
    creatorId: Int64;
    deletionDate?: string;
    id: Int64;
    intro?: string;
    isActive: boolean;
    lastUpdatedDate: string;
    minimumScore: number;
    muteEndDate?: string;
    name?: string;
    ownerId: Int64;
    typeId: Int64;
    userDefinedAttributes?: { [name: string]: JsonValue };
  }
  interface GroupBlockedUser {
    blockDate: string;
    key: GroupUserKey;
    requesterId: Int64;
  }
  interface GroupBlockedUserCreation {
    blockDate?: string;
    groupId: Int64;
    requesterId: Int64;
    userId: Int64;
  }
  interface GroupBlockedUserUpdate {
    blockDate?: string;
    requesterId?: Int64;
  }
  interface GroupConversation {
    groupId: Int64;
    memberIdToReadDate: { [name: string]: string };
  }
  interface GroupConversationMemberKey {
    groupId: Int64;
    memberId: Int64;
  }
  interface GroupCreation {
    announcement?: string;
    creationDate?: string;
    creatorId: Int64;
    deletionDate?: string;
    intro?: string;
    isActive?: boolean;
    lastUpdatedDate?: string;
    minimumScore?: number;
    muteEndDate?: string;
    name?: string;
    ownerId?: Int64;
    typeId?: Int64;
  }
  interface GroupInvitation {
    content: string;
    creationDate: string;
    expirationDate?: string;
    groupId: Int64;
    id: Int64;
    inviteeId: Int64;
    inviterId: Int64;
    reason?: string;
    responseDate?: string;
    status: "PENDING" | "ACCEPTED" | "ACCEPTED_WITHOUT_CONFIRM" | "DECLINED" | "IGNORED" | "EXPIRED" | "CANCELED";
  }
  interface GroupInvitationCreation {
    content?: string;
    creationDate?: string;
    groupId: Int64;
    id?: Int64;
    inviteeId: Int64;
    inviterId: Int64;
    responseDate?: string;
    status?: "PENDING" | "ACCEPTED" | "ACCEPTED_WITHOUT_CONFIRM" | "DECLINED" | "IGNORED" | "EXPIRED" | "CANCELED";
  }
  interface GroupInvitationUpdate {
    content?: string;
    creationDate?: string;
    groupId?: Int64;
    inviteeId?: Int64;
    inviterId?: Int64;
    responseDate?: string;
    status?: "PENDING" | "ACCEPTED" | "ACCEPTED_WITHOUT_CONFIRM" | "DECLINED" | "IGNORED" | "EXPIRED" | "CANCELED";
  }
  interface GroupJoinRequest {
    content: string;
    creationDate: string;
    expirationDate?: string;
    groupId: Int64;
    id: Int64;
    reason?: string;
    requesterId: Int64;
    responderId?: Int64;
    responseDate?: string;
    status: "PENDING" | "ACCEPTED" | "ACCEPTED_WITHOUT_CONFIRM" | "DECLINED" | "IGNORED" | "EXPIRED" | "CANCELED";
  }
  interface GroupJoinRequestCreation {
    content?: string;
    creationDate?: string;
    groupId: Int64;
    id?: Int64;
    requesterId: Int64;
    responderId: Int64;
    responseDate?: string;
    responseReason?: string;
    status?: "PENDING" | "ACCEPTED" | "ACCEPTED_WITHOUT_CONFIRM" | "DECLINED" | "IGNORED" | "EXPIRED" | "CANCELED";
  }
  interface GroupJoinRequestUpdate {
    content?: string;
    creationDate?: string;
    groupId?: Int64;
    requesterId?: Int64;
    responderId?: Int64;
    responseDate?: string;
    status?: "PENDING" | "ACCEPTED" | "ACCEPTED_WITHOUT_CONFIRM" | "DECLINED" | "IGNORED" | "EXPIRED" | "CANCELED";
  }
  interface GroupMember {
    joinDate: string;
    key: GroupUserKey;
    muteEndDate?: string;
    name?: string;
    role: "OWNER" | "MANAGER" | "MEMBER" | "GUEST" | "ANONYMOUS_GUEST";
  }
  interface GroupMemberCreation {
    groupId: Int64;
    joinDate?: string;
    muteEndDate?: string;
    name?: string;
    role: "MANAGER" | "MEMBER" | "GUEST" | "ANONYMOUS_GUEST";
    userId: Int64;
  }
  interface GroupMemberUpdate {
    joinDate?: string;
    muteEndDate?: string;
    name?: string;
    role?: "OWNER" | "MANAGER" | "MEMBER" | "GUEST" | "ANONYMOUS_GUEST";
  }
  interface GroupQuestion {
    answers: string[];
    groupId: Int64;
    id: Int64;
    question: string;
    score: number;
  }
  interface GroupQuestionCreation {
    answers: string[];
    groupId: Int64;
    question: string;
    score: number;
  }
  interface GroupQuestionUpdate {
    answers?: string[];
    groupId?: Int64;
    question?: string;
    score?: number;
  }
  interface GroupStatistics {
    createdGroups?: Int64;
    createdGroupsRecords?: StatisticsRecord[];
    deletedGroups?: Int64;
    deletedGroupsRecords?: StatisticsRecord[];
    groupsThatSentMessages?: Int64;
    groupsThatSentMessagesRecords?: StatisticsRecord[];
  }
  interface GroupType {
    enableReadReceipt: boolean;
    groupInfoUpdateStrategy: "ALL" | "OWNER_MANAGER_MEMBER" | "OWNER_MANAGER" | "OWNER";
    groupSizeLimit: number;
    guestSpeakable: boolean;
    id: Int64;
    invitationStrategy: "ALL_REQUIRING_APPROVAL" | "OWNER_MANAGER_MEMBER_REQUIRING_APPROVAL" | "OWNER_MANAGER_REQUIRING_APPROVAL" | "OWNER_REQUIRING_APPROVAL" | "ALL" | "OWNER_MANAGER_MEMBER" | "OWNER_MANAGER" | "OWNER";
    joinStrategy: "MEMBERSHIP_REQUEST" | "INVITATION" | "QUESTION" | "JOIN_REQUEST";
    memberInfoUpdateStrategy: "ALL" | "OWNER_MANAGER_MEMBER" | "OWNER_MANAGER" | "OWNER";
    messageEditable: boolean;
    name: string;
    selfInfoUpdatable: boolean;
  }
  interface GroupTypeCreation {
    enableReadReceipt: boolean;
    groupInfoUpdateStrategy: "ALL" | "OWNER_MANAGER_MEMBER" | "OWNER_MANAGER" | "OWNER";
    groupSizeLimit: number;
    guestSpeakable: boolean;
    invitationStrategy: "ALL_REQUIRING_APPROVAL" | "OWNER_MANAGER_MEMBER_REQUIRING_APPROVAL" | "OWNER_MANAGER_REQUIRING_APPROVAL" | "OWNER_REQUIRING_APPROVAL" | "ALL" | "OWNER_MANAGER_MEMBER" | "OWNER_MANAGER" | "OWNER";
    joinStrategy: "MEMBERSHIP_REQUEST" | "INVITATION" | "QUESTION" | "JOIN_REQUEST";
    memberInfoUpdateStrategy: "ALL" | "OWNER_MANAGER_MEMBER" | "OWNER_MANAGER" | "OWNER";
    messageEditable: boolean;
    name: string;
    selfInfoUpdatable: boolean;
  }
  interface GroupTypeUpdate {
    enableReadReceipt?: boolean;
    groupInfoUpdateStrategy?: "ALL" | "OWNER_MANAGER_MEMBER" | "OWNER_MANAGER" | "OWNER";
    groupSizeLimit?: number;
    guestSpeakable?: boolean;
    invitationStrategy?: "ALL_REQUIRING_APPROVAL" | "OWNER_MANAGER_MEMBER_REQUIRING_APPROVAL" | "OWNER_MANAGER_REQUIRING_APPROVAL" | "OWNER_REQUIRING_APPROVAL" | "ALL" | "OWNER_MANAGER_MEMBER" | "OWNER_MANAGER" | "OWNER";
    joinStrategy?: "MEMBERSHIP_REQUEST" | "INVITATION" | "QUESTION" | "JOIN_REQUEST";
    memberInfoUpdateStrategy?: "ALL" | "OWNER_MANAGER_MEMBER" | "OWNER_MANAGER" | "OWNER";
    messageEditable?: boolean;
    name?: string;
    selfInfoUpdatable?: boolean;
  }
  interface GroupUpdate {
    announcement?: string;
    creationDate?: string;
    creatorId?: Int64;
    deletionDate?: string;
    intro?: string;
    isActive?: boolean;
    lastUpdatedDate?: string;
    minimumScore?: number;
    muteEndDate?: string;
    name?: string;
    ownerId?: Int64;
    quitAfterTransfer?: boolean;
    successorId?: Int64;
    typeId?: Int64;
  }
  interface GroupUserKey {
    groupId: Int64;
    userId: Int64;
  }
  interface HealthReport {
    liveness: "UP";
    parts: PartHealth[];
    readiness: "UP" | "DOWN";
    status: "UP" | "DOWN";
  }
  interface Infos {
    build: Build;
  }
  interface Measurement {
    measurements: { [name: string]: number };
    tags: string[];
  }
  interface Member {
    adminApiAddress: string;
    isLeaderEligible: boolean;
    isSeed: boolean;
    key: MemberKey;
    leaderEligible: boolean;
    memberHost: string;
    memberPort: number;
    name: string;
    nodeType: "AI_SERVING" | "GATEWAY" | "SERVICE" | "MOCK";
    nodeVersion: MemberVersion;
    priority: number;
    processId?: string;
    registrationDate: string;
    seed: boolean;
    status: MemberStatus;
    tcpAddress?: string;
    udpAddress?: string;
    wsAddress?: string;
    zone: string;
  }
  interface MemberCreation {
    adminApiAddress?: string;
    isActive?: boolean;
    isHealthy?: boolean;
    isLeaderEligible?: boolean;
    isSeed?: boolean;
    memberHost?: string;
    memberPort?: number;
    name?: string;
    nodeId: string;
    nodeType: "AI_SERVING" | "GATEWAY" | "SERVICE" | "MOCK";
    priority?: number;
    registrationDate?: string;
    tcpAddress?: string;
    udpAddress?: string;
    version: string;
    wsAddress?: string;
    zone?: string;
  }
  interface MemberKey {
    clusterId: string;
    nodeId: string;
  }
  interface MemberStatus {
    active: boolean;
    hasJoinedCluster: boolean;
    healthy: boolean;
    isActive: boolean;
    isHealthy: boolean;
    lastHeartbeatDate: string;
  }
  interface MemberUpdate {
    isActive?: boolean;
    isLeaderEligible?: boolean;
    isSeed?: boolean;
    name?: string;
    priority?: number;
    zone?: string;
  }
  interface MemberVersion {
    major: number;
    minor: number;
    patch: number;
    qualifier: number;
    version: string;
  }
  interface Message {
    burnAfter?: number;
    conversationId?: Base64;
    deletionDate?: string;
    deliveryDate: string;
    id: Int64;
    isGroupMessage: boolean;
    isSystemMessage: boolean;
    modificationDate?: string;
    preMessageId?: Int64;
    recallDate?: string;
    records?: Base64[];
    referenceId?: Int64;
    senderId: Int64;
    senderIp?: number;
    senderIpV6?: Base64;
    sequenceId?: number;
    targetId: Int64;
    text?: string;
  }
  interface MessageCounts {
    sentMessages?: Int64;
    sentMessagesOnAverage?: Int64;
    sentMessagesOnAverageRecords?: StatisticsRecord[];
    sentMessagesRecords?: StatisticsRecord[];
  }
  interface MessageCreation {
    burnAfter?: number;
    id?: Int64;
    isGroupMessage: boolean;
    isSystemMessage: boolean;
    preMessageId?: Int64;
    records?: Base64[];
    referenceId?: Int64;
    senderDeviceType?: "DESKTOP" | "BROWSER" | "IOS" | "ANDROID" | "OTHERS" | "UNKNOWN";
    senderId?: Int64;
    senderIp?: string;
    targetId: Int64;
    text?: string;
  }
  interface MessageUpdate {
    burnAfter?: number;
    isSystemMessage?: boolean;
    recallDate?: string;
    records?: Base64[];
    senderDeviceType?: "DESKTOP" | "BROWSER" | "IOS" | "ANDROID" | "OTHERS" | "UNKNOWN";
    senderId?: Int64;
    senderIp?: string;
    text?: string;
  }
  interface Metric {
    availableTags?: { [name: string]: string[] };
    baseUnit?: string;
    description?: string;
    measurements: Measurement[];
    name: string;
  }
  interface MissingNode {
    nodeId: string;
    reason: string;
  }
  interface NearbyUser {
    deviceType?: "DESKTOP" | "BROWSER" | "IOS" | "ANDROID" | "OTHERS" | "UNKNOWN";
    distance?: number;
    info?: NearbyUserInfo;
    latitude?: number;
    longitude?: number;
    userId: Int64;
  }
  interface NearbyUserInfo {
    id: Int64;
    intro: string;
    isActive: boolean;
    name: string;
    profileAccessStrategy: "ALL" | "ALL_EXCEPT_BLOCKED_USERS" | "FRIENDS";
    profilePicture?: string;
    registrationDate: string;
    roleId: Int64;
    userDefinedAttributes?: { [name: string]: JsonValue };
  }
  interface NewAdminToken {
    creationDate: string;
    expirationDate: string;
    id: Int64;
    kind: "TOKEN" | "SESSION";
    lastUseDate?: string;
    name?: string;
    networks: string[];
    ownerId: Int64;
    permissions?: string[];
    token: string;
  }
  interface NewRollout {
    maxDifferencePercentage?: number;
    maxErrorPercentage?: number;
    maxLatencyPercentage?: number;
    maxRefusalPercentage?: number;
    minCalls?: Int64;
    nodeIds?: string[];
    number: Int64;
    percentage?: number;
    pluginId: string;
    promoteAfterSeconds?: Int64;
    shadow?: boolean;
    steps?: NewRolloutStep[];
    userIds?: Int64[];
  }
  interface NewRolloutStep {
    afterSeconds?: Int64;
    percentage: number;
  }
  interface NodeStateRecord {
    candidate?: CandidateRecord;
    digest?: string;
    nodeId: string;
    number?: Int64;
    reason?: string;
    state: "LOADED" | "STARTED" | "PAUSED" | "STOPPED" | "LOADING" | "FAILED" | "WAITING" | "CONFLICT" | "DISABLED" | "UNKNOWN";
    version?: string;
  }
  interface OnlineUserCount {
    nodeIdToUserCount?: { [name: string]: number };
    total: number;
  }
  interface PageAdmin {
    records: Admin[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PageAdminRole {
    records: AdminRole[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PageAdminToken {
    records: AdminToken[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PageAuditRecord {
    records: AuditRecord[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PageBlockedIP {
    records: BlockedIP[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PageBlockedUser {
    records: BlockedUser[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PageFriendRequest {
    records: FriendRequest[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PageGroup {
    records: Group[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PageGroupBlockedUser {
    records: GroupBlockedUser[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PageGroupInvitation {
    records: GroupInvitation[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PageGroupJoinRequest {
    records: GroupJoinRequest[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PageGroupMember {
    records: GroupMember[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PageGroupQuestion {
    records: GroupQuestion[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PageGroupType {
    records: GroupType[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PageMessage {
    records: Message[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PageSettingRevision {
    records: SettingRevision[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PageUser {
    records: User[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PageUserRelationship {
    records: UserRelationship[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PageUserRelationshipGroup {
    records: UserRelationshipGroup[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PageUserRole {
    records: UserRole[];
    total: Int64;
    totalIsExact?: boolean;
  }
  interface PartHealth {
    name: string;
    reason?: string;
    status: "UP" | "DEGRADED" | "DOWN";
  }
  interface PluginOutcome {
    description?: string;
    digest?: string;
    extensions?: ExtensionOutcome[];
    fileName?: string;
    id?: string;
    license?: string;
    missingGrants?: GrantsRecord;
    nodes?: NodeStateRecord[];
    number?: Int64;
    problem?: PluginProblem;
    provider?: string;
    replaced?: boolean;
    requestedGrants?: GrantsRecord;
    savedAs?: string;
    version?: string;
    waits?: boolean;
    warnings?: string[];
  }
  interface PluginProblem {
    code: number;
    reason: string;
  }
  interface PluginRecord {
    allocated?: Int64;
    cluster?: ClusterRecord;
    cpuMillis?: Int64;
    description?: string;
    digest?: string;
    excess?: string;
    extensions: ExtensionRecord[];
    fileName?: string;
    granted?: GrantsRecord;
    id: string;
    language?: "JAVA" | "JAVA_SCRIPT";
    license?: string;
    loadedDate?: string;
    memory?: Int64;
    missingGrants?: GrantsRecord;
    processId?: string;
    provider?: string;
    rejected?: RejectionRecord;
    renewals?: number;
    requestedGrants?: GrantsRecord;
    scope?: "NODE" | "CLUSTER";
    settingsSchema?: { [name: string]: JsonValue };
    version?: string;
    waitingVersion?: WaitingRecord;
  }
  interface PluginStatus {
    status?: "STARTED" | "STOPPED" | "RESUMED" | "PAUSED";
  }
  interface PluginUpdateResult {
    failures?: UpdateFailure[];
    matchedCount: Int64;
    modifiedCount: Int64;
  }
  interface PrivateConversation {
    key: PrivateConversationKey;
    readDate: string;
  }
  interface PrivateConversationKey {
    ownerId: Int64;
    targetId: Int64;
  }
  interface RejectionRecord {
    date: string;
    file?: string;
    reason: string;
  }
  interface RelationshipCreation {
    blockDate?: string;
    establishmentDate?: string;
    name?: string;
    ownerId: Int64;
    relatedUserId: Int64;
  }
  interface RelationshipGroupCreation {
    creationDate?: string;
    index?: number;
    name: string;
    ownerId: Int64;
  }
  interface RelationshipGroupUpdate {
    creationDate?: string;
    name?: string;
  }
  interface RelationshipUpdate {
    blockDate?: string;
    establishmentDate?: string;
    name?: string;
  }
  interface RolloutFigures {
    active?: UsageRecord;
    candidate: UsageRecord;
    processes: Int64;
    shadow?: ShadowRecord;
  }
  interface RolloutNodeRecord {
    nodeId: string;
    shadow: ShadowRecord;
  }
  interface RolloutRecord {
    adminId: Int64;
    endDate?: string;
    figures?: RolloutFigures;
    id: Int64;
    maxDifferencePercentage?: number;
    maxErrorPercentage: number;
    maxLatencyPercentage?: number;
    maxRefusalPercentage?: number;
    minCalls: Int64;
    mode: "NODES" | "USERS" | "SHADOW";
    nodeIds: string[];
    nodes?: RolloutNodeRecord[];
    number: Int64;
    percentage?: number;
    pluginId: string;
    promoteAfterSeconds?: Int64;
    reason?: string;
    startDate: string;
    status: "RUNNING" | "PAUSED" | "PROMOTED" | "ABORTED" | "ROLLED_BACK";
    steps?: RolloutStepRecord[];
    userIds?: Int64[];
  }
  interface RolloutStep {
    action: "CHANGE" | "PAUSE" | "RESUME" | "NEXT" | "PROMOTE" | "ABORT";
    percentage?: number;
    userIds?: Int64[];
  }
  interface RolloutStepRecord {
    afterSeconds?: Int64;
    percentage: number;
    reason?: string;
    startDate?: string;
  }
  interface SampleDifference {
    active?: string;
    candidate?: string;
    path: string;
  }
  interface SamplePage {
    missingNodes?: MissingNode[];
    records: SampleRecord[];
  }
  interface SampleRecord {
    active?: SampleStepRecord;
    adminId?: Int64;
    arguments?: ArgumentRecord[];
    candidate: SampleStepRecord;
    date: string;
    differences?: SampleDifference[];
    extensionPoint: string;
    function: string;
    moreArguments?: Int64;
    moreDifferences?: Int64;
    nodeId: string;
    request?: string;
    requestId?: string;
    userId?: Int64;
  }
  interface SampleStepRecord {
    changes?: TraceChangeRecord[];
    code?: number;
    durationMicros: Int64;
    moreChanges?: Int64;
    outcome: "UNCHANGED" | "CHANGED" | "ANSWERED" | "REFUSED" | "ERROR" | "TIMEOUT";
    reason?: string;
    version?: string;
  }
  interface ScheduleRecord {
    failures: Int64;
    lastDate?: string;
    lastDurationMillis?: Int64;
    lastError?: string;
    leaderOnly: boolean;
    name: string;
    nextDate?: string;
    running: boolean;
    runs: Int64;
    skipped: Int64;
    when: string;
  }
  interface Script {
    code: string;
    fileName?: string;
  }
  interface ScriptList {
    scripts?: Script[];
  }
  interface ScriptRecord {
    code: string;
    digest: string;
    fileName: string;
    id: string;
  }
  interface SettingChange {
    after: JsonValue;
    before: JsonValue;
    property: string;
  }
  interface SettingRevision {
    action: "UPDATE" | "RESET" | "REVERT";
    adminId: Int64;
    changes: SettingChange[];
    date: string;
    revision: Int64;
  }
  interface Settings {
    schemaVersion: number;
    settings: { [name: string]: JsonValue };
  }
  interface ShadowRecord {
    calls: Int64;
    different: Int64;
    dropped: Int64;
    equal: Int64;
    errors: Int64;
  }
  interface StatisticsRecord {
    date: string;
    total: Int64;
  }
  interface TraceChangeRecord {
    after?: string;
    before?: string;
    path: string;
  }
  interface TracePage {
    missingNodes?: MissingNode[];
    records: TraceRecord[];
    total: Int64;
  }
  interface TraceRecord {
    adminId?: Int64;
    date: string;
    durationMicros: Int64;
    extensionPoint: string;
    function: string;
    id: Int64;
    nodeId: string;
    outcome: "UNCHANGED" | "CHANGED" | "ANSWERED" | "REFUSED" | "ERROR" | "TIMEOUT";
    processId?: string;
    request?: string;
    requestId?: string;
    steps: TraceStepRecord[];
    userId?: Int64;
  }
  interface TraceStepRecord {
    changes?: TraceChangeRecord[];
    code?: number;
    durationMicros: Int64;
    extensionClass: string;
    moreChanges?: Int64;
    outcome: "UNCHANGED" | "CHANGED" | "ANSWERED" | "REFUSED" | "ERROR" | "TIMEOUT";
    pluginId: string;
    reason?: string;
    version?: string;
  }
  interface UpdateFailure {
    extension: string;
    id: string;
    reason: string;
    state: "LOADED" | "STARTED" | "PAUSED" | "STOPPED";
  }
  interface UpdateResult {
    matchedCount: Int64;
    modifiedCount: Int64;
  }
  interface UsageRecord {
    calls: Int64;
    failed: Int64;
    p99Millis: number;
    refused: Int64;
  }
  interface User {
    deletionDate?: string;
    id: Int64;
    intro: string;
    isActive: boolean;
    lastUpdatedDate: string;
    name: string;
    profileAccessStrategy: "ALL" | "ALL_EXCEPT_BLOCKED_USERS" | "FRIENDS";
    profilePicture?: string;
    registrationDate: string;
    roleId: Int64;
    userDefinedAttributes?: { [name: string]: JsonValue };
  }
  interface UserCreation {
    id?: Int64;
    intro?: string;
    isActive?: boolean;
    name?: string;
    password?: string;
    profileAccessStrategy?: "ALL" | "ALL_EXCEPT_BLOCKED_USERS" | "FRIENDS";
    profilePicture?: string;
    registrationDate?: string;
    roleId?: Int64;
  }
  interface UserLocation {
    details: { [name: string]: string };
    latitude: number;
    longitude: number;
    timestamp: string;
  }
  interface UserPosition {
    deviceType: "DESKTOP" | "BROWSER" | "IOS" | "ANDROID" | "OTHERS" | "UNKNOWN";
    latitude: number;
    longitude: number;
    userId: Int64;
  }
  interface UserRelationship {
    blockDate?: string;
    establishmentDate: string;
    groupIndexes?: number[];
    key: UserRelationshipKey;
    name?: string;
  }
  interface UserRelationshipGroup {
    creationDate: string;
    key: UserRelationshipGroupKey;
    name: string;
  }
  interface UserRelationshipGroupKey {
    groupIndex: number;
    ownerId: Int64;
  }
  interface UserRelationshipKey {
    ownerId: Int64;
    relatedUserId: Int64;
  }
  interface UserRole {
    creatableGroupTypeIds: Int64[];
    groupTypeIdToLimit: { [name: string]: number };
    id: Int64;
    name?: string;
    ownedGroupLimit: number;
    ownedGroupLimitForEachGroupType: number;
  }
  interface UserRoleCreation {
    creatableGroupTypeIds?: Int64[];
    groupTypeIdToLimit?: { [name: string]: number };
    id?: Int64;
    name?: string;
    ownedGroupLimit: number;
    ownedGroupLimitForEachGroupType: number;
  }
  interface UserRoleUpdate {
    creatableGroupTypeIds?: Int64[];
    groupTypeIdToLimit?: { [name: string]: number };
    name?: string;
    ownedGroupLimit?: number;
    ownedGroupLimitForEachGroupType?: number;
  }
  interface UserSession {
    deviceDetails: { [name: string]: string };
    deviceType: "DESKTOP" | "BROWSER" | "IOS" | "ANDROID" | "OTHERS" | "UNKNOWN";
    id: number;
    ip: string;
    isSessionOpen: boolean;
    lastHeartbeatRequestDate: string;
    lastRequestDate: string;
    loginDate: string;
    loginLocation?: UserLocation;
    version: number;
  }
  interface UserSessions {
    sessions: UserSession[];
    status: "AVAILABLE" | "OFFLINE" | "INVISIBLE" | "BUSY" | "DO_NOT_DISTURB" | "AWAY" | "BE_RIGHT_BACK";
    userId: Int64;
  }
  interface UserSessionsStatus {
    deviceTypeToSessionInfo: { [name: string]: DeviceSessionInfo };
    offline: boolean;
    userId: Int64;
    userStatus: "AVAILABLE" | "OFFLINE" | "INVISIBLE" | "BUSY" | "DO_NOT_DISTURB" | "AWAY" | "BE_RIGHT_BACK";
  }
  interface UserStatistics {
    deletedUsers?: Int64;
    deletedUsersRecords?: StatisticsRecord[];
    registeredUsers?: Int64;
    registeredUsersRecords?: StatisticsRecord[];
    usersWhoSentMessages?: Int64;
    usersWhoSentMessagesRecords?: StatisticsRecord[];
  }
  interface UserStatusUpdate {
    onlineStatus: "AVAILABLE" | "OFFLINE" | "INVISIBLE" | "BUSY" | "DO_NOT_DISTURB" | "AWAY" | "BE_RIGHT_BACK";
  }
  interface UserUpdate {
    intro?: string;
    isActive?: boolean;
    name?: string;
    password?: string;
    profileAccessStrategy?: "ALL" | "ALL_EXCEPT_BLOCKED_USERS" | "FRIENDS";
    profilePicture?: string;
    registrationDate?: string;
    roleId?: Int64;
  }
  interface VersionRecord {
    active: boolean;
    adminId: Int64;
    digest: string;
    fileName: string;
    language: "JAVA" | "JAVA_SCRIPT";
    number: Int64;
    pluginId: string;
    servers: string[];
    size: Int64;
    uploadDate: string;
    version?: string;
  }
  interface WaitingRecord {
    date: string;
    digest: string;
    missingGrants?: GrantsRecord;
    version: string;
  }
}
type StatusCodeName =
  | 'OK'
  | 'NO_CONTENT'
  | 'ALREADY_UP_TO_DATE'
  | 'INVALID_REQUEST'
  | 'CLIENT_REQUESTS_TOO_FREQUENT'
  | 'ILLEGAL_ARGUMENT'
  | 'RECORD_CONTAINS_DUPLICATE_KEY'
  | 'REQUESTED_RECORDS_TOO_MANY'
  | 'SEND_REQUEST_FROM_NONEXISTENT_SESSION'
  | 'UNAUTHORIZED_REQUEST'
  | 'SERVER_INTERNAL_ERROR'
  | 'SERVER_UNAVAILABLE'
  | 'UNAUTHORIZED'
  | 'NO_FILTER_FOR_DELETE_OPERATION'
  | 'RESOURCE_NOT_FOUND'
  | 'DUPLICATE_RESOURCE'
  | 'ADMIN_REQUESTS_TOO_FREQUENT'
  | 'DUMP_JFR_IN_ILLEGAL_STATUS'
  | 'JAVASCRIPT_PLUGIN_IS_DISABLED'
  | 'SAVING_JAVA_PLUGIN_IS_DISABLED'
  | 'SAVING_JAVASCRIPT_PLUGIN_IS_DISABLED'
  | 'IP_BLOCKLIST_IS_DISABLED'
  | 'USER_ID_BLOCKLIST_IS_DISABLED'
  | 'DEBUG_IS_DISABLED'
  | 'NONEXISTENT_MEMBER_TO_BE_LEADER'
  | 'NO_QUALIFIED_MEMBER_TO_BE_LEADER'
  | 'NOT_QUALIFIED_MEMBER_TO_BE_LEADER'
  | 'UNSUPPORTED_CLIENT_VERSION'
  | 'LOGIN_TIMEOUT'
  | 'LOGIN_AUTHENTICATION_FAILED'
  | 'LOGGING_IN_USER_NOT_ACTIVE'
  | 'LOGIN_FROM_FORBIDDEN_DEVICE_TYPE'
  | 'SESSION_SIMULTANEOUS_CONFLICTS_DECLINE'
  | 'SESSION_SIMULTANEOUS_CONFLICTS_NOTIFY'
  | 'SESSION_SIMULTANEOUS_CONFLICTS_OFFLINE'
  | 'CREATE_EXISTING_SESSION'
  | 'UPDATE_HEARTBEAT_OF_NONEXISTENT_SESSION'
  | 'USER_LOCATION_RELATED_FEATURES_ARE_DISABLED'
  | 'QUERYING_NEAREST_USERS_BY_SESSION_ID_IS_DISABLED'
  | 'UPDATE_INFO_OF_NONEXISTENT_USER'
  | 'NOT_FRIEND_TO_QUERY_USER_PROFILE'
  | 'BLOCKED_USER_TO_QUERY_USER_PROFILE'
  | 'QUERY_PERMISSION_OF_NONEXISTENT_USER'
  | 'ADD_NON_RELATED_USER_TO_GROUP'
  | 'CREATE_EXISTING_RELATIONSHIP'
  | 'CANNOT_BLOCK_ONESELF'
  | 'CREATE_EXISTING_FRIEND_REQUEST'
  | 'BLOCKED_USER_TO_SEND_FRIEND_REQUEST'
  | 'RECALL_NON_PENDING_FRIEND_REQUEST'
  | 'RECALLING_FRIEND_REQUEST_IS_DISABLED'
  | 'NOT_SENDER_TO_RECALL_FRIEND_REQUEST'
  | 'UPDATE_NON_PENDING_FRIEND_REQUEST'
  | 'NOT_RECIPIENT_TO_UPDATE_FRIEND_REQUEST'
  | 'UPDATE_INFO_OF_NONEXISTENT_GROUP'
  | 'NOT_GROUP_OWNER_TO_UPDATE_GROUP_INFO'
  | 'NOT_GROUP_OWNER_OR_MANAGER_TO_UPDATE_GROUP_INFO'
  | 'NOT_GROUP_MEMBER_TO_UPDATE_GROUP_INFO'
  | 'NO_PERMISSION_TO_CREATE_GROUP_WITH_GROUP_TYPE'
  | 'CREATE_GROUP_WITH_NONEXISTENT_GROUP_TYPE'
  | 'UPDATING_GROUP_TYPE_IS_DISABLED'
  | 'NOT_GROUP_OWNER_TO_UPDATE_GROUP_TYPE'
  | 'NO_PERMISSION_TO_UPDATE_GROUP_TO_GROUP_TYPE'
  | 'UPDATE_GROUP_TO_NONEXISTENT_GROUP_TYPE'
  | 'NOT_ACTIVE_USER_TO_CREATE_GROUP'
  | 'NOT_GROUP_OWNER_TO_TRANSFER_GROUP'
  | 'NOT_GROUP_OWNER_TO_DELETE_GROUP'
  | 'GROUP_SUCCESSOR_NOT_GROUP_MEMBER'
  | 'GROUP_OWNER_QUIT_WITHOUT_SPECIFYING_SUCCESSOR'
  | 'MAX_OWNED_GROUPS_REACHED'
  | 'TRANSFER_NONEXISTENT_GROUP'
  | 'NOT_GROUP_OWNER_OR_MANAGER_TO_CREATE_GROUP_QUESTION'
  | 'NOT_GROUP_OWNER_OR_MANAGER_TO_DELETE_GROUP_QUESTION'
  | 'NOT_GROUP_OWNER_OR_MANAGER_TO_UPDATE_GROUP_QUESTION'
  | 'NOT_GROUP_OWNER_OR_MANAGER_TO_QUERY_GROUP_QUESTION_ANSWER'
  | 'CREATE_GROUP_QUESTION_FOR_INACTIVE_GROUP'
  | 'CREATE_GROUP_QUESTION_FOR_GROUP_USING_JOIN_REQUEST'
  | 'CREATE_GROUP_QUESTION_FOR_GROUP_USING_INVITATION'
  | 'CREATE_GROUP_QUESTION_FOR_GROUP_USING_MEMBERSHIP_REQUEST'
  | 'GROUP_QUESTION_ANSWERER_HAS_BEEN_BLOCKED'
  | 'GROUP_MEMBER_ANSWER_GROUP_QUESTION'
  | 'ANSWER_INACTIVE_GROUP_QUESTION'
  | 'ANSWER_GROUP_QUESTION_OF_INACTIVE_GROUP'
  | 'ADD_USER_TO_GROUP_REQUIRING_USERS_APPROVAL'
  | 'ADD_USER_TO_INACTIVE_GROUP'
  | 'NOT_GROUP_OWNER_TO_ADD_GROUP_MANAGER'
  | 'ADD_USER_TO_GROUP_WITH_SIZE_LIMIT_REACHED'
  | 'ADD_BLOCKED_USER_TO_GROUP'
  | 'NOT_GROUP_OWNER_TO_ADD_GROUP_MEMBER'
  | 'NOT_GROUP_OWNER_OR_MANAGER_TO_ADD_GROUP_MEMBER'
  | 'NOT_GROUP_MEMBER_TO_ADD_GROUP_MEMBER'
  | 'NOT_GROUP_OWNER_OR_MANAGER_TO_REMOVE_GROUP_MEMBER'
  | 'NOT_GROUP_OWNER_TO_REMOVE_GROUP_OWNER_OR_MANAGER'
  | 'NOT_GROUP_OWNER_TO_UPDATE_GROUP_MEMBER_ROLE'
  | 'UPDATE_GROUP_MEMBER_ROLE_OF_NONEXISTENT_GROUP'
  | 'NOT_GROUP_OWNER_TO_UPDATE_GROUP_MEMBER_INFO'
  | 'NOT_GROUP_OWNER_OR_MANAGER_TO_UPDATE_GROUP_MEMBER_INFO'
  | 'NOT_GROUP_MEMBER_TO_UPDATE_GROUP_MEMBER_INFO'
  | 'UPDATE_GROUP_MEMBER_INFO_OF_NONEXISTENT_GROUP'
  | 'UPDATE_INFO_OF_NONEXISTENT_GROUP_MEMBER'
  | 'NOT_GROUP_OWNER_OR_MANAGER_TO_MUTE_GROUP_MEMBER'
  | 'MUTE_GROUP_MEMBER_WITH_ROLE_EQUAL_TO_OR_HIGHER_THAN_REQUESTER'
  | 'MUTE_GROUP_MEMBER_OF_NONEXISTENT_GROUP'
  | 'MUTE_NONEXISTENT_GROUP_MEMBER'
  | 'NOT_GROUP_MEMBER_TO_QUERY_GROUP_MEMBER_INFO'
  | 'USER_JOIN_GROUP_WITHOUT_ACCEPTING_GROUP_INVITATION'
  | 'USER_JOIN_GROUP_WITHOUT_ANSWERING_GROUP_QUESTION'
  | 'USER_JOIN_GROUP_WITHOUT_SENDING_GROUP_JOIN_REQUEST'
  | 'NOT_GROUP_OWNER_OR_MANAGER_TO_ADD_BLOCKED_USER'
  | 'NOT_GROUP_OWNER_OR_MANAGER_TO_REMOVE_BLOCKED_USER'
  | 'BLOCKED_USER_SEND_GROUP_JOIN_REQUEST'
  | 'GROUP_MEMBER_SEND_GROUP_JOIN_REQUEST'
  | 'NOT_SENDER_TO_RECALL_GROUP_JOIN_REQUEST'
  | 'NOT_GROUP_OWNER_OR_MANAGER_TO_QUERY_GROUP_JOIN_REQUEST'
  | 'RECALL_NON_PENDING_GROUP_JOIN_REQUEST'
  | 'SEND_GROUP_JOIN_REQUEST_TO_INACTIVE_GROUP'
  | 'SEND_GROUP_JOIN_REQUEST_TO_GROUP_USING_MEMBERSHIP_REQUEST'
  | 'SEND_GROUP_JOIN_REQUEST_TO_GROUP_USING_INVITATION'
  | 'SEND_GROUP_JOIN_REQUEST_TO_GROUP_USING_QUESTION'
  | 'RECALLING_GROUP_JOIN_REQUEST_IS_DISABLED'
  | 'UPDATE_NON_PENDING_GROUP_JOIN_REQUEST'
  | 'NOT_GROUP_OWNER_OR_MANAGER_TO_UPDATE_GROUP_JOIN_REQUEST'
  | 'SEND_GROUP_INVITATION_TO_GROUP_MEMBER'
  | 'SEND_GROUP_INVITATION_TO_BLOCKED_USER'
  | 'SEND_GROUP_INVITATION_TO_GROUP_NOT_REQUIRING_USERS_APPROVAL'
  | 'NOT_GROUP_OWNER_TO_SEND_GROUP_INVITATION'
  | 'NOT_GROUP_OWNER_OR_MANAGER_TO_SEND_GROUP_INVITATION'
  | 'NOT_GROUP_MEMBER_TO_SEND_GROUP_INVITATION'
  | 'RECALLING_GROUP_INVITATION_IS_DISABLED'
  | 'NOT_GROUP_OWNER_OR_MANAGER_TO_RECALL_GROUP_INVITATION'
  | 'NOT_GROUP_OWNER_OR_MANAGER_OR_SENDER_TO_RECALL_GROUP_INVITATION'
  | 'RECALL_NON_PENDING_GROUP_INVITATION'
  | 'UPDATE_NON_PENDING_GROUP_INVITATION'
  | 'NOT_INVITEE_TO_UPDATE_GROUP_INVITATION'
  | 'NOT_GROUP_OWNER_OR_MANAGER_TO_QUERY_GROUP_INVITATION'
  | 'UPDATING_READ_DATE_IS_DISABLED'
  | 'UPDATING_READ_DATE_IS_DISABLED_BY_GROUP'
  | 'UPDATING_READ_DATE_OF_NONEXISTENT_GROUP_CONVERSATION'
  | 'NOT_GROUP_MEMBER_TO_UPDATE_READ_DATE_OF_GROUP_CONVERSATION'
  | 'MOVING_READ_DATE_FORWARD_IS_DISABLED'
  | 'UPDATING_TYPING_STATUS_IS_DISABLED'
  | 'NOT_GROUP_MEMBER_TO_SEND_TYPING_STATUS'
  | 'NOT_FRIEND_TO_SEND_TYPING_STATUS'
  | 'NOT_RELATED_USER_TO_UPDATE_PRIVATE_CONVERSATION_SETTING'
  | 'NOT_GROUP_MEMBER_TO_UPDATE_GROUP_CONVERSATION_SETTING'
  | 'MESSAGE_RECIPIENT_NOT_ACTIVE'
  | 'NOT_FRIEND_TO_SEND_PRIVATE_MESSAGE'
  | 'BLOCKED_USER_SEND_PRIVATE_MESSAGE'
  | 'BLOCKED_USER_SEND_GROUP_MESSAGE'
  | 'SEND_MESSAGE_TO_INACTIVE_GROUP'
  | 'SEND_MESSAGE_TO_MUTED_GROUP'
  | 'SEND_MESSAGE_TO_NONEXISTENT_GROUP'
  | 'SENDING_MESSAGES_TO_ONESELF_IS_DISABLED'
  | 'MUTED_GROUP_MEMBER_SEND_MESSAGE'
  | 'NOT_SPEAKABLE_GROUP_GUEST_TO_SEND_MESSAGE'
  | 'MESSAGE_IS_ILLEGAL'
  | 'NOT_MESSAGE_RECIPIENT_OR_SENDER_TO_FORWARD_MESSAGE'
  | 'UPDATING_MESSAGE_BY_SENDER_IS_DISABLED'
  | 'NOT_SENDER_TO_UPDATE_MESSAGE'
  | 'UPDATE_MESSAGE_OF_NONEXISTENT_GROUP'
  | 'UPDATING_GROUP_MESSAGE_BY_SENDER_IS_DISABLED'
  | 'RECALL_NONEXISTENT_MESSAGE'
  | 'RECALLING_MESSAGE_IS_DISABLED'
  | 'NOT_SENDER_TO_RECALL_MESSAGE'
  | 'RECALL_MESSAGE_OF_NONEXISTENT_GROUP'
  | 'MESSAGE_RECALL_TIMEOUT'
  | 'NOT_GROUP_MEMBER_TO_QUERY_GROUP_MESSAGES'
  | 'STORAGE_NOT_IMPLEMENTED'
  | 'NOT_FRIEND_TO_UPLOAD_MESSAGE_ATTACHMENT_IN_PRIVATE_CONVERSATION'
  | 'NOT_GROUP_MEMBER_TO_UPLOAD_MESSAGE_ATTACHMENT_IN_GROUP_CONVERSATION'
  | 'NOT_UPLOADER_TO_SHARE_MESSAGE_ATTACHMENT'
  | 'NOT_UPLOADER_OR_GROUP_MANAGER_TO_UNSHARE_MESSAGE_ATTACHMENT_IN_GROUP_CONVERSATION'
  | 'NOT_UPLOADER_TO_UNSHARE_MESSAGE_ATTACHMENT_IN_PRIVATE_CONVERSATION'
  | 'NOT_UPLOADER_OR_GROUP_MANAGER_TO_DELETE_MESSAGE_ATTACHMENT_IN_GROUP_CONVERSATION'
  | 'NOT_UPLOADER_TO_DELETE_MESSAGE_ATTACHMENT_IN_PRIVATE_CONVERSATION'
  | 'NOT_UPLOADER_OR_SHARED_WITH_USER_TO_DOWNLOAD_MESSAGE_ATTACHMENT'
  | 'NOT_FRIEND_TO_QUERY_MESSAGE_ATTACHMENT_INFO_IN_PRIVATE_CONVERSATION'
  | 'NOT_GROUP_MEMBER_TO_QUERY_MESSAGE_ATTACHMENT_INFO_IN_GROUP_CONVERSATION'
  | 'SEARCHING_USER_IS_DISABLED'
  | 'SEARCHING_GROUP_IS_DISABLED'
  | 'CONFERENCE_NOT_IMPLEMENTED'
  | 'CREATE_MEETING_EXCEEDING_MAX_ACTIVE_MEETING_COUNT'
  | 'NOT_CREATOR_TO_CANCEL_MEETING'
  | 'CANCELING_MEETING_IS_DISABLED'
  | 'CANCEL_NONEXISTENT_MEETING'
  | 'NOT_CREATOR_TO_UPDATE_MEETING_PASSWORD'
  | 'UPDATE_INFO_OF_NONEXISTENT_MEETING'
  | 'ACCEPT_MEETING_INVITATION_WITH_WRONG_PASSWORD'
  | 'ACCEPT_MEETING_INVITATION_OF_CANCELED_MEETING'
  | 'ACCEPT_MEETING_INVITATION_OF_ENDED_MEETING'
  | 'ACCEPT_MEETING_INVITATION_OF_EXPIRED_MEETING'
  | 'ACCEPT_MEETING_INVITATION_OF_PENDING_MEETING'
  | 'ACCEPT_NONEXISTENT_MEETING_INVITATION'
  ;
type Int64 = string;
type Base64 = string;
type JsonValue = string | number | boolean | null | JsonValue[] | { [name: string]: JsonValue };
interface PluginDescriptor {
  id: string;
  version?: string;
  provider?: string;
  license?: string;
  description?: string;
  'compatible-servers'?: string[] | string;
  'compatible-server'?: string[] | string;
  settings?: { [keyword: string]: unknown };
  permissions?: string[];
  hosts?: string[];
  java?: boolean;
}
declare abstract class AppPlugin {
  abstract getDescriptor(): PluginDescriptor;
  abstract getExtensions(): (new () => AppExtension)[];
}
declare abstract class AppExtension {
  getExtensionPoints?(): string[];
  getEndpoints?(): Endpoint[];
  start?(): void | Promise<void>;
  pause?(): void | Promise<void>;
  resume?(): void | Promise<void>;
  stop?(): void | Promise<void>;
  onStarted?(): void | Promise<void>;
  onPaused?(): void | Promise<void>;
  onResumed?(): void | Promise<void>;
  onStopped?(): void | Promise<void>;
  onSettingsChanged?(settings: unknown): void | Promise<void>;
}
type JsonSchema = { readonly [keyword: string]: unknown };
interface Endpoint {
  handler: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  summary: string;
  description?: string;
  permission?: string;
  query?: JsonSchema;
  body?: JsonSchema;
  result?: JsonSchema;
  contentType?: string;
  timeoutMillis?: number;
}
interface EndpointRequest<Query = Record<string, unknown>, Body = unknown> {
  readonly query: Query;
  readonly body: Body;
  readonly adminId?: Int64;
  readonly ip: string;
  readonly requestId: string;
}
interface ScheduleOptions {
  name?: string;
  leaderOnly?: boolean;
}
interface Schedule {
  readonly name: string;
  cancel(): boolean;
}
declare class AppError extends Error {
  constructor(code: number | StatusCodeName, reason?: string);
  readonly code: number;
  readonly codeName: string;
  readonly reason: string;
}
interface Matcher {
  contains(text: string): boolean;
  find(text: string): { word: string; start: number; end: number }[];
  mask(text: string, mark?: string): string;
}
interface Log {
  error(...args: unknown[]): void;
  warn(...args: unknown[]): void;
  info(...args: unknown[]): void;
  debug(...args: unknown[]): void;
}
declare const app: {
  readonly log: Log;
  readonly fetch: typeof fetch;
  readonly http: { readonly fetch: typeof fetch };
  readonly node: { readonly id: string; readonly role: 'GATEWAY' | 'SERVICE'; readonly version: string };
  readonly shadow: boolean;
  config<T = { [name: string]: JsonValue }>(prefix: string): T;
  settings<T = { [name: string]: JsonValue }>(): T;
  schedule(when: string | number, options: ScheduleOptions, task: (slot: Date) => unknown): Schedule;
  schedule(when: string | number, task: (slot: Date) => unknown): Schedule;
  readonly api: api.Functions;
  notify(notification: { recipients: Int64[]; notification: wire.AppRequest }): Promise<void>;
  readonly meetings: {
    ended(meetingId: Int64, timestamp?: Date): Promise<void>;
  };
  readonly text: {
    matcher(words: Iterable<string>, options?: { ignoreCase?: boolean; wholeWords?: boolean }): Matcher;
  };
  readonly storage: {
    get(key: string): Promise<JsonValue | undefined>;
    set(key: string, value: JsonValue): Promise<void>;
    delete(key: string): Promise<boolean>;
    keys(prefix?: string): Promise<string[]>;
  };
};
declare function load(source: string | { name: string; script: string }): unknown;
interface FetchOptions {
  method?: string;
  headers?: Headers | Record<string, string> | Iterable<readonly [string, string]>;
  body?: string | ArrayBuffer | ArrayBufferView | Blob | FormData | URLSearchParams | ReadableStream<string | BinaryData> | null;
  timeout?: number;
  stream?: boolean;
  signal?: AbortSignal | null;
  redirect?: 'follow' | 'manual' | 'error';
}
interface FetchResponse {
  readonly status: number;
  readonly statusText: string;
  readonly ok: boolean;
  readonly url: string;
  readonly redirected: boolean;
  readonly headers: Headers;
  readonly data: string;
  readonly body: ReadableStream<Uint8Array>;
  readonly bodyUsed: boolean;
  text(): Promise<string>;
  json(): Promise<JsonValue>;
  bytes(): Promise<Uint8Array>;
  arrayBuffer(): Promise<ArrayBuffer>;
  blob(): Promise<Blob>;
}
declare function fetch(url: string | URL, options?: FetchOptions): Promise<FetchResponse>;
declare class Headers {
  constructor(init?: Headers | Record<string, string> | Iterable<readonly [string, string]>);
  append(name: string, value: string): void;
  set(name: string, value: string): void;
  delete(name: string): void;
  get(name: string): string | null;
  has(name: string): boolean;
  forEach(f: (value: string, name: string, headers: Headers) => void, self?: unknown): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}
declare class URLSearchParams {
  constructor(init?: string | URLSearchParams | Record<string, string> | Iterable<readonly [string, string]>);
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  forEach(f: (value: string, name: string, params: URLSearchParams) => void, self?: unknown): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
  toString(): string;
}
declare class URL {
  constructor(url: string | URL, base?: string | URL);
  static canParse(url: string | URL, base?: string | URL): boolean;
  href: string;
  readonly origin: string;
  protocol: string;
  username: string;
  password: string;
  host: string;
  hostname: string;
  port: string;
  pathname: string;
  search: string;
  hash: string;
  readonly searchParams: URLSearchParams;
  toString(): string;
  toJSON(): string;
}
declare class TextEncoder {
  readonly encoding: string;
  encode(text?: string): Uint8Array;
  encodeInto(text: string, target: Uint8Array): { read: number; written: number };
}
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  decode(input?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string;
}
declare function atob(text: string): string;
declare function btoa(text: string): string;
type HashAlgorithm = 'SHA-256' | 'SHA-384' | 'SHA-512' | 'SHA-224' | 'SHA-1' | 'MD5';
declare const crypto: {
  randomUUID(): string;
  getRandomValues<T extends ArrayBufferView>(array: T): T;
  hash(algorithm: HashAlgorithm, data: string | ArrayBuffer | ArrayBufferView): Uint8Array;
  hash(algorithm: HashAlgorithm, data: string | ArrayBuffer | ArrayBufferView, encoding: 'hex' | 'base64'): string;
  hmac(algorithm: HashAlgorithm, key: string | ArrayBuffer | ArrayBufferView, data: string | ArrayBuffer | ArrayBufferView): Uint8Array;
  hmac(algorithm: HashAlgorithm, key: string | ArrayBuffer | ArrayBufferView, data: string | ArrayBuffer | ArrayBufferView, encoding: 'hex' | 'base64'): string;
  timingSafeEqual(a: string | ArrayBuffer | ArrayBufferView, b: string | ArrayBuffer | ArrayBufferView): boolean;
  readonly subtle: SubtleCrypto;
};
type BinaryData = ArrayBuffer | ArrayBufferView;
type SubtleHash = 'SHA-1' | 'SHA-256' | 'SHA-384' | 'SHA-512';
type HashIdentifier = SubtleHash | { name: SubtleHash };
type KeyUsage = 'sign' | 'verify' | 'encrypt' | 'decrypt' | 'deriveBits' | 'deriveKey' | 'wrapKey' | 'unwrapKey';
type NamedCurve = 'P-256' | 'P-384' | 'P-521';
type RsaName = 'RSASSA-PKCS1-v1_5' | 'RSA-PSS' | 'RSA-OAEP';
type KeyAlgorithm = 'AES-GCM' | 'AES-CBC' | 'PBKDF2' | 'HKDF' | 'Ed25519'
  | { name: 'HMAC'; hash: HashIdentifier; length?: number }
  | { name: 'AES-GCM' | 'AES-CBC'; length?: 128 | 192 | 256 }
  | { name: 'PBKDF2' | 'HKDF' | 'Ed25519' }
  | { name: RsaName; hash: HashIdentifier; modulusLength?: number; publicExponent?: Uint8Array }
  | { name: 'ECDSA' | 'ECDH'; namedCurve: NamedCurve };
type SignAlgorithm = 'HMAC' | 'RSASSA-PKCS1-v1_5' | 'Ed25519' | { name: 'HMAC' | 'RSASSA-PKCS1-v1_5' | 'Ed25519' }
  | { name: 'RSA-PSS'; saltLength: number } | { name: 'ECDSA'; hash: HashIdentifier };
type CipherAlgorithm = { name: 'AES-GCM'; iv: BinaryData; additionalData?: BinaryData; tagLength?: 128 } | { name: 'AES-CBC'; iv: BinaryData }
  | { name: 'RSA-OAEP'; label?: BinaryData };
type DeriveAlgorithm = { name: 'PBKDF2'; hash: HashIdentifier; salt: BinaryData; iterations: number }
  | { name: 'HKDF'; hash: HashIdentifier; salt: BinaryData; info: BinaryData } | { name: 'ECDH'; public: CryptoKey };
interface JsonWebKey { kty?: string; [member: string]: unknown }
declare class CryptoKey {
  private constructor();
  readonly type: 'secret' | 'private' | 'public';
  readonly extractable: boolean;
  readonly algorithm: { readonly name: string; readonly hash?: { readonly name: string }; readonly length?: number; readonly namedCurve?: string };
  readonly usages: readonly KeyUsage[];
}
interface SubtleCrypto {
  digest(algorithm: HashIdentifier, data: BinaryData): Promise<ArrayBuffer>;
  generateKey(algorithm: { name: RsaName | 'ECDSA' | 'ECDH' | 'Ed25519' } & Exclude<KeyAlgorithm, string> | 'Ed25519', extractable: boolean, usages: Iterable<KeyUsage>): Promise<{ privateKey: CryptoKey; publicKey: CryptoKey }>;
  generateKey(algorithm: { name: 'HMAC' | 'AES-GCM' | 'AES-CBC' } & Exclude<KeyAlgorithm, string>, extractable: boolean, usages: Iterable<KeyUsage>): Promise<CryptoKey>;
  importKey(format: 'jwk', key: JsonWebKey, algorithm: KeyAlgorithm, extractable: boolean, usages: Iterable<KeyUsage>): Promise<CryptoKey>;
  importKey(format: 'raw' | 'pkcs8' | 'spki', key: BinaryData, algorithm: KeyAlgorithm, extractable: boolean, usages: Iterable<KeyUsage>): Promise<CryptoKey>;
  exportKey(format: 'jwk', key: CryptoKey): Promise<JsonWebKey>;
  exportKey(format: 'raw' | 'pkcs8' | 'spki', key: CryptoKey): Promise<ArrayBuffer>;
  sign(algorithm: SignAlgorithm, key: CryptoKey, data: BinaryData): Promise<ArrayBuffer>;
  verify(algorithm: SignAlgorithm, key: CryptoKey, signature: BinaryData, data: BinaryData): Promise<boolean>;
  encrypt(algorithm: CipherAlgorithm, key: CryptoKey, data: BinaryData): Promise<ArrayBuffer>;
  decrypt(algorithm: CipherAlgorithm, key: CryptoKey, data: BinaryData): Promise<ArrayBuffer>;
  deriveBits(algorithm: DeriveAlgorithm, key: CryptoKey, length: number): Promise<ArrayBuffer>;
  deriveKey(algorithm: DeriveAlgorithm, key: CryptoKey, type: KeyAlgorithm, extractable: boolean, usages: Iterable<KeyUsage>): Promise<CryptoKey>;
}
declare class DOMException extends Error {
  constructor(message?: string, name?: string);
  readonly name: string;
  readonly code: number;
}
declare class Event {
  constructor(type: string, options?: { cancelable?: boolean });
  readonly type: string;
  readonly target: EventTarget | null;
  readonly currentTarget: EventTarget | null;
  readonly cancelable: boolean;
  readonly defaultPrevented: boolean;
  preventDefault(): void;
}
type EventListener = ((event: Event) => void) | { handleEvent(event: Event): void };
declare class EventTarget {
  addEventListener(type: string, listener: EventListener | null, options?: { once?: boolean }): void;
  removeEventListener(type: string, listener: EventListener | null): void;
  dispatchEvent(event: Event): boolean;
}
declare class AbortSignal extends EventTarget {
  private constructor();
  static abort(reason?: unknown): AbortSignal;
  static timeout(milliseconds: number): AbortSignal;
  static any(signals: Iterable<AbortSignal>): AbortSignal;
  readonly aborted: boolean;
  readonly reason: unknown;
  onabort: ((event: Event) => void) | null;
  throwIfAborted(): void;
}
declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}
declare class Blob {
  constructor(parts?: Iterable<string | BinaryData | Blob>, options?: { type?: string });
  readonly size: number;
  readonly type: string;
  slice(start?: number, end?: number, type?: string): Blob;
  stream(): ReadableStream<Uint8Array>;
  text(): Promise<string>;
  bytes(): Promise<Uint8Array>;
  arrayBuffer(): Promise<ArrayBuffer>;
}
declare class File extends Blob {
  constructor(parts: Iterable<string | BinaryData | Blob>, name: string, options?: { type?: string; lastModified?: number });
  readonly name: string;
  readonly lastModified: number;
}
declare class FormData {
  append(name: string, value: string | Blob, fileName?: string): void;
  set(name: string, value: string | Blob, fileName?: string): void;
  delete(name: string): void;
  get(name: string): string | File | null;
  getAll(name: string): (string | File)[];
  has(name: string): boolean;
  forEach(f: (value: string | File, name: string, form: FormData) => void, self?: unknown): void;
  entries(): IterableIterator<[string, string | File]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string | File>;
  [Symbol.iterator](): IterableIterator<[string, string | File]>;
}
interface QueuingStrategy<T = unknown> {
  highWaterMark?: number;
  size?(chunk: T): number;
}
declare class CountQueuingStrategy implements QueuingStrategy {
  constructor(options: { highWaterMark: number });
  readonly highWaterMark: number;
  size(): number;
}
declare class ByteLengthQueuingStrategy implements QueuingStrategy<BinaryData> {
  constructor(options: { highWaterMark: number });
  readonly highWaterMark: number;
  size(chunk: BinaryData): number;
}
declare class ReadableStreamDefaultController<R = unknown> {
  private constructor();
  readonly desiredSize: number | null;
  enqueue(chunk: R): void;
  close(): void;
  error(reason?: unknown): void;
}
interface ReadableStreamSource<R = unknown> {
  start?(controller: ReadableStreamDefaultController<R>): void | Promise<void>;
  pull?(controller: ReadableStreamDefaultController<R>): void | Promise<void>;
  cancel?(reason?: unknown): void | Promise<void>;
  type?: 'bytes';
}
interface PipeOptions {
  preventClose?: boolean;
  preventAbort?: boolean;
  preventCancel?: boolean;
  signal?: AbortSignal;
}
declare class ReadableStream<R = unknown> implements AsyncIterable<R> {
  constructor(source?: ReadableStreamSource<R>, strategy?: QueuingStrategy<R>);
  static from<R>(items: Iterable<R> | AsyncIterable<R>): ReadableStream<R>;
  readonly locked: boolean;
  cancel(reason?: unknown): Promise<void>;
  getReader(): ReadableStreamDefaultReader<R>;
  pipeThrough<T>(through: { readable: ReadableStream<T>; writable: WritableStream<R> }, options?: PipeOptions): ReadableStream<T>;
  pipeTo(target: WritableStream<R>, options?: PipeOptions): Promise<void>;
  tee(): [ReadableStream<R>, ReadableStream<R>];
  values(options?: { preventCancel?: boolean }): AsyncIterableIterator<R>;
  [Symbol.asyncIterator](): AsyncIterableIterator<R>;
}
declare class ReadableStreamDefaultReader<R = unknown> {
  constructor(stream: ReadableStream<R>);
  readonly closed: Promise<void>;
  read(): Promise<{ done: false; value: R } | { done: true; value: undefined }>;
  cancel(reason?: unknown): Promise<void>;
  releaseLock(): void;
}
declare class WritableStreamDefaultController {
  private constructor();
  readonly signal: AbortSignal;
  error(reason?: unknown): void;
}
interface WritableStreamSink<W = unknown> {
  start?(controller: WritableStreamDefaultController): void | Promise<void>;
  write?(chunk: W, controller: WritableStreamDefaultController): void | Promise<void>;
  close?(): void | Promise<void>;
  abort?(reason?: unknown): void | Promise<void>;
}
declare class WritableStream<W = unknown> {
  constructor(sink?: WritableStreamSink<W>, strategy?: QueuingStrategy<W>);
  readonly locked: boolean;
  getWriter(): WritableStreamDefaultWriter<W>;
  close(): Promise<void>;
  abort(reason?: unknown): Promise<void>;
}
declare class WritableStreamDefaultWriter<W = unknown> {
  constructor(stream: WritableStream<W>);
  readonly ready: Promise<void>;
  readonly closed: Promise<void>;
  readonly desiredSize: number | null;
  write(chunk: W): Promise<void>;
  close(): Promise<void>;
  abort(reason?: unknown): Promise<void>;
  releaseLock(): void;
}
interface TransformStreamController<O = unknown> {
  readonly desiredSize: number | null;
  enqueue(chunk: O): void;
  error(reason?: unknown): void;
  terminate(): void;
}
interface Transformer<I = unknown, O = unknown> {
  start?(controller: TransformStreamController<O>): void | Promise<void>;
  transform?(chunk: I, controller: TransformStreamController<O>): void | Promise<void>;
  flush?(controller: TransformStreamController<O>): void | Promise<void>;
  cancel?(reason?: unknown): void | Promise<void>;
}
declare class TransformStream<I = unknown, O = unknown> {
  constructor(transformer?: Transformer<I, O>, writableStrategy?: QueuingStrategy<I>, readableStrategy?: QueuingStrategy<O>);
  readonly readable: ReadableStream<O>;
  readonly writable: WritableStream<I>;
}
declare class TextEncoderStream extends TransformStream<string, Uint8Array> {
  constructor();
  readonly encoding: string;
}
declare class TextDecoderStream extends TransformStream<BinaryData, string> {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
}
declare class MessageEvent extends Event {
  constructor(type: string, options?: { data?: unknown; origin?: string });
  readonly data: unknown;
  readonly origin: string;
}
declare class CloseEvent extends Event {
  constructor(type: string, options?: { code?: number; reason?: string; wasClean?: boolean });
  readonly code: number;
  readonly reason: string;
  readonly wasClean: boolean;
}
declare class ErrorEvent extends Event {
  constructor(type: string, options?: { message?: string; error?: unknown });
  readonly message: string;
  readonly error: unknown;
}
interface SocketMessage extends Event {
  readonly data: string | Blob | ArrayBuffer;
  readonly origin: string;
}
declare class WebSocket extends EventTarget {
  constructor(url: string | URL, options?: string | string[] | { protocols?: string | string[]; headers?: Record<string, string> });
  static readonly CONNECTING: 0;
  static readonly OPEN: 1;
  static readonly CLOSING: 2;
  static readonly CLOSED: 3;
  readonly CONNECTING: 0;
  readonly OPEN: 1;
  readonly CLOSING: 2;
  readonly CLOSED: 3;
  readonly url: string;
  readonly readyState: 0 | 1 | 2 | 3;
  readonly protocol: string;
  readonly extensions: string;
  readonly bufferedAmount: number;
  binaryType: 'blob' | 'arraybuffer';
  onopen: ((event: Event) => void) | null;
  onmessage: ((event: SocketMessage) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  onclose: ((event: CloseEvent) => void) | null;
  addEventListener(type: 'message', listener: ((event: SocketMessage) => void) | null, options?: { once?: boolean }): void;
  addEventListener(type: 'error', listener: ((event: ErrorEvent) => void) | null, options?: { once?: boolean }): void;
  addEventListener(type: 'close', listener: ((event: CloseEvent) => void) | null, options?: { once?: boolean }): void;
  addEventListener(type: string, listener: EventListener | null, options?: { once?: boolean }): void;
  send(data: string | BinaryData | Blob): void;
  close(code?: number, reason?: string): void;
}
declare function structuredClone<T>(value: T): T;
declare function queueMicrotask(f: () => void): void;
declare function setTimeout<A extends unknown[]>(f: (...args: A) => void, milliseconds?: number, ...args: A): number;
declare function setInterval<A extends unknown[]>(f: (...args: A) => void, milliseconds?: number, ...args: A): number;
declare function clearTimeout(id?: number): void;
declare function clearInterval(id?: number): void;
declare const console: Log & {
  log(...args: unknown[]): void;
  trace(...args: unknown[]): void;
  dir(value: unknown): void;
  dirxml(...args: unknown[]): void;
  assert(condition: unknown, ...args: unknown[]): void;
  count(label?: string): void;
  countReset(label?: string): void;
  time(label?: string): void;
  timeLog(label?: string, ...args: unknown[]): void;
  timeEnd(label?: string): void;
  group(...args: unknown[]): void;
  groupCollapsed(...args: unknown[]): void;
  groupEnd(): void;
  table(data: unknown, columns?: Iterable<string>): void;
};
interface JavaMethods {
  [name: string]: (...args: unknown[]) => unknown;
}
interface JavaBase {
  equals(other: unknown): boolean;
  hashCode(): number;
  toString(): string;
}
type JavaObject<T extends object = JavaMethods> = T & JavaBase;
interface JavaCollection<T = unknown> extends JavaBase, Iterable<T> {
  readonly length: number;
  readonly [index: number]: T;
}
type JavaClass<T extends object = JavaMethods, Statics extends object = JavaMethods> = Statics & {
  new (...args: unknown[]): JavaObject<T>;
  readonly name: string;
  readonly class: JavaObject;
  [Symbol.hasInstance](value: unknown): boolean;
};
interface JavaError extends Error {
  readonly className: string;
  readonly javaException: JavaObject;
  readonly javaStack: string;
  readonly javaLocation: string;
}
declare const Java: {
  type<T extends object = JavaMethods, Statics extends object = JavaMethods>(name: string): JavaClass<T, Statics>;
  from(object: JavaBase): unknown[] | Uint8Array | Map<unknown, unknown>;
  to(values: Iterable<unknown> | ArrayLike<unknown> | object, type?: string | JavaClass): JavaCollection;
  isJavaObject(value: unknown): boolean;
};
type Answer<T> = T | null | undefined | void | Promise<T | null | undefined | void>;
type ExtensionPointName =
  | 'AdminActionHandler'
  | 'im.app.server.common.infra.plugin.extension.AdminActionHandler'
  | 'UserAuthenticator'
  | 'im.app.gateway.infra.plugin.extension.UserAuthenticator'
  | 'UserOnlineStatusChangeHandler'
  | 'im.app.gateway.infra.plugin.extension.UserOnlineStatusChangeHandler'
  | 'NotificationHandler'
  | 'im.app.gateway.infra.plugin.extension.NotificationHandler'
  | 'ClientRequestHandler'
  | 'im.app.service.infra.plugin.extension.ClientRequestHandler'
  | 'RequestHandlerResultHandler'
  | 'im.app.service.infra.plugin.extension.RequestHandlerResultHandler'
  | 'ExpiredMessageDeletionNotifier'
  | 'im.app.service.infra.plugin.extension.ExpiredMessageDeletionNotifier'
  | 'StorageServiceProvider'
  | 'im.app.service.infra.plugin.extension.StorageServiceProvider'
  | 'ConferenceServiceProvider'
  | 'im.app.service.infra.plugin.extension.ConferenceServiceProvider'
  | 'DomainEventHandler'
  | 'im.app.service.infra.plugin.extension.DomainEventHandler'
  | 'DomainEventConsumer'
  | 'im.app.service.infra.plugin.extension.DomainEventConsumer';
interface ExtensionPoints {
  AdminActionHandler: AdminActionHandler;
  UserAuthenticator: UserAuthenticator;
  UserOnlineStatusChangeHandler: UserOnlineStatusChangeHandler;
  NotificationHandler: NotificationHandler;
  ClientRequestHandler: ClientRequestHandler;
  RequestHandlerResultHandler: RequestHandlerResultHandler;
  ExpiredMessageDeletionNotifier: ExpiredMessageDeletionNotifier;
  StorageServiceProvider: StorageServiceProvider;
  ConferenceServiceProvider: ConferenceServiceProvider;
  DomainEventHandler: DomainEventHandler;
  DomainEventConsumer: DomainEventConsumer;
}
interface AdminActionHandler {
  handleAdminAction?(adminAction: AdminAction): Answer<void>;
}
interface UserAuthenticator {
  authenticate?(userLoginInfo: UserLoginInfo): Answer<boolean>;
}
interface UserOnlineStatusChangeHandler {
  goOnline?(userSessions: ClientSessions, userSession: ClientSession): Answer<void>;
  goOffline?(userSessions: ClientSessions, closeReason: CloseReason): Answer<void>;
}
interface NotificationHandler {
  handle?(notification: wire.AppNotification, recipientIds: Int64[], offlineRecipientIds: Int64[]): Answer<void>;
}
interface ClientRequestHandler {
  transform?(clientRequest: ClientRequest): Answer<ClientRequest>;
  handle?(clientRequest: ClientRequest): Answer<RequestHandlerResult>;
}
interface RequestHandlerResultHandler {
  beforeNotify?(result: RequestHandlerResult, requesterId: Int64, requesterDevice: wire.DeviceType): Answer<RequestHandlerResult>;
  afterNotify?(result: RequestHandlerResult, requesterId: Int64, requesterDevice: wire.DeviceType, offlineRecipientIds: Int64[]): Answer<RequestHandlerResult>;
}
interface ExpiredMessageDeletionNotifier {
  getMessagesToDelete?(messages: StoredMessage[]): Answer<StoredMessage[]>;
}
interface StorageServiceProvider {
  deleteUserProfilePicture?(requesterId: Int64, customAttributes: wire.Value[]): Answer<void>;
  queryUserProfilePictureUploadInfo?(requesterId: Int64, resourceName: string | undefined, resourceMediaType: string | undefined, customAttributes: wire.Value[]): Answer<{ [name: string]: string }>;
  queryUserProfilePictureDownloadInfo?(requesterId: Int64, userId: Int64, customAttributes: wire.Value[]): Answer<{ [name: string]: string }>;
  deleteGroupProfilePicture?(requesterId: Int64, groupId: Int64, customAttributes: wire.Value[]): Answer<void>;
  queryGroupProfilePictureUploadInfo?(requesterId: Int64, groupId: Int64, resourceName: string | undefined, resourceMediaType: string | undefined, customAttributes: wire.Value[]): Answer<{ [name: string]: string }>;
  queryGroupProfilePictureDownloadInfo?(requesterId: Int64, groupId: Int64, customAttributes: wire.Value[]): Answer<{ [name: string]: string }>;
  deleteMessageAttachment?(requesterId: Int64, idNum: Int64 | undefined, idStr: string | undefined, customAttributes: wire.Value[]): Answer<void>;
  shareMessageAttachmentWithUser?(requesterId: Int64, idNum: Int64 | undefined, idStr: string | undefined, userId: Int64): Answer<void>;
  shareMessageAttachmentWithGroup?(requesterId: Int64, idNum: Int64 | undefined, idStr: string | undefined, groupId: Int64): Answer<void>;
  unshareMessageAttachmentWithUser?(requesterId: Int64, idNum: Int64 | undefined, idStr: string | undefined, userId: Int64): Answer<void>;
  unshareMessageAttachmentWithGroup?(requesterId: Int64, idNum: Int64 | undefined, idStr: string | undefined, groupId: Int64): Answer<void>;
  queryMessageAttachmentUploadInfo?(requesterId: Int64, resourceName: string | undefined, resourceMediaType: string | undefined, customAttributes: wire.Value[]): Answer<{ [name: string]: string }>;
  queryMessageAttachmentUploadInfoInPrivateConversation?(requesterId: Int64, userId: Int64, resourceName: string | undefined, resourceMediaType: string | undefined, customAttributes: wire.Value[]): Answer<{ [name: string]: string }>;
  queryMessageAttachmentUploadInfoInGroupConversation?(requesterId: Int64, groupId: Int64, resourceName: string | undefined, resourceMediaType: string | undefined, customAttributes: wire.Value[]): Answer<{ [name: string]: string }>;
  queryMessageAttachmentDownloadInfo?(requesterId: Int64, idNum: Int64 | undefined, idStr: string | undefined, customAttributes: wire.Value[]): Answer<{ [name: string]: string }>;
  queryMessageAttachmentInfosUploadedByRequester?(requesterId: Int64, creationDateRange: DateRange | undefined): Answer<StorageResourceInfo[]>;
  queryMessageAttachmentInfosInPrivateConversations?(requesterId: Int64, userIds: Int64[], creationDateRange: DateRange | undefined, areSharedByRequester: boolean | undefined): Answer<StorageResourceInfo[]>;
  queryMessageAttachmentInfosInGroupConversations?(requesterId: Int64, groupIds: Int64[], userIds: Int64[], creationDateRange: DateRange | undefined): Answer<StorageResourceInfo[]>;
}
interface ConferenceServiceProvider {
  createMeeting?(requesterId: Int64, meeting: Meeting, options: CreateMeetingOptions): Answer<MeetingAccess>;
  cancelMeeting?(requesterId: Int64, meetingId: Int64): Answer<void>;
  countActiveMeetingsByUserId?(userId: Int64): Answer<number>;
  acceptMeetingInvitation?(requesterId: Int64, meetingId: Int64): Answer<MeetingAccess>;
  addMeetingEndedEventListener?(listener: (event: MeetingEndedEvent) => Promise<void>): Answer<void>;
}
interface DomainEventHandler {
  handleDomainEvents?(events: DomainEvent[]): Answer<void>;
}
interface DomainEventConsumer {
  consumeDomainEvents?(events: DomainEvent[]): Answer<void>;
}
interface AdminAction {
  adminId?: Int64;
  ip: string;
  requestTime: Date;
  action?: string;
  params: { [name: string]: JsonValue };
  processingTime: number;
  code: number;
}
interface ClientRequest {
  userId: Int64;
  deviceType: wire.DeviceType;
  clientIp: string;
  requestId: Int64;
  request: wire.AppRequest;
}
interface ClientSession {
  id: number;
  version: number;
  userId: Int64;
  deviceType: wire.DeviceType;
  deviceDetails?: { [name: string]: string };
  loginDate: Date;
  loginLocation?: Location;
  ip: string;
}
interface ClientSessions {
  userId: Int64;
  userStatus: wire.UserStatus;
  sessions: ClientSession[];
}
interface CloseReason {
  closeStatus: number;
  businessStatusCode?: number;
  reason?: string;
}
interface CreateMeetingOptions {
  maxParticipants?: number;
  idleTimeoutMillis?: Int64;
}
interface DateRange {
  start?: Date;
  end?: Date;
}
interface DomainEvent {
  id?: Int64;
  type: string;
  date: Date;
  userId?: Int64;
  groupId?: Int64;
  messageId?: Int64;
  targetId?: Int64;
  sessionId?: Int64;
}
interface Meeting {
  id: Int64;
  creatorId: Int64;
  userId?: Int64;
  groupId?: Int64;
  name?: string;
  intro?: string;
  password?: string;
  creationDate: Date;
  startDate: Date;
  endDate?: Date;
  cancelDate?: Date;
}
interface MeetingAccess {
  accessToken: string;
}
interface MeetingEndedEvent {
  meetingId: Int64;
  timestamp?: Date;
}
interface Notification {
  forwardToRequesterOtherOnlineSessions?: boolean;
  recipients?: Int64[];
  notification: wire.AppRequest;
}
interface RequestHandlerResult {
  code?: number;
  reason?: string;
  response?: wire.AppNotificationData;
  notifications?: Notification[];
}
interface StorageResourceInfo {
  idNum?: Int64;
  idStr?: string;
  name: string;
  mediaType: string;
  uploaderId: Int64;
  creationDate: Date;
}
interface StoredMessage {
  id: Int64;
  conversationId?: Base64;
  isGroupMessage: boolean;
  isSystemMessage: boolean;
  deliveryDate: Date;
  modificationDate?: Date;
  deletionDate?: Date;
  recallDate?: Date;
  text?: string;
  senderId: Int64;
  senderIp?: string;
  targetId: Int64;
  records?: Base64[];
  burnAfter?: number;
  referenceId?: Int64;
  sequenceId?: number;
  preMessageId?: Int64;
}
interface UserLoginInfo {
  version: number;
  userId: Int64;
  password?: string;
  loggingInDeviceType: wire.DeviceType;
  deviceDetails?: { [name: string]: string };
  userStatus?: wire.UserStatus;
  location?: Location;
  ip: string;
}
interface Location {
  longitude: number;
  latitude: number;
  timestamp?: Date;
  details?: { [name: string]: string };
}
declare namespace wire {
  interface AppNotification {
    timestamp?: Int64;
    customAttributes?: Value[];
    requestId?: Int64;
    code?: number;
    reason?: string;
    data?: AppNotificationData;
    requesterId?: Int64;
    closeStatus?: number;
    relayedRequest?: AppRequest;
  }
  interface AppNotificationData {
    long?: Int64;
    string?: string;
    longsWithVersion?: LongsWithVersion;
    stringsWithVersion?: StringsWithVersion;
    conversations?: Conversations;
    messages?: Messages;
    messagesWithTotalList?: MessagesWithTotalList;
    userSession?: UserSession;
    userInfosWithVersion?: UserInfosWithVersion;
    userOnlineStatuses?: UserOnlineStatuses;
    userFriendRequestsWithVersion?: UserFriendRequestsWithVersion;
    userRelationshipGroupsWithVersion?: UserRelationshipGroupsWithVersion;
    userRelationshipsWithVersion?: UserRelationshipsWithVersion;
    nearbyUsers?: NearbyUsers;
    groupInvitationsWithVersion?: GroupInvitationsWithVersion;
    groupJoinQuestionAnswerResult?: GroupJoinQuestionsAnswerResult;
    groupJoinRequestsWithVersion?: GroupJoinRequestsWithVersion;
    groupJoinQuestionsWithVersion?: GroupJoinQuestionsWithVersion;
    groupMembersWithVersion?: GroupMembersWithVersion;
    groupsWithVersion?: GroupsWithVersion;
    meetings?: Meetings;
    storageResourceInfos?: StorageResourceInfos;
    conversationSettingsList?: ConversationSettingsList;
    userSettings?: UserSettings;
  }
  interface AppRequest {
    requestId?: Int64;
    customAttributes?: Value[];
    createSessionRequest?: CreateSessionRequest;
    deleteSessionRequest?: DeleteSessionRequest;
    queryConversationsRequest?: QueryConversationsRequest;
    updateConversationRequest?: UpdateConversationRequest;
    updateTypingStatusRequest?: UpdateTypingStatusRequest;
    createMessageRequest?: CreateMessageRequest;
    queryMessagesRequest?: QueryMessagesRequest;
    updateMessageRequest?: UpdateMessageRequest;
    createGroupMembersRequest?: CreateGroupMembersRequest;
    deleteGroupMembersRequest?: DeleteGroupMembersRequest;
    queryGroupMembersRequest?: QueryGroupMembersRequest;
    updateGroupMemberRequest?: UpdateGroupMemberRequest;
    queryUserProfilesRequest?: QueryUserProfilesRequest;
    queryNearbyUsersRequest?: QueryNearbyUsersRequest;
    queryUserOnlineStatusesRequest?: QueryUserOnlineStatusesRequest;
    updateUserLocationRequest?: UpdateUserLocationRequest;
    updateUserOnlineStatusRequest?: UpdateUserOnlineStatusRequest;
    updateUserRequest?: UpdateUserRequest;
    updateUserSettingsRequest?: UpdateUserSettingsRequest;
    deleteUserSettingsRequest?: DeleteUserSettingsRequest;
    queryUserSettingsRequest?: QueryUserSettingsRequest;
    createFriendRequestRequest?: CreateFriendRequestRequest;
    createRelationshipGroupRequest?: CreateRelationshipGroupRequest;
    createRelationshipRequest?: CreateRelationshipRequest;
    deleteFriendRequestRequest?: DeleteFriendRequestRequest;
    deleteRelationshipGroupRequest?: DeleteRelationshipGroupRequest;
    deleteRelationshipRequest?: DeleteRelationshipRequest;
    queryFriendRequestsRequest?: QueryFriendRequestsRequest;
    queryRelatedUserIdsRequest?: QueryRelatedUserIdsRequest;
    queryRelationshipGroupsRequest?: QueryRelationshipGroupsRequest;
    queryRelationshipsRequest?: QueryRelationshipsRequest;
    updateFriendRequestRequest?: UpdateFriendRequestRequest;
    updateRelationshipGroupRequest?: UpdateRelationshipGroupRequest;
    updateRelationshipRequest?: UpdateRelationshipRequest;
    createGroupRequest?: CreateGroupRequest;
    deleteGroupRequest?: DeleteGroupRequest;
    queryGroupsRequest?: QueryGroupsRequest;
    queryJoinedGroupIdsRequest?: QueryJoinedGroupIdsRequest;
    queryJoinedGroupInfosRequest?: QueryJoinedGroupInfosRequest;
    updateGroupRequest?: UpdateGroupRequest;
    createGroupBlockedUserRequest?: CreateGroupBlockedUserRequest;
    deleteGroupBlockedUserRequest?: DeleteGroupBlockedUserRequest;
    queryGroupBlockedUserIdsRequest?: QueryGroupBlockedUserIdsRequest;
    queryGroupBlockedUserInfosRequest?: QueryGroupBlockedUserInfosRequest;
    checkGroupJoinQuestionsAnswersRequest?: CheckGroupJoinQuestionsAnswersRequest;
    createGroupInvitationRequest?: CreateGroupInvitationRequest;
    createGroupJoinRequestRequest?: CreateGroupJoinRequestRequest;
    createGroupJoinQuestionsRequest?: CreateGroupJoinQuestionsRequest;
    deleteGroupInvitationRequest?: DeleteGroupInvitationRequest;
    deleteGroupJoinRequestRequest?: DeleteGroupJoinRequestRequest;
    deleteGroupJoinQuestionsRequest?: DeleteGroupJoinQuestionsRequest;
    queryGroupInvitationsRequest?: QueryGroupInvitationsRequest;
    queryGroupJoinRequestsRequest?: QueryGroupJoinRequestsRequest;
    queryGroupJoinQuestionsRequest?: QueryGroupJoinQuestionsRequest;
    updateGroupInvitationRequest?: UpdateGroupInvitationRequest;
    updateGroupJoinQuestionRequest?: UpdateGroupJoinQuestionRequest;
    updateGroupJoinRequestRequest?: UpdateGroupJoinRequestRequest;
    createMeetingRequest?: CreateMeetingRequest;
    deleteMeetingRequest?: DeleteMeetingRequest;
    queryMeetingsRequest?: QueryMeetingsRequest;
    updateMeetingRequest?: UpdateMeetingRequest;
    updateMeetingInvitationRequest?: UpdateMeetingInvitationRequest;
    deleteResourceRequest?: DeleteResourceRequest;
    queryResourceDownloadInfoRequest?: QueryResourceDownloadInfoRequest;
    queryResourceUploadInfoRequest?: QueryResourceUploadInfoRequest;
    queryMessageAttachmentInfosRequest?: QueryMessageAttachmentInfosRequest;
    updateMessageAttachmentInfoRequest?: UpdateMessageAttachmentInfoRequest;
    deleteConversationSettingsRequest?: DeleteConversationSettingsRequest;
    queryConversationSettingsRequest?: QueryConversationSettingsRequest;
    updateConversationSettingsRequest?: UpdateConversationSettingsRequest;
    createMessageReactionsRequest?: CreateMessageReactionsRequest;
    deleteMessageReactionsRequest?: DeleteMessageReactionsRequest;
  }
  interface Value {
    int32Value?: number;
    int64Value?: Int64;
    floatValue?: number;
    doubleValue?: number;
    boolValue?: boolean;
    bytesValue?: Base64;
    stringValue?: string;
    listValue?: Value[];
  }
  interface CheckGroupJoinQuestionsAnswersRequest {
    questionIdToAnswer?: { [name: string]: string };
    customAttributes?: Value[];
  }
  interface ConversationSettingsList {
    conversationSettingsList?: ConversationSettings[];
  }
  interface Conversations {
    privateConversations?: PrivateConversation[];
    groupConversations?: GroupConversation[];
  }
  interface CreateFriendRequestRequest {
    recipientId?: Int64;
    content?: string;
    customAttributes?: Value[];
  }
  interface CreateGroupBlockedUserRequest {
    groupId?: Int64;
    userId?: Int64;
    customAttributes?: Value[];
  }
  interface CreateGroupInvitationRequest {
    groupId?: Int64;
    inviteeId?: Int64;
    content?: string;
    customAttributes?: Value[];
  }
  interface CreateGroupJoinQuestionsRequest {
    groupId?: Int64;
    questions?: GroupJoinQuestion[];
    customAttributes?: Value[];
  }
  interface CreateGroupJoinRequestRequest {
    groupId?: Int64;
    content?: string;
    customAttributes?: Value[];
  }
  interface CreateGroupMembersRequest {
    groupId?: Int64;
    userIds?: Int64[];
    name?: string;
    role?: GroupMemberRole;
    muteEndDate?: Int64;
    customAttributes?: Value[];
  }
  interface CreateGroupRequest {
    name?: string;
    intro?: string;
    announcement?: string;
    minScore?: number;
    typeId?: Int64;
    muteEndDate?: Int64;
    userDefinedAttributes?: { [name: string]: Value };
    customAttributes?: Value[];
  }
  interface CreateMeetingRequest {
    userId?: Int64;
    groupId?: Int64;
    name?: string;
    intro?: string;
    password?: string;
    startDate?: Int64;
    customAttributes?: Value[];
  }
  interface CreateMessageReactionsRequest {
    messageId?: Int64;
    reactionTypes?: number[];
    customAttributes?: Value[];
  }
  interface CreateMessageRequest {
    messageId?: Int64;
    isSystemMessage?: boolean;
    groupId?: Int64;
    recipientId?: Int64;
    deliveryDate?: Int64;
    text?: string;
    records?: Base64[];
    burnAfter?: number;
    preMessageId?: Int64;
    customAttributes?: Value[];
  }
  interface CreateRelationshipGroupRequest {
    name?: string;
    customAttributes?: Value[];
  }
  interface CreateRelationshipRequest {
    userId?: Int64;
    blocked?: boolean;
    groupIndex?: number;
    name?: string;
    customAttributes?: Value[];
  }
  interface CreateSessionRequest {
    version?: number;
    userId?: Int64;
    password?: string;
    userStatus?: UserStatus;
    deviceType?: DeviceType;
    deviceDetails?: { [name: string]: string };
    location?: UserLocation;
    customAttributes?: Value[];
  }
  interface DeleteConversationSettingsRequest {
    userIds?: Int64[];
    groupIds?: Int64[];
    names?: string[];
    customAttributes?: Value[];
  }
  interface DeleteFriendRequestRequest {
    requestId?: Int64;
    customAttributes?: Value[];
  }
  interface DeleteGroupBlockedUserRequest {
    groupId?: Int64;
    userId?: Int64;
    customAttributes?: Value[];
  }
  interface DeleteGroupInvitationRequest {
    invitationId?: Int64;
    customAttributes?: Value[];
  }
  interface DeleteGroupJoinQuestionsRequest {
    groupId?: Int64;
    questionIds?: Int64[];
    customAttributes?: Value[];
  }
  interface DeleteGroupJoinRequestRequest {
    requestId?: Int64;
    customAttributes?: Value[];
  }
  interface DeleteGroupMembersRequest {
    groupId?: Int64;
    memberIds?: Int64[];
    successorId?: Int64;
    quitAfterTransfer?: boolean;
    customAttributes?: Value[];
  }
  interface DeleteGroupRequest {
    groupId?: Int64;
    customAttributes?: Value[];
  }
  interface DeleteMeetingRequest {
    id?: Int64;
    customAttributes?: Value[];
  }
  interface DeleteMessageReactionsRequest {
    messageId?: Int64;
    reactionTypes?: number[];
    customAttributes?: Value[];
  }
  interface DeleteRelationshipGroupRequest {
    groupIndex?: number;
    targetGroupIndex?: number;
    customAttributes?: Value[];
  }
  interface DeleteRelationshipRequest {
    userId?: Int64;
    groupIndex?: number;
    targetGroupIndex?: number;
    customAttributes?: Value[];
  }
  interface DeleteResourceRequest {
    type?: StorageResourceType;
    idNum?: Int64;
    idStr?: string;
    customAttributes?: Value[];
  }
  interface DeleteSessionRequest {
    customAttributes?: Value[];
  }
  interface DeleteUserSettingsRequest {
    names?: string[];
    customAttributes?: Value[];
  }
  interface GroupInvitationsWithVersion {
    groupInvitations?: GroupInvitation[];
    lastUpdatedDate?: Int64;
  }
  interface GroupJoinQuestionsAnswerResult {
    score?: number;
    questionIds?: Int64[];
    joined?: boolean;
  }
  interface GroupJoinQuestionsWithVersion {
    groupJoinQuestions?: GroupJoinQuestion[];
    lastUpdatedDate?: Int64;
  }
  interface GroupJoinRequestsWithVersion {
    groupJoinRequests?: GroupJoinRequest[];
    lastUpdatedDate?: Int64;
  }
  interface GroupMembersWithVersion {
    groupMembers?: GroupMember[];
    lastUpdatedDate?: Int64;
  }
  interface GroupsWithVersion {
    groups?: Group[];
    lastUpdatedDate?: Int64;
  }
  interface LongsWithVersion {
    longs?: Int64[];
    lastUpdatedDate?: Int64;
  }
  interface Meetings {
    meetings?: Meeting[];
  }
  interface Messages {
    messages?: Message[];
  }
  interface MessagesWithTotalList {
    messagesWithTotalList?: MessagesWithTotal[];
  }
  interface NearbyUsers {
    nearbyUsers?: NearbyUser[];
  }
  interface QueryConversationSettingsRequest {
    userIds?: Int64[];
    groupIds?: Int64[];
    names?: string[];
    lastUpdatedDateStart?: Int64;
    customAttributes?: Value[];
  }
  interface QueryConversationsRequest {
    userIds?: Int64[];
    groupIds?: Int64[];
    customAttributes?: Value[];
  }
  interface QueryFriendRequestsRequest {
    areSentByMe?: boolean;
    lastUpdatedDate?: Int64;
    customAttributes?: Value[];
  }
  interface QueryGroupBlockedUserIdsRequest {
    groupId?: Int64;
    lastUpdatedDate?: Int64;
    customAttributes?: Value[];
  }
  interface QueryGroupBlockedUserInfosRequest {
    groupId?: Int64;
    lastUpdatedDate?: Int64;
    customAttributes?: Value[];
  }
  interface QueryGroupInvitationsRequest {
    groupId?: Int64;
    areSentByMe?: boolean;
    lastUpdatedDate?: Int64;
    customAttributes?: Value[];
  }
  interface QueryGroupJoinQuestionsRequest {
    groupId?: Int64;
    withAnswers?: boolean;
    lastUpdatedDate?: Int64;
    customAttributes?: Value[];
  }
  interface QueryGroupJoinRequestsRequest {
    groupId?: Int64;
    lastUpdatedDate?: Int64;
    customAttributes?: Value[];
  }
  interface QueryGroupMembersRequest {
    groupId?: Int64;
    lastUpdatedDate?: Int64;
    memberIds?: Int64[];
    withStatus?: boolean;
    customAttributes?: Value[];
  }
  interface QueryGroupsRequest {
    groupIds?: Int64[];
    lastUpdatedDate?: Int64;
    name?: string;
    skip?: number;
    limit?: number;
    fieldsToHighlight?: number[];
    customAttributes?: Value[];
  }
  interface QueryJoinedGroupIdsRequest {
    lastUpdatedDate?: Int64;
    userIdsForCommonGroups?: Int64[];
    customAttributes?: Value[];
  }
  interface QueryJoinedGroupInfosRequest {
    lastUpdatedDate?: Int64;
    userIdsForCommonGroups?: Int64[];
    customAttributes?: Value[];
  }
  interface QueryMeetingsRequest {
    ids?: Int64[];
    creatorIds?: Int64[];
    userIds?: Int64[];
    groupIds?: Int64[];
    creationDateStart?: Int64;
    creationDateEnd?: Int64;
    skip?: number;
    limit?: number;
    customAttributes?: Value[];
  }
  interface QueryMessageAttachmentInfosRequest {
    userIds?: Int64[];
    groupIds?: Int64[];
    creationDateStart?: Int64;
    creationDateEnd?: Int64;
    inPrivateConversation?: boolean;
    areSharedByMe?: boolean;
    customAttributes?: Value[];
  }
  interface QueryMessagesRequest {
    ids?: Int64[];
    areGroupMessages?: boolean;
    areSystemMessages?: boolean;
    fromIds?: Int64[];
    deliveryDateStart?: Int64;
    deliveryDateEnd?: Int64;
    maxCount?: number;
    withTotal?: boolean;
    descending?: boolean;
    customAttributes?: Value[];
  }
  interface QueryNearbyUsersRequest {
    latitude?: number;
    longitude?: number;
    maxCount?: number;
    maxDistance?: number;
    withCoordinates?: boolean;
    withDistance?: boolean;
    withUserInfo?: boolean;
    customAttributes?: Value[];
  }
  interface QueryRelatedUserIdsRequest {
    blocked?: boolean;
    groupIndexes?: number[];
    lastUpdatedDate?: Int64;
    userIdsForCommonRelationships?: Int64[];
    customAttributes?: Value[];
  }
  interface QueryRelationshipGroupsRequest {
    lastUpdatedDate?: Int64;
    customAttributes?: Value[];
  }
  interface QueryRelationshipsRequest {
    userIds?: Int64[];
    blocked?: boolean;
    groupIndexes?: number[];
    lastUpdatedDate?: Int64;
    userIdsForCommonRelationships?: Int64[];
    customAttributes?: Value[];
  }
  interface QueryResourceDownloadInfoRequest {
    type?: StorageResourceType;
    idNum?: Int64;
    idStr?: string;
    customAttributes?: Value[];
  }
  interface QueryResourceUploadInfoRequest {
    type?: StorageResourceType;
    idNum?: Int64;
    idStr?: string;
    name?: string;
    mediaType?: string;
    customAttributes?: Value[];
  }
  interface QueryUserOnlineStatusesRequest {
    userIds?: Int64[];
    customAttributes?: Value[];
  }
  interface QueryUserProfilesRequest {
    userIds?: Int64[];
    lastUpdatedDate?: Int64;
    name?: string;
    skip?: number;
    limit?: number;
    fieldsToHighlight?: number[];
    customAttributes?: Value[];
  }
  interface QueryUserSettingsRequest {
    names?: string[];
    lastUpdatedDateStart?: Int64;
    customAttributes?: Value[];
  }
  interface StorageResourceInfos {
    infos?: StorageResourceInfo[];
  }
  interface StringsWithVersion {
    strings?: string[];
    lastUpdatedDate?: Int64;
  }
  interface UpdateConversationRequest {
    userId?: Int64;
    groupId?: Int64;
    readDate?: Int64;
    customAttributes?: Value[];
  }
  interface UpdateConversationSettingsRequest {
    userId?: Int64;
    groupId?: Int64;
    settings?: { [name: string]: Value };
    customAttributes?: Value[];
  }
  interface UpdateFriendRequestRequest {
    requestId?: Int64;
    responseAction?: ResponseAction;
    reason?: string;
    customAttributes?: Value[];
  }
  interface UpdateGroupInvitationRequest {
    invitationId?: Int64;
    responseAction?: ResponseAction;
    reason?: string;
    customAttributes?: Value[];
  }
  interface UpdateGroupJoinQuestionRequest {
    questionId?: Int64;
    question?: string;
    answers?: string[];
    score?: number;
    customAttributes?: Value[];
  }
  interface UpdateGroupJoinRequestRequest {
    requestId?: Int64;
    responseAction?: ResponseAction;
    reason?: string;
    customAttributes?: Value[];
  }
  interface UpdateGroupMemberRequest {
    groupId?: Int64;
    memberId?: Int64;
    name?: string;
    role?: GroupMemberRole;
    muteEndDate?: Int64;
    note?: string;
    customAttributes?: Value[];
  }
  interface UpdateGroupRequest {
    groupId?: Int64;
    quitAfterTransfer?: boolean;
    name?: string;
    intro?: string;
    announcement?: string;
    minScore?: number;
    typeId?: Int64;
    muteEndDate?: Int64;
    successorId?: Int64;
    userDefinedAttributes?: { [name: string]: Value };
    customAttributes?: Value[];
  }
  interface UpdateMeetingInvitationRequest {
    meetingId?: Int64;
    password?: string;
    responseAction?: ResponseAction;
    customAttributes?: Value[];
  }
  interface UpdateMeetingRequest {
    id?: Int64;
    name?: string;
    intro?: string;
    password?: string;
    customAttributes?: Value[];
  }
  interface UpdateMessageAttachmentInfoRequest {
    attachmentIdNum?: Int64;
    attachmentIdStr?: string;
    userIdToShareWith?: Int64;
    userIdToUnshareWith?: Int64;
    groupIdToShareWith?: Int64;
    groupIdToUnshareWith?: Int64;
    customAttributes?: Value[];
  }
  interface UpdateMessageRequest {
    messageId?: Int64;
    text?: string;
    records?: Base64[];
    recallDate?: Int64;
    customAttributes?: Value[];
  }
  interface UpdateRelationshipGroupRequest {
    groupIndex?: number;
    newName?: string;
    customAttributes?: Value[];
  }
  interface UpdateRelationshipRequest {
    userId?: Int64;
    blocked?: boolean;
    newGroupIndex?: number;
    deleteGroupIndex?: number;
    name?: string;
    note?: string;
    customAttributes?: Value[];
  }
  interface UpdateTypingStatusRequest {
    isGroupMessage?: boolean;
    toId?: Int64;
    customAttributes?: Value[];
  }
  interface UpdateUserLocationRequest {
    latitude?: number;
    longitude?: number;
    details?: { [name: string]: string };
    customAttributes?: Value[];
  }
  interface UpdateUserOnlineStatusRequest {
    deviceTypes?: DeviceType[];
    userStatus?: UserStatus;
    customAttributes?: Value[];
  }
  interface UpdateUserRequest {
    password?: string;
    name?: string;
    intro?: string;
    profilePicture?: string;
    profileAccessStrategy?: ProfileAccessStrategy;
    userDefinedAttributes?: { [name: string]: Value };
    customAttributes?: Value[];
  }
  interface UpdateUserSettingsRequest {
    settings?: { [name: string]: Value };
    customAttributes?: Value[];
  }
  interface UserFriendRequestsWithVersion {
    userFriendRequests?: UserFriendRequest[];
    lastUpdatedDate?: Int64;
  }
  interface UserInfosWithVersion {
    userInfos?: UserInfo[];
    lastUpdatedDate?: Int64;
  }
  interface UserOnlineStatuses {
    statuses?: UserOnlineStatus[];
  }
  interface UserRelationshipGroupsWithVersion {
    userRelationshipGroups?: UserRelationshipGroup[];
    lastUpdatedDate?: Int64;
  }
  interface UserRelationshipsWithVersion {
    userRelationships?: UserRelationship[];
    lastUpdatedDate?: Int64;
  }
  interface UserSession {
    sessionId?: string;
    serverId?: string;
    customAttributes?: Value[];
    heartbeatIntervalSeconds?: number;
  }
  interface UserSettings {
    settings?: { [name: string]: Value };
    lastUpdatedDate?: Int64;
    customAttributes?: Value[];
  }
  interface ConversationSettings {
    userId?: Int64;
    groupId?: Int64;
    settings?: { [name: string]: Value };
    lastUpdatedDate?: Int64;
    customAttributes?: Value[];
  }
  interface Group {
    id?: Int64;
    typeId?: Int64;
    creatorId?: Int64;
    ownerId?: Int64;
    name?: string;
    intro?: string;
    announcement?: string;
    creationDate?: Int64;
    lastUpdatedDate?: Int64;
    muteEndDate?: Int64;
    active?: boolean;
    userDefinedAttributes?: { [name: string]: Value };
    customAttributes?: Value[];
  }
  interface GroupConversation {
    groupId?: Int64;
    memberIdToReadDate?: { [name: string]: Int64 };
    customAttributes?: Value[];
  }
  interface GroupInvitation {
    id?: Int64;
    creationDate?: Int64;
    content?: string;
    status?: RequestStatus;
    expirationDate?: Int64;
    groupId?: Int64;
    inviterId?: Int64;
    inviteeId?: Int64;
    customAttributes?: Value[];
  }
  interface GroupJoinQuestion {
    id?: Int64;
    groupId?: Int64;
    question?: string;
    answers?: string[];
    score?: number;
    customAttributes?: Value[];
  }
  interface GroupJoinRequest {
    id?: Int64;
    creationDate?: Int64;
    content?: string;
    status?: RequestStatus;
    expirationDate?: Int64;
    groupId?: Int64;
    requesterId?: Int64;
    responderId?: Int64;
    customAttributes?: Value[];
  }
  interface GroupMember {
    groupId?: Int64;
    userId?: Int64;
    name?: string;
    role?: GroupMemberRole;
    joinDate?: Int64;
    muteEndDate?: Int64;
    userStatus?: UserStatus;
    usingDeviceTypes?: DeviceType[];
    note?: string;
    customAttributes?: Value[];
  }
  interface Meeting {
    id?: Int64;
    userId?: Int64;
    groupId?: Int64;
    creatorId?: Int64;
    accessToken?: string;
    name?: string;
    intro?: string;
    password?: string;
    startDate?: Int64;
    endDate?: Int64;
    cancelDate?: Int64;
    customAttributes?: Value[];
  }
  interface Message {
    id?: Int64;
    deliveryDate?: Int64;
    modificationDate?: Int64;
    text?: string;
    senderId?: Int64;
    groupId?: Int64;
    isSystemMessage?: boolean;
    recipientId?: Int64;
    records?: Base64[];
    sequenceId?: number;
    preMessageId?: Int64;
    reactionGroups?: MessageReactionGroup[];
    customAttributes?: Value[];
  }
  interface MessagesWithTotal {
    total?: number;
    isGroupMessage?: boolean;
    fromId?: Int64;
    messages?: Message[];
  }
  interface NearbyUser {
    userId?: Int64;
    deviceType?: DeviceType;
    info?: UserInfo;
    distance?: number;
    location?: UserLocation;
    customAttributes?: Value[];
  }
  interface PrivateConversation {
    ownerId?: Int64;
    targetId?: Int64;
    readDate?: Int64;
    customAttributes?: Value[];
  }
  interface StorageResourceInfo {
    idNum?: Int64;
    idStr?: string;
    name?: string;
    mediaType?: string;
    uploaderId?: Int64;
    creationDate?: Int64;
    customAttributes?: Value[];
  }
  interface UserFriendRequest {
    id?: Int64;
    creationDate?: Int64;
    content?: string;
    requestStatus?: RequestStatus;
    reason?: string;
    expirationDate?: Int64;
    requesterId?: Int64;
    recipientId?: Int64;
    customAttributes?: Value[];
  }
  interface UserInfo {
    id?: Int64;
    name?: string;
    intro?: string;
    profilePicture?: string;
    profileAccessStrategy?: ProfileAccessStrategy;
    registrationDate?: Int64;
    lastUpdatedDate?: Int64;
    active?: boolean;
    userDefinedAttributes?: { [name: string]: Value };
    customAttributes?: Value[];
  }
  interface UserLocation {
    latitude?: number;
    longitude?: number;
    timestamp?: Int64;
    details?: { [name: string]: string };
    customAttributes?: Value[];
  }
  interface UserOnlineStatus {
    userId?: Int64;
    userStatus?: UserStatus;
    deviceTypes?: DeviceType[];
    customAttributes?: Value[];
  }
  interface UserRelationship {
    ownerId?: Int64;
    relatedUserId?: Int64;
    blockDate?: Int64;
    groupIndex?: Int64;
    establishmentDate?: Int64;
    name?: string;
    note?: string;
    customAttributes?: Value[];
  }
  interface UserRelationshipGroup {
    index?: number;
    name?: string;
    customAttributes?: Value[];
  }
  interface MessageReactionGroup {
    reactionType?: number;
    reactionCount?: number;
    userInfos?: UserInfo[];
    customAttributes?: Value[];
  }
  type DeviceType = 'DESKTOP' | 'BROWSER' | 'IOS' | 'ANDROID' | 'OTHERS' | 'UNKNOWN';
  type GroupMemberRole = 'OWNER' | 'MANAGER' | 'MEMBER' | 'GUEST' | 'ANONYMOUS_GUEST';
  type ProfileAccessStrategy = 'ALL' | 'ALL_EXCEPT_BLOCKED_USERS' | 'FRIENDS';
  type RequestStatus = 'PENDING' | 'ACCEPTED' | 'ACCEPTED_WITHOUT_CONFIRM' | 'DECLINED' | 'IGNORED' | 'EXPIRED' | 'CANCELED';
  type ResponseAction = 'ACCEPT' | 'DECLINE' | 'IGNORE';
  type StorageResourceType = 'USER_PROFILE_PICTURE' | 'GROUP_PROFILE_PICTURE' | 'MESSAGE_ATTACHMENT';
  type UserStatus = 'AVAILABLE' | 'OFFLINE' | 'INVISIBLE' | 'BUSY' | 'DO_NOT_DISTURB' | 'AWAY' | 'BE_RIGHT_BACK';
}
declare module 'app:test' {
  export const test: {
    (name: string, f: () => unknown): void;
    skip(name: string, f?: () => unknown): void;
  };
  export function describe(name: string, f: () => void): void;
  export function beforeEach(f: () => unknown): void;
  export function afterEach(f: () => unknown): void;
  export type ExpectedError = (new (...args: never[]) => unknown) | RegExp | { [property: string]: unknown };
  export interface Assert {
    (value: unknown, message?: string | Error): asserts value;
    ok(value: unknown, message?: string | Error): asserts value;
    equal<T>(actual: unknown, expected: T, message?: string | Error): asserts actual is T;
    notEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    deepEqual<T>(actual: unknown, expected: T, message?: string | Error): asserts actual is T;
    notDeepEqual(actual: unknown, expected: unknown, message?: string | Error): void;
    match(text: unknown, pattern: RegExp, message?: string | Error): void;
    doesNotMatch(text: unknown, pattern: RegExp, message?: string | Error): void;
    throws(f: () => unknown, expected?: ExpectedError, message?: string | Error): unknown;
    rejects(promise: PromiseLike<unknown> | (() => unknown), expected?: ExpectedError, message?: string | Error): Promise<unknown>;
    fail(message?: string | Error): never;
    readonly AssertionError: new (message: string) => Error;
  }
  export const assert: Assert;
  export interface Patience { within?: number }
  export function until<T>(condition: () => T | Promise<T>, options?: Patience & { what?: string }): Promise<T>;
  export interface FetchRequest {
    method: string;
    url: string;
    headers: { [name: string]: string };
    body: string;
    bytes: Uint8Array;
    json<T = JsonValue>(): T;
  }
  export interface FetchAnswer {
    status?: number;
    headers?: { [name: string]: string | number };
    json?: unknown;
    text?: string;
    bytes?: Uint8Array;
    error?: string;
  }
  type Answer = number | FetchAnswer | ((request: FetchRequest) => number | FetchAnswer | undefined | Promise<number | FetchAnswer | undefined>);
  export interface Properties { [name: string]: string | number | boolean | null | Properties | (string | number | boolean | Properties)[] }
  export interface StartOptions {
    plugin?: string;
    properties?: Properties;
    answers?: { [request: string]: Answer | Answer[] };
    now?: Date | string | number;
  }
  export function start(options?: StartOptions): Promise<TestServer>;
  type ArgumentsOf<F> = NonNullable<F> extends (...args: infer A) => unknown ? A : never;
  type ResultOf<F> = NonNullable<F> extends (...args: never[]) => infer R ? Exclude<Awaited<R>, null | void> : never;
  export interface TestServer {
    readonly plugin: { readonly id: string; readonly version: string };
    readonly api: typeof app.api;
    readonly storage: typeof app.storage;
    readonly clock: {
      now(): Promise<Date>;
      advance(milliseconds: number): Promise<void>;
    };
    readonly http: {
      readonly requests: FetchRequest[];
      answer(request: string, answer: Answer | Answer[]): void;
    };
    user(user?: Partial<api.UserCreation> & { deviceType?: wire.DeviceType }): Promise<TestClient>;
    createUser(user?: Partial<api.UserCreation>): Promise<Int64>;
    login(login: {
      userId: Int64 | number; password?: string; deviceType?: wire.DeviceType; deviceDetails?: { [name: string]: string }; userStatus?: wire.UserStatus;
    }): Promise<TestClient>;
    call<P extends keyof ExtensionPoints, M extends keyof ExtensionPoints[P] & string>(
      point: P, method: M, ...args: ArgumentsOf<ExtensionPoints[P][M]>
    ): Promise<ResultOf<ExtensionPoints[P][M]> | undefined>;
    admin(method: string, path: string, body?: JsonValue): Promise<{
      status: number; headers: { [name: string]: string }; body: string; json<T = JsonValue>(): T;
    }>;
    logs(): Promise<{ level: 'debug' | 'info' | 'warn' | 'error'; text: string }[]>;
    notifications(): Promise<Notification[]>;
    apiCalls(): Promise<{ operation: string; input: { [name: string]: JsonValue } }[]>;
    stop(): Promise<void>;
  }
  export interface TestClient {
    readonly userId: Int64;
    request(request: wire.AppRequest): Promise<wire.AppNotification>;
    notification(match?: (notification: wire.AppNotification) => unknown, options?: Patience): Promise<wire.AppNotification>;
    message(options?: Patience): Promise<wire.CreateMessageRequest>;
    notifications(): Promise<wire.AppNotification[]>;
    close(): Promise<void>;
  }
}
