// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"strings"
	"syscall"
	"testing"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
)

// TestPartitionedPresence partitions the online users among three services, of which each knows two
// thirds. It sends messages and logs in users while a service is killed, another one paused and
// NATS restarted: a user who stays connected receives every acknowledged message, or is told to
// reconnect.
func TestPartitionedPresence(t *testing.T) {
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := append([]string{
		"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL(), "app.cluster.rpc.request-timeout-millis=5000",
		"app.cluster.presence.partitioned=true",
		// On a slow machine, a node may take long to renew its record after NATS was restarted.
		"app.cluster.discovery.heartbeat-timeout-seconds=30",
	}, openClients...)
	services := []*process{start(t, "service", "service-0", set...), start(t, "service", "service-1", set...), start(t, "service", "service-2", set...)}
	gateways := []*process{start(t, "gateway", "gateway-0", set...), start(t, "gateway", "gateway-1", set...), start(t, "gateway", "gateway-2", set...)}
	const senders = 6
	createUsers(t, services[0], 4*senders)
	tr := newTraffic(t, senders, 1, gateways[0], gateways[1:]...)
	in := newLogins(t, 3*senders+1, senders, gateways)
	tr.progress("before anything happens")
	in.progress("before anything happens")
	services[2].signal(syscall.SIGKILL)
	tr.progress("after an owner of users was killed")
	in.progress("after an owner of users was killed")
	clustertest.Freeze(t, services[1].Process.Pid)
	tr.progress("while another owner is paused")
	in.progress("while another owner is paused")
	clustertest.Thaw(t, services[1].Process.Pid)
	start(t, "service", "service-3", set...)
	tr.progress("after a new service has come")
	// That takes longer than the heartbeat timeout.
	rest(tr, in, func() {
		eventually(t, "gateways were asked what the killed owner had not delivered", func() bool {
			return strings.Contains(services[0].log.String(), "checked whether the messages of a killed service were delivered")
		})
	})
	nats.Restart(t, true)
	tr.progress("after NATS was restarted")
	in.progress("after NATS was restarted")
	in.end()
	t.Log(in)
	if told := tr.settle(db.URL(), mayBeUnknown); told == len(tr.listeners) {
		t.Error("everybody was told to connect again")
	}
}
