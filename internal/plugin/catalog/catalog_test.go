// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/catalog"
	"example.org/app/internal/plugin/js"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func onBothEngines(t *testing.T, test func(*testing.T, *store.DB)) {
	t.Run("SQLite", func(t *testing.T) { test(t, storetest.SQLite(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, storetest.PostgreSQL(t)) })
}

// node is a process that follows the catalog.
type node struct {
	*catalog.Catalog
	manager *plugin.Manager
	folder  *plugin.Folder
	// changes counts what it told others of.
	changes atomic.Int32
	id      string
	// peers are the processes of its cluster, itself included; none is itself alone. lost says that
	// it does not answer them, and follows that another one leads.
	peers         []*node
	lost, follows atomic.Bool
}

// together makes nodes those of one cluster, which the first one leads.
func together(nodes ...*node) {
	for i, n := range nodes {
		n.peers = nodes
		n.follows.Store(i > 0)
	}
}

// gather returns what all nodes of the cluster have seen of rollouts.
func (n *node) gather(context.Context) (list []catalog.ProcessEvidence) {
	if n.peers == nil {
		return []catalog.ProcessEvidence{{NodeIDs: []string{n.id}, Evidence: n.Rollouts.Evidence()}}
	}
	for _, peer := range n.peers {
		p := catalog.ProcessEvidence{NodeIDs: []string{peer.id}, Roles: []role.Role{role.Service}}
		if peer.lost.Load() {
			p.Err = errors.New("the node did not answer")
		} else {
			p.Evidence = peer.Rollouts.Evidence()
		}
		list = append(list, p)
	}
	return list
}

// nodes counts the nodes of all tests.
var nodes atomic.Int32

// newNode makes a process with the real host for JavaScript. It follows when it is refreshed.
func newNode(t *testing.T, db *store.DB, roles ...role.Role) *node {
	t.Helper()
	host, err := js.New(js.Options{Points: plugin.Points})
	if err != nil {
		t.Fatal(err)
	}
	settings := config.Default().Plugin
	settings.Cluster.MaxVersions = 3
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	n := &node{id: fmt.Sprintf("node-%d", nodes.Add(1))}
	n.manager = plugin.NewManager(plugin.Options{Roles: roles, Hosts: []plugin.Host{host}, Settings: func() config.Plugin { return settings }, Logger: logger})
	if n.folder, err = plugin.OpenFolder(n.manager, filepath.Join(t.TempDir(), "plugins")); err != nil {
		t.Fatal(err)
	}
	n.Catalog = catalog.New(catalog.Options{
		Store: db, Manager: n.manager, Enabled: true, Settings: func() config.Plugin { return settings }, Logger: logger, NodeIDs: []string{n.id},
		Gather: n.gather, Leads: func() bool { return !n.follows.Load() },
		Changed: func() { n.changes.Add(1) }, Retry: func(int) time.Duration { return 20 * time.Millisecond },
	})
	t.Cleanup(func() {
		if err := errors.Join(n.Stop(context.Background()), n.manager.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return n
}

// script is a version of a plugin; more are further members of its class.
func script(id, version, more string) []byte {
	return fmt.Appendf(nil, `
class Watch extends AppExtension {
  getExtensionPoints() { return ['AdminActionHandler']; }
  handleAdminAction() {}
  %[3]s
}
export default class extends AppPlugin {
  getDescriptor() { return {id: %[1]q, version: %[2]q}; }
  getExtensions() { return [Watch]; }
}`, id, version, more)
}

// publish adds plugins to the cluster.
func (n *node) publish(t *testing.T, replace bool, scripts ...[]byte) ([]catalog.Published, error) {
	t.Helper()
	var uploads []plugin.Upload
	for _, s := range scripts {
		uploads = append(uploads, plugin.Upload{Language: plugin.JavaScript, Data: s})
	}
	published, errs := n.Publish(t.Context(), catalog.Publication{Uploads: uploads, Replace: replace, Change: catalog.Change{AdminID: 7}})
	return published, errors.Join(errs...)
}

func (n *node) mustPublish(t *testing.T, replace bool, scripts ...[]byte) []catalog.Published {
	t.Helper()
	published, err := n.publish(t, replace, scripts...)
	if err != nil {
		t.Fatal(err)
	}
	return published
}

// state is that of a plugin on the node.
func (n *node) state(id string) string {
	for _, s := range n.States() {
		if s.PluginID == id {
			return strings.TrimSpace(fmt.Sprintf("%s %d %s", s.State, s.Number, s.Reason))
		}
	}
	return ""
}

// wait refreshes the node until a plugin is in a state that begins as wanted.
func (n *node) wait(t *testing.T, id, want string) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if err := n.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := n.state(id)
		if want == "" && got == "" && len(n.Loading()) == 0 || want != "" && strings.HasPrefix(got, want) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the plugin %q is %q, want %q", id, got, want)
		}
	}
}

func do(t *testing.T, n *node, id string, h plugin.Hook) {
	t.Helper()
	if _, err := n.Do(t.Context(), id, h, catalog.Change{}); err != nil {
		t.Fatal(err)
	}
}

// TestNodesFollow publishes on one node and looks at another.
func TestNodesFollow(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		a, b := newNode(t, db, role.Service), newNode(t, db, role.Gateway)
		published := a.mustPublish(t, false, script("one", "1", ""), script("two", "1", ""))
		if published[0].Number != 1 || published[0].Replaced || a.state("two") != "LOADED 1" || a.changes.Load() != 1 {
			t.Errorf("published %+v, state %q, %d changes", published[0], a.state("two"), a.changes.Load())
		}
		b.wait(t, "two", "LOADED 1")
		do(t, b, "one", plugin.Start)
		a.wait(t, "one", "STARTED 1")
		a.mustPublish(t, true, script("one", "2", ""))
		b.wait(t, "one", "STARTED 2")
		if got := b.manager.Plugins(); len(got) != 2 || got[0].ID != "one" || got[0].Version != "2" || got[1].ID != "two" {
			t.Errorf("the plugins are %v", got)
		}
		if changed, err := b.Activate(t.Context(), "one", 1, catalog.Change{}); err != nil || !changed || b.state("one") != "STARTED 1" {
			t.Errorf("activated %v, %v, state %q", changed, err, b.state("one"))
		}
		a.wait(t, "one", "STARTED 1")
		if err := b.Remove(t.Context(), "one"); err != nil || b.state("one") != "" || len(b.manager.Plugins()) != 1 {
			t.Errorf("%v, state %q", err, b.state("one"))
		}
		a.wait(t, "one", "")
		if _, found := a.manager.Find("one"); found {
			t.Error("the plugin is still loaded")
		}
		// A new node gets all before Start returns.
		do(t, a, "two", plugin.Start)
		c := newNode(t, db, role.Service)
		if err := c.Start(t.Context()); err != nil || c.state("two") != "STARTED 1" {
			t.Errorf("%v, state %q", err, c.state("two"))
		}
		// A plugin that is removed and added again is another one, though its bytes and its number
		// are the same.
		if err := a.Remove(t.Context(), "two"); err != nil {
			t.Fatal(err)
		}
		a.mustPublish(t, false, script("two", "1", ""))
		c.wait(t, "two", "LOADED 1")
	})
}

// TestRolesOfPlugins publishes a plugin for one role through a node of the other.
func TestRolesOfPlugins(t *testing.T) {
	db := storetest.SQLite(t)
	gateway, service := newNode(t, db, role.Gateway), newNode(t, db, role.Service)
	code := bytes.Replace(script("one", "1", ""), []byte("id: "), []byte("'compatible-servers': ['SERVICE'], id: "), 1)
	gateway.mustPublish(t, false, code)
	service.wait(t, "one", "LOADED 1")
	if gateway.state("one") != "" || len(gateway.manager.Plugins()) > 0 {
		t.Errorf("the gateway has it: %q", gateway.state("one"))
	}
	versions, err := gateway.Versions(t.Context(), "one")
	if err != nil || len(versions) != 1 || versions[0].Servers[0] != "SERVICE" || versions[0].AdminID != 7 || versions[0].Size != int64(len(code)) || versions[0].Digest != plugin.Digest(code) {
		t.Errorf("%+v, %v", versions, err)
	}
}

// TestSettingsForAnotherRole has a node know the settings of a plugin of the cluster that it does
// not load.
func TestSettingsForAnotherRole(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		gateway, service := newNode(t, db, role.Gateway), newNode(t, db, role.Service)
		declare := func(version, name string) []byte {
			return bytes.Replace(script("one", version, ""), []byte("id: "), []byte("'compatible-servers': ['GATEWAY'], settings: {properties: {"+name+": {default: 1}}}, id: "), 1)
		}
		names := func(n *node) (names string) {
			if s := n.Schemas()["one"]; s != nil {
				for _, x := range s.Settings() {
					names += x.Path[0]
				}
			}
			return names
		}
		service.mustPublish(t, false, declare("1", "rate"))
		gateway.wait(t, "one", "LOADED 1")
		if got := names(service); got != "rate" {
			t.Errorf("the service knows %q", got)
		}
		if got := names(gateway); got != "" || gateway.manager.Schemas()["one"] == nil {
			t.Errorf("the gateway has it twice, or not at all: %q", got)
		}
		service.mustPublish(t, true, declare("2", "limit"))
		if got := names(service); got != "limit" {
			t.Errorf("the service knows %q", got)
		}
		if err := service.Remove(t.Context(), "one"); err != nil || names(service) != "" {
			t.Errorf("%v, the service knows %q", err, names(service))
		}
	})
}

// TestDamagedFiles changes files in the store behind the back of the catalog.
func TestDamagedFiles(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		exec := func(statement string) {
			t.Helper()
			err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error { return storetest.Exec(ctx, tx, statement) })
			if err != nil {
				t.Fatal(err)
			}
		}
		a, b := newNode(t, db, role.Service), newNode(t, db, role.Service)
		a.mustPublish(t, false, script("one", "1", ""))
		b.wait(t, "one", "LOADED 1")
		big := append(script("one", "2", ""), []byte("\n//"+strings.Repeat("x", 1<<20))...)
		a.mustPublish(t, true, big)
		exec("UPDATE plugin_chunk SET data = (SELECT data FROM plugin_chunk WHERE number = 1) WHERE number = 0 AND digest = '" + plugin.Digest(big) + "'")
		b.wait(t, "one", "FAILED 1 the file in the store has the SHA-256 digest ")
		if err := newNode(t, db, role.Service).Start(t.Context()); err == nil || !strings.Contains(err.Error(), `plugin "one" of the cluster: the file in the store has the SHA-256 digest`) {
			t.Errorf("a new node says %v", err)
		}
		exec("DELETE FROM plugin_chunk WHERE number = 2")
		b.wait(t, "one", "FAILED 1 the file "+plugin.Digest(big)+" in the store is not complete: ")
		// The same file again mends it.
		a.mustPublish(t, true, big)
		b.wait(t, "one", "LOADED 2")
		if versions, err := a.Versions(t.Context()); err != nil || len(versions) != 2 {
			t.Errorf("%d versions, %v", len(versions), err)
		}
	})
}

// TestFailureOnOneNode has a version that one node cannot load, and an own plugin that keeps
// another one out.
func TestFailureOnOneNode(t *testing.T) {
	db := storetest.SQLite(t)
	a, b := newNode(t, db, role.Service), newNode(t, db, role.Service)
	a.mustPublish(t, false, script("one", "1", ""))
	do(t, a, "one", plugin.Start)
	b.wait(t, "one", "STARTED 1")
	// The start of the new version fails here and there, so the old one goes on.
	a.mustPublish(t, true, script("one", "2", "start() { throw new Error('no database'); }"))
	b.wait(t, "one", `FAILED 1 start of extension "Watch" failed: Error: no database`)
	if p, ok := b.manager.Find("one"); !ok || p.Version != "1" || p.Extensions()[0].State != plugin.Started {
		t.Errorf("the old version is gone: %+v", p)
	}
	if _, err := a.Activate(t.Context(), "one", 1, catalog.Change{}); err != nil {
		t.Fatal(err)
	}
	b.wait(t, "one", "STARTED 1")

	// What a node has of its own counts there, whichever comes first.
	if err := os.WriteFile(filepath.Join(b.folder.Dir(), "own.js"), script("two", "own", ""), 0o600); err != nil {
		t.Fatal(err)
	}
	a.mustPublish(t, false, script("two", "1", ""))
	b.wait(t, "two", "LOADED 1")
	if err := b.folder.Load(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	b.wait(t, "two", `CONFLICT 0 the node has a plugin of its own with the same id, from the file "own.js"`)
	a.mustPublish(t, true, script("two", "2", ""))
	b.wait(t, "two", "CONFLICT")
	if p, _ := b.manager.Find("two"); p.Version != "own" {
		t.Errorf("version %q counts", p.Version)
	}
	_, err := b.publish(t, true, script("two", "3", ""))
	if apierr.From(err).Code != apierr.DuplicateResource {
		t.Errorf("published through the node: %v", err)
	}
	if err := b.folder.Delete(t.Context(), "two", true); err != nil {
		t.Fatal(err)
	}
	b.wait(t, "two", "LOADED 2")
}

// TestUnreadableStore takes the store away.
func TestUnreadableStore(t *testing.T) {
	db := storetest.SQLite(t)
	a := newNode(t, db, role.Service)
	a.mustPublish(t, false, script("one", "1", ""))
	do(t, a, "one", plugin.Start)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.Refresh(t.Context()); err == nil {
		t.Error("a store that is closed can be read")
	}
	if _, err := a.publish(t, true, script("one", "2", "")); err == nil {
		t.Error("published without a store")
	}
	if err := a.Remove(t.Context(), "one"); err == nil {
		t.Error("removed without a store")
	}
	if known := a.Known(t.Context()); len(known) != 1 || a.state("one") != "STARTED 1" {
		t.Errorf("known are %+v, state %q", known, a.state("one"))
	}
}

// TestUnusedFiles deletes what was not uploaded to its end.
func TestUnusedFiles(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		a := newNode(t, db, role.Service)
		a.mustPublish(t, false, script("one", "1", ""))
		put := func(digest string, age time.Duration) {
			t.Helper()
			err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
				return errors.Join(store.PutPluginFile(ctx, tx, digest, 1, time.Now().Add(-age)), store.PutPluginChunk(ctx, tx, digest, 0, []byte("x")))
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		put("old", 48*time.Hour)
		put("new", time.Hour)
		put(plugin.Digest(script("one", "1", "")), 48*time.Hour)
		for _, want := range []int64{1, 0} {
			if n, err := a.Clean(t.Context(), db); err != nil || n != want {
				t.Errorf("cleaned %d, %v, want %d", n, err, want)
			}
		}
	})
}

// TestRefusedPublications has uploads that nobody accepts.
func TestRefusedPublications(t *testing.T) {
	db := storetest.SQLite(t)
	a := newNode(t, db, role.Service)
	a.mustPublish(t, false, script("one", "1", ""))
	for name, tt := range map[string]struct {
		replace bool
		scripts [][]byte
		want    string
	}{
		"empty":          {false, [][]byte{[]byte(" ")}, "the plugin is empty"},
		"no plugin":      {false, [][]byte{[]byte("export default 1")}, "must"},
		"syntax":         {false, [][]byte{[]byte("class {")}, "SyntaxError"},
		"known":          {false, [][]byte{script("one", "2", "")}, `the cluster has a plugin with the id "one" already`},
		"all or none":    {true, [][]byte{script("two", "1", ""), []byte("class {")}, "SyntaxError"},
		"the same":       {true, [][]byte{script("two", "1", ""), script("two", "2", "")}, `the plugin "two" is uploaded twice`},
		"one is known":   {false, [][]byte{script("two", "1", ""), script("one", "2", "")}, "already"},
		"too long an id": {false, [][]byte{script(strings.Repeat("x", 200), "1", "")}, "1 to 128"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := a.publish(t, tt.replace, tt.scripts...); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	if versions, err := a.Versions(t.Context()); err != nil || len(versions) != 1 || len(a.manager.Plugins()) != 1 {
		t.Errorf("%+v, %v, %v", versions, err, a.manager.Plugins())
	}
}
