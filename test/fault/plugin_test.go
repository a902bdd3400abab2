// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// uploader has a longer time limit, because a jar may have to wait for a JVM.
var uploader = &http.Client{Timeout: 5 * time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}

// uploadScript uploads a script to the cluster.
func (p *process) uploadScript(query, code string) (int, string) {
	p.t.Helper()
	body, err := json.Marshal(map[string]any{"scripts": []any{map[string]string{"code": code}}})
	if err != nil {
		p.t.Fatal(err)
	}
	return p.send(http.MethodPost, "/plugins/js?scope=CLUSTER"+query, "application/json", body)
}

// uploadJar uploads a jar to the cluster.
func (p *process) uploadJar(query string, jar []byte) (int, string) {
	p.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreateFormFile("plugin.jar", "plugin.jar")
	if err == nil {
		_, err = part.Write(jar)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return p.send(http.MethodPost, "/plugins/java?scope=CLUSTER"+query, w.FormDataContentType(), b.Bytes())
}

// send is like call, with a longer time limit.
func (p *process) send(method, path, contentType string, body []byte) (int, string) {
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, bytes.NewReader(body))
	if err != nil {
		p.t.Error(err)
		return 0, ""
	}
	req.SetBasicAuth("app", "app")
	req.Header.Set("Content-Type", contentType)
	resp, err := uploader.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(answer)
}

// states returns the states of a plugin of the cluster on all nodes, as the process sees them:
// state, number and reason by node id.
func (p *process) states(id string) map[string]string {
	_, body := p.send(http.MethodGet, "/plugins?ids="+id, "", nil)
	var e struct {
		Data []struct {
			Cluster struct {
				Nodes []struct {
					NodeID, State, Reason string
					Number                int
				}
			}
		}
	}
	states := map[string]string{}
	if json.Unmarshal([]byte(body), &e) != nil || len(e.Data) == 0 {
		return states
	}
	for _, n := range e.Data[0].Cluster.Nodes {
		states[n.NodeID] = strings.TrimSpace(fmt.Sprintf("%s %d %s", n.State, n.Number, n.Reason))
	}
	return states
}

// follow waits until a process sees the given states of a plugin on the given nodes. Other nodes
// may have other states.
func (p *process) follow(id string, want map[string]string) time.Duration {
	p.t.Helper()
	var got map[string]string
	begin := time.Now()
	for {
		got = p.states(id)
		maps.DeleteFunc(got, func(node, _ string) bool { return want[node] == "" })
		if maps.Equal(got, want) {
			return time.Since(begin)
		}
		if time.Since(begin) > patience {
			p.t.Fatalf("%s: plugin %q has the states %v, want %v", p.name, id, got, want)
		}
	}
}

// on returns the same state for each node.
func on(state string, nodes ...string) map[string]string {
	states := map[string]string{}
	for _, n := range nodes {
		states[n] = state
	}
	return states
}

// script returns a version of a plugin for services.
func script(id string, version int, start string) string {
	return fmt.Sprintf(`
class Watch extends AppExtension {
  getExtensionPoints() { return ['AdminActionHandler']; }
  start() { %[3]s }
  handleAdminAction() {}
}
export default class extends AppPlugin {
  getDescriptor() { return {id: %[1]q, version: '%[2]d', 'compatible-servers': ['SERVICE']}; }
  getExtensions() { return [Watch]; }
}`, id, version, start)
}

// jarSource is the source of a plugin that does nothing.
const jarSource = `
package quiet;
import im.app.plugin.*;
import im.app.plugin.model.*;
import im.app.server.common.infra.plugin.extension.AdminActionHandler;
import java.util.*;

public class Quiet extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() { return List.of(Watch.class); }

    public static class Watch extends AppExtension implements AdminActionHandler {
        @Override
        public void handleAdminAction(AdminAction action) { BODY }
    }
}`

// quietJar builds a jar of some megabytes, which is stored in chunks. body is the body of its
// method.
func quietJar(t *testing.T, version, body string) []byte {
	t.Helper()
	noise := make([]byte, 3<<20)
	random := rand.New(rand.NewPCG(1, uint64(len(version))))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	return javatest.Jar(t, javatest.Plugin{
		ID: "quiet", Version: version, Class: "quiet.Quiet", Sources: map[string]string{"quiet/Quiet.java": strings.ReplaceAll(jarSource, "BODY", body)}, Files: map[string]string{"noise": string(noise)},
	})
}

// must checks the status of a response.
func must(t *testing.T, what string, status int, body string) {
	t.Helper()
	if status < 200 || status > 299 {
		t.Fatalf("%s: %d %s", what, status, body)
	}
}

// TestClusterPlugins distributes plugins of both languages to all nodes while nodes are killed and
// added, and while the database and NATS are down.
func TestClusterPlugins(t *testing.T) {
	beside(t)
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := []string{"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL()}
	one, two := start(t, "service", "service-1", set...), start(t, "service", "service-2", set...)
	gate := start(t, "gateway", "gateway-1", set...)

	// A gateway accepts a plugin for services.
	status, body := gate.uploadScript("", script("watch", 1, ""))
	must(t, "upload to a gateway", status, body)
	t.Logf("loaded by two services after %v", gate.follow("watch", on("LOADED 1", "service-1", "service-2")))
	if states := gate.states("watch"); len(states) != 2 {
		t.Errorf("a plugin for services has the states %v", states)
	}
	status, body = gate.send(http.MethodPut, "/plugins?ids=watch", "application/json", []byte(`{"status":"STARTED"}`))
	must(t, "start", status, body)
	t.Logf("started by two services after %v", two.follow("watch", on("STARTED 1", "service-1", "service-2")))

	// A node is killed in the middle of an upload. The upload must be atomic.
	first := quietJar(t, "1", "")
	data, err := store.Open(t.Context(), store.Options{URL: db.URL()})
	if err != nil {
		t.Fatal(err)
	}
	uploaded := make(chan int, 1)
	go func() {
		status, _ := two.uploadJar("", first)
		uploaded <- status
	}()
	eventually(t, "a part of the file is stored", func() bool {
		return len(rowsOf(t, data, "SELECT digest FROM plugin_chunk WHERE number = 1 LIMIT 1")) > 0
	})
	two.signal(syscall.SIGKILL)
	t.Logf("the upload to the node that was killed ended with %d", <-uploaded)
	status, body = one.uploadJar("&replace=true", first)
	must(t, "upload of the jar", status, body)
	if err := data.Close(); err != nil {
		t.Fatal(err)
	}
	status, body = one.send(http.MethodPut, "/plugins?ids=quiet", "application/json", []byte(`{"status":"STARTED"}`))
	must(t, "start", status, body)
	// It may no longer be a member.
	if state, member := one.states("quiet")["service-2"]; member && !strings.HasPrefix(state, "UNKNOWN 0 the node did not answer") {
		t.Errorf("the node that was killed is %q", state)
	}
	t.Logf("a jar of %d bytes started by the rest after %v", len(first), gate.follow("quiet", on("STARTED 1", "service-1", "gateway-1")))

	// A new node loads everything before it is ready.
	three := start(t, "service", "service-3", set...)
	for _, id := range []string{"watch", "quiet"} {
		if got := three.states(id)["service-3"]; got != "STARTED 1" {
			t.Errorf("plugin %q on a new node that is ready is %q", id, got)
		}
	}

	// One node cannot start the new version: it keeps the old one and reports why.
	status, body = one.uploadScript("&replace=true", script("watch", 2, `if (app.node.id === 'service-3') throw new Error('not on this node');`))
	must(t, "upload of a version that fails on one node", status, body)
	eventually(t, "the node says why", func() bool {
		states := gate.states("watch")
		return states["service-1"] == "STARTED 2" &&
			strings.HasPrefix(states["service-3"], `FAILED 1 start of extension "Watch" failed: Error: not on this node (`)
	})

	// Roll back manually.
	status, body = three.send(http.MethodPut, "/plugins/versions?id=watch", "application/json", []byte(`{"number":1}`))
	must(t, "activate", status, body)
	t.Logf("rolled back after %v", gate.follow("watch", on("STARTED 1", "service-1", "service-3")))

	// Without notifications, nodes poll.
	nats.Stop(t)
	status, body = one.uploadScript("&replace=true", script("watch", 3, ""))
	must(t, "upload without the fabric", status, body)
	took := eventually(t, "the other node notices", func() bool { // A query makes the node check.
		return strings.Contains(three.log.String(), `msg="plugin loaded" plugin=watch version=3 `)
	})
	t.Logf("noticed without the fabric after %v", took)
	nats.Start(t, true)
	gate.follow("watch", on("STARTED 3", "service-1", "service-3"))

	// Without the database nothing can be added, but running plugins continue.
	db.Stop(t)
	if status, body := one.uploadScript("&replace=true", script("watch", 4, "")); status < 500 {
		t.Errorf("upload without the store: %d %s", status, body)
	}
	eventually(t, "the plugin is listed without the store", func() bool { return strings.HasPrefix(one.states("watch")["service-1"], "STARTED 3") })
	db.Start(t)
	eventually(t, "the store is back", func() bool {
		status, body = one.uploadScript("&replace=true", script("watch", 4, ""))
		return status == 200
	})
	gate.follow("watch", on("STARTED 4", "service-1", "service-3"))

	// The command waits until all nodes have the next version.
	status, body = one.send(http.MethodPost, "/admins/tokens", "application/json", []byte(`{"name":"publish"}`))
	must(t, "create a token", status, body)
	var token struct{ Data struct{ Token string } }
	if err := json.Unmarshal([]byte(body), &token); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "quiet.jar")
	if err := os.WriteFile(file, quietJar(t, "two", ""), 0o600); err != nil {
		t.Fatal(err)
	}
	publish := exec.CommandContext(t.Context(), binary, "plugin", "publish", file, "--url", gate.url, "--timeout", "10m")
	publish.Env = []string{"PATH=" + os.Getenv("PATH"), "APP_TOKEN=" + token.Data.Token}
	out, err := publish.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "quiet two is version 2 of the cluster") || !strings.Contains(string(out), " nodes have it") {
		t.Errorf("publish: %v\n%s", err, out)
	}
	gate.follow("quiet", on("STARTED 2", "service-1", "service-3", "gateway-1"))

	// A removal reaches all nodes.
	status, body = gate.send(http.MethodDelete, "/plugins?ids=watch,quiet", "application/json", nil)
	must(t, "delete", status, body)
	for _, p := range []*process{one, three, gate} {
		eventually(t, p.name+" has no plugins", func() bool {
			status, _ := p.call("GET", "/plugins", "")
			return status == http.StatusNoContent
		})
	}
}

// TestRollout rolls out a version with a planted bug on one of two nodes, in both languages: the
// node rolls back by itself, and the other one never runs the version.
func TestRollout(t *testing.T) {
	beside(t)
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := []string{"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL()}
	one, two := start(t, "service", "service-1", set...), start(t, "service", "service-2", set...)
	bad := strings.Replace(script("watch", 2, ""), "handleAdminAction() {}", "handleAdminAction() { throw new Error('planted'); }", 1)
	for _, tt := range []struct {
		id     string
		upload func(t *testing.T, query string, version int) (int, string)
	}{
		{"watch", func(_ *testing.T, query string, version int) (int, string) {
			return one.uploadScript(query, map[int]string{1: script("watch", 1, ""), 2: bad}[version])
		}},
		{"quiet", func(t *testing.T, query string, version int) (int, string) {
			return one.uploadJar(query, quietJar(t, strconv.Itoa(version), map[int]string{1: "", 2: `throw new IllegalStateException("planted");`}[version]))
		}},
	} {
		t.Run(tt.id, func(t *testing.T) {
			status, body := tt.upload(t, "", 1)
			must(t, "upload", status, body)
			status, body = one.send(http.MethodPut, "/plugins?ids="+tt.id, "application/json", []byte(`{"status":"STARTED"}`))
			must(t, "start", status, body)
			one.follow(tt.id, on("STARTED 1", "service-1", "service-2"))
			status, body = tt.upload(t, "&replace=true&activate=false", 2)
			must(t, "upload without activating", status, body)
			status, body = one.send(http.MethodPost, "/plugins/rollouts", "application/json", []byte(`{"pluginId":"`+tt.id+`","number":2,"nodeIds":["service-2"],"minCalls":10,"promoteAfterSeconds":3600}`))
			must(t, "begin a rollout", status, body)
			begin := time.Now()
			calls := 0
			eventually(t, "the rollout is rolled back", func() bool {
				for _, p := range []*process{one, two} {
					calls++
					if status, body := p.send(http.MethodGet, "/admins", "", nil); status != 200 {
						t.Errorf("%s: %d %s", p.name, status, body)
					}
				}
				_, body = one.call("GET", "/plugins/rollouts?pluginIds="+tt.id, "")
				return strings.Contains(body, `"status":"ROLLED_BACK","reason":"node service-2: `)
			})
			t.Logf("rolled back %v after its begin; %d requests meanwhile", time.Since(begin), calls)
			one.follow(tt.id, on("STARTED 1", "service-1", "service-2"))
			_, body = one.call("GET", "/plugins?ids="+tt.id, "")
			if strings.Contains(body, "planted") {
				t.Errorf("the plugin failed on the other node: %s", body)
			}
			eventually(t, "the audit trail tells", func() bool {
				_, body = one.call("GET", "/audit?operations=rollBackPluginRollout", "")
				return strings.Contains(body, `"loginName":"node service-`) && strings.Contains(body, "node service-2: ") && strings.Contains(body, "more than 5 %") // The leader may be faster than the node.
			})
		})
	}
}

// rowsOf runs a query and returns its rows.
func rowsOf(t *testing.T, db *store.DB, query string) (rows []map[string]any) {
	t.Helper()
	err := db.Read(t.Context(), func(ctx context.Context, r store.Reader) (err error) {
		rows, err = storetest.Rows(ctx, r, query)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
