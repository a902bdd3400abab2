// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/apierr"
	"example.org/app/internal/im/group"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const groupMemberTag = "GroupMemberController"

type groupMemberHandlers struct{ members *group.Members }

func groupMemberOperations(members *group.Members) []*admin.Operation {
	h := groupMemberHandlers{members}
	r := resource.Resource{
		Path: "/groups/members", Tag: groupMemberTag, Name: "GroupMember", Records: "members",
		Create: permission.GroupMemberCreate, Query: permission.GroupMemberQuery, Update: permission.GroupMemberUpdate, Delete: permission.GroupMemberDelete,
	}
	return concat(
		resource.Create(r, admin.Operation{
			Summary: "Add a member to a group",
			Description: "Adds a member to a group that exists and has fewer members than its type allows. " +
				"A group has one owner; change the owner with `PUT /groups`.",
			Errors: []apierr.Code{apierr.RecordContainsDuplicateKey, apierr.AddUserToGroupWithSizeLimitReached},
		}, h.create),
		resource.List(r, admin.Operation{
			EmptyIsOK: true, Summary: "Query members of groups", Description: "Returns members in the order of group and user, or of the first date in the query.",
		}, groupMemberFilter.filter, members.Find, members.FindPage, newGroupMember),
		resource.Update(r, admin.Operation{
			Summary: "Update members of groups", Description: "Changes members. Change the owner with `PUT /groups`.",
		}, h.update),
		resource.Delete(r, admin.Operation{
			Summary: "Remove members from groups",
			Description: "Removes members, all of those named or none. The owner of a group cannot be removed: hand the group over or delete it first. " +
				"If the settings allow to name nobody, all members of all groups except the owners are removed.",
			Errors: []apierr.Code{apierr.GroupOwnerQuitWithoutSpecifyingSuccessor},
		}, h.delete),
	)
}

// GroupUserKey names what a group knows of a user.
type GroupUserKey struct {
	GroupID int64 `json:"groupId" doc:"Id of the group." example:"1"`
	UserID  int64 `json:"userId" doc:"Id of the user." example:"2"`
}

func newGroupUserKey(k store.GroupUserKey) GroupUserKey { return GroupUserKey(k) }

func groupUserKeys(keys []GroupUserKey) []store.GroupUserKey {
	return resource.Convert(keys, func(k GroupUserKey) store.GroupUserKey { return store.GroupUserKey(k) })
}

// groupMemberRole is the power of a member.
type groupMemberRole string

// Schema implements huma.SchemaProvider.
func (groupMemberRole) Schema(huma.Registry) *huma.Schema {
	return enumSchema(store.GroupMemberRoleNames)
}

// givenMemberRole is the power that a member may be given: there is one owner,
// which is changed otherwise.
type givenMemberRole string

// Schema implements huma.SchemaProvider.
func (givenMemberRole) Schema(huma.Registry) *huma.Schema {
	s := enumSchema(slices.DeleteFunc(slices.Clone(store.GroupMemberRoleNames), func(name string) bool { return name == store.GroupOwner.String() }))
	s.Extensions = map[string]any{admin.PositionsKey: store.GroupMemberRoleNames}
	return s
}

// GroupMember is a member of a group as the interface returns it.
type GroupMember struct {
	Key         GroupUserKey    `json:"key" doc:"Group and user."`
	Name        *string         `json:"name,omitempty" doc:"Name of the member in the group." example:"Alice"`
	Role        groupMemberRole `json:"role" doc:"Role of the member."`
	JoinDate    admin.Date      `json:"joinDate" doc:"When the member joined."`
	MuteEndDate *admin.Date     `json:"muteEndDate,omitempty" doc:"Until when the member may not send messages."`
}

func newGroupMember(m store.GroupMember) GroupMember {
	return GroupMember{newGroupUserKey(m.GroupUserKey), m.Name, groupMemberRole(m.Role.String()), admin.NewDate(m.JoinDate), optionalDate(m.MuteEndDate)}
}

// groupMemberCreation is the body of POST /groups/members.
type groupMemberCreation struct {
	GroupID     int64           `json:"groupId" doc:"Id of the group." example:"1"`
	UserID      int64           `json:"userId" doc:"Id of the user, who need not exist." example:"2"`
	Role        givenMemberRole `json:"role" doc:"Role of the member; not OWNER."`
	Name        *string         `json:"name,omitempty" doc:"Name of the member in the group." example:"Alice"`
	JoinDate    *admin.Date     `json:"joinDate,omitempty" doc:"When the member joined, not in the future; absent: now."`
	MuteEndDate *admin.Date     `json:"muteEndDate,omitempty" doc:"Until when the member may not send messages."`
}

func (h groupMemberHandlers) create(ctx context.Context, b groupMemberCreation) (GroupMember, error) {
	m, err := h.members.Add(ctx, store.GroupMember{
		GroupUserKey: store.GroupUserKey{GroupID: b.GroupID, UserID: b.UserID}, Name: b.Name,
		Role: enumOf[store.GroupMemberRole](store.GroupMemberRoleNames, b.Role), MuteEndDate: givenTime(b.MuteEndDate),
	}, givenTime(b.JoinDate))
	return newGroupMember(m), err
}

type groupMemberFilter struct {
	GroupIDs         []int64           `query:"groupIds" uniqueItems:"true" doc:"Ids of groups." example:"[1]"`
	UserIDs          []int64           `query:"userIds" uniqueItems:"true" doc:"Ids of users." example:"[2]"`
	Roles            []groupMemberRole `query:"roles" uniqueItems:"true" doc:"Roles."`
	JoinDateStart    *admin.Date       `query:"joinDateStart" doc:"Earliest join date."`
	JoinDateEnd      *admin.Date       `query:"joinDateEnd" doc:"Date before which they joined."`
	MuteEndDateStart *admin.Date       `query:"muteEndDateStart" doc:"Earliest end of a mute."`
	MuteEndDateEnd   *admin.Date       `query:"muteEndDateEnd" doc:"Date before which a mute ends."`
}

func (f groupMemberFilter) filter() (store.GroupMemberFilter, error) {
	out := store.GroupMemberFilter{
		GroupIDs: f.GroupIDs, UserIDs: f.UserIDs, Roles: enumsOf[store.GroupMemberRole](store.GroupMemberRoleNames, f.Roles),
	}
	err := dateRanges(
		namedRange{"joinDate", f.JoinDateStart, f.JoinDateEnd, &out.JoinDate},
		namedRange{"muteEndDate", f.MuteEndDateStart, f.MuteEndDateEnd, &out.MuteEndDate},
	)
	return out, err
}

// groupMemberUpdate is the body of PUT /groups/members.
type groupMemberUpdate struct {
	Name        *string          `json:"name,omitempty" doc:"Name of the member in the group." example:"Alice"`
	Role        *groupMemberRole `json:"role,omitempty" doc:"Role of the member; the owner cannot be changed here."`
	JoinDate    *admin.Date      `json:"joinDate,omitempty" doc:"When the member joined, not in the future."`
	MuteEndDate *admin.Date      `json:"muteEndDate,omitempty" doc:"Until when the member may not send messages."`
}

type groupMemberUpdateInput struct {
	Keys []GroupUserKey `query:"keys" required:"true" uniqueItems:"true" selector:"true" doc:"Groups and users: keys[0].groupId=1&keys[0].userId=2."`
	Body groupMemberUpdate
}

func (h groupMemberHandlers) update(ctx context.Context, in *groupMemberUpdateInput) (store.UpdateResult, error) {
	b := in.Body
	return h.members.Update(ctx, groupUserKeys(in.Keys), store.GroupMemberChange{
		Name: b.Name, Role: optionalEnum[store.GroupMemberRole](store.GroupMemberRoleNames, b.Role),
		JoinDate: givenTime(b.JoinDate), MuteEndDate: givenTime(b.MuteEndDate),
	})
}

type groupMemberDeletion struct {
	Keys []GroupUserKey `query:"keys" uniqueItems:"true" selector:"all" doc:"Groups and users: keys[0].groupId=1&keys[0].userId=2; absent: all, if the settings allow that."`
}

func (h groupMemberHandlers) delete(ctx context.Context, in *groupMemberDeletion) (int64, error) {
	if len(in.Keys) == 0 {
		return h.members.DeleteAll(ctx)
	}
	return h.members.Delete(ctx, groupUserKeys(in.Keys))
}
