// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"example.org/app/internal/wire"
)

func (d *Dispatcher) updateUserSettings(ctx context.Context, r *Request, body *wire.UpdateUserSettingsRequest) (Answer, error) {
	changed, err := d.Users.UpdateSettings(ctx, r.UserID, fromWireMap(body.GetSettings()))
	if err != nil || !changed {
		return Answer{}, err
	}
	return Answer{Notifications: []Notification{{Self: d.Settings().Notification.UserSettingUpdated.NotifyRequesterOtherOnlineSessions}}}, nil
}

func (d *Dispatcher) deleteUserSettings(ctx context.Context, r *Request, body *wire.DeleteUserSettingsRequest) (Answer, error) {
	deleted, err := d.Users.DeleteSettings(ctx, r.UserID, body.GetNames())
	if err != nil || !deleted {
		return Answer{}, err
	}
	return Answer{Notifications: []Notification{{Self: d.Settings().Notification.UserSettingDeleted.NotifyRequesterOtherOnlineSessions}}}, nil
}

func (d *Dispatcher) queryUserSettings(ctx context.Context, r *Request, body *wire.QueryUserSettingsRequest) (Answer, error) {
	settings, changed, err := d.Users.FindSettings(ctx, r.UserID, body.GetNames(), date(body.LastUpdatedDateStart))
	if err != nil || len(settings) == 0 {
		return noContent, err
	}
	return Answer{Data: &wire.AppNotification_Data{Kind: &wire.AppNotification_Data_UserSettings{
		UserSettings: &wire.UserSettings{Settings: toWireMap(settings), LastUpdatedDate: millis(changed)},
	}}}, nil
}
