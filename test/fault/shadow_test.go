// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
)

// shadowFigures returns the results of shadow calls, by the ids of the nodes that made them.
func (p *process) shadowFigures(id string) map[string]struct{ Calls, Different int64 } {
	var answer struct {
		Data []struct {
			Nodes []struct {
				NodeID string
				Shadow struct{ Calls, Different int64 }
			}
		}
	}
	figures := map[string]struct{ Calls, Different int64 }{}
	if _, body := p.call("GET", "/plugins/rollouts?pluginIds="+id, ""); json.Unmarshal([]byte(body), &answer) == nil && len(answer.Data) > 0 {
		for _, n := range answer.Data[0].Nodes {
			figures[n.NodeID] = n.Shadow
		}
	}
	return figures
}

// TestShadows sends copies of calls on two nodes to broken versions of a jar: they end their JVM,
// hang, exhaust their memory, write and fail, and are rolled back. Then nodes hang and are killed
// while a shadow runs, and its plugin is removed. No client sees a failure.
func TestShadows(t *testing.T) {
	beside(t)
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := append([]string{
		"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL(), "app.store.timeout-millis=30000", "app.plugin.call-timeout-millis=10000", "app.plugin.cluster.max-versions=50",
	}, openClients...)
	one, two := start(t, "service", "service-1", set...), start(t, "service", "service-2", set...)
	gate := start(t, "gateway", "gateway-1", set...)
	const users = 4
	createUsers(t, one, users)
	status, body := one.uploadJar("", handlerJar(t, "watched", 1, "return null;", nil))
	must(t, "upload", status, body)
	status, body = one.send(http.MethodPut, "/plugins?ids=watched", "application/json", []byte(`{"status":"STARTED"}`))
	must(t, "start", status, body)
	gate.follow("watched", on("STARTED 1", "service-1", "service-2"))
	askers := newAskers(t, gate, users)
	defer askers.end()
	askers.progress(t, "by the active version")

	version := 1
	// shadow starts a shadow rollout of a new version.
	shadow := func(code, conditions string) {
		t.Helper()
		version++
		status, body := one.uploadJar("&replace=true&activate=false", handlerJar(t, "watched", version, code, nil))
		must(t, "upload without activating", status, body)
		status, body = one.send(http.MethodPost, "/plugins/rollouts", "application/json", fmt.Appendf(nil, `{"pluginId":"watched","number":%d,"shadow":true%s}`, version, conditions))
		must(t, "begin a rollout", status, body)
	}
	for _, tt := range []struct{ name, code, conditions, reason string }{
		{"halt", "Runtime.getRuntime().halt(3); return null;", `,"minCalls":5`, ""},
		{"exit", "System.exit(0); return null;", `,"minCalls":5`, "calls failed"},
		{"loop", "for (long i = 0; ; i++) { if (i < 0) return null; }", `,"minCalls":5`, ""},
		{"memory", "List<long[]> held = new ArrayList<>(); for (;;) held.add(new long[1 << 20]);", `,"minCalls":5`, ""},
		{"throw", `throw new IllegalStateException("planted");`, `,"minCalls":5`, "calls failed"},
		{"write", `api().users().create(new im.app.plugin.api.users.UserCreation().id(4711L).name("made")); return null;`, `,"minCalls":5,"maxDifferencePercentage":10`, "copies of calls ended otherwise"},
	} {
		shadow(tt.code, tt.conditions)
		var r rolloutRecord
		took := eventually(t, tt.name+": the rollout ends", func() bool {
			r = one.rollout("watched")
			return r.Status != "RUNNING"
		})
		t.Logf("%s: %s after %v, %v by the server: %s", tt.name, r.Status, took, r.EndDate.Sub(r.StartDate), r.Reason)
		if r.Status != "ROLLED_BACK" || !strings.Contains(r.Reason, tt.reason) {
			t.Errorf("%s: the rollout is %s, %q", tt.name, r.Status, r.Reason)
		}
		askers.progress(t, "after "+tt.name)
	}
	if status, body := one.call("GET", "/users?ids=4711", ""); strings.Contains(body, "4711") {
		t.Errorf("a shadow made a user: %d %s", status, body)
	}

	// A shadow whose results only differ keeps running on both nodes, while one of them hangs and
	// is killed.
	shadow(`throw new AppException(5010, "not this");`, `,"minCalls":1000000`)
	copies := func(p *process, node string) bool { return p.shadowFigures("watched")[node].Different > 5 }
	for _, node := range []string{"service-1", "service-2"} {
		eventually(t, node+" copies calls", func() bool { return copies(one, node) })
	}
	samples := fmt.Sprintf("/plugins/rollouts/samples?id=%d", one.rollout("watched").ID)
	if status, body := gate.call("GET", samples, ""); status != 200 || !strings.Contains(body, `"nodeId":"service-1"`) || !strings.Contains(body, `"nodeId":"service-2"`) {
		t.Errorf("the samples of both nodes are %d %s", status, body)
	}
	eventually(t, "the samples say what is missing", func() bool {
		clustertest.Freeze(t, two.Process.Pid) // Only shortly: a node that hangs is no longer a member after 4 seconds.
		defer clustertest.Thaw(t, two.Process.Pid)
		_, body := one.call("GET", samples, "")
		return strings.Contains(body, `"missingNodes":[{"nodeId":"service-2"`) && strings.Contains(body, `"nodeId":"service-1"`)
	})
	two.signal(syscall.SIGKILL)
	askers.progress(t, "without a node")
	two = start(t, "service", "service-2", set...)
	eventually(t, "the node that was killed copies calls again", func() bool { return copies(one, "service-2") })
	if status, body := one.uploadJar("&replace=true", handlerJar(t, "watched", 99, "return null;", nil)); status != 400 || !strings.Contains(body, "promote or abort it first") {
		t.Errorf("a version is replaced beside a shadow: %d %s", status, body)
	}
	status, body = two.callWithin(patience, "DELETE", "/plugins?ids=watched", "")
	must(t, "remove", status, body)
	askers.progress(t, "without the plugin")
	askers.end()
	if failed := askers.failures(); len(failed) > 0 {
		t.Errorf("requests failed: %v", failed)
	}
}
