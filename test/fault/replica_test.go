// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"strings"
	"testing"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
)

// TestReplicaServesAdministrators reads at one service what an administrator has just written at
// another one. Reads use a replica, which is killed and restarted meanwhile.
func TestReplicaServesAdministrators(t *testing.T) {
	beside(t)
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	follower := db.StartReplica(t)
	set := []string{
		"app.store.url=" + db.URL(), "app.store.replica-url=" + follower.URL(), "app.store.max-replica-lag-millis=2000",
		"app.store.timeout-millis=10000", "app.cluster.nats.url=" + nats.URL(),
	}
	services := []*process{start(t, "service", "service-0", set...), start(t, "service", "service-1", set...)}
	health := func(want string) {
		t.Helper()
		eventually(t, "the replica is "+want, func() bool {
			for _, s := range services {
				if status, body := s.call("GET", "/health", ""); status != 200 || !strings.Contains(body, `"name":"replica","status":"`+want+`"`) {
					return false
				}
			}
			return true
		})
	}
	served := func(p *process) (n float64) {
		t.Helper()
		_, body := p.call("GET", "/metrics/prometheus?names=store_replica_queries_total", "")
		for line := range strings.Lines(body) {
			if !strings.HasPrefix(line, "#") {
				_, value, _ := strings.Cut(strings.TrimSpace(line), " ")
				if _, err := fmt.Sscan(value, &n); err != nil {
					t.Errorf("%q: %v", line, err)
				}
			}
		}
		return n
	}
	id := 0
	write := func(n int) {
		t.Helper()
		for range n {
			id++
			if status, body := services[id%2].call("POST", "/users", fmt.Sprintf(`{"id":%d,"name":"user %d"}`, id, id)); status != 200 {
				t.Fatalf("create user %d: %d %s", id, status, body)
			}
			if status, body := services[1-id%2].call("GET", fmt.Sprintf("/users?ids=%d", id), ""); status != 200 || !strings.Contains(body, fmt.Sprintf(`"user %d"`, id)) {
				t.Fatalf("query user %d: %d %s", id, status, body)
			}
		}
	}
	health("UP")
	write(100)
	for _, s := range services {
		if n := served(s); n < 50 {
			t.Errorf("the replica served %v queries of %s, want 50", n, s.name)
		}
	}
	follower.Stop(t)
	write(20)
	health("DEGRADED")
	if status, body := services[0].call("GET", "/users/page?size=1", ""); status != 200 || !strings.Contains(body, fmt.Sprintf(`"total":%d`, id)) {
		t.Errorf("a page without the replica: %d %s", status, body)
	}
	follower.Start(t)
	health("UP")
	before := served(services[0]) + served(services[1])
	write(20)
	if n := served(services[0]) + served(services[1]); n < before+20 {
		t.Errorf("the replica served %v queries after it came back, want 20", n-before)
	}
	for _, s := range services {
		if n := strings.Count(s.log.String(), "the replica of the database is not used"); n > 2 { // At the start, the replica may not have been checked yet.
			t.Errorf("the log of %s says %d times that the replica is not used", s.name, n)
		}
	}
}
