// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/wire"
)

// TestPluginRolloutSamples shows calls that a shadow failed at.
func TestPluginRolloutSamples(t *testing.T) {
	h := newSQLiteHarness(t)
	h.role(1, 1, "PLUGIN_QUERY", "PLUGIN_UPDATE")
	h.account("roller", 1)
	h.must("app", "POST", "/plugins/js?scope=CLUSTER", scripts("a"))
	h.must("app", "PUT", "/plugins?ids=a", `{"status":"STARTED"}`)
	h.must("app", "POST", "/plugins/js?scope=CLUSTER&replace=true&activate=false", scripts("a 2"))
	get := func(name, id string, status int, want string) scenario {
		return scenario{name: name, as: "app", method: "GET", target: "/plugins/rollouts/samples?id=" + id, status: status, want: want}
	}
	h.play([]scenario{
		get("no such rollout", "1", 404, "~there is no rollout 1"),
		{name: "begin", as: "roller", method: "POST", target: "/plugins/rollouts", body: `{"pluginId":"a","number":2,"shadow":true,"minCalls":1000}`, status: 200, want: `~"mode":"SHADOW"`},
		get("none", "1", 200, `~"data":{"records":[]}`),
		{name: "without the permission", as: "roller", method: "GET", target: "/plugins/rollouts/samples?id=1", status: 401, want: `~the permission PLUGIN_TRACE_QUERY is needed`},
	})
	ctx := plugin.ForRequest(t.Context(), 5, 7, wire.KindCreateMessage)
	if _, _, err := plugin.Ask[*plugin.RequestHandlerResult](ctx, h.plugins.Calls, plugin.HandleRequest, &plugin.ClientRequest{UserID: 5, ClientIP: "10.0.0.1"}); err == nil {
		t.Error("the plugin did not fail")
	}
	want := regexp.MustCompile(`"records":\[\{"nodeId":"node1","date":"[^"]+","requestId":"7","request":"` + wire.KindCreateMessage.String() + `","userId":5,"extensionPoint":"ClientRequestHandler","function":"handle",` +
		`"arguments":\[\{"path":"clientRequest.userId","value":"5"\},.*\{"path":"clientRequest.clientIp","value":"text of 8 characters"\}.*\],` +
		`"active":\{"version":"1.0","durationMicros":\d+,"outcome":"ERROR","reason":"TypeError: x \(a.js:1:2\)"\},` +
		`"candidate":\{"version":"1.0","durationMicros":\d+,"outcome":"ERROR","reason":"TypeError: x \([^"]*"\}\}\]`)
	var body string
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end) && !strings.Contains(body, `"nodeId"`); time.Sleep(time.Millisecond) {
		body = fmt.Sprint(h.call("app", "GET", "/plugins/rollouts/samples?id=1", "").body)
	}
	if !want.MatchString(body) {
		t.Errorf("the samples are %s", body)
	}
	h.lostNode = true
	h.play([]scenario{
		get("a node is away", "1", 200, `~"missingNodes":[{"nodeId":"node2","reason":"the node did not answer"}]`),
		{name: "abort", as: "roller", method: "PUT", target: "/plugins/rollouts?id=1", body: `{"action":"ABORT"}`, status: 200, want: `~"status":"ABORTED"`},
		get("ended", "1", 200, `~"records":[{"nodeId":"node1"`),
		{name: "by users", as: "roller", method: "POST", target: "/plugins/rollouts", body: `{"pluginId":"a","number":2,"percentage":1}`, status: 200, want: `~"mode":"USERS"`},
		get("no shadow", "2", 400, "~rollout 2 is no shadow"),
		get("ended still", "1", 200, `~"records":[{"nodeId":"node1"`),
		{name: "abort it", as: "roller", method: "PUT", target: "/plugins/rollouts?id=2", body: `{"action":"ABORT"}`, status: 200, want: `~"status":"ABORTED"`},
		{name: "another shadow", as: "roller", method: "POST", target: "/plugins/rollouts", body: `{"pluginId":"a","number":2,"shadow":true,"maxDifferencePercentage":5}`, status: 200, want: `~"maxDifferencePercentage":5`},
		get("forgotten", "1", 200, `~"data":{"records":[]}`),
	})
}
