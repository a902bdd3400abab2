// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"example.org/app/bench/limit"
	"example.org/app/bench/session"
	"example.org/app/bench/talk"
	"example.org/app/bench/websocket"
)

// limitCommand is the first argument that runs this program as the limit instead of the comparison.
const limitCommand = "limit"

// serveLimit runs the limit.
func serveLimit(args []string) error {
	if len(args) != 3 {
		return errors.New("limit: expected an address, a database and the size of groups")
	}
	members, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	listener, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	return limit.Serve(ctx, limit.Options{Listener: listener, URL: args[1], Members: members})
}

// bound is the limit: package limit in its own process. It embeds our server, because clients and
// databases are used in the same way.
type bound struct {
	*app
	members int
}

func newBound(engine string, db *database, dir string, members int) *bound {
	return &bound{&app{
		build: limitCommand, engine: engine, db: db, home: filepath.Join(dir, limitCommand+"-"+engine),
		clients: fmt.Sprintf("127.0.0.1:%d", freeFrom(0)),
	}, members}
}

func (b *bound) command() []string {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return []string{self, limitCommand, b.clients, b.store(), strconv.Itoa(b.members)}
}

func (b *bound) answers(context.Context) error {
	s, err := b.login(0)
	if err != nil {
		return err
	}
	return s.Close()
}

// fill does nothing: every login creates its user.
func (b *bound) fill(context.Context, int) error { return nil }

func (b *bound) admin(context.Context) (addr string, byID, page []byte, err error) {
	return "", nil, nil, nil
}

// toGroup returns messages to the group of the first users.
func (b *bound) toGroup(_ context.Context, sockets []*websocket.Socket) (*talk.Letter, error) {
	if len(sockets) != b.members {
		return nil, fmt.Errorf("the group has %d members, not %d", b.members, len(sockets))
	}
	return session.ToGroup(1), nil
}

var _ messenger = (*bound)(nil)
