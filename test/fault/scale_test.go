// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"os"
	"testing"
	"time"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
)

// TestTrafficBetweenNodes measures the traffic through NATS: per second while the cluster is idle,
// and per message from a user of one gateway to one of another. docs/scale.md has the figures. It
// only runs in the campaign, because it checks nothing.
func TestTrafficBetweenNodes(t *testing.T) {
	if os.Getenv("APP_CAMPAIGN") != "long" {
		t.Skip("APP_CAMPAIGN is not long")
	}
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := append([]string{"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL()}, openClients...)
	service := start(t, "service", "service-0", set...)
	gateways := []*process{start(t, "gateway", "gateway-0", set...), start(t, "gateway", "gateway-1", set...)}
	const senders, idle, busy = 6, 20 * time.Second, 20 * time.Second
	createUsers(t, service, 2*senders)

	use := func(d time.Duration) (read, written float64) {
		began, before := time.Now(), nats.Usage(t)
		time.Sleep(d)
		after, seconds := nats.Usage(t), time.Since(began).Seconds()
		return float64(after.Read-before.Read) / seconds, float64(after.Written-before.Written) / seconds
	}
	idleRead, idleWritten := use(idle)
	t.Logf("three nodes with nothing to do: NATS reads %.0f B/s and writes %.0f B/s", idleRead, idleWritten)

	tr := newTraffic(t, senders, 4, gateways[0], gateways[1])
	tr.progress("before it is measured")
	total := func() (n int64) {
		for i := range tr.acknowledged {
			n += tr.acknowledged[i].Load()
		}
		return n
	}
	before := total()
	read, written := use(busy)
	rate := float64(total()-before) / busy.Seconds()
	t.Logf("%.0f messages/s: NATS reads %.0f B and writes %.0f B for each", rate, (read-idleRead)/rate, (written-idleWritten)/rate)
	tr.settle(db.URL())
}
