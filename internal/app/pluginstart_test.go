// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"fmt"
	"strings"
	"testing"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
	"example.org/app/test/need"
)

// TestServerStartsWhateverItsPluginsDo starts a server with plugins that never start. It becomes
// ready at its time limit, reports those plugins, and blocks what loaded ones might refuse. It
// stops with them.
func TestServerStartsWhateverItsPluginsDo(t *testing.T) {
	dir := folderOf(t, map[string]string{
		"await.js": "await new Promise(() => {});",
		"loop.js":  "for (;;) {}",
		"hang.js":  pluginScript("hang", "'AdminActionHandler'", `start() { return new Promise(() => {}); } handleAdminAction() {}`),
		"good.js":  pluginScript("good", "'AdminActionHandler'", `handleAdminAction() {}`),
		"fails.js": pluginScript("fails", "'UserAuthenticator'", `start() { throw new Error('no database'); } authenticate() { return true; }`),
	})
	s := apptest.Start(t, role.All, "app.plugin.dir="+dir, "app.plugin.start-timeout-millis=2000",
		"app.plugin.load-timeout-millis=3600000", "app.plugin.hook-timeout-millis=3600000")
	eventually(t, "the report of what is not up", func() bool {
		status, answer := ask(t, s, role.Service, "GET", "/health", "")
		if status != 200 || !strings.Contains(answer, `"name":"plugins","status":"DEGRADED"`) {
			t.Fatal(status, answer)
		}
		for _, part := range []string{`"not up: await.js, hang.js, loop.js; `, `plugin \"hang\": it has not started yet`, `plugin \"fails\": start failed`, "no database"} {
			if !strings.Contains(answer, part) {
				return false
			}
		}
		return true
	})
	want(t, s, role.Gateway, "GET", "/plugins", "", 200, `"id":"fails"`, `"quarantine":"start failed`, `"quarantine":"it has not started yet`)
	want(t, s, role.Gateway, "GET", "/metrics/prometheus?names=plugin_unavailable", "", 200, `plugin="fails",reason="start failed"} 1`, `plugin="hang",reason="it has not started yet"} 1`, `plugin="good",reason=""} 0`)
	want(t, s, role.Gateway, "GET", "/plugins?ids=fails&ids=good", "", 200, `"quarantine":"start failed`, `"id":"good"`, `"running":true`)
}

// TestDebuggedPluginHoldsUpNobody proves that a server serves and stops while a plugin waits for a
// debugger, in its start or before its first line, or is paused there.
func TestDebuggedPluginHoldsUpNobody(t *testing.T) {
	need.Time(t)
	for _, wait := range []string{"CALL", "LOAD"} {
		t.Run(wait, func(t *testing.T) {
			port := need.Port(t)
			dir := folderOf(t, map[string]string{
				"seen.js": pluginScript("seen", "'AdminActionHandler'", `start() {} stop() {} handleAdminAction() {}`),
			})
			s := apptest.Start(t, role.All, "app.plugin.dir="+dir, "app.plugin.js.debug.enabled=true", "app.plugin.js.debug.wait="+wait,
				"app.plugin.start-timeout-millis=1000", "app.plugin.js.debug.inspect-host=127.0.0.1", fmt.Sprint("app.plugin.js.debug.inspect-port=", port))
			want(t, s, role.Service, "GET", "/health", "", 200, `"name":"plugins","status":"DEGRADED"`, "not up: seen.js")
			if wait == "CALL" {
				eventually(t, "the plugin that waits", func() bool {
					status, answer := ask(t, s, role.Service, "GET", "/plugins", "")
					return status == 200 && strings.Contains(answer, `"id":"seen"`) && strings.Contains(answer, `"quarantine":"it has not started yet"`)
				})
				return
			}
			want(t, s, role.Service, "GET", "/plugins", "", 204)
			debug, _ := attachDebugger(t, debugTargets(t, port)[0])
			debug("Debugger.enable", nil)
			debug("Runtime.runIfWaitingForDebugger", nil)
			want(t, s, role.Service, "GET", "/health", "", 200, "not up: seen.js")
			// The server stops while the plugin is paused.
		})
	}
}
