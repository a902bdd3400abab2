// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/admin/api"
)

func TestSystem(t *testing.T) {
	onBothEngines(t, func(t *testing.T, h *harness) {
		h.play([]scenario{
			{name: "health", method: "GET", target: "/health", status: 200, want: ok(`{"status":"UP","liveness":"UP","readiness":"UP","parts":[{"name":"store","status":"UP"},{"name":"other","status":"UP"}]}`)},
			{name: "infos", as: "app", method: "GET", target: "/infos", status: 200, want: `{"build":{"version":"1.2.3","commitId":"abc","buildTime":"2024-01-01T00:00:00Z"}}`},
			{name: "threads", as: "app", method: "GET", target: "/threaddump", status: 200, want: "~\ngoroutine "},
			{name: "shutdown", as: "app", method: "PUT", target: "/shutdown", status: 200, want: "null", after: func(h *harness) {
				if n := h.shutdowns.Load(); n != 1 {
					h.t.Errorf("%d shutdowns", n)
				}
			}},
		})
		for _, live := range []string{"", "?live=false"} {
			r := h.call("app", "GET", "/heapdump"+live, "")
			zr, err := gzip.NewReader(strings.NewReader(r.body))
			if err != nil {
				t.Fatalf("heap profile: %v", err)
			}
			if b, err := io.ReadAll(zr); err != nil || len(b) == 0 {
				t.Errorf("heap profile: %d bytes, %v", len(b), err)
			}
			if d := r.header.Get("Content-Disposition"); !strings.HasSuffix(d, ".heap.pb.gz") {
				t.Errorf("Content-Disposition %q", d)
			}
		}
	})
}

func TestUnhealthy(t *testing.T) {
	h := newSQLiteHarness(t)
	reason := "on fire"
	h.unhealthy.Store(&reason)
	h.play([]scenario{
		{name: "not ready", method: "GET", target: "/health", status: 503, want: `~{"code":1201,"reason":"not ready: other: on fire",`},
		{name: "readiness", method: "GET", target: "/health?probe=READINESS", status: 503, want: `~"parts":[{"name":"store","status":"UP"},{"name":"other","status":"DOWN","reason":"on fire"}]`},
		{name: "liveness", method: "GET", target: "/health?probe=LIVENESS", status: 200, want: `~"liveness":"UP","readiness":"DOWN"`},
		{name: "unknown probe", method: "GET", target: "/health?probe=X", status: 400, want: "~must be one of LIVENESS, READINESS"},
	})
}

// TestHealthHidesAddresses proves that only administrators read reasons that
// were not written for callers.
func TestHealthHidesAddresses(t *testing.T) {
	h := api.NewHealth(api.Check{Name: "store", Do: func(context.Context) error {
		return errors.New("dial tcp 10.1.2.3:5432: connection refused")
	}})
	ops := api.CommonOperations(api.Common{Health: h})
	var settings admin.Settings
	a := admin.New(admin.Options{
		Title: "t", Version: "1", Tags: api.Tags, Logger: slog.New(slog.DiscardHandler),
		Settings: func() *admin.Settings { return &settings },
	}, ops...)
	settings.RateLimit = admin.RateLimit{Capacity: 10, InitialTokens: 10, TokensPerPeriod: 1, RefillInterval: time.Second}
	ask := func() string {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest("GET", "/health", nil))
		return w.Body.String()
	}
	settings.UseAuthentication = true
	if body := ask(); strings.Contains(body, "10.1.2.3") || !strings.Contains(body, `"store"`) {
		t.Errorf("without credentials: %s", body)
	}
	settings.UseAuthentication = false // Everybody is an administrator.
	if body := ask(); !strings.Contains(body, "10.1.2.3") {
		t.Errorf("an administrator: %s", body)
	}
}
