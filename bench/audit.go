// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync/atomic"
	"time"
)

// auditOptions are the settings of the audit part.
type auditOptions struct {
	duration time.Duration
	rounds   int
	postgres string // URL of a PostgreSQL database on this machine, or ""
}

// auditedUsers is the number of users to change: one per connection.
const auditedUsers = 64

// benchAudit compares writes of an administrator with and without the audit trail: it alternates
// between two servers, each with its own database, and then measures the cost of a row of the trail
// without any server. The databases are SQLite files, or are created next to the PostgreSQL
// database of the URL and dropped at the end.
func benchAudit(ctx context.Context, o auditOptions) error {
	dir, err := os.MkdirTemp("", "app-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	app, err := buildApp(ctx, dir)
	if err != nil {
		return err
	}
	engine := "SQLite"
	if o.postgres != "" {
		engine = "PostgreSQL"
	}
	servers := map[bool]*server{}
	for _, audit := range []bool{false, true} {
		database, used, remove, err := auditDatabase(ctx, o.postgres, dir, strconv.FormatBool(audit))
		if err != nil {
			return fmt.Errorf("make a database: %w", err)
		}
		defer remove()
		s, err := start(ctx, regexp.MustCompile(`service +admin interface +http://(\S+)`), app, "service",
			"--home", filepath.Join(dir, strconv.FormatBool(audit)), fmt.Sprintf("--set=app.audit.enabled=%t", audit), "--set=app.store.url="+database,
			"--set=app.service.admin-api.http.host=127.0.0.1", "--set=app.service.admin-api.http.port=0", "--set=app.console.port=0",
			"--set=app.service.admin-api.rate-limiting.capacity=2000000000", "--set=app.service.admin-api.rate-limiting.initial-tokens=2000000000",
			"--set=app.logging.console.enabled=false")
		if err != nil {
			return err
		}
		defer s.stop()
		s.database = used
		servers[audit] = s
		for id := 1; id <= auditedUsers; id++ {
			if err := post(ctx, "http://"+s.addr+"/users", fmt.Appendf(nil, `{"id":%d,"name":"n"}`, id)); err != nil {
				return err
			}
		}
	}
	var next atomic.Int64 // Every name is unique, so that each request changes something.
	next.Store(1000)
	kinds := []struct {
		name    string
		request func(connection, n int) []byte
	}{
		{"PUT /users", func(connection, _ int) []byte {
			return adminWrite("PUT", fmt.Sprintf("/users?ids=%d", connection+1), fmt.Sprintf(`{"name":"n%d"}`, next.Add(1)))
		}},
		{"POST /users", func(int, int) []byte {
			return adminWrite("POST", "/users", fmt.Sprintf(`{"id":%d,"name":"n"}`, next.Add(1)))
		}},
		{"POST /groups", func(connection, _ int) []byte {
			return adminWrite("POST", "/groups", fmt.Sprintf(`{"creatorId":%d,"name":"g%d"}`, connection+1, next.Add(1)))
		}},
		{"POST /blocked-clients/users", func(int, int) []byte {
			return adminWrite("POST", "/blocked-clients/users", fmt.Sprintf(`{"ids":[%d],"blockDurationMillis":3600000}`, next.Add(1)))
		}},
		{"PUT /cluster/settings", func(int, int) []byte {
			return adminWrite("PUT", "/cluster/settings", fmt.Sprintf(`{"service":{"user":{"info":{"maxIntroLength":%d}}}}`, next.Add(1)))
		}},
	}
	var rows [][]string
	for _, kind := range kinds {
		for _, connections := range []int{1, 32} {
			cost := auditCost{measured: map[bool][]result{}}
			for _, s := range servers {
				loadEach(s, kind.request, connections, o.duration) // warm up
			}
			for round := range o.rounds {
				cost.add(round, func(audit bool) result { return loadEach(servers[audit], kind.request, connections, o.duration) })
			}
			rows = append(rows, cost.rows(connections, kind.name)...)
		}
	}
	table("Writes of an administrator with and without the audit trail, "+engine,
		[]string{"connections", "server", "requests/s", "p50", "p99", "CPU per request", "ratio of requests/s", "95 % interval", "ratio of CPU", "95 % interval"}, rows)
	database, _, remove, err := auditDatabase(ctx, o.postgres, dir, "row")
	if err != nil {
		return fmt.Errorf("make a database: %w", err)
	}
	defer remove()
	return benchAuditRow(ctx, database, o.duration, o.rounds)
}

// auditCost is the cost of the audit trail for one kind of request.
type auditCost struct {
	measured map[bool][]result
	// rates and cpus are the ratios of the two servers in each round, because other load on the
	// machine changes slowly.
	rates, cpus []float64
}

// add measures both servers, in alternating order.
func (c *auditCost) add(round int, measure func(audit bool) result) {
	var got [2]result
	for _, turn := range []int{round % 2, 1 - round%2} {
		got[turn] = measure(turn == 1)
		c.measured[turn == 1] = append(c.measured[turn == 1], got[turn])
	}
	c.rates = append(c.rates, got[1].rate/got[0].rate)
	c.cpus = append(c.cpus, float64(got[1].cpu)/float64(got[0].cpu))
}

func (c *auditCost) rows(connections int, name string) [][]string {
	without, with := median(c.measured[false]), median(c.measured[true])
	rate, rateInterval := medianRatio(c.rates)
	cpu, cpuInterval := medianRatio(c.cpus)
	return [][]string{
		append(row(connections, name+" without", without, without)[:6], "", "", "", ""),
		append(row(connections, name+" with audit trail", with, without)[:6], rate, rateInterval, cpu, cpuInterval),
	}
}

// auditDatabase creates an empty database. It returns its URL, a function for the processor time of
// its processes (nil for SQLite, which has none) and a function that drops it.
func auditDatabase(ctx context.Context, postgres, dir, name string) (string, func() (time.Duration, bool), func(), error) {
	if postgres == "" {
		return "sqlite:" + filepath.Join(dir, "audit-"+name+".db"), nil, func() {}, nil
	}
	u, err := url.Parse(postgres)
	if err != nil {
		return "", nil, nil, err
	}
	db, err := sql.Open("pgx", postgres)
	if err != nil {
		return "", nil, nil, err
	}
	name = fmt.Sprintf("bench_audit_%s_%d", name, os.Getpid())
	if _, err := db.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		return "", nil, nil, errors.Join(err, db.Close())
	}
	u.Path = "/" + name
	remove := func() {
		_, _ = db.ExecContext(context.WithoutCancel(ctx), "DROP DATABASE "+name+" WITH (FORCE)")
		_ = db.Close()
	}
	return u.String(), func() (time.Duration, bool) { return postgresTime(ctx, db) }, remove, nil
}

// adminWrite returns a request of the root administrator.
func adminWrite(method, target, body string) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic YXBwOmFwcA==\r\nContent-Length: %d\r\n\r\n%s", method, target, len(body), body)
}
