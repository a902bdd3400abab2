// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// TestOrder lets many users send to a group and to each other without waiting for responses,
// through two gateways and two services: the messages of a session are stored in the order in which
// it sent them, and everyone receives the messages of a conversation in one order.
func TestOrder(t *testing.T) {
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := append([]string{"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL()}, openClients...)
	services := []*process{start(t, "service", "service-0", set...), start(t, "service", "service-1", set...)}
	gateways := []*process{start(t, "gateway", "gateway-0", set...), start(t, "gateway", "gateway-1", set...)}
	const users, each = 20, 30
	createUsers(t, services[0], users)
	eventually(t, "both gateways know both services", func() bool {
		for _, g := range gateways {
			status, _ := g.call("GET", "/health", "")
			if status != 200 {
				return false
			}
		}
		return true
	})
	h := newHistory()
	clients := make([]*chat.Tester, users)
	for i := range clients {
		clients[i] = chat.LogIn(t, gateways[i%2].clients[0], int64(i+1), chat.WithPassword("secret"))
	}
	group := clients[0].Request(&wire.CreateGroupRequest{Name: "crowd"}).GetData().GetLong()
	for i := 1; i < users; i++ {
		body := fmt.Sprintf(`{"groupId":%d,"userId":%d,"role":"MEMBER"}`, group, i+1)
		if status, answer := services[0].call("POST", "/groups/members", body); status != 200 {
			t.Fatalf("add %s: %d %s", body, status, answer)
		}
	}
	var senders sync.WaitGroup
	for i, client := range clients {
		session := fmt.Sprint(i)
		next := int64((i+1)%users) + 1
		pair := fmt.Sprintf("%d to %d", i+1, next)
		h.expect(session, "group")
		h.expect(fmt.Sprint(next-1), pair)
		senders.Go(func() {
			var answers sync.WaitGroup
			defer answers.Wait()
			for n := range each {
				for _, conversation := range []string{"group", pair} {
					s := h.send(session, conversation, fmt.Sprintf("%s %d of %d", conversation, n, i+1))
					request := &wire.CreateMessageRequest{Text: &s.text}
					if conversation == "group" {
						request.GroupId = &group
					} else {
						request.RecipientId = proto.Int64(next)
					}
					id, err := client.Send(request)
					if err != nil {
						t.Error(err)
						return
					}
					answers.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
						defer cancel()
						response, err := client.Await(ctx, func(n *wire.AppNotification) bool { return n.GetRequestId() == id && n.Code != nil })
						if err != nil || response.GetCode() != 1000 {
							t.Errorf("%q was answered %v, %v", s.text, response, err)
							return
						}
						h.answer(s, response)
					})
				}
			}
		})
	}
	senders.Wait()
	eventually(t, "everything is delivered", func() bool {
		for i, client := range clients {
			h.receive(fmt.Sprint(i), client.Client)
		}
		return h.complete()
	})
	h.check(t, storedMessages(t, db.URL()), gateways)
}
