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

// refusals are the codes that the protocol gives to each kind of request, beyond those that any kind may get. Each is
// produced by some test of this package, or stands in impossible.
var refusals = map[wire.Kind][]apierr.Code{
	6: {
		apierr.UpdatingReadDateIsDisabled, apierr.UpdatingReadDateIsDisabledByGroup,
		apierr.UpdatingReadDateOfNonexistentGroupConversation, apierr.NotGroupMemberToUpdateReadDateOfGroupConversation,
		apierr.MovingReadDateForwardIsDisabled,
	},
	7: {apierr.UpdatingTypingStatusIsDisabled, apierr.NotGroupMemberToSendTypingStatus, apierr.NotFriendToSendTypingStatus},
	8: {
		apierr.MessageRecipientNotActive, apierr.NotFriendToSendPrivateMessage,
		apierr.BlockedUserSendPrivateMessage, apierr.BlockedUserSendGroupMessage,
		apierr.SendMessageToInactiveGroup, apierr.SendMessageToMutedGroup,
		apierr.SendingMessagesToOneselfIsDisabled, apierr.MutedGroupMemberSendMessage,
		apierr.NotSpeakableGroupGuestToSendMessage, apierr.NotMessageRecipientOrSenderToForwardMessage,
	},
	9: {apierr.NotGroupMemberToQueryGroupMessages},
	10: {
		apierr.UpdatingMessageBySenderIsDisabled, apierr.NotSenderToUpdateMessage,
		apierr.UpdateMessageOfNonexistentGroup, apierr.UpdatingGroupMessageBySenderIsDisabled,
		apierr.RecallingMessageIsDisabled, apierr.NotSenderToRecallMessage,
		apierr.RecallMessageOfNonexistentGroup, apierr.MessageRecallTimeout,
	},
	11: {
		apierr.AddUserToGroupRequiringUsersApproval, apierr.AddUserToInactiveGroup,
		apierr.NotGroupOwnerToAddGroupManager, apierr.AddUserToGroupWithSizeLimitReached,
		apierr.AddBlockedUserToGroup, apierr.NotGroupOwnerToAddGroupMember,
		apierr.NotGroupOwnerOrManagerToAddGroupMember, apierr.NotGroupMemberToAddGroupMember,
		apierr.UserJoinGroupWithoutAcceptingGroupInvitation, apierr.UserJoinGroupWithoutAnsweringGroupQuestion,
		apierr.UserJoinGroupWithoutSendingGroupJoinRequest,
	},
	12: {
		apierr.NotGroupOwnerToTransferGroup, apierr.GroupSuccessorNotGroupMember,
		apierr.GroupOwnerQuitWithoutSpecifyingSuccessor, apierr.MaxOwnedGroupsReached,
		apierr.NotGroupOwnerOrManagerToRemoveGroupMember, apierr.NotGroupOwnerToRemoveGroupOwnerOrManager,
	},
	13: {apierr.NotGroupMemberToQueryGroupMemberInfo},
	14: {
		apierr.NotGroupOwnerToUpdateGroupMemberRole, apierr.UpdateGroupMemberRoleOfNonexistentGroup,
		apierr.NotGroupOwnerToUpdateGroupMemberInfo, apierr.NotGroupOwnerOrManagerToUpdateGroupMemberInfo,
		apierr.NotGroupMemberToUpdateGroupMemberInfo, apierr.UpdateGroupMemberInfoOfNonexistentGroup,
		apierr.UpdateInfoOfNonexistentGroupMember, apierr.NotGroupOwnerOrManagerToMuteGroupMember,
		apierr.MuteGroupMemberWithRoleEqualToOrHigherThanRequester, apierr.MuteGroupMemberOfNonexistentGroup,
		apierr.MuteNonexistentGroupMember,
	},
	100: {apierr.SearchingUserIsDisabled},
	101: {apierr.UserLocationRelatedFeaturesAreDisabled},
	103: {apierr.UserLocationRelatedFeaturesAreDisabled},
	200: {apierr.CreateExistingFriendRequest, apierr.BlockedUserToSendFriendRequest},
	202: {apierr.CreateExistingRelationship},
	203: {apierr.RecallNonPendingFriendRequest, apierr.RecallingFriendRequestIsDisabled, apierr.NotSenderToRecallFriendRequest},
	210: {apierr.UpdateNonPendingFriendRequest, apierr.NotRecipientToUpdateFriendRequest},
	300: {
		apierr.NoPermissionToCreateGroupWithGroupType, apierr.CreateGroupWithNonexistentGroupType,
		apierr.NotActiveUserToCreateGroup, apierr.MaxOwnedGroupsReached,
	},
	301: {apierr.NotGroupOwnerToDeleteGroup},
	302: {apierr.SearchingGroupIsDisabled},
	305: {
		apierr.UpdateInfoOfNonexistentGroup, apierr.NotGroupOwnerToUpdateGroupInfo,
		apierr.NotGroupOwnerOrManagerToUpdateGroupInfo, apierr.NotGroupMemberToUpdateGroupInfo,
		apierr.NoPermissionToCreateGroupWithGroupType, apierr.UpdatingGroupTypeIsDisabled,
		apierr.NoPermissionToUpdateGroupToGroupType, apierr.UpdateGroupToNonexistentGroupType,
		apierr.NotGroupOwnerToTransferGroup, apierr.GroupSuccessorNotGroupMember,
		apierr.MaxOwnedGroupsReached,
	},
	400: {apierr.NotGroupOwnerOrManagerToAddBlockedUser},
	401: {apierr.NotGroupOwnerOrManagerToRemoveBlockedUser},
	500: {
		apierr.GroupQuestionAnswererHasBeenBlocked, apierr.GroupMemberAnswerGroupQuestion,
		apierr.AnswerInactiveGroupQuestion, apierr.AnswerGroupQuestionOfInactiveGroup,
	},
	501: {
		apierr.AddUserToInactiveGroup, apierr.SendGroupInvitationToGroupMember,
		apierr.SendGroupInvitationToBlockedUser, apierr.SendGroupInvitationToGroupNotRequiringUsersApproval,
		apierr.NotGroupOwnerToSendGroupInvitation, apierr.NotGroupOwnerOrManagerToSendGroupInvitation,
		apierr.NotGroupMemberToSendGroupInvitation,
	},
	502: {
		apierr.BlockedUserSendGroupJoinRequest, apierr.GroupMemberSendGroupJoinRequest,
		apierr.SendGroupJoinRequestToInactiveGroup, apierr.SendGroupJoinRequestToGroupUsingMembershipRequest,
		apierr.SendGroupJoinRequestToGroupUsingInvitation, apierr.SendGroupJoinRequestToGroupUsingQuestion,
	},
	503: {
		apierr.NotGroupOwnerOrManagerToCreateGroupQuestion, apierr.CreateGroupQuestionForInactiveGroup,
		apierr.CreateGroupQuestionForGroupUsingJoinRequest, apierr.CreateGroupQuestionForGroupUsingInvitation,
		apierr.CreateGroupQuestionForGroupUsingMembershipRequest,
	},
	504: {
		apierr.RecallingGroupInvitationIsDisabled, apierr.NotGroupOwnerOrManagerToRecallGroupInvitation,
		apierr.NotGroupOwnerOrManagerOrSenderToRecallGroupInvitation, apierr.RecallNonPendingGroupInvitation,
	},
	505: {apierr.NotSenderToRecallGroupJoinRequest, apierr.RecallNonPendingGroupJoinRequest, apierr.RecallingGroupJoinRequestIsDisabled},
	506: {apierr.NotGroupOwnerOrManagerToDeleteGroupQuestion},
	507: {apierr.NotGroupOwnerOrManagerToQueryGroupInvitation},
	508: {apierr.NotGroupOwnerOrManagerToQueryGroupJoinRequest},
	509: {apierr.NotGroupOwnerOrManagerToQueryGroupQuestionAnswer},
	510: {apierr.UpdateNonPendingGroupInvitation, apierr.NotInviteeToUpdateGroupInvitation},
	511: {apierr.NotGroupOwnerOrManagerToUpdateGroupQuestion},
	512: {apierr.UpdateNonPendingGroupJoinRequest, apierr.NotGroupOwnerOrManagerToUpdateGroupJoinRequest},
	900: {
		apierr.ConferenceNotImplemented, apierr.CreateMeetingExceedingMaxActiveMeetingCount,
		apierr.MessageRecipientNotActive, apierr.NotFriendToSendPrivateMessage,
		apierr.BlockedUserSendPrivateMessage, apierr.BlockedUserSendGroupMessage,
		apierr.SendMessageToInactiveGroup, apierr.SendMessageToMutedGroup,
		apierr.SendingMessagesToOneselfIsDisabled, apierr.MutedGroupMemberSendMessage,
		apierr.NotSpeakableGroupGuestToSendMessage,
	},
	901: {
		apierr.ConferenceNotImplemented, apierr.NotCreatorToCancelMeeting,
		apierr.CancelingMeetingIsDisabled, apierr.CancelNonexistentMeeting,
	},
	902: {apierr.ConferenceNotImplemented},
	903: {apierr.ConferenceNotImplemented, apierr.NotCreatorToUpdateMeetingPassword, apierr.UpdateInfoOfNonexistentMeeting},
	904: {
		apierr.ConferenceNotImplemented, apierr.AcceptMeetingInvitationWithWrongPassword,
		apierr.AcceptMeetingInvitationOfCanceledMeeting, apierr.AcceptMeetingInvitationOfEndedMeeting,
		apierr.AcceptMeetingInvitationOfExpiredMeeting, apierr.AcceptMeetingInvitationOfPendingMeeting,
		apierr.AcceptNonexistentMeetingInvitation,
	},
	1000: {apierr.StorageNotImplemented},
	1001: {apierr.StorageNotImplemented},
	1002: {apierr.StorageNotImplemented},
	1003: {apierr.StorageNotImplemented},
	1004: {apierr.StorageNotImplemented},
	1102: {apierr.NotRelatedUserToUpdatePrivateConversationSetting, apierr.NotGroupMemberToUpdateGroupConversationSetting},
}

// impossible are codes that no request of the kind can get, and why.
var impossible = map[wire.Kind]map[apierr.Code]string{}

// answers notes which codes the tests have got.
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

// missing are the refusals that nobody got, and those that should be impossible and are not.
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

// complete runs the tests, and fails if all ran and some refusal was not among their answers.
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
