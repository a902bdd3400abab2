// SPDX-License-Identifier: Apache-2.0

package java_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
)

// pid returns the process id of a plugin's JVM.
func (w *world) pid(m plugin.Module) int {
	w.t.Helper()
	text, err := tell(w.t.Context(), m, "pid")
	if err != nil {
		w.t.Fatal(err)
	}
	pid, err := strconv.Atoi(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return pid
}

// kill kills a JVM while calls of the busy plugins are pending in it.
func (w *world) kill(pid int, busy ...plugin.Module) {
	w.t.Helper()
	var calls sync.WaitGroup
	for _, m := range busy {
		calls.Go(func() {
			if _, err := tell(w.t.Context(), m, "wait"); err == nil {
				w.t.Error("a call was answered by a JVM that was killed")
			}
		})
	}
	waitFor(w.t, "calls", func() bool {
		s, err := w.Measure(w.t.Context(), false)
		return err == nil && s.Calls == int64(len(busy))
	})
	restarts := w.Stats().Restarts
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		w.t.Fatal(err)
	}
	calls.Wait()
	waitFor(w.t, "the end of the JVM", func() bool { return w.Stats().Restarts > restarts })
}

// TestOwn verifies that each plugin has its own JVM.
func TestOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.Isolation = java.Own })
	a, b := w.load("a", faults(t, "a")), w.load("b", faults(t, "b"))
	pid := w.pid(b)
	if w.pid(a) == pid {
		t.Error("two plugins share a JVM")
	}
	if _, err := tell(t.Context(), a, "halt"); err == nil {
		t.Error("it is survived")
	}
	w.says(a, "echo", "echo")
	if got := w.pid(b); got != pid {
		t.Error("the other plugin lost its JVM")
	}
	if s := w.Stats(); s.JVMs != 2 || s.Restarts != 1 {
		t.Errorf("the state is %+v", s)
	}
	if _, err := w.Measure(t.Context(), false); err != nil || a.Memory() == 0 || runtime.GOOS == "linux" && a.(plugin.Measured).CPU() == 0 {
		t.Errorf("what a plugin uses is unknown: %d bytes, %s, %v", a.Memory(), a.(plugin.Measured).CPU(), err)
	}
	if _, err := w.Load(t.Context(), plugin.Source{Name: "no.jar", Data: []byte("no jar")}); err == nil {
		t.Error("it is loaded")
	}
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if n := w.Stats().JVMs; n != 1 {
		t.Errorf("there are %d JVMs for one plugin", n)
	}
	w.says(b, "echo", "echo")
}

// TestSuspectsAreIsolated verifies that plugins with pending calls in a JVM that died get
// their own JVMs, and that only the one that crashes again is taken out of service.
func TestSuspectsAreIsolated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.Isolation, o.Crashes, o.CrashWindow = java.Auto, 3, time.Hour })
	bad, busy, idle := w.load("bad", faults(t, "bad")), w.load("busy", faults(t, "busy")), w.load("idle", faults(t, "idle"))
	shared := w.pid(idle)
	if w.pid(bad) != shared || w.pid(busy) != shared {
		t.Error("plugins that nobody suspects do not share a JVM")
	}
	w.kill(shared, bad, busy)
	pids := map[string]int{"idle": w.pid(idle), "busy": w.pid(busy), "bad": w.pid(bad)}
	if pids["bad"] == pids["busy"] || pids["bad"] == pids["idle"] || pids["busy"] == pids["idle"] || w.Stats().JVMs != 3 {
		t.Fatalf("the suspects share a JVM: %v", pids)
	}
	for range 3 {
		if _, err := tell(t.Context(), bad, "halt"); err == nil {
			t.Fatal("it is survived")
		}
	}
	waitFor(t, "the quarantine", func() bool { return w.said() != "[]" })
	if got := w.said(); !strings.HasPrefix(got, "[bad/: the Java host died 3 times") || strings.Contains(got, "busy") {
		t.Errorf("it is said %s", got)
	}
	if got := w.pid(busy); got != pids["busy"] {
		t.Error("another suspect lost its JVM")
	}
	if got := w.pid(idle); got != pids["idle"] {
		t.Error("a plugin that nobody suspects lost its JVM")
	}
	for _, h := range []plugin.Hook{plugin.Pause, plugin.Resume} {
		if err := bad.Extensions()[0].Hook(t.Context(), h); err != nil {
			t.Errorf("%s: %v", h, err)
		}
	}
	w.says(bad, "echo", "echo")
	if got := w.server.get("busy", "hooks"); got != "start start" {
		t.Errorf("the hooks of another suspect are %q", got)
	}
}

// TestCallsOfSuspectsAreTriedAgain verifies that pure calls are retried if it is unknown which
// plugin ended the JVM, because each suspect gets a JVM of its own.
func TestCallsOfSuspectsAreTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.Isolation, o.CrashWindow = java.Auto, time.Hour })
	bad, busy := w.load("bad", faults(t, "bad")), w.load("busy", faults(t, "busy"))
	shared := w.pid(bad)
	lost := make(chan error, 1)
	go func() {
		_, err := tell(t.Context(), bad, "wait")
		lost <- err
	}()
	stop := make(chan struct{})
	var calls atomic.Int64
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				var r *plugin.ClientRequest
				if _, err := busy.Extensions()[0].Call(t.Context(), plugin.TransformRequest, []any{&plugin.ClientRequest{ClientIP: "x"}}, &r); err != nil {
					t.Errorf("a call failed after %d: %v", calls.Load(), err)
					return
				}
				calls.Add(1)
			}
		})
	}
	waitFor(t, "calls", func() bool { return calls.Load() > 100 })
	if err := syscall.Kill(shared, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-lost; err == nil {
		t.Error("a call was answered by a JVM that was killed")
	}
	before := calls.Load()
	waitFor(t, "calls in the next JVM", func() bool { return t.Failed() || calls.Load() > before+100 })
	close(stop)
	callers.Wait()
	if w.pid(bad) == w.pid(busy) {
		t.Error("the suspects share a JVM")
	}
}

// TestCulpritIsKnown verifies that only the plugin that ended the JVM is blamed, even if
// others had pending calls.
func TestCulpritIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.Isolation, o.CrashWindow = java.Auto, time.Hour })
	bad, busy, idle := w.load("bad", faults(t, "bad")), w.load("busy", faults(t, "busy")), w.load("idle", faults(t, "idle"))
	for _, what := range []string{"halt", "memory"} {
		lost := make(chan error, 1)
		go func() {
			_, err := tell(t.Context(), busy, "wait")
			lost <- err
		}()
		waitFor(t, "the call", func() bool {
			s, err := w.Measure(t.Context(), false)
			return err == nil && s.Calls == 1
		})
		if _, err := tell(t.Context(), bad, what); err == nil {
			t.Fatalf("%s is survived", what)
		}
		if what == "halt" {
			if err := <-lost; err == nil {
				t.Error("a call was answered by a JVM that is gone")
			}
			// The other two share a JVM, which continues when the culprit ends its own.
			if shared := w.pid(busy); w.pid(idle) != shared || w.pid(bad) == shared {
				t.Error("the wrong plugins are isolated")
			}
		} else {
			select {
			case err := <-lost:
				t.Errorf("a call of another JVM was lost: %v", err)
			default:
			}
		}
	}
	w.says(bad, "echo", "echo")
	if got := w.server.get("busy", "hooks"); got != "start start" {
		t.Errorf("the hooks of the other plugin are %q", got)
	}
}

// computes makes a pure call, which is retried if another plugin ends the JVM.
func (w *world) computes(m plugin.Module) {
	w.t.Helper()
	in, out := &plugin.ClientRequest{ClientIP: "x"}, new(*plugin.ClientRequest)
	if _, err := m.Extensions()[0].Call(w.t.Context(), plugin.TransformRequest, []any{in}, out); err != nil {
		w.t.Fatalf("a call of another plugin: %v", err)
	}
}

// TestLargestHolderIsKnown verifies that the plugin that holds most of the memory is blamed
// for an OutOfMemoryError, even if another plugin causes it. Pure calls of other plugins do
// not fail.
func TestLargestHolderIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.Isolation, o.CrashWindow = java.Auto, time.Hour })
	bad, busy, idle := w.load("bad", faults(t, "bad")), w.load("busy", faults(t, "busy")), w.load("idle", faults(t, "idle"))
	shared := w.pid(idle)
	w.says(bad, "hoard", "hoard")
	waitFor(t, "the end of the JVM", func() bool {
		w.computes(busy)
		return w.Stats().Restarts > 0
	})
	pids := []int{w.pid(bad), w.pid(busy), w.pid(idle)}
	if pids[1] != pids[2] || pids[0] == pids[1] || pids[1] == shared {
		t.Errorf("the JVMs are %v, that of all was %d", pids, shared)
	}
	if !w.log.has("as one plugin holds", `because of an OutOfMemoryError in plugin \"bad\"`, "plugins=[bad]") {
		t.Error("the log does not name the culprit")
	}
	if n := w.Stats().Restarts; n != 1 {
		t.Errorf("%d JVMs died", n)
	}
}

// TestClassesAreGivenBack lets a plugin exhaust the metaspace, most likely after it was
// unloaded. Other plugins can be loaded and called, and are not blamed.
func TestClassesAreGivenBack(t *testing.T) {
	w := newWorld(t, func(o *java.Options) {
		o.Isolation, o.CrashWindow, o.Runaway = java.Auto, time.Hour, time.Hour
		o.Flags = []string{"-XX:MaxMetaspaceSize=64m"}
	})
	good, bad := w.load("good", faults(t, "good")), w.load("bad", faults(t, "bad"))
	ctx, cancel := context.WithCancel(t.Context())
	lost := make(chan error, 1)
	go func() {
		_, err := tell(ctx, bad, "classes")
		lost <- err
	}()
	waitFor(t, "the call", func() bool { return w.server.get("bad", "classes") != "" })
	cancel()
	if err := <-lost; err == nil {
		t.Error("the call was answered")
	}
	if err := bad.Close(t.Context()); err != nil {
		t.Error(err)
	}
	// The call ends with its JVM, unless it failed and its classes could be collected.
	waitFor(t, "the end of the call", func() bool {
		w.computes(good)
		s, err := w.Measure(t.Context(), false)
		return s.Restarts > 0 || err == nil && s.Calls == 0
	})
	w.says(w.load("next", faults(t, "next")), "echo", "echo")
	if w.pid(good) != w.Stats().PID {
		t.Error("a plugin that did nothing wrong has a JVM of its own")
	}
	if w.Stats().Restarts > 0 && !w.log.has("as one plugin holds", "because of an OutOfMemoryError in") {
		t.Error("the log does not say why")
	}
}

// TestAllAreSuspects verifies that all plugins are isolated after a second crash with an
// unknown cause, in at most MaxOwn JVMs.
func TestAllAreSuspects(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.Isolation, o.MaxOwn, o.CrashWindow = java.Auto, 2, time.Hour })
	list := make([]plugin.Module, 3)
	for i := range list {
		list[i] = w.load(fmt.Sprintf("p%d", i), faults(t, fmt.Sprintf("p%d", i)))
	}
	w.kill(w.pid(list[0]))
	first := w.pid(list[0])
	for _, m := range list {
		if w.pid(m) != first {
			t.Fatal("plugins are isolated after a crash that may have come from outside")
		}
	}
	w.kill(first)
	pids := map[int]bool{}
	for _, m := range list {
		pids[w.pid(m)] = true
	}
	if len(pids) != 2 {
		t.Errorf("the plugins are in %d JVMs", len(pids))
	}
}
