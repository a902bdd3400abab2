// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/wire"
)

func TestGroupBlockedUsers(t *testing.T) {
	w := newWorld(t)
	w.crowd(1, 2, 3, 9)
	id := w.Group(1, 2)
	block, unblock := &wire.CreateGroupBlockedUserRequest{GroupId: id, UserId: 9}, &wire.DeleteGroupBlockedUserRequest{GroupId: id, UserId: 9}
	for _, test := range []struct {
		self, blocked, members bool
		want                   []session
	}{
		{true, true, true, other(1, 2, 9)},
		{false, true, true, other(1, 2, 9)},
		{false, false, true, other(1, 2)},
		{true, true, false, other(1, 9)},
		{false, true, false, all(9)},
		{true, false, false, other(1)},
		{false, false, false, nil},
	} {
		flags := w.quiet()
		flags.GroupBlockedUserAdded = config.NotifyOfGroupBlock{
			NotifyRequesterOtherOnlineSessions: test.self, NotifyBlockedUser: test.blocked, NotifyGroupMembers: test.members,
		}
		flags.GroupBlockedUserRemoved = config.NotifyOfGroupUnblock{
			NotifyRequesterOtherOnlineSessions: test.self, NotifyUnblockedUser: test.blocked, NotifyGroupMembers: test.members,
		}
		w.want(apierr.OK, 1, block)
		w.wantNotified(1, block, test.want...)
		w.want(apierr.OK, 1, unblock)
		w.wantNotified(1, unblock, test.want...)
		w.want(apierr.OK, 1, unblock)
		w.wantNotified(1, nil)
	}
	// Blocking removes a member, who is notified like others.
	w.quiet().GroupBlockedUserAdded.NotifyGroupMembers = true
	member := &wire.CreateGroupBlockedUserRequest{GroupId: id, UserId: 2}
	w.want(apierr.OK, 1, member)
	w.wantNotified(1, member, other(1)...)
	w.wantMembers(id, 1)
	w.want(apierr.IllegalArgument, 1, &wire.CreateGroupBlockedUserRequest{GroupId: id, UserId: 1})
	w.want(apierr.NotGroupOwnerOrManagerToAddBlockedUser, 3, block)
	w.want(apierr.NotGroupOwnerOrManagerToRemoveBlockedUser, 3, unblock)
	w.want(apierr.RecordContainsDuplicateKey, 1, member)

	w.want(apierr.OK, 1, &wire.CreateGroupBlockedUserRequest{GroupId: id, UserId: 77})
	w.want(apierr.OK, 1, &wire.CreateGroupBlockedUserRequest{GroupId: id, UserId: 3})
	if _, err := w.Users.Delete(t.Context(), []int64{3}, proto.Bool(true)); err != nil {
		t.Fatal(err)
	}
	ids := w.want(apierr.OK, 9, &wire.QueryGroupBlockedUserIdsRequest{GroupId: id}).Data.GetLongsWithVersion()
	if !slices.Equal(ids.GetLongs(), []int64{2, 3, 77}) {
		t.Errorf("blocked are %v", ids)
	}
	infos := w.want(apierr.OK, 9, &wire.QueryGroupBlockedUserInfosRequest{GroupId: id}).Data.GetUserInfosWithVersion()
	wantIDs(t, infos.GetUserInfos(), 2)
	if infos.GetLastUpdatedDate() != ids.GetLastUpdatedDate() || !infos.GetUserInfos()[0].GetActive() {
		t.Errorf("blocked are %v", infos)
	}
	w.want(apierr.AlreadyUpToDate, 9, &wire.QueryGroupBlockedUserIdsRequest{GroupId: id, LastUpdatedDate: ids.LastUpdatedDate})
	w.want(apierr.AlreadyUpToDate, 9, &wire.QueryGroupBlockedUserInfosRequest{GroupId: id, LastUpdatedDate: ids.LastUpdatedDate})
	w.want(apierr.AlreadyUpToDate, 9, &wire.QueryGroupBlockedUserInfosRequest{GroupId: 404})
	empty := w.Group(1)
	w.want(apierr.NoContent, 9, &wire.QueryGroupBlockedUserIdsRequest{GroupId: empty})
	w.want(apierr.NoContent, 9, &wire.QueryGroupBlockedUserInfosRequest{GroupId: empty})
	w.want(apierr.OK, 1, &wire.CreateGroupBlockedUserRequest{GroupId: empty, UserId: 77})
	w.want(apierr.NoContent, 9, &wire.QueryGroupBlockedUserInfosRequest{GroupId: empty})
}
