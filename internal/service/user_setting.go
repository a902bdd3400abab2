// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"example.org/app/internal/wire"
)

func (h userHandlers) updateSettings(ctx context.Context, r *Request, body *wire.UpdateUserSettingsRequest) (Answer, error) {
	changed, err := h.directory.UpdateSettings(ctx, r.UserID, fromWireMap(body.GetSettings()))
	if err != nil || !changed {
		return Answer{}, err
	}
	return told(h.settings().Notification.UserSettingUpdated.NotifyRequesterOtherOnlineSessions, nil), nil
}

func (h userHandlers) deleteSettings(ctx context.Context, r *Request, body *wire.DeleteUserSettingsRequest) (Answer, error) {
	deleted, err := h.directory.DeleteSettings(ctx, r.UserID, body.GetNames())
	if err != nil || !deleted {
		return Answer{}, err
	}
	return told(h.settings().Notification.UserSettingDeleted.NotifyRequesterOtherOnlineSessions, nil), nil
}

func (h userHandlers) querySettings(ctx context.Context, r *Request, body *wire.QueryUserSettingsRequest) (Answer, error) {
	settings, changed, err := h.directory.FindSettings(ctx, r.UserID, body.GetNames(), date(body.LastUpdatedDateStart))
	if err != nil || len(settings) == 0 {
		return noContent, err
	}
	return Answer{Data: &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_UserSettings{
		UserSettings: &wire.UserSettings{Settings: toWireMap(settings), LastUpdatedDate: millis(changed)},
	}}}, nil
}
