// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// TestDelivery sends messages from one gateway to users of others while a gateway is paused, a
// service stops and NATS is restarted: a user who stays connected receives every acknowledged
// message, and the others are told to reconnect.
func TestDelivery(t *testing.T) {
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := append([]string{
		"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL(), "app.cluster.rpc.request-timeout-millis=5000",
		// On a slow machine, a node may take long to renew its record after NATS was restarted.
		"app.cluster.discovery.heartbeat-timeout-seconds=30",
	}, openClients...)
	services := []*process{start(t, "service", "service-0", set...), start(t, "service", "service-1", set...)}
	gateways := []*process{start(t, "gateway", "gateway-0", set...), start(t, "gateway", "gateway-1", set...), start(t, "gateway", "gateway-2", set...)}
	const senders = 6
	createUsers(t, services[0], 3*senders)
	tr := newTraffic(t, senders, 1, gateways[0], gateways[1:]...)
	tr.progress("before anything happens")
	services[1].signal(syscall.SIGTERM)
	<-services[1].done
	tr.progress("after a service has ended")
	nats.Restart(t, true)
	tr.progress("after NATS was restarted")
	clustertest.Freeze(t, gateways[2].Process.Pid)
	paused := time.Now()
	tr.progress("while a gateway is paused")
	eventually(t, "the gateway is paused for longer than a delivery may take", func() bool { return time.Since(paused) > 12*time.Second })
	clustertest.Thaw(t, gateways[2].Process.Pid)
	tr.progress("after the gateway goes on")
	if told := tr.settle(db.URL(), mayBeUnknown); told == len(tr.listeners) {
		t.Error("everybody was told to connect again")
	}
}

// TestServiceIsKilledBeforeDelivery pauses a gateway until more deliveries to it are in transit
// than a service allows, and kills the service, which alone knows what the users of the gateway
// missed.
func TestServiceIsKilledBeforeDelivery(t *testing.T) {
	beside(t)
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := append([]string{"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL()}, openClients...)
	service := start(t, "service", "service-0", set...)
	gateways := []*process{start(t, "gateway", "gateway-0", set...), start(t, "gateway", "gateway-1", set...)}
	const senders = 4
	createUsers(t, service, 2*senders+2)
	tr := newTraffic(t, senders, 20, gateways[0], gateways[1])
	alice := chat.LogIn(t, gateways[0].clients[0], 2*senders+1, chat.WithPassword("secret"))
	bob := chat.LogIn(t, gateways[1].clients[0], 2*senders+2, chat.WithPassword("secret"))
	tr.progress("before anything happens")
	clustertest.Freeze(t, gateways[1].Process.Pid)
	alice.WantCode(&wire.CreateMessageRequest{RecipientId: proto.Int64(2*senders + 2), Text: proto.String("the only one")}, int32(apierr.OK))
	before := tr.total()
	// The message to bob precedes the last renewal of the service's node number by more than a
	// delivery may take.
	frozen := time.Now()
	eventually(t, "the service has more deliveries than may be in transit", func() bool { return tr.total() > before+6000 && time.Since(frozen) > 22*time.Second })
	service.signal(syscall.SIGKILL)
	<-service.done
	clustertest.Thaw(t, gateways[1].Process.Pid)
	start(t, "service", "service-1", set...)
	tr.progress("after another service was started")
	if told := tr.settle(db.URL(), mayBeUnknown); told == 0 {
		t.Error("nobody missed anything")
	}
	bob.Closed(wire.ClosedServerUnavailable)
}

// TestGatewayIsForgotten pauses a gateway and restarts NATS, until the other nodes consider the
// gateway gone and its users offline. When it resumes, its users are told to reconnect, because
// they missed messages.
func TestGatewayIsForgotten(t *testing.T) {
	beside(t)
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := append([]string{"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL()}, openClients...)
	service := start(t, "service", "service-0", set...)
	gateways := []*process{start(t, "gateway", "gateway-0", set...), start(t, "gateway", "gateway-1", set...)}
	const senders = 4
	createUsers(t, service, 2*senders)
	tr := newTraffic(t, senders, 1, gateways[0], gateways[1])
	online := func(n int) {
		t.Helper()
		eventually(t, fmt.Sprintf("%d users are online", n), func() bool {
			_, body := service.call("GET", "/users/online-infos/count", "")
			return strings.Contains(body, fmt.Sprintf(`"total":%d}`, n))
		})
	}
	tr.progress("before anything happens")
	online(2 * senders)
	clustertest.Freeze(t, gateways[1].Process.Pid)
	nats.Restart(t, true)
	tr.progress("after NATS was restarted")
	online(senders)
	tr.progress("while the gateway is gone")
	clustertest.Thaw(t, gateways[1].Process.Pid)
	tr.progress("after it goes on")
	if told := tr.settle(db.URL(), mayBeUnknown); told != len(tr.listeners) {
		t.Errorf("%d of %d users were told to connect again", told, len(tr.listeners))
	}
}

// TestNATSServerIsLost kills each of three NATS servers in turn while users send messages and log
// in. No session ends, and every message arrives, in order. It only runs in the campaign: elections
// of three servers take up to a minute on a busy machine.
func TestNATSServerIsLost(t *testing.T) {
	if os.Getenv("APP_CAMPAIGN") != "long" {
		t.Skip("APP_CAMPAIGN is not long")
	}
	nats, db := clustertest.StartServers(t, 3), storetest.StartServer(t)
	set := append([]string{
		"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL(), "app.cluster.nats.replicas=3", "app.cluster.discovery.heartbeat-timeout-seconds=30",
		"app.cluster.nats.ssl.certificate-file=" + nats.TLS.Certificate, "app.cluster.nats.ssl.private-key-file=" + nats.TLS.Key, "app.cluster.nats.ssl.ca-file=" + nats.TLS.CA,
	}, openClients...)
	services := []*process{start(t, "service", "service-0", set...), start(t, "service", "service-1", set...)}
	gateways := []*process{start(t, "gateway", "gateway-0", set...), start(t, "gateway", "gateway-1", set...)}
	const senders = 6
	createUsers(t, services[0], 3*senders)
	tr := newTraffic(t, senders, 4, gateways[0], gateways[1])
	logins := newLogins(t, 2*senders+1, senders, gateways)
	for i, server := range nats.Each {
		tr.progress("while all servers run")
		nats.AwaitReplicas(t)
		server.Stop(t)
		tr.progress(fmt.Sprintf("after server %d was killed", i))
		logins.progress(fmt.Sprintf("after server %d was killed", i))
		server.Start(t, true)
	}
	logins.end()
	if told := tr.settle(db.URL()); told > 0 {
		t.Errorf("%d sessions were lost", told)
	}
	for _, sender := range tr.senders {
		for _, n := range sender.Inbox() {
			if n.CloseStatus != nil {
				t.Errorf("a sender lost its session: %v", n)
			}
		}
	}
	t.Log(logins)
	if logins.refusing > 2*time.Second {
		t.Error("logins were refused for too long")
	}
}
