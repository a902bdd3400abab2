// SPDX-License-Identifier: Apache-2.0

package exampletest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
)

// raters is a service that gives scores to texts.
type raters struct {
	*httptest.Server
	// failing makes it answer with 500, and silent makes it not answer at all.
	failing, silent atomic.Bool
	// asked counts all requests, and shadows those of a shadow.
	asked, shadows atomic.Int64
}

func newRaters(t *testing.T) *raters {
	s := &raters{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		if r.Header.Get("X-Shadow") == "true" {
			s.shadows.Add(1)
		}
		var question struct{ Text string }
		if err := json.NewDecoder(r.Body).Decode(&question); err != nil || r.Header.Get("Authorization") != "Bearer t0ken" {
			t.Errorf("the service got %v, %q", err, r.Header.Get("Authorization"))
		}
		switch {
		case s.failing.Load():
			w.WriteHeader(http.StatusInternalServerError)
			return
		case s.silent.Load():
			<-r.Context().Done()
			return
		}
		score := 0.1
		for word, of := range map[string]float64{"terrible": 0.95, "rude": 0.7} {
			if strings.Contains(question.Text, word) {
				score = of
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"score": score, "masked": strings.NewReplacer("terrible", "********", "rude", "****").Replace(question.Text)})
	}))
	t.Cleanup(s.Close)
	return s
}

// mustAdmin sends a request as root, which must succeed.
func mustAdmin(t *testing.T, s *apptest.Server, method, target, body string) string {
	t.Helper()
	status, answer := Admin(t, s, method, target, body)
	if status != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, target, status, answer)
	}
	return answer
}

// publish uploads a plugin to the cluster.
func publish(t *testing.T, s *apptest.Server, name string, code []byte, query string) {
	t.Helper()
	if filepath.Ext(name) == ".js" {
		body, err := json.Marshal(map[string]any{"scripts": []any{map[string]string{"fileName": name, "code": string(code)}}})
		if err != nil {
			t.Fatal(err)
		}
		mustAdmin(t, s, "POST", "/plugins/js?scope=CLUSTER"+query, string(body))
		return
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreateFormFile(name, name)
	if err == nil {
		_, err = part.Write(code)
	}
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	if status, answer := Send(t, "POST", s.URL(role.Service)+"/plugins/java?scope=CLUSTER"+query, w.FormDataContentType(), &b); status != http.StatusOK {
		t.Fatalf("publish %s: %d %s", name, status, answer)
	}
}

// Moderation checks that messages are refused or masked by the scores of a service, and runs a
// stricter version as a shadow. stricter makes that version from the file.
func Moderation(t *testing.T, file string, stricter func(t *testing.T, code []byte) []byte) {
	code, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("the example is not there; make test builds those in Java: %v", err)
	}
	service := newRaters(t)
	s := StartServer(t, t.TempDir())
	publish(t, s, filepath.Base(file), code, "")
	set := func(more string) {
		t.Helper()
		mustAdmin(t, s, "PUT", "/cluster/settings", fmt.Sprintf(`{"plugins":{"moderation":{"url":%q,"token":"t0ken"%s}}}`, service.URL, more))
	}
	set(`,"timeoutMillis":60000`)
	mustAdmin(t, s, "PUT", "/plugins?ids=moderation", `{"status":"STARTED"}`)
	sender, reader := LogIn(t, s, 5), LogIn(t, s, 6)
	// outcome returns what happens to a message: its delivered text, or the reason of its refusal.
	outcome := func(text string) string {
		t.Helper()
		switch n := sender.Response(Message(6, text)); n.GetCode() {
		case 1000:
			return Read(reader)
		case 5010:
			return n.GetReason()
		default:
			t.Fatalf("the answer is %v", n)
			return ""
		}
	}
	want := func(text, want string) {
		t.Helper()
		if got := outcome(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	// settled waits until the plugin uses new settings.
	settled := func(text, want string) {
		t.Helper()
		Eventually(t, fmt.Sprintf("%q becomes %q", text, want), func() bool { return outcome(text) == want })
	}
	const broken, unknown = "the message breaks the rules of this place", "messages cannot be checked at present; please try again later"
	want("how terrible", broken)
	want("how rude", "how rude")
	set(`,"action":"MASK"`)
	settled("how terrible", "how ********")

	// The service fails, or takes too long.
	service.failing.Store(true)
	want("how terrible", "how terrible")
	set(`,"onFailure":"REFUSE"`)
	settled("hello", unknown)
	set(`,"onFailure":"ALLOW","timeoutMillis":100`)
	settled("how terrible", "how terrible")
	service.silent.Store(true)
	service.failing.Store(false)
	want("how terrible", "how terrible")
	service.silent.Store(false)
	set(`,"timeoutMillis":60000,"action":"REJECT"`)
	settled("how terrible", broken)

	// A stricter version receives copies of the same messages, without visible effects.
	publish(t, s, filepath.Base(file), stricter(t, code), "&replace=true&activate=false")
	mustAdmin(t, s, "POST", "/plugins/rollouts", `{"pluginId":"moderation","number":2,"shadow":true,"maxErrorPercentage":100}`)
	if service.shadows.Load() != 0 {
		t.Error("a shadow asked before there was one")
	}
	want("how rude", "how rude")
	want("hello", "hello")
	want("how terrible", broken)
	counts := `"shadow":{"calls":3,"equal":2,"different":1,"errors":0,"dropped":0}`
	var body string
	Eventually(t, "the shadow has checked three messages", func() bool {
		body = mustAdmin(t, s, "GET", "/plugins/rollouts?pluginIds=moderation", "")
		return strings.Contains(body, `"calls":3`)
	})
	if !strings.Contains(body, counts) || service.shadows.Load() != 3 {
		t.Errorf("the rollout is %s, and a shadow asked %d times", body, service.shadows.Load())
	}
	body = mustAdmin(t, s, "GET", "/plugins/rollouts/samples?id=1", "")
	for _, part := range []string{
		`{"path":"clientRequest.request.createMessageRequest.text","value":"text of 8 characters"}`, `"active":{"version":"1.0"`, `"outcome":"UNCHANGED"`,
		`"candidate":{"version":"1.1"`, `"outcome":"REFUSED","code":5010,"reason":"` + broken + `"`,
	} {
		if !strings.Contains(body, part) || strings.Contains(body, "how rude") {
			t.Errorf("the samples lack %s: %s", part, body)
		}
	}
	mustAdmin(t, s, "PUT", "/plugins/rollouts?id=1", `{"action":"PROMOTE"}`)
	want("how rude", broken)
	want("hello", "hello")
}
