// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/im/group"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const groupBlocklistTag = "GroupBlocklistController"

type groupBlocklistHandlers struct{ blocklist *group.Blocklist }

func groupBlocklistOperations(blocklist *group.Blocklist) []*admin.Operation {
	h := groupBlocklistHandlers{blocklist}
	r := resource.Resource{
		Path: "/groups/blocked-users", Tag: groupBlocklistTag, Name: "GroupBlockedUser", Records: "blocked users",
		Create: permission.GroupBlocklistCreate, Query: permission.GroupBlocklistQuery, Update: permission.GroupBlocklistUpdate, Delete: permission.GroupBlocklistDelete,
	}
	return concat(
		resource.Create(r, admin.Operation{
			Summary: "Block a user of a group", Description: "Blocks a user in a group. If the user is a member, the membership is not affected.",
			Errors: []apierr.Code{apierr.RecordContainsDuplicateKey},
		}, h.create),
		resource.List(r, admin.Operation{
			Summary: "Query blocked users of groups", Description: "Returns blocked users in the order of group and user, or of the first date in the query.",
		}, groupBlockedUserFilter.filter, blocklist.Find, blocklist.FindPage, newGroupBlockedUser),
		resource.Update(r, admin.Operation{
			Summary: "Update blocked users of groups", Description: "Changes when, and by whom, users were blocked.",
		}, h.update),
		resource.Delete(r, admin.Operation{
			Summary: "Unblock users of groups", Description: "Lifts the blocks of users.",
		}, h.delete),
	)
}

// GroupBlockedUser is a user whom a group keeps out, as the interface returns
// it.
type GroupBlockedUser struct {
	Key         GroupUserKey `json:"key" doc:"Group and user."`
	BlockDate   admin.Date   `json:"blockDate" doc:"When the user was blocked."`
	RequesterID int64        `json:"requesterId" doc:"Id of the user who blocked the user." example:"1"`
}

func newGroupBlockedUser(u store.GroupBlockedUser) GroupBlockedUser {
	return GroupBlockedUser{newGroupUserKey(u.GroupUserKey), admin.NewDate(u.BlockDate), u.RequesterID}
}

// groupBlockedUserCreation is the body of POST /groups/blocked-users.
type groupBlockedUserCreation struct {
	GroupID     int64       `json:"groupId" doc:"Id of the group." example:"1"`
	UserID      int64       `json:"userId" doc:"Id of the user." example:"2"`
	RequesterID int64       `json:"requesterId" doc:"Id of the user who blocks the user." example:"1"`
	BlockDate   *admin.Date `json:"blockDate,omitempty" doc:"When the user was blocked, not in the future; absent: now."`
}

func (h groupBlocklistHandlers) create(ctx context.Context, b groupBlockedUserCreation) (GroupBlockedUser, error) {
	u, err := h.blocklist.Block(ctx, store.GroupBlockedUser{
		GroupUserKey: store.GroupUserKey{GroupID: b.GroupID, UserID: b.UserID}, RequesterID: b.RequesterID,
	}, givenTime(b.BlockDate))
	return newGroupBlockedUser(u), err
}

type groupBlockedUserFilter struct {
	GroupIDs       []int64     `query:"groupIds" uniqueItems:"true" doc:"Ids of groups." example:"[1]"`
	UserIDs        []int64     `query:"userIds" uniqueItems:"true" doc:"Ids of users." example:"[2]"`
	RequesterIDs   []int64     `query:"requesterIds" uniqueItems:"true" doc:"Ids of users who blocked others." example:"[1]"`
	BlockDateStart *admin.Date `query:"blockDateStart" doc:"Earliest block date."`
	BlockDateEnd   *admin.Date `query:"blockDateEnd" doc:"Date before which they were blocked."`
}

func (f groupBlockedUserFilter) filter() (store.GroupBlockedUserFilter, error) {
	out := store.GroupBlockedUserFilter{GroupIDs: f.GroupIDs, UserIDs: f.UserIDs, RequesterIDs: f.RequesterIDs}
	err := dateRanges(namedRange{"blockDate", f.BlockDateStart, f.BlockDateEnd, &out.BlockDate})
	return out, err
}

// groupBlockedUserUpdate is the body of PUT /groups/blocked-users.
type groupBlockedUserUpdate struct {
	BlockDate   *admin.Date `json:"blockDate,omitempty" doc:"When the user was blocked, not in the future."`
	RequesterID *int64      `json:"requesterId,omitempty" doc:"Id of the user who blocked the user." example:"1"`
}

type groupBlockedUserUpdateInput struct {
	Keys []GroupUserKey `query:"keys" required:"true" uniqueItems:"true" selector:"true" doc:"Groups and users: keys[0].groupId=1&keys[0].userId=2."`
	Body groupBlockedUserUpdate
}

func (h groupBlocklistHandlers) update(ctx context.Context, in *groupBlockedUserUpdateInput) (store.UpdateResult, error) {
	return h.blocklist.Update(ctx, groupUserKeys(in.Keys), store.GroupBlockedUserChange{
		BlockDate: givenTime(in.Body.BlockDate), RequesterID: in.Body.RequesterID,
	})
}

type groupBlockedUserDeletion struct {
	Keys []GroupUserKey `query:"keys" required:"true" uniqueItems:"true" selector:"true" doc:"Groups and users: keys[0].groupId=1&keys[0].userId=2."`
}

func (h groupBlocklistHandlers) delete(ctx context.Context, in *groupBlockedUserDeletion) (int64, error) {
	return h.blocklist.Unblock(ctx, groupUserKeys(in.Keys))
}
