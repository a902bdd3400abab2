// SPDX-License-Identifier: Apache-2.0

package java_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/app/internal/cluster/clustertest"
	"example.org/app/internal/plugin/java"
)

// spare waits for a spare JVM with another process id than other, and returns it.
func (w *world) spare(other int) (pid int) {
	w.t.Helper()
	waitFor(w.t, "a spare JVM", func() bool {
		pid = w.Stats().Spare
		return pid != 0 && pid != other
	})
	return pid
}

// niceness returns the niceness of each thread of a process.
func niceness(t *testing.T, pid int) (list []int) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // The thread has ended.
		}
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		n, err := strconv.Atoi(fields[16])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, n)
	}
	return list
}

// TestSpare verifies that plugins continue in the spare JVM when theirs is killed or has
// runaway work, and that a spare that dies is replaced.
func TestSpare(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) {
		o.Spare, o.SpareDelay, o.Isolation, o.Runaway, o.Nice = true, time.Millisecond, java.Auto, 50*time.Millisecond, 3
	})
	if w.Stats().Spare != 0 {
		t.Error("there is a spare JVM without a plugin")
	}
	a, b := w.load("a", faults(t, "a")), w.load("b", faults(t, "b"))
	first := w.spare(0)
	if !w.log.has("a spare JVM is warm") || w.log.has("could not be warmed up") {
		t.Error("the spare JVM was not warmed up")
	}
	if s := w.Stats(); s.JVMs != 1 || s.PID == first {
		t.Errorf("the state with a spare JVM is %+v", s)
	}
	if runtime.GOOS == "linux" {
		want := min(niceness(t, os.Getpid())[0]+3, 19)
		for _, pid := range []int{first, w.pid(a)} {
			if list := niceness(t, pid); len(list) < 5 || slices.Min(list) != want || slices.Max(list) != want {
				t.Errorf("the niceness of the threads of a JVM is %v instead of %d", list, want)
			}
		}
	}

	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := w.spare(first)
	w.says(a, "echo", "echo")
	if n := w.Stats().Restarts; n != 0 || !w.log.has("the spare JVM died") || w.log.has("the Java host died") {
		t.Errorf("the death of a spare JVM counts as %d of one with plugins", n)
	}

	w.kill(w.pid(a))
	if got := w.pid(a); got != second || w.pid(b) != second {
		t.Errorf("the plugins are in process %d, the spare one was %d", got, second)
	}
	if n := w.Stats().Restarts; n != 1 {
		t.Errorf("%d JVMs died", n)
	}

	third := w.spare(second)
	w.spinOn(b)
	waitFor(t, "the move to the spare JVM", func() bool {
		_, err := w.Measure(t.Context(), false)
		return err == nil && (w.pid(a) == third || w.pid(b) == third)
	})
	waitFor(t, "the end of the old JVM", func() bool { return gone(second) })

	last := w.spare(third)
	for _, m := range []interface{ Close(context.Context) error }{a, b} {
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	waitFor(t, "the end of all JVMs", func() bool {
		s := w.Stats()
		return !s.Up && s.Spare == 0 && gone(last)
	})
}

// TestCloseWithSpare closes a host while its spare JVM starts, which takes at least ten times
// as long as the test sleeps.
func TestCloseWithSpare(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.Spare, o.SpareDelay = true, time.Millisecond })
	w.load("a", faults(t, "a"))
	time.Sleep(20 * time.Millisecond)
	if err := w.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if s := w.Stats(); s.Up || s.Spare != 0 {
		t.Errorf("after the end the state is %+v", s)
	}
}

// TestFrozenSpare verifies that an unresponsive spare JVM is replaced, whether it is idle or
// needed.
func TestFrozenSpare(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) { o.Spare, o.SpareDelay = true, time.Millisecond })
	m := w.load("a", faults(t, "a"))
	first := w.spare(0)
	clustertest.Freeze(t, first)
	second := w.spare(first)
	if !w.log.has("the spare JVM died") {
		t.Error("the log does not say that the spare JVM died")
	}

	clustertest.Freeze(t, second)
	w.kill(w.pid(m))
	if pid := w.pid(m); pid == second {
		t.Error("the plugin is in a JVM that does not answer")
	}
	if n := w.Stats().Restarts; n != 1 {
		t.Errorf("%d JVMs with plugins died", n)
	}
	waitFor(t, "the end of the spare JVM that does not answer", func() bool { return gone(second) })
}

// TestSpareIsForTheInnocent verifies that plugins that are not suspected of a crash get the
// spare JVM.
func TestSpareIsForTheInnocent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *java.Options) {
		o.Spare, o.SpareDelay, o.Isolation, o.CrashWindow = true, time.Millisecond, java.Auto, time.Hour
	})
	suspect, innocent := w.load("suspect", faults(t, "suspect")), w.load("innocent", faults(t, "innocent"))
	spare := w.spare(0)
	w.kill(w.pid(innocent), suspect)
	if pid := w.pid(innocent); pid != spare {
		t.Errorf("the innocent plugin is in process %d, the spare one was %d", pid, spare)
	}
	if pid := w.pid(suspect); pid == spare {
		t.Error("the suspect is in the spare JVM")
	}
}
