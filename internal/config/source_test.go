// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"example.org/app/internal/config/property"
)

func find(t *testing.T, name string) property.Property {
	t.Helper()
	for _, p := range Properties() {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("no property %q", name)
	return property.Property{}
}

func TestSources(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "config"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := "app:\n  store.timeout-millis: 1\n  store.max-connections: 1\n  metrics.open-to: [10.0.0.1]\n"
	if err := os.WriteFile(filepath.Join(home, "config", "application.yaml"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Options{Home: home, Environ: []string{"APP_HOME=/x", "APP_TEST_DATABASE=y", "APP_STORE_MAX_CONNECTIONS=2", "APP_STORE_LOCK_TIMEOUT_MILLIS=2"}, Set: []string{"app.store.lock-timeout-millis=3"}})
	if err != nil {
		t.Fatal(err)
	}
	merged := c.Clone()
	if err := merged.Merge(map[string]any{"service.adminApi.rateLimiting.capacity": 7}, MergeOptions{Source: property.SourceCluster}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]property.Source{
		"app.store.timeout-millis":                           {property.SourceFile, property.SourceFile},
		"app.store.max-connections":                          {property.SourceEnvironment, property.SourceEnvironment},
		"app.store.lock-timeout-millis":                      {property.SourceFlag, property.SourceFlag},
		"app.metrics.open-to":                                {property.SourceFile, property.SourceFile},
		"app.service.admin-api.rate-limiting.capacity":       {property.SourceDefault, property.SourceCluster},
		"app.service.admin-api.rate-limiting.initial-tokens": {property.SourceDefault, property.SourceDefault},
	} {
		p := find(t, name)
		if got := [2]property.Source{c.Source(p), merged.Source(p)}; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := merged.Value(find(t, "app.service.admin-api.rate-limiting.capacity")); got != int64(7) {
		t.Errorf("value %v (%T)", got, got)
	}
	if got := merged.Value(find(t, "app.security.password.initial-root-password")); got == "app" {
		t.Error("a secret is shown")
	}
	if got := merged.Value(property.Property{Name: "app.nothing"}); got != nil {
		t.Errorf("value of nothing: %v", got)
	}
}

func TestTouched(t *testing.T) {
	touched, err := Touched(map[string]any{
		"service": map[string]any{"adminApi": map[string]any{"rateLimiting": map[string]any{"capacity": "5", "initialTokens": nil}}},
		"metrics": map[string]any{"openTo": []any{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range touched {
		names = append(names, p.JSONPath)
	}
	if want := []string{"metrics.openTo", "service.adminApi.rateLimiting.capacity"}; !reflect.DeepEqual(names, want) {
		t.Errorf("touched %v, want %v", names, want)
	}
	if _, err := Touched(map[string]any{"service": map[string]any{"x": 1}}); err == nil || !strings.Contains(err.Error(), "app.service.x") {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestLatest(t *testing.T) {
	home := t.TempDir()
	set := func(path ...any) map[string]any {
		m := map[string]any{path[len(path)-2].(string): path[len(path)-1]}
		for i := len(path) - 3; i >= 0; i-- {
			m = map[string]any{path[i].(string): m}
		}
		return m
	}
	for _, values := range []map[string]any{
		set("metrics", "openTo", []any{"10.0.0.0/8"}),
		set("service", "adminApi", "rateLimiting", "capacity", 5),
		set("service", "adminApi", "rateLimiting", "initialTokens", 4),
		set("service", "adminApi", "rateLimiting", "capacity", 6),
	} {
		if err := SaveLatest(home, values); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Load(Options{Home: home, Environ: []string{"APP_SERVICE_ADMIN_API_RATE_LIMITING_TOKENS_PER_PERIOD=3"}})
	if err != nil {
		t.Fatal(err)
	}
	r := c.Service.AdminAPI.RateLimiting
	if r.Capacity != 6 || r.InitialTokens != 4 || r.TokensPerPeriod != 3 || len(c.Metrics.OpenTo) != 1 {
		t.Errorf("loaded %+v, %v", r, c.Metrics.OpenTo)
	}
	if entries, _ := os.ReadDir(filepath.Join(home, "config")); len(entries) != 1 {
		t.Errorf("files %v", entries)
	}
	if err := os.WriteFile(latestFile(home), []byte("app: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := SaveLatest(home, set("metrics", "openTo", nil)); err == nil {
		t.Error("a broken file was overwritten")
	}
}
