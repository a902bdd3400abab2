// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"cmp"
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"example.org/app/internal/plugin"
)

// testCloseDuringCalls proves that closing a module ends its running calls, whatever they do.
func testCloseDuringCalls(t *testing.T, w *world) {
	for _, what := range []string{"hold", "wait", "spin"} {
		t.Run(what, func(t *testing.T) {
			m := w.load(Acts)
			x := m.Extensions()[0]
			held, _ := w.hold(t, t.Context(), x, 0)
			done := make(chan error, 1)
			go func() {
				var r *plugin.RequestHandlerResult
				_, err := x.Call(context.Background(), plugin.HandleRequest, []any{command(what, 0)}, &r)
				done <- err
			}()
			if what == "hold" {
				receive(t, "a request of a second call to the server", w.server.held)
			}
			if err := m.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			if err := receive(t, "the end of the call", done); err == nil {
				t.Error("a call of a closed plugin succeeded")
			}
			if got := receive(t, "the end of the other call", held); got.err == nil {
				t.Error("the other call of a closed plugin succeeded")
			}
			var r *plugin.RequestHandlerResult
			if ok, err := x.Call(t.Context(), plugin.HandleRequest, []any{command("late", 0)}, &r); ok || err == nil {
				t.Errorf("a call of a closed plugin: %v %v", ok, err)
			}
			if err := m.Close(context.Background()); err != nil {
				t.Errorf("a second close: %v", err)
			}
			if m.Memory() != 0 {
				t.Errorf("a closed plugin holds %d bytes", m.Memory())
			}
		})
	}
}

// testRemoveDuringCalls proves that a removed plugin finishes its running calls before it stops.
func testRemoveDuringCalls(t *testing.T, w *world) {
	m := w.manager()
	w.start(m, Acts)
	done := make(chan error, 1)
	go func() {
		_, _, err := plugin.Ask[*plugin.RequestHandlerResult](t.Context(), m.Calls, plugin.HandleRequest, command("hold", 0))
		done <- err
	}()
	release := receive(t, "a request of a call to the server", w.server.held)
	removed := make(chan error, 1)
	go func() {
		_, err := m.Remove(t.Context(), "suite-acts")
		removed <- err
	}()
	await(t, "the removal of the plugin from the list", func() bool { return len(m.Plugins()) == 0 })
	if got, err := version(t.Context(), m); got != "?" || err != nil {
		t.Errorf("a plugin that is removed was called: %q %v", got, err)
	}
	close(release)
	if err := receive(t, "the end of the call", done); err != nil {
		t.Error(err)
	}
	if err := receive(t, "the end of the plugin", removed); err != nil {
		t.Error(err)
	}
	w.server.wantNote(t, "suite-acts", "stopped-1", "yes")
}

func testHostClosesModules(t *testing.T, w *world) {
	m := w.load(Acts)
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	var r *plugin.RequestHandlerResult
	if ok, err := m.Extensions()[0].Call(t.Context(), plugin.HandleRequest, []any{command("late", 0)}, &r); ok || err == nil {
		t.Errorf("a call after the host was closed: %v %v", ok, err)
	}
	if _, err := w.host.Load(t.Context(), w.source(Acts)); err == nil {
		t.Error("a closed host loaded a plugin")
	}
}

// resident returns the resident memory of the process in bytes; 0 if unknown.
func resident() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data))
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// testRounds loads, starts, calls, stops and closes a plugin many times, and compares the resources
// of the process after a third of the rounds with those at the end. The host itself must check
// resources in other processes. Another plugin is loaded all the time: otherwise a host might end
// its runtime with the last plugin, and nothing could be leaked.
func testRounds(t *testing.T, w *world) {
	w.load(Life)
	src := w.source(Acts)
	round := func() {
		m, err := w.host.Load(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		x := m.Extensions()[0]
		if err := x.Hook(t.Context(), plugin.Start); err != nil {
			t.Fatal(err)
		}
		if got := act(t, x, "count", 0).Reason; got != "1" {
			t.Fatalf("it counted %s: something of an earlier round is left", got)
		}
		_ = attempt(t, x, "throw") // Exceptions leak most easily.
		if err := x.Hook(t.Context(), plugin.Stop); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	measure := func() (heap, rss int64) {
		debug.FreeOSMemory()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc), resident()
	}
	rounds := cmp.Or(w.Rounds, 300)
	for range rounds / 3 {
		round()
	}
	heap, rss := measure()
	for range rounds - rounds/3 {
		round()
	}
	heapEnd, rssEnd := measure()
	t.Logf("%d rounds: heap %d KiB, then %d KiB; resident %d KiB, then %d KiB", rounds, heap>>10, heapEnd>>10, rss>>10, rssEnd>>10)
	if heapEnd-heap > 2<<20 {
		t.Errorf("the heap grew by %d KiB", (heapEnd-heap)>>10)
	}
	if rssEnd-rss > 16<<20 {
		t.Errorf("the memory of the process grew by %d KiB", (rssEnd-rss)>>10)
	}
}
