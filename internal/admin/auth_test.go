// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// TestCallersWhoHangUp proves that a caller's disconnection does not count as a server failure.
func TestCallersWhoHangUp(t *testing.T) {
	ta := newTestAPI(t)
	ctx, cancel := context.WithCancel(t.Context())
	ta.opts.Authenticator = authenticatorFunc(func(ctx context.Context, _ Credentials) (*Principal, error) {
		cancel()
		return nil, errors.Join(ctx.Err())
	})
	r := request("GET", "/things", "", "Authorization", "Basic cm9vdDpyb290").WithContext(ctx)
	ta.do(r)
	if rec := ta.recorder.records[0]; rec.Status != statusHungUp {
		t.Errorf("the record says %d", rec.Status)
	}
	if strings.Contains(ta.log.String(), "ERROR") {
		t.Errorf("the log says %s", ta.log)
	}
}

type authenticatorFunc func(context.Context, Credentials) (*Principal, error)

func (f authenticatorFunc) Authenticate(ctx context.Context, c Credentials) (*Principal, error) {
	return f(ctx, c)
}

func TestAuditLogNamesTheAccountThatWasTried(t *testing.T) {
	ta := newTestAPI(t)
	var out bytes.Buffer
	ta.opts.Recorders = append(ta.opts.Recorders, AuditLog(slog.New(slog.NewJSONHandler(&out, nil))))
	r := request("GET", "/things", "")
	r.SetBasicAuth("victim", "secret-guess")
	ta.do(r)
	if text := out.String(); !strings.Contains(text, `"triedLoginName":"victim"`) || strings.Contains(text, "secret-guess") {
		t.Errorf("the audit log says %s", text)
	}
}

// TestLocalOnly proves that an account with the default password cannot be used remotely, not even
// through a browser or a proxy on this machine.
func TestLocalOnly(t *testing.T) {
	ta := newTestAPI(t)
	open := true
	ta.opts.LocalOnly = func() bool { return open }
	for _, tt := range []struct {
		name, remote string
		headers      []string
		status       int
	}{
		{"IPv4", "127.0.0.1:1", nil, 200},
		{"IPv6", "[::1]:1", nil, 200},
		{"mapped", "[::ffff:127.0.0.1]:1", nil, 200},
		{"elsewhere", "192.0.2.1:1", nil, 401},
		{"own page", "127.0.0.1:1", []string{"Origin", "http://localhost:8510"}, 200},
		{"own page by address", "127.0.0.1:1", []string{"Origin", "http://[::1]:8510"}, 200},
		{"page of another site", "127.0.0.1:1", []string{"Origin", "https://example.com"}, 401},
		{"page that looks like ours", "127.0.0.1:1", []string{"Origin", "https://localhost.example.com"}, 401},
		{"page without origin", "127.0.0.1:1", []string{"Origin", "null"}, 401},
		{"proxy", "127.0.0.1:1", []string{"X-Forwarded-For", "192.0.2.1"}, 401},
		{"proxy of the standard", "127.0.0.1:1", []string{"Forwarded", "for=192.0.2.1"}, 401},
	} {
		r := request("GET", "/things", "", append(tt.headers, "Authorization", "Basic cm9vdDpyb290")...)
		r.RemoteAddr = tt.remote
		w := ta.do(r)
		if w.Code != tt.status || tt.status == 401 && !strings.Contains(w.Body.String(), "initial-root-password") {
			t.Errorf("%s: %d %s", tt.name, w.Code, w.Body)
		}
	}
	open = false
	r := request("GET", "/things", "", "Authorization", "Basic cm9vdDpyb290")
	r.RemoteAddr = "192.0.2.1:1"
	if w := ta.do(r); w.Code != 200 {
		t.Errorf("with a password of its own: %d", w.Code)
	}
}

func TestAuditLogIsBounded(t *testing.T) {
	large := strings.Repeat("x", maxParamBytes+1)
	got := boundParams(map[string]any{"name": "short", "text": large, "body": map[string]any{"a": 1, "b": large, "c": []any{large}}})
	body := got["body"].(map[string]any)
	if got["name"] != "short" || body["a"] != 1 {
		t.Errorf("small parameters are gone: %v", got)
	}
	for name, v := range map[string]any{"text": got["text"], "b": body["b"], "c": body["c"]} {
		if size, ok := v.(map[string]any); !ok || size["bytes"] == nil {
			t.Errorf("%s is %.40v", name, v)
		}
	}
}

func TestBlankValuesInBodies(t *testing.T) {
	ta := newTestAPI(t)
	r := request("POST", "/things", `{"id":7,"small":"","flag":" ","date":"","ratio":"  ","set":"","text":""}`, "Authorization", "Basic cm9vdDpyb290")
	if w := ta.do(r); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	r = request("POST", "/things", `{"id":""}`, "Authorization", "Basic cm9vdDpyb290")
	if w := ta.do(r); w.Code != 400 || !strings.Contains(w.Body.String(), "is required") {
		t.Errorf("a required field: %d %s", w.Code, w.Body)
	}
}

func TestLongListsAreRefused(t *testing.T) {
	ta := newTestAPI(t)
	for n, status := range map[int]int{maxListItems: 200, maxListItems + 1: 400} {
		ids := strings.TrimSuffix(strings.Repeat("1,2,", n/2+1), ",")
		ids = ids[:2*n-1]
		r := request("GET", "/things?ids="+ids, "", "Authorization", "Basic cm9vdDpyb290")
		if w := ta.do(r); w.Code != status {
			t.Errorf("%d elements: %d %.200s", n, w.Code, w.Body)
		}
	}
}
