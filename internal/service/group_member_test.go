// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

func TestCreateGroupMembers(t *testing.T) {
	w := newWorld(t)
	w.crowd(1, 2, 3, 4, 9)
	id := w.groupOf(store.GroupType{InvitationStrategy: store.InviteOwnerManager, JoinStrategy: store.JoinByMembershipRequest}, 1, 2)
	joining := func(self, added, others bool) {
		w.quiet().GroupMemberAdded = config.NotifyOfJoining{
			NotifyRequesterOtherOnlineSessions: self, NotifyAddedGroupMember: added, NotifyOtherGroupMembers: others,
		}
	}
	leave := func(userIDs ...int64) {
		t.Helper()
		w.quiet()
		w.want(apierr.OK, 1, &wire.DeleteGroupMembersRequest{GroupId: id, MemberIds: userIDs})
	}
	end := w.Now.Add(time.Hour).UnixMilli()
	request := &wire.CreateGroupMembersRequest{GroupId: id, UserIds: []int64{3, 4, 3}, Name: proto.String("n"), MuteEndDate: &end}
	for _, test := range []struct {
		self, added, others bool
		want                []session
	}{
		{true, true, true, other(1, 2, 3, 4)},
		{false, true, true, other(1, 2, 3, 4)},
		{false, false, true, other(1, 2)},
		{true, true, false, other(1, 3, 4)},
		{false, true, false, all(3, 4)},
		{true, false, false, other(1)},
		{false, false, false, nil},
	} {
		joining(test.self, test.added, test.others)
		w.want(apierr.OK, 1, request)
		w.wantNotified(1, request, test.want...)
		w.wantMembers(id, 1, 2, 3, 4)
		leave(3, 4)
	}
	w.want(apierr.OK, 1, request)
	got := w.want(apierr.OK, 2, &wire.QueryGroupMembersRequest{GroupId: id, MemberIds: []int64{4, 99}}).Data.GetGroupMembersWithVersion()
	want := &wire.GroupMembersWithVersion{GroupMembers: []*wire.GroupMember{{
		GroupId: &id, UserId: proto.Int64(4), Name: proto.String("n"), Role: wire.GroupMemberRole_MEMBER.Enum(), JoinDate: proto.Int64(w.Now.UnixMilli()), MuteEndDate: &end,
	}}}
	if !proto.Equal(got, want) {
		t.Errorf("the members are %v, want %v", got, want)
	}
	w.want(apierr.RecordContainsDuplicateKey, 1, request)
	leave(3, 4)

	joining(false, true, true)
	alone := &wire.CreateGroupMembersRequest{GroupId: id, UserIds: []int64{9}}
	w.want(apierr.OK, 9, alone)
	w.wantNotified(9, alone, other(9, 1, 2)...)
	manager := &wire.CreateGroupMembersRequest{GroupId: id, UserIds: []int64{4}, Role: wire.GroupMemberRole_MANAGER.Enum()}
	w.want(apierr.OK, 1, manager)
	w.want(apierr.OK, 1, &wire.CreateGroupMembersRequest{GroupId: id})
	w.wantNotified(1, manager, other(1, 2, 4, 9)...)
	w.want(apierr.NotGroupOwnerToAddGroupManager, 4, &wire.CreateGroupMembersRequest{GroupId: id, UserIds: []int64{3}, Role: wire.GroupMemberRole_MANAGER.Enum()})
	w.want(apierr.IllegalArgument, 4, &wire.CreateGroupMembersRequest{GroupId: id, UserIds: []int64{3}, Role: wire.GroupMemberRole_GUEST.Enum()})
	w.want(apierr.IllegalArgument, 4, &wire.CreateGroupMembersRequest{GroupId: id, UserIds: make([]int64, 101)})
	w.want(apierr.NotGroupOwnerOrManagerToAddGroupMember, 2, &wire.CreateGroupMembersRequest{GroupId: id, UserIds: []int64{3}})
	w.want(apierr.AddUserToInactiveGroup, 1, &wire.CreateGroupMembersRequest{GroupId: 404, UserIds: []int64{3}})
	plain := w.Group(1)
	w.want(apierr.AddUserToGroupRequiringUsersApproval, 1, &wire.CreateGroupMembersRequest{GroupId: plain, UserIds: []int64{3}})
	w.want(apierr.UserJoinGroupWithoutAcceptingGroupInvitation, 3, &wire.CreateGroupMembersRequest{GroupId: plain, UserIds: []int64{3}})
}

func TestDeleteGroupMembers(t *testing.T) {
	w := newWorld(t)
	w.crowd(1, 2, 3, 4, 9)
	leaving := func(self, removed, others bool) {
		w.quiet().GroupMemberRemoved = config.NotifyOfLeaving{
			NotifyRequesterOtherOnlineSessions: self, NotifyRemovedGroupMember: removed, NotifyOtherGroupMembers: others,
		}
	}
	for _, test := range []struct {
		self, removed, others bool
		want                  []session
	}{
		{true, true, true, other(1, 2, 3, 4)},
		{false, true, true, other(1, 2, 3, 4)},
		{false, false, true, other(1, 2)},
		{true, true, false, other(1, 3, 4)},
		{false, true, false, all(3, 4)},
		{true, false, false, other(1)},
		{false, false, false, nil},
	} {
		leaving(test.self, test.removed, test.others)
		request := &wire.DeleteGroupMembersRequest{GroupId: w.Group(1, 2, 3, 4), MemberIds: []int64{4, 3, 99}}
		w.want(apierr.OK, 1, request)
		w.wantNotified(1, request, test.want...)
		w.wantMembers(request.GetGroupId(), 1, 2)
	}
	leaving(false, true, true)
	id := w.Group(1, 2, 3, 4)
	alone := &wire.DeleteGroupMembersRequest{GroupId: id, MemberIds: []int64{4}}
	w.want(apierr.OK, 4, alone)
	w.wantNotified(4, alone, other(4, 1, 2, 3)...)
	w.want(apierr.OK, 4, alone)
	w.want(apierr.OK, 1, &wire.DeleteGroupMembersRequest{GroupId: id})
	w.wantNotified(4, nil)
	w.want(apierr.GroupOwnerQuitWithoutSpecifyingSuccessor, 1, &wire.DeleteGroupMembersRequest{GroupId: id, MemberIds: []int64{1}})
	w.want(apierr.NotGroupOwnerOrManagerToRemoveGroupMember, 2, &wire.DeleteGroupMembersRequest{GroupId: id, MemberIds: []int64{3}})
	w.appoint(id, 2, store.GroupManager)
	w.want(apierr.NotGroupOwnerToRemoveGroupOwnerOrManager, 2, &wire.DeleteGroupMembersRequest{GroupId: id, MemberIds: []int64{1}})
	w.want(apierr.IllegalArgument, 1, &wire.DeleteGroupMembersRequest{GroupId: id, MemberIds: make([]int64, 101)})
	w.want(apierr.IllegalArgument, 1, &wire.DeleteGroupMembersRequest{GroupId: id, MemberIds: []int64{3}, SuccessorId: proto.Int64(2)})
	w.want(apierr.NotGroupOwnerToTransferGroup, 2, &wire.DeleteGroupMembersRequest{GroupId: id, SuccessorId: proto.Int64(2)})
	w.want(apierr.GroupSuccessorNotGroupMember, 1, &wire.DeleteGroupMembersRequest{GroupId: id, SuccessorId: proto.Int64(9)})
	w.want(apierr.OK, 1, &wire.DeleteGroupMembersRequest{GroupId: id, SuccessorId: proto.Int64(2)})
	w.wantNotified(1, nil)
	w.wantMembers(id, 1, 2, 3)
	quit := &wire.DeleteGroupMembersRequest{GroupId: id, SuccessorId: proto.Int64(3), QuitAfterTransfer: proto.Bool(true)}
	w.want(apierr.OK, 2, quit)
	w.wantNotified(2, quit, other(2, 1, 3)...)
	w.wantMembers(id, 1, 3)
	w.want(apierr.OK, 3, &wire.DeleteGroupMembersRequest{GroupId: id, MemberIds: []int64{3}, SuccessorId: proto.Int64(1), QuitAfterTransfer: proto.Bool(false)})
	w.wantMembers(id, 1, 3)
	w.want(apierr.OK, 1, &wire.DeleteGroupMembersRequest{GroupId: id, MemberIds: []int64{1}, SuccessorId: proto.Int64(3)})
	w.wantMembers(id, 3)
}

func TestUpdateGroupMember(t *testing.T) {
	w := newWorld(t)
	w.crowd(1, 2, 3, 9)
	id := w.Group(1, 2, 3)
	w.advance(time.Second)
	for i, test := range []struct {
		self, updated, others bool
		want                  []session
	}{
		{true, true, true, other(1, 2, 3)},
		{false, true, true, other(1, 2, 3)},
		{false, false, true, other(1, 3)},
		{true, true, false, other(1, 2)},
		{false, true, false, all(2)},
		{true, false, false, other(1)},
		{false, false, false, nil},
	} {
		w.quiet().GroupMemberInfoUpdated = config.NotifyOfMemberChange{
			NotifyRequesterOtherOnlineSessions: test.self, NotifyUpdatedGroupMember: test.updated, NotifyOtherGroupMembers: test.others,
		}
		request := &wire.UpdateGroupMemberRequest{GroupId: id, MemberId: 2, MuteEndDate: proto.Int64(w.Now.UnixMilli() + int64(i))}
		w.want(apierr.OK, 1, request)
		w.wantNotified(1, request, test.want...)
	}
	w.quiet().GroupMemberInfoUpdated.NotifyRequesterOtherOnlineSessions = true
	w.want(apierr.OK, 1, &wire.UpdateGroupMemberRequest{GroupId: id, MemberId: 2, Note: proto.String("ignored")})
	w.wantNotified(1, nil)
	everything := &wire.UpdateGroupMemberRequest{
		GroupId: id, MemberId: 2, Name: proto.String("n"), Role: wire.GroupMemberRole_MANAGER.Enum(), MuteEndDate: proto.Int64(w.Now.UnixMilli() + 9),
	}
	w.want(apierr.OK, 1, everything)
	got := w.want(apierr.OK, 3, &wire.QueryGroupMembersRequest{GroupId: id, MemberIds: []int64{2}}).Data.GetGroupMembersWithVersion().GetGroupMembers()[0]
	if got.GetName() != "n" || got.GetRole() != wire.GroupMemberRole_MANAGER || got.GetMuteEndDate() != w.Now.UnixMilli()+9 {
		t.Errorf("the member is %v", got)
	}
	w.want(apierr.IllegalArgument, 1, &wire.UpdateGroupMemberRequest{GroupId: id, MemberId: 2, Role: wire.GroupMemberRole_OWNER.Enum()})
	w.want(apierr.NotGroupOwnerToUpdateGroupMemberRole, 2, &wire.UpdateGroupMemberRequest{GroupId: id, MemberId: 3, Role: wire.GroupMemberRole_GUEST.Enum()})
	w.want(apierr.MuteGroupMemberWithRoleEqualToOrHigherThanRequester, 2, &wire.UpdateGroupMemberRequest{GroupId: id, MemberId: 1, MuteEndDate: proto.Int64(5)})
	w.want(apierr.NotGroupOwnerOrManagerToUpdateGroupMemberInfo, 3, &wire.UpdateGroupMemberRequest{GroupId: id, MemberId: 2, Name: proto.String("x")})
	w.want(apierr.UpdateGroupMemberInfoOfNonexistentGroup, 3, &wire.UpdateGroupMemberRequest{GroupId: 404, MemberId: 2, Name: proto.String("x")})
}

func TestQueryGroupMembers(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2, 9)
	id := w.Group(1, 2)
	list := w.want(apierr.OK, 2, &wire.QueryGroupMembersRequest{GroupId: id}).Data.GetGroupMembersWithVersion()
	members := list.GetGroupMembers()
	if len(members) != 2 || members[0].GetRole() != wire.GroupMemberRole_OWNER || members[1].GetUserId() != 2 || members[1].GetGroupId() != id || list.LastUpdatedDate == nil {
		t.Errorf("the members are %v", list)
	}
	w.login(1, android, "gateway1")
	w.login(1, desktop, "gateway2")
	for _, request := range []*wire.QueryGroupMembersRequest{{GroupId: id}, {GroupId: id, MemberIds: []int64{1, 2}}} {
		request.WithStatus = proto.Bool(true)
		with := w.want(apierr.OK, 2, request).Data.GetGroupMembersWithVersion().GetGroupMembers()
		want := []*wire.GroupMember{proto.CloneOf(members[0]), proto.CloneOf(members[1])}
		want[0].UserStatus, want[0].UsingDeviceTypes = wire.UserStatus_AVAILABLE.Enum(), []wire.DeviceType{desktop, android}
		want[1].UserStatus = wire.UserStatus_OFFLINE.Enum()
		if len(with) != 2 || !proto.Equal(with[0], want[0]) || !proto.Equal(with[1], want[1]) {
			t.Errorf("the members are %v, want %v", with, want)
		}
	}
	w.want(apierr.AlreadyUpToDate, 2, &wire.QueryGroupMembersRequest{GroupId: id, LastUpdatedDate: list.LastUpdatedDate})
	w.want(apierr.OK, 2, &wire.QueryGroupMembersRequest{GroupId: id, LastUpdatedDate: proto.Int64(list.GetLastUpdatedDate() - 1)})
	w.want(apierr.NoContent, 2, &wire.QueryGroupMembersRequest{GroupId: id, MemberIds: []int64{9}})
	w.want(apierr.NotGroupMemberToQueryGroupMemberInfo, 9, &wire.QueryGroupMembersRequest{GroupId: id})
	w.want(apierr.NotGroupMemberToQueryGroupMemberInfo, 9, &wire.QueryGroupMembersRequest{GroupId: id, MemberIds: []int64{1}})
	w.want(apierr.NotGroupMemberToQueryGroupMemberInfo, 1, &wire.QueryGroupMembersRequest{GroupId: 404})
}
