// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/role"
)

// newCluster gives the harness a cluster of one service node called "here".
func (h *harness) newCluster() *cluster.Cluster {
	h.t.Helper()
	c, err := cluster.Connect(h.t.Context(), cluster.Options{ClusterID: "test", Store: h.DB})
	if err != nil {
		h.t.Fatal(err)
	}
	version, err := cluster.ParseVersion("1.2.3")
	if err != nil {
		h.t.Fatal(err)
	}
	node, err := c.Join(h.t.Context(), cluster.NodeOptions{
		ID: "here", Type: role.Service, LeaderEligible: true, Version: version,
		MemberHost: "10.0.0.5", AdminAPIAddress: "http://10.0.0.5:8510",
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := node.Leave(ctx); err != nil {
			h.t.Error(err)
		}
		if err := c.Close(ctx); err != nil {
			h.t.Error(err)
		}
	})
	return c
}

// members returns the members by id, once cond holds for them.
func (h *harness) members(t *testing.T, cond func(map[string]map[string]any) bool) map[string]map[string]any {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		var e struct{ Data []map[string]any }
		if err := json.Unmarshal([]byte(h.must("app", "GET", "/cluster/members", "").body), &e); err != nil {
			t.Fatal(err)
		}
		found := map[string]map[string]any{}
		for _, m := range e.Data {
			found[m["key"].(map[string]any)["nodeId"].(string)] = m
		}
		if cond(found) {
			return found
		}
		if time.Now().After(deadline) {
			t.Fatalf("members %v", found)
		}
	}
}

func TestMembers(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		status := `"status":{"hasJoinedCluster":true,"isHealthy":true,"healthy":true,"isActive":true,"active":true,"lastHeartbeatDate":"DATE"}`
		here := `{"key":{"clusterId":"test","nodeId":"here"},"zone":"","name":"","nodeVersion":{"major":1,"minor":2,"patch":3,"qualifier":0,"version":"1.2.3"},` +
			`"nodeType":"SERVICE","isSeed":false,"seed":false,"registrationDate":"DATE","isLeaderEligible":true,"leaderEligible":true,"priority":0,` +
			`"memberHost":"10.0.0.5","memberPort":0,"adminApiAddress":"http://10.0.0.5:8510",` + status + `}`
		done := `{"code":1000,"reason":"ok","timestamp":"DATE"}`
		has := func(id string, cond func(m map[string]any) bool) func(*harness) {
			return func(h *harness) {
				h.members(h.t, func(all map[string]map[string]any) bool { return all[id] != nil && cond(all[id]) })
			}
		}
		h.members(t, func(all map[string]map[string]any) bool { return len(all) == 1 })
		h.waitForLeader(t, "here")
		h.play([]scenario{
			{name: "all", as: "app", method: "GET", target: "/cluster/members", status: 200, want: ok("[" + here + "]")},
			{name: "leader", as: "app", method: "GET", target: "/cluster/members/leader", status: 200, want: ok(here)},
			{name: "elect", as: "app", method: "POST", target: "/cluster/members/leader", status: 200, want: `~"nodeId":"here"`},
			{name: "elect by name", as: "app", method: "POST", target: "/cluster/members/leader?id=here", status: 200, want: `~"nodeId":"here"`},
			{name: "elect nobody", as: "app", method: "POST", target: "/cluster/members/leader?id=nobody", status: 404, want: `~"code":1800`},

			{
				name: "add", as: "app", method: "POST", target: "/cluster/members", body: `{"nodeId":"there","nodeType":"GATEWAY","version":"1.0.0-SNAPSHOT","isSeed":true,"wsAddress":"ws://x"}`, status: 200, want: done,
				after: has("there", func(m map[string]any) bool { return m["seed"] == true && m["wsAddress"] == "ws://x" }),
			},
			{name: "add again", as: "app", method: "POST", target: "/cluster/members", body: `{"nodeId":"there","nodeType":"GATEWAY","version":"1.0.0"}`, status: 409, want: `~"code":1103`},
			{name: "add without id", as: "app", method: "POST", target: "/cluster/members", body: `{"nodeType":"GATEWAY","version":"1.0.0"}`, status: 400, want: "~nodeId: is required"},
			{name: "add without version", as: "app", method: "POST", target: "/cluster/members", body: `{"nodeId":"x","nodeType":"GATEWAY"}`, status: 400, want: "~version: is required"},
			{name: "bad version", as: "app", method: "POST", target: "/cluster/members", body: `{"nodeId":"x","nodeType":"GATEWAY","version":"1.0.128"}`, status: 400, want: "~at most 127"},
			{name: "bad id", as: "app", method: "POST", target: "/cluster/members", body: `{"nodeId":"a.b","nodeType":"GATEWAY","version":"1.0.0"}`, status: 400, want: "~letters, digits"},
			{name: "gateway as leader", as: "app", method: "POST", target: "/cluster/members", body: `{"nodeId":"x","nodeType":"GATEWAY","version":"1.0.0","isLeaderEligible":true}`, status: 400, want: "~eligible"},
			{name: "elect a gateway", as: "app", method: "POST", target: "/cluster/members/leader?id=there", status: 403, want: `~"code":1802`},

			{
				name: "update", as: "app", method: "PUT", target: "/cluster/members?id=there", body: `{"name":"There","zone":"z","priority":7}`, status: 200, want: done,
				after: has("there", func(m map[string]any) bool { return m["name"] == "There" && m["zone"] == "z" && m["priority"] == 7.0 }),
			},
			{name: "update an unknown one", as: "app", method: "PUT", target: "/cluster/members?id=nobody", body: `{"name":"x"}`, status: 204},
			{name: "update without id", as: "app", method: "PUT", target: "/cluster/members", body: `{"name":"x"}`, status: 400, want: `~\"id\": is required`},
			{
				name: "take out of service", as: "app", method: "PUT", target: "/cluster/members?id=here", body: `{"isActive":false}`, status: 200, want: done,
				after: has("here", func(m map[string]any) bool { return m["status"].(map[string]any)["active"] == false }),
			},
			{name: "nobody qualifies", as: "app", method: "POST", target: "/cluster/members/leader", status: 503, want: `~"code":1801`},
			{name: "it does not qualify", as: "app", method: "POST", target: "/cluster/members/leader?id=here", status: 403, want: `~"code":1802`},
			{name: "put into service", as: "app", method: "PUT", target: "/cluster/members?id=here", body: `{"isActive":true}`, status: 200, want: done, after: func(h *harness) { h.waitForLeader(h.t, "here") }},

			{name: "delete", as: "app", method: "DELETE", target: "/cluster/members?ids=there,nobody", status: 200, want: deleted(1), after: func(h *harness) {
				h.members(h.t, func(all map[string]map[string]any) bool { return all["there"] == nil })
			}},
			{name: "delete without ids", as: "app", method: "DELETE", target: "/cluster/members", status: 400, want: `~\"ids\": is required`},
		})
	})
}

func (h *harness) waitForLeader(t *testing.T, id string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		r := h.call("app", "GET", "/cluster/members/leader", "")
		if r.status == 200 && strings.Contains(r.body, `"nodeId":"`+id+`"`) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("leader: %d %s", r.status, r.body)
		}
	}
}
