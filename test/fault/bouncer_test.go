// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"strings"
	"testing"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
)

// TestPgBouncerRestarts runs a cluster on one PgBouncer with four server connections, configured as
// documented, while users send messages and log in and administrators write. PgBouncer is killed
// and restarted, and so is PostgreSQL.
func TestPgBouncerRestarts(t *testing.T) {
	beside(t)
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	bouncer := storetest.StartBouncer(t, db.URL(), "default_pool_size = 40", "default_pool_size = 4")
	set := append([]string{
		"app.store.url=" + bouncer.URL(t, db.URL()), "app.cluster.nats.url=" + nats.URL(), "app.store.timeout-millis=10000",
	}, openClients...)
	services := []*process{start(t, "service", "service-0", set...), start(t, "service", "service-1", set...)}
	gateways := []*process{start(t, "gateway", "gateway-0", set...), start(t, "gateway", "gateway-1", set...)}
	const senders = 6
	createUsers(t, services[0], 3*senders)
	tr := newTraffic(t, senders, 4, gateways[0], gateways[1])
	logins := newLogins(t, 2*senders+1, senders, gateways)
	end, requests, failures := adminLoad(t, services)
	tr.progress("through PgBouncer")
	if failures.Load() > 0 {
		t.Errorf("%d of %d requests of administrators failed", failures.Load(), requests.Load())
	}
	end()
	bouncer.Stop(t)
	bouncer.Start(t)
	tr.progress("after PgBouncer was killed")
	db.Stop(t)
	db.Start(t)
	tr.progress("after PostgreSQL was killed")
	logins.progress("after PostgreSQL was killed")
	logins.end()
	tr.settle(db.URL(), mayBeUnknown)
	t.Log(logins)
	for _, p := range append(services, gateways...) {
		// A statement was prepared on another server connection, or twice.
		for _, code := range []string{"SQLSTATE 26000", "SQLSTATE 42P05"} {
			if strings.Contains(p.log.String(), code) {
				t.Errorf("the log of %s has %s", p.name, code)
			}
		}
	}
}
