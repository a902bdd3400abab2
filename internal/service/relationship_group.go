// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/im/relationship"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

func (d *Dispatcher) createRelationshipGroup(ctx context.Context, r *Request, body *wire.CreateRelationshipGroupRequest) (Answer, error) {
	group, err := d.Relationships.CreateGroup(ctx, relationship.GroupCreation{OwnerID: r.UserID, Name: body.GetName(), Key: r.once})
	if err != nil {
		return Answer{}, err
	}
	return long(int64(group.Index)), nil
}

func (d *Dispatcher) updateRelationshipGroup(ctx context.Context, r *Request, body *wire.UpdateRelationshipGroupRequest) (Answer, error) {
	key := store.RelationshipGroupKey{OwnerID: r.UserID, Index: body.GetGroupIndex()}
	changed, err := d.Relationships.RenameGroup(ctx, key, body.GetNewName())
	if err != nil || !changed {
		return Answer{}, err
	}
	flags := d.Settings().Notification.OneSidedRelationshipGroupUpdated
	return Answer{Notifications: []Notification{{
		Self: flags.NotifyRequesterOtherOnlineSessions, To: onlyIf(flags.NotifyRelationshipGroupMembers, d.sortedInto(ctx, key)),
	}}}, nil
}

func (d *Dispatcher) deleteRelationshipGroup(ctx context.Context, r *Request, body *wire.DeleteRelationshipGroupRequest) (Answer, error) {
	key := store.RelationshipGroupKey{OwnerID: r.UserID, Index: body.GetGroupIndex()}
	deleted, members, err := d.Relationships.DeleteGroup(ctx, key, body.TargetGroupIndex)
	if err != nil || !deleted {
		return Answer{}, err
	}
	relay := proto.CloneOf(r.AppRequest)
	if body := relay.GetDeleteRelationshipGroupRequest(); body.TargetGroupIndex == nil {
		body.TargetGroupIndex = proto.Int32(store.DefaultRelationshipGroup)
	}
	flags := d.Settings().Notification.OneSidedRelationshipGroupDeleted
	return Answer{Notifications: []Notification{{
		Relay: relay, Self: flags.NotifyRequesterOtherOnlineSessions, To: onlyIf(flags.NotifyRelationshipGroupMembers, users(members...)),
	}}}, nil
}

func (d *Dispatcher) queryRelationshipGroups(ctx context.Context, r *Request, body *wire.QueryRelationshipGroupsRequest) (Answer, error) {
	found, version, err := d.Relationships.GroupsOf(ctx, r.UserID, date(body.LastUpdatedDate))
	return listed(found, version, err, func(list []store.RelationshipGroup, version *int64) *wire.AppNotification_Data {
		groups := convert(list, func(g store.RelationshipGroup) *wire.UserRelationshipGroup {
			return &wire.UserRelationshipGroup{Index: g.Index, Name: g.Name}
		})
		return &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_UserRelationshipGroupsWithVersion{
			UserRelationshipGroupsWithVersion: &wire.UserRelationshipGroupsWithVersion{UserRelationshipGroups: groups, LastUpdatedDate: version},
		}}
	})
}
