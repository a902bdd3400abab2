// SPDX-License-Identifier: Apache-2.0

package java_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/plugin"
	"example.org/app/internal/plugin/java"
	"example.org/app/internal/plugin/java/javatest"
)

// gone reports whether a process has ended.
func gone(pid int) bool {
	_, err := os.Stat("/proc/" + strconv.Itoa(pid))
	return errors.Is(err, os.ErrNotExist)
}

// spinOn starts a call that never ends, and cancels it.
func (w *world) spinOn(m plugin.Module) {
	w.t.Helper()
	id := m.Descriptor().ID
	w.server.set(id, "spins", "")
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := tell(ctx, m, "spin-on")
		done <- err
	}()
	waitFor(w.t, "the call", func() bool { return w.server.get(id, "spins") == "yes" })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		w.t.Errorf("a call that computes for ever: %v", err)
	}
}

// TestRunawayCall verifies the handling of calls that continue after they were cancelled:
// other plugins move to a fresh JVM without a failed call, the culprit gets its own JVM, and
// is taken out of service after repetitions.
func TestRunawayCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.Isolation, o.Runaway = java.Auto, 50*time.Millisecond })
	good, bad := w.load("good", faults(t, "good")), w.load("bad", faults(t, "bad"))
	first := w.pid(good)
	done := w.load16(good)
	w.spinOn(bad)
	waitFor(t, "the move", func() bool {
		_, err := w.Measure(t.Context(), false)
		return err == nil && w.pid(good) != first
	})
	waitFor(t, "the end of the old JVM", func() bool { return gone(first) })
	if calls, failed := done(); failed != 0 || calls == 0 {
		t.Errorf("%d of %d calls of a plugin that did nothing wrong failed", failed, calls)
	}
	if got := w.server.get("good", "hooks"); got != "start start stop" {
		t.Errorf("the hooks of the plugin that moved are %q", got)
	}
	second := w.pid(good)
	waitFor(t, "a JVM for the culprit", func() bool { pid := w.pid(bad); return pid != first && pid != second })
	if !w.log.has("work of a plugin does not end", "plugin=bad", "a call that has been computing") {
		t.Error("the log does not name the culprit")
	}
	for range 2 {
		pid := w.pid(bad)
		w.spinOn(bad)
		waitFor(t, "the end of the culprit's JVM", func() bool {
			_, _ = w.Measure(t.Context(), false)
			return gone(pid)
		})
		w.says(good, "echo", "echo")
	}
	waitFor(t, "the quarantine", func() bool { return w.said() != "[]" })
	if got := w.said(); !strings.HasPrefix(got, "[bad/: the Java host had to be ended 3 times within 10m0s to get rid of its work") || strings.Contains(got, "good") {
		t.Errorf("it is said %s", got)
	}
	if _, err := tell(t.Context(), bad, "echo"); err == nil {
		t.Error("a plugin that was taken out of service answers")
	}
	if got := w.pid(good); got != second {
		t.Error("the other plugin lost its JVM")
	}
}

// TestRunawayShared verifies that all plugins, including the culprit, move to a fresh JVM if
// they must share it.
func TestRunawayShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.Isolation, o.Runaway = java.Shared, 50*time.Millisecond })
	good, bad := w.load("good", faults(t, "good")), w.load("bad", faults(t, "bad"))
	first := w.pid(good)
	w.spinOn(bad)
	waitFor(t, "the end of the old JVM", func() bool {
		_, _ = w.Measure(t.Context(), false)
		return gone(first)
	})
	if pid := w.pid(good); pid == first || w.pid(bad) != pid {
		t.Error("the plugins do not share the fresh JVM")
	}
}

// TestRemnants verifies the handling of threads that continue after their plugin was unloaded,
// and of loads that continue after they were cancelled.
func TestRemnants(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.Isolation, o.Runaway = java.Auto, 50*time.Millisecond })
	good := w.load("good", faults(t, "good"))
	moves := func(what string, do func()) {
		t.Helper()
		pid := w.pid(good)
		do()
		waitFor(t, "the end of the JVM with "+what, func() bool {
			_, _ = w.Measure(t.Context(), false)
			return gone(pid)
		})
		w.says(good, "echo", "echo")
	}
	for _, what := range []string{"spin-on-thread", "spin-on-virtual"} {
		moves(what, func() {
			bad := w.load(what, faults(t, what))
			w.says(bad, what, what)
			if err := bad.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
		if !w.log.has("threads that go on after it was unloaded", "plugin="+what) {
			t.Error("the log does not name the culprit")
		}
	}
	endless := javatest.Jar(t, javatest.Plugin{ID: "endless", Version: "1", Class: "endless.EndlessPlugin", Sources: javatest.Sources(t, "testdata/suite")})
	moves("a plugin that is never loaded", func() {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() {
			_, err := w.Load(ctx, plugin.Source{Name: "endless.jar", Data: endless})
			done <- err
		}()
		// Earlier steps, such as reading the jar, end when they are cancelled.
		waitFor(t, "the load", func() bool { return w.log.has("it begins without end") })
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("it was loaded: %v", err)
		}
	})
	if !w.log.has("loading that has been computing", "plugin=endless") {
		t.Error("the log does not name the culprit")
	}
	if got := w.said(); got != "[]" {
		t.Errorf("plugins that did nothing wrong were taken out of service: %s", got)
	}
}

// TestUsage checks the measured usage of plugins that share a JVM.
func TestUsage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.Isolation = java.Auto })
	idle, busy := w.load("idle", faults(t, "idle")), w.load("busy", faults(t, "busy"))
	w.says(idle, "echo", "echo")
	used := busy.(plugin.Measured)
	waitFor(t, "what the plugin used", func() bool {
		w.says(busy, "burn", "burnt 1024")
		_, err := w.Measure(t.Context(), false)
		return err == nil && used.CPU() > 500*time.Millisecond && used.Allocated() > 100<<20
	})
	if other := idle.(plugin.Measured); other.CPU() > used.CPU()/2 || other.Allocated() > used.Allocated()/2 {
		t.Errorf("a plugin that did next to nothing used %s and %d bytes, the other %s and %d bytes", other.CPU(), other.Allocated(), used.CPU(), used.Allocated())
	}
}

// TestMemoryIsKnownApart verifies that plugins are separated when their shared JVM holds more
// than one plugin may, so that the memory of each is known.
func TestMemoryIsKnownApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) {
		o.Isolation, o.MaxMemory = java.Auto, func() int64 { return 20 << 20 }
	})
	small, large := w.load("small", faults(t, "small")), w.load("large", faults(t, "large"))
	w.says(large, "hold-heap", "hold-heap")
	w.says(large, "hold-heap", "hold-heap")
	waitFor(t, "a JVM for each", func() bool { return w.pid(large) != w.pid(small) })
	waitFor(t, "what it holds", func() bool {
		if _, err := w.Measure(t.Context(), true); err == nil && large.Memory() > 20<<20 {
			return small.Memory() > 0 && small.Memory() < 20<<20
		}
		w.says(large, "hold-heap", "hold-heap") // The move released what it held before.
		return false
	})
}

// TestGarbageIsNotHeld verifies that garbage does not count towards a plugin's memory limit.
func TestGarbageIsNotHeld(t *testing.T) {
	t.Parallel()
	const limit = 20 << 20
	w := newWorld(t, func(o *java.Options) { o.MaxMemory = func() int64 { return limit } })
	m := w.load("wasteful", faults(t, "wasteful"))
	waitFor(t, "garbage", func() bool {
		w.says(m, "garbage", "garbage")
		s, err := w.Measure(t.Context(), false)
		if got := m.Memory(); got > limit {
			t.Fatalf("a plugin that holds nothing is said to hold %d bytes", got)
		}
		return err == nil && s.HeapUsed > limit
	})
	for range 2 {
		w.says(m, "hold-heap", "hold-heap")
	}
	waitFor(t, "what it holds", func() bool { return m.Memory() > limit })
}
