// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/im/relationship"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// relationshipGroupHandlers answers requests about groups of relationships.
type relationshipGroupHandlers struct {
	audiences
	directory *relationship.Directory
}

func (h relationshipGroupHandlers) create(ctx context.Context, r *Request, body *wire.CreateRelationshipGroupRequest) (Answer, error) {
	group, err := h.directory.CreateGroup(ctx, relationship.GroupCreation{OwnerID: r.UserID, Name: body.GetName(), Key: r.once})
	if err != nil {
		return Answer{}, err
	}
	return long(int64(group.Index)), nil
}

func (h relationshipGroupHandlers) update(ctx context.Context, r *Request, body *wire.UpdateRelationshipGroupRequest) (Answer, error) {
	key := store.RelationshipGroupKey{OwnerID: r.UserID, Index: body.GetGroupIndex()}
	changed, err := h.directory.RenameGroup(ctx, key, body.GetNewName())
	if err != nil || !changed {
		return Answer{}, err
	}
	flags := h.settings().Notification.OneSidedRelationshipGroupUpdated
	return told(flags.NotifyRequesterOtherOnlineSessions, onlyIf(flags.NotifyRelationshipGroupMembers, h.inRelationshipGroup(ctx, key))), nil
}

func (h relationshipGroupHandlers) delete(ctx context.Context, r *Request, body *wire.DeleteRelationshipGroupRequest) (Answer, error) {
	key := store.RelationshipGroupKey{OwnerID: r.UserID, Index: body.GetGroupIndex()}
	deleted, members, err := h.directory.DeleteGroup(ctx, key, body.TargetGroupIndex)
	if err != nil || !deleted {
		return Answer{}, err
	}
	relay := proto.CloneOf(r.AppRequest)
	if body := relay.GetDeleteRelationshipGroupRequest(); body.TargetGroupIndex == nil {
		body.TargetGroupIndex = proto.Int32(store.DefaultRelationshipGroup)
	}
	flags := h.settings().Notification.OneSidedRelationshipGroupDeleted
	return Answer{Notifications: []Notification{{
		Relay: relay, Self: flags.NotifyRequesterOtherOnlineSessions, To: onlyIf(flags.NotifyRelationshipGroupMembers, users(members...)),
	}}}, nil
}

func (h relationshipGroupHandlers) query(ctx context.Context, r *Request, body *wire.QueryRelationshipGroupsRequest) (Answer, error) {
	found, version, err := h.directory.GroupsOf(ctx, r.UserID, date(body.LastUpdatedDate))
	return listed(found, version, err, func(list []store.RelationshipGroup, version *int64) *wire.AppNotification_Data {
		groups := convert(list, func(g store.RelationshipGroup) *wire.UserRelationshipGroup {
			return &wire.UserRelationshipGroup{Index: g.Index, Name: g.Name}
		})
		return &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_UserRelationshipGroupsWithVersion{
			UserRelationshipGroupsWithVersion: &wire.UserRelationshipGroupsWithVersion{UserRelationshipGroups: groups, LastUpdatedDate: version},
		}}
	})
}
