// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"runtime/metrics"
	"slices"
	"time"
)

// Names of the Go runtime metrics that this package reads.
const (
	goGoroutines   = "/sched/goroutines:goroutines"
	goThreads      = "/sched/threads/total:threads"
	goProcs        = "/sched/gomaxprocs:threads"
	goSchedLatency = "/sched/latencies:seconds"
	goGCPauses     = "/sched/pauses/total/gc:seconds"
	goGCCycles     = "/gc/cycles/total:gc-cycles"
	goHeapAllocs   = "/gc/heap/allocs:bytes"
	goHeapLive     = "/gc/heap/live:bytes"
	goHeapGoal     = "/gc/heap/goal:bytes"
	goHeapCount    = "/gc/heap/objects:objects"
	goMemoryLimit  = "/gc/gomemlimit:bytes"
	goHeapObjects  = "/memory/classes/heap/objects:bytes"
	goHeapUnused   = "/memory/classes/heap/unused:bytes"
	goHeapFree     = "/memory/classes/heap/free:bytes"
	goHeapReleased = "/memory/classes/heap/released:bytes"
	goMemoryTotal  = "/memory/classes/total:bytes"
	goMutexWait    = "/sync/mutex/wait/total:seconds"
)

var runtimeNames = []string{
	goGoroutines, goThreads, goProcs, goSchedLatency, goGCPauses, goGCCycles, goHeapAllocs, goHeapLive, goHeapGoal,
	goHeapCount, goMemoryLimit, goHeapObjects, goHeapUnused, goHeapFree, goHeapReleased, goMemoryTotal, goMutexWait,
}

// runtimeSample contains the Go runtime metrics with the names above, and values derived from them.
// It is shared by its readers and immutable.
type runtimeSample struct {
	numbers      map[string]float64
	gcPauses     timings
	schedLatency timings
	threadsPeak  float64
	memoryLimit  float64
}

// heapCommitted returns the committed heap memory, used by objects or not.
func (s *runtimeSample) heapCommitted() float64 {
	return s.numbers[goHeapObjects] + s.numbers[goHeapUnused] + s.numbers[goHeapFree]
}

// nonHeap returns the rest of the process's memory: stacks, metadata and buffers of the runtime.
func (s *runtimeSample) nonHeap() float64 {
	return s.numbers[goMemoryTotal] - s.numbers[goHeapReleased] - s.heapCommitted()
}

// runtimeReader reuses the memory that the runtime fills.
type runtimeReader struct {
	samples      []metrics.Sample
	gcPauses     histogramReader
	schedLatency histogramReader
	threadsPeak  float64
}

func newRuntimeReader() *runtimeReader {
	r := &runtimeReader{samples: make([]metrics.Sample, len(runtimeNames))}
	for i, name := range runtimeNames {
		r.samples[i].Name = name
	}
	return r
}

// read takes a sample. If no memory limit is set, the limit is the system's memory.
func (r *runtimeReader) read(now time.Duration, systemMemory float64) runtimeSample {
	metrics.Read(r.samples)
	s := runtimeSample{numbers: make(map[string]float64, len(r.samples))}
	for _, m := range r.samples {
		switch m.Value.Kind() {
		case metrics.KindUint64:
			s.numbers[m.Name] = float64(m.Value.Uint64())
		case metrics.KindFloat64:
			s.numbers[m.Name] = m.Value.Float64()
		case metrics.KindFloat64Histogram:
			switch m.Name {
			case goGCPauses:
				s.gcPauses = r.gcPauses.read(now, m.Value.Float64Histogram())
			case goSchedLatency:
				s.schedLatency = r.schedLatency.read(now, m.Value.Float64Histogram())
			}
		}
	}
	r.threadsPeak = max(r.threadsPeak, s.numbers[goThreads])
	s.threadsPeak = r.threadsPeak
	s.memoryLimit = s.numbers[goMemoryLimit]
	if s.memoryLimit >= math.MaxInt64 {
		s.memoryLimit = systemMemory
	}
	return s
}

// histogramReader converts a histogram of the runtime to the values of a timer. The runtime only
// knows counts per bucket, so the total uses the middle of each bucket and the maximum the upper
// bound.
type histogramReader struct {
	counts []uint64
	max    decayingMax
}

func (r *histogramReader) read(now time.Duration, h *metrics.Float64Histogram) timings {
	t := timings{buckets: make(map[float64]uint64, len(defaultBuckets))}
	if len(r.counts) != len(h.Counts) {
		r.counts = make([]uint64, len(h.Counts))
	}
	perBound := make([]uint64, len(defaultBuckets))
	for i, n := range h.Counts {
		lower, upper := h.Buckets[i], h.Buckets[i+1]
		if math.IsInf(lower, -1) {
			lower = 0
		}
		if math.IsInf(upper, +1) {
			upper = lower
		}
		if n > r.counts[i] {
			r.max.record(now, max(upper, 0))
		}
		t.count += n
		t.total += float64(n) * max(lower+upper, 0) / 2
		if bound, _ := slices.BinarySearch(defaultBuckets, upper); bound < len(perBound) && !math.IsInf(h.Buckets[i+1], +1) {
			perBound[bound] += n
		}
	}
	copy(r.counts, h.Counts)
	var cumulative uint64
	for i, bound := range defaultBuckets {
		cumulative += perBound[i]
		t.buckets[bound] = cumulative
	}
	t.max = r.max.value(now)
	return t
}
