// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"net/http"
	"strings"
	"testing"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
)

// TestGrants makes a plugin of two nodes wait for a grant, which an administrator gives and revokes
// on one of them, also while NATS is down. A rollout of a version that requests more permissions
// ends by itself.
func TestGrants(t *testing.T) {
	beside(t)
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := []string{"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL(), "app.plugin.grants.mode=EXPLICIT"}
	one, two := start(t, "service", "service-1", set...), start(t, "service", "service-2", set...)
	asking := func(version int, permissions string) string {
		return strings.Replace(script("watch", version, ""), "return {id:", "return {permissions: ["+permissions+"], id:", 1)
	}
	grant := func(permissions string) {
		t.Helper()
		status, body := one.send(http.MethodPut, "/plugins/grants?id=watch", "application/json", []byte(`{"permissions":[`+permissions+`]}`))
		must(t, "grant", status, body)
	}
	status, body := one.uploadScript("", asking(1, "'USER_QUERY'"))
	must(t, "upload", status, body)
	two.follow("watch", on("LOADED 1", "service-1", "service-2"))
	status, body = two.send(http.MethodPut, "/plugins?ids=watch", "application/json", []byte(`{"status":"STARTED"}`))
	if must(t, "start without a grant", status, body); !strings.Contains(body, "waits for a grant of the permission USER_QUERY") {
		t.Errorf("start without a grant: %s", body)
	}
	eventually(t, "both nodes wait", func() bool {
		waiting := 0
		for _, state := range one.states("watch") {
			if strings.HasPrefix(state, "WAITING 1 ") {
				waiting++
			}
		}
		return waiting == 2
	})
	grant(`"USER_QUERY"`)
	t.Logf("started by both nodes after %v", two.follow("watch", on("STARTED 1", "service-1", "service-2")))

	// Without notifications, nodes poll.
	nats.Stop(t)
	grant("")
	eventually(t, "the other node takes the grant away", func() bool {
		_, body := two.send(http.MethodGet, "/plugins?ids=watch", "", nil)
		return strings.Contains(body, `"missingGrants":{"permissions":["USER_QUERY"]`) && strings.Contains(body, `"running":false`)
	})
	nats.Start(t, true)
	grant(`"USER_QUERY"`)
	two.follow("watch", on("STARTED 1", "service-1", "service-2"))

	status, body = one.uploadScript("&replace=true&activate=false", asking(2, "'USER_QUERY', 'USER_DELETE'"))
	must(t, "upload without activating", status, body)
	eventually(t, "the first node knows the other again", func() bool {
		_, body := one.call("GET", "/cluster/members", "")
		return strings.Contains(body, `"service-2"`)
	})
	status, body = one.send(http.MethodPost, "/plugins/rollouts", "application/json", []byte(`{"pluginId":"watch","number":2,"nodeIds":["service-2"],"promoteAfterSeconds":3600}`))
	must(t, "begin a rollout", status, body)
	eventually(t, "the rollout is rolled back", func() bool {
		_, body = one.call("GET", "/plugins/rollouts?pluginIds=watch", "")
		return strings.Contains(body, `"status":"ROLLED_BACK","reason":"node service-2: `) && strings.Contains(body, "USER_DELETE")
	})
	one.follow("watch", on("STARTED 1", "service-1", "service-2"))
}
