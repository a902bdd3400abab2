// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"strings"
	"testing"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/recording/jfr/jfrtest"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// TestAFailedNodeCallIsInTheBlackBox pauses the only service while a client sends requests, so that
// the calls of the gateway time out.
func TestAFailedNodeCallIsInTheBlackBox(t *testing.T) {
	beside(t)
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := []string{
		"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL(),
		"app.flight-recorder.continuous.enabled=true", "app.cluster.rpc.request-timeout-millis=2000",
	}
	service := start(t, "service", "service-0", set...)
	gateway := start(t, "gateway", "gateway-0", set...)
	for _, user := range []string{`{"id":5,"password":"secret"}`, `{"id":6,"password":"secret"}`} {
		if status, body := service.call("POST", "/users", user); status != 200 {
			t.Fatalf("create a user: %d %s", status, body)
		}
	}
	var sender *chat.Client
	eventually(t, "a session", func() bool {
		c, err := chat.Dial(t.Context(), gateway.clients[0], chat.Options{})
		if err != nil {
			return false
		}
		sender = c
		password := "secret"
		return c.Login(t.Context(), &wire.CreateSessionRequest{Version: 1, UserId: 5, Password: &password}) == nil
	})
	defer sender.Close()
	clustertest.Freeze(t, service.Process.Pid)
	defer clustertest.Thaw(t, service.Process.Pid)
	eventually(t, "the black box", func() bool {
		to, text := int64(6), "hi"
		_, _ = sender.Send(&wire.CreateMessageRequest{RecipientId: &to, Text: &text})
		_, list := gateway.call("GET", "/flight-recordings", "")
		return strings.Contains(list, `"description":"black box: node call failed: `)
	})
	status, data := gateway.call("GET", "/flight-recordings/jfr?id=1", "")
	if status != 200 {
		t.Fatalf("the download is %d %s", status, data)
	}
	if _, err := jfrtest.Parse([]byte(data)); err != nil {
		t.Error(err)
	}
}
