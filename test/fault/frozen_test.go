// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// TestServiceDoesNotAnswer pauses, and then kills, one of two services while clients send requests:
// none is refused, and all are answered long before a call times out.
func TestServiceDoesNotAnswer(t *testing.T) {
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := append([]string{
		"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL(),
		// Longer than the test, so that waiting for a time-out fails it.
		"app.cluster.rpc.request-timeout-millis=600000",
	}, openClients...)
	services := []*process{start(t, "service", "service-0", set...), start(t, "service", "service-1", set...)}
	gateway := start(t, "gateway", "gateway", set...)
	const users = 8
	createUsers(t, services[0], users)
	var stop atomic.Bool
	var answers [users]atomic.Int64
	var longest atomic.Int64
	var clock stopwatch
	var group sync.WaitGroup
	for i := range users {
		user := chat.LogIn(t, gateway.clients[0], int64(i+1), chat.WithPassword("secret"))
		group.Go(func() {
			for !stop.Load() {
				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
				response, err := user.Do(ctx, &wire.QueryUserProfilesRequest{UserIds: []int64{int64(i + 1)}})
				cancel()
				if err != nil || response.GetCode() != 1000 {
					t.Errorf("user %d was answered %v, %v", i+1, response, err)
					return
				}
				answers[i].Add(1)
				clock.acknowledge()
				longest.Store(max(longest.Load(), int64(time.Since(begin))))
			}
		})
	}
	progress := func(when string) {
		t.Helper()
		var before [users]int64
		for i := range before {
			before[i] = answers[i].Load()
		}
		eventually(t, "everybody is answered "+when, func() bool {
			for i := range before {
				if answers[i].Load() < before[i]+20 {
					return false
				}
			}
			return true
		})
		t.Logf("%s: the longest answer took %v", when, time.Duration(longest.Swap(0)).Round(time.Millisecond))
	}
	progress("before anything happens")
	clustertest.Freeze(t, services[1].Process.Pid)
	progress("while a service is paused")
	clustertest.Thaw(t, services[1].Process.Pid)
	progress("after it goes on")
	services[0].signal(syscall.SIGKILL)
	progress("after the other is killed")
	stop.Store(true)
	group.Wait()
	total := int64(0)
	for i := range answers {
		total += answers[i].Load()
	}
	record(t, figures{acknowledged: int(total), lost: unknown, inverted: unknown, undelivered: unknown, doubled: unknown, repeated: unknown, late: unknown}, unknown, clock.stop())
	if t.Failed() {
		return
	}
	// A login goes to the remaining service.
	bob := chat.LogIn(t, gateway.clients[0], users, chat.WithPassword("secret"))
	bob.Request(&wire.CreateMessageRequest{RecipientId: proto.Int64(1), Text: proto.String("hello")})
}
