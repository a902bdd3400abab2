// SPDX-License-Identifier: Apache-2.0

package metrics

// runtimeReading is a metric that is filled from a sample of the Go runtime.
type runtimeReading struct {
	name, description, unit string
	kind                    Type
	tags                    []string
	emit                    func(emit emitter, rd *reading, s *sample)
}

// number emits one number of the runtime.
func number(name string) func(emitter, *reading, *sample) {
	return func(emit emitter, rd *reading, s *sample) { emit.value(rd, s.runtime.numbers[name]) }
}

// none emits a constant zero for a feature that this server does not have.
func none(tags ...string) func(emitter, *reading, *sample) {
	return func(emit emitter, rd *reading, _ *sample) { emit.value(rd, 0, tags...) }
}

// areas emits one value each for the heap and for the rest.
func areas(values func(s *runtimeSample) (heap, nonHeap float64)) func(emitter, *reading, *sample) {
	return func(emit emitter, rd *reading, s *sample) {
		heap, nonHeap := values(&s.runtime)
		emit.value(rd, heap, "heap")
		emit.value(rd, nonHeap, "nonheap")
	}
}

var (
	areaTags   = []string{"area"}
	bufferTags = []string{"id"}
)

// runtimeReadings are the metrics of the Go runtime: first under their own names, then under the
// jvm.* names that existing dashboards use.
var runtimeReadings = []runtimeReading{
	{"go.goroutines", "Goroutines that exist.", "", TypeGauge, nil, number(goGoroutines)},
	{"go.threads", "Operating system threads of the Go runtime.", "threads", TypeGauge, nil, number(goThreads)},
	{"go.procs", "Threads that may run Go code at the same time.", "threads", TypeGauge, nil, number(goProcs)},
	{"go.memory.total", "Memory that the Go runtime has mapped.", UnitBytes, TypeGauge, nil, number(goMemoryTotal)},
	{
		"go.memory.limit", "Memory that the Go runtime tries to stay below; without a limit, the memory of the system.",
		UnitBytes, TypeGauge, nil, func(emit emitter, rd *reading, s *sample) { emit.value(rd, s.runtime.memoryLimit) },
	},
	{"go.memory.heap.used", "Heap memory occupied by objects, dead ones not yet swept included.", UnitBytes, TypeGauge, nil, number(goHeapObjects)},
	{"go.memory.heap.goal", "Heap size at which the next garbage collection ends.", UnitBytes, TypeGauge, nil, number(goHeapGoal)},
	{"go.memory.heap.objects", "Objects on the heap.", "objects", TypeGauge, nil, number(goHeapCount)},
	{"go.memory.heap.allocated", "Heap memory allocated since the process started.", UnitBytes, TypeCounter, nil, number(goHeapAllocs)},
	{"go.gc.count", "Completed garbage collections.", "", TypeCounter, nil, number(goGCCycles)},
	{
		"go.gc.pause", "Pauses of the whole process for garbage collection; total and maximum are estimates from buckets.",
		"", TypeTimer, nil, func(emit emitter, rd *reading, s *sample) { emit.timings(rd, s.runtime.gcPauses) },
	},
	{
		"go.sched.latency", "Time that goroutines waited for a CPU; total and maximum are estimates from buckets.",
		"", TypeTimer, nil, func(emit emitter, rd *reading, s *sample) { emit.timings(rd, s.runtime.schedLatency) },
	},
	{"go.mutex.wait", "Time that goroutines have spent waiting for locks.", UnitSeconds, TypeCounter, nil, number(goMutexWait)},

	{"jvm.buffer.count", "Always 0: this server has no JVM and no direct buffers.", "buffers", TypeGauge, bufferTags, none("direct")},
	{"jvm.buffer.memory.used", "Always 0: this server has no JVM and no direct buffers.", UnitBytes, TypeGauge, bufferTags, none("direct")},
	{"jvm.buffer.total.capacity", "Always 0: this server has no JVM and no direct buffers.", UnitBytes, TypeGauge, bufferTags, none("direct")},
	{"jvm.classes.loaded", "Always 0: this server has no JVM and no classes.", "classes", TypeGauge, nil, none()},
	{"jvm.classes.unloaded", "Always 0: this server has no JVM and no classes.", "classes", TypeCounter, nil, none()},
	{"jvm.gc.live.data.size", "Go counterpart: heap memory that was in use after the last garbage collection.", UnitBytes, TypeGauge, nil, number(goHeapLive)},
	{
		"jvm.gc.max.data.size", "Go counterpart: memory limit of the Go runtime; without a limit, the memory of the system.",
		UnitBytes, TypeGauge, nil, func(emit emitter, rd *reading, s *sample) { emit.value(rd, s.runtime.memoryLimit) },
	},
	{"jvm.gc.memory.allocated", "Go counterpart: heap memory allocated since the process started.", UnitBytes, TypeCounter, nil, number(goHeapAllocs)},
	{"jvm.gc.memory.promoted", "Always 0: the Go garbage collector has no generations.", UnitBytes, TypeCounter, nil, none()},
	{
		"jvm.gc.pause", "Go counterpart: pauses for garbage collection; total and maximum are estimates from buckets.",
		"", TypeTimer, nil, func(emit emitter, rd *reading, s *sample) { emit.timings(rd, s.runtime.gcPauses) },
	},
	{
		"jvm.memory.committed", "Go counterpart: memory that the process holds, in the heap and outside (stacks, runtime).",
		UnitBytes, TypeGauge, areaTags, areas(func(s *runtimeSample) (float64, float64) { return s.heapCommitted(), s.nonHeap() }),
	},
	{
		"jvm.memory.max", "Go counterpart: memory limit of the Go runtime, or the memory of the system; -1 where there is no limit.",
		UnitBytes, TypeGauge, areaTags, areas(func(s *runtimeSample) (float64, float64) { return s.memoryLimit, -1 }),
	},
	{
		"jvm.memory.used", "Go counterpart: memory occupied by objects in the heap, and memory held outside (stacks, runtime).",
		UnitBytes, TypeGauge, areaTags, areas(func(s *runtimeSample) (float64, float64) { return s.numbers[goHeapObjects], s.nonHeap() }),
	},
	{"jvm.threads.daemon", "Always 0: Go has no daemon threads.", "threads", TypeGauge, nil, none()},
	{"jvm.threads.live", "Go counterpart: operating system threads of the Go runtime.", "threads", TypeGauge, nil, number(goThreads)},
	{
		"jvm.threads.peak", "Go counterpart: most operating system threads of the Go runtime that a sample has seen.",
		"threads", TypeGauge, nil, func(emit emitter, rd *reading, s *sample) { emit.value(rd, s.runtime.threadsPeak) },
	},
}
