// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/link"
	"example.org/app/internal/presence"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
)

// TestDisconnect has a service close sessions at a remote gateway: those of deleted or deactivated
// users. Gateways handle blocks themselves.
func TestDisconnect(t *testing.T) {
	server := clustertest.Listen(t)
	a := apptest.Start(t, []role.Role{role.Service}, "app.cluster.nats.url="+server.URL(), "app.cluster.nats.token=secret")
	node := clustertest.Join(t, clustertest.Connect(t, cluster.Options{URL: server.URL(), Token: "secret"}), cluster.NodeOptions{ID: "gate", Type: role.Gateway})
	gate, err := presence.Start(t.Context(), node, presence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gate.Stop)
	asked := make(chan link.Disconnection, 10)
	err = cluster.Handle(node, link.Disconnect, func(_ context.Context, req *link.Disconnection) (*link.Disconnected, error) {
		asked <- *req
		return &link.Disconnected{Sessions: 1}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for id := range int64(3) {
		s := presence.Session{UserID: id + 1, ID: 1, LoginDate: time.Now()}
		if _, err := gate.Open(t.Context(), s, wire.UserStatus_AVAILABLE, nil); err != nil {
			t.Fatal(err)
		}
	}
	request := func(method, path, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, a.URL(role.Service)+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("app", "app")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode >= 300 {
			t.Fatalf("%s %s: %s", method, path, resp.Status)
		}
	}
	clustertest.Await(t, node.Cluster(), "the service to see the sessions", func() bool {
		_, body := get(t, a.URL(role.Service)+"/users/online-infos/count", "app:app")
		return strings.Contains(body, `"total":3`)
	})
	for id := range 2 {
		request("POST", "/users", fmt.Sprintf(`{"id":%d,"password":"x"}`, id+1))
	}
	for _, test := range []struct {
		method, path, body string
		want               link.Disconnection
	}{
		{"PUT", "/users?ids=1", `{"isActive":false}`, link.Disconnection{UserIDs: []int64{1}, Status: wire.ClosedUserDeletedInactive}},
		{"DELETE", "/users?ids=2,9", "", link.Disconnection{UserIDs: []int64{2, 9}, Status: wire.ClosedUserDeletedInactive}},
		{"PUT", "/users/online-infos/statuses?ids=3&deviceTypes=DESKTOP", `{"onlineStatus":"OFFLINE"}`, link.Disconnection{
			UserIDs: []int64{3}, Devices: []wire.DeviceType{wire.DeviceType_DESKTOP}, Status: wire.ClosedByAdmin,
		}},
	} {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			request(test.method, test.path, test.body)
			select {
			case got := <-asked:
				if fmt.Sprint(got) != fmt.Sprint(test.want) {
					t.Errorf("the gateway was asked for %+v, want %+v", got, test.want)
				}
			case <-time.After(clustertest.Timeout):
				t.Fatal("the gateway was not asked")
			}
		})
	}
}
