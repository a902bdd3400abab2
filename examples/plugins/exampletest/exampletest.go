// SPDX-License-Identifier: Apache-2.0

// Package exampletest tests the example plugins, in any language, from the view of clients of a
// running server and of the services that the plugins use. It is for tests only.
package exampletest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// Start runs a server with one plugin, a copy of file, and two users, Ann and Bob.
func Start(t *testing.T, file string, set ...string) *apptest.Server {
	t.Helper()
	code, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("the example is not there; make test builds those in Java: %v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), code, 0o600); err != nil {
		t.Fatal(err)
	}
	return StartServer(t, dir, set...)
}

// StartServer runs a server with the plugins of a folder and two users, Ann and Bob.
func StartServer(t *testing.T, dir string, set ...string) *apptest.Server {
	t.Helper()
	s := apptest.Start(t, role.All, append([]string{
		"app.plugin.dir=" + dir, "app.plugin.abort-on-failure=true",
		// The first call loads classes, which may take long on an overloaded machine.
		"app.plugin.call-timeout-millis=60000",
		// Tests poll, as often as a slow machine needs.
		"app.service.admin-api.rate-limiting.capacity=1000000", "app.service.admin-api.rate-limiting.initial-tokens=1000000",
		"app.gateway.admin-api.rate-limiting.capacity=1000000", "app.gateway.admin-api.rate-limiting.initial-tokens=1000000",
	}, set...)...)
	for _, user := range []string{`{"id":5,"name":"Ann","password":"secret"}`, `{"id":6,"name":"Bob","password":"secret"}`} {
		if status, body := Admin(t, s, "POST", "/users", user); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
	}
	return s
}

// Admin sends a request as root.
func Admin(t *testing.T, s *apptest.Server, method, target, body string) (int, string) {
	t.Helper()
	return Send(t, method, s.URL(role.Service)+target, "application/json", strings.NewReader(body))
}

// Send sends a request and reads the response.
func Send(t *testing.T, method, url, mediaType string, body io.Reader) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("app", "app")
	req.Header.Set("Content-Type", mediaType)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// Eventually waits until a condition holds.
func Eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// LogIn logs a user in.
func LogIn(t *testing.T, s *apptest.Server, userID int64) *chat.Tester {
	t.Helper()
	return chat.LogIn(t, s.ClientURLs()[1], userID, chat.WithPassword("secret"))
}

// Message returns a message to a user.
func Message(to int64, text string) *wire.CreateMessageRequest {
	return &wire.CreateMessageRequest{RecipientId: &to, Text: &text}
}

// Read waits for a message and returns its text.
func Read(c *chat.Tester) string {
	return c.Relayed(8).GetRelayedRequest().GetCreateMessageRequest().GetText()
}

// A Service is an HTTP service that a plugin uses. It answers with a status and records its
// requests.
type Service struct {
	*httptest.Server
	// Status is the status of its responses.
	Status atomic.Int32

	mu  sync.Mutex
	got []Visit
}

// A Visit is a request to a service.
type Visit struct {
	Method, Path, Body string
	Header             http.Header
}

// NewService starts a service that answers with 200.
func NewService(t *testing.T) *Service {
	s := &Service{}
	s.Status.Store(200)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.got = append(s.got, Visit{r.Method, r.URL.Path, string(b), r.Header})
		s.mu.Unlock()
		w.WriteHeader(int(s.Status.Load()))
	}))
	t.Cleanup(s.Close)
	return s
}

// Find waits for a request whose body contains part.
func (s *Service) Find(t *testing.T, part string) Visit {
	t.Helper()
	var found Visit
	Eventually(t, "a request with "+part, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, v := range s.got {
			if strings.Contains(v.Body, part) {
				found = v
				return true
			}
		}
		return false
	})
	return found
}

// Visits returns the requests so far.
func (s *Service) Visits() []Visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}
