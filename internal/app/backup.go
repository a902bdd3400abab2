// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"log/slog"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
)

// StoreOptions returns the options with which commands open the database of a configuration. Its
// time-outs are long, because nobody waits for a command.
func StoreOptions(c *config.Config) store.Options {
	return store.Options{
		URL: c.Store.URL.Reveal(), MaxConnections: int(c.Store.MaxConnections), Logger: slog.New(slog.DiscardHandler),
		Timeout:     max(time.Hour, time.Duration(c.Store.TimeoutMillis)*time.Millisecond),
		LockTimeout: time.Duration(c.Store.LockTimeoutMillis) * time.Millisecond,
		Exclusive:   role.Service.Name(),
	}
}

// Migrate migrates the database of a configuration to the newest schema, like a start of the
// server. Servers may be running.
func Migrate(ctx context.Context, c *config.Config) error {
	o := StoreOptions(c)
	o.Exclusive = ""
	db, err := store.Open(ctx, o)
	if err != nil {
		return err
	}
	return db.Close()
}
