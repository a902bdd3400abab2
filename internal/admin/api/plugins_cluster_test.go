// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// clusterPart is what the list says of a plugin of the cluster that this node has in a state.
func clusterPart(number int, status string, revision int, state string) string {
	return fmt.Sprintf(`"scope":"CLUSTER","digest":"DIGEST","cluster":{"number":%d,"version":"1.0","digest":"DIGEST","status":%q,"revision":%d,"adminId":0,"changeDate":"DATE",`+
		`"nodes":[{"nodeId":"node1","state":%q,"number":%d,"version":"1.0","digest":"DIGEST"},{"nodeId":"node2","state":"UNKNOWN","reason":"the node did not answer"}]}`,
		number, status, revision, state, number)
}

// TestClusterPlugins adds, replaces, starts and removes plugins of the cluster, in the words of
// callers.
func TestClusterPlugins(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		post := func(name, query, body string, status int, want string) scenario {
			return scenario{name: name, as: "app", method: "POST", target: "/plugins/js?scope=CLUSTER" + query, body: body, status: status, want: want}
		}
		put := func(name, status string, code int, want string) scenario {
			return scenario{name: name, as: "app", method: "PUT", target: "/plugins?ids=a", body: fmt.Sprintf(`{"status":%q}`, status), status: code, want: want}
		}
		get := func(name, want string) scenario {
			return scenario{name: name, as: "app", method: "GET", target: "/plugins", status: 200, want: want}
		}
		h.pluginSettings.Cluster.MaxVersions = 2
		h.play([]scenario{
			post("dry run", "&dryRun=true", scripts("a", "broken"), 200, `~"digest":"DIGEST"},{"problem":{"code":1102,`),
			{name: "dry run keeps nothing", as: "app", method: "GET", target: "/plugins", status: 204},
			post("save", "&save=true", scripts("a"), 403, `~"code":1322`),
			post("bad", "", scripts("broken"), 400, `~unexpected end`),
			post("all or none", "", scripts("a", "broken"), 400, `~none of the plugins was added`),
			post("twice", "", scripts("a", "a x"), 400, `~the plugin \"a\" is uploaded twice`),
			{name: "still nothing", as: "app", method: "GET", target: "/plugins", status: 204},
			post("unknown scope", "X", scripts("a"), 400, `~scope`),
			post("add", "", scripts("a.js=a"), 200, ok(`[`+created("a", `"fileName":"a.js",`,
				`,"digest":"DIGEST","number":1,"nodes":[{"nodeId":"node1","state":"LOADED","number":1,"version":"1.0","digest":"DIGEST"},{"nodeId":"node2","state":"UNKNOWN","reason":"the node did not answer"}]`)+`]`)),
			get("listed", `~`+clusterPart(1, "LOADED", 1, "LOADED")),
			post("again", "", scripts("a"), 409, `~"code":1303,"reason":"the cluster has a plugin with the id \"a\" already"`),
			{name: "to this node", as: "app", method: "POST", target: "/plugins/js", body: scripts("a"), status: 409, want: `~is loaded already`},
			{name: "instead of it on this node", as: "app", method: "POST", target: "/plugins/js?replace=true", body: scripts("a y"), status: 409, want: `~add its new version with scope=CLUSTER`},
			put("pause what is not started", "PAUSED", 400, `~pause is not possible: the plugin is LOADED in the cluster`),
			put("start", "STARTED", 200, updated(1, 1)),
			put("start again", "STARTED", 200, updated(1, 0)),
			get("started", `~`+clusterPart(1, "STARTED", 2, "STARTED")),
			post("a new version", "&replace=true", scripts("a 2"), 200, `~"replaced":true,"digest":"DIGEST","number":2,"nodes":[{"nodeId":"node1","state":"STARTED","number":2`),
			post("too many", "&replace=true", scripts("a 3"), 400, `~plugin \"a\" has 2 versions, and at most 2 are kept (app.plugin.cluster.max-versions): delete old ones`),
			post("the first again", "&replace=true", scripts("a"), 200, `~"number":1,"nodes":[{"nodeId":"node1","state":"STARTED","number":1`),
			post("the same again", "&replace=true", scripts("a"), 200, `~"number":1,`),
			get("it changed once", `~`+clusterPart(1, "STARTED", 4, "STARTED")),
			{name: "versions", as: "app", method: "GET", target: "/plugins/versions?ids=a,x", status: 200, want: ok(
				`[{"pluginId":"a","number":2,"version":"1.0","active":false,"language":"JAVA_SCRIPT","fileName":"58c5c35417c9301a3a6328beee74773d319b82c0.js","digest":"DIGEST","size":3,"servers":[],"adminId":0,"uploadDate":"DATE"},` +
					`{"pluginId":"a","number":1,"version":"1.0","active":true,"language":"JAVA_SCRIPT","fileName":"a.js","digest":"DIGEST","size":1,"servers":[],"adminId":0,"uploadDate":"DATE"}]`)},
			{name: "no such version", as: "app", method: "PUT", target: "/plugins/versions?id=a", body: `{"number":3}`, status: 404, want: `~plugin \"a\" has no version 3`},
			{name: "no such plugin", as: "app", method: "PUT", target: "/plugins/versions?id=x", body: `{"number":1}`, status: 404, want: `~the cluster has no plugin \"x\"`},
			{name: "no version at all", as: "app", method: "PUT", target: "/plugins/versions?id=a", body: `{}`, status: 400, want: `~number: is required`},
			{name: "activate", as: "app", method: "PUT", target: "/plugins/versions?id=a", body: `{"number":2}`, status: 200, want: `~"number":2,"version":"1.0","digest":"DIGEST","status":"STARTED","revision":5`},
			{name: "delete the active one", as: "app", method: "DELETE", target: "/plugins/versions?id=a&numbers=2", status: 400, want: `~version 2 of plugin \"a\" is active`},
			{name: "delete versions", as: "app", method: "DELETE", target: "/plugins/versions?id=a&numbers=1,7", status: 200, want: deleted(1)},
			post("room again", "&replace=true", scripts("a 3"), 200, `~"number":3`),
			put("pause", "PAUSED", 200, updated(1, 1)),
			get("paused", `~`+clusterPart(3, "PAUSED", 7, "PAUSED")),
			put("resume", "RESUMED", 200, updated(1, 1)),
			put("stop", "STOPPED", 200, updated(1, 1)),
			get("stopped", `~`+clusterPart(3, "STOPPED", 9, "STOPPED")),
			put("start what was stopped", "STARTED", 200, updated(1, 1)),
			get("started anew", `~`+clusterPart(3, "STARTED", 10, "STARTED")),
			{name: "delete", as: "app", method: "DELETE", target: "/plugins?ids=a,x", status: 204},
			{name: "gone", as: "app", method: "GET", target: "/plugins", status: 204},
			{name: "versions are gone", as: "app", method: "GET", target: "/plugins/versions", status: 204},
			post("a plugin that cannot start", "", scripts("bad start"), 200, `~"state":"LOADED"`),
			{name: "says why", as: "app", method: "PUT", target: "/plugins?ids=bad", body: `{"status":"STARTED"}`, status: 200, want: `~"modifiedCount":1,"failures":[{"id":"bad","extension":"Handler","state":"LOADED","reason":"start failed`},
			get("and so does the list", `~"state":"FAILED","reason":"extension \"Handler\": start failed`),
		})
	})
}

// TestClusterPluginIfMatch lets administrators change a plugin at the same time.
func TestClusterPluginIfMatch(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.must("app", "POST", "/plugins/js?scope=CLUSTER", scripts("a"))
		send := func(method, target, body, ifMatch string) int {
			r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
			r.SetBasicAuth("app", "app")
			if ifMatch != "" {
				r.Header.Set("If-Match", ifMatch)
			}
			w := httptest.NewRecorder()
			h.service.ServeHTTP(w, r)
			return w.Code
		}
		for _, step := range []struct {
			method, target, body, ifMatch string
			status                        int
		}{
			{"POST", "/plugins/js?scope=CLUSTER&replace=true", scripts("a 2"), `"7"`, 412},
			{"POST", "/plugins/js?scope=CLUSTER&replace=true", scripts("a 2"), `x`, 400},
			{"POST", "/plugins/js?scope=CLUSTER&replace=true", scripts("a 2", "b"), `"1"`, 400},
			{"POST", "/plugins/js?scope=CLUSTER&replace=true", scripts("a 2"), `"1"`, 200},
			{"PUT", "/plugins/versions?id=a", `{"number":1}`, `"1"`, 412},
			{"PUT", "/plugins/versions?id=a", `{"number":1}`, `"2"`, 200},
			{"PUT", "/plugins?ids=a", `{"status":"STARTED"}`, `"2"`, 412},
			{"PUT", "/plugins?ids=a", `{"status":"STARTED"}`, `W/"3"`, 200},
			{"POST", "/plugins/js?scope=CLUSTER&replace=true", scripts("new"), `"1"`, 412},
		} {
			if got := send(step.method, step.target, step.body, step.ifMatch); got != step.status {
				t.Errorf("%s %s with %s: %d, want %d", step.method, step.target, step.ifMatch, got, step.status)
			}
		}
		// Of many with the same revision one succeeds.
		var wg sync.WaitGroup
		codes := make([]int, 6)
		for i := range codes {
			wg.Go(func() {
				codes[i] = send("POST", "/plugins/js?scope=CLUSTER&replace=true", scripts(fmt.Sprintf("a of %d", i)), `"4"`)
			})
		}
		wg.Wait()
		won := 0
		for _, code := range codes {
			switch code {
			case 200:
				won++
			case 412:
			default:
				t.Errorf("status %d", code)
			}
		}
		if won != 1 {
			t.Errorf("%d of %d succeeded: %v", won, len(codes), codes)
		}
		// Without a revision the same new id can be added once.
		for i := range codes {
			wg.Go(func() { codes[i] = send("POST", "/plugins/js?scope=CLUSTER", scripts(fmt.Sprintf("b of %d", i)), "") })
		}
		wg.Wait()
		if n := strings.Count(fmt.Sprint(codes), "200"); n != 1 || strings.Count(fmt.Sprint(codes), "409") != len(codes)-1 {
			t.Errorf("statuses %v", codes)
		}
		var list struct {
			Data []struct {
				ID, Digest string
				Cluster    struct{ Digest string }
			}
		}
		if err := json.Unmarshal([]byte(h.must("app", "GET", "/plugins", "").body), &list); err != nil || len(list.Data) != 2 {
			t.Fatalf("%v, %+v", err, list)
		}
		for _, p := range list.Data {
			if p.Digest == "" || p.Digest != p.Cluster.Digest {
				t.Errorf("plugin %s: this node runs %s, the cluster wants %s", p.ID, p.Digest, p.Cluster.Digest)
			}
		}
	})
}

// TestClusterPluginRollouts leads rollouts, in the words of callers.
func TestClusterPluginRollouts(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		post := func(name, body string, status int, want string) scenario {
			return scenario{name: name, as: "app", method: "POST", target: "/plugins/rollouts", body: body, status: status, want: want}
		}
		put := func(name, id, action string, status int, want string) scenario {
			return scenario{name: name, as: "app", method: "PUT", target: "/plugins/rollouts?id=" + id, body: fmt.Sprintf(`{"action":%q}`, action), status: status, want: want}
		}
		rollout := func(id int, status, more string) string {
			return fmt.Sprintf(`{"id":%d,"pluginId":"a","number":2,"nodeIds":["node1","node2"],"mode":"NODES","status":%q,"maxErrorPercentage":5,"minCalls":20,%s"adminId":0,"startDate":"DATE"`, id, status, more)
		}
		const body = `{"pluginId":"a","number":2,"nodeIds":["node2","node1","node2"]}`
		h.must("app", "POST", "/plugins/js?scope=CLUSTER", scripts("a"))
		h.must("app", "PUT", "/plugins?ids=a", `{"status":"STARTED"}`)
		h.play([]scenario{
			{name: "none", as: "app", method: "GET", target: "/plugins/rollouts", status: 204},
			{name: "of one node", as: "app", method: "POST", target: "/plugins/js?activate=false", body: scripts("b"), status: 400, want: `~activate`},
			post("no version", body, 404, `~plugin \"a\" has no version 2`),
			{name: "a first version", as: "app", method: "POST", target: "/plugins/js?scope=CLUSTER&activate=false", body: scripts("b"), status: 400, want: `~its first version must be active`},
			{name: "keep a version", as: "app", method: "POST", target: "/plugins/js?scope=CLUSTER&replace=true&activate=false", body: scripts("a 2"), status: 200, want: `~"number":2,"nodes":[{"nodeId":"node1","state":"STARTED","number":1`},
			post("the active one", `{"pluginId":"a","number":1,"nodeIds":["node1"]}`, 400, `~version 1 of plugin \"a\" is active already`),
			post("no such node", `{"pluginId":"a","number":2,"nodeIds":["nowhere"]}`, 400, `~the cluster has no node \"nowhere\"`),
			post("no nodes", `{"pluginId":"a","number":2,"nodeIds":[]}`, 400, `~nodeIds`),
			post("too many errors", `{"pluginId":"a","number":2,"nodeIds":["node1"],"maxErrorPercentage":101}`, 400, `~maxErrorPercentage`),
			post("begin", body, 200, ok(rollout(1, "RUNNING", "")+"}")),
			post("a second one", body, 400, `~rollout 1 of plugin \"a\" is RUNNING: promote or abort it first`),
			{name: "an upload meanwhile", as: "app", method: "POST", target: "/plugins/js?scope=CLUSTER&replace=true", body: scripts("a 3"), status: 400, want: `~promote or abort it first`},
			put("no such step", "1", "STOP", 400, `~action`),
			put("no such rollout", "9", "ABORT", 404, `~there is no rollout 9`),
			put("pause", "1", "PAUSE", 200, ok(rollout(1, "PAUSED", "")+"}")),
			put("abort", "1", "ABORT", 200, ok(rollout(1, "ABORTED", "")+`,"endDate":"DATE"}`)),
			put("abort again", "1", "ABORT", 400, `~ABORT is not possible: the rollout is ABORTED`),
			post("begin again", strings.Replace(body, "}", `,"promoteAfterSeconds":60}`, 1), 200, ok(rollout(2, "RUNNING", `"promoteAfterSeconds":60,`)+"}")),
			{name: "listed", as: "app", method: "GET", target: "/plugins?ids=a", status: 200, want: `~"rollout":` + rollout(2, "RUNNING", "")[:40]},
			put("promote", "2", "PROMOTE", 200, ok(rollout(2, "PROMOTED", `"promoteAfterSeconds":60,`)+`,"endDate":"DATE"}`)),
			{name: "active", as: "app", method: "GET", target: "/plugins", status: 200, want: `~` + clusterPart(2, "STARTED", 3, "STARTED")},
			{name: "history", as: "app", method: "GET", target: "/plugins/rollouts?pluginIds=a", status: 200, want: `~` + rollout(2, "PROMOTED", `"promoteAfterSeconds":60,`)},
			post("too many users", `{"pluginId":"a","number":1,"percentage":101}`, 400, `~percentage`),
			post("nothing to compare", `{"pluginId":"a","number":1,"nodeIds":["node1"],"maxLatencyPercentage":150}`, 400, `~are for rollouts by users`),
			post("nothing to differ", `{"pluginId":"a","number":1,"percentage":10,"maxDifferencePercentage":1}`, 400, `~maxDifferencePercentage: is for shadows`),
			post("for users", `{"pluginId":"a","number":1,"percentage":10,"userIds":[7,5],"maxLatencyPercentage":150,"maxRefusalPercentage":0}`, 200,
				`~"nodeIds":[],"mode":"USERS","percentage":10,"userIds":[5,7],"status":"RUNNING","maxErrorPercentage":5,"maxLatencyPercentage":150,"maxRefusalPercentage":0,"minCalls":20`),
			{name: "beside", as: "app", method: "GET", target: "/plugins", status: 200, want: `~"nodes":[{"nodeId":"node1","state":"STARTED","number":2,"version":"1.0","digest":"DIGEST","candidate":{"number":1,"version":"1.0","state":"STARTED","usage":{"calls":0,"failed":0,"refused":0,"p99Millis":0},"active":{"calls":0,`},
			{name: "more users", as: "app", method: "PUT", target: "/plugins/rollouts?id=3", body: `{"action":"CHANGE","percentage":20}`, status: 200, want: `~"percentage":20,"userIds":[5,7],"status":"RUNNING"`},
			{name: "other users", as: "app", method: "PUT", target: "/plugins/rollouts?id=3", body: `{"action":"CHANGE","userIds":[]}`, status: 200, want: `~"percentage":20,"status":"RUNNING"`},
			{name: "not here", as: "app", method: "PUT", target: "/plugins/rollouts?id=3", body: `{"action":"PAUSE","percentage":20}`, status: 400, want: `~are for the action CHANGE`},
			{name: "by nodes", as: "app", method: "PUT", target: "/plugins/rollouts?id=2", body: `{"action":"CHANGE","percentage":20}`, status: 400, want: `~its users cannot be changed: the rollout is PROMOTED`},
			{name: "no such rollout to change", as: "app", method: "PUT", target: "/plugins/rollouts?id=9", body: `{"action":"CHANGE","percentage":20}`, status: 404, want: `~there is no rollout 9`},
			put("no steps", "3", "NEXT", 400, `~rollout 3 has no further step: promote it`),
			put("promote the candidate", "3", "PROMOTE", 200, `~"status":"PROMOTED"`),
			{name: "the candidate is active", as: "app", method: "GET", target: "/plugins", status: 200, want: `~` + clusterPart(1, "STARTED", 4, "STARTED")},
			post("as a shadow", `{"pluginId":"a","number":2,"shadow":true,"maxLatencyPercentage":150}`, 200, `~"nodeIds":[],"mode":"SHADOW","percentage":100,"status":"RUNNING","maxErrorPercentage":5,"maxLatencyPercentage":150`),
			{name: "copies of calls", as: "app", method: "GET", target: "/plugins/rollouts?pluginIds=a", status: 200, want: `~"nodes":[{"nodeId":"node1","shadow":{"calls":0,"equal":0,"different":0,"errors":0,"dropped":0}}]`},
			{name: "a shadow", as: "app", method: "GET", target: "/plugins", status: 200, want: `~"shadow":{"calls":0,"equal":0,"different":0,"errors":0,"dropped":0}}`},
			{name: "copies of some", as: "app", method: "PUT", target: "/plugins/rollouts?id=4", body: `{"action":"CHANGE","percentage":20}`, status: 200, want: `~"mode":"SHADOW","percentage":20,`},
			put("promote the shadow", "4", "PROMOTE", 200, `~"status":"PROMOTED"`),
			{name: "its version is active", as: "app", method: "GET", target: "/plugins", status: 200, want: `~` + clusterPart(2, "STARTED", 5, "STARTED")},
			post("a shadow on a node", `{"pluginId":"a","number":1,"shadow":true,"nodeIds":["node1"],"userIds":[5]}`, 200, `~"nodeIds":["node1"],"mode":"SHADOW","userIds":[5],"status":"RUNNING"`),
			put("abort the shadow", "5", "ABORT", 200, `~"status":"ABORTED"`),
			post("steps that shrink", `{"pluginId":"a","number":1,"steps":[{"percentage":10},{"percentage":10}]}`, 400, `~steps[1].percentage: 10 is not larger than 10`),
			post("steps and a percentage", `{"pluginId":"a","number":1,"percentage":1,"steps":[{"percentage":10}]}`, 400, `~are those of a rollout without steps`),
			post("steps", `{"pluginId":"a","number":1,"steps":[{"percentage":1,"afterSeconds":60},{"percentage":10}]}`, 200,
				`~"mode":"USERS","percentage":1,"status":"RUNNING","maxErrorPercentage":5,"minCalls":20,"promoteAfterSeconds":60,"steps":[{"percentage":1,"afterSeconds":60,"startDate":"DATE"},{"percentage":10}],`),
			{name: "another percentage", as: "app", method: "PUT", target: "/plugins/rollouts?id=6", body: `{"action":"CHANGE","percentage":20}`, status: 400, want: `~has steps, which say its percentage`},
			{name: "more users", as: "app", method: "PUT", target: "/plugins/rollouts?id=6", body: `{"action":"CHANGE","userIds":[5]}`, status: 200, want: `~"percentage":1,"userIds":[5]`},
			put("pause a step", "6", "PAUSE", 200, `~"status":"PAUSED"`),
			put("next while it is paused", "6", "NEXT", 400, `~NEXT is not possible: the rollout is PAUSED`),
			put("resume a step", "6", "RESUME", 200, `~"status":"RUNNING"`),
			put("next", "6", "NEXT", 200, `~"percentage":10,"userIds":[5],"status":"RUNNING","maxErrorPercentage":5,"minCalls":20,"steps":[{"percentage":1,"afterSeconds":60,"startDate":"DATE"},{"percentage":10,"startDate":"DATE"}],`),
			put("no next", "6", "NEXT", 400, `~rollout 6 has no further step: promote it`),
			put("abort steps", "6", "ABORT", 200, `~"status":"ABORTED"`),
		})
	})
}
