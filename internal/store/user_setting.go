// SPDX-License-Identifier: Apache-2.0

package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// UserSettings are what a user keeps on the server.
type UserSettings struct {
	UserID int64
	// Settings are anything that has a JSON form. Numbers are json.Number when read.
	Settings        map[string]any
	LastUpdatedDate time.Time
}

type userSettingRow struct {
	bun.BaseModel   `bun:"table:user_setting,alias:t"`
	UserID          int64  `bun:"user_id,pk"`
	Settings        string `bun:"settings"`
	LastUpdatedDate int64  `bun:"last_updated_date"`
}

// FindUserSettings returns the settings of a user, or nil if there are none.
func FindUserSettings(ctx context.Context, r Reader, userID int64) (*UserSettings, error) {
	var row userSettingRow
	err := translate(r.NewSelect().Model(&row).Where("t.user_id = ?", userID).Scan(ctx))
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find the settings of user %d: %w", userID, err)
	}
	settings, err := readSettings(row.Settings)
	if err != nil {
		return nil, fmt.Errorf("find the settings of user %d: %w", userID, err)
	}
	return &UserSettings{UserID: userID, Settings: settings, LastUpdatedDate: time.UnixMilli(row.LastUpdatedDate).UTC()}, nil
}

// PutUserSettings replaces the settings of a user. Without settings nothing is left.
func PutUserSettings(ctx context.Context, tx Tx, s UserSettings) error {
	if len(s.Settings) == 0 {
		return DeleteUserSettings(ctx, tx, []int64{s.UserID})
	}
	text, err := writeSettings(s.Settings)
	if err != nil {
		return fmt.Errorf("put the settings of user %d: %w", s.UserID, err)
	}
	row := userSettingRow{UserID: s.UserID, Settings: text, LastUpdatedDate: s.LastUpdatedDate.UnixMilli()}
	_, err = tx.NewInsert().Model(&row).On("CONFLICT (user_id) DO UPDATE").
		Set("settings = excluded.settings, last_updated_date = excluded.last_updated_date").Returning("NULL").Exec(ctx)
	if err != nil {
		return fmt.Errorf("put the settings of user %d: %w", s.UserID, err)
	}
	return nil
}

// DeleteUserSettings deletes the settings of the users.
func DeleteUserSettings(ctx context.Context, tx Tx, userIDs []int64) error {
	_, err := deleteRows(ctx, tx, "user_setting", conditions{In(tx.Engine(), "t.user_id", userIDs)})
	return err
}

func writeSettings(settings map[string]any) (string, error) {
	document, err := json.Marshal(settings)
	if err != nil {
		return "", fmt.Errorf("%w: settings: %w", ErrInvalidValue, err)
	}
	return string(document), nil
}

func readSettings(text string) (settings map[string]any, err error) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	if err := decoder.Decode(&settings); err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	return settings, nil
}
