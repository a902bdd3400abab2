// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"example.org/app/internal/apierr"
	"example.org/app/internal/wire"
)

// refusals are the codes that the protocol defines for each kind of request, in addition to the
// general ones. Each is produced by some test of this package, or listed in impossible.
var refusals = map[wire.Kind][]apierr.Code{
	wire.KindUpdateConversation: {
		apierr.UpdatingReadDateIsDisabled, apierr.UpdatingReadDateIsDisabledByGroup,
		apierr.UpdatingReadDateOfNonexistentGroupConversation, apierr.NotGroupMemberToUpdateReadDateOfGroupConversation,
		apierr.MovingReadDateForwardIsDisabled,
	},
	wire.KindUpdateTypingStatus: {apierr.UpdatingTypingStatusIsDisabled, apierr.NotGroupMemberToSendTypingStatus, apierr.NotFriendToSendTypingStatus},
	wire.KindCreateMessage: {
		apierr.MessageRecipientNotActive, apierr.NotFriendToSendPrivateMessage,
		apierr.BlockedUserSendPrivateMessage, apierr.BlockedUserSendGroupMessage,
		apierr.SendMessageToInactiveGroup, apierr.SendMessageToMutedGroup,
		apierr.SendingMessagesToOneselfIsDisabled, apierr.MutedGroupMemberSendMessage,
		apierr.NotSpeakableGroupGuestToSendMessage, apierr.NotMessageRecipientOrSenderToForwardMessage,
	},
	wire.KindQueryMessages: {apierr.NotGroupMemberToQueryGroupMessages},
	wire.KindUpdateMessage: {
		apierr.UpdatingMessageBySenderIsDisabled, apierr.NotSenderToUpdateMessage,
		apierr.UpdateMessageOfNonexistentGroup, apierr.UpdatingGroupMessageBySenderIsDisabled,
		apierr.RecallingMessageIsDisabled, apierr.NotSenderToRecallMessage,
		apierr.RecallMessageOfNonexistentGroup, apierr.MessageRecallTimeout,
	},
	wire.KindCreateGroupMembers: {
		apierr.AddUserToGroupRequiringUsersApproval, apierr.AddUserToInactiveGroup,
		apierr.NotGroupOwnerToAddGroupManager, apierr.AddUserToGroupWithSizeLimitReached,
		apierr.AddBlockedUserToGroup, apierr.NotGroupOwnerToAddGroupMember,
		apierr.NotGroupOwnerOrManagerToAddGroupMember, apierr.NotGroupMemberToAddGroupMember,
		apierr.UserJoinGroupWithoutAcceptingGroupInvitation, apierr.UserJoinGroupWithoutAnsweringGroupQuestion,
		apierr.UserJoinGroupWithoutSendingGroupJoinRequest,
	},
	wire.KindDeleteGroupMembers: {
		apierr.NotGroupOwnerToTransferGroup, apierr.GroupSuccessorNotGroupMember,
		apierr.GroupOwnerQuitWithoutSpecifyingSuccessor, apierr.MaxOwnedGroupsReached,
		apierr.NotGroupOwnerOrManagerToRemoveGroupMember, apierr.NotGroupOwnerToRemoveGroupOwnerOrManager,
	},
	wire.KindQueryGroupMembers: {apierr.NotGroupMemberToQueryGroupMemberInfo},
	wire.KindUpdateGroupMember: {
		apierr.NotGroupOwnerToUpdateGroupMemberRole, apierr.UpdateGroupMemberRoleOfNonexistentGroup,
		apierr.NotGroupOwnerToUpdateGroupMemberInfo, apierr.NotGroupOwnerOrManagerToUpdateGroupMemberInfo,
		apierr.NotGroupMemberToUpdateGroupMemberInfo, apierr.UpdateGroupMemberInfoOfNonexistentGroup,
		apierr.UpdateInfoOfNonexistentGroupMember, apierr.NotGroupOwnerOrManagerToMuteGroupMember,
		apierr.MuteGroupMemberWithRoleEqualToOrHigherThanRequester, apierr.MuteGroupMemberOfNonexistentGroup,
		apierr.MuteNonexistentGroupMember,
	},
	wire.KindQueryUserProfiles:   {apierr.SearchingUserIsDisabled},
	wire.KindQueryNearbyUsers:    {apierr.UserLocationRelatedFeaturesAreDisabled},
	wire.KindUpdateUserLocation:  {apierr.UserLocationRelatedFeaturesAreDisabled},
	wire.KindCreateFriendRequest: {apierr.CreateExistingFriendRequest, apierr.BlockedUserToSendFriendRequest},
	wire.KindCreateRelationship:  {apierr.CreateExistingRelationship},
	wire.KindDeleteFriendRequest: {apierr.RecallNonPendingFriendRequest, apierr.RecallingFriendRequestIsDisabled, apierr.NotSenderToRecallFriendRequest},
	wire.KindUpdateFriendRequest: {apierr.UpdateNonPendingFriendRequest, apierr.NotRecipientToUpdateFriendRequest},
	wire.KindCreateGroup: {
		apierr.NoPermissionToCreateGroupWithGroupType, apierr.CreateGroupWithNonexistentGroupType,
		apierr.NotActiveUserToCreateGroup, apierr.MaxOwnedGroupsReached,
	},
	wire.KindDeleteGroup: {apierr.NotGroupOwnerToDeleteGroup},
	wire.KindQueryGroups: {apierr.SearchingGroupIsDisabled},
	wire.KindUpdateGroup: {
		apierr.UpdateInfoOfNonexistentGroup, apierr.NotGroupOwnerToUpdateGroupInfo,
		apierr.NotGroupOwnerOrManagerToUpdateGroupInfo, apierr.NotGroupMemberToUpdateGroupInfo,
		apierr.NoPermissionToCreateGroupWithGroupType, apierr.UpdatingGroupTypeIsDisabled,
		apierr.NoPermissionToUpdateGroupToGroupType, apierr.UpdateGroupToNonexistentGroupType,
		apierr.NotGroupOwnerToTransferGroup, apierr.GroupSuccessorNotGroupMember,
		apierr.MaxOwnedGroupsReached,
	},
	wire.KindCreateGroupBlockedUser: {apierr.NotGroupOwnerOrManagerToAddBlockedUser},
	wire.KindDeleteGroupBlockedUser: {apierr.NotGroupOwnerOrManagerToRemoveBlockedUser},
	wire.KindCheckGroupJoinQuestionsAnswers: {
		apierr.GroupQuestionAnswererHasBeenBlocked, apierr.GroupMemberAnswerGroupQuestion,
		apierr.AnswerInactiveGroupQuestion, apierr.AnswerGroupQuestionOfInactiveGroup,
	},
	wire.KindCreateGroupInvitation: {
		apierr.AddUserToInactiveGroup, apierr.SendGroupInvitationToGroupMember,
		apierr.SendGroupInvitationToBlockedUser, apierr.SendGroupInvitationToGroupNotRequiringUsersApproval,
		apierr.NotGroupOwnerToSendGroupInvitation, apierr.NotGroupOwnerOrManagerToSendGroupInvitation,
		apierr.NotGroupMemberToSendGroupInvitation,
	},
	wire.KindCreateGroupJoinRequest: {
		apierr.BlockedUserSendGroupJoinRequest, apierr.GroupMemberSendGroupJoinRequest,
		apierr.SendGroupJoinRequestToInactiveGroup, apierr.SendGroupJoinRequestToGroupUsingMembershipRequest,
		apierr.SendGroupJoinRequestToGroupUsingInvitation, apierr.SendGroupJoinRequestToGroupUsingQuestion,
	},
	wire.KindCreateGroupJoinQuestions: {
		apierr.NotGroupOwnerOrManagerToCreateGroupQuestion, apierr.CreateGroupQuestionForInactiveGroup,
		apierr.CreateGroupQuestionForGroupUsingJoinRequest, apierr.CreateGroupQuestionForGroupUsingInvitation,
		apierr.CreateGroupQuestionForGroupUsingMembershipRequest,
	},
	wire.KindDeleteGroupInvitation: {
		apierr.RecallingGroupInvitationIsDisabled, apierr.NotGroupOwnerOrManagerToRecallGroupInvitation,
		apierr.NotGroupOwnerOrManagerOrSenderToRecallGroupInvitation, apierr.RecallNonPendingGroupInvitation,
	},
	wire.KindDeleteGroupJoinRequest:   {apierr.NotSenderToRecallGroupJoinRequest, apierr.RecallNonPendingGroupJoinRequest, apierr.RecallingGroupJoinRequestIsDisabled},
	wire.KindDeleteGroupJoinQuestions: {apierr.NotGroupOwnerOrManagerToDeleteGroupQuestion},
	wire.KindQueryGroupInvitations:    {apierr.NotGroupOwnerOrManagerToQueryGroupInvitation},
	wire.KindQueryGroupJoinRequests:   {apierr.NotGroupOwnerOrManagerToQueryGroupJoinRequest},
	wire.KindQueryGroupJoinQuestions:  {apierr.NotGroupOwnerOrManagerToQueryGroupQuestionAnswer},
	wire.KindUpdateGroupInvitation:    {apierr.UpdateNonPendingGroupInvitation, apierr.NotInviteeToUpdateGroupInvitation},
	wire.KindUpdateGroupJoinQuestion:  {apierr.NotGroupOwnerOrManagerToUpdateGroupQuestion},
	wire.KindUpdateGroupJoinRequest:   {apierr.UpdateNonPendingGroupJoinRequest, apierr.NotGroupOwnerOrManagerToUpdateGroupJoinRequest},
	wire.KindCreateMeeting: {
		apierr.ConferenceNotImplemented, apierr.CreateMeetingExceedingMaxActiveMeetingCount,
		apierr.MessageRecipientNotActive, apierr.NotFriendToSendPrivateMessage,
		apierr.BlockedUserSendPrivateMessage, apierr.BlockedUserSendGroupMessage,
		apierr.SendMessageToInactiveGroup, apierr.SendMessageToMutedGroup,
		apierr.SendingMessagesToOneselfIsDisabled, apierr.MutedGroupMemberSendMessage,
		apierr.NotSpeakableGroupGuestToSendMessage,
	},
	wire.KindDeleteMeeting: {
		apierr.ConferenceNotImplemented, apierr.NotCreatorToCancelMeeting,
		apierr.CancelingMeetingIsDisabled, apierr.CancelNonexistentMeeting,
	},
	wire.KindQueryMeetings: {apierr.ConferenceNotImplemented},
	wire.KindUpdateMeeting: {apierr.ConferenceNotImplemented, apierr.NotCreatorToUpdateMeetingPassword, apierr.UpdateInfoOfNonexistentMeeting},
	wire.KindUpdateMeetingInvitation: {
		apierr.ConferenceNotImplemented, apierr.AcceptMeetingInvitationWithWrongPassword,
		apierr.AcceptMeetingInvitationOfCanceledMeeting, apierr.AcceptMeetingInvitationOfEndedMeeting,
		apierr.AcceptMeetingInvitationOfExpiredMeeting, apierr.AcceptMeetingInvitationOfPendingMeeting,
		apierr.AcceptNonexistentMeetingInvitation,
	},
	wire.KindDeleteResource:              {apierr.StorageNotImplemented},
	wire.KindQueryResourceDownloadInfo:   {apierr.StorageNotImplemented},
	wire.KindQueryResourceUploadInfo:     {apierr.StorageNotImplemented},
	wire.KindQueryMessageAttachmentInfos: {apierr.StorageNotImplemented},
	wire.KindUpdateMessageAttachmentInfo: {apierr.StorageNotImplemented},
	wire.KindUpdateConversationSettings:  {apierr.NotRelatedUserToUpdatePrivateConversationSetting, apierr.NotGroupMemberToUpdateGroupConversationSetting},
}

// impossible are codes that no request of the kind can get, with the reason.
var impossible = map[wire.Kind]map[apierr.Code]string{}

// answers records which codes the tests got.
type answers struct {
	mu   sync.Mutex
	seen map[wire.Kind][]apierr.Code
}

var produced answers

func (a *answers) note(kind wire.Kind, code apierr.Code) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen == nil {
		a.seen = map[wire.Kind][]apierr.Code{}
	}
	if !slices.Contains(a.seen[kind], code) {
		a.seen[kind] = append(a.seen[kind], code)
	}
}

// missing returns the refusals that no test got, and those listed as impossible that one did.
func (a *answers) missing() (complaints []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for kind, codes := range refusals {
		for _, code := range codes {
			_, exempt := impossible[kind][code]
			switch got := slices.Contains(a.seen[kind], code); {
			case !got && !exempt:
				complaints = append(complaints, fmt.Sprintf("no test lets a %s be answered with %d %s", kind, code, code.Name()))
			case got && exempt:
				complaints = append(complaints, fmt.Sprintf("a %s was answered with %d %s, which is said to be impossible", kind, code, code.Name()))
			}
		}
	}
	slices.Sort(complaints)
	return complaints
}

// complete runs the tests, and fails if all ran and some refusal did not occur.
type complete struct{ *testing.M }

func (c complete) Run() int {
	code := c.M.Run()
	for _, name := range []string{"run", "skip", "list", "bench", "fuzz"} {
		if f := flag.Lookup("test." + name); f != nil && f.Value.String() != "" {
			return code
		}
	}
	if worker := flag.Lookup("test.fuzzworker"); code != 0 || worker != nil && worker.Value.String() == "true" {
		return code
	}
	for _, complaint := range produced.missing() {
		fmt.Fprintln(os.Stderr, complaint)
		code = 1
	}
	return code
}
