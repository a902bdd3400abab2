// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/cluster"
	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/role"
	"example.org/app/internal/store/storetest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// TestPluginTracesOfARequest records the requests of one user through plugins that change the text,
// refuse, and remove a recipient.
func TestPluginTracesOfARequest(t *testing.T) {
	dir := folderOf(t, map[string]string{
		"a.js": pluginScript("a", "'ClientRequestHandler'", `
  transform(r) {
    const message = r.request.createMessageRequest;
    if (!message) return;
    if (message.text === 'spam') throw new AppError(5010, 'not here');
    message.text = message.text.replaceAll('darn', '*');
    return r;
  }`),
		"b.js": pluginScript("b", "'RequestHandlerResultHandler'", `
  beforeNotify(result) { for (const n of result.notifications) n.recipients = n.recipients.filter(id => id !== '7'); return result; }`),
	})
	s := apptest.Start(t, role.All, "app.plugin.dir="+dir, "app.plugin.abort-on-failure=true",
		"app.service.message.allow-send-messages-to-stranger=true", "app.service.message.check-if-target-active-and-not-deleted=false")
	for _, id := range []string{"5", "6", "7"} {
		want(t, s, role.Service, "POST", "/users", `{"id":`+id+`,"password":"secret"}`, 200)
	}
	sender := chat.Connect(t, s.ClientURLs()[1])
	sender.MustLogin(5, chat.WithPassword("secret"))
	other := chat.Connect(t, s.ClientURLs()[1])
	other.MustLogin(6, chat.WithPassword("secret"))
	say := func(from *chat.Tester, to int64, text string, code int32) {
		t.Helper()
		from.WantCode(&wire.CreateMessageRequest{RecipientId: proto.Int64(to), Text: &text}, code)
	}
	say(sender, 6, "darn", 1000) // Nothing is recorded yet.
	want(t, s, role.Service, "GET", "/plugins/traces", "", 204)
	want(t, s, role.Service, "PUT", "/cluster/settings", `{"plugin":{"traces":{"userIds":[5]}}}`, 200)
	say(sender, 7, "well, darn", 1000)
	say(other, 7, "darn", 1000)
	say(sender, 6, "spam", 5010)
	body := ""
	eventually(t, "the calls are recorded", func() bool {
		_, body = ask(t, s, role.Service, "GET", "/plugins/traces", "")
		return strings.Contains(body, `"function":"beforeNotify"`)
	})
	for _, part := range []string{
		`"changes":[{"path":"request.createMessageRequest.text","before":"text of 10 characters","after":"text of 7 characters"}]`,
		`"outcome":"REFUSED","code":5010,"reason":"not here"`,
		`{"path":"notifications[0].recipients[]","before":"7"}`,
		`"total":3,`,
	} {
		if !strings.Contains(body, part) {
			t.Errorf("the traces\n%s\nlack %s", body, part)
		}
	}
	for _, never := range []string{"darn", `"userId":6`} {
		if strings.Contains(body, never) {
			t.Errorf("the traces show %s: %s", never, body)
		}
	}
	want(t, s, role.Service, "PUT", "/cluster/settings", `{"plugin":{"traces":{"userIds":[],"sampleRate":1,"includeText":true}}}`, 200)
	say(other, 7, "oh darn", 1000)
	want(t, s, role.Service, "GET", "/plugins/traces?userIds=6&extensionPoints=ClientRequestHandler&outcomes=CHANGED", "", 200,
		`{"path":"request.createMessageRequest.text","before":"oh darn","after":"oh *"}`)
}

// TestPluginTracesOfAllNodes queries the traces of two processes at one node, while a third does
// not respond.
func TestPluginTracesOfAllNodes(t *testing.T) {
	server := clustertest.Listen(t)
	dir := folderOf(t, map[string]string{"hello.js": pluginScript("hello", "", `
  getEndpoints() {
    return [
      { handler: 'greet', method: 'GET', path: '/greetings', summary: 'Greet' },
      { handler: 'page', method: 'GET', path: '/page', summary: 'Show a page', contentType: 'text/plain' },
      { handler: 'refuse', method: 'GET', path: '/refusals', summary: 'Refuse' },
    ];
  }
  greet() { return { text: 'hello', count: 12, token: 'x' }; }
  page() { return 'hello'; }
  refuse() { throw new AppError(1302, 'not here'); }`)})
	set := []string{
		"app.store.url=" + storetest.MigratedURL(t), "app.cluster.nats.url=" + server.URL(), "app.cluster.nats.token=secret",
		"app.plugin.dir=" + dir, "app.plugin.abort-on-failure=true", "app.plugin.traces.sample-rate=1", "app.cluster.node.id=",
	}
	start := func(id string, roles ...role.Role) *apptest.Server {
		all := slices.Clone(set)
		all[len(all)-1] += id
		return apptest.Start(t, roles, all...)
	}
	service, other := start("first", role.Service), start("second", role.Service, role.Gateway)
	const path = "/plugins/endpoints/hello"
	want(t, service, role.Service, "GET", path+"/greetings", "", 200, `"text":"hello"`)
	want(t, other, role.Gateway, "GET", path+"/page", "", 200)
	want(t, other, role.Service, "GET", path+"/refusals", "", 404)

	type answer struct {
		Data struct {
			Total   int
			Records []struct {
				NodeID, ProcessID, RequestID, Request, ExtensionPoint, Function, Outcome string
				AdminID                                                                  int64
				Steps                                                                    json.RawMessage
			}
			MissingNodes []struct{ NodeID, Reason string }
		}
	}
	get := func(s *apptest.Server, r role.Role, query string) (a answer) {
		t.Helper()
		if body := want(t, s, r, "GET", "/plugins/traces"+query, "", 200); json.Unmarshal([]byte(body), &a) != nil {
			t.Fatal(body)
		}
		return a
	}
	for _, asked := range []struct {
		server *apptest.Server
		role   role.Role
	}{{service, role.Service}, {other, role.Gateway}} {
		var got answer
		eventually(t, "the nodes know of each other", func() bool {
			got = get(asked.server, asked.role, "?extensionPoints=Endpoint")
			return got.Data.Total == 3 && len(got.Data.MissingNodes) == 0
		})
		var lines []string
		for _, r := range got.Data.Records {
			lines = append(lines, fmt.Sprint(r.NodeID, " ", r.Request, " ", r.Function, " ", r.Outcome))
			if r.ProcessID == "" || r.RequestID == "" || r.ExtensionPoint != "Endpoint" {
				t.Errorf("the record is %+v", r)
			}
		}
		wanted := []string{
			"second-service plugin_hello_refuse refuse REFUSED", "second-gateway plugin_hello_page page ANSWERED", "first plugin_hello_greet greet ANSWERED",
		}
		if !slices.Equal(lines, wanted) {
			t.Errorf("the records are %q", lines)
		}
		for i, part := range []string{
			`"code":1302,"reason":"not here"`, `"outcome":"ANSWERED"`,
			`"changes":[{"path":"count","after":"12"},{"path":"text","after":"text of 5 characters"},{"path":"token","after":"***"}]`,
		} {
			if !strings.Contains(string(got.Data.Records[i].Steps), part) {
				t.Errorf("the steps %s lack %s", got.Data.Records[i].Steps, part)
			}
		}
	}

	// An unresponsive node, such as one of an earlier version, is reported.
	old, err := cluster.Connect(t.Context(), cluster.Options{URL: server.URL(), Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close(t.Context())
	node, err := old.Join(t.Context(), cluster.NodeOptions{ID: "old", Type: role.Service, ProcessID: "OLD"})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Leave(t.Context())
	var got answer
	eventually(t, "the node is named", func() bool {
		got = get(service, role.Service, "?extensionPoints=Endpoint&size=1&page=2")
		return len(got.Data.MissingNodes) > 0
	})
	if m := got.Data.MissingNodes; len(m) != 1 || m[0].NodeID != "old" || !strings.Contains(m[0].Reason, "did not answer") || got.Data.Total != 3 || got.Data.Records[0].NodeID != "first" {
		t.Errorf("with a node that cannot answer it is %+v", got)
	}
}
