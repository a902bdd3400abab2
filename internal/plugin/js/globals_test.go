// SPDX-License-Identifier: Apache-2.0

package js

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"example.org/app/internal/plugin"
)

// TestGlobals runs the checks in testdata/globals.js, each of which answers with nothing if it
// holds.
func TestGlobals(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/echo":
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("X-Method", r.Method)
			w.Header().Set("X-Header", r.Header.Get("X-Header"))
			w.Header().Add("X-Twice", "1")
			w.Header().Add("X-Twice", "2")
			w.Header().Set("X-Type", r.Header.Get("Content-Type"))
			w.Write(body)
		case "/form":
			if err := r.ParseMultipartForm(1 << 20); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			answer := map[string][]string{"a": r.MultipartForm.Value["a"]}
			for _, h := range r.MultipartForm.File["f"] {
				f, err := h.Open()
				if err != nil {
					t.Error(err)
					return
				}
				data, _ := io.ReadAll(f)
				answer["f"] = []string{strings.ReplaceAll(h.Filename, "%22", `"`), h.Header.Get("Content-Type"), string(data)}
			}
			_ = json.NewEncoder(w).Encode(answer)
		case "/json":
			w.Write([]byte(`{"a":[1,2]}`))
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		case "/error":
			http.Error(w, "sorry", http.StatusTeapot)
		case "/redirect":
			http.Redirect(w, r, "/json", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/bytes":
			w.Write([]byte{0, 255, 1})
		case "/large":
			w.Write(make([]byte, 2<<20))
		case "/parts", "/events":
			if r.URL.Path == "/events" {
				w.Header().Set("Content-Type", "text/event-stream")
			}
			for _, part := range []string{"one ", "two ", "thrée"} {
				_, _ = io.WriteString(w, part)
				_ = http.NewResponseController(w).Flush()
			}
			if r.URL.Path == "/events" {
				<-r.Context().Done() // It never ends by itself.
			}
		case "/ws":
			serveSocket(t, w, r)
		case "/slow":
			select {
			case <-r.Context().Done():
			case <-time.After(time.Minute):
			}
		}
	}))
	defer server.Close()
	h, _ := newHost(t, Options{ResponseLimit: 1 << 20})
	checks, err := os.ReadFile("testdata/globals.js")
	if err != nil {
		t.Fatal(err)
	}
	m := load(t, h, script("const server = '"+server.URL+"';\n"+string(checks), `
  async queryUploadInfo() {
    const failed = {};
    for (const [name, check] of Object.entries(checks)) {
      try { await check(); } catch (e) { failed[name] = String(e) + ' ' + e.stack; }
    }
    failed.count = String(Object.keys(checks).length);
    return failed;
  }`))
	var failed map[string]string
	if _, err := m.Extensions()[0].Call(t.Context(), uploadInfo, []any{int64(0), (*string)(nil), nil}, &failed); err != nil {
		t.Fatal(err)
	}
	if failed["count"] == "" || len(failed["count"]) < 2 {
		t.Errorf("only %q checks", failed["count"])
	}
	delete(failed, "count")
	for name, text := range failed {
		t.Errorf("%s: %s", name, text)
	}
}

// serveSocket answers each message with the same one; some words make it do something else.
func serveSocket(t *testing.T, w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") == "none" {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"second", "first"}})
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20)
	for {
		kind, data, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		switch string(data) {
		case "close":
			_ = conn.Close(4001, "as you wish")
			return
		case "drop":
			return
		case "large":
			data = make([]byte, 2<<20)
		case "header":
			data = []byte(r.Header.Get("Authorization"))
		case "not UTF-8":
			kind, data = websocket.MessageText, []byte{0xff}
		}
		if conn.Write(r.Context(), kind, data) != nil {
			return
		}
	}
}

// TestSocketsEndWithTheirPlugin closes a plugin that has a socket, and one that opens it.
func TestSocketsEndWithTheirPlugin(t *testing.T) {
	opened, ended := make(chan struct{}), make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			ended <- err
			return
		}
		close(opened)
		_, _, err = conn.Read(context.Background())
		ended <- err
	}))
	defer server.Close()
	h, _ := newHost(t, Options{})
	m := load(t, h, script("", `start() { new WebSocket('`+server.URL+`').onopen = () => {}; }`))
	if err := m.Extensions()[0].Hook(t.Context(), plugin.Start); err != nil {
		t.Fatal(err)
	}
	<-opened
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the socket of a plugin that is closed is open")
	}
}

func TestLog(t *testing.T) {
	h, log := newHost(t, Options{})
	load(t, h, script(`
app.log.error('an error', new TypeError('of type'));
app.log.warn({ a: 1, b: { c: [1, 'two', null, undefined] }, d: new Date(0), e: new Map([[1, 2]]), f() {} });
app.log.info('several', 1, true, null, undefined, 10n, Symbol('s'), 'lines\nand\r\nmore');
app.log.debug();
console.log('from console'); console.error('bad'); console.assert(1 === 2, 'sums');
console.count(); console.count(); console.count('x'); console.countReset(); console.count();
console.time('t'); console.timeLog('t', 'more'); console.timeEnd('t'); console.timeEnd('t');
console.group('outer'); console.group(); console.warn('inner', 1); console.groupEnd(); console.groupEnd(); console.groupEnd(); console.log('after');
console.table([{ a: 1, b: 'two' }, { a: null }, 7]); console.table(new Map([['k', 'v']])); console.table('text'); console.table([{ a: 1, b: 2 }], ['b']);
console.trace('here');
app.log.info('x'.repeat(10000));
app.log.info({ s: 'y'.repeat(10000), a: new Array(100000).fill(1) });
const self = {}; self.self = self; app.log.info(self);
app.log.info(new Proxy({ a: 1 }, {}), Object.create(null), class A {}, new (class B { x = 1; #y = 2; })());
Promise.reject(new Error('nobody listens'));
setTimeout(() => { throw new Error('thrown in a timer'); }, 0);
queueMicrotask(() => { throw new Error('thrown in a microtask'); });
`, `async start() { app.log.info('with id'); }`))
	eventually(t, "the timer", func() bool { return strings.Contains(log.String(), "thrown in a timer") })
	text := log.String()
	for _, want := range []string{
		`level=ERROR msg="plugin says" file=test.js text="an error TypeError: of type`,
		`level=WARN msg="plugin says" file=test.js text="{ a: 1, b: { c: [ 1, \"two\", null, undefined ] }, d: `,
		`text="several 1 true null undefined 10n Symbol(s) lines and more"`,
		`level=DEBUG msg="plugin says" file=test.js text=""`,
		`text="from console"`, `level=ERROR msg="plugin says" file=test.js text=bad`, `text="assertion failed: sums"`,
		`text="default: 1"`, `text="default: 2"`, `text="x: 1"`, `text="t: `, ` ms more"`, `level=WARN msg="plugin says" file=test.js text="there is no timer 't'"`,
		`text=outer`, `level=WARN msg="plugin says" file=test.js text="    inner 1"`, `text=after`,
		`text="(index) | a    | b   | Values"`, `text="0       | 1    | two |       "`, `text="1       | null |     |       "`, `text="2       |      |     | 7     "`,
		`text="k       | v     "`, `text=text`, `text="0       | 2"`, `level=DEBUG msg="plugin says" file=test.js text="Trace: here     at <anonymous> (test.js:`,
		`a promise of a plugin was rejected and nobody listened`, `Error: nobody listens (test.js:`,
		`Error: thrown in a timer (test.js:`, `Error: thrown in a microtask (test.js:`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if len(line) > 6000 {
			t.Errorf("a line has %d bytes", len(line))
		}
	}
	if t.Failed() {
		t.Log(text[:min(len(text), 6000)])
	}
}

func TestLogHasThePlugin(t *testing.T) {
	h, log := newHost(t, Options{})
	m := load(t, h, script("", `start() { app.log.info('hello'); }`))
	if err := m.Extensions()[0].Hook(t.Context(), plugin.Start); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), `msg="plugin says" plugin=test version="" text=hello`) {
		t.Error(log)
	}
}

// TestLogLimit drops the lines of a plugin that writes too many, and names it.
func TestLogLimit(t *testing.T) {
	h, log := newHost(t, Options{LogLines: func() int { return 10 }})
	m := load(t, h, script("", `start() { for (let i = 0; i < 10000; i++) app.log.info('a line of many'); }`))
	if err := m.Extensions()[0].Hook(t.Context(), plugin.Start); err != nil {
		t.Fatal(err)
	}
	got := log.String()
	if !strings.Contains(got, "a plugin writes too many lines") || !strings.Contains(got, "plugin=test") {
		t.Error("the log does not name the plugin")
	}
	if n := strings.Count(got, "a line of many"); n < 10 || n == 10000 {
		t.Errorf("%d of 10,000 lines are written", n)
	}
}

// TestCPU counts the time that a plugin computes.
func TestCPU(t *testing.T) {
	h, _ := newHost(t, Options{})
	m := load(t, h, script("", `start() { const end = Date.now() + 50; while (Date.now() < end) {} }`))
	x := m.Extensions()[0]
	if err := x.Hook(t.Context(), plugin.Start); err != nil {
		t.Fatal(err)
	}
	if got := m.CPU(); got < 50*time.Millisecond {
		t.Errorf("a plugin that computed for 50 ms used a processor for %s", got)
	}
}
