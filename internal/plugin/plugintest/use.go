// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/apierr"
	"example.org/app/internal/plugin"
)

// use calls Uses and checks the reason of its result.
func use(t *testing.T, w *world, what, want string) {
	t.Helper()
	x := w.load(Uses).Extensions()[0]
	for range 2 { // The second call must have the same result.
		if got := act(t, x, what, 6).Reason; got != want {
			t.Errorf("%s\n got %q\nwant %q", what, got, want)
		}
	}
}

func testNode(t *testing.T, w *world) { use(t, w, "node", "node-1|SERVICE|1.0.0") }

func testConfig(t *testing.T, w *world) {
	use(t, w, "config", "{}")
	w.server.configure(map[string]any{
		"on": true, "limit": int64(9007199254740991), "ratio": 2.5, "name": strange, "list": []any{"a", int64(1)}, "deep": map[string]any{"er": "x"},
	})
	use(t, w, "config", "{deep={er=x},limit=9007199254740991,list=[a,1],name="+strange+",on=true,ratio=2.5}")
}

func testAPI(t *testing.T, w *world) {
	use(t, w, "api", "9223372036854775807|user 9223372036854775807 👋|-9223372036854775808|user -9223372036854775808 👋")
	use(t, w, "refused", "1302|no such user")
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	if len(w.server.callers) != 4 || slices.ContainsFunc(w.server.callers, func(d plugin.Descriptor) bool { return d.ID != "suite-uses" || d.Version != "1" }) {
		t.Errorf("the callers are %+v", w.server.callers)
	}
}

// testBehalf checks that calls of a plugin are attributed to the user on whose request it was
// called.
func testBehalf(t *testing.T, w *world) {
	x := w.load(Uses).Extensions()[0]
	for _, ctx := range []context.Context{plugin.ForUser(t.Context(), 12), plugin.ForAdmin(t.Context(), 3), t.Context()} {
		var r *plugin.RequestHandlerResult
		if ok, err := x.Call(ctx, plugin.HandleRequest, []any{command("api", 6)}, &r); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	if want := []string{"user 12", "admin 3", ""}; !slices.Equal(w.server.behalf, want) {
		t.Errorf("the server was called on behalf of %q, want %q", w.server.behalf, want)
	}
}

func testNotify(t *testing.T, w *world) {
	x := w.load(Uses).Extensions()[0]
	var r *plugin.RequestHandlerResult
	if ok, err := x.Call(t.Context(), plugin.HandleRequest, []any{&plugin.ClientRequest{UserID: -5, ClientIP: "notify", Request: request(high)}}, &r); !ok || err != nil || r.Reason != "ok" {
		t.Fatal(ok, err, r)
	}
	if d := diff([]plugin.Notification{{Recipients: []int64{-5}, Notification: request(high)}}, w.server.notified()); d != "" {
		t.Errorf("the notification differs: %s", d)
	}
}

func testStorage(t *testing.T, w *world) {
	if err := w.server.storage.Set(t.Context(), "another plugin", "b/2", []byte("x")); err != nil {
		t.Fatal(err)
	}
	use(t, w, "storage", "-|text 👋|[a,b/1]|[b/1]|true|false|[b/1]")
	w.server.wantNote(t, "suite-uses", "b/1", "x")
	use(t, w, "badkey", "1102")
}

// testStorageFull proves that the operator sees that the storage of a plugin is full: to the
// plugin, it is a refusal that it may pass on.
func testStorageFull(t *testing.T, w *world) {
	m := w.manager()
	p := w.start(m, Uses)
	full := make([]byte, 64<<10)
	for i := range 256 {
		if err := w.server.storage.Set(t.Context(), "suite-uses", fmt.Sprint(i), full); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if _, _, err := plugin.Ask[*plugin.RequestHandlerResult](t.Context(), m.Calls, plugin.HandleRequest, command("storage", 0)); apierr.From(err).Code != apierr.IllegalArgument {
			t.Errorf("a plugin whose storage is full answers %v", err)
		}
	}
	if f := p.Extensions()[0].LastFailure; f == nil || f.In != plugin.StorageFull || !strings.Contains(f.Error, "keeps 16777216 bytes") {
		t.Errorf("the last failure is %+v", f)
	}
}

func testMeetingEnded(t *testing.T, w *world) {
	use(t, w, "ended", "ok")
	w.server.wantNote(t, "suite-uses", "ended/7", "2026-01-02T03:04:05.678Z")
}
