// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/im/fake"
	"example.org/app/internal/password"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
)

// start fills a database without users with generated data if configured. Of several starting nodes
// only one does.
func (p *madeUp) start(ctx context.Context) error {
	c := p.Process.live.Current()
	if !p.Process.runs(role.Service) || !c.Service.Fake.Enabled {
		return nil
	}
	result, err := fake.Fill(ctx, fakeOptions(c, p.Database.db), fake.NewPlan(c.Service.Fake, time.Now()))
	switch {
	case errors.Is(err, fake.ErrNotEmpty), errors.Is(err, fake.ErrBusy):
		p.Logs.logger.Info("the database is not filled with made-up data", "reason", err.Error())
		return nil
	case err != nil:
		return err
	}
	p.Logs.logger.Info("filled the database with made-up data", "users", result.Plan.Users, "groups", result.Plan.Groups,
		"messages", result.Plan.Messages, "seed", result.Plan.Seed, "resumed", result.Resumed)
	return nil
}

func fakeOptions(c *config.Config, db *store.DB) fake.Options {
	p := c.Security.Password
	return fake.Options{
		Store: db, Settings: c.Service,
		UserHasher:  password.Hasher{Algorithm: password.Algorithm(p.UserPasswordEncodingAlgorithm), Cost: int(p.BcryptCost)},
		AdminHasher: password.Hasher{Algorithm: password.Algorithm(p.AdminPasswordEncodingAlgorithm), Cost: int(p.BcryptCost)},
	}
}

// FakeOptions say how Fake fills a database.
type FakeOptions struct {
	Config *config.Config
	// Clear deletes all users, groups and messages first.
	Clear bool
	// Progress is called with the number of written records and the total. It may be nil.
	Progress func(done, total int)
}

// Fake fills the database of a configuration with generated data. No service may be running on an
// SQLite file.
func Fake(ctx context.Context, o FakeOptions) (result fake.Result, err error) {
	c := o.Config.Store
	db, err := store.Open(ctx, store.Options{
		URL: c.URL.Reveal(), MaxConnections: int(c.MaxConnections), Logger: slog.New(slog.DiscardHandler),
		// Long, because nobody waits for this process.
		Timeout:     max(time.Minute, time.Duration(c.TimeoutMillis)*time.Millisecond),
		LockTimeout: time.Duration(c.LockTimeoutMillis) * time.Millisecond,
		Exclusive:   role.Service.Name(),
	})
	if err != nil {
		return fake.Result{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if o.Clear {
		if err := fake.Clear(ctx, db); err != nil {
			return fake.Result{}, err
		}
	}
	options := fakeOptions(o.Config, db)
	options.Progress = o.Progress
	return fake.Fill(ctx, options, fake.NewPlan(o.Config.Service.Fake, time.Now()))
}
