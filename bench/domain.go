// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/im/conversation"
	"example.org/app/internal/im/group"
	"example.org/app/internal/im/message"
	"example.org/app/internal/im/relationship"
	"example.org/app/internal/im/user"
	"example.org/app/internal/password"
	"example.org/app/internal/store"
)

// domainOptions are the sizes of the databases and the duration of writes.
type domainOptions struct {
	users           []int // of each database, the smallest first
	messagesPerUser int
	duration        time.Duration // of each round of writes
	rounds          int
	postgres        string // URL of an empty database, or ""
}

func parseSizes(text string) ([]int, error) {
	var sizes []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1000 {
			return nil, fmt.Errorf("numbers of users %q: each must be at least 1000", text)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// benchDomain measures the domain rules on databases of several sizes.
func benchDomain(ctx context.Context, o domainOptions) error {
	runtime.GOMAXPROCS(runtime.NumCPU())
	dir, err := os.MkdirTemp("", "app-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Println("\n## Reads")
	var worlds []*world
	defer func() {
		for _, w := range worlds {
			_ = w.db.Close()
		}
	}()
	for _, users := range o.users {
		w, err := newWorld(ctx, "sqlite:"+filepath.Join(dir, fmt.Sprintf("%d.db", users)), users, users*o.messagesPerUser)
		if err != nil {
			return err
		}
		worlds = append(worlds, w)
	}
	if err := reads(ctx, worlds); err != nil {
		return err
	}
	fmt.Println("\n## Writes")
	if err := writes(ctx, "sqlite:"+filepath.Join(dir, "writes.db"), o.duration, o.rounds); err != nil {
		return err
	}
	if o.postgres == "" {
		return nil
	}
	return writes(ctx, o.postgres, o.duration, o.rounds)
}

// world is a database with its domain rules.
type world struct {
	users, messages int
	db              *store.DB
	generator       *ids.Generator

	userRules         *user.Directory
	relationshipRules *relationship.Directory
	groupRules        *group.Directory
	conversationRules *conversation.Directory
	messageRules      *message.Directory
}

// newWorld creates and fills a database.
func newWorld(ctx context.Context, url string, users, messages int) (*world, error) {
	start := time.Now()
	db, err := store.Open(ctx, store.Options{URL: url})
	if err != nil {
		return nil, err
	}
	if users > 0 {
		if err := errors.Join(db.Close(), fill(ctx, url, users, messages)); err != nil {
			return nil, fmt.Errorf("fill a database of %d users: %w", users, err)
		}
		if db, err = store.Open(ctx, store.Options{URL: url, Timeout: time.Minute}); err != nil {
			return nil, err
		}
		fmt.Printf("\nfilled a database with %d users and %d messages in %v\n", users, messages, time.Since(start).Round(time.Millisecond))
	}
	return rules(ctx, &world{users: users, messages: messages, db: db})
}

// rules creates the domain rules on a store as the server does.
func rules(ctx context.Context, w *world) (_ *world, err error) {
	if w.generator, err = ids.New(1); err != nil {
		return nil, err
	}
	c := config.Default()
	w.relationshipRules = relationship.New(relationship.Options{Store: w.db, IDs: w.generator, Settings: func() config.User { return c.Service.User }})
	w.userRules = user.New(user.Options{
		Store: w.db, IDs: w.generator, Settings: func() config.User { return c.Service.User },
		Hasher: password.Hasher{Algorithm: password.Algorithm(c.Security.Password.UserPasswordEncodingAlgorithm)},
	})
	w.groupRules, err = group.New(ctx, group.Options{Store: w.db, IDs: w.generator, Users: w.userRules, Settings: func() config.Group { return c.Service.Group }})
	if err != nil {
		return nil, err
	}
	w.conversationRules = conversation.New(conversation.Options{
		Store: w.db, Settings: func() config.Conversation { return c.Service.Conversation },
	})
	w.messageRules = message.New(message.Options{
		Store: w.db, IDs: w.generator, Members: w.groupRules.Members, Settings: func() config.Message { return c.Service.Message },
		ReadReceipts: func() config.ReadReceipt { return c.Service.Conversation.ReadReceipt },
	})
	return w, nil
}
