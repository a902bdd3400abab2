// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
)

const (
	pocketBaseName     = "root@example.org"
	pocketBasePassword = "a-long-password"
)

// pocketBase is https://github.com/pocketbase/pocketbase, which has no messages: only requests of
// administrators are compared. Its users are records with a name, because its password hashing is
// slow.
type pocketBase struct {
	program, dir, addr string
	token, first       string
}

func newPocketBase(program, dir string) *pocketBase {
	return &pocketBase{program: program, dir: filepath.Join(dir, "pocketbase"), addr: fmt.Sprintf("127.0.0.1:%d", freeFrom(0))}
}

func (p *pocketBase) name() string { return "PocketBase" }

func (p *pocketBase) prepare(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, p.program, "--dir", p.dir, "superuser", "upsert", pocketBaseName, pocketBasePassword).CombinedOutput()
	if err != nil {
		return fmt.Errorf("create an administrator: %w: %s", err, out)
	}
	return nil
}

func (p *pocketBase) command() []string {
	return []string{p.program, "--dir", p.dir, "serve", "--http", p.addr}
}

func (p *pocketBase) answers(ctx context.Context) error {
	return call(ctx, http.MethodGet, "http://"+p.addr+"/api/health", func(*http.Request) {}, nil, nil)
}

func (p *pocketBase) fill(ctx context.Context, users int) error {
	post := func(path string, body, result any) error {
		return call(ctx, http.MethodPost, "http://"+p.addr+"/api/collections"+path, bearer(p.token), body, result)
	}
	var session struct{ Token string }
	if err := post("/_superusers/auth-with-password", map[string]string{"identity": pocketBaseName, "password": pocketBasePassword}, &session); err != nil {
		return err
	}
	p.token = session.Token
	field := func(name, kind string) map[string]any { return map[string]any{"name": name, "type": kind} }
	err := post("", map[string]any{"name": "people", "type": "base", "fields": []any{field("name", "text"), field("active", "bool"), field("registered", "date")}}, nil)
	if err != nil {
		return err
	}
	return each(ctx, users, 32, func(i int) error {
		var made struct{ ID string }
		err := post("/people/records", map[string]any{"name": fmt.Sprint("User ", i), "active": true, "registered": "2026-01-01 00:00:00.000Z"}, &made)
		if err == nil && i == 0 {
			p.first = made.ID
		}
		return err
	})
}

func (p *pocketBase) admin(context.Context) (addr string, byID, page []byte, err error) {
	const records = "/api/collections/people/records"
	return p.addr, get(records+"/"+p.first, p.token), get(records+"?perPage=50", p.token), nil
}
