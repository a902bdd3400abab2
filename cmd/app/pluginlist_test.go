// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPluginList lists a plugin that has everything that the list can show, with a rollout in
// progress, and promotes the rollout.
func TestPluginList(t *testing.T) {
	s := run(t, t.TempDir(), "--set", "app.plugin.grants.mode=EXPLICIT")
	env := []string{"APP_TOKEN=" + tokenOf(t, s)}
	plugin := func(code int, args ...string) string {
		t.Helper()
		cmd := command(t, env, append([]string{"plugin", args[0], "--timeout", "10m", "--url", s.service}, args[1:]...)...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		_ = cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("%s: exit code %d:\n%s", args, got, out.String())
		}
		return out.String()
	}
	shows := func(out string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(out, part) {
				t.Errorf("the output lacks %q:\n%s", part, out)
			}
		}
	}
	script := func(version, permissions string) string {
		path := filepath.Join(t.TempDir(), "busy.js")
		text := `class Busy extends AppExtension {
  getExtensionPoints() { return ['DomainEventConsumer']; }
  getEndpoints() { return [{ method: 'GET', path: '/report', summary: 'Report', permission: 'USER_QUERY', handler: 'report' }]; }
  start() { app.schedule('1h', { name: 'hourly', leaderOnly: true }, () => {}); }
  consumeDomainEvents() {}
  report() { return {}; }
}
export default class extends AppPlugin {
  getDescriptor() { return { id: 'busy', version: '` + version + `', permissions: [` + permissions + `] }; }
  getExtensions() { return [Busy]; }
}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if out := plugin(0, "list"); out != "" {
		t.Errorf("there are plugins:\n%s", out)
	}
	plugin(0, "publish", "--grant", script("1.0", "'USER_QUERY'"))
	plugin(0, "publish", "--shadow", script("2.0", ""))
	out := plugin(0, "list", "busy")
	// Any node may deliver events to the extension, and any may run the schedule, once there is a
	// leader.
	complete := func() bool { return strings.Contains(out, "events: ") && strings.Contains(out, ", next 20") }
	for deadline := time.Now().Add(time.Minute); !complete() && time.Now().Before(deadline); out = plugin(0, "list", "busy") {
		time.Sleep(100 * time.Millisecond)
	}
	shows(out, "busy 1.0\n  cluster: version number 1, STARTED\n", "STARTED 1.0\n", "beside it STARTED 2.0\n",
		"rollout 1: version number 2, RUNNING, 100 % of the users, on copies of calls, since 20", "may: permissions USER_QUERY\n",
		"Busy: STARTED, ", " failed, DomainEventConsumer\n", "schedule hourly: 1h on one node, 0 runs, 0 failed, next 20", "events: got up to ",
		"endpoint: GET /plugins/endpoints/busy/report (USER_QUERY)\n")
	shows(plugin(0, "rollout", "1", "pause"), "rollout 1: version number 2, PAUSED, ")
	shows(plugin(0, "rollout", "1", "promote"), "rollout 1: version number 2, PROMOTED, ")
	shows(plugin(1, "rollout", "1", "abort"), "abort rollout 1: ", "the rollout is PROMOTED")
	shows(plugin(0, "list"), "busy 2.0\n  cluster: version number 2, STARTED\n")
	var list []struct{ ID string }
	if err := json.Unmarshal([]byte(plugin(0, "list", "--json", "busy")), &list); err != nil || len(list) != 1 || list[0].ID != "busy" {
		t.Errorf("as JSON it is %v, %v", list, err)
	}
	env = []string{"APP_TOKEN=app_token_wrong"}
	shows(plugin(1, "list"), "list plugins: ")
	env = nil
	shows(plugin(1, "list"), "there is no token")
}
