// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"example.org/app/internal/app"
	"example.org/app/internal/im/fake"
)

type fakeCommand struct {
	source
	Users    *int32 `placeholder:"N" help:"Number of users (default: app.service.fake.user-count, which is 1000)."`
	Groups   *int32 `placeholder:"N" help:"Number of groups (default: app.service.fake.group-count, which is 10)."`
	Messages *int32 `placeholder:"N" help:"Number of messages (default: app.service.fake.message-count, which is 500)."`
	Seed     *int64 `placeholder:"S" help:"Seed of the generator: the same seed and numbers give the same data (default: app.service.fake.seed, which is 1)."`
	Clear    bool   `help:"First delete ALL users, groups and messages of the database, generated or not."`
}

// Help implements kong.HelpProvider.
func (fakeCommand) Help() string {
	return `User and group ids start at 1, and all users have the password 123. User 1 owns group 1; the first tenth of the users are its members and
friends of user 1, the next tenth have sent user 1 a friend request, others are invited to group 1, have asked to join it or are blocked there.
The administrator guest, with the password guest, may only query and create. The command refuses a database that is not empty.

Examples:
  app fake
  app fake --users 100000 --groups 2000 --messages 50000 --seed 7
  app fake --clear --home /srv/app --set app.store.url=postgres://app@db/app`
}

// Run implements the command.
func (c fakeCommand) Run() error {
	for _, flag := range []struct {
		name  string
		value *int32
	}{{"user-count", c.Users}, {"group-count", c.Groups}, {"message-count", c.Messages}} {
		if flag.value != nil {
			c.Set = append(c.Set, fmt.Sprintf("app.service.fake.%s=%d", flag.name, *flag.value))
		}
	}
	if c.Seed != nil {
		c.Set = append(c.Set, fmt.Sprintf("app.service.fake.seed=%d", *c.Seed))
	}
	configuration, err := c.load()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	bar := newProgress(os.Stdout)
	start := time.Now()
	result, err := app.Fake(ctx, app.FakeOptions{Config: configuration, Clear: c.Clear, Progress: bar.set})
	bar.end()
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted; run app fake again to continue, or app fake --clear to start over")
	case errors.Is(err, fake.ErrNotEmpty):
		return fmt.Errorf("%w; app fake --clear deletes everything first", err)
	case err != nil:
		return err
	}
	if result.Resumed {
		fmt.Println("continued an interrupted run")
	}
	p := result.Plan
	fmt.Printf("%d users, %d groups and %d messages from seed %d in %v\n", p.Users, p.Groups, p.Messages, p.Seed, time.Since(start).Round(time.Millisecond))
	return nil
}

// progress shows progress: as a bar on a terminal, otherwise as a line for each 10 %.
type progress struct {
	out      io.Writer
	terminal bool
	shown    int
}

func newProgress(file *os.File) *progress {
	info, err := file.Stat()
	return &progress{out: file, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0, shown: -1}
}

func (p *progress) set(done, total int) {
	percent := 100 * done / max(total, 1)
	switch {
	case p.terminal && percent != p.shown:
		fmt.Fprintf(p.out, "\r[%-50s] %3d %%  %d of %d records", strings.Repeat("=", percent/2), percent, done, total)
	case !p.terminal && percent/10 != p.shown/10:
		fmt.Fprintf(p.out, "%3d %%  %d of %d records\n", percent, done, total)
	}
	p.shown = percent
}

// end ends the line of the bar.
func (p *progress) end() {
	if p.terminal && p.shown >= 0 {
		fmt.Fprintln(p.out)
	}
}
