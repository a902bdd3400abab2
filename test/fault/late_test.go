// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"testing"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
)

// TestLateDelivery pauses each of two services and restarts NATS while users send messages: the
// other service continues the conversations before every message that the first one stored is
// delivered. A user who stays connected receives the messages of a conversation in order.
func TestLateDelivery(t *testing.T) {
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := append([]string{
		"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL(),
		// Longer than the test, so that waiting for a time-out fails it.
		"app.cluster.rpc.request-timeout-millis=600000",
	}, openClients...)
	services := []*process{start(t, "service", "service-0", set...), start(t, "service", "service-1", set...)}
	gateways := []*process{start(t, "gateway", "gateway-0", set...), start(t, "gateway", "gateway-1", set...)}
	const senders = 24
	createUsers(t, services[0], 2*senders)
	tr := newTraffic(t, senders, 4, gateways[0], gateways[1])
	for range 2 {
		for _, s := range services {
			tr.progress("before a service is paused")
			clustertest.Freeze(t, s.Process.Pid)
			tr.progress("while it is paused")
			clustertest.Thaw(t, s.Process.Pid)
			tr.progress("after it goes on")
		}
		nats.Restart(t, true)
		tr.progress("after NATS was restarted")
	}
	tr.settle(db.URL())
}
