// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// TestNATSIsPaused pauses the NATS server, which keeps its connections but does not answer, while
// users send messages. All nodes report it, logins are refused with a reason, and after the server
// resumes, everything works again: nothing is lost or doubled.
func TestNATSIsPaused(t *testing.T) {
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := append([]string{
		"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL(), "app.gateway.client-api.return-reason-for-server-error=true",
	}, openClients...)
	services := []*process{start(t, "service", "service-0", set...), start(t, "service", "service-1", set...)}
	gateways := []*process{start(t, "gateway", "gateway-0", set...), start(t, "gateway", "gateway-1", set...)}
	const senders = 8
	createUsers(t, services[0], 2*senders+1)
	tr := newTraffic(t, senders, 2, gateways[0], gateways[1])
	login := func() (*wire.AppNotification, time.Duration) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		c, err := chat.Dial(ctx, gateways[0].clients[0], chat.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		began := time.Now()
		n, err := c.Do(ctx, &wire.CreateSessionRequest{Version: wire.Version, UserId: 2*senders + 1, Password: new("secret")})
		if err != nil {
			t.Fatal(err)
		}
		return n, time.Since(began).Round(time.Millisecond)
	}
	// The second pause is longer than the time after which members count as unhealthy.
	for _, pause := range []time.Duration{8 * time.Second, 15 * time.Second} {
		tr.progress("before NATS is paused")
		tr.longest.Store(0)
		nats.Pause(t)
		paused := time.Now()
		n, took := login()
		t.Logf("a login at once is answered %d %q after %v", n.GetCode(), n.GetReason(), took)
		if n.GetCode() != int32(apierr.ServerUnavailable) || !strings.Contains(n.GetReason(), "the cluster") {
			t.Errorf("a login at once: %v", n)
		}
		for _, p := range append(services, gateways...) {
			eventually(t, p.name+" says that NATS is away", func() bool {
				status, body := p.call("GET", "/health", "")
				if status == 0 {
					t.Errorf("%s does not answer: %s", p.name, body)
				}
				return strings.Contains(body, `"name":"cluster","status":"DOWN"`)
			})
			t.Logf("%s says so after %v", p.name, time.Since(paused).Round(time.Millisecond))
		}
		n, took = login()
		t.Logf("a login later is answered %d %q after %v", n.GetCode(), n.GetReason(), took)
		if n.GetCode() != int32(apierr.ServerUnavailable) || !strings.Contains(n.GetReason(), "the cluster") {
			t.Errorf("a login later: %v", n)
		}
		eventually(t, "the pause is over", func() bool { return time.Since(paused) > pause })
		nats.Resume(t)
		resumed := time.Now()
		tr.progress("after NATS goes on")
		eventually(t, "users log in", func() bool {
			n, _ := login()
			return n.GetCode() == int32(apierr.OK)
		})
		t.Logf("users log in %v after NATS goes on", time.Since(resumed).Round(time.Millisecond))
		for _, p := range append(services, gateways...) {
			eventually(t, p.name+" is ready", func() bool {
				status, _ := p.call("GET", "/health", "")
				return status == 200
			})
		}
		t.Logf("all nodes are ready %v after NATS goes on", time.Since(resumed).Round(time.Millisecond))
	}
	tr.settle(db.URL(), mayBeUnknown)
}
