// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"compress/gzip"
	"io"
	"strings"
	"testing"
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
