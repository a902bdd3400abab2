// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// club is a group with one user for each case that its rules distinguish.
type club struct {
	*world
	id int64
}

// The users of a club. The enemy is blocked.
const (
	owner, manager, member, mate, enemy, stranger = 1, 2, 3, 4, 8, 9
)

// newClubs returns a function that creates a club with a group type of its own.
func newClubs(t *testing.T) func(store.GroupType) *club {
	w := newWorld(t)
	w.People(owner, manager, member, mate, enemy, stranger)
	return func(kind store.GroupType) *club {
		id := w.groupOf(kind, owner, manager, member, mate)
		w.appoint(id, manager, store.GroupManager)
		w.want(apierr.OK, owner, &wire.CreateGroupBlockedUserRequest{GroupId: id, UserId: enemy})
		return &club{w, id}
	}
}

// close makes the group inactive.
func (c *club) close() *club {
	c.UpdateGroup(c.id, store.GroupChange{IsActive: proto.Bool(false)})
	return c
}

func TestRefusedInvitations(t *testing.T) {
	found := newClubs(t)
	invite := func(c *club, code apierr.Code, inviter, invitee int64) {
		t.Helper()
		c.want(code, inviter, &wire.CreateGroupInvitationRequest{GroupId: c.id, InviteeId: invitee})
	}
	all := found(store.GroupType{InvitationStrategy: store.InviteAllRequiringApproval})
	invite(all, apierr.SendGroupInvitationToBlockedUser, member, enemy)
	invite(found(store.GroupType{InvitationStrategy: store.InviteAll}), apierr.SendGroupInvitationToGroupNotRequiringUsersApproval, member, stranger)
	invite(found(store.GroupType{InvitationStrategy: store.InviteOwnerRequiringApproval}), apierr.NotGroupOwnerToSendGroupInvitation, manager, stranger)
	invite(found(store.GroupType{InvitationStrategy: store.InviteOwnerManagerRequiringApproval}), apierr.NotGroupOwnerOrManagerToSendGroupInvitation, member, stranger)

	id := all.want(apierr.OK, member, &wire.CreateGroupInvitationRequest{GroupId: all.id, InviteeId: stranger}).Data.GetLong()
	all.want(apierr.OK, stranger, &wire.UpdateGroupInvitationRequest{InvitationId: id, ResponseAction: wire.ResponseAction_DECLINE})
	all.Rules.Group.Invitation.AllowRecallPendingInvitationByOwnerAndManager = true
	all.want(apierr.RecallNonPendingGroupInvitation, owner, &wire.DeleteGroupInvitationRequest{InvitationId: id})
}

func TestRefusedEntry(t *testing.T) {
	found := newClubs(t)
	byRequest := found(store.GroupType{JoinStrategy: store.JoinByRequest})
	byQuestion := found(store.GroupType{JoinStrategy: store.JoinByQuestion})
	byMembership := found(store.GroupType{JoinStrategy: store.JoinByMembershipRequest})

	ask := func(c *club, code apierr.Code, user int64) {
		t.Helper()
		c.want(code, user, &wire.CreateGroupJoinRequestRequest{GroupId: c.id, Content: "please"})
	}
	ask(byRequest, apierr.BlockedUserSendGroupJoinRequest, enemy)
	ask(byMembership, apierr.SendGroupJoinRequestToGroupUsingMembershipRequest, stranger)
	ask(byQuestion, apierr.SendGroupJoinRequestToGroupUsingQuestion, stranger)

	enter := func(c *club, code apierr.Code) {
		t.Helper()
		c.want(code, stranger, &wire.CreateGroupMembersRequest{GroupId: c.id, UserIds: []int64{stranger}})
	}
	enter(byQuestion, apierr.UserJoinGroupWithoutAnsweringGroupQuestion)
	enter(byRequest, apierr.UserJoinGroupWithoutSendingGroupJoinRequest)
	enter(found(store.GroupType{JoinStrategy: store.JoinByMembershipRequest, GroupSizeLimit: 4}), apierr.AddUserToGroupWithSizeLimitReached)

	add := func(kind store.GroupInvitationStrategy, code apierr.Code, requester, user int64) {
		t.Helper()
		c := found(store.GroupType{InvitationStrategy: kind})
		c.want(code, requester, &wire.CreateGroupMembersRequest{GroupId: c.id, UserIds: []int64{user}, Role: wire.GroupMemberRole_MEMBER.Enum()})
	}
	add(store.InviteAll, apierr.AddBlockedUserToGroup, owner, enemy)
	add(store.InviteOwner, apierr.NotGroupOwnerToAddGroupMember, manager, stranger)
	add(store.InviteOwnerManagerMember, apierr.NotGroupMemberToAddGroupMember, enemy, stranger)
}

func TestRefusedQuestions(t *testing.T) {
	found := newClubs(t)
	question := []*wire.GroupJoinQuestion{{Question: proto.String("q"), Answers: []string{"a"}, Score: proto.Int32(1)}}
	create := func(c *club, code apierr.Code) []int64 {
		t.Helper()
		return c.want(code, owner, &wire.CreateGroupJoinQuestionsRequest{GroupId: c.id, Questions: question}).Data.GetLongsWithVersion().GetLongs()
	}
	create(found(store.GroupType{JoinStrategy: store.JoinByRequest}), apierr.CreateGroupQuestionForGroupUsingJoinRequest)
	create(found(store.GroupType{JoinStrategy: store.JoinByMembershipRequest}), apierr.CreateGroupQuestionForGroupUsingMembershipRequest)
	c := found(store.GroupType{JoinStrategy: store.JoinByQuestion})
	answer := &wire.CheckGroupJoinQuestionsAnswersRequest{QuestionIdToAnswer: map[int64]string{create(c, apierr.OK)[0]: "a"}}
	c.close()
	c.want(apierr.AnswerGroupQuestionOfInactiveGroup, stranger, answer)
	create(c, apierr.CreateGroupQuestionForInactiveGroup)
	c.UpdateGroup(c.id, store.GroupChange{IsActive: proto.Bool(true), TypeID: proto.Int64(0)})
	c.want(apierr.AnswerInactiveGroupQuestion, stranger, answer)
}

func TestRefusedGroupChanges(t *testing.T) {
	found := newClubs(t)
	rename := func(kind store.GroupUpdateStrategy, code apierr.Code, user int64) *club {
		t.Helper()
		c := found(store.GroupType{GroupInfoUpdateStrategy: kind})
		c.want(code, user, &wire.UpdateGroupRequest{GroupId: c.id, Name: proto.String("new")})
		return c
	}
	rename(store.UpdateByOwner, apierr.NotGroupOwnerToUpdateGroupInfo, manager)
	c := rename(store.UpdateByOwnerManagerMember, apierr.NotGroupMemberToUpdateGroupInfo, stranger)
	handOver := &wire.UpdateGroupRequest{GroupId: c.id, SuccessorId: proto.Int64(member)}
	leave := &wire.DeleteGroupMembersRequest{GroupId: c.id, SuccessorId: proto.Int64(member), QuitAfterTransfer: proto.Bool(true)}
	c.want(apierr.NoPermissionToCreateGroupWithGroupType, owner, handOver)
	c.Rules.Group.AllowGroupOwnerChangeGroupType = true
	other, err := c.Groups.Types.Create(t.Context(), store.GroupType{GroupSizeLimit: 10})
	if err != nil {
		t.Fatal(err)
	}
	c.want(apierr.NoPermissionToUpdateGroupToGroupType, owner, &wire.UpdateGroupRequest{GroupId: c.id, TypeId: &other.ID})
	if _, err := c.Users.UpdateRoles(t.Context(), []int64{store.DefaultUserRoleID}, store.UserRoleChange{OwnedGroupLimit: proto.Int32(0)}); err != nil {
		t.Fatal(err)
	}
	c.want(apierr.MaxOwnedGroupsReached, owner, handOver)
	c.want(apierr.MaxOwnedGroupsReached, owner, leave)
}

func TestRefusedMemberChanges(t *testing.T) {
	found := newClubs(t)
	rename := func(kind store.GroupUpdateStrategy, code apierr.Code, requester, user int64) {
		t.Helper()
		c := found(store.GroupType{MemberInfoUpdateStrategy: kind})
		c.want(code, requester, &wire.UpdateGroupMemberRequest{GroupId: c.id, MemberId: user, Name: proto.String("n")})
	}
	rename(store.UpdateByOwner, apierr.NotGroupOwnerToUpdateGroupMemberInfo, manager, mate)
	rename(store.UpdateByOwnerManagerMember, apierr.NotGroupMemberToUpdateGroupMemberInfo, enemy, mate)
	rename(store.UpdateByOwner, apierr.UpdateInfoOfNonexistentGroupMember, owner, stranger)
	c := found(store.GroupType{})
	end := c.Now.Add(time.Hour).UnixMilli()
	mute := func(code apierr.Code, requester, user int64) {
		t.Helper()
		c.want(code, requester, &wire.UpdateGroupMemberRequest{GroupId: c.id, MemberId: user, MuteEndDate: &end})
	}
	mute(apierr.NotGroupOwnerOrManagerToMuteGroupMember, enemy, mate)
	mute(apierr.MuteNonexistentGroupMember, owner, stranger)
	c.close()
	mute(apierr.MuteGroupMemberOfNonexistentGroup, owner, mate)
	c.want(apierr.UpdateGroupMemberRoleOfNonexistentGroup, owner, &wire.UpdateGroupMemberRequest{GroupId: c.id, MemberId: mate, Role: wire.GroupMemberRole_MANAGER.Enum()})
}

func TestRefusedGroupMessages(t *testing.T) {
	found := newClubs(t)
	c := found(store.GroupType{GuestSpeakable: true, MessageEditable: false})
	say := &wire.CreateMessageRequest{GroupId: &c.id, Text: proto.String("hi")}
	c.want(apierr.BlockedUserSendGroupMessage, enemy, say)
	id := c.want(apierr.OK, member, say).Data.GetLong()
	edit := &wire.UpdateMessageRequest{MessageId: id, Text: proto.String("oh")}
	c.want(apierr.UpdatingGroupMessageBySenderIsDisabled, member, edit)
	c.close()
	c.want(apierr.UpdateMessageOfNonexistentGroup, member, edit)
	now := c.Now.UnixMilli()
	c.want(apierr.RecallMessageOfNonexistentGroup, member, &wire.UpdateMessageRequest{MessageId: id, RecallDate: &now})
}
