// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"example.org/app/bench/process"
	"example.org/app/bench/session"
	"example.org/app/bench/talk"
	"example.org/app/bench/websocket"
	"example.org/app/internal/password"
	"example.org/app/internal/store"
)

const (
	// groupID is the id of a group of the users 1 to groupSize.
	groupID, groupSize = 1, 1000
	// slowUsers is the number of users whose password is hashed with bcrypt; their ids follow those
	// of the others.
	slowUsers = 64
	// spareFiles is the number of open files that are not sessions.
	spareFiles = 200
	secret     = "secret"
)

// clientOptions describe the load.
type clientOptions struct {
	pairs, window int // how many users send to another one, and the maximum of unacknowledged messages of each
	sessions      int // number of idle sessions
	duration      time.Duration
	rounds        int
	app           string // the server, built if empty
	postgres      string // the URL of its database; SQLite if empty
}

// clients measures a server with both roles from the clients' view.
func clients(ctx context.Context, o clientOptions) error {
	dir, err := os.MkdirTemp("", "app-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	most, err := maxSessions()
	if err != nil {
		return err
	}
	o.sessions = min(o.sessions, most)
	app := o.app
	if app == "" {
		if app, err = buildApp(ctx, dir); err != nil {
			return err
		}
	}
	database, cpu := "sqlite:"+filepath.Join(dir, "data", "app.db"), (func() (time.Duration, bool))(nil)
	if o.postgres != "" {
		database = o.postgres
		watch, err := sql.Open("pgx", o.postgres)
		if err != nil {
			return err
		}
		defer watch.Close()
		cpu = func() (time.Duration, bool) { return postgresTime(ctx, watch) }
	}
	if err := fillClients(ctx, database, max(o.sessions, 2*o.pairs, groupSize)); err != nil {
		return fmt.Errorf("make the users: %w", err)
	}
	fmt.Println("\n## Clients")
	acknowledged.Store(0)
	for _, part := range []struct {
		authentication string
		measure        func(context.Context, *server, clientOptions) error
	}{{"PASSWORD", messages}, {"NOOP", idleSessions}} {
		s, err := startAll(ctx, app, dir, part.authentication, "--set=app.store.url="+database)
		if err != nil {
			return err
		}
		s.database = cpu
		err = part.measure(ctx, s, o)
		s.stop()
		if err != nil {
			return err
		}
	}
	return checkStored(ctx, database, acknowledged.Load())
}

// maxSessions returns how many sessions the limit of open files allows.
func maxSessions() (int, error) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return int(min(limit.Cur, 1<<20)) - spareFiles, err
}

// buildApp builds the server of this tree.
func buildApp(ctx context.Context, dir string) (string, error) {
	app := filepath.Join(dir, "app")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", app, "./cmd/app").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return app, nil
}

// startAll starts a server with both roles. Do not pass settings that it already sets.
func startAll(ctx context.Context, app, dir, authentication string, settings ...string) (*server, error) {
	return startGateway(ctx, app, "all", dir, authentication, append([]string{"--set=app.service.admin-api.http.port=0"}, settings...)...)
}

// startGateway starts a server that has at least the role of a gateway, without rate limits.
func startGateway(ctx context.Context, app, role, dir, authentication string, settings ...string) (*server, error) {
	const many = "2000000000"
	command := []string{
		app, role, "--home", dir,
		"--set=app.gateway.admin-api.http.port=0", "--set=app.gateway.tcp.enabled=false",
		"--set=app.gateway.websocket.host=127.0.0.1", "--set=app.gateway.websocket.port=0",
		"--set=app.gateway.client-api.rate-limiting.capacity=" + many, "--set=app.gateway.client-api.rate-limiting.initial-tokens=" + many,
		"--set=app.gateway.session.identity-access-management.type=" + authentication,
		// Clients that only receive send nothing for minutes.
		"--set=app.gateway.session.close-idle-session-after-seconds=0",
		// The load is high on purpose.
		"--set=app.health-check.cpu.unhealthy-load-threshold-percentage=100",
		"--set=app.logging.console.enabled=false",
	}
	return start(ctx, regexp.MustCompile(`clients +ws://(\S+)`), append(command, settings...)...)
}

// fillClients creates users and a group in an empty database.
func fillClients(ctx context.Context, url string, users int) (err error) {
	db, err := store.Open(ctx, store.Options{URL: url})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	fast, err := password.Hasher{Algorithm: password.SaltedSHA256}.Hash(secret)
	if err != nil {
		return err
	}
	slow, err := password.Hasher{Algorithm: password.BCrypt, Cost: 10}.Hash(secret)
	if err != nil {
		return err
	}
	now := time.Now()
	var ids []int64
	for id := range int64(users + slowUsers) {
		ids = append(ids, id+1)
	}
	for part := range slices.Chunk(ids, 1000) {
		err := db.Write(ctx, func(ctx context.Context, tx store.Tx) error {
			var list []store.User
			for _, id := range part {
				u := store.User{ID: id, Password: fast, Name: fmt.Sprintf("User %d", id), RegistrationDate: now, LastUpdatedDate: now, IsActive: true}
				if id > int64(users) {
					u.Password = slow
				}
				list = append(list, u)
			}
			if err := store.InsertUsers(ctx, tx, list...); err != nil {
				return err
			}
			_, err := store.InsertUserVersions(ctx, tx, now, part...)
			return err
		})
		if err != nil {
			return err
		}
	}
	return fillGroup(ctx, db, groupID, groupSize)
}

// fillGroup creates a group of the first users.
func fillGroup(ctx context.Context, db *store.DB, id int64, size int) error {
	now := time.Now()
	return db.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		group := store.Group{ID: id, CreatorID: 1, OwnerID: 1, Name: new("Everybody"), CreationDate: now, LastUpdatedDate: now, IsActive: true}
		if err := store.InsertGroups(ctx, tx, group); err != nil {
			return err
		}
		if err := store.InsertGroupVersion(ctx, tx, id, now, int32(size)); err != nil {
			return err
		}
		members := []store.GroupMember{{GroupUserKey: store.GroupUserKey{GroupID: id, UserID: 1}, Role: store.GroupOwner, JoinDate: now}}
		for user := int64(2); user <= int64(size); user++ {
			members = append(members, store.GroupMember{GroupUserKey: store.GroupUserKey{GroupID: id, UserID: user}, Role: store.GroupRegularMember, JoinDate: now})
		}
		for part := range slices.Chunk(members, 1000) {
			if err := store.InsertGroupMembers(ctx, tx, part...); err != nil {
				return err
			}
		}
		return nil
	})
}

// postgresTime returns the processor time of all processes of a PostgreSQL server on this machine
// so far.
func postgresTime(ctx context.Context, db *sql.DB) (used time.Duration, ok bool) {
	rows, err := db.QueryContext(ctx, "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
	if err != nil {
		return 0, false
	}
	defer rows.Close()
	for rows.Next() {
		var pid int
		if err := rows.Scan(&pid); err != nil {
			return 0, false
		}
		if backend, known := process.CPU(pid); known {
			used, ok = used+backend, true
		}
	}
	return used, ok && rows.Err() == nil
}

// acknowledged counts the messages that servers acknowledged in closed exchanges.
var acknowledged atomic.Int64

// checkStored checks that the acknowledged messages, and no others, are in the database.
func checkStored(ctx context.Context, url string, acknowledged int64) (err error) {
	db, err := store.Open(ctx, store.Options{URL: url})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var stored int64
	err = db.Read(ctx, func(ctx context.Context, r store.Reader) (err error) {
		stored, err = store.CountMessages(ctx, r, store.MessageFilter{})
		return err
	})
	if err != nil {
		return err
	}
	if stored != acknowledged {
		return fmt.Errorf("%d messages were acknowledged, but %d are stored", acknowledged, stored)
	}
	fmt.Printf("\nAll %d messages that were acknowledged are stored, each once.\n", stored)
	return nil
}

// messages measures private messages, a group and logins with bcrypt.
func messages(ctx context.Context, s *server, o clientOptions) error {
	head := []string{"load", "messages/s", "p50 of send to delivery", "p99", "CPU per message"}
	var rows [][]string
	pairs, err := newExchange(s, o.pairs)
	if err != nil {
		return err
	}
	defer pairs.close()
	describe := func(what string, r result) []string {
		return []string{what, fmt.Sprintf("%.0f", r.rate), micros(r.p50), micros(r.p99), micros(r.cpu)}
	}
	for _, window := range []int{1, o.window} {
		if _, err := pairs.run(s, window, 0, o.duration/2); err != nil { // warm up
			return err
		}
		var results []result
		for range o.rounds {
			r, err := pairs.run(s, window, 0, o.duration)
			if err != nil {
				return err
			}
			results = append(results, r)
		}
		most := median(results)
		rows = append(rows, describe(fmt.Sprintf("%d pairs, %d on the way each", o.pairs, window), most))
		if window == o.window {
			r, err := pairs.run(s, talk.MaxWindow, most.rate/2, o.duration)
			if err != nil {
				return err
			}
			rows = append(rows, describe("half of that, paced", r))
		}
	}
	table("Private messages, stored and delivered", head, rows)
	r, err := fanOut(s, o, groupID, groupSize)
	if err != nil {
		return err
	}
	table(fmt.Sprintf("A group of %d members who are online", groupSize), []string{"messages/s", "deliveries/s", "CPU per delivery"},
		[][]string{{fmt.Sprintf("%.1f", r.rate/(groupSize-1)), fmt.Sprintf("%.0f", r.rate), fmt.Sprintf("%.2f µs", float64(r.cpu.Nanoseconds())/1000)}})
	rate, err := bcryptLogins(s, max(o.sessions, 2*o.pairs, groupSize))
	if err != nil {
		return err
	}
	table("Logins with bcrypt of cost 10", []string{"logins/s"}, [][]string{{fmt.Sprintf("%.1f", rate)}})
	return ctx.Err()
}

// idleSessions opens sessions and measures the memory of the server.
func idleSessions(ctx context.Context, s *server, o clientOptions) error {
	before, err := process.Resident(s.pid)
	if err != nil {
		return err
	}
	var sockets []*websocket.Socket
	defer func() {
		for _, c := range sockets {
			c.Close()
		}
	}()
	used, _ := process.CPU(s.pid)
	begin := time.Now()
	if sockets, err = connect(s, 0, o.sessions, 64); err != nil {
		return err
	}
	took := time.Since(begin)
	now, _ := process.CPU(s.pid)
	opened, err := process.Resident(s.pid)
	if err != nil {
		return err
	}
	select {
	case <-time.After(settleTime):
	case <-ctx.Done():
		return ctx.Err()
	}
	settled, err := process.Resident(s.pid)
	if err != nil {
		return err
	}
	n := o.sessions
	table(fmt.Sprintf("%d idle WebSocket sessions, logged in without a password", n),
		[]string{"logins/s", "CPU per login", "memory before", "after the last login", "after " + settleTime.String(), "per session"},
		[][]string{{
			fmt.Sprintf("%.0f", float64(n)/took.Seconds()), micros((now - used) / time.Duration(n)),
			fmt.Sprintf("%d MB", before>>20), fmt.Sprintf("%d MB", opened>>20), fmt.Sprintf("%d MB", settled>>20),
			fmt.Sprintf("%.1f KB", float64(settled-before)/float64(n)/1024),
		}})
	return nil
}

// settleTime is how long sessions are idle before their memory is measured.
const settleTime = 30 * time.Second

// connect logs in the users after the given id, several at a time.
func connect(s *server, after, count, parallel int) ([]*websocket.Socket, error) {
	sockets := make([]*websocket.Socket, count)
	var next atomic.Int64
	var wg sync.WaitGroup
	failures := make([]error, parallel)
	for p := range parallel {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < count && failures[p] == nil; i = int(next.Add(1)) - 1 {
				sockets[i], failures[p] = session.Open(s.addr, int64(after+i+1), secret)
			}
		})
	}
	wg.Wait()
	return sockets, errors.Join(failures...)
}

func bcryptLogins(s *server, after int) (rate float64, err error) {
	begin := time.Now()
	sockets, err := connect(s, after, slowUsers, 8)
	took := time.Since(begin)
	for _, c := range sockets {
		if c != nil {
			c.Close()
		}
	}
	return slowUsers / took.Seconds(), err
}
