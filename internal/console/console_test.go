// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"example.org/app/internal/admin"
	"example.org/app/internal/apierr"
	"example.org/app/internal/permission"
)

// sessions is an admin interface that knows one administrator and the sessions
// of hers. It tells what it was sent.
type sessions struct {
	mu   sync.Mutex
	open map[string]bool
}

// Authenticate implements admin.Authenticator.
func (s *sessions) Authenticate(_ context.Context, c admin.Credentials) (*admin.Principal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.open[c.Token] {
		return nil, apierr.New(apierr.Unauthorized, "")
	}
	return &admin.Principal{ID: 7, LoginName: "ann", Permissions: permission.NewSet(permission.UserQuery)}, nil
}

// ServeHTTP implements http.Handler.
func (s *sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, password, _ := r.BasicAuth()
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case r.Method == http.MethodPost && r.URL.Path == sessionPath && name == "ann" && password == "secret":
		token := fmt.Sprint("t", len(s.open))
		s.open[token] = true
		fmt.Fprintf(w, `{"code":1000,"reason":"ok","data":{"token":%q}}`, token)
	case !s.open[token]:
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"code":1300,"reason":"wrong credentials"}`)
	case r.Method == http.MethodDelete && r.URL.Path == sessionPath && r.URL.Query().Get("current") == "true":
		s.open[token] = false
	default:
		_, _ = io.WriteString(w, r.Method+" "+r.URL.RequestURI()+" cookie="+r.Header.Get("Cookie"))
	}
}

type fixture struct {
	*testing.T
	url    string
	client *http.Client
}

func start(t *testing.T, prefix string) *fixture {
	t.Helper()
	known := &sessions{open: map[string]bool{}}
	other := httptest.NewServer(known)
	t.Cleanup(other.Close)
	f := &fixture{T: t}
	c := New(Options{
		Name: "one", Service: known, Authenticator: known, AuthenticationOff: func() bool { return false },
		Node: func(id string) (Node, bool) {
			switch id {
			case "other":
				return Node{ID: id, AdminURL: other.URL}, true
			case "dead":
				return Node{ID: id, AdminURL: "http://127.0.0.1:1"}, true
			}
			return Node{}, false
		},
		Documents: map[string]func() []byte{"service": func() []byte { return []byte(`{"openapi":"3.0.3"}`) }}, Typings: map[string][]byte{"a.d.ts": []byte("declare const a: 1")},
		Logger: slog.New(slog.DiscardHandler),
	})
	server := httptest.NewServer(c.Handler(prefix))
	t.Cleanup(server.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	f.url, f.client = server.URL+prefix, &http.Client{Jar: jar}
	return f
}

func (f *fixture) do(method, path, body string, header ...string) (int, string, http.Header) {
	f.Helper()
	req, err := http.NewRequestWithContext(f.Context(), method, f.url+path, strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := f.client.Do(req)
	if err != nil {
		f.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		f.Fatal(err)
	}
	return resp.StatusCode, string(data), resp.Header
}

func (f *fixture) want(status int, part, method, path, body string, header ...string) {
	f.Helper()
	got, text, _ := f.do(method, path, body, header...)
	if got != status || !strings.Contains(text, part) {
		f.Errorf("%s %s: %d %q, want %d with %q", method, path, got, text, status, part)
	}
}

const credentials = `{"loginName":"ann","password":"secret"}`

func TestSession(t *testing.T) {
	for _, prefix := range []string{"/", "/console/"} {
		f := start(t, prefix)
		f.want(401, "ended", "GET", "-/api/service/users", "")
		f.want(401, "ended", "GET", "-/documents/service", "")
		f.want(204, "", "GET", "-/session", "")
		f.want(401, "wrong", "POST", "-/session", `{"loginName":"ann","password":"x"}`)
		f.want(400, "JSON", "POST", "-/session", `loginName=ann`)
		f.want(400, "JSON", "POST", "-/session", `{"loginName":"`+strings.Repeat("a", maxLoginBytes)+`"}`)
		f.want(403, "", "POST", "-/session", credentials, "Sec-Fetch-Site", "cross-site")
		f.want(200, `"permissions":["USER_QUERY"]`, "POST", "-/session", credentials)
		f.want(200, `"loginName":"ann"`, "GET", "-/session", "")
		f.want(200, "GET /users?ids=1 cookie=", "GET", "-/api/service/users?ids=1", "")
		f.want(200, "PUT /users?ids=1 cookie=", "PUT", "-/api/other/users?ids=1", "{}")
		f.want(403, "", "PUT", "-/api/other/users?ids=1", "{}", "Sec-Fetch-Site", "cross-site")
		f.want(502, "cannot be reached", "GET", "-/api/dead/users", "")
		f.want(502, "does not take part", "GET", "-/api/unknown/users", "")
		f.want(502, "not a gateway", "GET", "-/client/other", "")
		f.want(200, "openapi", "GET", "-/documents/service", "")
		f.want(404, "", "GET", "-/documents/none", "")
		f.want(200, "declare", "GET", "-/typings", "")
		f.want(204, "", "DELETE", "-/session", "")
		f.want(401, "ended", "GET", "-/api/service/users", "")
	}
}

// TestSessionEndsOnTheServer keeps a cookie that the server has ended.
func TestSessionEndsOnTheServer(t *testing.T) {
	f := start(t, "/")
	_, _, header := f.do("POST", "-/session", credentials)
	cookie := header.Get("Set-Cookie")
	for _, part := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, part) {
			t.Errorf("cookie %q lacks %s", cookie, part)
		}
	}
	kept, _, _ := strings.Cut(cookie, ";")
	f.want(200, "", "GET", "-/api/service/users", "")
	f.do("DELETE", "-/session", "")
	f.want(401, "wrong", "GET", "-/api/service/users", "", "Cookie", kept)
	f.want(401, "ended", "GET", "-/typings", "", "Cookie", kept)
	f.want(204, "", "GET", "-/session", "", "Cookie", kept)
}

func TestFiles(t *testing.T) {
	f := start(t, "/console/")
	status, text, header := f.do("GET", "groups/12?tab=members", "")
	if status != 200 || !strings.Contains(text, `<base href="/console/"`) || strings.Contains(text, "__NONCE__") {
		t.Errorf("page: %d %q", status, text)
	}
	policy := header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self';", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("policy %q lacks %s", policy, part)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
	for path, want := range map[string]int{"assets/none.js": 404, "-/none": 404, "icon.svg": 200, "..%2fconsole.go": 200, "assets/..%2f..%2fconsole.go": 200} {
		if status, text, _ := f.do("GET", path, ""); status != want || strings.Contains(text, "package console") {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
	f.want(405, "", "POST", "users", "")
}
