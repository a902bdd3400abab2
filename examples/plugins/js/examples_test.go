// SPDX-License-Identifier: Apache-2.0

// Package examples tests the example plugins on running servers, with clients and with the services
// that they use.
package examples

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/app/examples/plugins/exampletest"
	"example.org/app/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWordFilterRejects(t *testing.T) { exampletest.WordFilterRejects(t, "word-filter.js") }
func TestWordFilterMasks(t *testing.T)   { exampletest.WordFilterMasks(t, "word-filter.js") }
func TestModeration(t *testing.T)        { exampletest.Moderation(t, "moderation.js", stricter) }
func TestLogin(t *testing.T)             { exampletest.Login(t, "login.js") }
func TestMessageArchive(t *testing.T)    { exampletest.MessageArchive(t, "message-archive.js") }
func TestWebhookBridge(t *testing.T)     { exampletest.WebhookBridge(t, "webhook-bridge.js") }
func TestAdminReport(t *testing.T)       { exampletest.AdminReport(t, "admin-report.js") }
func TestS3Storage(t *testing.T)         { exampletest.S3Storage(t, "s3-storage.js") }
func TestS3StorageOfGroups(t *testing.T) { exampletest.S3StorageOfGroups(t, "s3-storage.js") }

// stricter returns the next version of moderation.js, which refuses more.
func stricter(t *testing.T, code []byte) []byte {
	t.Helper()
	next := strings.NewReplacer("version: '1.0'", "version: '1.1'", "default: 0.9", "default: 0.5").Replace(string(code))
	if next == string(code) {
		t.Fatal("the example has no threshold")
	}
	return []byte(next)
}

// TestOwnTests runs the JavaScript tests of the plugins.
func TestOwnTests(t *testing.T) {
	failed := func(o testkit.Outcome) {
		for _, p := range o.Problems {
			t.Errorf("%s: %s: %v", o.File, o.Test, p)
		}
	}
	s, err := testkit.Run(t.Context(), testkit.Options{Paths: []string{"."}, Timeout: 5 * time.Minute, Done: failed})
	if err != nil || !s.OK() || s.Files < 3 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestGreeterBot(t *testing.T) {
	s := exampletest.Start(t, "greeter-bot.js", "greeter-bot.user-id=9007199254740991", "greeter-bot.name=Robin")
	const bot = 9007199254740991
	if _, body := exampletest.Admin(t, s, "GET", "/users?ids=9007199254740991", ""); !strings.Contains(body, `"name":"Robin"`) {
		t.Fatalf("the bot is %s", body)
	}
	ann := exampletest.LogIn(t, s, 5)
	for _, want := range []string{"Welcome, Ann!", "Good to see you again, Ann. You have written 2 times."} {
		ann.Request(exampletest.Message(bot, "hello"))
		ann.Relayed(7) // It is typing.
		n := ann.Relayed(8)
		if got := n.GetRelayedRequest().GetCreateMessageRequest().GetText(); got != want || n.GetRequesterId() != bot {
			t.Errorf("user %d answers %q", n.GetRequesterId(), got)
		}
	}
	ann.Request(exampletest.Message(6, "hello Bob"))
	if _, body := exampletest.Admin(t, s, "GET", "/messages/count", ""); !strings.Contains(body, `:5`) {
		t.Errorf("there are %s", body)
	}
}

func TestPushBridge(t *testing.T) {
	push := exampletest.NewService(t)
	s := exampletest.Start(t, "push-bridge.js", "push-bridge.url="+push.URL+"/messages", "push-bridge.secret=shared")
	sender := exampletest.LogIn(t, s, 5)
	sender.Request(exampletest.Message(6, "are you there?"))
	v := push.Find(t, "are you there?")
	if v.Method != "POST" || v.Path != "/messages" || v.Body != `{"recipients":["6"],"sender":"5","text":"are you there?"}` {
		t.Errorf("the webhook got %+v", v)
	}
	mac := hmac.New(sha256.New, []byte("shared"))
	mac.Write([]byte(v.Body))
	if got := v.Header.Get("X-Signature"); got != hex.EncodeToString(mac.Sum(nil)) {
		t.Errorf("the signature is %q", got)
	}
	reader := exampletest.LogIn(t, s, 6)
	sender.Request(exampletest.Message(6, "Bob is online"))
	exampletest.Read(reader)
	if status, body := exampletest.Admin(t, s, "POST", "/users", `{"id":7,"password":"secret"}`); status != 200 {
		t.Fatal(body)
	}
	sender.Request(exampletest.Message(7, "are you there, Cid?"))
	push.Find(t, "are you there, Cid?")
	if got := push.Visits(); len(got) != 2 {
		t.Errorf("a message to somebody who is online was pushed: %v", got)
	}
}

func TestAdminAudit(t *testing.T) {
	files := exampletest.NewService(t)
	s := exampletest.Start(t, "admin-audit.js", "admin-audit.url="+files.URL+"/audit/", "admin-audit.retry-seconds=1")
	v := files.Find(t, `"action":"createUser"`)
	if v.Method != "PUT" || !strings.HasPrefix(v.Path, "/audit/20") || !strings.HasSuffix(v.Path, ".json") || !strings.Contains(v.Body, `"adminId":"0"`) || strings.Contains(v.Body, "secret") {
		t.Errorf("the service got %+v", v)
	}
	files.Status.Store(500)
	exampletest.Admin(t, s, "GET", "/users?ids=4242", "")
	refused := files.Find(t, "4242")
	tries := func() (most, ofRefused int) {
		times := map[string]int{}
		for _, v := range files.Visits() {
			times[v.Path]++
			most = max(most, times[v.Path])
		}
		return most, times[refused.Path]
	}
	// Records are sent in order: one of an earlier request may come first.
	exampletest.Eventually(t, "another try", func() bool { most, _ := tries(); return most > 1 })
	_, before := tries()
	files.Status.Store(200)
	exampletest.Eventually(t, "the record is taken", func() bool { _, now := tries(); return now > before })
}
