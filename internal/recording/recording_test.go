// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/recording/event"
	"example.org/app/internal/recording/jfr"
	"example.org/app/internal/recording/jfr/jfrtest"
	"example.org/app/test/need"
)

// fixture is a recorder that runs.
type fixture struct {
	*Recorder
	folder string
	stop   func()
}

func start(t *testing.T, folder string, limits Limits) *fixture {
	t.Helper()
	r, err := Open(Options{Folder: folder, Limits: func() Limits { return limits }, Facts: func() []Fact { return []Fact{{"app.x", "1"}} }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = r.Run(ctx) })
	stop := sync.OnceFunc(func() {
		cancel()
		done.Wait()
	})
	t.Cleanup(stop)
	return &fixture{r, folder, stop}
}

var roomy = Limits{MaxTotalBytes: 1 << 30, MaxRecordings: 4, Retention: -1}

func (f *fixture) create(t *testing.T, spec Spec) int64 {
	t.Helper()
	id, err := f.Create(spec)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (f *fixture) state(id int64) State {
	if list := f.List([]int64{id}); len(list) == 1 {
		return list[0].State
	}
	return ""
}

// read returns the bytes of a recording.
func (f *fixture) read(t *testing.T, id int64, closing bool) []byte {
	t.Helper()
	c, err := f.Open(id, closing)
	if err != nil {
		t.Fatal(err)
	}
	return readAll(t, c)
}

// readAll reads a content and closes it.
func readAll(t *testing.T, c *Content) []byte {
	t.Helper()
	defer c.Close()
	data, err := io.ReadAll(c)
	if err != nil || int64(len(data)) != c.Size {
		t.Fatalf("read %d of %d bytes: %v", len(data), c.Size, err)
	}
	return data
}

func (f *fixture) events(t *testing.T, id int64) []jfrtest.Event {
	t.Helper()
	events, err := jfrtest.Parse(f.read(t, id, false))
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func find(events []jfrtest.Event, name string) (found []jfrtest.Event) {
	for _, e := range events {
		if e.Type == name {
			found = append(found, e)
		}
	}
	return found
}

// eventually waits for what another goroutine does.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for limit := time.Now().Add(5 * time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

func code(err error) apierr.Code {
	if e, ok := errors.AsType[*apierr.Error](err); ok {
		return e.Code
	}
	return 0
}

// burnForTheProfile keeps a processor busy until stop is set. It calls nothing that the race
// detector would show instead.
//
//go:noinline
func burnForTheProfile(stop *atomic.Bool) (n uint64) {
	for !stop.Load() {
		for i := range uint64(1_000_000) {
			n = n*31 + i
		}
	}
	return n
}

func TestToolsReadARunningAndAClosedRecording(t *testing.T) {
	need.Time(t)
	f := start(t, t.TempDir(), roomy)
	id := f.create(t, Spec{Settings: map[string]string{"template": "profile", "jdk.ThreadDump#enabled": "true"}})
	var stop atomic.Bool
	var burning sync.WaitGroup
	burning.Go(func() { t.Log("burned to", burnForTheProfile(&stop)) })
	defer burning.Wait()
	defer stop.Store(true)
	path := filepath.Join(t.TempDir(), "running.jfr")
	eventually(t, "the samples", func() bool {
		data := f.read(t, id, false)
		events, err := jfrtest.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // Each look ends a profile.
		return len(find(events, "jdk.ExecutionSample")) >= 50
	})
	stop.Store(true)
	events := jfrtest.Check(t, path)
	for _, name := range []string{
		"jdk.CPULoad", "go.Memory", "go.Goroutines", "go.Threads", "jdk.OSInformation", "jdk.PhysicalMemory",
		"jdk.InitialEnvironmentVariable", "jdk.InitialSystemProperty", "jdk.ThreadDump",
	} {
		if len(find(events, name)) == 0 {
			t.Errorf("the recording has no %s", name)
		}
	}
	if out := jfrtest.Tool(t, "view", "hot-methods", path); !strings.Contains(firstRow(out), "burnForTheProfile") {
		t.Errorf("the function that burns is not the top:\n%s", out)
	}
	if out := jfrtest.Tool(t, "summary", path); !strings.Contains(out, "app.SqlTransaction") {
		t.Errorf("the summary shows no event of our own:\n%s", out)
	}

	data := f.read(t, id, true)
	if f.state(id) != Closed {
		t.Errorf("the state is %s", f.state(id))
	}
	if _, err := jfrtest.Parse(data); err != nil {
		t.Error(err)
	}
	if again := f.read(t, id, false); len(again) != len(data) {
		t.Errorf("a closed recording grew from %d to %d bytes", len(data), len(again))
	}
}

// firstRow returns the first row of a table that jfr view prints.
func firstRow(out string) string {
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "---") && i+1 < len(lines) {
			return lines[i+1]
		}
	}
	return ""
}

func TestOwnEventsPassTheirThresholds(t *testing.T) {
	f := start(t, t.TempDir(), roomy)
	id := f.create(t, Spec{Settings: map[string]string{
		"app.SqlTransaction#threshold": "5 ms", "app.NodeCall#enabled": "false", "app.SqlTransaction#stackTrace": "true",
	}})
	transaction := func(took time.Duration) {
		if event.Wants(event.KindSQLTransaction, took) {
			event.Record(event.SQLTransaction{
				Span: event.Span{Start: time.Now(), Duration: took}, Engine: "sqlite", Write: true, Statements: 3, Wait: time.Millisecond,
				Slowest:     `UPDATE "users" SET "password" = 'pl4nt3d''x', n = 12.5 WHERE id IN (7, 8) AND t1.b = $1`,
				SlowestTime: took, Error: errors.New("pl4nt3d"),
			})
		}
	}
	transaction(4 * time.Millisecond)
	transaction(6 * time.Millisecond)
	if event.On(event.KindNodeCall) {
		t.Error("an event that is not enabled is wanted")
	}
	for _, e := range []event.Event{
		event.AdminRequest{Operation: "queryUsers", Method: "GET", Path: "/users", Status: 200, Code: 1000},
		event.ClientRequest{Role: "gateway", Request: "CREATE_MESSAGE", UserID: 1},
		event.PluginCall{Plugin: "p", Version: "1", Point: "ClientRequestHandler", Method: "transform", Outcome: "ok"},
		event.SessionOpened{UserID: 1, Device: "ANDROID", SessionID: 2},
		event.SessionClosed{UserID: 1, Device: "ANDROID", SessionID: 2, Status: 100},
	} {
		event.Record(e)
	}
	data := f.read(t, id, false)
	events, err := jfrtest.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	found := find(events, "app.SqlTransaction")
	if len(found) != 1 {
		t.Fatalf("%d transactions, want the slow one", len(found))
	}
	e := found[0]
	if got, want := e.Text("slowestStatement"), `UPDATE "users" SET "password" = ?, n = ? WHERE id IN (?, ?) AND t1.b = $1`; got != want {
		t.Errorf("the statement is %q, want %q", got, want)
	}
	if e.Number("statements") != 3 || e.Number("wait") != int64(time.Millisecond) || e.Duration() != 6*time.Millisecond || e.Text("outcome") != "error" {
		t.Errorf("the transaction is %v", e.Fields)
	}
	if e.Fields["stackTrace"] == nil {
		t.Error("the transaction has no stack")
	}
	if strings.Contains(string(data), "pl4nt3d") {
		t.Error("a value is in the recording")
	}
	for _, name := range []string{"app.AdminRequest", "app.ClientRequest", "app.PluginCall", "app.SessionOpened", "app.SessionClosed"} {
		if len(find(events, name)) != 1 {
			t.Errorf("%d events %s", len(find(events, name)), name)
		}
	}
	f.Delete(nil)
	if event.On(event.KindSQLTransaction) {
		t.Error("events are wanted without a recording")
	}
}

func TestDelayAndDuration(t *testing.T) {
	f := start(t, t.TempDir(), roomy)
	id := f.create(t, Spec{Delay: time.Hour})
	if f.state(id) != Delayed {
		t.Errorf("the state is %s", f.state(id))
	}
	if _, err := f.Open(id, false); code(err) != apierr.DumpJFRInIllegalStatus || apierr.From(err).Exception == "" {
		t.Errorf("the error is %v", err)
	}
	if matched, closed := f.Close([]int64{id}); matched != 1 || closed != 0 {
		t.Errorf("closed %d of %d", closed, matched)
	}
	short := f.create(t, Spec{Delay: 10 * time.Millisecond, Duration: 20 * time.Millisecond, Description: "short"})
	eventually(t, "the end", func() bool { return f.state(short) == Stopped })
	info := f.List([]int64{short})[0]
	if info.Start.IsZero() || !info.Close.After(info.Start) || info.Description != "short" {
		t.Errorf("the recording is %+v", info)
	}
	if _, err := jfrtest.Parse(f.read(t, short, false)); err != nil {
		t.Error(err)
	}
	if deleted := f.Delete([]int64{id, short, 99}); deleted != 2 {
		t.Errorf("deleted %d", deleted)
	}
	if _, err := f.Open(id, false); code(err) != apierr.ResourceNotFound {
		t.Errorf("the error is %v", err)
	}
}

func TestRetention(t *testing.T) {
	limits := roomy
	limits.Retention = 0
	f := start(t, t.TempDir(), limits)
	id, kept := f.create(t, Spec{}), f.create(t, Spec{})
	f.read(t, kept, true)
	if matched, closed := f.Close(nil); matched != 2 || closed != 1 {
		t.Errorf("closed %d of %d", closed, matched)
	}
	if f.state(id) != "" || f.state(kept) != Closed {
		t.Errorf("the states are %q and %q", f.state(id), f.state(kept))
	}
	if left, _ := filepath.Glob(filepath.Join(f.folder, "[0-9]*")); len(left) != 1 {
		t.Errorf("the folder has %v", left)
	}

	limits.Retention = 30 * time.Millisecond
	f = start(t, t.TempDir(), limits)
	id = f.create(t, Spec{})
	f.Close(nil)
	eventually(t, "the removal", func() bool { return f.state(id) == "" })
}

func TestRefusals(t *testing.T) {
	f := start(t, t.TempDir(), Limits{MaxTotalBytes: 1 << 20, MaxRecordings: 2})
	for key, value := range map[string]string{
		"template":                     "fast",
		"app.Nothing#enabled":          "true",
		"app.SqlTransaction":           "true",
		"app.SqlTransaction#period":    "1 s",
		"app.SqlTransaction#threshold": "fast",
		"jdk.ExecutionSample#period":   "0 ms",
		"jdk.ExecutionSample#enabled":  "yes",
		"app.PluginCall#threshold":     "99999999999999999999 s",
		"app.ClientRequest#threshold":  "-1 ms",
		"jdk.CPULoad#period":           "",
		"app.AdminRequest#stackTrace":  "1",
		"app.AdminRequest#throttle":    "0/s",
		"app.NodeCall#throttle":        "fast",
		"#":                            "",
		strings.Repeat("x", 300) + "#": "x",
	} {
		_, err := f.Create(Spec{Settings: map[string]string{key: value}})
		if code(err) != apierr.IllegalArgument || !strings.Contains(err.Error(), clip(key)) {
			t.Errorf("%s=%s: the error is %v", key, value, err)
		}
	}
	f.create(t, Spec{Delay: time.Hour})
	f.create(t, Spec{})
	if _, err := f.Create(Spec{}); code(err) != apierr.IllegalArgument || apierr.From(err).HTTP() != 409 {
		t.Errorf("the error is %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(f.folder, "[0-9]*")); len(left) != 2 {
		t.Errorf("the folder has %v", left)
	}
}

func TestCustomSettingsWinOverTheTemplate(t *testing.T) {
	for custom, want := range map[string]time.Duration{"": time.Millisecond, "40ms": 40 * time.Millisecond, "3 us": 3 * time.Microsecond} {
		m := map[string]string{"template": "profile"}
		if custom != "" {
			m["app.SqlTransaction#threshold"] = custom
		}
		s, err := parseSettings(m)
		if err != nil || s["app.SqlTransaction"].threshold != want {
			t.Errorf("%q: %v, %v", custom, s["app.SqlTransaction"].threshold, err)
		}
	}
	a, _ := parseSettings(map[string]string{"app.NodeCall#enabled": "false", "app.PluginCall#threshold": "1 s", "app.ClientRequest#throttle": "off"})
	b, _ := parseSettings(map[string]string{"app.PluginCall#threshold": "2 s", "app.NodeCall#threshold": "9 s", "app.PluginCall#throttle": "7 /s", "app.AdminRequest#throttle": "7000/s"})
	m := merge([]settings{a, b})
	if m["app.PluginCall"].threshold != time.Second || m["app.NodeCall"].threshold != 9*time.Second {
		t.Errorf("merged to %v and %v", m["app.PluginCall"], m["app.NodeCall"])
	}
	if m["app.PluginCall"].throttle != throttleDefault || m["app.ClientRequest"].throttle != 0 || m["app.AdminRequest"].throttle != 7000 {
		t.Errorf("merged to %v, %v and %v", m["app.PluginCall"], m["app.ClientRequest"], m["app.AdminRequest"])
	}
}

func TestEventsAreThrottled(t *testing.T) {
	f := start(t, t.TempDir(), roomy)
	f.create(t, Spec{Settings: map[string]string{"app.NodeCall#throttle": "3/s", "app.PluginCall#throttle": "off"}})
	f.mu.Lock() // Nothing is granted anew meanwhile.
	defer f.mu.Unlock()
	f.collector.settings.allow()
	var calls, all int
	for range 1000 {
		if event.Wants(event.KindNodeCall, time.Second) {
			calls++
		}
		if event.Wants(event.KindPluginCall, time.Second) {
			all++
		}
	}
	if calls != 3 || all != 1000 {
		t.Errorf("%d and %d events are wanted", calls, all)
	}
}

// rotate ends a chunk, as time does.
func (f *fixture) rotateNow() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rotate(time.Now())
}

func TestLimitsDropWholeChunks(t *testing.T) {
	need.Time(t)
	const most = 200 << 10
	f := start(t, t.TempDir(), roomy)
	id := f.create(t, Spec{MaxSize: most})
	for i := range 60 {
		f.rotateNow()
		f.mu.Lock()
		size := f.recordings[id].size
		f.mu.Unlock()
		if size > most {
			t.Fatalf("after %d chunks the recording has %d bytes", i, size)
		}
	}
	path := filepath.Join(t.TempDir(), "limit.jfr")
	if err := os.WriteFile(path, f.read(t, id, false), 0o600); err != nil {
		t.Fatal(err)
	}
	jfrtest.Check(t, path)

	old := f.create(t, Spec{MaxAge: 40 * time.Millisecond})
	first := f.events(t, old)
	eventually(t, "the drop", func() bool {
		f.rotateNow()
		events := f.events(t, old)
		return len(events) > 0 && len(first) > 0 && events[0].Start.After(first[0].Start)
	})
}

func TestTheTotalLimitDropsTheBeginning(t *testing.T) {
	const most = 300 << 10
	f := start(t, t.TempDir(), Limits{MaxTotalBytes: most, MaxRecordings: 2, Retention: -1})
	id := f.create(t, Spec{MaxSize: 1 << 20})
	for range 80 {
		f.rotateNow()
		f.mu.Lock()
		used := f.used()
		f.mu.Unlock()
		if used > most {
			t.Fatalf("the recordings have %d bytes", used)
		}
	}
	if f.state(id) != Running {
		t.Errorf("the state is %s", f.state(id))
	}
	if _, err := jfrtest.Parse(f.read(t, id, false)); err != nil {
		t.Error(err)
	}
}

func TestRecordingsSurviveARestart(t *testing.T) {
	folder := t.TempDir()
	f := start(t, folder, roomy)
	running, delayed, closed := f.create(t, Spec{Description: "ran"}), f.create(t, Spec{Delay: time.Hour}), f.create(t, Spec{})
	event.Record(event.SessionOpened{UserID: 7})
	data := f.read(t, closed, true)
	f.stop()

	// What a crash leaves: the beginning of a chunk, and a state that nobody corrected.
	dir := filepath.Join(folder, "1")
	segment := filepath.Join(dir, "000001.jfr")
	before, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(segment, append(before, before[:100]...), 0o600); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(filepath.Join(dir, descriptionFile))
	if err := os.WriteFile(filepath.Join(dir, descriptionFile), []byte(strings.Replace(string(text), "STOPPED", "RUNNING", 1)), 0o600); err != nil {
		t.Fatal(err)
	}

	f = start(t, folder, roomy)
	if f.state(running) != Stopped || f.state(delayed) != "" || f.state(closed) != Closed {
		t.Errorf("the states are %q, %q and %q", f.state(running), f.state(delayed), f.state(closed))
	}
	events := f.events(t, running)
	if found := find(events, "app.SessionOpened"); len(found) != 1 || found[0].Number("userId") != 7 {
		t.Errorf("the events of the session are %v", found)
	}
	if again := f.read(t, closed, false); string(again) != string(data) {
		t.Error("the closed recording changed")
	}
	if id := f.create(t, Spec{}); id != 4 {
		t.Errorf("the next id is %d", id)
	}
}

func TestTwoProcessesDoNotShareAFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "recordings")
	a, b := start(t, folder, roomy), start(t, folder, roomy)
	if a.opts.Folder == b.opts.Folder {
		t.Errorf("both use %s", a.opts.Folder)
	}
}

func TestDownloadsAndDeletion(t *testing.T) {
	f := start(t, t.TempDir(), roomy)
	id := f.create(t, Spec{})
	one, err := f.Open(id, false)
	if err != nil {
		t.Fatal(err)
	}
	two, err := f.Open(id, false)
	if err != nil {
		t.Fatal(err)
	}
	if f.Delete([]int64{id}) != 1 {
		t.Fatal("nothing was deleted")
	}
	for _, c := range []*Content{one, two} {
		data, err := io.ReadAll(c)
		if err != nil || int64(len(data)) != c.Size {
			t.Errorf("read %d of %d bytes: %v", len(data), c.Size, err)
		}
		if _, err := jfrtest.Parse(data); err != nil {
			t.Error(err)
		}
		c.Close()
		c.Close()
	}
	if left, _ := filepath.Glob(filepath.Join(f.folder, "[0-9]*")); len(left) != 0 {
		t.Errorf("the folder has %v", left)
	}
}

func TestARecordingThatCannotBeWrittenStops(t *testing.T) {
	f := start(t, t.TempDir(), roomy)
	id := f.create(t, Spec{})
	f.read(t, id, false)
	f.mu.Lock()
	rec := f.recordings[id]
	// A folder in the place of a segment cannot be written, whoever runs the test.
	rec.next = 41
	err := os.Mkdir(filepath.Join(rec.dir, "000042.jfr"), 0o700)
	rec.segments = append(rec.segments, segment{size: maxSegment, path: filepath.Join(rec.dir, "none")})
	f.rotate(time.Now())
	rec.segments = rec.segments[:len(rec.segments)-1]
	f.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if f.state(id) != Stopped {
		t.Errorf("the state is %s", f.state(id))
	}
	if event.On(event.KindSQLTransaction) {
		t.Error("events are wanted without a recording")
	}
	if _, err := jfrtest.Parse(f.read(t, id, false)); err != nil {
		t.Error(err)
	}
}

func TestEnvironmentShowsNoSecret(t *testing.T) {
	for _, f := range environment([]string{"GOGC=50", "APP_PASSWORD=pl4nt3d", "EMPTY="}) {
		if f.Key == "GOGC" && f.Value != "50" || f.Key != "GOGC" && f.Value != masked {
			t.Errorf("%s is shown as %q", f.Key, f.Value)
		}
	}
}

func TestSplitName(t *testing.T) {
	for name, want := range map[string][2]string{
		"example.org/app/internal/store.(*DB).Write":        {"example_org/app/internal/store/DB", "Write"},
		"example.org/app/internal/store.Open":               {"example_org/app/internal/store", "Open"},
		"example.org/app/internal/store.Open.func1":         {"example_org/app/internal/store", "Open.func1"},
		"example.org/app/x.Value.Get":                       {"example_org/app/x/Value", "Get"},
		"example.org/app/x.Pass[...]":                       {"example_org/app/x", "Pass"},
		"example.org/app/x.(*List[go.shape.int]).Add.func1": {"example_org/app/x/List", "Add.func1"},
		"main.main":        {"main", "main"},
		"runtime.mallocgc": {"runtime", "mallocgc"},
		"odd":              {"go", "odd"},
	} {
		if class, method := splitName(name); class != want[0] || method != want[1] {
			t.Errorf("%s is %s and %s", name, class, method)
		}
	}
}

// TestJVMsAreSeparated wants a chunk without constants between the chunks of two JVMs, and none
// between those of one.
func TestJVMsAreSeparated(t *testing.T) {
	f := start(t, t.TempDir(), roomy)
	id := f.create(t, Spec{})
	for i, tt := range []struct{ process, chunks int }{{1, 1}, {1, 1}, {2, 2}, {2, 1}, {1, 2}} {
		path := filepath.Join(t.TempDir(), "part.jfr")
		if err := os.WriteFile(path, schema.NewChunk(time.Now()).Finish(time.Now()), 0o600); err != nil {
			t.Fatal(err)
		}
		f.Accept(path, tt.process)
		f.mu.Lock()
		last := f.recordings[id].jvm[i]
		f.mu.Unlock()
		data, err := os.ReadFile(last.path)
		if err != nil {
			t.Fatal(err)
		}
		chunks, err := jfr.Scan(bytes.NewReader(data), int64(len(data)))
		if err != nil || len(chunks) != tt.chunks {
			t.Errorf("part %d of process %d has %d chunks, want %d: %v", i, tt.process, len(chunks), tt.chunks, err)
		}
	}
}
