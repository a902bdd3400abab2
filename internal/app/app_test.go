// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// start runs the roles on free ports until the test ends. More properties may
// be given.
func start(t *testing.T, roles []Role, set ...string) *App {
	t.Helper()
	c, err := config.Load(config.Options{Home: t.TempDir(), Set: append([]string{
		"app.service.admin-api.http.port=0", "app.gateway.admin-api.http.port=0",
		"app.service.admin-api.http.host=127.0.0.1", "app.gateway.admin-api.http.host=127.0.0.1",
		"app.logging.console.enabled=false", "app.security.password.bcrypt-cost=4",
		"app.health-check.cpu.unhealthy-load-threshold-percentage=100",
	}, set...)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan *App, 1), make(chan error, 1)
	go func() { done <- Run(ctx, Options{Roles: roles, Config: c, Ready: func(a *App) { ready <- a }}) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	select {
	case a := <-ready:
		return a
	case err := <-done:
		done <- nil
		t.Fatalf("start: %v", err)
		return nil
	}
}

func get(t *testing.T, url, account string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if name, pw, ok := strings.Cut(account, ":"); ok {
		req.SetBasicAuth(name, pw)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestBothRoles(t *testing.T) {
	for name, set := range map[string]func() []string{
		"SQLite":     func() []string { return nil },
		"PostgreSQL": func() []string { return []string{"app.store.url=" + storetest.PostgreSQLURL(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			a := start(t, AllRoles, set()...)
			for _, role := range AllRoles {
				if status, body := get(t, a.URL(role)+"/health", ""); status != 200 {
					t.Errorf("%s: health %d %s", role, status, body)
				}
				if status, body := get(t, a.URL(role)+"/metrics?names=store.commits", "app:app"); status != 200 || !strings.Contains(body, `"count":`) {
					t.Errorf("%s: metrics %d %s", role, status, body)
				}
				if status, body := get(t, a.URL(role)+"/openapi/docs", ""); status != 200 || !json.Valid([]byte(body)) {
					t.Errorf("%s: document %d", role, status)
				}
			}
			if status, _ := get(t, a.URL(Service)+"/admins", "app:app"); status != 200 {
				t.Errorf("service: /admins %d", status)
			}
			if status, _ := get(t, a.URL(Gateway)+"/admins", "app:app"); status != 404 {
				t.Errorf("gateway: /admins %d", status)
			}
			if !a.DefaultRootPassword() {
				t.Error("the default password went unnoticed")
			}
		})
	}
}

// TestLiveChanges changes properties of a running server.
func TestLiveChanges(t *testing.T) {
	a := start(t, AllRoles)
	url := a.URL(Service)
	change := func(f func(*config.Config)) {
		t.Helper()
		if err := a.Config().Update(func(c *config.Config) error { f(c); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if status, _ := get(t, url+"/metrics/names", ""); status != 401 {
		t.Errorf("metrics are open: %d", status)
	}
	change(func(c *config.Config) { c.Metrics.OpenTo = []string{"127.0.0.0/8"} })
	if status, _ := get(t, url+"/metrics/names", ""); status != 200 {
		t.Errorf("metrics are not open: %d", status)
	}
	change(func(c *config.Config) { c.Service.AdminAPI.OpenAPI.Enabled = false })
	if status, _ := get(t, url+"/openapi/ui", ""); status != 404 {
		t.Errorf("the documentation is still served: %d", status)
	}
	if status, _ := get(t, a.URL(Gateway)+"/openapi/ui", ""); status != 200 {
		t.Errorf("the documentation of the other role: %d", status)
	}
	change(func(c *config.Config) {
		c.Service.AdminAPI.RateLimiting = config.RateLimiting{Capacity: 1, InitialTokens: 0, TokensPerPeriod: 1}
	})
	for range 2 {
		get(t, url+"/health", "")
	}
	if status, _ := get(t, url+"/health", ""); status != 429 {
		t.Errorf("the rate limit did not change: %d", status)
	}
}

func TestOneRole(t *testing.T) {
	a := start(t, []Role{Service}, "app.service.admin-api.use-authentication=false")
	if a.URL(Gateway) != "" {
		t.Error("the gateway listens")
	}
	if status, _ := get(t, a.URL(Service)+"/admins", ""); status != 200 {
		t.Errorf("without authentication: %d", status)
	}
}

func TestAdminInterfaceSwitchedOff(t *testing.T) {
	a := start(t, AllRoles, "app.gateway.admin-api.enabled=false")
	if a.URL(Gateway) != "" || a.URL(Service) == "" {
		t.Errorf("gateway %q, service %q", a.URL(Gateway), a.URL(Service))
	}
}

func TestShutdownByRequest(t *testing.T) {
	a := start(t, AllRoles)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, a.URL(Gateway)+"/shutdown", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("app", "app")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != "null" {
		t.Errorf("body %q", body)
	}
	select {
	case <-a.shutdown:
	case <-time.After(10 * time.Second):
		t.Error("nobody asked for a shutdown")
	}
}
