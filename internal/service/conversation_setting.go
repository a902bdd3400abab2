// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

func (h conversationHandlers) updateSettings(ctx context.Context, r *Request, body *wire.UpdateConversationSettingsRequest) (Answer, error) {
	if err := oneTarget(body.UserId, body.GroupId); err != nil {
		return Answer{}, err
	}
	key := store.ConversationKey{OwnerID: r.UserID, IsGroup: body.GroupId != nil, TargetID: body.GetUserId()}
	self := h.settings().Notification.PrivateConversationSettingUpdated.NotifyRequesterOtherOnlineSessions
	if key.IsGroup {
		key.TargetID = body.GetGroupId()
		self = h.settings().Notification.GroupConversationSettingUpdated.NotifyRequesterOtherOnlineSessions
	}
	changed, err := h.directory.UpdateSettings(ctx, key, fromWireMap(body.GetSettings()))
	if err != nil || !changed {
		return Answer{}, err
	}
	return told(self, nil), nil
}

func (h conversationHandlers) deleteSettings(ctx context.Context, r *Request, body *wire.DeleteConversationSettingsRequest) (Answer, error) {
	private, groups, err := h.directory.DeleteSettings(ctx, store.ConversationSettingFilter{
		OwnerID: r.UserID, UserIDs: body.GetUserIds(), GroupIDs: body.GetGroupIds(),
	}, body.GetNames())
	if err != nil {
		return Answer{}, err
	}
	flags := h.settings().Notification
	return Answer{Notifications: []Notification{{
		Self: private && flags.PrivateConversationSettingDeleted.NotifyRequesterOtherOnlineSessions ||
			groups && flags.GroupConversationSettingDeleted.NotifyRequesterOtherOnlineSessions,
	}}}, nil
}

func (h conversationHandlers) querySettings(ctx context.Context, r *Request, body *wire.QueryConversationSettingsRequest) (Answer, error) {
	found, err := h.directory.FindSettings(ctx, store.ConversationSettingFilter{
		OwnerID: r.UserID, UserIDs: body.GetUserIds(), GroupIDs: body.GetGroupIds(),
		LastUpdated: store.DateRange{Start: date(body.LastUpdatedDateStart)},
	}, body.GetNames())
	if err != nil {
		return Answer{}, err
	}
	list := convert(found, func(s store.ConversationSettings) *wire.ConversationSettings {
		out := &wire.ConversationSettings{Settings: toWireMap(s.Settings), LastUpdatedDate: millis(s.LastUpdatedDate)}
		if s.IsGroup {
			out.GroupId = &s.TargetID
		} else {
			out.UserId = &s.TargetID
		}
		return out
	})
	// Clients expect the list, even if it is empty.
	return Answer{Data: &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_ConversationSettingsList{
		ConversationSettingsList: &wire.ConversationSettingsList{ConversationSettingsList: list},
	}}}, nil
}
