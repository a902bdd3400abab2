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
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/plugin/java/javatest"
	"example.org/app/internal/plugin/plugintest"
	"example.org/app/internal/role"
	"example.org/app/internal/wire"
	chat "example.org/app/test/client"
)

// door is a plugin that lets in who knows the word.
const door = `
class Door extends AppExtension { getExtensionPoints() { return ['UserAuthenticator']; } authenticate({ password }) { return password === 'open'; } }
export default class extends AppPlugin { getDescriptor() { return { id: 'door', version: '1' }; } getExtensions() { return [Door]; } }`

// scriptFilter is a plugin that refuses a word.
const scriptFilter = `
class Words extends AppExtension {
  getExtensionPoints() { return ['ClientRequestHandler']; }
  transform({ request }) { if (request.createMessageRequest?.text === 'forbidden') throw new AppError('MESSAGE_IS_ILLEGAL', 'no'); }
}
export default class extends AppPlugin { getDescriptor() { return { id: 'words', version: '1' }; } getExtensions() { return [Words]; } }`

// archiveFilter is the same in Java.
const archiveFilter = `
package words;
import im.app.plugin.*;
import im.app.plugin.model.ClientRequest;
import im.app.service.infra.plugin.extension.ClientRequestHandler;
import java.util.*;

public class Words extends AppPlugin {
    @Override
    public Collection<Class<? extends AppExtension>> getExtensions() { return List.of(Filter.class); }

    public static class Filter extends AppExtension implements ClientRequestHandler {
        @Override
        public ClientRequest transform(ClientRequest request) {
            if (request.request().hasCreateMessageRequest() && request.request().getCreateMessageRequest().getText().equals("forbidden")) {
                throw new AppException(5010, "no");
            }
            return null;
        }
    }
}`

// A language is what bad plugins are written in.
type language struct {
	suffix, path string
	filter       []byte
	// harmless is a plugin with the id of the bad ones that does nothing.
	harmless []byte
	corpus   []plugintest.Bad
	// sample are the kinds for which there is always time, the first of them also at the start of the server.
	sample []string
}

func scripts(testing.TB) language {
	return language{
		suffix: ".js", path: "/plugins/js", filter: []byte(scriptFilter), corpus: plugintest.Scripts(),
		harmless: []byte(`
class Actor extends AppExtension { getExtensionPoints() { return ['ClientRequestHandler']; } transform() {} }
export default class extends AppPlugin { getDescriptor() { return { id: 'suite-bad', version: '0' }; } getExtensions() { return [Actor]; } }`),
		sample: []string{"loops in start", "loops", "joins without end", "leaks to its limit"},
	}
}

func archives(t testing.TB) language {
	javatest.Home(t)
	sources := javatest.Sources(t, filepath.Join("..", "..", "internal", "plugin", "java", "testdata", "suite"))
	jar := func(kind string) []byte {
		return javatest.Jar(t, javatest.Plugin{
			Descriptor: "id: suite-bad\nversion: 1\nclass: corpus.CorpusPlugin\n", Sources: sources, Only: "corpus", Files: map[string]string{"kind.txt": kind},
		})
	}
	l := language{
		suffix: ".jar", path: "/plugins/java", harmless: jar("nothing at all"),
		filter: javatest.Jar(t, javatest.Plugin{ID: "words", Version: "1", Class: "words.Words", Sources: map[string]string{"words/Words.java": archiveFilter}}),
		sample: []string{"start spin", "call spin", "call halt", "call outlive"},
	}
	for _, kind := range plugintest.Archives {
		l.corpus = append(l.corpus, plugintest.Bad{Kind: kind, Data: jar(kind)})
	}
	return l
}

// A ward is a server with plugins that guard it, bad plugins, and clients that try what the guards refuse.
type ward struct {
	*target
	language
	log string
	// knocks counts attempts at what is refused.
	knocks atomic.Int64
	// tookMu guards took, the times of requests that touch no bad plugin.
	tookMu sync.Mutex
	took   []time.Duration
	served atomic.Int64
	end    context.Context
	wg     sync.WaitGroup
}

// wardTime is longer than anything takes on a machine with too much to do.
const wardTime = 3 * time.Minute

// open starts a server that finds the guards and the files in its folder, and the clients.
func open(t *testing.T, l language, files map[string][]byte) (w *ward, stop func()) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{"door.js": []byte(door), "words" + l.suffix: l.filter} {
		files[name] = data
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w = &ward{language: l, log: filepath.Join(t.TempDir(), "server.log")}
	load := 60_000 // Loading that does not end takes this time; the sample has none.
	if long() {
		load = 5000
	}
	limits := []string{
		"app.plugin.dir=" + dir, "app.logging.file.file-path=" + w.log, "app.plugin.java.allow-exit=false", "app.plugin.start-timeout-millis=1000",
		fmt.Sprint("app.plugin.load-timeout-millis=", load), "app.plugin.hook-timeout-millis=2000", "app.plugin.call-timeout-millis=60000",
		"app.plugin.extension-points.client-request-handler.timeout-millis=500", "app.shutdown.job-graceful-timeout-millis=30000",
		"app.gateway.client-api.rate-limiting.capacity=1000000", "app.gateway.client-api.rate-limiting.initial-tokens=1000000",
	}
	w.target = start(t, limits...)
	end, cancel := context.WithCancel(context.Background())
	w.end = end
	w.await("the guards", func() bool {
		a := w.call(role.Service, http.MethodGet, "/plugins?ids=door&ids=words", root, "")
		return strings.Count(a.body, `"running":true`) == 2
	})
	for _, work := range []func() error{w.forbiddenLogin, w.forbiddenWord(), w.admin, w.allowedLogin} {
		w.wg.Go(func() {
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
	return w, func() {
		cancel()
		w.wg.Wait()
	}
}

func (w *ward) await(what string, is func() bool) {
	w.t.Helper()
	for end := time.Now().Add(wardTime); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("waited in vain: %s", what)
		}
	}
}

// session connects and logs in.
func (w *ward) session(user int64, password string) (*chat.Client, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wardTime)
	defer cancel()
	c, err := chat.Dial(ctx, w.ClientURLs()[1], chat.Options{})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if err := c.Login(ctx, &wire.CreateSessionRequest{Version: 1, UserId: user, DeviceType: wire.DeviceType_ANDROID, Password: &password}); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// forbiddenLogin tries to log in without the word.
func (w *ward) forbiddenLogin() error {
	w.knocks.Add(1)
	c, err := w.session(13, "closed")
	if err != nil {
		return nil
	}
	c.Close()
	return fmt.Errorf("a forbidden login was let through")
}

// forbiddenWord tries to send a word that the filter refuses.
func (w *ward) forbiddenWord() func() error {
	var c *chat.Client
	return func() (err error) {
		if c == nil || c.Err() != nil {
			if c, err = w.session(6, "open"); err != nil {
				return fmt.Errorf("a login that touches no bad plugin: %w", err)
			}
			context.AfterFunc(w.end, c.Close)
		}
		w.knocks.Add(1)
		if code, err := say(w.end, c, "forbidden"); err == nil && code == 1000 {
			return fmt.Errorf("a forbidden word was let through")
		}
		return nil
	}
}

// say sends a message and returns the code of the answer.
func say(ctx context.Context, c *chat.Client, text string) (int32, error) {
	ctx, cancel := context.WithTimeout(ctx, wardTime)
	defer cancel()
	to := int64(7)
	a, err := c.Do(ctx, &wire.CreateMessageRequest{RecipientId: &to, Text: &text})
	if err != nil {
		return 0, err
	}
	return a.GetCode(), nil
}

// admin asks the admin interface something.
func (w *ward) admin() error {
	begin := time.Now()
	a, err := w.try(role.Service, http.MethodGet, "/users?ids=6", root, "")
	if err != nil || a.status >= 400 {
		return fmt.Errorf("a request of an administrator: %d %s: %w", a.status, a.body, err)
	}
	w.note(time.Since(begin))
	return nil
}

// allowedLogin logs in with the word.
func (w *ward) allowedLogin() error {
	begin := time.Now()
	c, err := w.session(8, "open")
	if err != nil {
		return fmt.Errorf("a login that touches no bad plugin: %w", err)
	}
	w.note(time.Since(begin))
	c.Close()
	return nil
}

func (w *ward) note(d time.Duration) {
	w.served.Add(1)
	w.tookMu.Lock()
	defer w.tookMu.Unlock()
	w.took = append(w.took, d)
}

// p99 is that of the requests since the last call.
func (w *ward) p99() time.Duration {
	w.tookMu.Lock()
	defer w.tookMu.Unlock()
	list := w.took
	w.took = nil
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)*99/100]
}

// usual is the 99th percentile without bad plugins; 0 if there is no time to find out.
func (w *ward) usual() time.Duration {
	if !long() {
		return 0
	}
	w.p99()
	time.Sleep(10 * time.Second)
	return w.p99()
}

// upload adds a plugin, or a new version of it, and returns the answer.
func (w *ward) upload(data []byte, replace bool) answer {
	w.t.Helper()
	target := fmt.Sprint(w.path, "?replace=", replace)
	if w.suffix == ".js" {
		body, err := json.Marshal(map[string]any{"scripts": []any{map[string]any{"code": string(data)}}})
		if err != nil {
			w.t.Fatal(err)
		}
		return w.call(role.Service, http.MethodPost, target, root, string(body))
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
		w.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.URL(role.Service)+target, &b)
	if err != nil {
		w.t.Fatal(err)
	}
	request.SetBasicAuth("app", "app")
	request.Header.Set("Content-Type", form.FormDataContentType())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

// touch sends requests that come to the bad plugin.
func (w *ward) touch() {
	c, err := w.session(9, "open")
	if err != nil {
		w.t.Errorf("a login that touches no bad plugin: %v", err)
		return
	}
	defer c.Close()
	for range 2 {
		_, _ = say(w.end, c, "hello")
	}
}

// suffer lets a bad plugin come in a way, and go.
func (w *ward) suffer(bad plugintest.Bad, swap bool) {
	w.t.Helper()
	from := w.logged()
	var load sync.WaitGroup
	loading, enough := context.WithCancel(w.end)
	if swap {
		if a := w.upload(w.harmless, false); a.status != http.StatusOK {
			w.t.Errorf("%s: a harmless plugin is not accepted: %d %s", bad.Kind, a.status, a.body)
		}
		w.call(role.Service, http.MethodPut, "/plugins?ids=suite-bad", root, `{"status":"STARTED"}`)
		load.Go(func() {
			for loading.Err() == nil {
				w.touch()
			}
		})
	}
	a := w.upload(bad.Data, swap)
	if a.status == http.StatusOK {
		w.call(role.Service, http.MethodPut, "/plugins?ids=suite-bad", root, `{"status":"STARTED"}`)
		w.touch()
	}
	enough()
	load.Wait()
	if a.status == http.StatusOK && !w.named(bad.Kind, from) {
		w.t.Errorf("%s: neither GET /plugins nor the log name the plugin", bad.Kind)
	}
	w.call(role.Service, http.MethodDelete, "/plugins?ids=suite-bad", root, "")
}

// logged is how long the log is.
func (w *ward) logged() int64 {
	info, err := os.Stat(w.log)
	if err != nil {
		w.t.Fatal(err)
	}
	return info.Size()
}

// unseen are kinds of which there is nothing to say: what they do costs nobody anything.
var unseen = []string{
	"pause wait", "resume throw", "stop throw", "stop wait", "stop ignore", "stop spin", "stop halt", "call null", "call child", "call files", "call threads",
	"call close", "call handler", "call hooks", "call pipe", "call outlive", "throws in stop", "loops in stop", "never ends any hook",
	"sets timers without end", "breaks the built-in classes",
}

// named reports whether GET /plugins or the log says what the bad plugin does.
func (w *ward) named(kind string, from int64) bool {
	if slices.Contains(unseen, kind) {
		return true
	}
	a := w.call(role.Service, http.MethodGet, "/plugins?includeRejected=true&ids=suite-bad", root, "")
	if strings.Contains(a.body, `"quarantine"`) || strings.Contains(a.body, `"lastError"`) || strings.Contains(a.body, `"renewals"`) {
		return true
	}
	data, err := os.ReadFile(w.log)
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.ContainsFunc(strings.Split(string(data[from:]), "\n"), func(line string) bool {
		return strings.Contains(line, "suite-bad") && (strings.Contains(line, "WARN") || strings.Contains(line, "ERROR"))
	})
}

// jvms are the Java processes of this one, with their numbers of threads.
func jvms() (threads []int) {
	tasks, _ := filepath.Glob("/proc/self/task/*/children")
	for _, task := range tasks {
		data, _ := os.ReadFile(task)
		for pid := range strings.FieldsSeq(string(data)) {
			command, _ := os.ReadFile("/proc/" + pid + "/cmdline")
			if strings.Contains(string(command), "im.app.plugin.host.Main") {
				list, _ := filepath.Glob("/proc/" + pid + "/task/*")
				threads = append(threads, len(list))
			}
		}
	}
	return threads
}

// TestBadPlugins lets bad plugins come to a server with clients: from its folder when it starts, by uploads, and in the place of
// one that is called. What the guards refuse is never let through, what touches no bad plugin is never refused, everything is
// given back, and the server stops.
func TestBadPlugins(t *testing.T) {
	for _, make := range []func(testing.TB) language{scripts, archives} {
		l := make(t)
		t.Run(l.suffix, func(t *testing.T) { l.run(t) })
	}
}

func (l language) run(t *testing.T) {
	corpus := l.corpus
	if !long() {
		corpus = slices.DeleteFunc(slices.Clone(corpus), func(b plugintest.Bad) bool { return !slices.Contains(l.sample, b.Kind) })
	}
	for i, bad := range corpus {
		if i == 0 || long() {
			l.meet(t, bad, corpus, i == 0)
		}
	}
}

// meet starts a server that finds a bad plugin in its folder. With all the others come to it as well.
func (l language) meet(t *testing.T, first plugintest.Bad, corpus []plugintest.Bad, all bool) {
	w, leave := open(t, l, map[string][]byte{"bad" + l.suffix: first.Data})
	w.touch()
	w.await("what the server says of "+first.Kind, func() bool {
		health := w.call(role.Service, http.MethodGet, "/health", "", "")
		return strings.Contains(health.body, "bad"+l.suffix) || w.named(first.Kind, 0) || w.rejected()
	})
	w.call(role.Service, http.MethodDelete, "/plugins?ids=suite-bad", root, "")
	if all {
		usual, slower := w.usual(), 0
		for _, swap := range []bool{false, true} {
			for _, bad := range corpus {
				w.suffer(bad, swap)
				if p := w.p99(); long() && p > 2*usual {
					slower++
					t.Logf("%s, swap %t: p99 %s, without it %s", bad.Kind, swap, p, usual)
				}
			}
		}
		if long() {
			t.Logf("%d bad plugins in two ways; p99 of other requests more than twice the usual %s: %d times", len(corpus), usual, slower)
		}
	}
	most := 0
	if l.suffix == ".jar" {
		most = 1
	}
	w.await("memory and threads of bad plugins", func() bool {
		list := jvms()
		return len(list) <= most && !slices.ContainsFunc(list, func(n int) bool { return n > 200 })
	})
	leave()
	begin := time.Now()
	w.Stop()
	// A machine with too much to do may take longer; the campaign runs on one of its own.
	if took := time.Since(begin); took > 30*time.Second && (long() || took > wardTime) {
		t.Errorf("the server took %s to stop, 30 s are its grace time", took)
	}
	t.Logf("%s: %d attempts to pass the guards, %d other requests", first.Kind, w.knocks.Load(), w.served.Load())
}

// rejected reports whether the file in the folder is listed as rejected.
func (w *ward) rejected() bool {
	return strings.Contains(w.call(role.Service, http.MethodGet, "/plugins?includeRejected=true", root, "").body, `"rejected":{`)
}
