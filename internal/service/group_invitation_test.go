// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// memberAdded is the notification about a user who joined a group without being added by somebody.
func memberAdded(groupID, userID int64) *wire.CreateGroupMembersRequest {
	return &wire.CreateGroupMembersRequest{GroupId: groupID, UserIds: []int64{userID}, Role: wire.GroupMemberRole_MEMBER.Enum()}
}

func TestGroupInvitations(t *testing.T) {
	w := newWorld(t)
	w.crowd(1, 2, 3, 4, 9)
	id := w.groupOf(store.GroupType{InvitationStrategy: store.InviteAllRequiringApproval}, 1, 2, 3, 4)
	w.appoint(id, 2, store.GroupManager)
	w.Rules.Group.Invitation.AllowRecallPendingInvitationBySender = true
	w.Rules.Group.Invitation.AllowRecallPendingInvitationByOwnerAndManager = true
	for _, test := range []struct {
		requester                        int64
		self, invitee, managers, members bool
		want                             []session
	}{
		{3, true, true, true, true, other(3, 1, 2, 4, 9)},
		{3, false, true, false, true, other(3, 1, 2, 4, 9)},
		{3, false, false, true, true, other(3, 1, 2, 4)},
		{3, true, true, true, false, other(3, 1, 2, 9)},
		{3, false, true, true, false, all(1, 2, 9)},
		{2, false, true, true, false, other(2, 1, 9)},
		{2, false, false, true, false, other(2, 1)},
		{3, false, false, true, false, all(1, 2)},
		{3, true, true, false, false, other(3, 9)},
		{3, false, true, false, false, all(9)},
		{3, true, false, false, false, other(3)},
		{3, false, false, false, false, nil},
	} {
		flags := config.NotifyOfInvitation{
			NotifyRequesterOtherOnlineSessions: test.self, NotifyInvitee: test.invitee, NotifyGroupOwnerAndManagers: test.managers, NotifyGroupMembers: test.members,
		}
		w.quiet().GroupInvitationAdded = flags
		request := &wire.CreateGroupInvitationRequest{GroupId: id, InviteeId: 9, Content: "come"}
		invitation := w.want(apierr.OK, test.requester, request).Data.GetLong()
		w.wantNotified(test.requester, request, test.want...)
		w.quiet().GroupInvitationRecalled = flags
		recall := &wire.DeleteGroupInvitationRequest{InvitationId: invitation}
		w.want(apierr.OK, test.requester, recall)
		w.wantNotified(test.requester, recall, test.want...)
	}
	w.quiet()
	invite := func(inviter, invitee int64) int64 {
		t.Helper()
		return w.want(apierr.OK, inviter, &wire.CreateGroupInvitationRequest{GroupId: id, InviteeId: invitee, Content: "c"}).Data.GetLong()
	}
	pending := invite(3, 9)
	w.want(apierr.NotGroupOwnerOrManagerOrSenderToRecallGroupInvitation, 4, &wire.DeleteGroupInvitationRequest{InvitationId: pending})
	w.Rules.Group.Invitation.AllowRecallPendingInvitationBySender = false
	w.want(apierr.NotGroupOwnerOrManagerToRecallGroupInvitation, 3, &wire.DeleteGroupInvitationRequest{InvitationId: pending})
	w.Rules.Group.Invitation.AllowRecallPendingInvitationByOwnerAndManager = false
	w.want(apierr.RecallingGroupInvitationIsDisabled, 1, &wire.DeleteGroupInvitationRequest{InvitationId: pending})
	w.want(apierr.IllegalArgument, 1, &wire.CreateGroupInvitationRequest{GroupId: id, InviteeId: 9, Content: strings.Repeat("x", 201)})
	w.want(apierr.SendGroupInvitationToGroupMember, 1, &wire.CreateGroupInvitationRequest{GroupId: id, InviteeId: 2})
	w.want(apierr.NotGroupMemberToSendGroupInvitation, 9, &wire.CreateGroupInvitationRequest{GroupId: id, InviteeId: 10})
	w.want(apierr.AddUserToInactiveGroup, 1, &wire.CreateGroupInvitationRequest{GroupId: 404, InviteeId: 9})

	sent := w.want(apierr.OK, 3, &wire.QueryGroupInvitationsRequest{AreSentByMe: proto.Bool(true)}).Data.GetGroupInvitationsWithVersion()
	last := sent.GetGroupInvitations()[len(sent.GetGroupInvitations())-1]
	now := w.Now.UnixMilli()
	want := &wire.GroupInvitation{
		Id: &pending, CreationDate: &now, Content: proto.String("c"), Status: wire.RequestStatus_PENDING.Enum(), ExpirationDate: proto.Int64(now + 2592000_000),
		GroupId: &id, InviterId: proto.Int64(3), InviteeId: proto.Int64(9),
	}
	if len(sent.GetGroupInvitations()) != 11 || !proto.Equal(last, want) || sent.GetGroupInvitations()[0].GetStatus() != wire.RequestStatus_CANCELED {
		t.Errorf("sent are %v", sent)
	}
	received := w.want(apierr.OK, 9, &wire.QueryGroupInvitationsRequest{}).Data.GetGroupInvitationsWithVersion()
	ofGroup := w.want(apierr.OK, 2, &wire.QueryGroupInvitationsRequest{GroupId: &id}).Data.GetGroupInvitationsWithVersion()
	if len(received.GetGroupInvitations()) != 13 || len(ofGroup.GetGroupInvitations()) != 13 {
		t.Errorf("received are %v, in the group are %v", received, ofGroup)
	}
	w.want(apierr.AlreadyUpToDate, 3, &wire.QueryGroupInvitationsRequest{AreSentByMe: proto.Bool(true), LastUpdatedDate: sent.LastUpdatedDate})
	w.want(apierr.AlreadyUpToDate, 9, &wire.QueryGroupInvitationsRequest{LastUpdatedDate: received.LastUpdatedDate})
	w.want(apierr.AlreadyUpToDate, 2, &wire.QueryGroupInvitationsRequest{GroupId: &id, LastUpdatedDate: ofGroup.LastUpdatedDate})
	w.want(apierr.NoContent, 4, &wire.QueryGroupInvitationsRequest{})
	w.want(apierr.NotGroupOwnerOrManagerToQueryGroupInvitation, 3, &wire.QueryGroupInvitationsRequest{GroupId: &id})
}

func TestUpdateGroupInvitation(t *testing.T) {
	w := newWorld(t)
	w.crowd(1, 2, 3, 4, 9)
	id := w.groupOf(store.GroupType{InvitationStrategy: store.InviteAllRequiringApproval}, 1, 2, 3, 4)
	w.appoint(id, 2, store.GroupManager)
	invite := func() int64 {
		t.Helper()
		w.quiet()
		return w.want(apierr.OK, 3, &wire.CreateGroupInvitationRequest{GroupId: id, InviteeId: 9}).Data.GetLong()
	}
	for _, test := range []struct {
		self, inviter, managers, members bool
		want                             []session
	}{
		{true, true, true, true, other(9, 1, 2, 3, 4)},
		{false, false, false, true, other(9, 1, 2, 3, 4)},
		{true, true, true, false, other(9, 1, 2, 3)},
		{false, true, true, false, all(1, 2, 3)},
		{false, false, true, false, all(1, 2)},
		{false, true, false, false, all(3)},
		{true, false, false, false, other(9)},
		{false, false, false, false, nil},
	} {
		reply := &wire.UpdateGroupInvitationRequest{InvitationId: invite(), ResponseAction: wire.ResponseAction_DECLINE, Reason: proto.String("no")}
		w.quiet().GroupInvitationReplied = config.NotifyOfInvitationReply{
			NotifyRequesterOtherOnlineSessions: test.self, NotifyGroupInvitationInviter: test.inviter,
			NotifyGroupOwnerAndManagers: test.managers, NotifyGroupMembers: test.members,
		}
		w.want(apierr.OK, 9, reply)
		w.wantNotified(9, reply, test.want...)
	}
	w.wantMembers(id, 1, 2, 3, 4)

	accept := &wire.UpdateGroupInvitationRequest{InvitationId: invite()}
	w.quiet().GroupMemberAdded.NotifyOtherGroupMembers = true
	w.want(apierr.NotInviteeToUpdateGroupInvitation, 3, accept)
	w.want(apierr.OK, 9, accept)
	w.wantNotified(9, memberAdded(id, 9), other(9, 1, 2, 3, 4)...)
	w.wantMembers(id, 1, 2, 3, 4, 9)
	w.want(apierr.UpdateNonPendingGroupInvitation, 9, accept)
	w.wantNotified(9, nil)
	w.want(apierr.OK, 1, &wire.DeleteGroupMembersRequest{GroupId: id, MemberIds: []int64{9}})

	// The reply precedes the notification of the member.
	accept.InvitationId = invite()
	w.Rules.Notification = config.Default().Service.Notification
	w.want(apierr.OK, 9, accept)
	got := w.received(all(3)[0])
	if len(got) != 2 || !proto.Equal(bodyOf(got[0].GetRelayedRequest()), accept) || got[0].GetRelayedRequest().GetRequestId() != 77 ||
		!proto.Equal(bodyOf(got[1].GetRelayedRequest()), memberAdded(id, 9)) || got[1].GetRequesterId() != 9 {
		t.Errorf("the inviter got %v", got)
	}

	w.want(apierr.OK, 1, &wire.DeleteGroupMembersRequest{GroupId: id, MemberIds: []int64{9}})
	pending := invite()
	w.want(apierr.IllegalArgument, 9, &wire.UpdateGroupInvitationRequest{InvitationId: pending, ResponseAction: 7})
	w.want(apierr.IllegalArgument, 9, &wire.UpdateGroupInvitationRequest{InvitationId: pending, Reason: proto.String(strings.Repeat("x", 201))})
	w.want(apierr.OK, 1, &wire.UpdateGroupRequest{GroupId: id, Name: proto.String("x")})
	w.advance(31 * 24 * time.Hour)
	w.want(apierr.UpdateNonPendingGroupInvitation, 9, &wire.UpdateGroupInvitationRequest{InvitationId: pending})
	list := w.want(apierr.OK, 9, &wire.QueryGroupInvitationsRequest{}).Data.GetGroupInvitationsWithVersion().GetGroupInvitations()
	if list[len(list)-1].GetStatus() != wire.RequestStatus_EXPIRED || list[0].GetStatus() != wire.RequestStatus_DECLINED {
		t.Errorf("the invitations are %v", list)
	}
}
