// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// askers are users who continuously query profiles.
type askers struct {
	t     *testing.T
	stop  atomic.Bool
	group sync.WaitGroup
	// answered and failed count the successful and failed requests of each user.
	answered, failed []atomic.Int64
}

// newAskers logs in users 1 to n and sends their queries until end is called.
func newAskers(t *testing.T, gateway *process, n int) *askers {
	t.Helper()
	a := &askers{t: t, answered: make([]atomic.Int64, n+1), failed: make([]atomic.Int64, n+1)}
	for id := 1; id <= n; id++ {
		user := chat.LogIn(t, gateway.clients[0], int64(id), chat.WithPassword("secret"))
		a.group.Go(func() { a.ask(user, id) })
	}
	return a
}

func (a *askers) ask(user *chat.Tester, id int) {
	pace := time.NewTicker(100 * time.Millisecond)
	defer pace.Stop()
	for !a.stop.Load() {
		<-pace.C
		ctx, cancel := context.WithTimeout(a.t.Context(), 2*patience)
		response, err := user.Do(ctx, &wire.QueryUserProfilesRequest{UserIds: []int64{int64(id)}})
		cancel()
		switch {
		case err != nil:
			a.t.Errorf("user %d was not answered: %v", id, err)
			return
		case response.GetCode() == 1000:
			a.answered[id].Add(1)
		default:
			a.failed[id].Add(1)
		}
	}
}

// failures returns the number of failed requests of each user that has any.
func (a *askers) failures() map[int64]int64 {
	failures := map[int64]int64{}
	for id := range a.failed {
		if n := a.failed[id].Load(); n > 0 {
			failures[int64(id)] = n
		}
	}
	return failures
}

// progress waits until every user has received another response.
func (a *askers) progress(t *testing.T, when string) {
	t.Helper()
	before := make([]int64, len(a.answered))
	for i := range before {
		before[i] = a.answered[i].Load()
	}
	eventually(t, "everybody is answered "+when, func() bool {
		for i := range before[1:] {
			if a.answered[i+1].Load() < before[i+1]+3 {
				return false
			}
		}
		return true
	})
}

func (a *askers) end() {
	a.stop.Store(true)
	a.group.Wait()
}

// A canary is a plugin with a correct version 1 and a version 2 with a planted bug.
type canary struct {
	id, operation string
	versions      map[int][]byte
}

// upload uploads a version to the cluster.
func (c canary) upload(p *process, query string, version int) (int, string) {
	if c.operation == "createJavaPlugins" {
		return p.uploadJar(query, c.versions[version])
	}
	return p.uploadScript(query, string(c.versions[version]))
}

// canaryScript returns a canary in JavaScript, large enough to be stored in chunks.
func canaryScript() canary {
	c := canary{"canary-script", "createJsPlugins", map[int][]byte{}}
	for version, body := range map[int]string{1: "", 2: "throw new Error('planted');"} {
		c.versions[version] = fmt.Appendf(nil, `
class Profiles extends AppExtension {
  getExtensionPoints() { return ['ClientRequestHandler']; }
  handle(request) { %s }
}
export default class extends AppPlugin {
  getDescriptor() { return {id: '%s', version: '%d', 'compatible-servers': ['SERVICE']}; }
  getExtensions() { return [Profiles]; }
}
// %s`, body, c.id, version, strings.Repeat("x", 1<<20))
	}
	return c
}

// canaryJar returns a canary in Java.
func canaryJar(t *testing.T) canary {
	c := canary{"canary-jar", "createJavaPlugins", map[int][]byte{}}
	noise := make([]byte, 3<<20)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for version, body := range map[int]string{1: "return null;", 2: `throw new IllegalStateException("planted");`} {
		c.versions[version] = handlerJar(t, c.id, version, body, map[string]string{"noise": string(noise)})
	}
	return c
}

// handlerJar builds a version of a plugin that handles requests with the given body of a Java
// method. files are added to the jar.
func handlerJar(t *testing.T, id string, version int, body string, files map[string]string) []byte {
	t.Helper()
	return javatest.Jar(t, javatest.Plugin{
		Descriptor: fmt.Sprintf("id: %s\nversion: %d\nclass: handler.Handler\ncompatible-servers: [SERVICE]\n", id, version),
		Files:      files,
		Sources: map[string]string{"handler/Handler.java": strings.ReplaceAll(`
package handler;
import im.app.plugin.*;
import im.app.plugin.model.*;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import java.util.*;

public class Handler extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() { return List.of(Requests.class); }

    public static class Requests extends AppExtension implements ClientRequestHandler {
        @Override
        public RequestHandlerResult handle(ClientRequest request) { BODY }
    }
}`, "BODY", body)},
	})
}

// A call is a record of GET /plugins/traces.
type call struct {
	NodeID, Request, Outcome string
	UserID                   int64
	Steps                    []struct{ PluginID, Version, Outcome, Reason string }
}

// failedCalls returns the failed calls of a plugin from the traces of all nodes.
func (p *process) failedCalls(id string) (calls []call) {
	p.t.Helper()
	for page := 0; ; page++ {
		status, body := p.call("GET", fmt.Sprintf("/plugins/traces?pluginIds=%s&outcomes=ERROR&page=%d&size=100", id, page), "")
		must(p.t, "traces", status, body)
		var answer struct {
			Data struct {
				Total   int64
				Records []call
			}
		}
		if status == http.StatusNoContent {
			return nil
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			p.t.Fatal(err)
		}
		calls = append(calls, answer.Data.Records...)
		if len(answer.Data.Records) == 0 || int64(len(calls)) >= answer.Data.Total {
			return calls
		}
	}
}

// audited waits for a row of the audit trail that contains all of these texts.
func (p *process) audited(t *testing.T, operation string, texts ...string) {
	t.Helper()
	var body string
	defer func() {
		if t.Failed() {
			t.Logf("the audit trail of %s is %s", operation, body)
		}
	}()
	eventually(t, fmt.Sprintf("the audit trail has %s with %q", operation, texts), func() bool {
		var answer struct{ Data []json.RawMessage }
		_, body = p.call("GET", "/audit?operations="+operation, "")
		_ = json.Unmarshal([]byte(body), &answer) // A missing record is no JSON.
		return slices.ContainsFunc(answer.Data, func(record json.RawMessage) bool {
			return !slices.ContainsFunc(texts, func(s string) bool { return !strings.Contains(string(record), s) })
		})
	})
}

// rolloutRecord is a record of GET /plugins/rollouts.
type rolloutRecord struct {
	ID                 int64
	Status, Reason     string
	StartDate, EndDate time.Time
}

// rollout returns the latest rollout of a plugin.
func (p *process) rollout(id string) (r rolloutRecord) {
	var answer struct{ Data []rolloutRecord }
	if _, body := p.call("GET", "/plugins/rollouts?pluginIds="+id, ""); json.Unmarshal([]byte(body), &answer) == nil && len(answer.Data) > 0 {
		r = answer.Data[0]
	}
	return r
}

// TestCanary rolls out a version with a bug on three processes, as a script and as a jar: it is
// uploaded while a node is killed and another one added, runs for a tenth of the users, who send
// requests continuously, and is rolled back by the nodes. No other user sees a failure.
func TestCanary(t *testing.T) {
	beside(t)
	nats, db := clustertest.StartServer(t), storetest.StartServer(t)
	set := append([]string{"app.store.url=" + db.URL(), "app.cluster.nats.url=" + nats.URL(), "app.plugin.traces.sample-rate=1", "app.store.timeout-millis=30000"}, openClients...)
	services := []*process{start(t, "service", "service-1", set...), start(t, "service", "service-2", set...)}
	gate := start(t, "gateway", "gateway-1", set...)
	data, err := store.Open(t.Context(), store.Options{URL: db.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := data.Close(); err != nil {
			t.Error(err)
		}
	})
	const users = 30
	createUsers(t, services[0], users)
	askers := newAskers(t, gate, users)
	defer askers.end() // Before the context of the test ends.
	askers.progress(t, "before anything happens")

	all := t // A node that is added lives longer than the subtest that adds it.
	for i, c := range []canary{canaryScript(), canaryJar(t)} {
		t.Run(c.id, func(t *testing.T) {
			earlier := askers.failures()
			one, killed := services[0], services[1]

			// The node that receives the upload is killed in the middle of it. The upload must be
			// atomic.
			uploaded := make(chan string, 1)
			go func() {
				status, body := c.upload(killed, "", 1)
				uploaded <- fmt.Sprint(status, " ", body)
			}()
			eventually(t, "a part of the file is stored", func() bool {
				select {
				case answer := <-uploaded:
					if uploaded <- answer; !strings.HasPrefix(answer, "200") {
						t.Fatalf("upload: %s", answer)
					}
				default:
				}
				return len(rowsOf(t, data, "SELECT digest FROM plugin_chunk WHERE digest = '"+plugin.Digest(c.versions[1])+"' LIMIT 1")) > 0
			})
			killed.signal(syscall.SIGKILL)
			t.Logf("the upload to the node that was killed ended with %.200s", <-uploaded)
			status, body := c.upload(one, "&replace=true", 1)
			must(t, "upload", status, body)
			status, body = one.send(http.MethodPut, "/plugins?ids="+c.id, "application/json", []byte(`{"status":"STARTED"}`))
			must(t, "start", status, body)
			askers.progress(t, "after a node was killed")

			// A new node loads the plugin before it is ready.
			added := start(all, "service", fmt.Sprintf("service-%d", i+3), set...)
			services[1] = added
			if got := added.states(c.id)[added.name]; got != "STARTED 1" {
				t.Errorf("the plugin on a new node that is ready is %q", got)
			}
			askers.progress(t, "after a node was added")

			status, body = c.upload(gate, "&replace=true&activate=false", 2)
			must(t, "upload without activating", status, body)
			status, body = one.send(http.MethodPost, "/plugins/rollouts", "application/json", []byte(`{"pluginId":"`+c.id+`","number":2,"percentage":10,"minCalls":10,"promoteAfterSeconds":3600}`))
			must(t, "begin a rollout", status, body)
			var r rolloutRecord
			eventually(t, "the rollout is rolled back", func() bool {
				r = one.rollout(c.id)
				return r.Status == "ROLLED_BACK"
			})
			t.Logf("rolled back %v after its begin: %s", r.EndDate.Sub(r.StartDate), r.Reason)
			if took := r.EndDate.Sub(r.StartDate); took <= 0 || took > time.Minute {
				t.Errorf("it took %v", took)
			}
			if !strings.Contains(r.Reason, "calls failed, more than 5 %") {
				t.Errorf("the reason is %q", r.Reason)
			}
			one.follow(c.id, on("STARTED 1", one.name, added.name))
			eventually(t, "no node runs the candidate", func() bool {
				_, body := gate.call("GET", "/plugins?ids="+c.id, "")
				return !strings.Contains(body, `"candidate"`)
			})
			askers.progress(t, "after the roll-back")

			// Only users of the canary saw failures, as many as the traces have, and all because of
			// version 2.
			failures := askers.failures()
			maps.DeleteFunc(failures, func(id, n int64) bool { return n == earlier[id] })
			for id := range failures {
				failures[id] -= earlier[id]
			}
			t.Logf("requests failed by users: %v", failures)
			if len(failures) == 0 || len(failures) > users/4 {
				t.Errorf("requests of %d of %d users failed, want about a tenth", len(failures), users)
			}
			calls := gate.failedCalls(c.id)
			told := map[int64]int64{}
			for _, call := range calls {
				told[call.UserID]++
				if s := call.Steps[len(call.Steps)-1]; call.Request != "QUERY_USER_PROFILES" || s.PluginID != c.id || s.Version != "2" || s.Outcome != "ERROR" || !strings.Contains(s.Reason, "planted") {
					t.Errorf("the trace of a call that failed is %+v", call)
				}
			}
			if !maps.Equal(told, failures) {
				t.Errorf("traces tell of failed calls %v, users of %v", told, failures)
			}

			// The audit trail names the author of each change. The first version may be that of the
			// killed node.
			one.audited(t, c.operation, `"loginName":"app"`, `"outcome":"DONE"`, `"targetIds":["`+c.id+`","1"]`)
			one.audited(t, c.operation, `"loginName":"app"`, `"outcome":"DONE"`, `"nodeId":"gateway-1"`, `"targetIds":["`+c.id+`","2"]`)
			one.audited(t, "createPluginRollout", `"loginName":"app"`, c.id, `"percentage":10`)
			one.audited(t, "rollBackPluginRollout", `"loginName":"node `, fmt.Sprintf(`"targetIds":["%d","%s"]`, r.ID, c.id), "ROLLED_BACK", "calls failed, more than 5 %")
		})
		if t.Failed() {
			return
		}
	}
}
