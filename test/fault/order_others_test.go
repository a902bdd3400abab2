// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// TestOrderOfEdits lets users send and edit messages of a group while administrators write to it
// through both services: everyone receives all of it in one order, although edits do not name the
// group and administrators choose a service.
func TestOrderOfEdits(t *testing.T) {
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := append([]string{
		"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL(), "app.service.notification.message-created.notify-requester-other-online-sessions=false",
	}, openClients...)
	services := []*process{start(t, "service", "service-0", set...), start(t, "service", "service-1", set...)}
	gateways := []*process{start(t, "gateway", "gateway-0", set...), start(t, "gateway", "gateway-1", set...)}
	const writers, each = 4, 30
	// Two more users, one at each gateway, only receive.
	createUsers(t, services[0], writers+2)
	eventually(t, "both gateways are ready", func() bool {
		for _, g := range gateways {
			if status, _ := g.call("GET", "/health", ""); status != 200 {
				return false
			}
		}
		return true
	})
	clients := make([]*chat.Tester, writers+2)
	for i := range clients {
		clients[i] = chat.LogIn(t, gateways[i%2].clients[0], int64(i+1), chat.WithPassword("secret"))
	}
	group := clients[0].Request(&wire.CreateGroupRequest{Name: "crowd"}).GetData().GetLong()
	for i := 1; i < len(clients); i++ {
		body := fmt.Sprintf(`{"groupId":%d,"userId":%d,"role":"MEMBER"}`, group, i+1)
		if status, answer := services[0].call("POST", "/groups/members", body); status != 200 {
			t.Fatalf("add %s: %d %s", body, status, answer)
		}
	}
	var running sync.WaitGroup
	for i, client := range clients[:writers] {
		own := client.Request(&wire.CreateMessageRequest{GroupId: &group, Text: proto.String(fmt.Sprint("first of ", i))}).GetData().GetLong()
		running.Go(func() {
			for n := range each {
				for _, body := range []proto.Message{
					&wire.CreateMessageRequest{GroupId: &group, Text: proto.String(fmt.Sprintf("message %d of %d", n, i))},
					&wire.UpdateMessageRequest{MessageId: own, Text: proto.String(fmt.Sprintf("edit %d of %d", n, i))},
				} {
					if response, err := client.Do(t.Context(), body); err != nil || response.GetCode() != 1000 {
						t.Errorf("%v was answered %v, %v", body, response, err)
						return
					}
				}
			}
		})
	}
	for i, service := range services {
		running.Go(func() {
			for n := range each {
				body := fmt.Sprintf(`{"isGroupMessage":true,"isSystemMessage":true,"targetId":%d,"text":"notice %d of %d"}`, group, n, i)
				if status, answer := service.call("POST", "/messages", body); status != 200 {
					t.Errorf("post %s: %d %s", body, status, answer)
				}
			}
		})
	}
	running.Wait()
	const all = writers + writers*each*2 + 2*each
	events := func(client *chat.Tester) (list []string) {
		for _, n := range client.Inbox() {
			relayed := n.GetRelayedRequest()
			if m := relayed.GetCreateMessageRequest(); m != nil {
				list = append(list, m.GetText())
			} else if m := relayed.GetUpdateMessageRequest(); m != nil {
				list = append(list, m.GetText())
			}
		}
		return list
	}
	readers := clients[writers:]
	eventually(t, "everything is delivered", func() bool {
		return len(events(readers[0])) >= all && len(events(readers[1])) >= all
	})
	first, second := events(readers[0]), events(readers[1])
	if len(first) != all || len(second) != all {
		t.Errorf("%d and %d notifications, want %d", len(first), len(second), all)
	}
	different := 0
	for i := range min(len(first), len(second)) {
		if first[i] != second[i] {
			different++
		}
	}
	if !slices.Equal(first, second) {
		t.Errorf("%d of %d notifications are at another place for another user", different, all)
	}
}
