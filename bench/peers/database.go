// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"example.org/app/bench/process"
	"example.org/app/internal/store/pgserver"
)

// A database is the PostgreSQL server that all servers share.
type database struct {
	server *pgserver.Server
	admin  *pgx.Conn
	pid    int
	port   int
}

// startDatabase starts a server whose commits are durable, with enough memory for all data.
func startDatabase() (db *database, err error) {
	f, err := pgserver.New("")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, errors.Join(err, f.Remove())
	}
	server, err := f.Start(true,
		pgserver.Setting{Name: "listen_addresses", Value: "127.0.0.1"}, pgserver.Setting{Name: "port", Value: strconv.Itoa(port)},
		pgserver.Setting{Name: "fsync", Value: "on"}, pgserver.Setting{Name: "synchronous_commit", Value: "on"},
		pgserver.Setting{Name: "full_page_writes", Value: "on"}, pgserver.Setting{Name: "max_connections", Value: "500"},
		pgserver.Setting{Name: "shared_buffers", Value: "256MB"}, pgserver.Setting{Name: "max_wal_size", Value: "4GB"},
	)
	if err != nil {
		return nil, err
	}
	db = &database{server: server, port: port}
	db.pid, err = server.PID()
	if err == nil {
		db.admin, err = pgx.Connect(context.Background(), db.url("postgres"))
	}
	if err != nil {
		return nil, errors.Join(err, server.Stop())
	}
	return db, nil
}

func (db *database) stop() error {
	return errors.Join(db.admin.Close(context.Background()), db.server.Stop())
}

// url returns the URL of a database.
func (db *database) url(name string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword("postgres", "postgres"), Host: fmt.Sprintf("127.0.0.1:%d", db.port), Path: "/" + name, RawQuery: "sslmode=disable"}
	return u.String()
}

// create creates an empty database.
func (db *database) create(ctx context.Context, name string) error {
	_, err := db.admin.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	return err
}

// count queries a number from a database.
func (db *database) count(ctx context.Context, name, query string) (n int64, err error) {
	conn, err := pgx.Connect(ctx, db.url(name))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	return n, conn.QueryRow(ctx, query).Scan(&n)
}

// cpu returns the processor time of its processes so far.
func (db *database) cpu() time.Duration {
	used, _ := process.TreeCPU(db.pid)
	return used
}
