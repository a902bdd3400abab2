// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync/atomic"
	"time"
)

// auditedUsers is how many users there are to change: one for each connection.
const auditedUsers = 64

// benchAudit compares writes of an administrator with and without the audit
// trail: two servers, each with an SQLite file of its own, taken in turns.
func benchAudit(ctx context.Context, duration time.Duration, rounds int) error {
	dir, err := os.MkdirTemp("", "app-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	app := filepath.Join(dir, "app")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", app, "./cmd/app").CombinedOutput(); err != nil {
		return fmt.Errorf("build the server: %w\n%s", err, out)
	}
	servers := map[bool]*server{}
	for _, audit := range []bool{false, true} {
		s, err := start(ctx, regexp.MustCompile(`service +admin interface +http://(\S+)`), app, "service",
			"--home", filepath.Join(dir, strconv.FormatBool(audit)), fmt.Sprintf("--set=app.audit.enabled=%t", audit),
			"--set=app.service.admin-api.http.host=127.0.0.1", "--set=app.service.admin-api.http.port=0", "--set=app.console.port=0",
			"--set=app.service.admin-api.rate-limiting.capacity=2000000000", "--set=app.service.admin-api.rate-limiting.initial-tokens=2000000000",
			"--set=app.logging.console.enabled=false")
		if err != nil {
			return err
		}
		defer s.stop()
		servers[audit] = s
		for id := 1; id <= auditedUsers; id++ {
			if err := post(ctx, "http://"+s.addr+"/users", fmt.Appendf(nil, `{"id":%d,"name":"n"}`, id)); err != nil {
				return err
			}
		}
	}
	var next atomic.Int64 // No name comes twice, so that each request changes something.
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
	}
	var rows [][]string
	for _, kind := range kinds {
		for _, connections := range []int{1, 32} {
			measured := map[bool][]result{}
			for _, s := range servers {
				loadEach(s, kind.request, connections, duration/4) // warm up
			}
			for range rounds {
				for _, audit := range []bool{false, true} {
					measured[audit] = append(measured[audit], loadEach(servers[audit], kind.request, connections, duration))
				}
			}
			without, with := median(measured[false]), median(measured[true])
			rows = append(rows, row(connections, kind.name+" without", without, without), row(connections, kind.name+" with audit trail", with, without))
		}
	}
	table("Writes of an administrator with and without the audit trail, SQLite", []string{"connections", "server", "requests/s", "p50", "p99", "CPU per request", "ratio"}, rows)
	return nil
}

// adminWrite is a request of the root administrator.
func adminWrite(method, target, body string) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic YXBwOmFwcA==\r\nContent-Length: %d\r\n\r\n%s", method, target, len(body), body)
}
