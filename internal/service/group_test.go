// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/im/user"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// crowd creates users who are online on a desktop and on a phone.
func (w *world) crowd(userIDs ...int64) {
	w.T.Helper()
	w.People(userIDs...)
	for _, id := range userIDs {
		w.online(id, desktop, "gateway1")
		w.online(id, android, "gateway2")
	}
}

// all are the sessions of users in a crowd.
func all(userIDs ...int64) (sessions []session) {
	for _, id := range userIDs {
		sessions = append(sessions, session{"gateway1", id, desktop}, session{"gateway2", id, android})
	}
	return sessions
}

// other is the phone of a user in a crowd, who requests from the desktop, and the sessions of
// others.
func other(requester int64, userIDs ...int64) []session {
	return append(all(userIDs...), session{"gateway2", requester, android})
}

// quiet turns all notifications off.
func (w *world) quiet() *config.Notification {
	w.Rules.Notification = config.Notification{}
	return &w.Rules.Notification
}

// groupOf creates a group of a new type.
func (w *world) groupOf(t store.GroupType, owner int64, members ...int64) int64 {
	w.T.Helper()
	if t.GroupSizeLimit == 0 {
		t.GroupSizeLimit = 500
	}
	t, err := w.Groups.Types.Create(w.T.Context(), t)
	if err != nil {
		w.T.Fatal(err)
	}
	id := w.Group(owner, members...)
	w.UpdateGroup(id, store.GroupChange{TypeID: &t.ID})
	return id
}

// appoint gives a member another role.
func (w *world) appoint(groupID, userID int64, role store.GroupMemberRole) {
	w.T.Helper()
	if _, err := w.Groups.Members.Update(w.T.Context(), []store.GroupUserKey{{GroupID: groupID, UserID: userID}}, store.GroupMemberChange{Role: &role}); err != nil {
		w.T.Fatal(err)
	}
}

// members returns who is in a group.
func (w *world) members(groupID int64) (userIDs []int64) {
	w.T.Helper()
	found, err := w.Groups.Members.Find(w.T.Context(), store.GroupMemberFilter{GroupIDs: []int64{groupID}}, 0, 0)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, m := range found {
		userIDs = append(userIDs, m.UserID)
	}
	return userIDs
}

func (w *world) wantMembers(groupID int64, want ...int64) {
	w.T.Helper()
	if got := w.members(groupID); !slices.Equal(got, want) {
		w.T.Errorf("members are %v, want %v", got, want)
	}
}

func TestCreateGroup(t *testing.T) {
	w := newWorld(t)
	w.crowd(1, 2)
	w.quiet().GroupCreated.NotifyRequesterOtherOnlineSessions = true
	end := w.Now.Add(time.Hour).UnixMilli()
	request := &wire.CreateGroupRequest{
		Name: "n", Intro: proto.String("i"), Announcement: proto.String("a"), MinScore: proto.Int32(3), TypeId: proto.Int64(0), MuteEndDate: &end,
	}
	id := w.want(apierr.OK, 1, request).Data.GetLong()
	w.wantNotified(1, request, other(1)...)
	w.wantMembers(id, 1)
	now := w.Now.UnixMilli()
	want := &wire.Group{
		Id: &id, TypeId: proto.Int64(0), CreatorId: proto.Int64(1), OwnerId: proto.Int64(1), Name: proto.String("n"), Intro: proto.String("i"),
		Announcement: proto.String("a"), CreationDate: &now, LastUpdatedDate: &now, MuteEndDate: &end, Active: proto.Bool(true),
	}
	got := w.want(apierr.OK, 2, &wire.QueryGroupsRequest{GroupIds: []int64{id, 404}}).Data.GetGroupsWithVersion()
	if !proto.Equal(got, &wire.GroupsWithVersion{Groups: []*wire.Group{want}}) {
		t.Errorf("the groups are %v, want %v", got, want)
	}
	w.quiet()
	w.want(apierr.OK, 1, request)
	w.wantNotified(1, nil)

	stored, err := w.Groups.Find(t.Context(), store.GroupFilter{IDs: []int64{id}}, 1, 0)
	if err != nil || stored[0].MinimumScore != 3 {
		t.Errorf("stored is %+v, error %v", stored, err)
	}
	none, err := w.Users.CreateRole(t.Context(), user.RoleCreation{CreatableGroupTypeIDs: []int64{0}})
	if err != nil {
		t.Fatal(err)
	}
	for id, role := range map[int64]int64{3: 77, 4: none.ID} {
		if _, err := w.Users.Create(t.Context(), user.Creation{ID: &id, RoleID: role}); err != nil {
			t.Fatal(err)
		}
	}
	club, err := w.Groups.Types.Create(t.Context(), store.GroupType{Name: "CLUB", GroupSizeLimit: 10})
	if err != nil {
		t.Fatal(err)
	}
	w.want(apierr.IllegalArgument, 1, &wire.CreateGroupRequest{MinScore: proto.Int32(-1)})
	attributes := map[string]*wire.Value{"x": {Kind: &wire.Value_BoolValue{BoolValue: true}}}
	withAttributes := &wire.CreateGroupRequest{UserDefinedAttributes: attributes}
	w.want(apierr.IllegalArgument, 1, withAttributes)
	w.want(apierr.IllegalArgument, 1, &wire.UpdateGroupRequest{GroupId: id, UserDefinedAttributes: attributes})
	w.Rules.Group.Info.UserDefinedAttributes.AllowedAttributes = []config.AllowedAttribute{{SourceName: "x", Value: config.ValueRule{Type: "BOOL"}}}
	w.want(apierr.OK, 1, &wire.UpdateGroupRequest{GroupId: id, UserDefinedAttributes: attributes})
	another := w.want(apierr.OK, 1, withAttributes).Data.GetLong()
	for _, g := range w.want(apierr.OK, 2, &wire.QueryGroupsRequest{GroupIds: []int64{id, another}}).Data.GetGroupsWithVersion().GetGroups() {
		if len(g.GetUserDefinedAttributes()) != 1 || !proto.Equal(g.GetUserDefinedAttributes()["x"], attributes["x"]) {
			t.Errorf("the group is %v", g)
		}
	}
	w.want(apierr.NoPermissionToCreateGroupWithGroupType, 1, &wire.CreateGroupRequest{TypeId: &club.ID})
	w.want(apierr.CreateGroupWithNonexistentGroupType, 1, &wire.CreateGroupRequest{TypeId: proto.Int64(404)})
	w.want(apierr.NotActiveUserToCreateGroup, 3, &wire.CreateGroupRequest{})
	w.want(apierr.MaxOwnedGroupsReached, 4, &wire.CreateGroupRequest{})
}

func TestQueryGroups(t *testing.T) {
	w := newWorld(t)
	w.People(1, 2, 3)
	before := w.Now.UnixMilli()
	a, b := w.Group(1, 2), w.Group(1)
	w.advance(time.Minute)
	w.UpdateGroup(b, store.GroupChange{Name: proto.String("n")})
	query := func(q *wire.QueryGroupsRequest, want ...int64) {
		t.Helper()
		answer := w.want(apierr.OK, 3, q)
		if answer.Data.GetGroupsWithVersion() == nil {
			t.Error("there is no list")
		}
		wantIDs(t, answer.Data.GetGroupsWithVersion().GetGroups(), want...)
	}
	query(&wire.QueryGroupsRequest{GroupIds: []int64{b, a}, Name: proto.String(" ")}, a, b)
	query(&wire.QueryGroupsRequest{GroupIds: []int64{b, a}, LastUpdatedDate: &before}, b)
	query(&wire.QueryGroupsRequest{})
	w.want(apierr.SearchingGroupIsDisabled, 1, &wire.QueryGroupsRequest{Name: proto.String("n")})

	ids := w.want(apierr.OK, 2, &wire.QueryJoinedGroupIdsRequest{}).Data.GetLongsWithVersion()
	if !slices.Equal(ids.GetLongs(), []int64{a}) || ids.LastUpdatedDate == nil {
		t.Errorf("the joined groups are %v", ids)
	}
	infos := w.want(apierr.OK, 2, &wire.QueryJoinedGroupInfosRequest{}).Data.GetGroupsWithVersion()
	wantIDs(t, infos.GetGroups(), a)
	if infos.GetLastUpdatedDate() != ids.GetLastUpdatedDate() || infos.GetGroups()[0].GetOwnerId() != 1 {
		t.Errorf("the joined groups are %v", infos)
	}
	w.want(apierr.AlreadyUpToDate, 2, &wire.QueryJoinedGroupIdsRequest{LastUpdatedDate: ids.LastUpdatedDate})
	w.want(apierr.AlreadyUpToDate, 2, &wire.QueryJoinedGroupInfosRequest{LastUpdatedDate: ids.LastUpdatedDate})
	w.want(apierr.OK, 2, &wire.QueryJoinedGroupIdsRequest{LastUpdatedDate: proto.Int64(ids.GetLastUpdatedDate() - 1)})
	w.want(apierr.NoContent, 3, &wire.QueryJoinedGroupIdsRequest{})
	w.want(apierr.NoContent, 3, &wire.QueryJoinedGroupInfosRequest{})
	w.want(apierr.AlreadyUpToDate, 99, &wire.QueryJoinedGroupIdsRequest{})
}

// wantIDs compares the ids of a list, in order.
func wantIDs[T interface{ GetId() int64 }](t *testing.T, list []T, want ...int64) {
	t.Helper()
	var got []int64
	for _, v := range list {
		got = append(got, v.GetId())
	}
	if !slices.Equal(got, want) {
		t.Errorf("the ids are %v, want %v", got, want)
	}
}

func TestUpdateGroup(t *testing.T) {
	w := newWorld(t)
	w.crowd(1, 2, 3, 9)
	id := w.Group(1, 2, 3)
	notify := func(self, members bool) {
		w.quiet().GroupUpdated = config.NotifyOfGroup{NotifyRequesterOtherOnlineSessions: self, NotifyGroupMembers: members}
	}
	end := w.Now.Add(time.Hour).UnixMilli()
	request := &wire.UpdateGroupRequest{
		GroupId: id, Name: proto.String("n"), Intro: proto.String("i"), Announcement: proto.String("a"), MinScore: proto.Int32(2), MuteEndDate: &end,
	}
	notify(false, true)
	w.want(apierr.OK, 1, request)
	w.wantNotified(1, request, other(1, 2, 3)...)
	g := w.want(apierr.OK, 2, &wire.QueryGroupsRequest{GroupIds: []int64{id}}).Data.GetGroupsWithVersion().GetGroups()[0]
	if g.GetName() != "n" || g.GetIntro() != "i" || g.GetAnnouncement() != "a" || g.GetMuteEndDate() != end {
		t.Errorf("the group is %v", g)
	}
	w.want(apierr.OK, 1, request)
	w.want(apierr.OK, 1, &wire.UpdateGroupRequest{GroupId: id})
	w.wantNotified(1, nil)
	notify(true, false)
	request.Name = proto.String("m")
	w.want(apierr.OK, 1, request)
	w.wantNotified(1, request, other(1)...)
	notify(false, false)
	request.Name = proto.String("l")
	w.want(apierr.OK, 1, request)
	w.wantNotified(1, nil)

	w.want(apierr.NotGroupOwnerOrManagerToUpdateGroupInfo, 2, request)
	w.want(apierr.UpdateInfoOfNonexistentGroup, 1, &wire.UpdateGroupRequest{GroupId: 404, Name: proto.String("x")})
	w.want(apierr.IllegalArgument, 1, &wire.UpdateGroupRequest{GroupId: id, MinScore: proto.Int32(-1)})
	open := w.groupOf(store.GroupType{GroupInfoUpdateStrategy: store.UpdateByAll}, 1)
	toDefault := &wire.UpdateGroupRequest{GroupId: open, TypeId: proto.Int64(0)}
	w.want(apierr.UpdatingGroupTypeIsDisabled, 1, toDefault)
	w.Rules.Group.AllowGroupOwnerChangeGroupType = true
	w.want(apierr.NotGroupOwnerToUpdateGroupType, 2, toDefault)
	w.want(apierr.UpdateGroupToNonexistentGroupType, 1, &wire.UpdateGroupRequest{GroupId: open, TypeId: proto.Int64(404)})
	w.want(apierr.OK, 1, toDefault)
	if g := w.want(apierr.OK, 2, &wire.QueryGroupsRequest{GroupIds: []int64{open}}).Data.GetGroupsWithVersion().GetGroups()[0]; g.GetTypeId() != 0 {
		t.Errorf("the group is %v", g)
	}

	notify(false, true)
	w.want(apierr.NotGroupOwnerToTransferGroup, 2, &wire.UpdateGroupRequest{GroupId: id, SuccessorId: proto.Int64(3)})
	w.want(apierr.TransferNonexistentGroup, 1, &wire.UpdateGroupRequest{GroupId: 404, SuccessorId: proto.Int64(3)})
	w.want(apierr.GroupSuccessorNotGroupMember, 1, &wire.UpdateGroupRequest{GroupId: id, SuccessorId: proto.Int64(9)})
	transfer := &wire.UpdateGroupRequest{GroupId: id, SuccessorId: proto.Int64(2), Name: proto.String("not me")}
	w.want(apierr.OK, 1, transfer)
	w.wantNotified(1, transfer, other(1, 2, 3)...)
	quit := &wire.UpdateGroupRequest{GroupId: id, SuccessorId: proto.Int64(3), QuitAfterTransfer: proto.Bool(true)}
	w.want(apierr.OK, 2, quit)
	w.wantNotified(2, quit, other(2, 1, 3)...)
	w.wantMembers(id, 1, 3)
	g = w.want(apierr.OK, 2, &wire.QueryGroupsRequest{GroupIds: []int64{id}}).Data.GetGroupsWithVersion().GetGroups()[0]
	if g.GetOwnerId() != 3 || g.GetName() != "l" {
		t.Errorf("the group is %v", g)
	}
}

func TestDeleteGroup(t *testing.T) {
	w := newWorld(t)
	w.crowd(1, 2, 3, 9)
	for _, test := range []struct {
		self, members bool
		want          []session
	}{
		{true, true, other(1, 2, 3)},
		{false, true, other(1, 2, 3)},
		{true, false, other(1)},
		{false, false, nil},
	} {
		w.quiet().GroupDeleted = config.NotifyOfGroup{NotifyRequesterOtherOnlineSessions: test.self, NotifyGroupMembers: test.members}
		request := &wire.DeleteGroupRequest{GroupId: w.Group(1, 2, 3)}
		w.want(apierr.NotGroupOwnerToDeleteGroup, 2, request)
		w.want(apierr.OK, 1, request)
		w.wantNotified(1, request, test.want...)
		w.wantMembers(request.GetGroupId())
		w.want(apierr.NotGroupOwnerToDeleteGroup, 1, request)
	}
}
