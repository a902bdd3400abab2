// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"regexp"
	"testing"

	"example.org/app/internal/plugin"
	"example.org/app/internal/wire"
)

// TestPluginTraces shows what plugins did to the requests of two users.
func TestPluginTraces(t *testing.T) {
	h := newSQLiteHarness(t)
	h.role(1, 1, "PLUGIN_QUERY")
	h.account("tracer", 1)
	load := func(h *harness) {
		s := h.pluginSettings.Traces
		s.UserIDs, s.RequestIDs = []int64{5}, []string{"8"}
		h.plugins.Calls.Traces().Configure(s)
		for id, request := range map[int64]int64{5: 7, 6: 8, 9: 9} {
			ctx := plugin.ForRequest(t.Context(), id, request, wire.KindCreateMessage)
			if _, _, err := plugin.Ask[*plugin.RequestHandlerResult](ctx, h.plugins.Calls, plugin.HandleRequest, &plugin.ClientRequest{}); err == nil {
				t.Error("the plugin did not fail")
			}
		}
	}
	get := func(name, query string, status int, want string) scenario {
		return scenario{name: name, as: "app", method: "GET", target: "/plugins/traces" + query, status: status, want: want}
	}
	h.play([]scenario{
		get("none", "", 204, ""),
		{name: "without the permission", as: "tracer", method: "GET", target: "/plugins/traces", status: 401, want: `~the permission PLUGIN_TRACE_QUERY is needed`},
		{name: "load", as: "app", method: "POST", target: "/plugins/js", body: scripts("a"), status: 200, want: `~"id":"a"`},
		{name: "start", as: "app", method: "PUT", target: "/plugins?ids=a", body: `{"status":"STARTED"}`, status: 200, want: updated(1, 1), after: load},
		get("all", "", 200, `~"total":2,`),
		get("by user", "?userIds=5", 200, `~"total":1,`),
		get("by request", "?requestIds=8", 200, `~"userId":6,`),
		get("by request that was not recorded", "?requestIds=9", 204, ""),
		get("by plugin", "?pluginIds=a", 200, `~"total":2,`),
		get("by another plugin", "?pluginIds=b", 204, ""),
		get("by point", "?extensionPoints=ClientRequestHandler&outcomes=ERROR,TIMEOUT", 200, `~"total":2,`),
		get("by another point", "?extensionPoints=UserAuthenticator", 204, ""),
		get("by another outcome", "?outcomes=REFUSED", 204, ""),
		get("an outcome that does not exist", "?outcomes=BAD", 400, `~parameter \"outcomes\"`),
		get("the second of two pages", "?page=1&size=1", 200, `~"total":2,"records":[{"id":1,`),
		get("a page too far", "?page=2&size=1", 200, `~"total":2,"records":[]`),
		get("a page that cannot be gathered", "?page=1000&size=10", 400, `~parameter \"page\"`),
	})
	r := h.call("app", "GET", "/plugins/traces?userIds=5", "")
	want := regexp.MustCompile(`"records":\[\{"id":\d,"nodeId":"node1","processId":"P1","date":"[^"]+","durationMicros":\d+,"requestId":"7","request":"` + wire.KindCreateMessage.String() + `","userId":5,` +
		`"extensionPoint":"ClientRequestHandler","function":"handle","outcome":"ERROR","steps":\[\{"pluginId":"a","version":"1.0","extensionClass":"Handler",` +
		`"durationMicros":\d+,"outcome":"ERROR","reason":"TypeError: x \(a.js:1:2\)"\}\]\}\]`)
	if !want.MatchString(fmt.Sprint(r.body)) {
		t.Errorf("the record is %s", r.body)
	}
	h.lostNode = true
	h.play([]scenario{
		get("a node is lost", "?userIds=5", 200, `~"missingNodes":[{"nodeId":"node2","reason":"the node did not answer"}]`),
		get("a node is lost and the others have none", "?userIds=7", 200, `~"data":{"total":0,"records":[],"missingNodes":[{"nodeId":"node2",`),
	})
}
