// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// TestDepartureWithoutNATS stops a gateway and a service while NATS is away: they end soon, their
// clients are told to reconnect, and once NATS is back the other nodes know that they have left.
func TestDepartureWithoutNATS(t *testing.T) {
	for _, outage := range []struct {
		name       string
		begin, end func(nats *clustertest.Server, t testing.TB)
	}{
		{"NATS comes back with its data", (*clustertest.Server).Stop, func(nats *clustertest.Server, t testing.TB) { nats.Start(t, false) }},
		{"NATS comes back empty", (*clustertest.Server).Stop, func(nats *clustertest.Server, t testing.TB) { nats.Start(t, true) }},
		{"NATS does not respond", (*clustertest.Server).Pause, (*clustertest.Server).Resume},
	} {
		t.Run(outage.name, func(t *testing.T) {
			beside(t)
			nats, db := clustertest.StartServer(t), storetest.StartServer(t)
			set := append([]string{"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL()}, openClients...)
			services := []*process{start(t, "service", "service-0", set...), start(t, "service", "service-1", set...)}
			gateways := []*process{start(t, "gateway", "gateway-0", set...), start(t, "gateway", "gateway-1", set...)}
			const users = 20
			createUsers(t, services[0], users)
			staying := chat.LogIn(t, gateways[0].clients[0], 1, chat.WithPassword("secret"))
			var leaving []*chat.Tester
			for id := int64(2); id <= users; id++ {
				leaving = append(leaving, chat.LogIn(t, gateways[1].clients[0], id, chat.WithPassword("secret")))
			}
			online := func(n int) {
				t.Helper()
				took := eventually(t, fmt.Sprintf("%d users are online", n), func() bool {
					_, body := services[0].call("GET", "/users/online-infos/count", "")
					return strings.Contains(body, fmt.Sprintf(`"total":%d}`, n))
				})
				t.Logf("%d users are online after %v", n, took.Round(time.Millisecond))
			}
			online(users)
			outage.begin(nats, t)
			for _, p := range []*process{gateways[1], services[1]} {
				began := time.Now()
				p.signal(syscall.SIGTERM)
				<-p.done
				t.Logf("%s ended after %v", p.name, time.Since(began).Round(time.Millisecond))
				if code := p.ProcessState.ExitCode(); code != 0 {
					t.Errorf("%s ended with status %d", p.name, code)
				}
			}
			for _, c := range leaving {
				c.Closed(wire.ClosedServerClosed)
			}
			outage.end(nats, t)
			online(1)
			eventually(t, "two members are healthy", func() bool {
				_, body := services[0].call("GET", "/cluster/members", "")
				return strings.Count(body, `"healthy":true`) == 2
			})
			bob := chat.LogIn(t, gateways[0].clients[0], 2, chat.WithPassword("secret"))
			staying.Request(&wire.CreateMessageRequest{RecipientId: proto.Int64(2), Text: proto.String("hello")})
			bob.Relayed(wire.KindCreateMessage)
			restarted := start(t, "gateway", "gateway-1", set...)
			chat.LogIn(t, restarted.clients[0], 3, chat.WithPassword("secret"))
			online(3)
		})
	}
}
