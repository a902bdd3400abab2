// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/im/relationship"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

// relationshipHandlers answers requests about relationships.
type relationshipHandlers struct {
	audiences
	directory *relationship.Directory
}

func (h relationshipHandlers) create(ctx context.Context, r *Request, body *wire.CreateRelationshipRequest) (Answer, error) {
	key := store.RelationshipKey{OwnerID: r.UserID, RelatedUserID: body.GetUserId()}
	index, err := h.directory.Establish(ctx, key, body.GetBlocked(), body.GroupIndex, body.Name)
	if err != nil {
		return Answer{}, err
	}
	relay := proto.CloneOf(r.AppRequest)
	relay.GetCreateRelationshipRequest().GroupIndex = &index
	flags := h.settings().Notification.OneSidedRelationshipGroupMemberAdded
	return Answer{Notifications: []Notification{{
		Relay: relay, Self: flags.NotifyRequesterOtherOnlineSessions,
		To: onlyIf(flags.NotifyNewRelationshipGroupMember, users(key.RelatedUserID)),
	}}}, nil
}

func (h relationshipHandlers) update(ctx context.Context, r *Request, body *wire.UpdateRelationshipRequest) (Answer, error) {
	key := store.RelationshipKey{OwnerID: r.UserID, RelatedUserID: body.GetUserId()}
	changed, err := h.directory.Change(ctx, key, relationship.OwnChange{
		Blocked: body.Blocked, Name: body.Name, NewGroup: body.NewGroupIndex, OldGroup: body.DeleteGroupIndex,
	})
	if err != nil || !changed {
		return Answer{}, err
	}
	flags := h.settings().Notification.OneSidedRelationshipUpdated
	return told(flags.NotifyRequesterOtherOnlineSessions, onlyIf(flags.NotifyRelatedUser, users(key.RelatedUserID))), nil
}

func (h relationshipHandlers) delete(ctx context.Context, r *Request, body *wire.DeleteRelationshipRequest) (Answer, error) {
	key := store.RelationshipKey{OwnerID: r.UserID, RelatedUserID: body.GetUserId()}
	ended, err := h.directory.End(ctx, key, body.GroupIndex)
	if err != nil || !ended.Left {
		return Answer{}, err
	}
	flags := h.settings().Notification.OneSidedRelationshipGroupMemberRemoved
	return told(flags.NotifyRequesterOtherOnlineSessions, onlyIf(flags.NotifyRemovedRelationshipGroupMember, users(key.RelatedUserID))), nil
}

func (h relationshipHandlers) query(ctx context.Context, r *Request, body *wire.QueryRelationshipsRequest) (Answer, error) {
	found, version, err := h.directory.Related(ctx, r.UserID, store.RelationshipFilter{
		RelatedUserIDs: body.GetUserIds(), GroupIndexes: body.GetGroupIndexes(), IsBlocked: body.Blocked,
	}, date(body.LastUpdatedDate))
	return listed(found, version, err, func(list []store.Relationship, version *int64) *wire.AppNotification_Data {
		return &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_UserRelationshipsWithVersion{
			UserRelationshipsWithVersion: &wire.UserRelationshipsWithVersion{UserRelationships: convert(list, wireRelationship), LastUpdatedDate: version},
		}}
	})
}

// wireRelationship converts a stored relationship to its wire form, with only the first group.
func wireRelationship(r store.Relationship) *wire.UserRelationship {
	out := &wire.UserRelationship{
		OwnerId: &r.OwnerID, RelatedUserId: &r.RelatedUserID, Name: r.Name, BlockDate: millisOrNil(r.BlockDate),
		EstablishmentDate: millis(r.EstablishmentDate),
	}
	if len(r.GroupIndexes) > 0 {
		out.GroupIndex = proto.Int64(int64(r.GroupIndexes[0]))
	}
	return out
}

func (h relationshipHandlers) queryRelatedUserIDs(ctx context.Context, r *Request, body *wire.QueryRelatedUserIdsRequest) (Answer, error) {
	found, version, err := h.directory.RelatedIDs(ctx, r.UserID, store.RelationshipFilter{
		GroupIndexes: body.GetGroupIndexes(), IsBlocked: body.Blocked,
	}, date(body.LastUpdatedDate))
	return listed(found, version, err, func(list []int64, version *int64) *wire.AppNotification_Data {
		return &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_LongsWithVersion{
			LongsWithVersion: &wire.LongsWithVersion{Longs: list, LastUpdatedDate: version},
		}}
	})
}
