// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"example.org/app/bench/process"
	"example.org/app/bench/session"
	"example.org/app/bench/talk"
	"example.org/app/bench/websocket"
	"example.org/app/internal/store/pgserver"
)

// counted counts the statements and system calls of messages that are sent one after the other.
func (c costs) counted(ctx context.Context, app, dir string, duration time.Duration) error {
	if err := c.ofCalls(ctx, app, dir, duration); err != nil {
		return err
	}
	return c.ofStatements(ctx, app, dir, duration)
}

// ofCalls counts the system calls of a server on SQLite.
func (c costs) ofCalls(ctx context.Context, app, dir string, duration time.Duration) error {
	database := "sqlite:" + filepath.Join(dir, "data", "app.db")
	if err := fillClients(ctx, database, groupSize); err != nil {
		return fmt.Errorf("make the users: %w", err)
	}
	s, err := startAll(ctx, app, filepath.Join(dir, "sqlite"), "PASSWORD", "--set=app.store.url="+database)
	if err != nil {
		return err
	}
	defer s.stop()
	pair, err := newExchange(s, 1)
	if err != nil {
		return err
	}
	defer pair.close()
	if _, err := pair.Run(1, 0, duration); err != nil { // warm up
		return err
	}
	before := process.Writes(s.pid)
	outcome, err := pair.Run(1, 0, duration)
	if err != nil {
		return err
	}
	// A server also writes at intervals without messages: the share of that shrinks with their
	// number.
	c.note("private message on SQLite, system calls that write", float64(process.Writes(s.pid)-before)/float64(outcome.Count), 0.25)
	return nil
}

// ofStatements counts the statements that PostgreSQL executes.
func (c costs) ofStatements(ctx context.Context, app, dir string, duration time.Duration) (err error) {
	folder, err := pgserver.New("")
	if err != nil {
		return err
	}
	postgres, err := folder.Start(true, pgserver.Private, pgserver.Setting{Name: "shared_preload_libraries", Value: "pg_stat_statements"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, postgres.Stop()) }()
	url := folder.URL().String()
	db, err := sql.Open("pgx", url)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE EXTENSION pg_stat_statements"); err != nil {
		return fmt.Errorf("count statements: %w", err)
	}
	if err := fillClients(ctx, url, groupSize); err != nil {
		return fmt.Errorf("make the users: %w", err)
	}
	s, err := startAll(ctx, app, filepath.Join(dir, "postgresql"), "PASSWORD", "--set=app.store.url="+url)
	if err != nil {
		return err
	}
	defer s.stop()
	for _, kind := range []struct {
		name string
		open func(sockets []*websocket.Socket) (run func() (talk.Outcome, error))
	}{
		{"private message", func(sockets []*websocket.Socket) func() (talk.Outcome, error) {
			t := talk.New(session.Judge, talk.Pair{Sender: sockets[0], Recipient: sockets[1], Letter: session.ToUser(2)})
			return func() (talk.Outcome, error) { return t.Run(1, 0, duration) }
		}},
		{"message to a group", func(sockets []*websocket.Socket) func() (talk.Outcome, error) {
			g := talk.NewGroup(session.Judge, session.ToGroup(groupID), sockets...)
			return func() (talk.Outcome, error) { return g.Run(1, duration) }
		}},
	} {
		n, err := statementsOf(ctx, s, db, kind.open)
		if err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		c.note(kind.name+", statements of PostgreSQL", n, exactly)
	}
	return nil
}

// enoughMessages is the minimum number of messages, so that other statements that the server
// executes at intervals hardly count.
const enoughMessages = 300

// statementsOf returns the number of statements per message between two users.
func statementsOf(ctx context.Context, s *server, db *sql.DB, open func([]*websocket.Socket) func() (talk.Outcome, error)) (n float64, err error) {
	sockets, err := connect(s, 0, 2, 1)
	if err != nil {
		return 0, err
	}
	defer disconnect(sockets)
	run := open(sockets)
	if _, err := run(); err != nil { // Fills caches.
		return 0, err
	}
	if _, err := db.ExecContext(ctx, "SELECT pg_stat_statements_reset()"); err != nil {
		return 0, err
	}
	var messages float64
	for messages < enoughMessages {
		outcome, err := run()
		if err != nil {
			return 0, err
		}
		messages += float64(outcome.Count)
	}
	rows, err := db.QueryContext(ctx, "SELECT calls FROM pg_stat_statements")
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var calls float64
		if err := rows.Scan(&calls); err != nil {
			return 0, err
		}
		n += math.Floor(calls/messages + 0.2)
	}
	return n, rows.Err()
}
