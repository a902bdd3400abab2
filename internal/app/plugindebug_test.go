// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
)

// TestPluginDebugMode attaches to a plugin of a server, whose call has waited, and stops the server while another waits.
func TestPluginDebugMode(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	dir := folderOf(t, map[string]string{
		"seen.js": pluginScript("seen", "'AdminActionHandler'", `stop() {} handleAdminAction(action) { globalThis.seen = action.action; }`),
	})
	s := apptest.Start(t, role.All, "app.plugin.dir="+dir, "app.plugin.js.debug.enabled=true",
		"app.plugin.js.debug.inspect-host=127.0.0.1", fmt.Sprint("app.plugin.js.debug.inspect-port=", port), "app.plugin.call-timeout-millis=60000")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/json/list", port))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var list []map[string]string
	if err := json.NewDecoder(res.Body).Decode(&list); err != nil || len(list) != 1 || !strings.HasSuffix(list[0]["url"], "/seen.js") {
		t.Fatal(list, err)
	}
	want(t, s, role.Service, "GET", "/plugins", "", 200, `"id":"seen"`)
	conn, _, err := websocket.Dial(t.Context(), list[0]["webSocketDebuggerUrl"], nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method string, params any) map[string]any {
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
	}
	ask("Runtime.runIfWaitingForDebugger", nil)
	eventually(t, "the call that has waited", func() bool {
		r := ask("Runtime.evaluate", map[string]any{"expression": "globalThis.seen"})
		return r["result"].(map[string]any)["value"] == "queryPlugins"
	})
	conn.Close(websocket.StatusNormalClosure, "")
	// This one waits for a debugger when the server stops.
	want(t, s, role.Service, "GET", "/plugins", "", 200, `"id":"seen"`)
}
