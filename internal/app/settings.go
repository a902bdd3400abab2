// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/setting"
	"example.org/app/internal/store"
)

// WithSettings opens the store of a configuration and calls fn with the settings
// of its cluster. Nodes that run meanwhile apply a change within a second.
func WithSettings(ctx context.Context, c *config.Config, fn func(context.Context, *setting.Settings) error) (err error) {
	logger := slog.New(slog.DiscardHandler)
	db, err := store.Open(ctx, store.Options{
		URL: c.Store.URL.Reveal(), MaxConnections: int(c.Store.MaxConnections), Logger: logger,
		Timeout:     time.Duration(c.Store.TimeoutMillis) * time.Millisecond,
		LockTimeout: time.Duration(c.Store.LockTimeoutMillis) * time.Millisecond,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	settings, err := setting.New(ctx, setting.Options{Store: db, Live: config.NewLive(c), Logger: logger})
	if err != nil {
		return err
	}
	return fn(ctx, settings)
}
