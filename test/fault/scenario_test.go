// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"testing"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
	"example.org/app/test/scenario"
)

// TestScenarios runs the scenarios with each role in its own process.
func TestScenarios(t *testing.T) {
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := []string{
		"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL(),
		// The clients send their addresses in a header, as a proxy does.
		"app.gateway.websocket.remote-address-source.trusted-proxies=127.0.0.0/8",
		"app.gateway.client-api.rate-limiting.capacity=1000000", "app.gateway.client-api.rate-limiting.initial-tokens=1000000",
	}
	place := &scenario.Place{Service: start(t, "service", "service", set...).url}
	for i := range 2 {
		g := start(t, "gateway", fmt.Sprintf("gateway-%d", i), set...)
		place.Gateways = append(place.Gateways, scenario.Gateway{Node: g.name, Admin: g.url, WebSocket: g.clients[0]})
	}
	scenario.Run(t, place)
}
