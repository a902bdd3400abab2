// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

func TestGroupJoinRequests(t *testing.T) {
	w := newWorld(t)
	w.crowd(1, 2, 3, 9)
	id := w.groupOf(store.GroupType{JoinStrategy: store.JoinByRequest}, 1, 2, 3)
	w.appoint(id, 2, store.GroupManager)
	w.Rules.Group.JoinRequest.AllowRecallPendingJoinRequestBySender = true
	for _, test := range []struct {
		self, managers, members bool
		want                    []session
	}{
		{true, true, true, other(9, 1, 2, 3)},
		{false, false, true, other(9, 1, 2, 3)},
		{true, true, false, other(9, 1, 2)},
		{false, true, false, all(1, 2)},
		{true, false, false, other(9)},
		{false, false, false, nil},
	} {
		flags := config.NotifyOfJoinRequest{
			NotifyRequesterOtherOnlineSessions: test.self, NotifyGroupOwnerAndManagers: test.managers, NotifyGroupMembers: test.members,
		}
		w.quiet().GroupJoinRequestCreated = flags
		request := &wire.CreateGroupJoinRequestRequest{GroupId: id, Content: "please"}
		join := w.want(apierr.OK, 9, request).Data.GetLong()
		w.wantNotified(9, request, test.want...)
		w.quiet().GroupJoinRequestRecalled = flags
		recall := &wire.DeleteGroupJoinRequestRequest{RequestId: join}
		w.want(apierr.OK, 9, recall)
		w.wantNotified(9, recall, test.want...)
		w.want(apierr.RecallNonPendingGroupJoinRequest, 9, recall)
	}
	w.quiet()
	pending := w.want(apierr.OK, 9, &wire.CreateGroupJoinRequestRequest{GroupId: id, Content: "c"}).Data.GetLong()
	w.want(apierr.NotSenderToRecallGroupJoinRequest, 1, &wire.DeleteGroupJoinRequestRequest{RequestId: pending})
	w.Rules.Group.JoinRequest.AllowRecallPendingJoinRequestBySender = false
	w.want(apierr.RecallingGroupJoinRequestIsDisabled, 9, &wire.DeleteGroupJoinRequestRequest{RequestId: pending})
	w.want(apierr.IllegalArgument, 9, &wire.CreateGroupJoinRequestRequest{GroupId: id, Content: strings.Repeat("x", 201)})
	w.want(apierr.GroupMemberSendGroupJoinRequest, 3, &wire.CreateGroupJoinRequestRequest{GroupId: id})
	w.want(apierr.SendGroupJoinRequestToInactiveGroup, 3, &wire.CreateGroupJoinRequestRequest{GroupId: 404})
	w.want(apierr.SendGroupJoinRequestToGroupUsingInvitation, 9, &wire.CreateGroupJoinRequestRequest{GroupId: w.Group(1)})

	sent := w.want(apierr.OK, 9, &wire.QueryGroupJoinRequestsRequest{}).Data.GetGroupJoinRequestsWithVersion()
	now := w.Now.UnixMilli()
	want := &wire.GroupJoinRequest{
		Id: &pending, CreationDate: &now, Content: proto.String("c"), Status: wire.RequestStatus_PENDING.Enum(), ExpirationDate: proto.Int64(now + 2592000_000),
		GroupId: &id, RequesterId: proto.Int64(9),
	}
	if list := sent.GetGroupJoinRequests(); len(list) != 7 || !proto.Equal(list[6], want) || list[0].GetStatus() != wire.RequestStatus_CANCELED {
		t.Errorf("sent are %v", sent)
	}
	ofGroup := w.want(apierr.OK, 1, &wire.QueryGroupJoinRequestsRequest{GroupId: &id}).Data.GetGroupJoinRequestsWithVersion()
	if len(ofGroup.GetGroupJoinRequests()) != 7 {
		t.Errorf("in the group are %v", ofGroup)
	}
	w.want(apierr.AlreadyUpToDate, 9, &wire.QueryGroupJoinRequestsRequest{LastUpdatedDate: sent.LastUpdatedDate})
	w.want(apierr.AlreadyUpToDate, 1, &wire.QueryGroupJoinRequestsRequest{GroupId: &id, LastUpdatedDate: ofGroup.LastUpdatedDate})
	w.want(apierr.NoContent, 3, &wire.QueryGroupJoinRequestsRequest{})
	w.want(apierr.NotGroupOwnerOrManagerToQueryGroupJoinRequest, 3, &wire.QueryGroupJoinRequestsRequest{GroupId: &id})
}

func TestUpdateGroupJoinRequest(t *testing.T) {
	w := newWorld(t)
	w.crowd(1, 2, 3, 9)
	id := w.groupOf(store.GroupType{JoinStrategy: store.JoinByRequest}, 1, 2, 3)
	w.appoint(id, 2, store.GroupManager)
	ask := func() int64 {
		t.Helper()
		w.quiet()
		return w.want(apierr.OK, 9, &wire.CreateGroupJoinRequestRequest{GroupId: id}).Data.GetLong()
	}
	for _, test := range []struct {
		self, sender, managers, members bool
		want                            []session
	}{
		{true, true, true, true, other(2, 1, 3, 9)},
		{false, false, false, true, other(2, 1, 3)},
		{false, true, true, false, other(2, 1, 9)},
		{false, false, true, false, other(2, 1)},
		{false, true, false, false, all(9)},
		{true, false, false, false, other(2)},
		{false, false, false, false, nil},
	} {
		reply := &wire.UpdateGroupJoinRequestRequest{RequestId: ask(), ResponseAction: wire.ResponseAction_IGNORE, Reason: proto.String("no")}
		w.quiet().GroupJoinRequestReplied = config.NotifyOfJoinRequestReply{
			NotifyRequesterOtherOnlineSessions: test.self, NotifyGroupJoinRequestSender: test.sender,
			NotifyGroupOwnerAndManagers: test.managers, NotifyGroupMembers: test.members,
		}
		w.want(apierr.OK, 2, reply)
		w.wantNotified(2, reply, test.want...)
	}
	accept := &wire.UpdateGroupJoinRequestRequest{RequestId: ask()}
	w.quiet().GroupMemberAdded = config.NotifyOfJoining{NotifyAddedGroupMember: true, NotifyOtherGroupMembers: true}
	w.want(apierr.NotGroupOwnerOrManagerToUpdateGroupJoinRequest, 3, accept)
	w.want(apierr.OK, 2, accept)
	w.wantNotified(2, memberAdded(id, 9), other(2, 1, 3, 9)...)
	w.wantMembers(id, 1, 2, 3, 9)
	w.want(apierr.UpdateNonPendingGroupJoinRequest, 1, accept)
	list := w.want(apierr.OK, 9, &wire.QueryGroupJoinRequestsRequest{}).Data.GetGroupJoinRequestsWithVersion().GetGroupJoinRequests()
	if last := list[len(list)-1]; last.GetStatus() != wire.RequestStatus_ACCEPTED || last.GetResponderId() != 2 {
		t.Errorf("the request is %v", last)
	}
	w.quiet()
	w.want(apierr.OK, 1, &wire.DeleteGroupMembersRequest{GroupId: id, MemberIds: []int64{9}})
	pending := ask()
	w.want(apierr.IllegalArgument, 1, &wire.UpdateGroupJoinRequestRequest{RequestId: pending, ResponseAction: 7})
	w.want(apierr.IllegalArgument, 1, &wire.UpdateGroupJoinRequestRequest{RequestId: pending, Reason: proto.String(strings.Repeat("x", 201))})
	w.want(apierr.NotGroupOwnerOrManagerToUpdateGroupJoinRequest, 1, &wire.UpdateGroupJoinRequestRequest{RequestId: 404})
}
