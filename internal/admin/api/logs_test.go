// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/app/internal/store/storetest"
)

func newSQLiteHarness(t *testing.T) *harness {
	t.Helper()
	return newHarness(t, storetest.SQLite(t))
}

func (h *harness) writeLog(name, content string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.logDir, name), []byte(content), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func TestLogs(t *testing.T) {
	h := newSQLiteHarness(t)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	notFound := `~"code":1302,"reason":"there is no log file`
	h.play([]scenario{
		{name: "no files", as: "app", method: "GET", target: "/logs/paths", status: 204, after: func(h *harness) {
			h.writeLog("b.log", "one\ntwo\nthree\n")
			h.writeLog("a.log", "")
			if err := os.Symlink(outside, filepath.Join(h.logDir, "link.log")); err != nil {
				h.t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(h.logDir, "folder"), 0o700); err != nil {
				h.t.Fatal(err)
			}
		}},
		{name: "names", as: "app", method: "GET", target: "/logs/paths", status: 200, want: ok(`["a.log","b.log"]`)},
		{name: "download", as: "app", method: "GET", target: "/logs?path=b.log", status: 200, want: "one\ntwo\nthree\n"},
		{name: "empty file", as: "app", method: "GET", target: "/logs?path=a.log", status: 200, want: ""},
		{name: "missing file", as: "app", method: "GET", target: "/logs?path=c.log", status: 404, want: notFound},
		{name: "no path", as: "app", method: "GET", target: "/logs", status: 400, want: `~parameter \"path\": is required`},
		{name: "above", as: "app", method: "GET", target: "/logs?path=../outside", status: 404, want: notFound},
		{name: "above, escaped", as: "app", method: "GET", target: "/logs?path=..%2F..%2Fetc%2Fpasswd", status: 404, want: notFound},
		{name: "absolute", as: "app", method: "GET", target: "/logs?path=" + outside, status: 404, want: notFound},
		{name: "link to the outside", as: "app", method: "GET", target: "/logs?path=link.log", status: 404, want: notFound},
		{name: "folder", as: "app", method: "GET", target: "/logs?path=folder", status: 404, want: notFound},
		{name: "NUL", as: "app", method: "GET", target: "/logs?path=a%00.log", status: 400, want: "~U+0000"},
		{name: "normalised", as: "app", method: "GET", target: "/logs?path=folder/../b.log", status: 200, want: "one\ntwo\nthree\n"},
		{name: "last lines", as: "app", method: "GET", target: "/logs/tail?path=b.log&lines=2", status: 200, want: "data: two\n\ndata: three\n\n"},
		{name: "tail of a missing file", as: "app", method: "GET", target: "/logs/tail?path=c.log", status: 404, want: notFound},
		{name: "too many lines", as: "app", method: "GET", target: "/logs/tail?path=b.log&lines=10001", status: 400, want: "~at most 10000"},
	})
	r := h.call("app", "GET", "/logs?path=b.log", "")
	if r.header.Get("Content-Type") != "application/octet-stream" || r.header.Get("Content-Disposition") != "attachment; filename=b.log" || r.header.Get("Content-Length") != "14" {
		t.Errorf("headers %v", r.header)
	}
}

// TestFollow follows a file over a real connection while it is written and
// rotated.
func TestFollow(t *testing.T) {
	h := newSQLiteHarness(t)
	h.writeLog("app.log", "old\nlast\n")
	server := httptest.NewServer(h.service)
	defer server.Close()
	defer h.service.StopStreams()
	req, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/logs/tail?path=app.log&lines=1&follow=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("app", "app")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Fatalf("content type %q", ct)
	}
	events := bufio.NewScanner(resp.Body)
	next := func() string {
		for events.Scan() {
			if data, isData := strings.CutPrefix(events.Text(), "data: "); isData {
				return data
			}
		}
		t.Fatalf("the stream ended: %v", events.Err())
		return ""
	}
	expect := func(want string) {
		t.Helper()
		if got := next(); got != want {
			t.Fatalf("line %q, want %q", got, want)
		}
	}
	expect("last")
	file := filepath.Join(h.logDir, "app.log")
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("new\n"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	expect("new")
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	h.writeLog("app.log", "after rotation\n")
	expect("after rotation")
	h.service.StopStreams() // As a shutdown does.
	for events.Scan() {
	}
	if err := events.Err(); err != nil {
		t.Errorf("the stream did not end well: %v", err)
	}
}
