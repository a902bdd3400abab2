// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"example.org/app/bench/session"
	"example.org/app/bench/talk"
	"example.org/app/bench/websocket"
	"example.org/app/internal/store"
)

const appPassword = "secret"

// app is our server, or another build of it. The ids of its users follow their numbers.
type app struct {
	program, home, build, engine string
	db                           *database // nil means SQLite
	clients, admins              string
	filled                       bool // whether there are users
}

// Builds of our server.
const (
	thisBuild  = "app"
	otherBuild = "other"
)

func newApp(program, build, engine string, db *database, dir string) *app {
	return &app{
		program: program, build: build, engine: engine, db: db, home: filepath.Join(dir, build+"-"+engine),
		clients: fmt.Sprintf("127.0.0.1:%d", freeFrom(0)), admins: fmt.Sprintf("127.0.0.1:%d", freeFrom(0)),
	}
}

func (a *app) name() string { return a.build + "/" + a.engine }

func (a *app) store() string {
	if a.db == nil {
		return "sqlite:" + filepath.Join(a.home, "app.db")
	}
	return a.db.url(a.build)
}

func (a *app) prepare(ctx context.Context) error {
	if err := os.MkdirAll(a.home, 0o700); err != nil || a.db == nil {
		return err
	}
	return a.db.create(ctx, a.build)
}

func (a *app) command() []string {
	const many = "2000000000"
	set := func(name, value string) string { return "--set=app." + name + "=" + value }
	_, clientPort, _ := net.SplitHostPort(a.clients)
	_, adminPort, _ := net.SplitHostPort(a.admins)
	return []string{
		a.program, "all", "--home", a.home, set("store.url", a.store()),
		set("service.admin-api.http.host", "127.0.0.1"), set("service.admin-api.http.port", adminPort),
		set("gateway.admin-api.http.port", "0"), set("console.port", "0"), set("gateway.tcp.enabled", "false"),
		set("gateway.websocket.host", "127.0.0.1"), set("gateway.websocket.port", clientPort),
		// One client represents many: no limits per client.
		set("gateway.client-api.rate-limiting.capacity", many), set("gateway.client-api.rate-limiting.initial-tokens", many),
		set("service.admin-api.rate-limiting.capacity", many), set("service.admin-api.rate-limiting.initial-tokens", many),
		set("gateway.session.close-idle-session-after-seconds", "0"),
		set("health-check.cpu.unhealthy-load-threshold-percentage", "100"), set("logging.console.level", "WARN"),
	}
}

func (a *app) answers(ctx context.Context) error {
	if !a.filled {
		return call(ctx, http.MethodGet, "http://"+a.admins+"/health", basic("app", "app"), nil, nil)
	}
	s, err := a.login(0)
	if err != nil {
		return err
	}
	return s.Close()
}

func (a *app) fill(ctx context.Context, users int) error {
	a.filled = true
	return each(ctx, users, 32, func(i int) error {
		return a.post(ctx, "/users", map[string]any{"id": i + 1, "name": fmt.Sprint("User ", i), "password": appPassword, "isActive": true}, nil)
	})
}

func (a *app) post(ctx context.Context, path string, body, result any) error {
	return call(ctx, http.MethodPost, "http://"+a.admins+path, basic("app", "app"), body, result)
}

func (a *app) judge(payload []byte) (bool, error) { return session.Judge(payload) }

func (a *app) login(user int) (*websocket.Socket, error) {
	return session.Open(a.clients, int64(user+1), appPassword)
}

func (a *app) toUser(_, recipient int, _, _ *websocket.Socket) (*talk.Letter, error) {
	return session.ToUser(int64(recipient + 1)), nil
}

func (a *app) toGroup(ctx context.Context, sockets []*websocket.Socket) (*talk.Letter, error) {
	var made struct{ Data struct{ ID json.Number } }
	if err := a.post(ctx, "/groups", map[string]any{"creatorId": 1, "ownerId": 1, "name": "Everybody", "isActive": true}, &made); err != nil {
		return nil, err
	}
	group, err := made.Data.ID.Int64()
	if err != nil {
		return nil, err
	}
	err = each(ctx, len(sockets)-1, 1, func(i int) error {
		return a.post(ctx, "/groups/members", map[string]any{"groupId": group, "userId": i + 2, "role": "MEMBER"}, nil)
	})
	return session.ToGroup(group), err
}

func (a *app) admin(context.Context) (addr string, byID, page []byte, err error) {
	const root = "Basic YXBwOmFwcA=="
	return a.admins, get("/users?ids=1", root), get("/users/page?size=50", root), nil
}

func (a *app) stored(ctx context.Context) (n int64, err error) {
	db, err := store.Open(ctx, store.Options{URL: a.store()})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
		n, err = store.CountMessages(ctx, r, store.MessageFilter{})
		return err
	})
	return n, err
}
