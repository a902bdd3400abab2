// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"log/slog"

	"example.org/app/internal/config"
	"example.org/app/internal/setting"
)

// WithSettings opens the store of a configuration and calls fn with the settings of its cluster.
// Running nodes apply a change within a second. If operation is not empty, fn's changes are
// recorded in the audit trail under it.
func WithSettings(ctx context.Context, c *config.Config, operation string, fn func(context.Context, *setting.Settings) error) (err error) {
	db, err := openStore(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	settings, err := setting.New(ctx, setting.Options{Store: db, Live: config.NewLive(c), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if operation == "" || !c.Audit.Enabled {
		return fn(ctx, settings)
	}
	return byCommand(ctx, db, c.Audit, operation, func(ctx context.Context) error { return fn(ctx, settings) })
}
