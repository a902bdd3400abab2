// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/role"
	"example.org/app/test/need"
)

// askingScript is a plugin that asks for grants and has an endpoint that uses one.
func askingScript(id, version, declared string) string {
	return fmt.Sprintf(`
class Asking extends AppExtension {
  getEndpoints() { return [{ handler: 'count', method: 'GET', path: '/count', summary: 'Count users' }]; }
  async count() { return { users: Number((await app.api.users.queryPage({ size: 1 })).total), version: '%[2]s' }; }
}
export default class extends AppPlugin {
  getDescriptor() { return { id: '%[1]s', version: '%[2]s', %[3]s }; }
  getExtensions() { return [Asking]; }
}`, id, version, declared)
}

const askingJava = `
package asking;
import im.app.plugin.*;
import im.app.plugin.api.users.*;
import java.util.*;

public class Asking extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() {
        return List.of(Counter.class);
    }

    public static class Counter extends AppExtension {
        @Override
        public List<Endpoint> getEndpoints() {
            return List.of(Endpoint.get("/count").summary("Count users")
                    .handler("count", r -> Map.of("users", api().users().queryPage(new QueryUserPage().size(1)).total(), "version", descriptor().version())));
        }
    }
}`

// explicitGrants is a server whose plugins wait for grants.
type explicitGrants struct {
	*apptest.Server
	t *testing.T
}

func (s explicitGrants) want(method, target, body string, status int, parts ...string) string {
	s.t.Helper()
	return want(s.t, s.Server, role.Service, method, target, body, status, parts...)
}

// wantCount waits until the endpoint of a plugin answers with a status.
func (s explicitGrants) wantCount(id string, status int, part string) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("the endpoint of %s answers with %d %s", id, status, part), func() bool {
		got, body := ask(s.t, s.Server, role.Service, "GET", "/plugins/endpoints/"+id+"/count", "")
		return got == status && strings.Contains(body, part)
	})
}

// as sends a request as somebody, for a revision if that is not empty.
func (s explicitGrants) as(login, password, revision, method, target, body string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL(role.Service)+target, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.SetBasicAuth(login, password)
	if revision != "" {
		req.Header.Set("If-Match", revision)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// TestExplicitGrants has plugins in both languages, from the folder, from uploads and of the
// cluster, wait for grants.
func TestExplicitGrants(t *testing.T) {
	need.Time(t)
	dir := folderOf(t, map[string]string{"folder.js": askingScript("folder", "1", "permissions: ['USER_QUERY']")})
	database := "app.store.url=sqlite:" + filepath.Join(t.TempDir(), "app.db")
	set := []string{"app.plugin.grants.mode=EXPLICIT", "app.plugin.dir=" + dir, "app.plugin.abort-on-failure=true", "app.plugin.js.allow-save=true", "app.plugin.watch-dir=true", database}
	s := explicitGrants{apptest.Start(t, []role.Role{role.Service}, set...), t}
	// The clerk may add plugins and lacks USER_DELETE.
	s.want("POST", "/admins/roles", `{"id":7,"name":"clerk","permissions":["PLUGIN_*","USER_QUERY"],"rank":1}`, 200)
	s.want("POST", "/admins", `{"loginName":"clerk","password":"clerkclerk","displayName":"clerk","roleIds":[7]}`, 200)

	// A plugin of the folder waits, and is started with its grant.
	s.want("GET", "/plugins?ids=folder", "", 200, `"state":"WAITING"`, `"missingGrants":{"permissions":["USER_QUERY"],"hosts":[],"java":false}`, `"granted":{"permissions":[],"hosts":[],"java":false}`)
	s.wantCount("folder", 404, "")
	s.want("PUT", "/plugins/grants?id=folder", `{"permissions":["USER_QUERY"]}`, 200, `"pluginId":"folder","permissions":["USER_QUERY"],"hosts":[],"java":false,"revision":1,"adminId":0`)
	s.wantCount("folder", 200, `"users":`)
	if answer := s.want("GET", "/plugins?ids=folder", "", 200, `"state":"STARTED"`); strings.Contains(answer, "missingGrants") {
		t.Errorf("what is granted is missing: %s", answer)
	}
	testGrantsOfUploads(s)
	testWaitingUploads(s)
	testGrantsOfFiles(s, dir)
	testGrantsOfJars(s)
	testGrantsOfClusterPlugins(s)
	s.want("GET", "/audit?operations=updatePluginGrants", "", 200, `"updatePluginGrants"`, `USER_QUERY`)

	// After a restart, grants apply before plugins are loaded.
	s.Stop()
	again := explicitGrants{apptest.Start(t, []role.Role{role.Service}, set...), t}
	again.wantCount("folder", 200, `"users":`)
	again.wantCount("shared", 200, `"version":"2"`)
}

func testGrantsOfUploads(s explicitGrants) {
	t := s.t
	t.Helper()
	first := upload(t, askingScript("asking", "1", "permissions: ['USER_QUERY', 'USER_DELETE'], hosts: ['localhost']"))
	s.want("POST", "/plugins/js", first, 200, `"requestedGrants":`)
	const waits = `waits for a grant of the permissions USER_DELETE, USER_QUERY and the host localhost`
	s.want("PUT", "/plugins?ids=asking", `{"status":"STARTED"}`, 400, `"code":1102`, waits)
	// Nobody can grant permissions that they lack, neither directly nor with an upload; concurrent
	// changes are detected.
	for target, body := range map[string]string{
		"PUT /plugins/grants?id=asking": `{"permissions":["USER_QUERY","USER_DELETE"]}`, "POST /plugins/js?replace=true&grant=true": first, "POST /plugins/js?replace=true&grant=true&dryRun=true": first,
		"POST /plugins/js?grant=true&scope=CLUSTER": upload(t, askingScript("other", "1", "permissions: ['USER_DELETE']")),
	} {
		method, path, _ := strings.Cut(target, " ")
		if status, answer := s.as("clerk", "clerkclerk", "", method, path, body); status != 403 || !strings.Contains(answer, "you cannot grant permissions that you lack: [USER_DELETE]") {
			t.Errorf("%s: %d %s", target, status, answer)
		}
	}
	s.want("PUT", "/plugins/grants?id=asking", `{"permissions":["FLY"]}`, 400, `is not a permission`)
	if status, answer := s.as("clerk", "clerkclerk", "", "PUT", "/plugins/grants?id=asking", `{"permissions":["USER_QUERY"]}`); status != 200 {
		t.Errorf("%d %s", status, answer)
	}
	s.want("GET", "/plugins?ids=asking", "", 200, `"state":"WAITING"`, `"missingGrants":{"permissions":["USER_DELETE"],"hosts":["localhost"],"java":false}`)
	if status, answer := s.as("app", "app", `"7"`, "PUT", "/plugins/grants?id=asking", `{}`); status != 412 || !strings.Contains(answer, "is at revision 1, not 7") {
		t.Errorf("a change for another revision: %d %s", status, answer)
	}
	s.wantCount("asking", 404, "")
	s.want("PUT", "/plugins/grants?id=asking", `{"permissions":["USER_QUERY","USER_DELETE"],"hosts":["*"]}`, 200, `"revision":2`)
	s.wantCount("asking", 200, `"version":"1"`)
	s.want("GET", "/plugins/grants?ids=asking", "", 200, `"hosts":["*"]`)

	// A new version that requests more waits, and the old one continues; an upload with its grant
	// is activated at once.
	more := upload(t, askingScript("asking", "2", "permissions: ['USER_QUERY', 'GROUP_QUERY']"))
	const missing = `"missingGrants":{"permissions":["GROUP_QUERY"],"hosts":[],"java":false}`
	if answer := s.want("POST", "/plugins/js?replace=true&dryRun=true", more, 200, missing, `"waits":true`); strings.Contains(answer, `"replaced":true`) {
		t.Errorf("a dry run of a version that would wait: %s", answer)
	}
	s.want("POST", "/plugins/js?replace=true", more, 200, missing, `"waits":true`)
	s.want("GET", "/plugins?ids=asking", "", 200, `"version":"1"`, `"state":"STARTED"`, `"waitingVersion":{"version":"2","digest":"`, missing)
	s.wantCount("asking", 200, `"version":"1"`)
	// An upload refused for another reason grants nothing.
	lame := strings.Replace(askingScript("asking", "2", "permissions: ['USER_QUERY', 'GROUP_QUERY']"), "getEndpoints()", "start() { throw new Error('no way'); }\n  getEndpoints()", 1)
	s.want("POST", "/plugins/js?replace=true&grant=true", upload(t, lame), 400, `no way`)
	s.wantCount("asking", 200, `"version":"1"`)
	s.want("GET", "/plugins/grants?ids=asking", "", 200, `"permissions":["USER_DELETE","USER_QUERY"],"hosts":["*"]`)
	s.want("POST", "/plugins/js?replace=true&grant=true", more, 200, `"replaced":true`)
	s.wantCount("asking", 200, `"version":"2"`)
	if answer := s.want("GET", "/plugins?ids=asking", "", 200); strings.Contains(answer, "waitingVersion") {
		t.Errorf("a version that was taken still waits: %s", answer)
	}

	// Without its grant the plugin does not run until it is granted again.
	s.want("PUT", "/plugins/grants?id=asking", `{}`, 200)
	s.wantCount("asking", 503, `waits for a grant of the permissions USER_QUERY, GROUP_QUERY`)
	s.want("PUT", "/plugins?ids=asking", `{"status":"RESUMED"}`, 400, `waits for a grant`)
	s.want("PUT", "/plugins/grants?id=asking", `{"permissions":["USER_QUERY","GROUP_QUERY"]}`, 200)
	s.wantCount("asking", 200, `"version":"2"`)
}

// testWaitingUploads has new versions of node plugins wait for grants.
func testWaitingUploads(s explicitGrants) {
	t := s.t
	t.Helper()
	script := func(id, version, permissions string) string {
		return askingScript(id, version, "permissions: ["+permissions+"]")
	}
	isWaiting := func(id, version string) bool {
		return strings.Contains(s.want("GET", "/plugins?ids="+id, "", 200), `"waitingVersion":{"version":"`+version+`"`)
	}
	for _, id := range []string{"left", "right"} {
		s.want("POST", "/plugins/js?grant=true", upload(t, script(id, "1", "'USER_QUERY'")), 200)
		s.want("PUT", "/plugins?ids="+id, `{"status":"STARTED"}`, 200)
		s.wantCount(id, 200, `"version":"1"`)
	}
	grant := func(id, permissions string) {
		t.Helper()
		s.want("PUT", "/plugins/grants?id="+id, `{"permissions":[`+permissions+`]}`, 200)
	}

	// The newest version counts, and is saved when it becomes active.
	s.want("POST", "/plugins/js?replace=true&save=true", upload(t, script("left", "2", "'USER_QUERY', 'GROUP_QUERY'")), 200, `"waits":true`)
	s.want("POST", "/plugins/js?replace=true&save=true", upload(t, script("left", "3", "'USER_QUERY', 'GROUP_QUERY', 'GROUP_DELETE'")), 200, `"waits":true`)
	grant("left", `"USER_QUERY","GROUP_QUERY"`)
	if !isWaiting("left", "3") {
		t.Error("a version that lacks a grant does not wait")
	}
	s.wantCount("left", 200, `"version":"1"`)
	if answer := s.want("GET", "/plugins?ids=left", "", 200); strings.Contains(answer, "fileName") {
		t.Errorf("a version that waits was saved: %s", answer)
	}
	grant("left", `"USER_QUERY","GROUP_QUERY","GROUP_DELETE"`)
	s.wantCount("left", 200, `"version":"3"`)
	s.want("GET", "/plugins?ids=left", "", 200, `"fileName":"_network_.`)

	// Plugins uploaded together become active together.
	both := upload(t, script("left", "4", "'USER_QUERY'"), script("right", "4", "'USER_QUERY', 'GROUP_QUERY'"))
	s.want("POST", "/plugins/js?replace=true", both, 200, `"id":"left"`, `"id":"right"`, `"waits":true`)
	if !isWaiting("left", "4") || !isWaiting("right", "4") {
		t.Error("a version does not wait")
	}
	s.wantCount("left", 200, `"version":"3"`)
	grant("right", `"USER_QUERY","GROUP_QUERY"`)
	s.wantCount("left", 200, `"version":"4"`)
	s.wantCount("right", 200, `"version":"4"`)

	// A version that fails to become active is rejected, and the old one continues.
	lame := strings.Replace(script("right", "5", "'USER_QUERY', 'USER_DELETE'"), "getEndpoints()", "start() { throw new Error('no way'); }\n  getEndpoints()", 1)
	s.want("POST", "/plugins/js?replace=true", upload(t, lame), 200, `"waits":true`)
	grant("right", `"USER_QUERY","GROUP_QUERY","USER_DELETE"`)
	eventually(t, "the version is rejected", func() bool {
		_, body := ask(t, s.Server, role.Service, "GET", "/plugins?includeRejected=true", "")
		return strings.Contains(body, "no way")
	})
	s.wantCount("right", 200, `"version":"4"`)

	// Removing a plugin removes its waiting version.
	s.want("POST", "/plugins/js?replace=true", upload(t, script("right", "6", "'ADMIN_QUERY'")), 200, `"waits":true`)
	s.want("DELETE", "/plugins?ids=right", "", 204)
	grant("right", `"ADMIN_QUERY"`)
	s.wantCount("right", 404, "")
}

// testGrantsOfFiles lets a file of the folder that changes wait for grants.
func testGrantsOfFiles(s explicitGrants, dir string) {
	t := s.t
	t.Helper()
	write := func(version, permissions string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "folder.js"), []byte(askingScript("folder", version, "permissions: ["+permissions+"]")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("2", "'USER_QUERY', 'GROUP_QUERY'")
	eventually(t, "the new version waits", func() bool {
		_, body := ask(t, s.Server, role.Service, "GET", "/plugins?ids=folder", "")
		return strings.Contains(body, `"waitingVersion":{"version":"2"`)
	})
	s.wantCount("folder", 200, `"version":"1"`)
	s.want("PUT", "/plugins/grants?id=folder", `{"permissions":["USER_QUERY","GROUP_QUERY"]}`, 200)
	s.wantCount("folder", 200, `"version":"2"`)
	eventually(t, "the file is no longer rejected", func() bool {
		_, body := ask(t, s.Server, role.Service, "GET", "/plugins?includeRejected=true", "")
		return !strings.Contains(body, `"id":"folder.js"`)
	})
}

func testGrantsOfJars(s explicitGrants) {
	t := s.t
	t.Helper()
	jar := func(version, permissions string) []byte {
		return javatest.Jar(t, javatest.Plugin{
			Descriptor: "id: jar\nversion: \"" + version + "\"\nclass: asking.Asking\npermissions: [" + permissions + "]\n", Sources: map[string]string{"asking/Asking.java": askingJava},
		})
	}
	wantForm(t, s.Server, "/plugins/java", 200, `"requestedGrants":`, "jar.jar", jar("1", "USER_QUERY"))
	s.want("PUT", "/plugins?ids=jar", `{"status":"STARTED"}`, 400, `waits for a grant of the permission USER_QUERY`)
	s.wantCount("jar", 404, "")
	wantForm(t, s.Server, "/plugins/java?replace=true&grant=true", 200, `"replaced":true`, "jar.jar", jar("2", "USER_QUERY"))
	s.want("PUT", "/plugins?ids=jar", `{"status":"STARTED"}`, 200)
	s.wantCount("jar", 200, `"version":"2"`)
	wantForm(t, s.Server, "/plugins/java?replace=true", 200, `"waits":true`, "jar.jar", jar("3", "USER_QUERY, USER_DELETE"))
	s.wantCount("jar", 200, `"version":"2"`)
	s.want("PUT", "/plugins/grants?id=jar", `{"permissions":["USER_QUERY","USER_DELETE"]}`, 200)
	s.wantCount("jar", 200, `"version":"3"`)
}

func testGrantsOfClusterPlugins(s explicitGrants) {
	t := s.t
	t.Helper()
	version := func(number, declared string) string { return upload(t, askingScript("shared", number, declared)) }
	s.want("POST", "/plugins/js?scope=CLUSTER&grant=true", version("1", "permissions: ['USER_QUERY']"), 200)
	s.want("PUT", "/plugins?ids=shared", `{"status":"STARTED"}`, 200)
	s.wantCount("shared", 200, `"version":"1"`)
	// A version that requests more is stored and waits, while nodes continue with the previous one.
	s.want("POST", "/plugins/js?scope=CLUSTER&replace=true", version("2", "permissions: ['USER_QUERY', 'GROUP_QUERY']"), 200, `"state":"WAITING"`, `waits for a grant of the permission GROUP_QUERY`)
	s.want("GET", "/plugins?ids=shared", "", 200, `"state":"WAITING"`, `"version":"2"`)
	s.wantCount("shared", 200, `"version":"1"`)
	s.want("PUT", "/plugins/grants?id=shared", `{"permissions":["USER_QUERY","GROUP_QUERY"]}`, 200)
	s.wantCount("shared", 200, `"version":"2"`)
}
