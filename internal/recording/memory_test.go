// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.org/app/internal/recording/event"
	"example.org/app/internal/recording/jfr"
	"example.org/app/internal/recording/jfr/jfrtest"
	"example.org/app/test/need"
)

// heap returns how many bytes are reachable.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestMemoryIsBoundedByTheChunk records events as fast as they can be made, each with a text of its
// own, until the file is many times as large as a chunk.
func TestMemoryIsBoundedByTheChunk(t *testing.T) {
	need.Time(t)
	const (
		file = 16 * maxChunk
		// A chunk has its bytes, and an index of its constants; another one may be on its way to
		// the file.
		most = 8 * maxChunk
	)
	f := start(t, t.TempDir(), roomy)
	id := f.create(t, Spec{Settings: map[string]string{"app.NodeCall#threshold": "0 ns", "app.NodeCall#throttle": "off"}})
	size := func() int64 {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.recordings[id].size
	}
	before := heap()
	peak, n := int64(0), 0
	eventually(t, fmt.Sprintf("a file of %d bytes", file), func() bool {
		for range 10_000 {
			n++
			if event.Wants(event.KindNodeCall, time.Millisecond) {
				event.Record(event.NodeCall{Span: event.Span{Start: time.Now(), Duration: time.Millisecond}, Call: "c", Subject: fmt.Sprintf("%0200d", n)})
			}
		}
		peak = max(peak, heap()-before)
		return size() > file
	})
	t.Logf("%d events, a file of %d bytes, at most %d bytes more on the heap", n, size(), peak)
	if peak > most {
		t.Errorf("a recording has %d bytes on the heap, and %d are allowed", peak, most)
	}
}

// TestThePartOfAJVMIsNotHeldInMemory accepts a file that is much larger than what may be allocated
// for it.
func TestThePartOfAJVMIsNotHeldInMemory(t *testing.T) {
	r, err := Open(Options{Folder: t.TempDir(), Limits: func() Limits { return roomy }})
	if err != nil {
		t.Fatal(err)
	}
	defer r.shutdown() // It does not run, so that nothing else allocates.
	id, err := r.Create(Spec{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	c := schema.NewChunk(now)
	c.Add(&typeOSInformation.Type, now, 0, jfr.String(strings.Repeat("x", 1<<20)))
	chunk := c.Finish(now)
	path := filepath.Join(t.TempDir(), "part.jfr")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	const chunks = 48
	for range chunks {
		if _, err := file.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := file.Write(chunk[:1000]); err != nil { // The JVM was about to write another one.
		t.Fatal(err)
	}
	file.Close()

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r.Accept(path, 1)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > uint64(8*len(chunk)) {
		t.Errorf("%d bytes were allocated to accept %d", n, chunks*len(chunk))
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file of the JVM is left: %v", err)
	}
	content, err := r.Open(id, false)
	if err != nil {
		t.Fatal(err)
	}
	events, err := jfrtest.Parse(readAll(t, content))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range find(events, "jdk.OSInformation") {
		if len(e.Text("osVersion")) == 1<<20 {
			n++
		}
	}
	if n != chunks {
		t.Errorf("the recording has %d chunks of the JVM, want %d", n, chunks)
	}
}

// TestAPartOfAJVMThatIsTooLargeIsLost loses only the part of the JVM.
func TestAPartOfAJVMThatIsTooLargeIsLost(t *testing.T) {
	limits := roomy
	limits.MaxTotalBytes = 1 << 20
	f := start(t, t.TempDir(), limits)
	id := f.create(t, Spec{Description: "goes on"})
	now := time.Now()
	c := schema.NewChunk(now)
	c.Add(&typeOSInformation.Type, now, 0, jfr.String(strings.Repeat("x", 1<<20)))
	path := filepath.Join(t.TempDir(), "part.jfr")
	if err := os.WriteFile(path, c.Finish(now), 0o600); err != nil {
		t.Fatal(err)
	}
	f.Accept(path, 1)
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file of the JVM is left: %v", err)
	}
	if f.state(id) != Running || len(find(f.events(t, id), "go.Goroutines")) == 0 {
		t.Errorf("the state is %s", f.state(id))
	}
}
