// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
)

func TestMetrics(t *testing.T) {
	h := newSQLiteHarness(t)
	h.role(1, 1, "LOG_QUERY")
	h.account("logger", 1)
	h.play([]scenario{
		{name: "without permission", as: "logger", method: "GET", target: "/metrics?names=system.cpu.count", status: 200, want: `~{"name":"system.cpu.count","measurements":[{"tags":[],"measurements":{"value":`},
		{name: "without credentials", method: "GET", target: "/metrics", status: 401, want: `~"code":1300`},
		{name: "description", as: "app", method: "GET", target: "/metrics?names=jvm.memory.used&returnDescription=true&returnAvailableTags=true", status: 200, want: `~"availableTags":{"area":["heap","nonheap"]}`},
		{name: "no tags", as: "app", method: "GET", target: "/metrics?names=system.cpu.count&returnAvailableTags=true", status: 200, want: `~"availableTags":{}`},
		{name: "tags", as: "app", method: "GET", target: "/metrics?names=jvm.memory.used&tags=area:heap", status: 200, want: `~"measurements":[{"tags":["area:heap"],"measurements":{"value":`},
		{name: "tags without names", as: "app", method: "GET", target: "/metrics?tags=area:heap", status: 400, want: `~\"tags\": needs the parameter \"names\"`},
		{name: "tag without colon", as: "app", method: "GET", target: "/metrics?names=jvm.memory.used&tags=heap", status: 400, want: `~\"heap\" must have the form key:value`},
		{name: "tags that nothing carries", as: "app", method: "GET", target: "/metrics?names=jvm.memory.used&tags=area:moon", status: 204},
		{name: "unknown names", as: "app", method: "GET", target: "/metrics?names=nothing,system.cpu.count", status: 200, want: `~"data":[{"name":"system.cpu.count"`},
		{name: "only unknown names", as: "app", method: "GET", target: "/metrics?names=nothing", status: 204},
		{name: "names", as: "app", method: "GET", target: "/metrics/names", status: 200, want: `~"system.cpu.count","system.cpu.usage",`},
		{name: "csv", as: "app", method: "GET", target: "/metrics/csv?names=user.registered", status: 200, want: "Name,Tags,Type,Value,Unit\nuser.registered,role:SERVICE,COUNTER,0,"},
		{name: "csv without names", as: "app", method: "GET", target: "/metrics/csv", status: 400, want: `~parameter \"names\": is required`},
		{name: "prometheus", as: "app", method: "GET", target: "/metrics/prometheus?names=system_cpu_count", status: 200, want: "~\nsystem_cpu_count "},
	})
	r := h.call("app", "GET", "/metrics/csv?names=disk.free", "")
	if r.header.Get("Content-Type") != "text/csv; charset=UTF-8" || r.header.Get("Content-Disposition") != "attachment; filename=app-metrics.csv" {
		t.Errorf("csv headers %v", r.header)
	}
	if r := h.call("app", "GET", "/metrics/prometheus", ""); r.header.Get("Content-Type") != "text/plain; charset=UTF-8" || !strings.HasSuffix(r.body, "# EOF\n") {
		t.Errorf("prometheus headers %v", r.header)
	}
	var named struct{ Data []string }
	var returned struct{ Data []struct{ Name string } }
	if err := json.Unmarshal([]byte(h.call("app", "GET", "/metrics/names", "").body), &named); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(h.call("app", "GET", "/metrics", "").body), &returned); err != nil {
		t.Fatal(err)
	}
	if len(named.Data) == 0 || len(named.Data) != len(returned.Data) {
		t.Fatalf("%d names, %d metrics", len(named.Data), len(returned.Data))
	}
	for i, m := range returned.Data {
		if named.Data[i] != m.Name {
			t.Errorf("%q is named, %q returned", named.Data[i], m.Name)
		}
	}
	h.openTo = netip.MustParseAddr("192.0.2.1") // where the requests of a test come from
	for _, path := range []string{"/metrics", "/metrics/names", "/metrics/prometheus"} {
		if r := h.call("", "GET", path, ""); r.status != 200 {
			t.Errorf("%s from an open address: %d", path, r.status)
		}
	}
}

// TestDashboard asks for what the web UI shows of a member.
func TestDashboard(t *testing.T) {
	h := newSQLiteHarness(t)
	h.call("app", "GET", "/metrics/names", "") // http.server.requests counts from the first answer on.
	for name := range strings.FieldsSeq(`process.cpu.usage system.cpu.usage system.memory.total system.memory.free
		system.memory.swap.total system.memory.swap.free disk.total disk.free jvm.buffer.count jvm.buffer.memory.used
		jvm.buffer.total.capacity jvm.classes.loaded jvm.classes.unloaded jvm.gc.live.data.size jvm.gc.max.data.size
		jvm.gc.memory.allocated jvm.gc.memory.promoted jvm.gc.pause jvm.memory.committed jvm.memory.max jvm.memory.used
		jvm.threads.daemon jvm.threads.live jvm.threads.peak rpc.request app.client.request
		user.registered user.deleted group.created group.deleted message.sent user.online user.logged_in`) {
		if r := h.call("app", "GET", "/metrics?names="+name, ""); r.status != 200 || !strings.Contains(r.body, `"measurements":[{"tags":`) {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
}
