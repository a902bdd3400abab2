// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"example.org/app/bench/process"
	"example.org/app/bench/websocket"
	"example.org/app/internal/store"
	"example.org/app/internal/store/pgserver"
)

// The numbers of each quantity.
var (
	storedMessages = []int{10_000, 1_000_000, 10_000_000}
	groupSizes     = []int{10, 100, 1000, 10_000}
	idleCounts     = []int{1000, 4000, 10_000, 18_000}
	pluginCounts   = []int{0, 1, 5, 10, 20}
	serviceCounts  = []int{1, 2, 4}
)

// growth measures how the server's performance depends on quantities.
type growth struct {
	clientOptions
	dir, charts string
	// postgres is the server of the databases; each measurement has its own database.
	postgres  *sql.DB
	databases int
	folder    pgserver.Folder
}

// A storageEngine creates databases.
type storageEngine struct {
	name string
	make func(ctx context.Context) (url string, err error)
}

// benchGrowth measures both engines, prints tables and draws charts into a folder, if one is given.
func benchGrowth(ctx context.Context, o clientOptions, charts string) (err error) {
	g := &growth{clientOptions: o, charts: charts}
	if g.dir, err = os.MkdirTemp("", "app-bench"); err != nil {
		return err
	}
	defer os.RemoveAll(g.dir)
	if g.app == "" {
		if g.app, err = buildApp(ctx, g.dir); err != nil {
			return err
		}
	}
	if g.folder, err = pgserver.New(""); err != nil {
		return err
	}
	set := func(name, value string) pgserver.Setting { return pgserver.Setting{Name: name, Value: value} }
	server, err := g.folder.Start(true, pgserver.Private, set("fsync", "on"), set("synchronous_commit", "on"), set("full_page_writes", "on"),
		set("shared_buffers", "256MB"), set("max_wal_size", "4GB"), set("max_connections", "200"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	if g.postgres, err = sql.Open("pgx", g.folder.URL().String()); err != nil {
		return err
	}
	defer g.postgres.Close()
	fmt.Println("\n## Growth")
	for _, measure := range []func(context.Context) error{g.stored, g.groups, g.connections, g.plugins, g.services} {
		if err := measure(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (g *growth) engines() []storageEngine {
	return []storageEngine{
		{"SQLite", func(context.Context) (string, error) {
			g.databases++
			return "sqlite:" + filepath.Join(g.dir, fmt.Sprintf("%d.db", g.databases)), nil
		}},
		{"PostgreSQL", func(ctx context.Context) (string, error) {
			g.databases++
			name := fmt.Sprintf("bench%d", g.databases)
			_, err := g.postgres.ExecContext(ctx, "CREATE DATABASE "+name)
			u := g.folder.URL()
			u.Path = "/" + name
			return u.String(), err
		}},
	}
}

// drop drops a database.
func (g *growth) drop(ctx context.Context, address string) error {
	if file, ok := strings.CutPrefix(address, "sqlite:"); ok {
		return errors.Join(os.Remove(file), removeIfThere(file+"-wal"), removeIfThere(file+"-shm"))
	}
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	_, err = g.postgres.ExecContext(ctx, "DROP DATABASE "+strings.TrimPrefix(u.Path, "/")+" WITH (FORCE)")
	return err
}

func removeIfThere(file string) error {
	if err := os.Remove(file); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// with runs a server with both roles on a database with users, to which prepare may add, and drops
// the database.
func (g *growth) with(ctx context.Context, e storageEngine, users int, prepare func(url string) error, use func(*server) error, settings ...string) (err error) {
	address, err := e.make(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.drop(ctx, address)) }()
	if err := fillClients(ctx, address, max(users, 2*g.pairs, groupSize)); err != nil {
		return fmt.Errorf("make the users: %w", err)
	}
	if prepare != nil {
		if err := prepare(address); err != nil {
			return err
		}
	}
	s, err := startAll(ctx, g.app, filepath.Join(g.dir, "home"), "PASSWORD", append(settings, "--set=app.store.url="+address)...)
	if err != nil {
		return err
	}
	defer s.stop()
	g.account(ctx, s, address)
	return use(s)
}

// account adds the processor time of PostgreSQL to that of the server.
func (g *growth) account(ctx context.Context, s *server, address string) {
	if !strings.HasPrefix(address, "sqlite:") {
		s.database = func() (time.Duration, bool) { return postgresTime(ctx, g.postgres) }
	}
}

// exchangeOn measures private messages on a server.
func (g *growth) exchangeOn(s *server) (result, error) {
	pairs, err := newExchange(s, g.pairs)
	if err != nil {
		return result{}, err
	}
	defer pairs.close()
	if _, err := pairs.run(s, g.window, 0, g.duration/2); err != nil { // warm up
		return result{}, err
	}
	var results []result
	for range g.rounds {
		r, err := pairs.run(s, g.window, 0, g.duration)
		if err != nil {
			return result{}, err
		}
		results = append(results, r)
	}
	return median(results), nil
}

// show prints a chart as a table and draws it. notes are further measurements of each point, under
// notesHead.
func (g *growth) show(c chart, notesHead string, notes [][]string) error {
	head := []string{c.x}
	for _, curve := range c.curves {
		head = append(head, c.y+", "+curve.name, notesHead+", "+curve.name)
	}
	var rows [][]string
	for i, p := range c.curves[0].points {
		row := []string{fmt.Sprintf("%.0f", p.x)}
		for j, curve := range c.curves {
			row = append(row, fmt.Sprintf("%.0f", curve.points[i].y), notes[j][i])
		}
		rows = append(rows, row)
	}
	table(c.title, head, rows)
	if g.charts == "" {
		return nil
	}
	return c.write(g.charts)
}

// series measures each engine at each value.
func (g *growth) series(ctx context.Context, c chart, notesHead string, values []int, measure func(ctx context.Context, e storageEngine, values []int) ([]result, []string, error)) error {
	var notes [][]string
	for _, e := range g.engines() {
		results, said, err := measure(ctx, e, values)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", c.title, e.name, err)
		}
		curve := curve{name: e.name}
		for i, r := range results {
			curve.points = append(curve.points, point{float64(values[i]), r.rate})
		}
		c.curves = append(c.curves, curve)
		notes = append(notes, said)
	}
	return g.show(c, notesHead, notes)
}

// each measures every value on a separate server.
func each(values []int, measure func(n int) (result, string, error)) (results []result, notes []string, err error) {
	for _, n := range values {
		r, note, err := measure(n)
		if err != nil {
			return nil, nil, err
		}
		results, notes = append(results, r), append(notes, note)
	}
	return results, notes, nil
}

const cpuHead = "CPU per message"

// stored measures messages depending on the number of stored ones.
func (g *growth) stored(ctx context.Context) error {
	c := chart{file: "growth-stored", title: "Private messages, by how many are stored", x: "stored messages", y: "messages/s"}
	return g.series(ctx, c, cpuHead, storedMessages, func(ctx context.Context, e storageEngine, values []int) ([]result, []string, error) {
		return each(values, func(n int) (r result, note string, err error) {
			err = g.with(ctx, e, 0, func(address string) error { return fillMessages(ctx, address, n) }, func(s *server) (err error) {
				r, err = g.exchangeOn(s)
				return err
			})
			return r, micros(r.cpu), err
		})
	})
}

// groups measures deliveries to groups.
func (g *growth) groups(ctx context.Context) error {
	c := chart{file: "growth-groups", title: "Messages to a group, by its members, all of them online", x: "members", y: "deliveries/s"}
	return g.series(ctx, c, "CPU per delivery", groupSizes, func(ctx context.Context, e storageEngine, values []int) (results []result, notes []string, err error) {
		prepare := func(address string) error {
			return withStore(ctx, address, func(db *store.DB) error {
				for _, n := range values {
					if err := fillGroup(ctx, db, int64(groupID+n), n); err != nil {
						return err
					}
				}
				return nil
			})
		}
		err = g.with(ctx, e, values[len(values)-1], prepare, func(s *server) error {
			results, notes, err = each(values, func(n int) (result, string, error) {
				r, err := fanOut(s, g.clientOptions, int64(groupID+n), n)
				return r, nanos(r.cpu), err
			})
			return err
		})
		return results, notes, err
	})
}

// connections measures messages depending on the number of idle sessions, and the memory of these.
func (g *growth) connections(ctx context.Context) error {
	most, err := maxSessions()
	if err != nil {
		return err
	}
	var values []int
	for _, n := range idleCounts {
		if n += 2 * g.pairs; n <= most {
			values = append(values, n-2*g.pairs)
		}
	}
	c := chart{file: "growth-connections", title: "Private messages, by how many sessions are idle", x: "idle sessions", y: "messages/s"}
	return g.series(ctx, c, "memory of a session", values, func(ctx context.Context, e storageEngine, values []int) (results []result, notes []string, err error) {
		users := values[len(values)-1] + 2*g.pairs
		err = g.with(ctx, e, users, nil, func(s *server) error {
			before, err := process.Resident(s.pid)
			if err != nil {
				return err
			}
			var idle []*websocket.Socket
			defer func() { disconnect(idle) }()
			results, notes, err = each(values, func(n int) (result, string, error) {
				more, err := connect(s, 2*g.pairs+len(idle), n-len(idle), 64)
				idle = append(idle, more...)
				if err != nil {
					return result{}, "", err
				}
				time.Sleep(settleTime / 3)
				now, err := process.Resident(s.pid)
				if err != nil {
					return result{}, "", err
				}
				r, err := g.exchangeOn(s)
				return r, fmt.Sprintf("%.1f KB", float64(now-before)/float64(n)/1024), err
			})
			return err
		})
		return results, notes, err
	})
}

// plugins measures messages that pass through several plugins in turn.
func (g *growth) plugins(ctx context.Context) error {
	c := chart{file: "growth-plugins", title: "Private messages, by how many JavaScript plugins change each", x: "plugins", y: "messages/s"}
	return g.series(ctx, c, cpuHead, pluginCounts, func(ctx context.Context, e storageEngine, values []int) ([]result, []string, error) {
		return each(values, func(n int) (r result, note string, err error) {
			folder, err := os.MkdirTemp(g.dir, "plugins")
			if err != nil {
				return r, "", err
			}
			for i := range n {
				script := strings.Replace(string(pluginScript(1)), "'bench'", fmt.Sprintf("'bench%d'", i), 1)
				if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("bench%d.js", i)), []byte(script), 0o600); err != nil {
					return r, "", err
				}
			}
			err = g.with(ctx, e, 0, nil, func(s *server) (err error) {
				r, err = g.exchangeOn(s)
				return err
			}, "--set=app.plugin.dir="+folder)
			return r, micros(r.cpu), err
		})
	})
}

// services measures a gateway with several services on PostgreSQL.
func (g *growth) services(ctx context.Context) error {
	e := g.engines()[1]
	results, notes, err := each(serviceCounts, func(n int) (r result, note string, err error) {
		address, err := e.make(ctx)
		if err != nil {
			return r, "", err
		}
		defer func() { err = errors.Join(err, g.drop(ctx, address)) }()
		if err := fillClients(ctx, address, max(2*g.pairs, groupSize)); err != nil {
			return r, "", err
		}
		s, err := g.startCluster(ctx, address, n)
		if err != nil {
			return r, "", err
		}
		defer s.stop()
		r, err = g.exchangeOn(s)
		return r, micros(r.cpu), err
	})
	if err != nil {
		return err
	}
	c := chart{file: "growth-services", title: "Private messages, by how many services one gateway has, on one machine", x: "services", y: "messages/s"}
	c.curves = []curve{{name: e.name}}
	for i, r := range results {
		c.curves[0].points = append(c.curves[0].points, point{float64(serviceCounts[i]), r.rate})
	}
	return g.show(c, "CPU per message of all processes", [][]string{notes})
}

// startCluster starts services, the first of which runs NATS, and a gateway, each in its own
// process. The result is the gateway, with the processor time of the others.
func (g *growth) startCluster(ctx context.Context, address string, services int) (_ *server, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	fabric := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, err
	}
	common := []string{"--set=app.store.url=" + address, "--set=app.cluster.nats.token=" + secret}
	var running []*server
	stop := func() {
		for i := len(running) - 1; i >= 0; i-- {
			running[i].stop()
		}
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	for i := range services {
		command := append([]string{
			g.app, "service", "--home", filepath.Join(g.dir, fmt.Sprintf("service%d", i)), "--set=app.service.admin-api.http.port=0",
			"--set=app.logging.console.enabled=false", "--set=app.health-check.cpu.unhealthy-load-threshold-percentage=100",
		}, common...)
		if i == 0 {
			command = append(command, "--set=app.cluster.nats.listen="+fabric)
		} else {
			command = append(command, "--set=app.cluster.nats.url=nats://"+fabric)
		}
		s, err := start(ctx, regexp.MustCompile(`admin interface +http://(\S+)`), command...)
		if err != nil {
			return nil, err
		}
		running = append(running, s)
	}
	gateway, err := startGateway(ctx, g.app, "gateway", filepath.Join(g.dir, "gateway"), "PASSWORD", append(common, "--set=app.cluster.nats.url=nats://"+fabric)...)
	if err != nil {
		return nil, err
	}
	others := running
	running = append(running, gateway)
	return &server{addr: gateway.addr, pid: gateway.pid, stop: stop, database: func() (time.Duration, bool) {
		used, ok := postgresTime(ctx, g.postgres)
		for _, s := range others {
			one, known := process.CPU(s.pid)
			used, ok = used+one, ok && known
		}
		return used, ok
	}}, nil
}

// withStore opens a database, calls use and closes it.
func withStore(ctx context.Context, address string, use func(*store.DB) error) error {
	db, err := store.Open(ctx, store.Options{URL: address})
	if err != nil {
		return err
	}
	return errors.Join(use(db), db.Close())
}
