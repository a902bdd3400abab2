// SPDX-License-Identifier: Apache-2.0

package js

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"example.org/app/internal/plugin"
)

// resident is how many bytes of memory the process has; 0 is unknown.
func resident() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data))
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// TestUnloadingReturnsMemory loads, starts, calls, stops and closes a plugin 300 times and compares what the process
// holds after 100 rounds with what it holds at the end. A plugin that is not freed costs several hundred kilobytes.
func TestUnloadingReturnsMemory(t *testing.T) {
	h, _ := newHost(t, Options{})
	src := file(t, "greeter.js")
	round := func() {
		m := load(t, h, src)
		x := m.Extensions()[0]
		if err := x.Hook(t.Context(), plugin.Start); err != nil {
			t.Fatal(err)
		}
		var r plugin.ClientRequest
		if _, err := x.Call(t.Context(), transform, []any{messageRequest("x")}, &r); err != nil {
			t.Fatal(err)
		}
		var result *plugin.RequestHandlerResult
		if _, err := x.Call(t.Context(), handle, []any{&plugin.ClientRequest{UserID: 14, Request: r.Request}}, &result); err == nil {
			t.Fatal("no exception")
		}
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
	// The race detector makes the engine some fifty times slower and its figures mean nothing.
	rounds := 300
	if raceDetector {
		rounds = 15
	}
	for range rounds / 3 {
		round()
	}
	heap, rss := measure()
	for range rounds - rounds/3 {
		round()
	}
	heapEnd, rssEnd := measure()
	t.Logf("heap %d KiB, then %d KiB; resident %d KiB, then %d KiB", heap>>10, heapEnd>>10, rss>>10, rssEnd>>10)
	if heapEnd-heap > 2<<20 {
		t.Errorf("the heap grew by %d KiB in 200 rounds", (heapEnd-heap)>>10)
	}
	if rssEnd-rss > 16<<20 {
		t.Errorf("the memory of the process grew by %d KiB in 200 rounds", (rssEnd-rss)>>10)
	}
}

// TestCallsReturnMemory proves that calls leave nothing behind in the engine.
func TestCallsReturnMemory(t *testing.T) {
	h, _ := newHost(t, Options{})
	m := load(t, h, file(t, "greeter.js"))
	x := m.Extensions()[0]
	run := func(n int) {
		for i := range n {
			var r plugin.ClientRequest
			if _, err := x.Call(t.Context(), transform, []any{messageRequest("x")}, &r); err != nil {
				t.Fatal(err)
			}
			var ok bool
			if _, err := x.Call(t.Context(), authenticate, []any{plugin.UserLoginInfo{UserID: 1}}, &ok); err != nil {
				t.Fatal(err)
			}
			if i%10 == 0 {
				var result *plugin.RequestHandlerResult
				x.Call(t.Context(), handle, []any{&plugin.ClientRequest{UserID: int64(12 + i/10%4), Request: r.Request}}, &result)
			}
		}
	}
	n := 500
	if raceDetector {
		n = 20
	}
	run(n)
	before := m.Memory()
	run(6 * n)
	if grown := m.Memory() - before; grown > 64<<10 {
		t.Errorf("the engine grew by %d bytes in %d calls", grown, 6*n)
	}
}
