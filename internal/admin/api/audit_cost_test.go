// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"testing"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/api"
	"example.org/app/internal/audit"
	"example.org/app/internal/config"
	"example.org/app/internal/ids"
	"example.org/app/internal/im/blocklist"
	"example.org/app/internal/im/user"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
	"example.org/app/test/need"
)

// TestAuditedWriteCost counts what the audit trail adds to a write: one statement, the insertion of
// the row, and a few allocations.
func TestAuditedWriteCost(t *testing.T) {
	need.Time(t)
	for _, engine := range []struct {
		name string
		open func(testing.TB) *store.DB
		// allocations bounds what the trail adds; the driver of PostgreSQL makes more for the row.
		allocations float64
	}{{"SQLite", storetest.SQLite, 46}, {"PostgreSQL", storetest.PostgreSQL, 70}} {
		t.Run(engine.name, func(t *testing.T) {
			without, with := newCounted(t, engine.open(t), false), newCounted(t, engine.open(t), true)
			for _, operation := range []struct{ id, input string }{
				{"createUser", `{"body":{"id":%d,"name":"n"}}`},
				{"updateUsers", `{"ids":[1001],"body":{"name":"n%d"}}`},
				{"createBlockedUsers", `{"body":{"ids":[%d],"blockDurationMillis":3600000}}`},
			} {
				plainStatements, plainAllocations := without.count(t, operation.id, operation.input)
				statements, allocations := with.count(t, operation.id, operation.input)
				t.Logf("%s: %v statements, %v with the trail; %v allocations, %v with the trail", operation.id, plainStatements, statements, plainAllocations, allocations)
				if statements != plainStatements+1 {
					t.Errorf("%s takes %v statements, and %v with the trail", operation.id, plainStatements, statements)
				}
				if !raceDetector && allocations > plainAllocations+engine.allocations { // It makes pools forget.
					t.Errorf("%s takes %v allocations, and %v with the trail", operation.id, plainAllocations, allocations)
				}
			}
		})
	}
}

// counted is an admin interface whose writes are counted.
type counted struct {
	db   *store.DB
	api  *admin.API
	last int // number in the input of an operation
}

func newCounted(t *testing.T, db *store.DB, audited bool) *counted {
	t.Helper()
	a, _ := newWriting(t, db, audited)
	return &counted{db: db, api: a, last: 1000}
}

// newWriting returns an admin interface without a network, for operations that write users and
// blocks, and an audit trail, which it has if it is audited.
func newWriting(tb testing.TB, db *store.DB, audited bool) (*admin.API, *audit.Trail) {
	tb.Helper()
	generator, err := ids.New(1)
	if err != nil {
		tb.Fatal(err)
	}
	settings := config.Default().Service.User
	users := user.New(user.Options{Store: db, IDs: generator, Settings: func() config.User { return settings }})
	blocked, err := blocklist.NewUsers(tb.Context(), blocklist.Options{Store: db, Enabled: func() bool { return true }})
	if err != nil {
		tb.Fatal(err)
	}
	opts := admin.Options{
		Translate: store.Code, Settings: func() *admin.Settings { return &admin.Settings{} }, Logger: slog.New(slog.DiscardHandler),
	}
	trail := audit.New(audit.Options{Store: db, NextID: generator.Next, NodeID: "node1", MaxChangeBytes: 16 << 10, MaxRefusedPerMinute: 100})
	if audited {
		opts.Trail = api.NewTrail(trail)
	}
	return admin.New(opts, api.ServiceOperations(api.Service{Users: users, BlockedUsers: blocked})...), trail
}

// count returns what an operation takes on average; of several averages the least, because other
// goroutines of the process allocate, too.
func (c *counted) count(t *testing.T, operation, input string) (statements, allocations float64) {
	t.Helper()
	ctx, root := context.Background(), admin.ByRoot("app")
	run := func() {
		c.last++
		if _, err := c.api.Invoke(ctx, root, operation, fmt.Appendf(nil, input, c.last)); err != nil {
			t.Fatal(err)
		}
	}
	run() // What is made for the first one is used again.
	const rounds, runs = 5, 50
	before := c.db.Stats().Statements
	allocations = math.Inf(1)
	for range rounds {
		allocations = min(allocations, testing.AllocsPerRun(runs, run))
	}
	return float64(c.db.Stats().Statements-before) / (rounds * (runs + 1)), allocations
}
