// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"fmt"
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

// TestDelivery sends messages from one gateway to users of others while a gateway is paused, a service ends and NATS is
// restarted: whoever stays connected gets every message that was acknowledged, and others are told to connect again.
func TestDelivery(t *testing.T) {
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := append([]string{
		"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL(), "app.cluster.rpc.request-timeout-millis=5000",
	}, openClients...)
	services := []*process{start(t, "service", "service-0", set...), start(t, "service", "service-1", set...)}
	gateways := []*process{start(t, "gateway", "gateway-0", set...), start(t, "gateway", "gateway-1", set...), start(t, "gateway", "gateway-2", set...)}
	const senders = 6
	createUsers(t, services[0], 3*senders)
	h := newHistory()
	type listener struct {
		session string
		client  *chat.Tester
	}
	var listeners []listener
	var acknowledged [senders]atomic.Int64
	var stop atomic.Bool
	var group sync.WaitGroup
	for i := range senders {
		sender := chat.LogIn(t, gateways[0].clients[0], int64(i+1), chat.WithPassword("secret"))
		var recipients []int64
		for g := 1; g <= 2; g++ {
			id := int64(g*senders + i + 1)
			recipients = append(recipients, id)
			l := listener{fmt.Sprint("user ", id), chat.LogIn(t, gateways[g].clients[0], id, chat.WithPassword("secret"))}
			h.expect(l.session, fmt.Sprintf("%d to %d", i+1, id))
			listeners = append(listeners, l)
		}
		group.Go(func() {
			pace := time.NewTicker(5 * time.Millisecond)
			defer pace.Stop()
			for n := 0; !stop.Load(); n++ {
				<-pace.C
				to := recipients[n%2]
				s := h.send(fmt.Sprint("sender ", i), fmt.Sprintf("%d to %d", i+1, to), fmt.Sprintf("message %d from %d to %d", n, i+1, to))
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				response, err := sender.Do(ctx, &wire.CreateMessageRequest{RecipientId: proto.Int64(to), Text: &s.text})
				cancel()
				if err != nil {
					t.Errorf("%q: %v", s.text, err)
					return
				}
				if h.answer(s, response); s.acknowledged {
					acknowledged[i].Add(1)
				}
			}
		})
	}
	t.Cleanup(func() {
		stop.Store(true)
		group.Wait()
	})
	progress := func(when string) {
		t.Helper()
		var before [senders]int64
		for i := range before {
			before[i] = acknowledged[i].Load()
		}
		eventually(t, "messages are acknowledged "+when, func() bool {
			for i := range before {
				if acknowledged[i].Load() < before[i]+40 {
					return false
				}
			}
			return true
		})
	}
	progress("before anything happens")
	services[1].signal(syscall.SIGTERM)
	<-services[1].done
	progress("after a service has ended")
	nats.Restart(t, true)
	progress("after NATS was restarted")
	clustertest.Freeze(t, gateways[2].Process.Pid)
	paused := time.Now()
	progress("while a gateway is paused")
	eventually(t, "the gateway is paused for longer than a delivery may take", func() bool { return time.Since(paused) > 12*time.Second })
	clustertest.Thaw(t, gateways[2].Process.Pid)
	progress("after the gateway goes on")
	stop.Store(true)
	group.Wait()
	closed := map[string]bool{}
	eventually(t, "everybody got everything or was told to connect again", func() bool {
		for _, l := range listeners {
			for _, n := range l.client.Inbox() {
				if n.GetCloseStatus() == int32(wire.ClosedServerUnavailable) {
					closed[l.session] = true
				}
			}
			if closed[l.session] {
				h.forget(l.session)
			} else {
				h.receive(l.session, l.client.Client)
			}
		}
		return h.complete()
	})
	if len(closed) == len(listeners) {
		t.Error("everybody was told to connect again")
	}
	t.Logf("%d of %d users were told to connect again", len(closed), len(listeners))
	h.check(t, storedMessages(t, db.URL()))
}
