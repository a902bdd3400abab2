// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/app"
	"example.org/app/internal/app/apptest"
	"example.org/app/internal/config"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// pluginScript makes a plugin with one extension.
func pluginScript(id, points, body string) string {
	return fmt.Sprintf(`
class Extension extends AppExtension {
  getExtensionPoints() { return [%s]; }
  %s
}
export default class extends AppPlugin {
  getDescriptor() { return {id: %q, version: '1.0'}; }
  getExtensions() { return [Extension]; }
}`, points, body, id)
}

// folderOf makes a folder of plugins.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "plugins")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, code := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// ask sends a request as root and returns status and body.
func ask(t *testing.T, s *apptest.Server, r role.Role, method, target, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL(r)+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("app", "app")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// want checks a part of an answer.
func want(t *testing.T, s *apptest.Server, r role.Role, method, target, body string, status int, parts ...string) string {
	t.Helper()
	got, answer := ask(t, s, r, method, target, body)
	if got != status {
		t.Errorf("%s %s: %d %s", method, target, got, answer)
	}
	for _, part := range parts {
		if !strings.Contains(answer, part) {
			t.Errorf("%s %s: %s lacks %s", method, target, answer, part)
		}
	}
	return answer
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// TestExampleOfAnUpload sends the example of the document.
func TestExampleOfAnUpload(t *testing.T) {
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Example any }
			}
		}
	}
	if err := json.Unmarshal(app.OpenAPI(role.Service), &document); err != nil {
		t.Fatal(err)
	}
	code := document.Components.Schemas["Script"].Properties["code"].Example
	body, err := json.Marshal(map[string]any{"scripts": []any{map[string]any{"code": code}}})
	if err != nil {
		t.Fatal(err)
	}
	s := apptest.Start(t, []role.Role{role.Service})
	want(t, s, role.Service, "POST", "/plugins/js", string(body), 200, `"id":"hello"`)
}

func TestPluginsOfAServer(t *testing.T) {
	actions := make(chan string, 100)
	webhook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		actions <- string(b)
	}))
	defer webhook.Close()
	dir := folderOf(t, map[string]string{
		"audit.js": pluginScript("audit", "'AdminActionHandler'", `
  async start() { this.url = app.config('my-audit').url; await app.storage.set('started', 'yes'); }
  async handleAdminAction(action) { await app.fetch(this.url, {method: 'POST', body: JSON.stringify({...action, at: app.node.role})}); }`),
		"broken.js": "export default 1",
	})
	s := apptest.Start(t, role.All, "app.plugin.dir="+dir, "app.plugin.watch-dir=true", "my-audit.url="+webhook.URL)
	report := s.Plugins()
	if len(report.Loaded) != 1 || report.Loaded[0] != "audit 1.0" || len(report.Rejected) != 1 || !strings.HasPrefix(report.Rejected[0], "broken.js") || report.Folder != dir {
		t.Errorf("the report is %+v", report)
	}
	want(t, s, role.Gateway, "GET", "/plugins?includeRejected=true", "", 200, `"id":"audit"`, `"running":true`, `"id":"broken.js"`)
	if got := <-actions; !strings.Contains(got, `"action":"queryPlugins"`) || !strings.Contains(got, `"params":{"includeRejected":true}`) || !strings.Contains(got, `"adminId":"0"`) || !strings.Contains(got, `"code":1000`) || !strings.Contains(got, `"at":"GATEWAY"`) {
		t.Errorf("the plugin saw %s", got)
	}
	want(t, s, role.Service, "GET", "/nowhere", "", 404)
	if got := <-actions; strings.Contains(got, `"action"`) || !strings.Contains(got, `"params":{}`) || !strings.Contains(got, `"at":"SERVICE"`) {
		t.Errorf("the plugin saw %s", got)
	}
	want(t, s, role.Service, "PUT", "/plugins?ids=audit", `{"status":"PAUSED"}`, 200)
	want(t, s, role.Service, "GET", "/plugins?ids=audit", "", 200, `"state":"PAUSED"`, `"calls":`, `"fileName":"audit.js"`)
	// The webhook has heard of the calls before they end.
	eventually(t, "calls that are counted", func() bool {
		_, metrics := ask(t, s, role.Gateway, "GET", "/metrics/prometheus", "")
		return strings.Contains(metrics, "plugin_calls_seconds_count{")
	})
	want(t, s, role.Gateway, "GET", "/metrics/prometheus", "", 200,
		`plugin_calls_seconds_count{extension="Extension",method="handleAdminAction",outcome="ok",plugin="audit",point="AdminActionHandler"}`,
		`plugin_extensions{extension="Extension",plugin="audit",state="PAUSED"} 1`, `plugin_memory_bytes{plugin="audit"}`)
	odd, err := json.Marshal(map[string]any{"scripts": []any{map[string]string{"fileName": "odd.js", "code": pluginScript("odd", "'UserAuthenticator'", "")}}})
	if err != nil {
		t.Fatal(err)
	}
	want(t, s, role.Service, "POST", "/plugins/js?dryRun=true", string(odd), 200,
		`"id":"odd"`, `"warnings":["Extension names UserAuthenticator but has none of its functions: authenticate() (odd.js:2:1)"]`)
	if err := os.WriteFile(filepath.Join(dir, "broken.js"), []byte(pluginScript("mended", "'AdminActionHandler'", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the mended plugin", func() bool { return len(s.Plugins().Loaded) == 2 && len(s.Plugins().Rejected) == 0 })
	want(t, s, role.Service, "DELETE", "/plugins?ids=audit", "", 204)
	if answer := want(t, s, role.Gateway, "GET", "/metrics/prometheus", "", 200); strings.Contains(answer, `plugin="audit"`) {
		t.Error("a plugin that is gone is still measured")
	}
}

// TestPluginsUseTheServer calls the admin interface from a plugin, which is the requester.
func TestPluginsUseTheServer(t *testing.T) {
	dir := folderOf(t, map[string]string{"user.js": pluginScript("user-maker", "'AdminActionHandler'", `
  async start() {
    const created = await app.api.users.create({body: {id: '9007199254740993', password: 'x', name: 'Made'}});
    const [found] = await app.api.users.query({ids: ['9007199254740993']});
    const refused = await app.api.users.query({ids: 'x'}).catch(e => e.code + ' ' + e.message);
    await app.storage.set('report', JSON.stringify({found: found.id, name: found.name, refused, node: app.node.role, keys: await app.storage.keys()}));
    await app.api.users.update({ids: ['9007199254740993'], body: {intro: await app.storage.get('report')}});
  }`)})
	s := apptest.Start(t, role.All, "app.plugin.dir="+dir, "app.plugin.abort-on-failure=true", "app.service.user.info.max-intro-length=0")
	answer := want(t, s, role.Service, "GET", "/users?ids=9007199254740993", "", 200, `"name":"Made"`)
	var e struct {
		Data []struct{ Intro string }
	}
	if err := json.Unmarshal([]byte(answer), &e); err != nil || len(e.Data) != 1 {
		t.Fatal(answer, err)
	}
	for _, part := range []string{`"found":"9007199254740993"`, `"name":"Made"`, `"refused":"1102 `, `"node":"SERVICE"`, `"keys":[]`} {
		if !strings.Contains(e.Data[0].Intro, part) {
			t.Errorf("the plugin reports %s, without %s", e.Data[0].Intro, part)
		}
	}
	eventually(t, "the audit records", func() bool {
		audit, err := os.ReadFile(filepath.Join(s.LogDir(), "app-admin-api.log"))
		return err == nil && bytes.Contains(audit, []byte(`"admin":"plugin:user-maker"`)) && bytes.Contains(audit, []byte(`"action":"createUser"`))
	})
}

func TestPluginsSwitchedOff(t *testing.T) {
	dir := folderOf(t, map[string]string{"a.js": pluginScript("a", "'AdminActionHandler'", "")})
	s := apptest.Start(t, []role.Role{role.Service}, "app.plugin.dir="+dir, "app.plugin.enabled=false")
	if r := s.Plugins(); r.Enabled || len(r.Loaded) > 0 || len(r.Rejected) > 0 {
		t.Errorf("the report is %+v", r)
	}
	want(t, s, role.Service, "GET", "/plugins", "", 204)
	want(t, s, role.Service, "POST", "/plugins/js", `{"scripts":[{"code":"x"}]}`, 403, `"code":1320`)
	want(t, s, role.Service, "DELETE", "/plugins?ids=a", "", 204)
}

// TestPluginsThatStopTheStart proves that a server does not start with an invalid configuration of
// plugins, or without a required plugin.
func TestPluginsThatStopTheStart(t *testing.T) {
	broken := folderOf(t, map[string]string{"broken.js": "export default 1"})
	lazy := folderOf(t, map[string]string{"lazy.js": pluginScript("lazy", "'AdminActionHandler'", "start() { throw new Error('no database'); }")})
	file := filepath.Join(broken, "broken.js")
	for name, tt := range map[string]struct {
		set  []string
		want string
	}{
		"type of a network plugin": {[]string{"app.plugin.network.plugins[0].url=http://localhost/plugin"}, "the plugin type cannot be recognised"},
		"folder that is a file":    {[]string{"app.plugin.dir=" + file}, "open the folder of plugins"},
		"broken plugin":            {[]string{"app.plugin.dir=" + broken, "app.plugin.abort-on-failure=true"}, "broken.js"},
		"plugin that cannot start": {[]string{"app.plugin.dir=" + lazy, "app.plugin.abort-on-failure=true"}, `start extension "Extension" of plugin "lazy"`},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := config.Load(config.Options{Home: t.TempDir(), Set: append([]string{
				"app.service.admin-api.http.port=0", "app.service.admin-api.http.host=127.0.0.1", "app.logging.console.enabled=false",
			}, tt.set...)})
			if err != nil {
				t.Fatal(err)
			}
			err = app.Run(context.Background(), app.Options{Roles: []role.Role{role.Service}, Config: c, Ready: func(a *app.App) { a.AskForShutdown() }})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestPluginsAndClients has plugins decide about logins, change messages, and observe events.
func TestPluginsAndClients(t *testing.T) {
	events := make(chan string, 100)
	webhook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		events <- string(b)
	}))
	defer webhook.Close()
	report := `async report(...what) { await fetch(app.config('seen').url, {method: 'POST', body: JSON.stringify(what) + app.node.role}); }`
	dir := folderOf(t, map[string]string{
		"login.js": pluginScript("login", "'UserAuthenticator', 'UserOnlineStatusChangeHandler', 'NotificationHandler', 'DomainEventHandler'", report+`
  async handleDomainEvents(events) { for (const e of events) await this.report('event', e.type, e.userId, e.targetId, e.sessionId > 0); }
  authenticate(info) {
    if (info.password === 'token') return true;
    if (info.password === 'never') return false;
    if (info.password === 'closed') throw new AppError(1201, 'come back later');
  }
  async goOnline(all, session) { await this.report('online', all.userId, all.sessions.length, session.deviceType, all.userStatus); }
  async goOffline(all, why) { await this.report('offline', all.userId, all.sessions.length, why.closeStatus); }
  async handle(notification, recipients, offline) {
    await this.report('notified', notification.requesterId, notification.relayedRequest.createMessageRequest.text, recipients, offline);
  }`),
		"words.js": pluginScript("words", "'ClientRequestHandler', 'RequestHandlerResultHandler'", report+`
  transform(r) {
    const message = r.request.createMessageRequest;
    if (message?.text === 'ping') { app.notify({recipients: [r.userId], notification: {createMessageRequest: {text: 'pong'}}}); return; }
    if (message) message.text = message.text.replaceAll('darn', '****');
    return r;
  }
  async afterNotify(result, requester, device, offline) { await this.report('after', requester, offline); }`),
	})
	s := apptest.Start(t, role.All, "app.plugin.dir="+dir, "app.plugin.abort-on-failure=true", "seen.url="+webhook.URL,
		"app.service.message.allow-send-messages-to-stranger=true", "app.service.message.check-if-target-active-and-not-deleted=false")
	for _, id := range []string{"5", "6", "7"} {
		want(t, s, role.Service, "POST", "/users", `{"id":`+id+`,"password":"secret"}`, 200)
	}
	var past []string
	seen := func(at role.Role, event string) {
		t.Helper()
		timeout := time.After(time.Minute)
		for {
			if i := slices.IndexFunc(past, func(got string) bool { return strings.HasPrefix(got, event) }); i >= 0 {
				if !strings.HasSuffix(past[i], `]`+string(at)) {
					t.Errorf("a plugin saw %s, not at the node of the role %s", past[i], at)
				}
				past = slices.Delete(past, i, i+1)
				return
			}
			select {
			case got := <-events:
				past = append(past, got)
			case <-timeout:
				t.Fatalf("no plugin saw %s, but %s", event, past)
			}
		}
	}
	url := s.ClientURLs()[1]
	sender := chat.Connect(t, url)
	sender.RefusedLogin(2011, 5, chat.WithPassword("never"))
	sender.RefusedLogin(1201, 5, chat.WithPassword("closed"))
	sender.RefusedLogin(2011, 5, chat.WithPassword("wrong"))
	sender.MustLogin(5, chat.WithPassword("token"), chat.With(wire.DeviceType_DESKTOP))
	seen(role.Gateway, `["online","5",1,"DESKTOP","AVAILABLE"]`)
	seen(role.Service, `["event","USER_CREATED","5",null,false]`)
	seen(role.Gateway, `["event","SESSION_OPENED","5",null,true]`)
	reader := chat.Connect(t, url)
	reader.MustLogin(6, chat.WithPassword("secret"), chat.With(wire.DeviceType_ANDROID))
	seen(role.Gateway, `["online","6",1,"ANDROID","AVAILABLE"]`)
	say := func(to int64, text string) {
		t.Helper()
		sender.WantCode(&wire.CreateMessageRequest{RecipientId: &to, Text: &text}, 1000)
	}
	say(6, "well, darn")
	if got := reader.Relayed(8).GetRelayedRequest().GetCreateMessageRequest().GetText(); got != "well, ****" {
		t.Errorf("the message is %q", got)
	}
	seen(role.Gateway, `["notified","5","well, ****",["5","6"],[]]`) // The sender's other sessions are told as well.
	seen(role.Service, `["after","5",[]]`)
	seen(role.Service, `["event","MESSAGE_STORED","5","6",false]`)
	say(7, "are you there?")
	seen(role.Service, `["after","5",["7"]]`)
	say(7, "ping")
	if got := sender.Relayed(8).GetRelayedRequest().GetCreateMessageRequest().GetText(); got != "pong" {
		t.Errorf("the plugin notified of %q", got)
	}
	reader.Close()
	seen(role.Gateway, `["offline","6",0,`)
	seen(role.Gateway, `["event","SESSION_CLOSED","6",null,true]`)
}

// TestPluginsKeepMessages has a plugin keep an expired message.
func TestPluginsKeepMessages(t *testing.T) {
	dir := folderOf(t, map[string]string{"archive.js": pluginScript("archive", "'ExpiredMessageDeletionNotifier'", `
  async getMessagesToDelete(messages) {
    await app.storage.set('seen', messages.map(m => m.text).sort().join());
    return messages.filter(m => m.text !== 'keep me');
  }`)})
	s := apptest.Start(t, role.All, "app.plugin.dir="+dir, "app.plugin.abort-on-failure=true", "app.service.message.time-type=CLIENT_TIME",
		"app.service.message.message-retention-period-hours=1", "app.service.message.expired-messages-cleanup-cron=* * * * * *")
	for _, id := range []string{"5", "6"} {
		want(t, s, role.Service, "POST", "/users", `{"id":`+id+`,"password":"secret"}`, 200)
	}
	sender := chat.Connect(t, s.ClientURLs()[1])
	sender.MustLogin(5, chat.WithPassword("secret"))
	for text, age := range map[string]time.Duration{"keep me": 2 * time.Hour, "drop me": 2 * time.Hour, "young": 0} {
		to, date := int64(6), time.Now().Add(-age).UnixMilli()
		sender.WantCode(&wire.CreateMessageRequest{RecipientId: &to, Text: &text, DeliveryDate: &date}, 1000)
	}
	eventually(t, "the old message is gone", func() bool {
		_, body := ask(t, s, role.Service, "GET", "/messages", "")
		return !strings.Contains(body, "drop me") && strings.Contains(body, "keep me") && strings.Contains(body, "young")
	})
}

// TestPluginsOverHTTP runs a plugin through all states by the admin interface, and replaces it
// while clients send messages.
func TestPluginsOverHTTP(t *testing.T) {
	s := apptest.Start(t, role.All, "app.plugin.js.allow-save=true")
	for _, id := range []string{"5", "6"} {
		want(t, s, role.Service, "POST", "/users", `{"id":`+id+`,"password":"secret"}`, 200)
	}
	version := func(n int) string {
		code := pluginScript("suffix", "'ClientRequestHandler'", fmt.Sprintf(`transform(r) {
  const m = r.request.createMessageRequest; if (m) m.text += ' %d'; return r;
}`, n))
		b, err := json.Marshal(map[string]any{"scripts": []any{map[string]string{"fileName": "suffix", "code": code}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	want(t, s, role.Gateway, "POST", "/plugins/js?dryRun=true", version(1), 200, `"id":"suffix"`, `"functions":["ClientRequestHandler.transform"]`)
	want(t, s, role.Gateway, "GET", "/plugins", "", 204)
	want(t, s, role.Service, "POST", "/plugins/js", `{"scripts":[{"fileName":"x.js","code":"export default class extends AppPlugin { getDescriptor() { return {}; } }"}]}`, 400, `"code":1102`, "x.js")
	want(t, s, role.Service, "POST", "/plugins/js?save=true", version(1), 200, `"savedAs":"_network_.suffix.js"`)
	want(t, s, role.Gateway, "GET", "/plugins", "", 200, `"started":false`)
	want(t, s, role.Gateway, "POST", "/plugins/js", version(2), 409, `"code":1303`)

	sender, reader := chat.Connect(t, s.ClientURLs()[1]), chat.Connect(t, s.ClientURLs()[1])
	sender.MustLogin(5, chat.WithPassword("secret"))
	reader.MustLogin(6, chat.WithPassword("secret"))
	say := func() string {
		t.Helper()
		to, text := int64(6), "hi"
		sender.WantCode(&wire.CreateMessageRequest{RecipientId: &to, Text: &text}, 1000)
		return reader.Relayed(8).GetRelayedRequest().GetCreateMessageRequest().GetText()
	}
	if got := say(); got != "hi" {
		t.Errorf("a plugin that is not started said %q", got)
	}
	want(t, s, role.Service, "PUT", "/plugins?ids=suffix", `{"status":"STARTED"}`, 200, `"modifiedCount":1`)
	if got := say(); got != "hi 1" {
		t.Errorf("said was %q", got)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 2; n <= 6; n++ {
			if status, body := ask(t, s, role.Service, "POST", "/plugins/js?replace=true", version(n)); status != 200 || !strings.Contains(body, `"replaced":true`) {
				t.Errorf("version %d: %d %s", n, status, body)
			}
		}
	}()
	for swapping := true; swapping; {
		select {
		case <-done:
			swapping = false
		default:
		}
		if got := say(); !strings.HasPrefix(got, "hi ") {
			t.Fatalf("a message passed the plugin by: %q", got)
		}
	}
	if got := say(); got != "hi 6" {
		t.Errorf("said was %q", got)
	}
	want(t, s, role.Service, "PUT", "/plugins?ids=suffix", `{"status":"STOPPED"}`, 200)
	want(t, s, role.Service, "PUT", "/plugins?ids=suffix", `{"status":"STARTED"}`, 400, "the extension is STOPPED")
	want(t, s, role.Service, "DELETE", "/plugins?ids=suffix&deleteLocalFiles=true", "", 204)
	if got := say(); got != "hi" {
		t.Errorf("a plugin that is gone said %q", got)
	}
}

// TestDryRunChangesNothing checks a plugin that has side effects when it is loaded.
func TestDryRunChangesNothing(t *testing.T) {
	var requests atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		_, _ = io.WriteString(w, "1")
	}))
	defer web.Close()
	code := fmt.Sprintf(`
const tried = [];
const attempt = async (what, f) => { try { await f(); tried.push(what + ' worked'); } catch (e) { tried.push(what + ' failed'); } };
await attempt('fetch', () => fetch(%[1]q));
await attempt('load', () => load(%[1]q));
await attempt('storage', () => app.storage.set('a', 1));
await attempt('api', () => app.api.users.create({ body: { id: '4711' } }));
await attempt('java', () => Java.type('java.lang.System').setProperty('a', 'b'));
class E extends AppExtension { getExtensionPoints() { return ['AdminActionHandler']; } }
export default class extends AppPlugin {
  getDescriptor() { return { id: 'reaching', description: tried.join(', ') }; }
  getExtensions() { return [E]; }
}`, web.URL+"/x.js")
	body, err := json.Marshal(map[string]any{"scripts": []any{map[string]any{"code": code}}})
	if err != nil {
		t.Fatal(err)
	}
	s := apptest.Start(t, []role.Role{role.Service})
	want(t, s, role.Service, "POST", "/plugins/js?dryRun=true", string(body), 200,
		"fetch failed, load failed, storage failed, api failed, java failed", `"warnings":["E names AdminActionHandler but has none of its functions`)
	want(t, s, role.Service, "GET", "/users?ids=4711", "", 204)
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	want(t, s, role.Service, "POST", "/plugins/js", string(body), 200, "fetch worked, load worked")
}

// TestOneProcessIsShown proves that the interface shows that two members are one process.
func TestOneProcessIsShown(t *testing.T) {
	dir := folderOf(t, map[string]string{"p.js": pluginScript("p", "'AdminActionHandler'", "handleAdminAction() {}")})
	s := apptest.Start(t, role.All, "app.plugin.dir="+dir)
	ids := map[string]int{}
	read := func(r role.Role, target string) {
		var list struct{ Data []struct{ ProcessID string } }
		if err := json.Unmarshal([]byte(want(t, s, r, "GET", target, "", 200)), &list); err != nil {
			t.Fatal(err)
		}
		for _, one := range list.Data {
			ids[one.ProcessID]++
		}
	}
	read(role.Service, "/cluster/members")
	read(role.Service, "/plugins")
	read(role.Gateway, "/plugins")
	if len(ids) != 1 || ids[""] != 0 {
		t.Errorf("processes: %v", ids)
	}
	for _, r := range role.All {
		body := want(t, s, r, "GET", "/metrics?names=user.online,user.registered,http.server.requests", "", 200)
		for _, part := range []string{`"tags":["role:GATEWAY"]`, `"tags":["role:SERVICE"]`, `"role:SERVICE","status:200"`} {
			if !strings.Contains(body, part) {
				t.Errorf("%s lacks %s", body, part)
			}
		}
	}
}
