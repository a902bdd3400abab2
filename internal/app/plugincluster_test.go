// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
	"example.org/app/test/need"
)

// upload is the body that adds scripts.
func upload(t *testing.T, scripts ...string) string {
	t.Helper()
	var list []any
	for _, code := range scripts {
		list = append(list, map[string]any{"code": code})
	}
	body, err := json.Marshal(map[string]any{"scripts": list})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// versioned is a script that stands for a version of a plugin.
func versioned(id string, version int, more string) string {
	return fmt.Sprintf(`
class Extension extends AppExtension {
  getExtensionPoints() { return ['AdminActionHandler']; }
  handleAdminAction({ action }) { app.log.info('%[1]s %[2]d saw', action); }
  %[3]s
}
export default class extends AppPlugin {
  getDescriptor() { return {id: %[1]q, version: '%[2]d'}; }
  getExtensions() { return [Extension]; }
}`, id, version, more)
}

// listedPlugin is what GET /plugins says of a plugin.
type listedPlugin struct {
	ID, Version, Scope, Digest string
	Extensions                 []struct {
		Started, Running bool
	}
	Cluster *struct {
		Number, Revision        int64
		Version, Digest, Status string
		Nodes                   []struct {
			NodeID, State, Reason, Version, Digest string
			Number                                 int64
		}
	}
}

// plugins lists the plugins of a server by their ids.
func pluginsOf(t *testing.T, s *apptest.Server, r role.Role) map[string]listedPlugin {
	t.Helper()
	status, body := ask(t, s, r, "GET", "/plugins", "")
	byID := map[string]listedPlugin{}
	if status == 204 {
		return byID
	}
	var answer struct{ Data []listedPlugin }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 200 {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	for _, p := range answer.Data {
		byID[p.ID] = p
	}
	return byID
}

// TestClusterPluginsOutliveTheServer restarts a server with cluster plugins in both languages.
func TestClusterPluginsOutliveTheServer(t *testing.T) {
	need.Time(t)
	set := []string{"app.store.url=sqlite:" + filepath.Join(t.TempDir(), "app.db")}
	both := []role.Role{role.Service, role.Gateway}
	jar := javatest.Jar(t, javatest.Plugin{ID: "suffix", Version: "1", Class: "suffix.Suffix", Sources: map[string]string{
		"suffix/Suffix.java": strings.ReplaceAll(javaSource, "VERSION", "1"),
	}})
	t.Run("first", func(t *testing.T) {
		s := apptest.Start(t, both, append(set, "suffix.text=x")...)
		want(t, s, role.Service, "POST", "/plugins/js?scope=CLUSTER", upload(t, versioned("script", 1, "")), 200, `"state":"LOADED"`)
		if status, body := form(t, s, "/plugins/java?scope=CLUSTER", "suffix.jar", jar); status != 200 || !strings.Contains(body, `"number":1`) {
			t.Fatalf("%d %s", status, body)
		}
		want(t, s, role.Gateway, "PUT", "/plugins?ids=script,suffix", `{"status":"STARTED"}`, 200, `"modifiedCount":2`)
	})
	t.Run("second", func(t *testing.T) {
		s := apptest.Start(t, both, append(set, "suffix.text=x")...)
		list := pluginsOf(t, s, role.Gateway) // They are there as soon as the server is.
		for _, id := range []string{"script", "suffix"} {
			p := list[id]
			if p.Scope != "CLUSTER" || p.Digest == "" || p.Cluster == nil || p.Cluster.Digest != p.Digest || len(p.Extensions) != 1 || !p.Extensions[0].Running || len(p.Cluster.Nodes) != 2 {
				t.Errorf("plugin %s: %+v", id, p)
			}
		}
		want(t, s, role.Service, "DELETE", "/plugins?ids=script,suffix", "", 204)
	})
	t.Run("third", func(t *testing.T) {
		s := apptest.Start(t, both, set...)
		if list := pluginsOf(t, s, role.Service); len(list) != 0 {
			t.Errorf("plugins %+v", list)
		}
	})
}

// TestOwnPluginCounts has a plugin in the folder with the id of a cluster plugin.
func TestOwnPluginCounts(t *testing.T) {
	set := []string{"app.store.url=sqlite:" + filepath.Join(t.TempDir(), "app.db")}
	t.Run("cluster", func(t *testing.T) {
		s := apptest.Start(t, []role.Role{role.Service}, set...)
		want(t, s, role.Service, "POST", "/plugins/js?scope=CLUSTER", upload(t, versioned("mine", 2, "")), 200)
		want(t, s, role.Service, "PUT", "/plugins?ids=mine", `{"status":"STARTED"}`, 200)
	})
	dir := folderOf(t, map[string]string{"own.js": versioned("mine", 1, "")})
	s := apptest.Start(t, []role.Role{role.Service}, append(set, "app.plugin.dir="+dir)...)
	var p listedPlugin
	eventually(t, "the plugin of the folder counts", func() bool {
		p = pluginsOf(t, s, role.Service)["mine"]
		return p.Scope == "NODE" && p.Cluster != nil && p.Cluster.Nodes[0].State == "CONFLICT"
	})
	if p.Version != "1" || p.Cluster.Version != "2" || p.Cluster.Nodes[0].Reason != `the node has a plugin of its own with the same id, from the file "own.js"` {
		t.Errorf("plugin %+v", p)
	}
	want(t, s, role.Service, "POST", "/plugins/js?scope=CLUSTER&replace=true", upload(t, versioned("mine", 3, "")), 409, `this node has a plugin \"mine\" of its own`)
	want(t, s, role.Service, "DELETE", "/plugins?ids=mine", "", 204)
	eventually(t, "the plugin of the cluster comes back", func() bool {
		p = pluginsOf(t, s, role.Service)["mine"]
		return p.Scope == "CLUSTER" && p.Version == "2" && len(p.Extensions) == 1 && p.Extensions[0].Running
	})
}

// TestSwitchOfVersionsLosesNoCall changes the active version while a client sends messages: each is
// handled once, by one of the versions.
func TestSwitchOfVersionsLosesNoCall(t *testing.T) {
	s := apptest.Start(t, role.All, "app.service.message.allow-send-messages-to-stranger=true", "app.service.message.check-if-target-active-and-not-deleted=false")
	for _, id := range []string{"5", "6"} {
		want(t, s, role.Service, "POST", "/users", `{"id":`+id+`,"password":"secret"}`, 200)
	}
	marking := func(version int) string {
		return fmt.Sprintf(`
class Mark extends AppExtension {
  getExtensionPoints() { return ['ClientRequestHandler']; }
  transform(r) {
    if (r.request.createMessageRequest) r.request.createMessageRequest.text += ' %[1]d';
    return r;
  }
}
export default class extends AppPlugin {
  getDescriptor() { return {id: 'mark', version: '%[1]d'}; }
  getExtensions() { return [Mark]; }
}`, version)
	}
	want(t, s, role.Service, "POST", "/plugins/js?scope=CLUSTER", upload(t, marking(1)), 200)
	want(t, s, role.Service, "PUT", "/plugins?ids=mark", `{"status":"STARTED"}`, 200)
	want(t, s, role.Service, "POST", "/plugins/js?scope=CLUSTER&replace=true", upload(t, marking(2)), 200, `"number":2`)
	sender, reader := chat.Connect(t, s.ClientURLs()[1]), chat.Connect(t, s.ClientURLs()[1])
	sender.MustLogin(5, chat.WithPassword("secret"))
	reader.MustLogin(6, chat.WithPassword("secret"))
	done, stopped := make(chan struct{}), make(chan struct{})
	calls := 0
	go func() {
		defer close(stopped)
		to, text := int64(6), "hi"
		for {
			select {
			case <-done:
				return
			default:
			}
			calls++
			answer, err := sender.Do(t.Context(), &wire.CreateMessageRequest{RecipientId: &to, Text: &text})
			if err != nil || answer.GetCode() != 1000 {
				t.Errorf("message %d: %v, %v", calls, answer, err)
				return
			}
			if heard := reader.Relayed(8).GetRelayedRequest().GetCreateMessageRequest().GetText(); heard != "hi 1" && heard != "hi 2" {
				t.Errorf("message %d was heard as %q", calls, heard)
				return
			}
		}
	}()
	for i := range 12 {
		number := 1 + i%2
		want(t, s, role.Service, "PUT", "/plugins/versions?id=mark", fmt.Sprintf(`{"number":%d}`, number), 200, fmt.Sprintf(`"state":"STARTED","number":%d`, number))
	}
	close(done)
	<-stopped
	t.Logf("%d messages during 12 switches", calls)
}
