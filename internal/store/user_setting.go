// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"time"
)

// UserSettings are what a user keeps on the server.
type UserSettings struct {
	UserID int64
	// Settings are anything that has a JSON form. Numbers are json.Number when read.
	Settings        map[string]any
	LastUpdatedDate time.Time
}

var userSettings = newTable("user_setting", "user_id settings last_updated_date", func(s *UserSettings) []any {
	return []any{&s.UserID, (*object)(&s.Settings), (*millis)(&s.LastUpdatedDate)}
})

// FindUserSettings returns the settings of a user, or nil if there are none.
func FindUserSettings(ctx context.Context, r Reader, userID int64) (*UserSettings, error) {
	found, err := userSettings.find(ctx, r, where("t.user_id = ?", userID), Page{})
	if err != nil {
		return nil, fmt.Errorf("find the settings of user %d: %w", userID, err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	return &found[0], nil
}

// PutUserSettings replaces the settings of a user. Without settings nothing is left.
func PutUserSettings(ctx context.Context, tx Tx, s UserSettings) error {
	if len(s.Settings) == 0 {
		return DeleteUserSettings(ctx, tx, []int64{s.UserID})
	}
	_, err := userSettings.put(ctx, tx, []UserSettings{s}, "(user_id) DO UPDATE SET settings = excluded.settings, last_updated_date = excluded.last_updated_date")
	if err != nil {
		return fmt.Errorf("put the settings of user %d: %w", s.UserID, err)
	}
	return nil
}

// DeleteUserSettings deletes the settings of the users.
func DeleteUserSettings(ctx context.Context, tx Tx, userIDs []int64) error {
	_, err := deleteRows(ctx, tx, "user_setting", in("t.user_id", userIDs))
	return err
}
