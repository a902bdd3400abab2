// SPDX-License-Identifier: Apache-2.0

// Package examples tests the example plugins on running servers, with clients and with the services that they talk to.
package examples

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/app/internal/app"
	"example.org/app/internal/app/apptest"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs a server with one of the examples.
func start(t *testing.T, example string, set ...string) *apptest.Server {
	t.Helper()
	code, err := os.ReadFile(example + ".js")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, example+".js"), code, 0o600); err != nil {
		t.Fatal(err)
	}
	s := apptest.Start(t, app.AllRoles, append([]string{"app.plugin.dir=" + dir, "app.plugin.abort-on-failure=true"}, set...)...)
	for _, user := range []string{`{"id":5,"name":"Ann","password":"secret"}`, `{"id":6,"name":"Bob","password":"secret"}`} {
		if status, body := admin(t, s, "POST", "/users", user); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
	}
	return s
}

// admin sends a request as root.
func admin(t *testing.T, s *apptest.Server, method, target, body string) (int, string) {
	t.Helper()
	return send(t, method, s.URL(app.Service)+target, "application/json", strings.NewReader(body))
}

// send sends a request and reads the answer.
func send(t *testing.T, method, url, mediaType string, body io.Reader) (int, string) {
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

// eventually waits for a condition that the server brings about.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// logIn opens a session with the password of the users.
func logIn(t *testing.T, s *apptest.Server, userID int64) *chat.Tester {
	t.Helper()
	return chat.LogIn(t, s.ClientURLs()[1], userID, chat.WithPassword("secret"))
}

func message(to int64, text string) *wire.CreateMessageRequest {
	return &wire.CreateMessageRequest{RecipientId: &to, Text: &text}
}

// read waits for a message and returns its text.
func read(c *chat.Tester) string {
	return c.Relayed(8).GetRelayedRequest().GetCreateMessageRequest().GetText()
}

// A service is an HTTP service that a plugin talks to. It answers with status and remembers what it got.
type service struct {
	*httptest.Server
	status atomic.Int32

	mu  sync.Mutex
	got []visit
}

type visit struct {
	method, path, body string
	header             http.Header
}

func newService(t *testing.T) *service {
	s := &service{}
	s.status.Store(200)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.got = append(s.got, visit{r.Method, r.URL.Path, string(b), r.Header})
		s.mu.Unlock()
		w.WriteHeader(int(s.status.Load()))
	}))
	t.Cleanup(s.Close)
	return s
}

// find waits for a request whose body has a part.
func (s *service) find(t *testing.T, part string) visit {
	t.Helper()
	var found visit
	eventually(t, "a request with "+part, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, v := range s.got {
			if strings.Contains(v.body, part) {
				found = v
				return true
			}
		}
		return false
	})
	return found
}

func TestWordFilterRejects(t *testing.T) {
	s := start(t, "word-filter", "word-filter.words[0]=darn", "word-filter.words[1]=heck")
	sender, reader := logIn(t, s, 5), logIn(t, s, 6)
	n := sender.WantCode(message(6, "what the HECK"), 5010)
	if n.GetReason() != "the message holds a word that is not allowed here" {
		t.Errorf("the reason is %q", n.GetReason())
	}
	sender.Request(message(6, "darned heckler")) // Only whole words count.
	if got := read(reader); got != "darned heckler" {
		t.Errorf("the message is %q", got)
	}
}

func TestWordFilterMasks(t *testing.T) {
	s := start(t, "word-filter", "word-filter.words[0]=darn", "word-filter.mode=mask")
	sender, reader := logIn(t, s, 5), logIn(t, s, 6)
	id := sender.Request(message(6, "well, darn!")).GetData().GetLong()
	if got := read(reader); got != "well, ****!" {
		t.Errorf("the message is %q", got)
	}
	text := "Darn, darn"
	sender.Request(&wire.UpdateMessageRequest{MessageId: id, Text: &text})
	if _, body := admin(t, s, "GET", "/messages", ""); !strings.Contains(body, "****, ****") {
		t.Errorf("stored was %s", body)
	}
}

func TestGreeterBot(t *testing.T) {
	s := start(t, "greeter-bot", "greeter-bot.user-id=9007199254740991", "greeter-bot.name=Robin")
	const bot = 9007199254740991
	if _, body := admin(t, s, "GET", "/users?ids=9007199254740991", ""); !strings.Contains(body, `"name":"Robin"`) {
		t.Fatalf("the bot is %s", body)
	}
	ann := logIn(t, s, 5)
	for _, want := range []string{"Welcome, Ann!", "Good to see you again, Ann. You have written 2 times."} {
		ann.Request(message(bot, "hello"))
		ann.Relayed(7) // It is typing.
		n := ann.Relayed(8)
		if got := n.GetRelayedRequest().GetCreateMessageRequest().GetText(); got != want || n.GetRequesterId() != bot {
			t.Errorf("user %d answers %q", n.GetRequesterId(), got)
		}
	}
	ann.Request(message(6, "hello Bob"))
	if _, body := admin(t, s, "GET", "/messages/count", ""); !strings.Contains(body, `:5`) {
		t.Errorf("there are %s", body)
	}
}

func TestPushBridge(t *testing.T) {
	push := newService(t)
	s := start(t, "push-bridge", "push-bridge.url="+push.URL+"/messages", "push-bridge.secret=shared")
	sender := logIn(t, s, 5)
	sender.Request(message(6, "are you there?"))
	v := push.find(t, "are you there?")
	if v.method != "POST" || v.path != "/messages" || v.body != `{"recipients":["6"],"sender":"5","text":"are you there?"}` {
		t.Errorf("the webhook got %+v", v)
	}
	mac := hmac.New(sha256.New, []byte("shared"))
	mac.Write([]byte(v.body))
	if got := v.header.Get("X-Signature"); got != hex.EncodeToString(mac.Sum(nil)) {
		t.Errorf("the signature is %q", got)
	}
	reader := logIn(t, s, 6)
	sender.Request(message(6, "Bob is online"))
	read(reader)
	if status, body := admin(t, s, "POST", "/users", `{"id":7,"password":"secret"}`); status != 200 {
		t.Fatal(body)
	}
	sender.Request(message(7, "are you there, Cid?"))
	push.find(t, "are you there, Cid?")
	push.mu.Lock()
	defer push.mu.Unlock()
	if len(push.got) != 2 {
		t.Errorf("a message to somebody who is online was pushed: %v", push.got)
	}
}

func TestLogin(t *testing.T) {
	accounts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var info struct{ UserID, Password, DeviceType, IP string }
		if err := json.NewDecoder(r.Body).Decode(&info); err != nil || info.DeviceType == "" || info.IP == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		switch info.UserID + " " + info.Password {
		case "5 ticket":
		case "6 ticket":
			w.WriteHeader(http.StatusForbidden)
		case "5 broken":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer accounts.Close()
	s := start(t, "login", "login.url="+accounts.URL)
	c := chat.Connect(t, s.ClientURLs()[1])
	c.RefusedLogin(2011, 6, chat.WithPassword("ticket"))
	c.RefusedLogin(1201, 5, chat.WithPassword("broken"))
	c.RefusedLogin(2011, 5, chat.WithPassword("neither the service nor the server knows it"))
	c.MustLogin(5, chat.WithPassword("ticket"))
	logIn(t, s, 6) // By the server's own users.
}

func TestAdminAudit(t *testing.T) {
	files := newService(t)
	s := start(t, "admin-audit", "admin-audit.url="+files.URL+"/audit/", "admin-audit.retry-seconds=1")
	v := files.find(t, `"action":"createUser"`)
	if v.method != "PUT" || !strings.HasPrefix(v.path, "/audit/20") || !strings.HasSuffix(v.path, ".json") || !strings.Contains(v.body, `"adminId":"0"`) || strings.Contains(v.body, "secret") {
		t.Errorf("the service got %+v", v)
	}
	files.status.Store(500)
	admin(t, s, "GET", "/users?ids=4242", "")
	refused := files.find(t, "4242")
	tries := func() (most, ofRefused int) {
		files.mu.Lock()
		defer files.mu.Unlock()
		times := map[string]int{}
		for _, v := range files.got {
			times[v.path]++
			most = max(most, times[v.path])
		}
		return most, times[refused.path]
	}
	// Records wait in their order: one that another request left may be before it.
	eventually(t, "another try", func() bool { most, _ := tries(); return most > 1 })
	_, before := tries()
	files.status.Store(200)
	eventually(t, "the record is taken", func() bool { _, now := tries(); return now > before })
}

func TestMessageArchive(t *testing.T) {
	archive := newService(t)
	archive.status.Store(503)
	s := start(t, "message-archive", "message-archive.url="+archive.URL, "app.service.message.time-type=CLIENT_TIME",
		"app.service.message.message-retention-period-hours=1", "app.service.message.expired-messages-cleanup-cron=* * * * * *")
	sender := logIn(t, s, 5)
	old := message(6, "an old story")
	date := time.Now().Add(-2 * time.Hour).UnixMilli()
	old.DeliveryDate = &date
	sender.Request(old)
	sender.Request(message(6, "news"))
	archive.find(t, "an old story")
	if _, body := admin(t, s, "GET", "/messages", ""); !strings.Contains(body, "an old story") {
		t.Errorf("a message is gone that the archive did not take: %s", body)
	}
	archive.status.Store(200)
	eventually(t, "the old message is gone", func() bool {
		_, body := admin(t, s, "GET", "/messages", "")
		return !strings.Contains(body, "an old story") && strings.Contains(body, "news")
	})
	var stored struct{ ID, SenderID, TargetID, Text string }
	if err := json.Unmarshal([]byte(archive.find(t, "an old story").body), &stored); err != nil || stored.SenderID != "5" || stored.TargetID != "6" || stored.ID == "" {
		t.Errorf("the archive has %+v, %v", stored, err)
	}
}
