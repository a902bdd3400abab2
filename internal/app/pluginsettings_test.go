// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/role"
)

// settledScript is a plugin that writes its settings into the name of a user.
const settledScript = `
class Keeper extends AppExtension {
  getExtensionPoints() { return ['AdminActionHandler']; }
  start() { return this.onSettingsChanged(app.settings()); }
  async onSettingsChanged({ mode, key, limits }) {
    await app.api.users.update({ ids: ['1'], body: { name: mode + ' ' + limits.rate + ' ' + key.length } });
  }
  handleAdminAction() {}
}
export default class extends AppPlugin {
  getDescriptor() {
    return { id: 'settled.js', version: '1', settings: SCHEMA };
  }
  getExtensions() { return [Keeper]; }
}`

const settledJava = `
package settled;
import im.app.plugin.*;
import im.app.plugin.api.users.*;
import im.app.plugin.model.*;
import im.app.server.common.infra.plugin.extension.AdminActionHandler;
import java.util.*;

public class Settled extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() {
        return List.of(Keeper.class);
    }

    public static class Keeper extends AppExtension implements AdminActionHandler {
        public record Limits(int rate) {}

        public record Settings(String mode, String key, Limits limits) {}

        @Override
        public void start() {
            onSettingsChanged(settings());
        }

        @Override
        public void onSettingsChanged(Map<String, Object> values) {
            Settings s = settings(Settings.class);
            api().users().update(new UpdateUsers().ids(2L).body(new UserUpdate().name(s.mode() + " " + s.limits().rate() + " " + s.key().length())));
        }

        @Override
        public void handleAdminAction(AdminAction action) {}
    }
}`

const settledSchema = `{"type": "object", "required": ["key"], "properties": {
  "mode": {"enum": ["mask", "refuse"], "default": "mask", "description": "What to do."},
  "key": {"type": "string", "pattern": "^[a-z]+$", "format": "password"},
  "limits": {"type": "object", "properties": {"rate": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}}}
}}`

// TestSettingsOfPlugins changes the settings of plugins in both languages while they run.
func TestSettingsOfPlugins(t *testing.T) {
	s := apptest.Start(t, []role.Role{role.Service, role.Gateway})
	want := func(method, target, body string, status int, parts ...string) string {
		t.Helper()
		return want(t, s, role.Service, method, target, body, status, parts...)
	}
	for id := 1; id <= 2; id++ {
		want("POST", "/users", fmt.Sprintf(`{"id":%d,"name":"nobody","password":"123"}`, id), 200)
	}
	script := func(schema string) string { return upload(t, strings.ReplaceAll(settledScript, "SCHEMA", schema)) }
	want("POST", "/plugins/js", script(`{type: 'object', properties: {mode: {type: 'txt'}}}`), 400, "getDescriptor(): settings: the schema is not valid: /properties/mode/type")
	want("POST", "/plugins/js", script(settledSchema), 200)
	jar := func(schema string) []byte {
		return javatest.Jar(t, javatest.Plugin{
			Descriptor: "id: settled\nversion: 1\nclass: settled.Settled\nsettings: " + schema + "\n",
			Sources:    map[string]string{"settled/Settled.java": settledJava},
		})
	}
	if status, body := form(t, s, "/plugins/java", "settled.jar", jar("{properties: {mode: {default: 1, type: string}}}")); status != 400 || !strings.Contains(body, "settings: mode: the default is not valid: got number, want string") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := form(t, s, "/plugins/java", "settled.jar", jar(strings.ReplaceAll(settledSchema, "\n", ""))); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	want("GET", "/plugins?ids=settled.js", "", 200, `"settingsSchema":{"properties":{"key":{"format":"password"`)

	// A required setting is missing.
	for _, id := range []string{"settled.js", "settled"} {
		want("PUT", "/plugins?ids="+id, `{"status":"STARTED"}`, 500, "plugins."+id+".key: is required")
	}
	for i, id := range []string{"settled.js", "settled"} {
		t.Run(id, func(t *testing.T) {
			put := func(values string) string { return fmt.Sprintf(`{"plugins":{%q:%s}}`, id, values) }
			name := func(want string) {
				t.Helper()
				eventually(t, "the plugin hears of "+want, func() bool {
					_, body := ask(t, s, role.Service, "GET", fmt.Sprintf("/users?ids=%d", i+1), "")
					return strings.Contains(body, fmt.Sprintf("%q", want))
				})
			}
			before := revisions(t, s)
			want("PUT", "/cluster/settings", put(`{"limits":{"rate":5}}`), 400, "plugins."+id+".key: is required")
			want("PUT", "/cluster/settings", put(`{"key":"HUSH"}`), 400, "plugins."+id+".key: the value breaks the rule pattern")
			want("PUT", "/cluster/settings", put(`{"key":"hush","limits":{"rate":101}}`), 400, "plugins."+id+".limits.rate: ")
			want("PUT", "/cluster/settings?updateLocalSettings=true", put(`{"key":"hush"}`), 400, "whole cluster")
			want("PUT", "/cluster/settings", put(`{"key":"***"}`), 400, "must not be the mask")
			if now := revisions(t, s); now != before {
				t.Errorf("what was refused made a revision: %d, before %d", now, before)
			}
			want("PUT", "/cluster/settings", put(`{"key":"hush"}`), 200)
			name("mask 10 4") // It could not start before, and does now.
			want("PUT", "/cluster/settings", put(`{"mode":"refuse","limits":{"rate":7}}`), 200)
			name("refuse 7 4")
			want("GET", "/cluster/settings", "", 200, fmt.Sprintf(`%q:{"key":"***","limits":{"rate":7},"mode":"refuse"}`, id))
			want("GET", "/cluster/settings?queryLocalSettings=true", "", 200, fmt.Sprintf(`%q:{"limits":{"rate":10},"mode":"mask"}`, id))
			metadata := want("GET", "/cluster/settings/metadata?withValue=true", "", 200,
				`"key":{"value":"","source":"cluster","deprecated":false,"global":true,"mutable":true,"sensitive":true,"type":"string"}`,
				`"rate":{"value":7,"source":"cluster","deprecated":false,"global":true,"mutable":true,"sensitive":false,"type":"long","minimum":1,"maximum":100,"default":10}`,
				`"mode":{"value":"refuse","source":"cluster","deprecated":false,"global":true,"mutable":true,"sensitive":false,"type":"enum","options":["mask","refuse"],"description":"What to do.","default":"mask"}`)
			history := want("GET", "/cluster/settings/history", "", 200, fmt.Sprintf(`{"property":"plugins.%s.key","before":null,"after":"***"}`, id), fmt.Sprintf(`{"property":"plugins.%s.limits.rate","before":10,"after":7}`, id))
			audit := ""
			eventually(t, "the refusals in the audit trail", func() bool { // They are stored together, a moment later.
				audit = want("GET", "/audit?operations=updateSettings", "", 200)
				return strings.Contains(audit, `"plugins":{`)
			})
			for what, text := range map[string]string{"metadata": metadata, "history": history, "audit": audit} {
				if strings.Contains(text, "hush") {
					t.Errorf("the secret is in the %s: %s", what, text)
				}
			}
			want("PUT", fmt.Sprintf("/cluster/settings?revertTo=%d", revisions(t, s)-1), "", 200)
			name("mask 10 4")
		})
	}

	// The settings of a plugin are kept after its removal.
	want("DELETE", "/plugins?ids=settled.js", "", 204)
	if body := want("GET", "/cluster/settings", "", 200); strings.Contains(body, "settled.js") {
		t.Errorf("the settings of a plugin that is gone are shown: %s", body)
	}
	want("PUT", "/cluster/settings", `{"plugins":{"settled.js":{"mode":"refuse"}}}`, 400, "no plugin with this id that has settings")
	want("POST", "/plugins/js", script(settledSchema), 200)
	want("GET", "/cluster/settings", "", 200, `"settled.js":{"key":"***","limits":{"rate":10},"mode":"mask"}`)
}

// revisions is how many changes of settings there were.
func revisions(t *testing.T, s *apptest.Server) int {
	t.Helper()
	status, body := ask(t, s, role.Service, "GET", "/cluster/settings/history/page", "")
	if status == 204 {
		return 0
	}
	var answer struct{ Data struct{ Total int } }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 200 {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	return answer.Data.Total
}
