// SPDX-License-Identifier: Apache-2.0

// Package plugintest contains the suite that the host of every language must pass: plugins can rely
// on the same behaviour in every language. It is for tests only and independent of languages: each
// provides the same few plugins, which fixture.go describes.
//
// What is specific to a language, such as its forms of plugins, its library or its debugger, is
// tested with its host.
package plugintest

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/config"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/trace"
	"example.org/app/internal/role"
)

// A Language is a host under test, and its fixtures.
type Language struct {
	// Suffix is the suffix of file names, with its dot.
	Suffix string
	// NewHost returns a host whose plugins use the server. The suite closes it. Each test has its
	// own.
	NewHost func(t testing.TB, server plugin.Server) plugin.Host
	// Fixture returns the bytes of a fixture.
	Fixture func(t testing.TB, f Fixture) []byte
	// Corpus returns faulty plugins; nil means none.
	Corpus func(t testing.TB) []Bad
	// Parallel runs tests in parallel, except those that measure the process.
	Parallel bool
	// Rounds is how often a plugin is loaded, used and unloaded in a row; 0 means 300.
	Rounds int
}

// Run runs the suite.
func Run(t *testing.T, l Language) {
	type test struct {
		name string
		run  func(t *testing.T, w *world)
	}
	tests := []test{
		{"Descriptor", testDescriptor},
		{"Extensions", testExtensions},
		{"Broken", testBroken},
		{"Garbage", testGarbage},
		{"LoadingIsCancelled", testLoadingIsCancelled},
		{"LoadingTimeLimit", testLoadingTimeLimit},
		{"LoadingHoldsUpNobody", testLoadingHoldsUpNobody},
		{"LoadingEndsWithTheManager", testLoadingEndsWithTheManager},
		{"Roles", testRoles},
		{"Apart", testApart},
		{"Hooks", testHooks},
		{"HookFailures", testHookFailures},
		{"HookTimeout", testHookTimeout},
		{"StartThatFails", testStartThatFails},
		{"EveryMethod", testEveryMethod},
		{"LargeLists", testLargeLists},
		{"ArgumentsAreCopies", testArgumentsAreCopies},
		{"Decisions", testDecisions},
		{"Combined", testCombined},
		{"Nothing", testNothing},
		{"MissingFunctions", testMissingFunctions},
		{"Refusal", testRefusal},
		{"Exception", testException},
		{"FailuresThroughTheManager", testFailuresThroughTheManager},
		{"BackgroundFailures", testBackgroundFailures},
		{"Concurrent", testConcurrent},
		{"Interleaved", testInterleaved},
		{"Cancellation", testCancellation},
		{"Deadline", testDeadline},
		{"TimeLimit", testTimeLimit},
		{"Crowd", testCrowd},
		{"Retire", testRetire},
		{"HotSwap", testHotSwap},
		{"HeldCallOutlivesTheSwap", testHeldCallOutlivesTheSwap},
		{"BadSuccessor", testBadSuccessor},
		{"Split", testSplit},
		{"SplitUnderLoad", testSplitUnderLoad},
		{"SplitReadings", testSplitReadings},
		{"Shadow", testShadow},
		{"CloseDuringCalls", testCloseDuringCalls},
		{"RemoveDuringCalls", testRemoveDuringCalls},
		{"HostClosesModules", testHostClosesModules},
		{"Limits", testLimits},
		{"Node", testNode},
		{"Config", testConfig},
		{"API", testAPI},
		{"Behalf", testBehalf},
		{"Notify", testNotify},
		{"MeetingEnded", testMeetingEnded},
		{"Storage", testStorage},
		{"StorageFull", testStorageFull},
		{"Settings", testSettings},
		{"Schedules", testSchedules},
		{"Events", testEvents},
		{"Traces", testTraces},
	}
	for part := range corpusParts {
		tests = append(tests, test{fmt.Sprintf("Corpus %d", part+1), func(t *testing.T, w *world) { testCorpus(t, w, part) }})
	}
	t.Run("Rounds", func(t *testing.T) { testRounds(t, open(t, l)) })
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if l.Parallel {
				t.Parallel()
			}
			test.run(t, open(t, l))
		})
	}
}

// A world is a host with the server that its plugins use.
type world struct {
	Language
	t      *testing.T
	server *server
	host   plugin.Host

	// loading receives the names of the files that a manager begins to load.
	loading chan string

	// close closes the host once, because a manager closes it, too.
	close func() error

	// log is the handler of the managers' logs.
	log slog.Handler

	// traces records the calls of managers; disabled until a test configures it.
	traces *trace.Recorder

	mu       sync.Mutex
	settings config.Plugin
}

func open(t *testing.T, l Language) *world {
	w := &world{Language: l, t: t, server: newServer(t), settings: config.Default().Plugin, loading: make(chan string, 100), log: slog.DiscardHandler}
	w.traces = trace.NewRecorder(w.settings.Traces)
	w.settings.LoadTimeoutMillis = int32(limit.Milliseconds())
	w.settings.CallTimeoutMillis = int32(limit.Milliseconds())
	w.host = l.NewHost(t, w.server)
	w.close = sync.OnceValue(func() error { return w.host.Close(context.Background()) })
	t.Cleanup(func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// source returns a fixture in the form for a host.
func (w *world) source(f Fixture) plugin.Source {
	w.t.Helper()
	return plugin.Source{Name: string(f) + w.Suffix, Data: w.Fixture(w.t, f)}
}

// load loads a fixture directly into the host, without a manager. It is closed at the end of the
// test.
func (w *world) load(f Fixture) plugin.Module {
	w.t.Helper()
	m, err := w.host.Load(w.t.Context(), w.source(f))
	if err != nil {
		w.t.Fatalf("load %s: %v", f, err)
	}
	w.t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			w.t.Error(err)
		}
	})
	return m
}

// sharedHost is a host that a manager closes.
type sharedHost struct {
	plugin.Host
	close   func() error
	loading chan<- string
}

func (h sharedHost) Load(ctx context.Context, src plugin.Source) (plugin.Module, error) {
	select {
	case h.loading <- src.Name:
	default:
	}
	return h.Host.Load(ctx, src)
}

func (h sharedHost) Close(context.Context) error { return h.close() }

// manager returns a manager of the host. It is closed at the end of the test.
func (w *world) manager(roles ...role.Role) *plugin.Manager {
	if len(roles) == 0 {
		roles = []role.Role{role.Gateway, role.Service}
	}
	m := plugin.NewManager(plugin.Options{
		Roles: roles, Hosts: []plugin.Host{sharedHost{w.host, w.close, w.loading}}, Logger: slog.New(w.log),
		Values: w.server.valuesOf, Traces: w.traces,
		Settings: func() config.Plugin {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.settings
		},
	})
	w.t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			w.t.Error(err)
		}
	})
	return m
}

// set changes the settings of the manager.
func (w *world) set(fn func(*config.Plugin)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fn(&w.settings)
}

// start loads a fixture and starts it.
func (w *world) start(m *plugin.Manager, f Fixture) *plugin.Plugin {
	w.t.Helper()
	p, err := m.Load(w.t.Context(), w.host.Language(), w.source(f))
	if err != nil {
		w.t.Fatalf("load %s: %v", f, err)
	}
	for _, s := range m.Do(w.t.Context(), p, plugin.Start) {
		if s.Err != nil || s.State != plugin.Started {
			w.t.Fatalf("start %s of %s: %v", s.Extension, f, s.Err)
		}
	}
	return p
}

// extension finds an extension by its class.
func extension(t *testing.T, m plugin.Module, class string) plugin.Extension {
	t.Helper()
	for _, x := range m.Extensions() {
		if simple(x.Class()) == class {
			return x
		}
	}
	t.Fatalf("there is no extension %s", class)
	return nil
}

// limit is the time limit of any wait. It is long, because machines can be slow.
const limit = 2 * time.Minute

// receive waits for a value from a channel.
func receive[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(limit):
		t.Fatalf("waited in vain: %s", what)
		panic("not reached")
	}
}

// await waits for a condition.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
