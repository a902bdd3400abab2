// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	"example.org/app/internal/admin"
	"example.org/app/internal/apierr"
	"example.org/app/internal/im/group"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const groupBlocklistTag = "GroupBlocklistController"

type groupBlocklistHandlers struct{ blocklist *group.Blocklist }

func groupBlocklistOperations(blocklist *group.Blocklist) []*admin.Operation {
	h := groupBlocklistHandlers{blocklist}
	const path = "/groups/blocked-users"
	return []*admin.Operation{
		admin.Handle(admin.Operation{
			ID: "createGroupBlockedUser", Method: http.MethodPost, Path: path, Tag: groupBlocklistTag, Permission: permission.GroupBlocklistCreate,
			Summary: "Block a user of a group", Description: "Keeps a user out of a group. A member stays one.",
			Errors: []apierr.Code{apierr.RecordContainsDuplicateKey},
		}, h.create),
		admin.Handle(admin.Operation{
			ID: "queryGroupBlockedUsers", Method: http.MethodGet, Path: path, Tag: groupBlocklistTag, Permission: permission.GroupBlocklistQuery,
			Summary: "Query blocked users of groups", Description: "Returns blocked users in the order of group and user, or of the first date that is asked for.",
		}, h.query),
		admin.Handle(admin.Operation{
			ID: "queryGroupBlockedUserPage", Method: http.MethodGet, Path: path + "/page", Tag: groupBlocklistTag, Permission: permission.GroupBlocklistQuery,
			Summary: "Query blocked users of groups by page", Description: "Returns a page of blocked users and how many match." + boundedTotal,
		}, h.queryPage),
		admin.Handle(admin.Operation{
			ID: "updateGroupBlockedUsers", Method: http.MethodPut, Path: path, Tag: groupBlocklistTag, Permission: permission.GroupBlocklistUpdate,
			Summary: "Update blocked users of groups", Description: "Changes when, and by whom, users were blocked.",
		}, h.update),
		admin.Handle(admin.Operation{
			ID: "deleteGroupBlockedUsers", Method: http.MethodDelete, Path: path, Tag: groupBlocklistTag, Permission: permission.GroupBlocklistDelete,
			Summary: "Unblock users of groups", Description: "Lifts the blocks of users.",
		}, h.delete),
	}
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

type groupBlockedUserCreationInput struct{ Body groupBlockedUserCreation }

func (h groupBlocklistHandlers) create(ctx context.Context, in *groupBlockedUserCreationInput) (GroupBlockedUser, error) {
	b := in.Body
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

type groupBlockedUserQuery struct {
	groupBlockedUserFilter
	admin.Paging
}

type groupBlockedUserPageQuery struct {
	groupBlockedUserFilter
	admin.PageRequest
}

func (h groupBlocklistHandlers) query(ctx context.Context, in *groupBlockedUserQuery) ([]GroupBlockedUser, error) {
	f, err := in.filter()
	if err != nil {
		return nil, err
	}
	found, err := h.blocklist.Find(ctx, f, in.Limit(), 0)
	return convert(found, newGroupBlockedUser), err
}

func (h groupBlocklistHandlers) queryPage(ctx context.Context, in *groupBlockedUserPageQuery) (admin.Page[GroupBlockedUser], error) {
	f, err := in.filter()
	if err != nil {
		return admin.Page[GroupBlockedUser]{}, err
	}
	return newPage(in.PageRequest, newGroupBlockedUser, func(page store.Page) (int64, []store.GroupBlockedUser, error) {
		return h.blocklist.FindPage(ctx, f, page)
	})
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

func (h groupBlocklistHandlers) update(ctx context.Context, in *groupBlockedUserUpdateInput) (admin.UpdateResult, error) {
	r, err := h.blocklist.Update(ctx, groupUserKeys(in.Keys), store.GroupBlockedUserChange{
		BlockDate: givenTime(in.Body.BlockDate), RequesterID: in.Body.RequesterID,
	})
	return newUpdateResult(r), err
}

type groupBlockedUserDeletion struct {
	Keys []GroupUserKey `query:"keys" required:"true" uniqueItems:"true" selector:"true" doc:"Groups and users: keys[0].groupId=1&keys[0].userId=2."`
}

func (h groupBlocklistHandlers) delete(ctx context.Context, in *groupBlockedUserDeletion) (admin.DeleteResult, error) {
	return deleteResult(h.blocklist.Unblock(ctx, groupUserKeys(in.Keys)))
}
