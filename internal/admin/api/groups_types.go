// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/resource"
	"example.org/app/internal/im/group"
	"example.org/app/internal/permission"
	"example.org/app/internal/store"
)

const groupTypeTag = "GroupTypeController"

type groupTypeHandlers struct{ types *group.Types }

func groupTypeOperations(types *group.Types) []*admin.Operation {
	h := groupTypeHandlers{types}
	r := resource.Resource{
		Path: "/groups/types", Tag: groupTypeTag, Name: "GroupType", Records: "types",
		Pages:  "Returns a page of types and how many there are.",
		Create: permission.GroupTypeCreate, Query: permission.GroupTypeQuery, Update: permission.GroupTypeUpdate, Delete: permission.GroupTypeDelete,
	}
	return concat(
		resource.Create(r, admin.Operation{
			Summary: "Create a group type", Description: "Creates a type: how many members its groups may have and who may do what in them.",
		}, h.create),
		resource.List(r, admin.Operation{
			Summary: "Query group types", Description: "Returns types in the order of their ids. The default type has the id 0.",
		}, func(struct{}) (ids []int64, err error) { return nil, nil }, types.Find, types.FindPage, newGroupType),
		resource.UpdateByID(r, admin.Operation{
			Summary: "Update group types", Description: "Changes types, the default type too. Groups with more members than a new limit keep them, but take no more.",
		}, h.update),
		resource.Delete(r, admin.Operation{
			Summary: "Delete group types", Description: "Deletes types except the default type, whose rules the groups of deleted types follow.",
		}, h.delete),
	)
}

type (
	groupInvitationStrategy string
	groupJoinStrategy       string
	groupUpdateStrategy     string
)

// Schema implements huma.SchemaProvider.
func (groupInvitationStrategy) Schema(huma.Registry) *huma.Schema {
	return enumSchema(store.GroupInvitationStrategyNames)
}

// Schema implements huma.SchemaProvider.
func (groupJoinStrategy) Schema(huma.Registry) *huma.Schema {
	return enumSchema(store.GroupJoinStrategyNames)
}

// Schema implements huma.SchemaProvider.
func (groupUpdateStrategy) Schema(huma.Registry) *huma.Schema {
	return enumSchema(store.GroupUpdateStrategyNames)
}

// GroupType is a type of groups as the interface returns it.
type GroupType struct {
	ID                       int64                   `json:"id" doc:"Id; 0 is the default type." example:"0"`
	Name                     string                  `json:"name" doc:"Name." example:"DEFAULT"`
	GroupSizeLimit           int32                   `json:"groupSizeLimit" doc:"Maximum number of members of a group." example:"500"`
	InvitationStrategy       groupInvitationStrategy `json:"invitationStrategy" doc:"Who may invite users to a group and whether these must accept."`
	JoinStrategy             groupJoinStrategy       `json:"joinStrategy" doc:"How users can join a group themselves."`
	GroupInfoUpdateStrategy  groupUpdateStrategy     `json:"groupInfoUpdateStrategy" doc:"Who may change a group."`
	MemberInfoUpdateStrategy groupUpdateStrategy     `json:"memberInfoUpdateStrategy" doc:"Who may change the information about members of a group."`
	GuestSpeakable           bool                    `json:"guestSpeakable" doc:"Whether users who are not members may send messages."`
	SelfInfoUpdatable        bool                    `json:"selfInfoUpdatable" doc:"Whether members may change their own information in the group."`
	EnableReadReceipt        bool                    `json:"enableReadReceipt" doc:"Whether members see who has read messages."`
	MessageEditable          bool                    `json:"messageEditable" doc:"Whether senders may change their messages."`
}

func newGroupType(t store.GroupType) GroupType {
	return GroupType{
		t.ID, t.Name, t.GroupSizeLimit, groupInvitationStrategy(t.InvitationStrategy.String()), groupJoinStrategy(t.JoinStrategy.String()),
		groupUpdateStrategy(t.GroupInfoUpdateStrategy.String()), groupUpdateStrategy(t.MemberInfoUpdateStrategy.String()),
		t.GuestSpeakable, t.SelfInfoUpdatable, t.EnableReadReceipt, t.MessageEditable,
	}
}

// groupTypeCreation is the body of POST /groups/types.
type groupTypeCreation struct {
	Name                     string                  `json:"name" minLength:"1" pattern:"^\\S*$" doc:"Name." example:"CLUB"`
	GroupSizeLimit           int32                   `json:"groupSizeLimit" minimum:"1" doc:"Maximum number of members of a group." example:"500"`
	InvitationStrategy       groupInvitationStrategy `json:"invitationStrategy" doc:"Who may invite users to a group and whether these must accept."`
	JoinStrategy             groupJoinStrategy       `json:"joinStrategy" doc:"How users can join a group themselves."`
	GroupInfoUpdateStrategy  groupUpdateStrategy     `json:"groupInfoUpdateStrategy" doc:"Who may change a group."`
	MemberInfoUpdateStrategy groupUpdateStrategy     `json:"memberInfoUpdateStrategy" doc:"Who may change the information about members of a group."`
	GuestSpeakable           bool                    `json:"guestSpeakable" doc:"Whether users who are not members may send messages."`
	SelfInfoUpdatable        bool                    `json:"selfInfoUpdatable" doc:"Whether members may change their own information in the group."`
	EnableReadReceipt        bool                    `json:"enableReadReceipt" doc:"Whether members see who has read messages."`
	MessageEditable          bool                    `json:"messageEditable" doc:"Whether senders may change their messages."`
}

func (h groupTypeHandlers) create(ctx context.Context, b groupTypeCreation) (GroupType, error) {
	t, err := h.types.Create(ctx, store.GroupType{
		Name: b.Name, GroupSizeLimit: b.GroupSizeLimit,
		InvitationStrategy:       enumOf[store.GroupInvitationStrategy](store.GroupInvitationStrategyNames, b.InvitationStrategy),
		JoinStrategy:             enumOf[store.GroupJoinStrategy](store.GroupJoinStrategyNames, b.JoinStrategy),
		GroupInfoUpdateStrategy:  enumOf[store.GroupUpdateStrategy](store.GroupUpdateStrategyNames, b.GroupInfoUpdateStrategy),
		MemberInfoUpdateStrategy: enumOf[store.GroupUpdateStrategy](store.GroupUpdateStrategyNames, b.MemberInfoUpdateStrategy),
		GuestSpeakable:           b.GuestSpeakable, SelfInfoUpdatable: b.SelfInfoUpdatable,
		EnableReadReceipt: b.EnableReadReceipt, MessageEditable: b.MessageEditable,
	})
	return newGroupType(t), err
}

// groupTypeUpdate is the body of PUT /groups/types.
type groupTypeUpdate struct {
	Name                     *string                  `json:"name,omitempty" minLength:"1" pattern:"^\\S*$" doc:"New name." example:"CLUB"`
	GroupSizeLimit           *int32                   `json:"groupSizeLimit,omitempty" minimum:"1" doc:"Maximum number of members of a group." example:"500"`
	InvitationStrategy       *groupInvitationStrategy `json:"invitationStrategy,omitempty" doc:"Who may invite users to a group and whether these must accept."`
	JoinStrategy             *groupJoinStrategy       `json:"joinStrategy,omitempty" doc:"How users can join a group themselves."`
	GroupInfoUpdateStrategy  *groupUpdateStrategy     `json:"groupInfoUpdateStrategy,omitempty" doc:"Who may change a group."`
	MemberInfoUpdateStrategy *groupUpdateStrategy     `json:"memberInfoUpdateStrategy,omitempty" doc:"Who may change the information about members of a group."`
	GuestSpeakable           *bool                    `json:"guestSpeakable,omitempty" doc:"Whether users who are not members may send messages."`
	SelfInfoUpdatable        *bool                    `json:"selfInfoUpdatable,omitempty" doc:"Whether members may change their own information in the group."`
	EnableReadReceipt        *bool                    `json:"enableReadReceipt,omitempty" doc:"Whether members see who has read messages."`
	MessageEditable          *bool                    `json:"messageEditable,omitempty" doc:"Whether senders may change their messages."`
}

func (h groupTypeHandlers) update(ctx context.Context, ids []int64, b groupTypeUpdate) (store.UpdateResult, error) {
	return h.types.Update(ctx, ids, store.GroupTypeChange{
		Name: b.Name, GroupSizeLimit: b.GroupSizeLimit,
		InvitationStrategy:       optionalEnum[store.GroupInvitationStrategy](store.GroupInvitationStrategyNames, b.InvitationStrategy),
		JoinStrategy:             optionalEnum[store.GroupJoinStrategy](store.GroupJoinStrategyNames, b.JoinStrategy),
		GroupInfoUpdateStrategy:  optionalEnum[store.GroupUpdateStrategy](store.GroupUpdateStrategyNames, b.GroupInfoUpdateStrategy),
		MemberInfoUpdateStrategy: optionalEnum[store.GroupUpdateStrategy](store.GroupUpdateStrategyNames, b.MemberInfoUpdateStrategy),
		GuestSpeakable:           b.GuestSpeakable, SelfInfoUpdatable: b.SelfInfoUpdatable,
		EnableReadReceipt: b.EnableReadReceipt, MessageEditable: b.MessageEditable,
	})
}

type groupTypeDeletion struct {
	IDs []int64 `query:"ids" required:"true" uniqueItems:"true" selector:"true" doc:"Ids of types; not 0." example:"[1]"`
}

func (h groupTypeHandlers) delete(ctx context.Context, in *groupTypeDeletion) (int64, error) {
	return h.types.Delete(ctx, in.IDs)
}
