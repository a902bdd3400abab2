// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/plugin/js/engine"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// A guardedServer is a server with guard plugins, faulty plugins, and clients that try what the
// guards refuse.
type guardedServer struct {
	*target
	language
	*state
}

// state is the state that all tests of a server share.
type state struct {
	log string
	// attempts counts attempts that must be refused.
	attempts atomic.Int64
	// tookMu guards took.
	tookMu sync.Mutex
	took   times
	served atomic.Int64
	// before is the usage of the process without clients.
	before usage
	end    context.Context
	wg     sync.WaitGroup
}

// with returns the server for a subtest.
func (g *guardedServer) with(t *testing.T) *guardedServer {
	return &guardedServer{target: &target{Server: g.Server, t: t, operations: g.operations}, language: g.language, state: g.state}
}

// maxWait is longer than any operation takes on an overloaded machine.
const maxWait = 3 * time.Minute

// open starts a server with the guards and the files in its plugin folder, and the clients.
func open(t *testing.T, l language, files map[string][]byte) (g *guardedServer, stop func()) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{"logins" + l.suffix: l.logins, "words" + l.suffix: l.filter} {
		files[name] = data
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g = &guardedServer{language: l, state: &state{log: filepath.Join(t.TempDir(), "server.log")}}
	t.Cleanup(func() {
		if t.Failed() {
			g.printLog()
		}
	})
	load := 60_000 // Endless loading takes this time; the sample has none.
	if long() {
		load = 10_000
	}
	limits := []string{
		"app.plugin.dir=" + dir, "app.logging.file.file-path=" + g.log, "app.plugin.java.allow-exit=false", "app.plugin.java.spare=true", "app.plugin.start-timeout-millis=1000",
		fmt.Sprint("app.plugin.load-timeout-millis=", load), fmt.Sprint("app.plugin.hook-timeout-millis=", l.hooks), "app.plugin.call-timeout-millis=60000",
		"app.plugin.extension-points.client-request-handler.timeout-millis=500", "app.shutdown.job-graceful-timeout-millis=30000",
	}
	g.target = start(t, limits...)
	end, cancel := context.WithCancel(context.Background())
	g.end = end
	g.await("the guards", func() bool {
		a := g.call(role.Service, http.MethodGet, "/plugins?ids=logins&ids=words", root, "")
		return strings.Count(a.body, `"running":true`) == 2
	})
	g.before = used()
	g.before.engines, g.before.jvms, g.before.children = l.engines, l.jvms, 0 // The faulty plugin may be loaded already.
	for _, work := range []func() error{g.forbiddenLogin, g.forbiddenWord(), g.admin, g.allowedLogin} {
		g.wg.Go(func() {
			for end.Err() == nil {
				if err := work(); err != nil && end.Err() == nil {
					t.Error(err)
				}
				select {
				case <-end.Done():
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
	}
	return g, func() {
		cancel()
		g.wg.Wait()
	}
}

func (g *guardedServer) await(what string, is func() bool) {
	g.t.Helper()
	limit := maxWait
	if long() {
		limit = time.Minute
	}
	for end := time.Now().Add(limit); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			g.t.Fatalf("waited in vain: %s", what)
		}
	}
}

// session connects a client and logs it in.
func (g *guardedServer) session(user int64, password string) (*chat.Client, error) {
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	c, err := chat.Dial(ctx, g.ClientURLs()[1], chat.Options{})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if err := c.Login(ctx, &wire.CreateSessionRequest{Version: 1, UserId: user, DeviceType: wire.DeviceType_ANDROID, Password: &password}); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// forbiddenLogin tries to log in without the password.
func (g *guardedServer) forbiddenLogin() error {
	g.attempts.Add(1)
	c, err := g.session(13, "closed")
	if err != nil {
		return nil
	}
	c.Close()
	return fmt.Errorf("a forbidden login was let through")
}

// forbiddenWord tries to send a message with a word that the filter refuses.
func (g *guardedServer) forbiddenWord() func() error {
	var c *chat.Client
	return func() (err error) {
		if c == nil || c.Err() != nil {
			if c, err = g.session(6, "open"); err != nil {
				return fmt.Errorf("a login that touches no bad plugin: %w", err)
			}
			context.AfterFunc(g.end, c.Close)
		}
		g.attempts.Add(1)
		if code, err := say(g.end, c, "forbidden"); err == nil && code == 1000 {
			return fmt.Errorf("a forbidden word was let through")
		}
		return nil
	}
}

// say sends a message and returns the code of the response.
func say(ctx context.Context, c *chat.Client, text string) (int32, error) {
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	to := int64(7)
	a, err := c.Do(ctx, &wire.CreateMessageRequest{RecipientId: &to, Text: &text})
	if err != nil {
		return 0, err
	}
	return a.GetCode(), nil
}

// admin sends a request to the admin interface.
func (g *guardedServer) admin() error {
	begin := time.Now()
	a, err := g.try(role.Service, http.MethodGet, "/users?ids=6", root, "")
	if err != nil || a.status >= 400 {
		return fmt.Errorf("a request of an administrator: %d %s: %w", a.status, a.body, err)
	}
	took := time.Since(begin)
	g.note(func(t *times) { t.admin = append(t.admin, took) })
	return nil
}

// allowedLogin logs in with the password.
func (g *guardedServer) allowedLogin() error {
	begin := time.Now()
	c, err := g.session(8, "open")
	if err != nil {
		return fmt.Errorf("a login that touches no bad plugin: %w", err)
	}
	took := time.Since(begin)
	g.note(func(t *times) { t.logins = append(t.logins, took) })
	c.Close()
	return nil
}

// times are the durations of requests that do not involve the faulty plugin: those of an
// administrator, which involve no plugin, and logins, which the guard decides.
type times struct{ admin, logins []time.Duration }

func (g *guardedServer) note(add func(*times)) {
	g.served.Add(1)
	g.tookMu.Lock()
	defer g.tookMu.Unlock()
	add(&g.took)
}

// times returns the durations of the requests since the last call.
func (g *guardedServer) times() times {
	g.tookMu.Lock()
	defer g.tookMu.Unlock()
	list := g.took
	g.took = times{}
	return list
}

// upload uploads a plugin, or a new version of it, and returns the response.
func (g *guardedServer) upload(data []byte, replace bool) answer {
	g.t.Helper()
	target := fmt.Sprint(g.path, "?replace=", replace)
	if g.suffix == ".js" {
		body, err := json.Marshal(map[string]any{"scripts": []any{map[string]any{"fileName": "bad.js", "code": string(data)}}})
		if err != nil {
			g.t.Fatal(err)
		}
		return g.call(role.Service, http.MethodPost, target, root, string(body))
	}
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("bad.jar", "bad.jar")
	if err == nil {
		_, err = part.Write(data)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		g.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, g.URL(role.Service)+target, &b)
	if err != nil {
		g.t.Fatal(err)
	}
	request.SetBasicAuth("app", "app")
	request.Header.Set("Content-Type", form.FormDataContentType())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		g.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

// touch sends requests of a user that the faulty plugin handles.
func (g *guardedServer) touch(user int64) {
	c, err := g.session(user, "open")
	if err != nil {
		g.t.Errorf("a login that touches no bad plugin: %v", err)
		return
	}
	defer c.Close()
	for range 2 {
		_, _ = say(g.end, c, "hello")
	}
}

// logged returns the length of the log.
func (g *guardedServer) logged() int64 {
	info, err := os.Stat(g.log)
	if err != nil {
		g.t.Fatal(err)
	}
	return info.Size()
}

// maxPrinted is how many lines of the log a failed test prints.
const maxPrinted = 60

// printLog prints the last warnings and errors of the server.
func (g *guardedServer) printLog() {
	data, err := os.ReadFile(g.log)
	if err != nil {
		return
	}
	lines := slices.DeleteFunc(strings.Split(string(data), "\n"), func(line string) bool { return !strings.Contains(line, "WARN") && !strings.Contains(line, "ERROR") })
	for _, line := range lines[max(0, len(lines)-maxPrinted):] {
		g.t.Log(line[:min(len(line), 600)])
	}
}

// A usage is the resources of the process and its children that plugins could leak.
type usage struct {
	// engines is the number of JavaScript engines with memory, jvms the number of JVMs, threads the
	// largest number of threads of one of them, and children the number of processes that they have
	// started.
	engines, jvms, threads, children int
	goroutines                       int
	heap                             uint64
}

// used measures the usage after a garbage collection.
func used() usage {
	http.DefaultClient.CloseIdleConnections()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := usage{engines: engine.Live(), goroutines: runtime.NumGoroutine(), heap: m.HeapAlloc}
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, task := range tasks {
		data, _ := os.ReadFile(task)
		for pid := range strings.FieldsSeq(string(data)) {
			command, _ := os.ReadFile("/proc/" + pid + "/cmdline")
			if strings.Contains(string(command), "im.app.plugin.host.Main") {
				list, _ := filepath.Glob("/proc/" + pid + "/task/*")
				u.jvms, u.threads = u.jvms+1, max(u.threads, len(list))
				children, _ := filepath.Glob("/proc/" + pid + "/task/*/children")
				for _, child := range children {
					data, _ := os.ReadFile(child)
					u.children += len(strings.Fields(string(data)))
				}
			}
		}
	}
	return u
}

// spare is the tolerated increase: connections that are being closed, caches, and threads of a JVM
// for its own work.
var spare = usage{threads: 100, goroutines: 20, heap: 64 << 20}

// over describes which resources exceed those before; "" means none.
func (u usage) over(before usage) string {
	var list []string
	for _, c := range []struct {
		what               string
		now, before, spare uint64
	}{
		{"engines", uint64(u.engines), uint64(before.engines), 0},
		{"JVMs", uint64(u.jvms), uint64(before.jvms), 0},
		{"threads of a JVM", uint64(u.threads), uint64(before.threads), uint64(spare.threads)},
		{"children of JVMs", uint64(u.children), uint64(before.children), 0},
		{"goroutines", uint64(u.goroutines), uint64(before.goroutines), uint64(spare.goroutines)},
		{"bytes of the heap", u.heap, before.heap, spare.heap},
	} {
		if c.now > c.before+c.spare {
			list = append(list, fmt.Sprintf("%d %s, %d before", c.now, c.what, c.before))
		}
	}
	return strings.Join(list, "; ")
}
