// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"example.org/app/internal/app"
	"example.org/app/internal/store"
)

type backupCommand struct {
	source
	File string `arg:"" help:"File to write; it must not exist."`
}

// Help implements kong.HelpProvider.
func (backupCommand) Help() string {
	return `Copies the SQLite database to a file; the server may be running. The copy is a consistent snapshot with everything that was acknowledged
before. It is verified before the file gets its name. Use app restore to restore it. For PostgreSQL, use pg_dump; see docs/deployment.md.

Examples:
  app backup /var/backups/app.db
  app backup --home /srv/app "/var/backups/app-$(date +%F).db"`
}

// Run implements the command.
func (c backupCommand) Run() error {
	return c.withStore(func(ctx context.Context, o store.Options) error {
		s, err := store.Backup(ctx, o, c.File)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%w; --home names the home folder of the server", err)
		case err != nil:
			return err
		}
		fmt.Printf("wrote %s: schema version %d, %d rows\n", c.File, s.Version, total(s))
		return nil
	})
}

type restoreCommand struct {
	source
	File    string `arg:"" help:"File that app backup wrote."`
	Replace bool   `help:"Replace an existing database; the old one is renamed and kept."`
}

// Help implements kong.HelpProvider.
func (restoreCommand) Help() string {
	return `Verifies a file written by app backup and restores the SQLite database from it. The server must be stopped. Backups of older versions are migrated
when the server starts.

Examples:
  app restore /var/backups/app.db
  app restore --home /srv/app --replace /var/backups/app.db`
}

// Run implements the command.
func (c restoreCommand) Run() error {
	return c.withStore(func(ctx context.Context, o store.Options) error {
		s, kept, err := store.Restore(ctx, o, c.File, c.Replace)
		switch {
		case errors.Is(err, store.ErrExists):
			return fmt.Errorf("%w; --replace renames it and restores", err)
		case err != nil:
			return err
		}
		fmt.Printf("restored %s: schema version %d, %d rows\n", c.File, s.Version, total(s))
		if kept != "" {
			fmt.Printf("the previous database is now %s\n", kept)
		}
		return nil
	})
}

type migrateCommand struct {
	Status migrateStatusCommand `cmd:"" help:"Show the schema version of the database, the one this program knows, and the pending migrations."`
	Up     migrateUpCommand     `cmd:"" help:"Migrate the database to the newest version, as a start of the server does."`
}

type migrateStatusCommand struct {
	source
	Rows bool `help:"Count the rows of every table, for example to compare a restored database with the original."`
}

// Help implements kong.HelpProvider.
func (migrateStatusCommand) Help() string {
	return `Changes nothing. The exit code is 1 if the database is newer than this program; the server then refuses to start on it.

Examples:
  app migrate status
  app migrate status --rows --set app.store.url=postgres://app@db/app`
}

// Run implements the command.
func (c migrateStatusCommand) Run() error {
	return c.withStore(func(ctx context.Context, o store.Options) error {
		s, err := store.Inspect(ctx, o, c.Rows)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w; it is created when the server starts", err)
		}
		if err != nil {
			return err
		}
		fmt.Printf("database %s (%s)\nschema version %d, this program knows %d\n", s.Database, s.Engine, s.Version, s.Known)
		for _, name := range s.Pending {
			fmt.Printf("pending %s\n", name)
		}
		for _, table := range slices.Sorted(maps.Keys(s.Rows)) {
			fmt.Printf("%10d %s\n", s.Rows[table], table)
		}
		if s.Version > s.Known {
			return &store.NewerError{Database: s.Database, Version: s.Version, Known: s.Known}
		}
		return nil
	})
}

type migrateUpCommand struct{ source }

// Help implements kong.HelpProvider.
func (migrateUpCommand) Help() string {
	return `Each migration is one transaction. Running servers of an older version keep working on the migrated database, but cannot restart on it:
make a backup first.

Examples:
  app backup before.db && app migrate up
  app migrate up --set app.store.url=postgres://app@db/app`
}

// Run implements the command.
func (c migrateUpCommand) Run() error {
	configuration, err := c.load()
	if err != nil {
		return err
	}
	return c.withStore(func(ctx context.Context, o store.Options) error {
		before, err := store.Inspect(ctx, o, false)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := app.Migrate(ctx, configuration); err != nil {
			return err
		}
		after, err := store.Inspect(ctx, o, false)
		if err != nil {
			return err
		}
		fmt.Printf("database %s had schema version %d and has %d\n", after.Database, before.Version, after.Version)
		for _, name := range before.Pending {
			fmt.Printf("applied %s\n", name)
		}
		return nil
	})
}

// withStore calls fn with the database of the configuration. A signal cancels its context.
func (s source) withStore(fn func(context.Context, store.Options) error) error {
	configuration, err := s.load()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return fn(ctx, app.StoreOptions(configuration))
}

// total returns the number of rows in all tables.
func total(s store.Schema) (n int64) {
	for _, rows := range s.Rows {
		n += rows
	}
	return n
}
