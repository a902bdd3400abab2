// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/app"
	"example.org/app/internal/app/apptest"
	"example.org/app/internal/config"
	"example.org/app/internal/role"
	"example.org/app/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// client closes its connections, so that a stopping server does not wait for them.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func get(t *testing.T, url, account string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if name, pw, ok := strings.Cut(account, ":"); ok {
		req.SetBasicAuth(name, pw)
	}
	resp, err := client.Do(req)
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
			a := apptest.Start(t, role.All, set()...)
			for _, r := range role.All {
				if status, body := get(t, a.URL(r)+"/health", ""); status != 200 {
					t.Errorf("%s: health %d %s", r, status, body)
				}
				if status, body := get(t, a.URL(r)+"/metrics?names=store.commits", "app:app"); status != 200 || !strings.Contains(body, `"count":`) {
					t.Errorf("%s: metrics %d %s", r, status, body)
				}
				if status, body := get(t, a.URL(r)+"/openapi/docs", ""); status != 200 || body != string(app.OpenAPI(r)) {
					t.Errorf("%s: document %d, or it is not the one that app openapi prints", r, status)
				}
			}
			if status, _ := get(t, a.URL(role.Service)+"/admins", "app:app"); status != 200 {
				t.Errorf("service: /admins %d", status)
			}
			if status, _ := get(t, a.URL(role.Gateway)+"/admins", "app:app"); status != 404 {
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
	a := apptest.Start(t, role.All)
	url := a.URL(role.Service)
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
	if status, _ := get(t, a.URL(role.Gateway)+"/openapi/ui", ""); status != 200 {
		t.Errorf("the documentation of the other role: %d", status)
	}
	change(func(c *config.Config) {
		c.Service.AdminAPI.RateLimiting = config.RateLimiting{Capacity: 1, InitialTokens: 0, TokensPerPeriod: 1, RefillIntervalMillis: 10_000}
	})
	// Of requests within the interval all but one are refused.
	status := 0
	for range 100 {
		if status, _ = get(t, url+"/health", ""); status == 429 {
			break
		}
	}
	if status != 429 {
		t.Errorf("the rate limit did not change: %d", status)
	}
}

func TestOneRole(t *testing.T) {
	a := apptest.Start(t, []role.Role{role.Service}, "app.service.admin-api.use-authentication=false")
	if a.URL(role.Gateway) != "" {
		t.Error("the gateway listens")
	}
	if status, _ := get(t, a.URL(role.Service)+"/admins", ""); status != 200 {
		t.Errorf("without authentication: %d", status)
	}
	if _, err := os.Stat(filepath.Join(a.LogDir(), "app-service.log")); err != nil {
		t.Errorf("the name of the log file: %v", err)
	}
}

func TestAdminInterfaceSwitchedOff(t *testing.T) {
	a := apptest.Start(t, role.All, "app.gateway.admin-api.enabled=false")
	if a.URL(role.Gateway) != "" || a.URL(role.Service) == "" {
		t.Errorf("gateway %q, service %q", a.URL(role.Gateway), a.URL(role.Service))
	}
}

func TestShutdownByRequest(t *testing.T) {
	a := apptest.Start(t, role.All)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, a.URL(role.Gateway)+"/shutdown", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("app", "app")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != "null" {
		t.Errorf("body %q", body)
	}
	select {
	case <-a.Done:
	case <-time.After(30 * time.Second):
		t.Error("the server goes on")
	}
}
