// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// heapRoom is how much garbage may gather at least before it is collected. A
	// small heap would be collected dozens of times a second under load, which
	// costs more time than this costs memory.
	heapRoom = 64 << 20
	// usualGCPercent is what the runtime uses by itself.
	usualGCPercent = 100
	// calmAllocation is how many bytes a process without work allocates at most between two looks.
	calmAllocation = 4 << 20
	// leastFreed is how many bytes must be gained at least before memory is given back.
	leastFreed = 16 << 20
	// calmLooks is how many looks in a row find no work before what the work has left behind is collected: connections of
	// silent clients have been parked by then, and their stacks and buffers can go.
	calmLooks = 3
)

// memory is what a look at the memory of this process remembers until the next one.
type memory struct {
	allocated uint64 // bytes, since the process was started
	calm      int    // looks in a row without work
	settled   uint64 // allocated at the last collection after work
}

// MakeRoom lets garbage gather while the process starts, as look does afterwards: a heap that grows from nothing would be collected
// again and again.
func MakeRoom() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent(0))
	}
}

// look gives a small heap room while there is work, and gives memory back to the system after it. A large heap has room by
// itself, and an operator who sets GOGC knows better.
func (m *memory) look() {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples)
	live, allocated := samples[0].Value.Uint64(), samples[1].Value.Uint64()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent(live))
	}
	calm := allocated-m.allocated < calmAllocation
	m.allocated = allocated
	if !calm {
		m.calm = 0
		return
	}
	if m.calm++; m.calm == calmLooks && allocated-m.settled > max(leastFreed, live/2) {
		m.settled = allocated
		runtime.GC() // What is in pools survives one collection.
		debug.FreeOSMemory()
		_ = releaseProgram() // It costs memory if that fails.
		return
	}
	if worthFreeing(live, samples[2].Value.Uint64()+samples[3].Value.Uint64()) {
		debug.FreeOSMemory()
	}
}

// worthFreeing reports whether a heap holds so much more than what is reachable that it pays to collect and to give back
// the rest. What that costs grows with what is reachable.
func worthFreeing(live, held uint64) bool { return held > live+max(leastFreed, live/2) }

func gcPercent(live uint64) int {
	const smallest = 4 << 20 // what the runtime takes for the smallest heap
	return max(usualGCPercent, int(heapRoom*100/max(live, smallest)))
}
