// SPDX-License-Identifier: Apache-2.0

package java_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/java/javatest"
)

// TestFaultsOfCalls verifies that faults which affect only their own call do not end the JVM.
func TestFaultsOfCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	m := w.load("faults", faults(t, "faults"))
	pid := w.Stats().PID

	_, err := tell(t.Context(), m, "throw")
	if x, ok := errors.AsType[*plugin.Exception](err); !ok || !strings.Contains(x.Message, "java.lang.IllegalStateException: it is broken") ||
		!strings.Contains(x.Message, "because of this") || !strings.HasPrefix(x.Location, "Faults.java:") || !strings.Contains(x.Stack, "faults.Faults.act") {
		t.Errorf("an exception: %#v", err)
	}
	for what, want := range map[string]string{
		"overflow": "java.lang.StackOverflowError", "wrapper": "java.lang.IllegalMonitorStateException", "giant": "16777216",
	} {
		if _, err := tell(t.Context(), m, what); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %.500v", what, err)
		}
	}
	if text, err := tell(t.Context(), m, "large"); err != nil || len(text) != 4<<20 {
		t.Errorf("a large result: %d bytes, %v", len(text), err)
	}
	for _, what := range []string{"sleep", "wait", "deadlock", "stubborn"} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if _, err := tell(ctx, m, what); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", what, err)
		}
		cancel()
	}
	waitFor(t, "the interruption", func() bool { return w.log.has("text=interrupted") })
	w.says(m, "print", "print")
	waitFor(t, "what the plugin prints", func() bool {
		return w.log.has("to standard output", "to standard error", "to the log 5", "plugin=faults")
	})
	w.says(m, "echo", "echo")
	if s := w.Stats(); s.PID != pid || s.Restarts != 0 {
		t.Errorf("the JVM is another one: %+v", s)
	}
}

// TestSpin verifies that code that spins on every processor does not block other calls for
// long.
func TestSpin(t *testing.T) {
	t.Parallel()
	if found, err := java.Find(t.Context(), ""); err != nil || found.Feature < 24 {
		t.Skipf("Java %s (%v): before Java 24 nobody can give virtual threads more processors", found.Version, err)
	}
	w := newWorld(t, nil)
	m := w.load("faults", faults(t, "faults"))
	ctx, cancel := context.WithCancel(t.Context())
	var spinning sync.WaitGroup
	for range runtime.NumCPU() + 1 {
		spinning.Go(func() {
			if _, err := tell(ctx, m, "spin"); !errors.Is(err, context.Canceled) {
				t.Errorf("spinning: %v", err)
			}
		})
	}
	waitFor(t, "the spinning", func() bool {
		s, err := w.Measure(t.Context(), false)
		return err == nil && s.Calls > 0
	})
	w.says(m, "echo", "echo")
	cancel()
	spinning.Wait()
	w.says(m, "echo", "echo")
}

// TestFlood verifies that calls are served while a plugin floods the log.
func TestFlood(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	m := w.load("faults", faults(t, "faults"))
	var flood sync.WaitGroup
	flood.Go(func() { w.says(m, "flood", "flooded") })
	for range 50 {
		w.says(m, "echo", "echo")
	}
	flood.Wait()
	waitFor(t, "lines", func() bool { return w.log.has("of a flood that goes on") })
}

// TestFloodWithALimit verifies that lines above the limit are dropped, and that the log names
// the plugin.
func TestFloodWithALimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.LogLines = func() int { return 10 } })
	m := w.load("talker", faults(t, "talker"))
	w.says(m, "flood", "flooded")
	if !w.log.has("a plugin writes too many lines", "plugin=talker") {
		t.Error("the log does not name the plugin")
	}
	if n := strings.Count(w.log.String(), "of a flood that goes on"); n > 20_000 {
		t.Errorf("%d of 50,000 lines are written", n)
	}
}

// TestSlowHook verifies that a hook that does not end times out, and that the stack of its
// thread is logged.
func TestSlowHook(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.server.values["slow/on-start"] = "sleep"
	m, err := w.Load(t.Context(), plugin.Source{Name: "slow.jar", Data: faults(t, "slow")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := m.Extensions()[0].Hook(ctx, plugin.Start); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	if !w.log.has("threads of the Java host", "a hook took too long", "plugin=slow", "Faults.start") {
		t.Error("the log lacks the threads")
	}
	w.says(m, "echo", "echo")
}

// load16 calls a plugin from 16 goroutines until done is called, which returns the numbers of
// successful and failed calls.
func (w *world) load16(m plugin.Module) (done func() (good, bad int64)) {
	var good, bad atomic.Int64
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 16 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				_, err := tell(ctx, m, "echo")
				cancel()
				if err != nil {
					if errors.Is(err, context.DeadlineExceeded) {
						w.t.Error("a call was held up:", err)
						return
					}
					bad.Add(1)
				} else {
					good.Add(1)
				}
			}
		})
	}
	return func() (int64, int64) {
		close(stop)
		wg.Wait()
		return good.Load(), bad.Load()
	}
}

// TestKilled kills the JVM under load several times, and verifies that it is restarted and the
// states of its plugins are restored.
func TestKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.Crashes = 100 })
	busy := w.load("busy", faults(t, "busy"))
	paused := w.load("paused", faults(t, "paused"))
	if err := paused.Extensions()[0].Hook(t.Context(), plugin.Pause); err != nil {
		t.Fatal(err)
	}
	loaded, err := w.Load(t.Context(), plugin.Source{Name: "loaded.jar", Data: faults(t, "loaded")})
	if err != nil {
		t.Fatal(err)
	}
	done := w.load16(busy)
	for round := range int64(3) {
		before := w.Stats()
		// Pending calls fail at once.
		lost := make(chan error, 1)
		go func() {
			_, err := tell(context.Background(), busy, "wait")
			lost <- err
		}()
		waitFor(t, "calls", func() bool {
			s, err := w.Measure(t.Context(), false)
			return err == nil && s.Calls > 0
		})
		if err := syscall.Kill(before.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := <-lost; err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call that was on its way: %v", err)
		}
		waitFor(t, "another JVM", func() bool { s := w.Stats(); return s.Up && s.PID != before.PID && s.Restarts == round+1 })
		waitFor(t, "the end of the socket of the old one", func() bool {
			_, err := os.Stat(fmt.Sprintf("/tmp/.java_pid%d", before.PID))
			return runtime.GOOS != "linux" || errors.Is(err, fs.ErrNotExist)
		})
		w.says(busy, "echo", "echo")
		waitFor(t, "the other plugin", func() bool { return strings.Count(w.server.get("paused", "hooks"), "pause") == int(round)+2 })
	}
	good, bad := done()
	if good == 0 {
		t.Error("no call succeeded")
	}
	t.Logf("%d calls succeeded and %d were lost", good, bad)
	for id, want := range map[string]string{
		"busy": "start start start start", "paused": "start pause start pause start pause start pause", "loaded": "",
	} {
		waitFor(t, "the hooks of "+id+": "+want, func() bool { return w.server.get(id, "hooks") == want })
	}
	if err := loaded.Extensions()[0].Hook(t.Context(), plugin.Start); err != nil {
		t.Error(err)
	}
	if err := paused.Extensions()[0].Hook(t.Context(), plugin.Resume); err != nil {
		t.Error(err)
	}
	w.says(paused, "echo", "echo")
}

// TestDeaths verifies that the JVM is restarted, and the cause logged, however a plugin ends
// it.
func TestDeaths(t *testing.T) {
	t.Parallel()
	reports := filepath.Join(t.TempDir(), "crashes")
	w := newWorld(t, func(o *java.Options) { o.Crashes, o.CrashReports = 100, reports })
	m := w.load("deadly", faults(t, "deadly"))
	for what, want := range map[string]string{
		"crash": `because of a crash in its code in plugin \"deadly\"`, "memory": `because of an OutOfMemoryError in plugin \"deadly\"`, "halt": `exit status 9), because of Runtime.halt(9) in plugin \"deadly\"`,
		"exit": "exit status 7", "runtime-exit": "exit status 8",
	} {
		restarts := w.Stats().Restarts
		_, err := tell(t.Context(), m, what)
		if err == nil {
			t.Errorf("%s: it is survived", what)
		}
		w.says(m, "echo", "echo")
		if w.Stats().Restarts != restarts+1 {
			t.Errorf("%s: the JVM was not started again after %v", what, err)
		}
		if !w.log.has("the Java host died", want) {
			t.Errorf("%s: the log lacks %s", what, want)
		}
	}
	found, err := filepath.Glob(filepath.Join(reports, "java-*.txt"))
	if err != nil || len(found) != 1 || !w.log.has("the Java host died", "the report is in "+found[0]) {
		t.Fatalf("the reports of one crash are %v, %v; the log is %s", found, err, w.log)
	}
	if report, err := os.ReadFile(found[0]); err != nil || !strings.Contains(string(report), "Problematic frame") {
		t.Errorf("%v: %.500s", err, report)
	}
}

// TestExit verifies that System.exit requests the end of the server, and that all plugins can
// be stopped in order.
func TestExit(t *testing.T) {
	t.Parallel()
	exits := make(chan string, 1)
	w := newWorld(t, func(o *java.Options) {
		o.Exit = func(id string, status int) { exits <- fmt.Sprint(id, " ", status) }
	})
	other := w.load("other", faults(t, "other"))
	m := w.load("leaver", faults(t, "leaver"))
	if _, err := tell(t.Context(), m, "exit"); err == nil {
		t.Error("the call succeeds")
	}
	if got := <-exits; got != "leaver 7" {
		t.Errorf("the server hears %q", got)
	}
	// The other plugin is still served, and both can be stopped.
	w.says(other, "echo", "echo")
	for _, m := range []plugin.Module{other, m} {
		if err := m.Extensions()[0].Hook(t.Context(), plugin.Stop); err != nil {
			t.Error(err)
		}
	}
	for _, id := range []string{"leaver", "other"} {
		if got := w.server.get(id, "hooks"); got != "start stop" {
			t.Errorf("the hooks of %s are %q", id, got)
		}
	}
	if _, err := tell(t.Context(), m, "echo"); err == nil || !strings.Contains(err.Error(), `plugin "leaver" stops the server by System.exit(7)`) {
		t.Errorf("the error is %v", err)
	}
}

// TestExitRefused verifies that ending the JVM throws an exception in a plugin that must not
// stop the server.
func TestExitRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) {
		o.RefuseExit = true
		o.Exit = func(string, int) { t.Error("the server stops") }
	})
	m := w.load("leaver", faults(t, "leaver"))
	for what, call := range map[string]string{"exit": "System.exit(7)", "runtime-exit": "Runtime.exit(8)", "halt": "Runtime.halt(9)", "halt-by-handle": "Runtime.halt(9)"} {
		if _, err := tell(t.Context(), m, what); err == nil || !strings.Contains(err.Error(), "java.lang.SecurityException: "+call+" is refused: the property app.plugin.java.allow-exit is false") {
			t.Errorf("%s: the error is %v", what, err)
		}
	}
	w.says(m, "echo", "echo")
	if n := w.Stats().Restarts; n != 0 {
		t.Errorf("the JVM was started %d times more", n)
	}
}

// TestWantOfMemoryCostsACall verifies that an OutOfMemoryError that leaves enough memory fails
// its call, and does not end the JVM.
func TestWantOfMemoryCostsACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	m := w.load("greedy", faults(t, "greedy"))
	for _, what := range []string{"array", "array-of-heap", "repeat", "thrown", "direct", "memory-let-go"} {
		if _, err := tell(t.Context(), m, what); err == nil || !strings.Contains(err.Error(), "java.lang.OutOfMemoryError") {
			t.Errorf("%s: the error is %v", what, err)
		}
		w.says(m, "echo", "echo")
	}
	w.says(m, "array-caught", "caught")
	if n := w.Stats().Restarts; n != 0 {
		t.Errorf("the JVM was started %d times more", n)
	}
}

// TestCrashLoop verifies that a plugin that crashes the JVM repeatedly is taken out of
// service, and that the others continue.
func TestCrashLoop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.Crashes, o.CrashWindow = 3, time.Hour })
	good := w.load("good", faults(t, "good"))
	bad := w.load("bad", faults(t, "bad"))
	for range 3 {
		if _, err := tell(t.Context(), bad, "halt"); err == nil {
			t.Fatal("it is survived")
		}
	}
	waitFor(t, "the quarantine", func() bool { return w.said() != "[]" })
	if got := w.said(); !strings.HasPrefix(got, "[bad/: the Java host died 3 times within 1h0m0s, the last time because: the Java host ended (exit status 9)") {
		t.Errorf("it is said %s", got)
	}
	if _, err := tell(t.Context(), bad, "echo"); err == nil || !strings.Contains(err.Error(), "died 3 times") {
		t.Errorf("the error is %v", err)
	}
	w.says(good, "echo", "echo")
	x := bad.Extensions()[0]
	for _, h := range []plugin.Hook{plugin.Pause, plugin.Resume} {
		if err := x.Hook(t.Context(), h); err != nil {
			t.Errorf("%s: %v", h, err)
		}
	}
	w.says(bad, "echo", "echo")
	if got := w.server.get("bad", "hooks"); !strings.HasSuffix(got, "start start start start") {
		t.Errorf("the hooks are %q", got)
	}
}

// TestLoopAtStart verifies that a plugin is taken out of service if its start ends the JVM
// each time it is restored.
func TestLoopAtStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.Crashes, o.CrashWindow = 3, time.Hour })
	good := w.load("good", faults(t, "good"))
	bad := w.load("bad", faults(t, "bad"))
	w.server.set("bad", "on-start", "halt")
	if err := syscall.Kill(w.Stats().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the quarantine", func() bool { return w.said() != "[]" })
	w.says(good, "echo", "echo")
	if _, err := tell(t.Context(), bad, "echo"); err == nil {
		t.Error("the plugin is there")
	}
	w.server.set("bad", "on-start", "throw")
	x := bad.Extensions()[0]
	if err := x.Hook(t.Context(), plugin.Resume); err == nil || !strings.Contains(err.Error(), "it is broken") {
		t.Errorf("the error is %v", err)
	}
	if err := x.Hook(t.Context(), plugin.Stop); err != nil {
		t.Error(err)
	}
}

// TestStartThatFailsLater verifies that only the extension that cannot be restarted after a
// crash is quarantined.
func TestStartThatFailsLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	good := w.load("good", faults(t, "good"))
	bad := w.load("bad", faults(t, "bad"))
	w.server.set("bad", "on-start", "throw")
	if err := syscall.Kill(w.Stats().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the JVM", func() bool { return w.Stats().Restarts == 1 && w.Stats().Up })
	w.says(good, "echo", "echo")
	if _, err := tell(t.Context(), bad, "echo"); err == nil || !strings.Contains(err.Error(), "could not be started again after the Java host died: java.lang.IllegalStateException: it is broken") {
		t.Errorf("the error is %v", err)
	}
	waitFor(t, "the quarantine", func() bool {
		return strings.Contains(w.said(), "bad/faults.Faults: the extension could not be started again")
	})
}

// TestSlowStartKeepsNobodyAway verifies that a plugin whose start hangs after a crash delays
// neither other plugins nor its own closing.
func TestSlowStartKeepsNobodyAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	slow := w.load("slow", faults(t, "slow"))
	good := w.load("good", faults(t, "good"))
	w.server.set("slow", "on-start", "sleep")
	w.kill(w.Stats().PID)
	w.says(good, "echo", "echo")
	waitFor(t, "the start of the slow plugin", func() bool { return w.server.get("slow", "hooks") == "start start" })
	w.says(good, "echo", "echo")
	w.load("new", faults(t, "new"))
	if err := slow.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := w.said(); got != "[]" {
		t.Errorf("the slow plugin was given up before others were back: %s", got)
	}
}

// TestRetiredWithoutJVM retires a plugin while its JVM is down: neither its stop hook nor its
// calls wait for its restoration.
func TestRetiredWithoutJVM(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	m := w.load("gone", faults(t, "gone"))
	other := w.load("other", faults(t, "other"))
	if err := syscall.Kill(w.Stats().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the death", func() bool { return !w.Stats().Up })
	called := make(chan error, 1)
	go func() {
		_, err := tell(context.Background(), m, "echo")
		called <- err
	}()
	m.(plugin.Retirer).Retire()
	if err := m.Extensions()[0].Hook(context.Background(), plugin.Stop); err != nil {
		t.Error(err)
	}
	if err := <-called; err == nil {
		t.Error("a plugin that is gone answers")
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
	w.says(other, "echo", "echo")
}

// TestCallsWaitForStart verifies that calls after a crash wait until their extension is
// restarted.
func TestCallsWaitForStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	m := w.load("late", faults(t, "late"))
	w.server.set("late", "on-start", "sleep")
	w.kill(w.Stats().PID)
	waitFor(t, "the start", func() bool { return w.server.get("late", "hooks") == "start start" })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := tell(ctx, m, "echo"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call of an extension that has not started: %v", err)
	}
}

// TestFrozen verifies that an unresponsive JVM is replaced, and that the new one serves a
// pending pure call.
func TestFrozen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	m := w.load("good", faults(t, "good"))
	before := w.Stats().PID
	clustertest.Freeze(t, before)
	w.computes(m)
	waitFor(t, "another JVM", func() bool { s := w.Stats(); return s.Up && s.PID != before })
	w.says(m, "echo", "echo")
	if !w.log.has("the Java host does not answer and is ended") {
		t.Error("the log does not say it")
	}
}

// TestPendingCap verifies that requests above MaxPending fail with ErrBusy.
func TestPendingCap(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.MaxPending = 50 })
	m := w.load("faults", faults(t, "faults"))
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	var refused atomic.Int64
	for range 80 {
		waiting.Go(func() {
			if _, err := tell(ctx, m, "wait"); errors.Is(err, java.ErrBusy) {
				refused.Add(1)
			}
		})
	}
	// The host's periodic state requests count, too.
	waitFor(t, "refusals", func() bool { return refused.Load() >= 30 })
	cancel()
	waiting.Wait()
	waitFor(t, "the end of the calls", func() bool {
		_, err := tell(t.Context(), m, "echo")
		return err == nil
	})
}

// TestServerKilled verifies that the JVMs and the child processes of plugins end when the
// server is killed.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	child, pids := startChild(t)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // It was killed.
	for field := range strings.FieldsSeq(pids) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatalf("the child says %q", pids)
		}
		waitFor(t, "the end of the JVM and its child", func() bool { return !runs(pid) })
	}
}

// TestChildrenEnd verifies that a plugin's child processes end with its JVM, however that
// ends.
func TestChildrenEnd(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells that a process has ended before its number is free")
	}
	w := newWorld(t, nil)
	m := w.load("parent", faults(t, "parent"))
	for what, end := range map[string]func(){
		"a crash": func() {
			if _, err := tell(t.Context(), m, "halt"); err == nil {
				t.Error("it is survived")
			}
		},
		"the end of the last plugin": func() {
			last := w.load("last", faults(t, "last"))
			for _, m := range []plugin.Module{m, last} {
				if err := m.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
			m = w.load("parent", faults(t, "parent"))
		},
	} {
		text, err := tell(t.Context(), m, "child")
		if err != nil {
			t.Fatal(err)
		}
		child, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		end()
		waitFor(t, "the end of what it started after "+what, func() bool { return !runs(child) })
	}
}

// runs reports whether a process exists and is not a zombie.
func runs(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return fields[0] != "Z"
}

// TestCallsOfOthersAreTriedAgain verifies that pure calls are retried if another plugin ends
// their JVM.
func TestCallsOfOthersAreTriedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.Crashes = 100 })
	bad := w.load("bad", faults(t, "bad"))
	sources := javatest.Sources(t, "testdata/suite")
	other := w.load("other", javatest.Jar(t, javatest.Plugin{ID: "other", Version: "1", Class: "acts.ActsPlugin", Sources: sources, Only: "acts"}))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var calls atomic.Int64
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				var r *plugin.ClientRequest
				if ok, err := other.Extensions()[0].Call(t.Context(), plugin.TransformRequest, []any{&plugin.ClientRequest{ClientIP: "x"}}, &r); err != nil || !ok {
					t.Errorf("a call failed after %d: %v", calls.Load(), err)
					return
				}
				calls.Add(1)
			}
		})
	}
	for _, what := range []string{"halt", "crash"} {
		before := calls.Load()
		waitFor(t, "calls", func() bool { return calls.Load() > before+100 })
		if _, err := tell(t.Context(), bad, what); err == nil {
			t.Errorf("%s: it is survived", what)
		}
	}
	before := calls.Load()
	waitFor(t, "calls", func() bool { return calls.Load() > before+100 })
	if n := w.Stats().Restarts; n != 2 {
		t.Errorf("the JVM was restarted %d times, want twice", n)
	}
	// The JVM ends, unless everything that the plugin holds becomes garbage before that is
	// checked.
	greedy := javatest.Jar(t, javatest.Plugin{ID: "greedy", Version: "1", Class: "corpus.CorpusPlugin", Sources: sources, Only: "corpus", Files: map[string]string{"kind.txt": "load heap"}})
	if _, err := w.Load(t.Context(), plugin.Source{Name: "greedy.jar", Data: greedy}); err == nil {
		t.Error("a plugin that uses up the heap while it is loaded is loaded")
	}
	close(stop)
	wg.Wait()
}
