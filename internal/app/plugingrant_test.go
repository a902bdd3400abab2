// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"fmt"
	"strings"
	"testing"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/role"
)

// grantScript is a plugin that requests grants. Its start fails with the results of its attempts.
const grantScript = `
class Doer extends AppExtension {
  getExtensionPoints() { return ['AdminActionHandler']; }
  async start() {
    const attempt = async (f) => { try { await f(); return 'done'; } catch (e) { return (e.code ?? e.name) + ' ' + e.message; } };
    throw new Error(JSON.stringify({
      query: await attempt(() => app.api.users.query({ ids: ['1'] })),
      remove: await attempt(() => app.api.users.delete({ ids: ['1'] })),
      tokens: await attempt(() => app.api.admins.deleteTokens({ ids: ['1'] })),
      password: await attempt(() => app.api.admins.update({ ids: ['0'], body: { password: 'taken1' } })),
      storage: await attempt(() => app.storage.set('a', '1')),
    }));
  }
  handleAdminAction() {}
}
export default class extends AppPlugin {
  getDescriptor() { return { id: 'grants.js', version: '1', DECLARED }; }
  getExtensions() { return [Doer]; }
}`

const grantJava = `
package grants;
import im.app.plugin.*;
import im.app.plugin.api.users.*;
import im.app.plugin.model.*;
import im.app.server.common.infra.plugin.extension.AdminActionHandler;
import java.util.*;

public class Grants extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() {
        return List.of(Doer.class);
    }

    public static class Doer extends AppExtension implements AdminActionHandler {
        String attempt(Runnable r) {
            try {
                r.run();
                return "done";
            } catch (AppException e) {
                return e.code() + " " + e.getMessage();
            }
        }

        @Override
        public void start() {
            throw new IllegalStateException("query: " + attempt(() -> api().users().query(new QueryUsers().ids(1L)))
                    + ", remove: " + attempt(() -> api().users().delete(new DeleteUsers().ids(1L))));
        }

        @Override
        public void handleAdminAction(AdminAction action) {}
    }
}`

// TestDeclaredGrants limits plugins in both languages to what their descriptors declare.
func TestDeclaredGrants(t *testing.T) {
	s := apptest.Start(t, []role.Role{role.Service}, "app.plugin.grants.mode=DECLARED")
	want := func(method, target, body string, status int, parts ...string) string {
		t.Helper()
		return want(t, s, role.Service, method, target, body, status, parts...)
	}
	want("POST", "/users", `{"id":1,"name":"Ann","password":"123"}`, 200)
	script := func(declared string) string { return upload(t, strings.ReplaceAll(grantScript, "DECLARED", declared)) }
	const asked = `permissions: ['USER_QUERY', 'ADMIN_UPDATE'], hosts: ['*.example.org']`
	want("POST", "/plugins/js?dryRun=true", script(asked), 200, `"requestedGrants":{"permissions":["USER_QUERY","ADMIN_UPDATE"],"hosts":["*.example.org"],"java":false}`)
	want("POST", "/plugins/js?dryRun=true", script("hosts: ['http://x']"), 200, `"problem":{"code":1102`, `is not a host`)
	want("POST", "/plugins/js", script("permissions: ['USER_READ']"), 400, `"USER_READ\" is not a permission of the admin interface`)
	want("POST", "/plugins/js", script(asked), 200)
	outcome := want("PUT", "/plugins?ids=grants.js", `{"status":"STARTED"}`, 500)
	const grants = `{"permissions":["USER_QUERY","ADMIN_UPDATE"],"hosts":["*.example.org"],"java":false}`
	want("GET", "/plugins", "", 200, `"requestedGrants":`+grants, `"granted":`+grants)
	refused := func(id, permission, what string) string {
		return fmt.Sprintf("plugin %q has no grant for the permission %s, which it needs to %s: its descriptor does not declare it in permissions (app.plugin.grants.mode)", id, permission, what)
	}
	for _, part := range []string{
		`"query":"done"`, `"storage":"done"`, refused("grants.js", "USER_DELETE", "call deleteUsers"), `who has permissions that you lack`, `"tokens":"done"`,
	} {
		if !strings.Contains(plain(outcome), plain(part)) {
			t.Errorf("the outcome has no %s: %s", part, outcome)
		}
	}
	want("GET", "/users?ids=1", "", 200, `"Ann"`)
	eventually(t, "the refusal in the audit trail", func() bool { // Refused writes are stored together, with a delay.
		_, body := ask(t, s, role.Service, "GET", "/audit?operations=deleteUsers", "")
		return strings.Contains(body, "plugin:grants.js")
	})

	jar := javatest.Jar(t, javatest.Plugin{
		Descriptor: "id: grants\nversion: 1\nclass: grants.Grants\npermissions: [USER_QUERY]\n", Sources: map[string]string{"grants/Grants.java": grantJava},
	})
	if status, body := form(t, s, "/plugins/java", "grants.jar", jar); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	outcome = want("PUT", "/plugins?ids=grants", `{"status":"STARTED"}`, 500)
	if !strings.Contains(plain(outcome), plain("query: done, remove: ")) || !strings.Contains(plain(outcome), plain(refused("grants", "USER_DELETE", "call deleteUsers"))) {
		t.Errorf("the jar: %s", outcome)
	}
	want("GET", "/users?ids=1", "", 200, `"Ann"`)
}

// plain is a text without what quoting adds to it.
func plain(s string) string { return strings.NewReplacer("\\", "", "\"", "").Replace(s) }
