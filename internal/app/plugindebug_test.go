// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
	"example.org/app/test/need"
)

// TestPluginDebugMode attaches to a plugin with a waiting call, and stops the server while another
// waits.
func TestPluginDebugMode(t *testing.T) {
	port := need.Port(t)
	dir := folderOf(t, map[string]string{
		"seen.js": pluginScript("seen", "'AdminActionHandler'", `stop() {} handleAdminAction(action) { globalThis.seen = action.action; }`),
	})
	s := apptest.Start(t, role.All, "app.plugin.dir="+dir, "app.plugin.js.debug.enabled=true",
		"app.plugin.js.debug.inspect-host=127.0.0.1", fmt.Sprint("app.plugin.js.debug.inspect-port=", port), "app.plugin.call-timeout-millis=60000")
	target := debugTargets(t, port)[0]
	if !strings.HasSuffix(target["url"], "/seen.js") {
		t.Fatal(target)
	}
	want(t, s, role.Service, "GET", "/plugins", "", 200, `"id":"seen"`)
	ask, detach := attachDebugger(t, target)
	ask("Runtime.runIfWaitingForDebugger", nil)
	eventually(t, "the call that has waited", func() bool {
		r := ask("Runtime.evaluate", map[string]any{"expression": "globalThis.seen"})
		return r["result"].(map[string]any)["value"] == "queryPlugins"
	})
	detach()
	// This one waits for a debugger when the server stops.
	want(t, s, role.Service, "GET", "/plugins", "", 200, `"id":"seen"`)
}

// TestPluginDebuggingIsSwitched switches the debugging of one plugin on and off: it keeps running,
// does not wait for a debugger, and other plugins are not affected.
func TestPluginDebuggingIsSwitched(t *testing.T) {
	port := need.Port(t)
	// Actions of several requests are handled in any order.
	body := `start() { globalThis.starts = (globalThis.starts ?? 0) + 1; } handleAdminAction(action) { globalThis.seen = (globalThis.seen ?? 0) + (action.action === 'queryPlugins'); }`
	dir := folderOf(t, map[string]string{"seen.js": pluginScript("seen", "'AdminActionHandler'", body), "other.js": pluginScript("other", "'AdminActionHandler'", body)})
	s := apptest.Start(t, []role.Role{role.Service}, "app.plugin.dir="+dir, fmt.Sprint("app.plugin.js.debug.inspect-port=", port))
	want(t, s, role.Service, "GET", "/plugins/debugging", "", 204)
	want(t, s, role.Service, "PUT", "/plugins/debugging?id=none", `{"enabled":true}`, 404, `"code":1302`)
	want(t, s, role.Service, "PUT", "/plugins/debugging?id=seen", `{"enabled":false}`, 200, `"enabled":false`)
	on := want(t, s, role.Service, "PUT", "/plugins/debugging?id=seen", `{"enabled":true}`, 200, `"pluginId":"seen","enabled":true,"configured":false`,
		fmt.Sprintf(`"address":"ws://127.0.0.1:%d/`, port), `"link":"devtools://`)
	_, on, _ = strings.Cut(on, `"data"`)
	want(t, s, role.Service, "PUT", "/plugins/debugging?id=seen", `{"enabled":true}`, 200, on) // It is the same again.
	want(t, s, role.Service, "GET", "/plugins/debugging?ids=seen,other", "", 200, `"pluginId":"seen"`)
	target := debugTargets(t, port)[0]
	for n := range 2 {
		// Without a debugger nothing waits for one.
		want(t, s, role.Service, "GET", "/plugins?ids=seen", "", 200, `"state":"STARTED"`, `"running":true`)
		ask, detach := attachDebugger(t, target)
		eventually(t, "the call that does not wait", func() bool {
			r := ask("Runtime.evaluate", map[string]any{"expression": "`${globalThis.starts} ${globalThis.seen}`"})
			return r["result"].(map[string]any)["value"] == fmt.Sprint("1 ", n+1)
		})
		detach()
	}
	want(t, s, role.Service, "PUT", "/plugins/debugging?id=seen", `{"enabled":false}`, 200, `"pluginId":"seen","enabled":false,"configured":false}`)
	want(t, s, role.Service, "GET", "/plugins/debugging", "", 204)
	want(t, s, role.Service, "GET", "/plugins?ids=seen,other", "", 200, `"id":"seen"`, `"id":"other"`)
	if _, res, err := websocket.Dial(t.Context(), target["webSocketDebuggerUrl"], nil); err == nil || res == nil || res.StatusCode != http.StatusNotFound {
		t.Errorf("a debugger attached to a plugin that cannot be debugged any more: %v", err)
	}
}

// debugTargets waits until one plugin can be debugged.
func debugTargets(t *testing.T, port int) (list []map[string]string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	eventually(t, "the plugin that can be debugged", func() bool {
		res, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/json/list", port))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(&list); err != nil {
			t.Fatal(err)
		}
		return len(list) == 1
	})
	return list
}

// attachDebugger attaches to a plugin.
func attachDebugger(t *testing.T, target map[string]string) (ask func(method string, params any) map[string]any, detach func()) {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), target["webSocketDebuggerUrl"], nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(method string, params any) map[string]any {
		t.Helper()
		data, _ := json.Marshal(map[string]any{"id": 1, "method": method, "params": params})
		if err := conn.Write(t.Context(), websocket.MessageText, data); err != nil {
			t.Fatal(err)
		}
		for {
			_, data, err := conn.Read(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			var m map[string]any
			if err := json.Unmarshal(data, &m); err != nil {
				t.Fatal(err)
			}
			if m["id"] != nil {
				return m["result"].(map[string]any)
			}
		}
	}, func() { conn.Close(websocket.StatusNormalClosure, "") }
}
