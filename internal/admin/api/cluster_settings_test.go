// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"example.org/app/internal/config"
	"example.org/app/internal/setting"
)

// newSettings gives the harness settings of its own home folder.
func (h *harness) newSettings() *setting.Settings {
	h.t.Helper()
	c, err := config.Load(config.Options{Home: h.t.TempDir(), Environ: []string{"APP_STORE_MAX_CONNECTIONS=7"}})
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := setting.New(h.t.Context(), setting.Options{Store: h.DB, Live: config.NewLive(c), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// setting returns one setting of an answer by its path.
func (h *harness) setting(target, path string) any {
	h.t.Helper()
	r := h.must("app", "GET", target, "")
	var e struct {
		Data struct {
			SchemaVersion int
			Settings      map[string]any
		}
	}
	if err := json.Unmarshal([]byte(r.body), &e); err != nil {
		h.t.Fatal(err)
	}
	if e.Data.SchemaVersion != 1 {
		h.t.Errorf("schema version %d", e.Data.SchemaVersion)
	}
	var v any = e.Data.Settings
	for segment := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[segment]
	}
	return v
}

func TestSettings(t *testing.T) {
	const capacity = "service.adminApi.rateLimiting.capacity"
	value := func(h *harness, target, path, want string) {
		h.t.Helper()
		if got, _ := json.Marshal(h.setting(target, path)); string(got) != want {
			h.t.Errorf("%s of %s is %s, want %s", path, target, got, want)
		}
	}
	put := func(v string) string { return `{"service":{"adminApi":{"rateLimiting":{"capacity":` + v + `}}}}` }
	done := `{"code":1000,"reason":"ok","timestamp":"DATE"}`
	onBothEngines(t, func(t *testing.T, h *harness) {
		value(h, "/cluster/settings", capacity, "50")
		value(h, "/cluster/settings", "security.password.initialRootPassword", `"***"`)
		value(h, "/cluster/settings", "store.url", "null") // hidden
		value(h, "/cluster/settings", "service.adminApi.http.ssl", "null")
		value(h, "/cluster/settings?onlyMutable=true", "security.password", "{}")
		value(h, "/cluster/settings?onlyMutable=true", capacity, "50")
		value(h, "/cluster/settings/metadata", capacity,
			`{"deprecated":false,"description":"The maximum number of tokens (requests) of one address.","global":true,"minimum":1,"mutable":true,"sensitive":false,"type":"int"}`)
		value(h, "/cluster/settings/metadata?withValue=true", "security.password.initialRootPassword",
			`{"deprecated":false,"description":"The password that the root administrator gets when the account is created: 1 to 32 characters without white space.","global":false,"mutable":false,"sensitive":true,"source":"default","type":"string","value":""}`)
		value(h, "/cluster/settings/metadata?withValue=true", "metrics.openTo",
			`{"default":[],"deprecated":false,"description":"The addresses and CIDR ranges from which /metrics may be read without credentials.","elementType":"string","global":false,"mutable":true,"sensitive":false,"source":"default","type":"java.util.List","value":[]}`)
		value(h, "/cluster/settings/metadata?withValue=true", "store.maxConnections.source", `"environment"`)
		value(h, "/cluster/settings/metadata", "logging.console.level.options", `["TRACE","DEBUG","INFO","WARN","ERROR","FATAL"]`)
		value(h, "/cluster/settings/metadata?onlyMutable=true", "store", "{}")
		h.play([]scenario{
			{name: "no body", as: "app", method: "PUT", target: "/cluster/settings", status: 200, want: done},
			{name: "empty body", as: "app", method: "PUT", target: "/cluster/settings", body: "{}", status: 200, want: done},
			{name: "change", as: "app", method: "PUT", target: "/cluster/settings", body: put(`"60"`), status: 200, want: done, after: func(h *harness) {
				value(h, "/cluster/settings", capacity, "60")
				value(h, "/cluster/settings?queryLocalSettings=true", capacity, "50")
				value(h, "/cluster/settings/metadata?withValue=true", capacity+".source", `"cluster"`)
			}},
			{name: "unknown", as: "app", method: "PUT", target: "/cluster/settings", body: `{"service":{"fly":1}}`, status: 400, want: "~app.service.fly: unknown property"},
			{name: "immutable", as: "app", method: "PUT", target: "/cluster/settings", body: `{"store":{"timeoutMillis":1}}`, status: 400, want: "~must not be changed while the server runs"},
			{name: "out of range", as: "app", method: "PUT", target: "/cluster/settings", body: put("0"), status: 400, want: "~rate-limiting.capacity"},
			{name: "not an object", as: "app", method: "PUT", target: "/cluster/settings", body: `[]`, status: 400, want: "~must be a JSON object"},
			{name: "without permission", as: "", method: "PUT", target: "/cluster/settings", body: put("1"), status: 401, want: `~"code":1300`},
			{name: "of this node", as: "app", method: "PUT", target: "/cluster/settings?updateLocalSettings=true", body: `{"metrics":{"openTo":["10.0.0.1"]}}`, status: 200, want: done, after: func(h *harness) {
				value(h, "/cluster/settings?queryLocalSettings=true", "metrics.openTo", `["10.0.0.1"]`)
				value(h, "/cluster/settings/metadata?withValue=true", "metrics.openTo.source", `"file"`)
			}},
			{name: "of this node and reset", as: "app", method: "PUT", target: "/cluster/settings?updateLocalSettings=true&reset=true", status: 400, want: "~cannot be combined"},
			{name: "reset", as: "app", method: "PUT", target: "/cluster/settings?reset=true", status: 200, want: done, after: func(h *harness) {
				value(h, "/cluster/settings", capacity, "50")
				value(h, "/cluster/settings", "metrics.openTo", "[]")
			}},
			{name: "revert", as: "app", method: "PUT", target: "/cluster/settings?revertTo=1", status: 200, want: done, after: func(h *harness) {
				value(h, "/cluster/settings", capacity, "60")
			}},
			{name: "revert to nothing", as: "app", method: "PUT", target: "/cluster/settings?revertTo=77", status: 404, want: `~"code":1302`},
			{
				name: "history", as: "app", method: "GET", target: "/cluster/settings/history?size=1", status: 200,
				want: `~"data":[{"revision":3,"adminId":0,"date":"DATE","action":"REVERT","changes":[{"property":"metrics.openTo","before":[],"after":["10.0.0.1"]},{"property":"service.adminApi.rateLimiting.capacity","before":50,"after":60}]}]`,
			},
			{
				name: "history page", as: "app", method: "GET", target: "/cluster/settings/history/page?size=1&page=2", status: 200,
				want: ok(`{"total":3,"records":[{"revision":1,"adminId":0,"date":"DATE","action":"UPDATE","changes":[{"property":"service.adminApi.rateLimiting.capacity","before":50,"after":60}]}]}`),
			},
		})
		h.ifMatch(put("61"))
	})
}

// ifMatch changes settings that somebody else changed meanwhile.
func (h *harness) ifMatch(body string) {
	h.t.Helper()
	tag := h.must("app", "GET", "/cluster/settings", "").header.Get("ETag")
	for _, step := range []struct {
		ifMatch string
		status  int
	}{{`"1"`, 412}, {tag, 200}, {tag, 412}, {"*", 200}, {"nonsense", 400}} {
		r := httptest.NewRequest("PUT", "/cluster/settings", strings.NewReader(body))
		r.SetBasicAuth("app", "app")
		r.Header.Set("If-Match", step.ifMatch)
		w := httptest.NewRecorder()
		h.service.ServeHTTP(w, r)
		if w.Code != step.status {
			h.t.Errorf("If-Match %s: %d, want %d: %s", step.ifMatch, w.Code, step.status, w.Body)
		}
	}
}
