// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
)

// documented returns the first code block of a kind under a heading of docs/deployment.md.
func documented(t *testing.T, heading, kind string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/deployment.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## "+heading+"\n")
	_, block, ok := strings.Cut(section, "```"+kind+"\n")
	block, _, ended := strings.Cut(block, "```")
	if !found || !ok || !ended {
		t.Fatalf("docs/deployment.md has no block %q under %q", kind, heading)
	}
	return block
}

// documentedURL returns the documented URL of a database with two servers.
func documentedURL(t *testing.T) string {
	t.Helper()
	_, text, found := strings.Cut(documented(t, "Failover of PostgreSQL", "sh"), "APP_STORE_URL='")
	text, _, ended := strings.Cut(text, "'")
	if !found || !ended || !strings.HasPrefix(text, documentedHosts) {
		t.Fatalf("docs/deployment.md exports no URL for two servers: %q", text)
	}
	return text
}

// documentedHosts is the prefix of the documented URL.
const documentedHosts = "postgres://app@database-0,database-1/app?"

// bothHosts returns the documented URL with the addresses of two servers of the test.
func bothHosts(t *testing.T, first, second string) string {
	t.Helper()
	host := func(text string) string {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return url.QueryEscape(u.Query().Get("host"))
	}
	return strings.Replace(documentedURL(t), documentedHosts, "postgres://postgres@/postgres?host="+host(first)+","+host(second)+"&", 1)
}

// query runs a statement directly on the database and returns the first value of its result.
func query[T any](t *testing.T, database, statement string) (value T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), statement).Scan(&value); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return value
}

// TestDatabaseFailsOver kills the primary of two PostgreSQL servers while users send messages and
// log in, and promotes the other one, which is a synchronous standby as documented: no acknowledged
// write is lost, and writes succeed again.
func TestDatabaseFailsOver(t *testing.T) {
	beside(t)
	nats, primary := clustertest.StartServer(t), storetest.StartServer(t)
	standby := primary.StartReplica(t)
	for statement := range strings.SplitSeq(strings.TrimSpace(documented(t, "Failover of PostgreSQL", "sql")), "\n") {
		conn, err := pgx.Connect(t.Context(), primary.URL())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		conn.Close(t.Context())
	}
	eventually(t, "commits wait for the standby", func() bool {
		return query[int](t, primary.URL(), "SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')") == 1
	})
	database := bothHosts(t, primary.URL(), standby.URL())
	set := append([]string{"app.store.url=" + database, "app.cluster.nats.url=" + nats.URL(), "app.store.timeout-millis=10000"}, openClients...)
	services := []*process{start(t, "service", "service-0", set...), start(t, "service", "service-1", set...)}
	gateways := []*process{start(t, "gateway", "gateway-0", set...), start(t, "gateway", "gateway-1", set...)}
	const senders = 6
	createUsers(t, services[0], 3*senders)
	tr := newTraffic(t, senders, 4, gateways[0], gateways[1])
	logins := newLogins(t, 2*senders+1, senders, gateways)
	tr.progress("before the primary is killed")
	primary.Kill(t)
	promoted := time.Now()
	query[bool](t, standby.URL(), "SELECT pg_promote()")
	tr.progress("after the standby was promoted")
	t.Logf("40 messages of every sender were acknowledged %v after the primary was killed", time.Since(promoted).Round(time.Millisecond))
	logins.progress("after the standby was promoted")
	logins.end()
	tr.settle(database, mayBeUnknown)
	t.Log(logins)
	if stop := tr.history.acknowledgements.stop(); stop > 15*time.Second {
		t.Errorf("for %v nothing was acknowledged", stop)
	}
	for _, s := range services {
		eventually(t, s.name+" is healthy", func() bool {
			status, _ := s.call("GET", "/health", "")
			return status == 200
		})
	}
}
