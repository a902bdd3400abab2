// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"mime/multipart"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"example.org/app/internal/admin/api"
	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/catalog"
	"example.org/app/internal/plugin/trace"
	"example.org/app/internal/role"
)

// pluginHarness is what the operations on plugins work on.
type pluginHarness struct {
	plugins        *plugin.Manager
	pluginFolder   *plugin.Folder
	pluginSettings config.Plugin
	pluginModules  atomic.Int32
	catalog        *catalog.Catalog
	// lostNode says that node2 does not answer when it is asked for traces.
	lostNode bool
}

// gatherTraces gathers those of node1 and node2, which are this process and one without traces.
func (h *harness) gatherTraces(ctx context.Context, f trace.Filter, offset, limit int) trace.Gathering {
	sources := make([]trace.Source, 2)
	for i, r := range []*trace.Recorder{h.plugins.Calls.Traces(), nil} {
		sources[i] = trace.Source{
			ProcessID: fmt.Sprint("P", i+1), Nodes: []trace.Node{{ID: fmt.Sprint("node", i+1), Role: role.Service}},
			List: func(_ context.Context, f trace.Filter, limit int) (trace.Listing, error) {
				return r.List(f, limit), nil
			},
			Get: func(_ context.Context, ids []int64) (trace.Batch, error) { return r.Get(ids), nil },
		}
	}
	if h.lostNode {
		sources[1].List = func(context.Context, trace.Filter, int) (trace.Listing, error) {
			return trace.Listing{}, errors.New("the node did not answer")
		}
	}
	return trace.Gather(ctx, sources, f, offset, limit)
}

// gatherSamples gathers those of node1, which is this process, and of node2, which has none.
func (h *harness) gatherSamples(_ context.Context, id string) []catalog.NodeSamples {
	number, samples := h.plugins.Trials.ShadowSamples(id)
	list := []catalog.NodeSamples{{NodeID: "node1", Number: number, Samples: samples}, {NodeID: "node2"}}
	if h.lostNode {
		list[1].Err = errors.New("the node did not answer")
	}
	return list
}

func (h *harness) openPlugins() api.Plugins {
	h.pluginSettings = config.Default().Plugin
	settings := func() config.Plugin { return h.pluginSettings }
	h.plugins = plugin.NewManager(plugin.Options{
		Roles: []role.Role{role.Service, role.Gateway}, Hosts: []plugin.Host{lineHost{&h.pluginModules}},
		Settings: settings, Traces: trace.NewRecorder(h.pluginSettings.Traces), Logger: slog.New(slog.DiscardHandler),
	})
	var err error
	if h.pluginFolder, err = plugin.OpenFolder(h.plugins, filepath.Join(h.t.TempDir(), "plugins")); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if err := h.plugins.Close(context.Background()); err != nil || h.pluginModules.Load() != 0 {
			h.t.Errorf("%d modules are open, %v", h.pluginModules.Load(), err)
		}
	})
	h.catalog = catalog.New(catalog.Options{Store: h.DB, Manager: h.plugins, Enabled: true, Settings: settings, Logger: slog.New(slog.DiscardHandler)})
	h.t.Cleanup(func() {
		if err := h.catalog.Stop(context.Background()); err != nil {
			h.t.Error(err)
		}
	})
	return api.Plugins{Manager: h.plugins, Folder: h.pluginFolder, Settings: settings, Catalog: h.catalog, Traces: h.gatherTraces, Samples: h.gatherSamples, States: func(context.Context) []catalog.NodeStates {
		return []catalog.NodeStates{
			{NodeID: "node1", Role: role.Service, States: h.catalog.States()},
			{NodeID: "node2", Role: role.Gateway, Err: errors.New("the node did not answer")},
		}
	}}
}

// lineHost runs plugins of one line: the id, the hooks that fail, and odd for one that has a
// warning.
type lineHost struct{ open *atomic.Int32 }

func (lineHost) Language() plugin.Language   { return plugin.JavaScript }
func (lineHost) Close(context.Context) error { return nil }

func (h lineHost) Load(_ context.Context, src plugin.Source) (plugin.Module, error) {
	words := strings.Fields(string(src.Data))
	if words[0] == "broken" {
		return nil, errors.New("line 1: unexpected end")
	}
	h.open.Add(1)
	return &lineModule{open: h.open, words: words, debug: src.Debug}, nil
}

type lineModule struct {
	open   *atomic.Int32
	words  []string
	debug  bool
	closed atomic.Bool
}

func (m *lineModule) Debugger() plugin.Debugger {
	if !m.debug {
		return plugin.Debugger{}
	}
	return plugin.Debugger{Address: "ws://127.0.0.1:1/" + m.words[0], Link: "devtools://" + m.words[0]}
}

func (m *lineModule) Descriptor() plugin.Descriptor {
	return plugin.Descriptor{ID: m.words[0], Version: "1.0", Provider: "us"}
}

func (m *lineModule) Warnings() []string {
	if slices.Contains(m.words, "odd") {
		return []string{"this is odd"}
	}
	return nil
}
func (m *lineModule) Memory() int64                  { return 4096 }
func (m *lineModule) Extensions() []plugin.Extension { return []plugin.Extension{m} }
func (m *lineModule) Class() string                  { return "Handler" }
func (m *lineModule) Points() []*plugin.Point        { return []*plugin.Point{plugin.ClientRequestHandler} }

func (m *lineModule) Implements(method *plugin.Method) bool { return method == plugin.HandleRequest }

func (m *lineModule) Hook(_ context.Context, h plugin.Hook) error {
	if slices.Contains(m.words, string(h)) {
		return errors.New("it does not want to")
	}
	return nil
}

// nightly is the schedule of a plugin whose line has the word timed.
var nightly, _ = plugin.NewSchedule("nightly", "0 3 * * *", true)

func (m *lineModule) Schedules() []*plugin.Schedule {
	if slices.Contains(m.words, "timed") {
		return []*plugin.Schedule{nightly}
	}
	return nil
}

func (m *lineModule) Call(context.Context, *plugin.Method, []any, any) (bool, error) {
	return false, &plugin.Exception{Message: "TypeError: x", Location: m.words[0] + ".js:1:2"}
}

func (m *lineModule) Close(context.Context) error {
	if !m.closed.Swap(true) {
		m.open.Add(-1)
	}
	return nil
}

const handlerClasses = `"extensionPointClasses":["im.app.service.infra.plugin.extension.ClientRequestHandler"]`

// listed is a plugin in the list.
func listed(id string, started, running bool) string {
	state := "LOADED"
	if started {
		state = map[bool]string{true: "STARTED", false: "PAUSED"}[running]
	}
	return fmt.Sprintf(`{"id":%q,"version":"1.0","provider":"us","extensions":[{"extensionClass":"Handler","started":%v,"running":%v,%s,"state":%q,"calls":0,"errors":0}],"scope":"NODE","digest":"DIGEST"}`, id, started, running, handlerClasses, state)
}

// created is the answer for a plugin that was accepted.
func created(id, before, after string) string {
	return fmt.Sprintf(`{%s"id":%q,"version":"1.0","provider":"us","extensions":[{"extensionClass":"Handler",%s,"functions":["ClientRequestHandler.handle"]}]%s}`, before, id, handlerClasses, after)
}

func scripts(code ...string) string {
	var list []map[string]string
	for _, c := range code {
		name, text, named := strings.Cut(c, "=")
		if named {
			list = append(list, map[string]string{"fileName": name, "code": text})
		} else {
			list = append(list, map[string]string{"code": c})
		}
	}
	b, _ := json.Marshal(map[string]any{"scripts": list})
	return string(b)
}

// files checks what lies in the folder of plugins.
func files(want ...string) func(*harness) {
	return func(h *harness) {
		h.t.Helper()
		var names []string
		entries, err := os.ReadDir(h.pluginFolder.Dir())
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if err != nil || !slices.Equal(names, want) {
			h.t.Errorf("the files are %v, %v, want %v", names, err, want)
		}
	}
}

func TestPlugins(t *testing.T) {
	h := newSQLiteHarness(t)
	post := func(name, query, body string, status int, want string, after ...func(*harness)) scenario {
		s := scenario{name: name, as: "app", method: "POST", target: "/plugins/js" + query, body: body, status: status, want: want}
		if len(after) > 0 {
			s.after = after[0]
		}
		return s
	}
	put := func(name, ids, status string, code int, want string) scenario {
		return scenario{name: name, as: "app", method: "PUT", target: "/plugins?ids=" + ids, body: fmt.Sprintf(`{"status":%q}`, status), status: code, want: want}
	}
	get := func(name, query string, status int, want string) scenario {
		return scenario{name: name, as: "app", method: "GET", target: "/plugins" + query, status: status, want: want}
	}
	allowSave := func(h *harness) { h.pluginSettings.JavaScript.AllowSave = true }
	const hash = "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8" // of "a"
	h.play([]scenario{
		get("none", "", 204, ""),
		post("nothing", "", `{}`, 200, ok(`[]`)),
		post("dry run", "?dryRun=true", scripts("a", "broken"), 200,
			ok(`[`+created("a", "", "")+`,{"problem":{"code":1102,"reason":"0b8a1caec23d75d1154b8d9bef9cec6c03697638.js: line 1: unexpected end"}}]`), files()),
		get("dry run loads nothing", "", 204, ""),
		post("dry run with a warning", "?dryRun=true", scripts("a odd"), 200, ok(`[`+created("a", "", `,"warnings":["this is odd"]`)+`]`)),
		post("saving is disabled", "?save=true", scripts("a"), 403, `~"code":1322,`),
		post("load", "", scripts("a.js=a"), 200, ok(`[`+created("a", `"fileName":"a.js",`, "")+`]`), files()),
		get("loaded, not started", "", 200, ok(`[`+listed("a", false, false)+`]`)),
		{name: "read", as: "app", method: "GET", target: "/plugins/js?ids=a,none", status: 200, want: ok(`[{"id":"a","fileName":"a.js","code":"a","digest":"DIGEST"}]`)},
		{name: "read nothing", as: "app", method: "GET", target: "/plugins/js?ids=none", status: 204},
		{name: "read without ids", as: "app", method: "GET", target: "/plugins/js", status: 400, want: `~parameter \"ids\"`},
		post("again", "", scripts("a"), 409, `~"code":1303,"reason":"a plugin with the id \"a\" is loaded already"`),
		post("dry run of the same", "?dryRun=true", scripts("a"), 200, `~"problem":{"code":1303,`),
		post("dry run of a replacement", "?dryRun=true&replace=true", scripts("a"), 200, ok(`[`+created("a", "", `,"replaced":true`)+`]`)),
		post("load one with a schedule", "", scripts("t timed"), 200, ok(`[`+created("t", "", "")+`]`)),
		get("schedules", "?ids=t", 200, `~"schedules":[{"name":"nightly","when":"0 3 * * *","leaderOnly":true,"running":false,"runs":0,"failures":0,"skipped":0}]`),
		{name: "remove the one with a schedule", as: "app", method: "DELETE", target: "/plugins?ids=t", status: 204},
		post("bad", "", scripts("broken.js=broken"), 400, `~"code":1102,"reason":"broken.js: line 1: unexpected end"`),
		post("blank", "", scripts(" "), 400, `~"code":1102,"reason":"the plugin is empty"`),
		post("no code", "", `{"scripts":[{}]}`, 400, `~scripts[0].code: is required`),
		post("some", "", scripts("b", "broken", "a"), 400, `~"code":1102,"reason":"plugin 2: 0b8a1caec23d75d1154b8d9bef9cec6c03697638.js: line 1: unexpected end; plugin 3: a plugin with the id \"a\" is loaded already; none of the plugins was added"`),
		get("after some", "?ids=b", 204, ""),
		post("all fail", "", scripts("broken.js=broken", "a"), 400, `~"reason":"plugin 1 (broken.js): broken.js: line 1: unexpected end; plugin 2: a plugin with`),
		post("what fails says so in the words of the cause", "", scripts("broken.js=broken", "b"), 400, `~"exception":"ILLEGAL_ARGUMENT: plugin 1 (broken.js): broken.js: line 1: unexpected end"`),
		post("one twice", "", scripts("b", "b odd"), 400, `~"reason":"plugin 2: a plugin with the id \"b\" is loaded already`),
		post("one blank", "", scripts("b", " "), 400, `~"reason":"plugin 2: the plugin is empty`),
		get("after none", "?ids=b", 204, ""),
		post("dry run of one twice", "?dryRun=true", scripts("b", "b odd"), 200, `~"problem":{"code":1303,`),
		post("id with a comma", "", scripts("x,y"), 400, `~the id is \"x,y\", but the id of a plugin must have 1 to 128 printable characters, no comma`),
		post("id with an invisible character", "", scripts("x\u200by"), 400, `~printable characters`),
		post("long id", "", scripts(strings.Repeat("x", 129)), 400, `~1 to 128 printable characters`),
		post("several", "", scripts("b", strings.Repeat("x", 128)), 200, `~"id":"b"`),
		{name: "delete one of several", as: "app", method: "DELETE", target: "/plugins?ids=" + strings.Repeat("x", 128), status: 204},
		get("after several", "?ids=b,unknown", 200, `~"language":"JAVA_SCRIPT","loadedDate":"DATE","memory":4096`),

		put("start", "a,unknown", "STARTED", 200, updated(1, 1)),
		put("start again", "a", "STARTED", 200, updated(1, 0)),
		put("start some", "a,b", "STARTED", 200, updated(2, 1)),
		put("resume what runs", "a", "RESUMED", 200, updated(1, 0)),
		put("nobody", "unknown", "STARTED", 200, updated(0, 0)),
		put("bad status", "a", "LOADED", 400, `~must be one of STARTED, STOPPED, RESUMED, PAUSED`),
		{name: "no status", as: "app", method: "PUT", target: "/plugins?ids=a", body: `{}`, status: 200, want: updated(0, 0)},
		{name: "no ids", as: "app", method: "PUT", target: "/plugins", body: `{"status":"PAUSED"}`, status: 400, want: `~parameter \"ids\": is required`},
		put("pause", "a", "PAUSED", 200, updated(1, 1)),
		get("paused", "", 200, ok(`[`+listed("a", true, false)+`,`+listed("b", true, true)+`]`)),
		put("pause again", "a", "PAUSED", 200, updated(1, 0)),
		put("start what is paused", "a", "STARTED", 400, `~"code":1102,"reason":"plugin \"a\", extension \"Handler\": start is not possible: the extension is PAUSED"`),
		put("resume", "a", "RESUMED", 200, updated(1, 1)),
		put("stop", "a", "STOPPED", 200, updated(1, 1)),
		put("stop again", "a", "STOPPED", 200, updated(1, 0)),
		put("start after stop", "a", "STARTED", 400, `~start is not possible: the extension is STOPPED`),
		get("stopped", "?ids=a", 200, `~"started":false,"running":false,`+handlerClasses+`,"state":"STOPPED"`),
		post("hooks that fail", "", scripts("f start pause"), 200, `~"id":"f"`),
		put("start fails", "f", "STARTED", 500, `~"code":1200,"reason":"plugin \"f\", extension \"Handler\": it does not want to"`),
		get("failure is kept", "?ids=f", 200, `~"state":"LOADED","calls":0,"errors":0,"functions":["ClientRequestHandler.handle"],"timeouts":0,"queueLength":0,"lastError":{"in":"start","reason":"it does not want to","date":"DATE"}`),
		post("replace", "?replace=true", scripts("b pause"), 200, `~"replaced":true`),
		get("replaced in its state", "?ids=b", 200, `~"state":"STARTED"`),
		put("pause fails, but pauses", "b", "PAUSED", 200, ok(`{"matchedCount":1,"modifiedCount":1,"failures":[{"id":"b","extension":"Handler","state":"PAUSED","reason":"it does not want to"}]}`)),

		{name: "delete nothing", as: "app", method: "DELETE", target: "/plugins", status: 400, want: `~"code":1301,`},
		{name: "delete without ids", as: "app", method: "DELETE", target: "/plugins?deleteLocalFiles=true", status: 400, want: `~"code":1102,`},
		{name: "delete", as: "app", method: "DELETE", target: "/plugins?ids=a,b,f,unknown", status: 204, after: allowSave},
		get("all are gone", "", 204, ""),
		post("save", "?save=true", scripts("a"), 200, ok(`[`+created("a", "", `,"savedAs":"_network_.`+hash+`.js"`)+`]`), files("_network_."+hash+".js")),
		post("save what is no plugin", "?save=true", scripts("broken"), 400, `~unexpected end`, files("_network_."+hash+".js")),
		post("save by name", "?save=true", scripts("named=b"), 200, `~"savedAs":"_network_.named.js"`, files("_network_."+hash+".js", "_network_.named.js")),
		post("save by a name in use", "?save=true", scripts("named=c"), 400, `~"code":1102,"reason":"the file \"_network_.named.js\" exists already"`, files("_network_."+hash+".js", "_network_.named.js")),
		get("not loaded if not saved", "?ids=c", 204, ""),
		post("save two by one name", "?save=true", scripts("same=c", "same=d"), 400, `~"reason":"plugin 2 (same): the file \"_network_.same.js\" exists already; none of the plugins was added"`, files("_network_."+hash+".js", "_network_.named.js")),
		get("neither is loaded", "?ids=c,d", 204, ""),
		post("bad name", "?save=true", scripts("../x=c"), 400, `~cannot be the name of a file`, files("_network_."+hash+".js", "_network_.named.js")),
		{name: "delete and keep the file", as: "app", method: "DELETE", target: "/plugins?ids=b", status: 204, after: files("_network_."+hash+".js", "_network_.named.js")},
		{name: "delete with file", as: "app", method: "DELETE", target: "/plugins?ids=a&deleteLocalFiles=true", status: 204, after: files("_network_.named.js")},
		{name: "switched off", as: "app", method: "GET", target: "/plugins", status: 204, after: func(h *harness) { h.pluginSettings.Enabled = false }},
		post("load while switched off", "", scripts("a"), 403, `~"code":1320,`),
	})
}

// TestOldPluginIDs removes a plugin of the folder with an id that new ones may not have.
func TestOldPluginIDs(t *testing.T) {
	h := newSQLiteHarness(t)
	for name, code := range map[string]string{"a.js": "a,b", "b.js": "b", "c.js": "a"} {
		if err := os.WriteFile(filepath.Join(h.pluginFolder.Dir(), name), []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.pluginFolder.Load(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	h.play([]scenario{
		{name: "listed", as: "app", method: "GET", target: "/plugins", status: 200, want: ok(`[` + listed("a,b", false, false) + `,` + listed("b", false, false) + `,` + listed("a", false, false) + `]`)},
		{name: "another", as: "app", method: "DELETE", target: "/plugins?ids=b&deleteLocalFiles=true", status: 204, after: files("a.js", "c.js")},
		{name: "itself", as: "app", method: "DELETE", target: "/plugins?ids=a,b&deleteLocalFiles=true", status: 204, after: files()},
	})
}

// TestRejectedPlugins lists files that could not be loaded, each with the reason.
func TestRejectedPlugins(t *testing.T) {
	h := newSQLiteHarness(t)
	for name, code := range map[string]string{"a.js": "a", "bad.js": "broken", "c.jar": "PK"} {
		if err := os.WriteFile(filepath.Join(h.pluginFolder.Dir(), name), []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.pluginFolder.Load(t.Context(), false); err == nil {
		t.Error("everything was accepted")
	}
	bad := `{"id":"bad.js","extensions":[],"rejected":{"reason":"bad.js: line 1: unexpected end","file":"bad.js","date":"DATE"}}`
	jar := `{"id":"c.jar","extensions":[],"rejected":{"reason":"this server has no host for plugins in JAVA","file":"c.jar","date":"DATE"}}`
	h.play([]scenario{
		{name: "usual list", as: "app", method: "GET", target: "/plugins", status: 200, want: ok(`[` + listed("a", false, false) + `]`)},
		{name: "with rejected", as: "app", method: "GET", target: "/plugins?includeRejected=true", status: 200, want: ok(`[` + listed("a", false, false) + `,` + bad + `,` + jar + `]`)},
		{name: "one of them", as: "app", method: "GET", target: "/plugins?includeRejected=true&ids=bad.js", status: 200, want: ok(`[` + bad + `]`)},
	})
}

func TestJavaPlugins(t *testing.T) {
	h := newSQLiteHarness(t)
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormField("my-plugin.jar")
	if err != nil {
		t.Fatal(err)
	}
	part.Write([]byte("PK"))
	w.Close()
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/plugins/java?save=true", &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.SetBasicAuth("app", "app")
	got := httptest.NewRecorder()
	h.gateway.ServeHTTP(got, r)
	if got.Code != 400 || !strings.Contains(got.Body.String(), `"code":1102,"reason":"this server cannot run Java plugins: it has no Java host"`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	h.play([]scenario{
		{name: "no form", as: "app", method: "POST", target: "/plugins/java", body: `{}`, status: 400, want: `~the request needs a form`},
	})
}
