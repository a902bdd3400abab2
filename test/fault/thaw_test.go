// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// openClients removes the rate limit of clients.
var openClients = []string{
	"app.gateway.client-api.rate-limiting.capacity=1000000", "app.gateway.client-api.rate-limiting.initial-tokens=1000000",
	"app.gateway.client-api.rate-limiting.tokens-per-period=1000000",
}

// createUsers creates the users 1 to n with the password "secret".
func createUsers(t *testing.T, service *process, n int) {
	t.Helper()
	for id := 1; id <= n; id++ {
		if status, body := service.call("POST", "/users", fmt.Sprintf(`{"id":%d,"password":"secret"}`, id)); status != 200 {
			t.Fatalf("create user %d: %d %s", id, status, body)
		}
	}
}

// TestThawedService pauses the only service for longer than the time limit of calls: requests that
// were reported as failed are not carried out when the service resumes.
func TestThawedService(t *testing.T) {
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := append([]string{
		"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL(), "app.cluster.rpc.request-timeout-millis=1500",
	}, openClients...)
	service := start(t, "service", "service", set...)
	gateway := start(t, "gateway", "gateway", set...)
	createUsers(t, service, 2)
	ann := chat.LogIn(t, gateway.clients[0], 1, chat.WithPassword("secret"))
	var acknowledged atomic.Int64
	send := func(text string) int32 {
		code := ann.Response(&wire.CreateMessageRequest{RecipientId: proto.Int64(2), Text: &text}).GetCode()
		if code == 1000 {
			acknowledged.Add(1)
		}
		return code
	}
	eventually(t, "a message is taken", func() bool { return send("before") == 1000 })
	paused := time.Now()
	clustertest.Freeze(t, service.Process.Pid)
	codes := make([]int32, 24)
	var group sync.WaitGroup
	for i := range codes {
		group.Go(func() { codes[i] = send(fmt.Sprintf("failed %d", i)) })
	}
	group.Wait()
	for i, code := range codes {
		if code == 1000 {
			t.Fatalf("message %d was acknowledged by a paused service", i)
		}
	}
	clustertest.Thaw(t, service.Process.Pid)
	// The service processes its queued requests before later ones.
	eventually(t, "a message is taken again", func() bool { return send("after") == 1000 })
	stop := time.Since(paused)
	for range 20 {
		send("after")
	}
	f := figures{acknowledged: int(acknowledged.Load()), lost: int(acknowledged.Load()), doubled: unknown, inverted: unknown, undelivered: unknown, repeated: unknown}
	for _, m := range storedMessages(t, db.URL()) {
		if m.text == "before" || m.text == "after" {
			f.lost--
		} else {
			f.late++
			t.Errorf("%q is stored, although its sender was told that it failed", m.text)
		}
	}
	f.lost = max(f.lost, 0) // A message that failed before the pause may be stored.
	record(t, f, unknown, stop)
}
