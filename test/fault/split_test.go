// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// dutyScript returns a version of a plugin that handles requests, runs a schedule, receives events
// and has an endpoint.
func dutyScript(version int) string {
	return fmt.Sprintf(`
class Duty extends AppExtension {
  getExtensionPoints() { return ['ClientRequestHandler', 'DomainEventHandler']; }
  getEndpoints() { return [{handler: 'version', method: 'GET', path: '/version', summary: 'Tell the version'}]; }
  start() { app.schedule('1s', () => app.log.info('duty schedule of %[1]d;')); }
  handle(request) {}
  handleDomainEvents(events) { app.log.info('duty event of %[1]d;'); }
  version() { return 'endpoint of %[1]d'; }
}
export default class extends AppPlugin {
  getDescriptor() { return {id: 'duty', version: '%[1]d', 'compatible-servers': ['SERVICE']}; }
  getExtensions() { return [Duty]; }
}`, version)
}

// children returns the ids of the child processes of a process.
func (p *process) children() (ids []int) {
	p.t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, file := range files {
		text, _ := os.ReadFile(file) // The thread may have ended.
		for _, field := range strings.Fields(string(text)) {
			if id, err := strconv.Atoi(field); err == nil {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// TestSplitOutages lets candidates serve all users while parts of the cluster fail: a node hangs,
// the JVM of a node is killed, and the database is down. Schedules, events and endpoints stay with
// the active version.
func TestSplitOutages(t *testing.T) {
	beside(t)
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := append([]string{"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL(), "app.plugin.traces.sample-rate=1", "app.store.timeout-millis=10000", "app.plugin.call-timeout-millis=60000", "app.plugin.quarantine.enabled=true", "app.plugin.quarantine.failures=3"}, openClients...)
	one, two := start(t, "service", "service-1", set...), start(t, "service", "service-2", set...)
	gate := start(t, "gateway", "gateway-1", set...)
	const users = 6
	createUsers(t, one, users)
	askers := newAskers(t, gate, users)
	defer askers.end()

	// try makes version 2 of a plugin serve users.
	try := func(id, whom string, upload func(query string, version int) (int, string)) {
		t.Helper()
		status, body := upload("", 1)
		must(t, "upload", status, body)
		status, body = one.send(http.MethodPut, "/plugins?ids="+id, "application/json", []byte(`{"status":"STARTED"}`))
		must(t, "start", status, body)
		gate.follow(id, on("STARTED 1", "service-1", "service-2"))
		status, body = upload("&replace=true&activate=false", 2)
		must(t, "upload without activating", status, body)
		status, body = one.send(http.MethodPost, "/plugins/rollouts", "application/json", []byte(`{"pluginId":"`+id+`","number":2,`+whom+`,"minCalls":1000000}`))
		must(t, "begin a rollout", status, body)
		eventually(t, "both nodes run the candidate", func() bool {
			_, body := gate.call("GET", "/plugins?ids="+id, "")
			return strings.Count(body, `"candidate":{"number":2,"version":"2","state":"STARTED"`) == 2
		})
	}
	ready := func(when string) {
		t.Helper()
		for _, p := range []*process{one, two} {
			eventually(t, p.name+" is ready "+when, func() bool {
				status, _ := p.call("GET", "/health", "")
				return status == 200
			})
		}
	}
	try("duty", `"percentage":100`, func(query string, version int) (int, string) { return one.uploadScript(query, dutyScript(version)) })
	askers.progress(t, "by the candidate")

	// Schedules, events and endpoints, which concern no user, stay with the active version.
	ran := strings.Count(one.log.String(), "duty schedule of 1;")
	eventually(t, "the schedule runs", func() bool { return strings.Count(one.log.String(), "duty schedule of 1;") > ran+1 })
	if status, body := one.call("POST", "/users", `{"id":100,"password":"secret"}`); status != 200 {
		t.Fatalf("create: %d %s", status, body)
	}
	eventually(t, "the event comes", func() bool { return strings.Contains(one.log.String(), "duty event of 1;") })
	if status, body := one.call("GET", "/plugins/endpoints/duty/version", ""); status != 200 || !strings.Contains(body, "endpoint of 1") {
		t.Errorf("the endpoint answers %d %s", status, body)
	}
	for _, p := range []*process{one, two} {
		if text := p.log.String(); strings.Contains(text, "duty schedule of 2;") || strings.Contains(text, "duty event of 2;") {
			t.Errorf("%s: the candidate did the duty of the active version", p.name)
		}
	}

	// A node hangs: the traces of the others are returned, with the names of the missing nodes.
	eventually(t, "the traces say what is missing", func() bool {
		clustertest.Freeze(t, two.Process.Pid) // Only shortly: a node that hangs is no longer a member after 4 seconds.
		defer clustertest.Thaw(t, two.Process.Pid)
		_, body := one.call("GET", "/plugins/traces?pluginIds=duty&size=1", "")
		return strings.Contains(body, `"missingNodes":[{"nodeId":"service-2"`) && strings.Contains(body, `"nodeId":"service-1"`) && strings.Contains(body, `"version":"2"`)
	})
	clustertest.Freeze(t, two.Process.Pid)
	askers.progress(t, "while a node hangs")
	clustertest.Thaw(t, two.Process.Pid)
	eventually(t, "the traces are complete", func() bool {
		status, body := one.call("GET", "/plugins/traces?pluginIds=duty&size=1", "")
		return status == 200 && !strings.Contains(body, "missingNodes")
	})
	if failed := askers.failures(); len(failed) > 0 {
		t.Errorf("requests failed: %v", failed)
	}

	// The JVM of a node is killed. Requests may fail until the node notices.
	before := one.children()
	try("quiet", `"percentage":100`, func(query string, version int) (int, string) {
		return one.uploadJar(query, handlerJar(t, "quiet", version, "return null;", nil))
	})
	askers.progress(t, "by the candidate in Java")
	killed := 0
	for _, id := range one.children() {
		if !strings.Contains(fmt.Sprint(before), strconv.Itoa(id)) {
			killed++
			if err := syscall.Kill(id, syscall.SIGKILL); err != nil {
				t.Errorf("kill the JVM: %v", err)
			}
		}
	}
	if killed == 0 {
		t.Fatal("the node has no JVM")
	}
	askers.progress(t, "after the JVM was killed")
	ready("after the JVM was killed")
	failed := askers.failures()
	t.Logf("requests that failed with the JVM: %v", failed)
	askers.progress(t, "later")
	if now := askers.failures(); fmt.Sprint(now) != fmt.Sprint(failed) {
		t.Errorf("requests go on to fail: %v, then %v", failed, now)
	}
	eventually(t, "the candidate is shown", func() bool {
		_, body := gate.call("GET", "/plugins?ids=quiet", "")
		return strings.Count(body, `"candidate":{"number":2,"version":"2","state":"`) == 2
	})
	lame := func(query string, version int) (int, string) {
		code := strings.ReplaceAll(dutyScript(version), "'duty'", "'lame'")
		if version == 2 {
			code = strings.Replace(code, "handle(request) {}", "handle(request) { throw new Error('planted'); }", 1)
		}
		return one.uploadScript(query, code)
	}

	// A candidate that cannot run is reported, and the nodes stay as healthy as before. Its users
	// are served by the active version.
	try("lame", `"userIds":[100]`, lame)
	status, body := one.send(http.MethodPut, fmt.Sprintf("/plugins/rollouts?id=%d", one.rollout("lame").ID), "application/json", []byte(`{"action":"PAUSE"}`))
	must(t, "pause", status, body)
	user := chat.LogIn(t, gate.clients[0], 100, chat.WithPassword("secret"))
	ask := func() int32 { return user.Response(&wire.QueryUserProfilesRequest{UserIds: []int64{100}}).GetCode() }
	eventually(t, "the candidate is quarantined", func() bool {
		// Services take turns, so with one request per check each check could reach the same one,
		// in step with the other users.
		_, _ = ask(), ask()
		_, body := gate.call("GET", "/plugins?ids=lame", "")
		return strings.Count(body, `"candidate":{"number":2,"version":"2","state":"FAILED","reason":"extension \"Duty\": quarantined after 3 failures in a row`) == 2
	})
	for range 10 {
		if code := ask(); code != 1000 {
			t.Errorf("a user of the candidate that is quarantined is answered %d", code)
		}
	}
	for _, p := range []*process{one, two} {
		if status, body := p.call("GET", "/health", ""); status != 200 || !strings.Contains(body, `"name":"plugins","status":"UP"`) {
			t.Errorf("%s: the health beside a candidate that failed is %d %s", p.name, status, body)
		}
	}
	askers.end()

	// Without the database no decision is made, but running versions continue.
	rollout := one.rollout("duty")
	action := func(name string) int {
		status, _ := one.send(http.MethodPut, fmt.Sprintf("/plugins/rollouts?id=%d", rollout.ID), "application/json", []byte(`{"action":"`+name+`"}`))
		return status
	}
	db.Stop(t)
	if status := action("ABORT"); status < 500 {
		t.Errorf("abort without the database: %d", status)
	}
	if status, body := one.uploadScript("", strings.ReplaceAll(dutyScript(1), "'duty'", "'late'")); status != 503 || !strings.Contains(body, `"code":1201`) {
		t.Errorf("an upload without the database: %d %s", status, body)
	}
	eventually(t, "the candidates run without the database", func() bool {
		_, body := one.send(http.MethodGet, "/plugins?ids=duty", "", nil)
		return strings.Count(body, `"candidate":{"number":2,"version":"2","state":"STARTED"`) == 2
	})
	db.Start(t)
	ready("when the database is back")
	if r := one.rollout("duty"); r.Status != "RUNNING" {
		t.Errorf("the rollout is %+v", r)
	}
	eventually(t, "the rollout is aborted", func() bool { return action("ABORT") == 200 })
	eventually(t, "no node runs the candidate", func() bool {
		_, body := gate.call("GET", "/plugins?ids=duty", "")
		return !strings.Contains(body, `"candidate"`)
	})
	gate.follow("duty", on("STARTED 1", "service-1", "service-2"))
}
