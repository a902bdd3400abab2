// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/config/property"
)

// folder makes the folder of plugins with files.
func (w *world) folder(files map[string]string) *Folder {
	w.t.Helper()
	f, err := OpenFolder(w.Manager, filepath.Join(w.t.TempDir(), "deep", "plugins"))
	if err != nil {
		w.t.Fatal(err)
	}
	for name, data := range files {
		write(w.t, f, name, data)
	}
	return f
}

func write(t *testing.T, f *Folder, name, data string) {
	t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w *world) scripts(ids ...string) {
	for _, id := range ids {
		w.host.scripts[id] = script{id: id, extensions: []functions{adding(1)}}
	}
}

func TestFolder(t *testing.T) {
	w := newWorld(t)
	w.scripts("a", "b", "c", "linked")
	f := w.folder(map[string]string{
		"a.js": "a", "sub/b.js": "b", "lib/c.js": "c", "README.md": "a", "D.JS": "b", "broken.js": "nonsense", "x.jar": "jar", "_network_.b.js": "b",
	})
	elsewhere := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(elsewhere, []byte("linked"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(f.dir, "link.js")); err != nil {
		t.Fatal(err)
	}
	f.Leave("_network_.b.js")
	err := f.Load(t.Context(), false)
	if err == nil || !strings.Contains(err.Error(), "broken.js: line 1: this is not a plugin") {
		t.Errorf("the error is %v", err)
	}
	if !slices.Equal(w.ids(), []string{"a", "linked"}) {
		t.Errorf("loaded are %v", w.ids())
	}
	var names []string
	for _, r := range w.Rejections.All() {
		names = append(names, r.Name)
	}
	if !slices.Equal(names, []string{"broken.js", "x.jar"}) {
		t.Errorf("rejected are %v", names)
	}
}

// TestFolderWithLibraries passes over files that are no plugins.
func TestFolderWithLibraries(t *testing.T) {
	w := newWorld(t)
	w.scripts("a")
	w.host.scripts["library"] = script{err: fmt.Errorf("without descriptor: %w", ErrNoPlugin)}
	f := w.folder(map[string]string{"a.js": "a", "library.js": "library"})
	if err := f.Load(t.Context(), false); err != nil {
		t.Error(err)
	}
	f.seen = map[string][32]byte{}
	f.sync(t.Context())
	if !slices.Equal(w.ids(), []string{"a"}) || len(w.Rejections.All()) != 0 {
		t.Errorf("loaded are %v, rejected %v", w.ids(), w.Rejections.All())
	}
}

func TestFolderThatIsAFile(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFolder(w.Manager, path); err == nil {
		t.Error("a file was taken as the folder")
	}
}

// await waits for a condition that another goroutine brings about.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func TestWatch(t *testing.T) {
	w := newWorld(t)
	w.scripts("a", "new")
	w.host.scripts["a2"] = script{id: "a", version: "2", extensions: []functions{adding(2)}}
	w.host.scripts["other"] = script{id: "other", version: "1", extensions: []functions{adding(5)}}
	f := w.folder(map[string]string{"a.js": "a"})
	if err := f.Load(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	p, _ := w.Find("a")
	w.do(p, Start)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Watch(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	state := func(id string) State {
		p, ok := w.Find(id)
		if !ok {
			return ""
		}
		return p.Extensions()[0].State
	}
	write(t, f, "new.js", "new")
	await(t, "a new plugin that is started", func() bool { return state("new") == Started })
	write(t, f, "a.js", "a2")
	await(t, "a changed plugin", func() bool { p, ok := w.Find("a"); return ok && p.Version == "2" && state("a") == Started })
	write(t, f, "a.js", "nonsense")
	await(t, "a rejection", func() bool { return len(w.Rejections.All()) == 1 })
	if p, ok := w.Find("a"); !ok || p.Version != "2" || state("a") != Started {
		t.Error("the old version does not go on")
	}
	write(t, f, "a.js", "other")
	await(t, "another id", func() bool {
		_, ok := w.Find("a")
		return !ok && state("other") == Started && len(w.Rejections.All()) == 0
	})
	if err := os.Remove(filepath.Join(f.dir, "new.js")); err != nil {
		t.Fatal(err)
	}
	await(t, "a removed plugin", func() bool { return slices.Equal(w.ids(), []string{"other"}) })
}

func TestNetwork(t *testing.T) {
	w := newWorld(t)
	w.scripts("a", "b", "c", "d", "cached")
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		switch r.URL.Path {
		case "/a.js", "/b.js", "/cached.js":
			rw.Write([]byte(strings.TrimSuffix(r.URL.Path[1:], ".js")))
		case "/moved.js":
			http.Redirect(rw, r, "/real", http.StatusFound)
		case "/real":
			rw.Write([]byte("d"))
		case "/download":
			if r.Method == http.MethodPost {
				rw.Write([]byte("c"))
			}
		default:
			http.NotFound(rw, r)
		}
	}))
	defer server.Close()
	plugin := func(path string) config.NetworkPlugin {
		return config.NetworkPlugin{URL: property.URL(server.URL + path), Type: config.NetworkPluginAuto, Download: config.PluginDownload{HTTPMethod: "GET", TimeoutMillis: 60000}}
	}
	cached, posted, missing := plugin("/cached.js?version=3"), plugin("/download"), plugin("/missing.js")
	cached.UseLocalCache = true
	posted.Type, posted.Download.HTTPMethod = config.NetworkPluginJavaScript, "POST"
	f := w.folder(map[string]string{"_network_.a.js": "old copy"})
	load := func(list ...config.NetworkPlugin) error {
		return loadNetwork(t, f, config.PluginNetwork{Plugins: list})
	}
	err := load(plugin("/a.js"), cached, posted, plugin("/moved.js"), missing)
	if err == nil || !strings.Contains(err.Error(), "missing.js: the answer is 404") {
		t.Errorf("the error is %v", err)
	}
	if !slices.Equal(w.ids(), []string{"a", "c", "cached", "d"}) || len(w.Rejections.All()) != 1 {
		t.Errorf("loaded are %v, rejected %v", w.ids(), w.Rejections.All())
	}
	if err := f.Load(t.Context(), false); err != nil {
		t.Errorf("the folder loads what came from the network: %v", err)
	}
	if _, err := w.Remove(t.Context(), "cached"); err != nil {
		t.Fatal(err)
	}
	before := requests.Load()
	if err := load(cached); err != nil || requests.Load() != before {
		t.Errorf("the copy was not used: %v", err)
	}
	if err := load(plugin("/download")); !errors.Is(err, ErrConfiguration) || !strings.Contains(err.Error(), "the plugin type cannot be recognised") {
		t.Errorf("the error is %v", err)
	}
	if err := load(config.NetworkPlugin{URL: "ftp://x/a.js"}); !errors.Is(err, ErrConfiguration) {
		t.Errorf("the error is %v", err)
	}
}

func TestNetworkLimits(t *testing.T) {
	w := newWorld(t)
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(release)
	f := w.folder(nil)
	err := loadNetwork(t, f, config.PluginNetwork{Plugins: []config.NetworkPlugin{{
		URL: property.URL(server.URL + "/slow.js"), Type: config.NetworkPluginAuto, Download: config.PluginDownload{HTTPMethod: "GET", TimeoutMillis: 50},
	}}})
	if err == nil || !strings.Contains(err.Error(), "deadline exceeded") {
		t.Errorf("the error is %v", err)
	}
}

func TestProxy(t *testing.T) {
	w := newWorld(t)
	w.scripts("a")
	proxy := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Host != "plugins.test" || r.Header.Get("Proxy-Authorization") != "Basic bWU6c2VjcmV0" {
			http.Error(rw, "no", http.StatusProxyAuthRequired)
			return
		}
		rw.Write([]byte("a"))
	}))
	defer proxy.Close()
	u, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	c := config.PluginNetwork{
		Proxy: config.PluginProxy{Enabled: true, Host: u.Hostname(), Port: int32(port), Username: "me", Password: "secret", ConnectTimeoutMillis: 60000},
		Plugins: []config.NetworkPlugin{{
			URL: "http://user:hidden@plugins.test/a.js", Type: config.NetworkPluginAuto, Download: config.PluginDownload{HTTPMethod: "GET", TimeoutMillis: 60000},
		}},
	}
	f := w.folder(nil)
	if err := loadNetwork(t, f, c); err != nil {
		t.Fatal(err)
	}
	c.Proxy.Password = "wrong"
	err = loadNetwork(t, f, c)
	if err == nil || strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "wrong") {
		t.Errorf("the error is %v", err)
	}
}

// TestNetworkTellsNoCredentials fails to download from URLs with a password and a token.
func TestNetworkTellsNoCredentials(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t)
	w.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	w.Rejections.logger = w.opts.Logger
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	missing := httptest.NewServer(http.NotFoundHandler())
	defer missing.Close()
	f := w.folder(nil)
	for _, address := range []string{gone.URL, missing.URL} {
		err := loadNetwork(t, f, config.PluginNetwork{Plugins: []config.NetworkPlugin{{
			URL:  property.URL(strings.Replace(address, "://", "://user:hunter2@", 1) + "/a.js?token=hunter3"),
			Type: config.NetworkPluginAuto, Download: config.PluginDownload{HTTPMethod: "GET", TimeoutMillis: 60000},
		}}})
		text := fmt.Sprint(err, w.Rejections.All(), log.String())
		if err == nil || strings.Contains(text, "hunter") || !strings.Contains(text, "/a.js?token=***") {
			t.Errorf("told is %s", text)
		}
	}
}

// loadNetwork loads the plugins of the network as a server does.
func loadNetwork(t *testing.T, f *Folder, c config.PluginNetwork) error {
	return errors.Join(f.LeaveNetwork(c), f.LoadNetwork(t.Context(), c, false))
}
