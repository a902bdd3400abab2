// SPDX-License-Identifier: Apache-2.0

package js

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"example.org/app/internal/plugin"
)

// asking is a plugin that asks for something and has the given members; before comes ahead of it.
func asking(before, descriptor, members string) plugin.Source {
	src := script(before, members)
	src.Data = []byte(strings.Replace(string(src.Data), "{ id: 'test' }", "{ id: 'test', "+descriptor+" }", 1))
	return src
}

// TestGrantedHosts lets a limited plugin connect to the hosts of its descriptor and to no other, by
// any way.
func TestGrantedHosts(t *testing.T) {
	var other *httptest.Server
	var early atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/early":
			early.Store(true)
		case "/away", "/ws-away":
			http.Redirect(w, r, other.URL+"/taken", http.StatusTemporaryRedirect)
		case "/round":
			http.Redirect(w, r, "/here", http.StatusFound)
		case "/ws":
			if c, err := websocket.Accept(w, r, nil); err == nil {
				_ = c.Close(websocket.StatusNormalClosure, "bye")
			}
		case "/lib.js":
			fmt.Fprint(w, "'loaded'")
		default:
			fmt.Fprint(w, "here")
		}
	}))
	defer server.Close()
	other = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s reached a host that is not granted", r.URL)
	}))
	defer other.Close()
	granted := strings.TrimPrefix(server.URL, "http://")
	h, log := newHost(t, Options{Limited: true})
	m := load(t, h, asking(`
const socket = (url) => new Promise((resolve) => {
  const s = new WebSocket(url);
  let why = '';
  s.onerror = (e) => { why = e.message ?? e.error?.message ?? 'error'; };
  s.onclose = (e) => resolve(why || e.reason);
});
const early = fetch('`+server.URL+`/early').then(() => 'reached', (e) => e.message);
`, fmt.Sprintf("hosts: ['%s', '*.granted.example']", granted), `
async handle() {
  const attempt = async (f) => { try { return await f(); } catch (e) { return e.constructor.name + ' ' + e.message; } };
  const get = (url, init) => attempt(async () => (await fetch(url, init)).data);
  const here = '`+server.URL+`', there = '`+other.URL+`';
  return { code: 1000, reason: JSON.stringify({
    early: await early,
    here: await get(here + '/here'), upper: await get(here.toUpperCase().replace('HTTP', 'http') + '/here'), round: await get(here + '/round'),
    there: await get(there + '/'), away: await get(here + '/away', { method: 'POST', body: 'secret' }),
    named: await get(here.replace('127.0.0.1', 'localhost') + '/'), mapped: await get(here.replace('127.0.0.1', '[::ffff:127.0.0.1]') + '/here'),
    user: await get(here.replace('http://', there.replace('127.0.0.1', 'granted.example') + '@') + '/here'),
    script: await attempt(() => load(here + '/lib.js')), scriptThere: await attempt(() => load(there + '/lib.js')),
    ws: await socket(here.replace('http', 'ws') + '/ws'), wsThere: await socket(there.replace('http', 'ws') + '/'), wsAway: await socket(here.replace('http', 'ws') + '/ws-away'),
  }, null, 1) };
}`))
	got, err := say(t.Context(), m)
	if err != nil {
		t.Fatal(err, log)
	}
	refused := fmt.Sprintf("the plugin has no grant for the host %q: its descriptor does not declare it in hosts (app.plugin.grants.mode)", strings.TrimPrefix(other.URL, "http://"))
	quoted := strings.ReplaceAll(refused, `"`, `\"`)
	for name, want := range map[string]string{
		"early": `nothing is granted before its descriptor is read`,
		"here":  `"here"`, "upper": `"here"`, "round": `"here"`, "mapped": `"here"`,
		"there": `"Error fetch GET ` + other.URL + "/: " + quoted, "away": quoted, "scriptThere": quoted, "wsThere": quoted, "wsAway": quoted,
		"named": `no grant for the host \"localhost:`, "script": `"loaded"`, "ws": `"bye"`,
	} {
		line := ""
		for l := range strings.Lines(got) {
			if strings.HasPrefix(l, ` "`+name+`":`) {
				line = l
			}
		}
		if !strings.Contains(line, want) {
			t.Errorf("%s: %s; want %s", name, line, want)
		}
	}
	if early.Load() {
		t.Error("a request left before the descriptor was read")
	}
	if _, err := h.Load(t.Context(), asking("import '"+server.URL+"/lib.js';", "hosts: ['*']", "")); err == nil || !strings.Contains(err.Error(), "nothing is granted before its descriptor is read") {
		t.Errorf("import of a URL: %v", err)
	}
	open, _ := newHost(t, Options{})
	if got, err := say(t.Context(), load(t, open, asking("const early = await fetch('"+server.URL+"/x');", "hosts: []", "handle() { return { code: 1000, reason: early.data }; }"))); err != nil || got != "here" {
		t.Errorf("without limits: %s %v", got, err)
	}
}

// TestGrantedJava lets a limited plugin use classes of Java if its descriptor says so.
func TestGrantedJava(t *testing.T) {
	j := newJava(t, &logged{})
	h, _ := newHost(t, Options{Java: j, Limited: true})
	const use = `handle() { return { code: 1000, reason: String(new (Java.type('java.util.ArrayList'))([1, 2]).size()) }; }`
	if got, err := say(t.Context(), load(t, h, asking("", "java: true", use))); err != nil || got != "2" {
		t.Errorf("%s %v", got, err)
	}
	if _, err := say(t.Context(), load(t, h, asking("", "java: false", use))); err == nil || !strings.Contains(err.Error(), "the plugin has no grant for classes of Java: its descriptor does not declare java: true") {
		t.Errorf("%v", err)
	}
	if _, err := h.Load(t.Context(), asking("Java.type('java.util.ArrayList');", "java: true", use)); err == nil || !strings.Contains(err.Error(), "nothing is granted before its descriptor is read") {
		t.Errorf("at the top level: %v", err)
	}
}

// TestWaitingForGrants keeps from a limited plugin what it declares until an administrator grants
// it.
func TestWaitingForGrants(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "here") }))
	defer server.Close()
	var granted atomic.Bool
	h, _ := newHost(t, Options{Java: newJava(t, &logged{}), Limited: true, Waits: func(d plugin.Descriptor) error {
		if granted.Load() {
			return nil
		}
		return &plugin.WaitingError{Plugin: d.ID, Missing: d.Requested}
	}})
	m := load(t, h, asking("", "java: true, hosts: ['127.0.0.1']", `
async handle() {
  const attempt = async (f) => { try { return await f(); } catch (e) { return e.message; } };
  return { code: 1000, reason: await attempt(async () => (await fetch('`+server.URL+`')).data) + ' ' + await attempt(() => String(Java.type('java.lang.Math').max(1, 2))) };
}`))
	got, err := say(t.Context(), m)
	if err != nil || strings.Count(got, "waits for a grant of the host 127.0.0.1 and classes of Java") != 2 {
		t.Errorf("before the grant: %s %v", got, err)
	}
	granted.Store(true)
	if got, err = say(t.Context(), m); err != nil || got != "here 2" {
		t.Errorf("after the grant: %s %v", got, err)
	}
}

// TestBadGrants refuses descriptors that ask for what there is not.
func TestBadGrants(t *testing.T) {
	h, _ := newHost(t, Options{})
	for descriptor, want := range map[string]string{
		"permissions: 'USER_QUERY'":                                        "getDescriptor(): permissions must be an array of strings",
		"permissions: [1]":                                                 "getDescriptor(): permissions must hold strings",
		"permissions: ['USER_READ']":                                       `getDescriptor(): permissions: "USER_READ" is not a permission of the admin interface`,
		"hosts: ['https://a.example']":                                     `getDescriptor(): hosts: "https://a.example" is not a host`,
		"hosts: ['a.example', 'A.example']":                                `hosts: "A.example" is there twice`,
		"hosts: Array.from({length: 500}, (_, i) => 'h' + i + '.example')": "hosts has 500 entries, at most 100 are allowed",
		"java: 'yes'":                                                      "getDescriptor(): java must be true or false",
		"get hosts() { throw new Error('no'); }":                           "Error: no",
	} {
		if _, err := h.Load(t.Context(), asking("", descriptor, "")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", descriptor, err, want)
		}
	}
}
