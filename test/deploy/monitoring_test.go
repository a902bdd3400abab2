// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
)

// exposed returns the names of all series that a server with a plugin exposes to Prometheus.
func exposed(t *testing.T) map[string]bool {
	t.Helper()
	dir := t.TempDir()
	const plugin = `class Seen extends AppExtension {
  getExtensionPoints() { return ['AdminActionHandler']; }
  handleAdminAction() {}
}
export default class extends AppPlugin {
  getDescriptor() { return { id: 'seen' }; }
  getExtensions() { return [Seen]; }
}`
	if err := os.WriteFile(filepath.Join(dir, "seen.js"), []byte(plugin), 0o600); err != nil {
		t.Fatal(err)
	}
	server := apptest.Start(t, role.All, "app.plugin.dir="+dir)
	names := map[string]bool{"up": true} // Prometheus adds it.
	get := func(path string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL(role.Service)+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("app", "app")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v", path, resp.Status, err)
		}
		return string(body)
	}
	get("/admins") // The plugin is called before the response is complete, or a little later.
	for range 1000 {
		for line := range strings.Lines(get("/metrics/prometheus")) {
			if !strings.HasPrefix(line, "#") {
				names[regexp.MustCompile(`^\w+`).FindString(line)] = true
			}
		}
		if names["plugin_calls_seconds_count"] {
			break
		}
	}
	return names
}

var (
	selector = regexp.MustCompile(`([a-z_0-9]+)\{([^}]*)\}`)
	matcher  = regexp.MustCompile(`^\w+(=|=~|!=|!~)"[^"]*"$`)
)

// checkExpression checks that the selectors of an expression name existing series, and that its
// brackets are balanced. It does not check functions: that takes Prometheus.
func checkExpression(t *testing.T, where, expression string, names map[string]bool) {
	t.Helper()
	selectors := selector.FindAllStringSubmatch(expression, -1)
	if len(selectors) == 0 {
		t.Errorf("%s: %s selects nothing", where, expression)
	}
	for _, s := range selectors {
		if !names[s[1]] {
			t.Errorf("%s: there is no metric %s", where, s[1])
		}
		for m := range strings.SplitSeq(s[2], ",") {
			if !matcher.MatchString(m) {
				t.Errorf("%s: %q selects nothing", where, m)
			}
		}
	}
	for _, pair := range []string{"()", "[]", "{}"} {
		if strings.Count(expression, pair[:1]) != strings.Count(expression, pair[1:]) {
			t.Errorf("%s: %s in %s are not balanced", where, pair, expression)
		}
	}
}

// TestMonitoring checks the alert rules and the dashboard against the metrics of a running server.
func TestMonitoring(t *testing.T) {
	names := exposed(t)
	type rule struct {
		Alert, Expr, For    string
		Labels, Annotations map[string]string
	}
	type group struct {
		Name  string
		Rules []rule
	}
	seen := map[string]bool{}
	for _, g := range decode[struct{ Groups []group }](t, "deploy/monitoring/alerts.yaml", true)[0].Groups {
		for _, r := range g.Rules {
			if seen[r.Alert] || r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Labels["severity"] == "" {
				t.Errorf("the alert %q is there twice, or lacks a summary, a description or a severity", r.Alert)
			}
			seen[r.Alert] = true
			checkExpression(t, r.Alert, r.Expr, names)
		}
	}
	if len(seen) < 5 {
		t.Errorf("there are %d alerts", len(seen))
	}

	var dashboard struct {
		UID    string
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ H, W, X, Y int }
			Targets []struct{ Expr, RefID string }
		}
	}
	if err := json.NewDecoder(bytes.NewReader(read(t, "deploy/monitoring/dashboard.json"))).Decode(&dashboard); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] || p.Title == "" || len(p.Targets) == 0 || p.GridPos.W == 0 {
			t.Errorf("the panel %q is not complete", p.Title)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			checkExpression(t, "panel "+p.Title, target.Expr, names)
		}
	}
	if len(ids) < 10 || dashboard.UID == "" {
		t.Errorf("the dashboard has %d panels", len(ids))
	}
}
