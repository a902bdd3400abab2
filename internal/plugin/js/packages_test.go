// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/bundle"
	"example.org/app/internal/plugin/js/inspector"
	"example.org/app/test/need"
)

// packagePlugin imports all of a package. Its description is what the package exports, and what
// each exported function does without arguments: the kind of its result, or its exception.
const packagePlugin = `import * as all from 'PACKAGE';
const isObject = (v) => typeof v === 'function' || (typeof v === 'object' && v !== null);
function call(f) {
  try { return typeof f(); } catch (e) { return e instanceof Error ? e.name + ' ' + e.message : typeof e; }
}
function describe(v, depth) {
  const kind = typeof v === 'function' ? 'function ' + v.name + '/' + v.length + ' ' + call(v) : typeof v;
  if (!isObject(v) || depth > 1) { return kind; }
  return kind + '{' + Object.getOwnPropertyNames(v).sort().map((k) => {
    try { return k + ':' + describe(v[k], depth + 1); } catch (e) { return k + '!' + e.name; }
  }).join() + '}';
}
class Extension extends AppExtension { getExtensionPoints() { return ['AdminActionHandler']; } handleAdminAction() { return all; } }
export default class extends AppPlugin {
  getDescriptor() { return { id: 'package', description: describe(all, 0) }; }
  getExtensions() { return [Extension]; }
}
`

// TestPackagesInDebugMode loads plugins with popular packages of npm, with a debugger and without,
// and wants the same of them. The packages come from the registry when they are first needed, as
// the lock file says.
func TestPackagesInDebugMode(t *testing.T) {
	need.Time(t)
	defer http.DefaultClient.CloseIdleConnections() // Those to the registry.
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/packages")); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var project struct{ Dependencies map[string]string }
	if err := json.Unmarshal(data, &project); err != nil {
		t.Fatal(err)
	}
	if len(project.Dependencies) < 30 {
		t.Fatalf("only %d packages are compared", len(project.Dependencies))
	}
	quiet := slog.New(slog.DiscardHandler)
	server, err := inspector.Listen(t.Context(), inspector.Options{Host: "127.0.0.1", Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close(context.Background()) })
	host := func(o Options) *Host {
		t.Helper()
		o.Points, o.Log = plugin.Points, quiet
		h, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Close(context.Background()) })
		return h
	}
	normal := host(Options{})
	debugged := host(Options{Inspect: func(context.Context) (*inspector.Server, error) { return server, nil }})
	load := func(h *Host, src plugin.Source) string {
		t.Helper()
		m, err := h.Load(t.Context(), src)
		if err != nil {
			return "error: " + err.Error()
		}
		defer func() { _ = m.Close(context.Background()) }()
		return m.Descriptor().Description
	}
	for i, name := range slices.Sorted(maps.Keys(project.Dependencies)) {
		if raceDetector && i%3 != 0 {
			continue // They would take minutes.
		}
		entry := filepath.Join(dir, "plugin.js")
		if err := os.WriteFile(entry, []byte(strings.Replace(packagePlugin, "PACKAGE", name, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		built, err := bundle.Build(bundle.Options{Entry: entry, Output: filepath.Join(dir, "out.js")})
		if failed, ok := errors.AsType[*url.Error](err); ok {
			need.Skip(t, "npm registry", failed)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		script, _, _ := strings.Cut(string(built.Script), "\n//# sourceMappingURL=")
		src := plugin.Source{Name: name + ".js", Data: []byte(script)}
		want := load(normal, src)
		src.Debug = true
		got := load(debugged, src)
		if got != want {
			t.Errorf("%s: with probes\n%s\nwithout\n%s", name, got, want)
		}
		if strings.HasPrefix(want, "error: ") || len(want) < 20 {
			t.Errorf("%s cannot be compared: %s", name, want)
		}
		t.Logf("%s: %d bytes, described by %d", name, len(script), len(want))
	}
}
