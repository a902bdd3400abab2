// SPDX-License-Identifier: Apache-2.0

package user

import (
	"context"
	"time"

	"example.org/app/internal/im/value"
	"example.org/app/internal/store"
)

// UpdateSettings sets settings of a user, all or none, and reports whether anything changed.
func (d *Directory) UpdateSettings(ctx context.Context, userID int64, wanted map[string]any) (changed bool, err error) {
	rules := d.opts.Settings().Settings
	return d.changeSettings(ctx, userID, func(stored map[string]any) (map[string]any, bool, error) {
		return value.Merge("settings", stored, wanted, rules)
	})
}

// DeleteSettings deletes the settings of a user with these names, all or none; without names it
// deletes all removable ones. It reports whether there were any.
func (d *Directory) DeleteSettings(ctx context.Context, userID int64, names []string) (deleted bool, err error) {
	rules := d.opts.Settings().Settings
	return d.changeSettings(ctx, userID, func(stored map[string]any) (map[string]any, bool, error) {
		return value.Remove(stored, names, rules)
	})
}

func (d *Directory) changeSettings(ctx context.Context, userID int64, change func(stored map[string]any) (map[string]any, bool, error)) (changed bool, err error) {
	now := d.now()
	err = d.opts.Store.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		found, err := store.FindUserSettings(ctx, tx, userID)
		if err != nil {
			return err
		}
		s := store.UserSettings{UserID: userID, LastUpdatedDate: now}
		if found != nil {
			s.Settings = found.Settings
		}
		if s.Settings, changed, err = change(s.Settings); err != nil || !changed {
			return err
		}
		return store.PutUserSettings(ctx, tx, s)
	})
	return changed && err == nil, err
}

// FindSettings returns the settings of a user with these names, or all without names, and when a
// setting was last changed. It returns none if nothing was changed since a date.
func (d *Directory) FindSettings(ctx context.Context, userID int64, names []string, since *time.Time) (settings map[string]any, changed time.Time, err error) {
	var found *store.UserSettings
	err = d.opts.Store.Read(ctx, func(ctx context.Context, r store.Reader) error {
		found, err = store.FindUserSettings(ctx, r, userID)
		return err
	})
	if err != nil || found == nil || since != nil && found.LastUpdatedDate.Before(*since) {
		return nil, time.Time{}, err
	}
	return value.Show(found.Settings, names, d.opts.Settings().Settings), found.LastUpdatedDate, nil
}
