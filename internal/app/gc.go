// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// heapRoom is the minimum amount of garbage before a collection. A small heap would be
	// collected dozens of times a second under load, which costs more than this memory.
	heapRoom = 64 << 20
	// usualGCPercent is the default of the runtime.
	usualGCPercent = 100
	// calmAllocation is the maximum allocation, in bytes, of an idle process between two checks.
	calmAllocation = 4 << 20
	// leastFreed is the minimum gain, in bytes, for returning memory to the system.
	leastFreed = 16 << 20
	// calmLooks is the number of successive idle checks before memory is returned: connections of
	// silent clients have been parked by then, and their stacks and buffers can be freed.
	calmLooks = 3
)

// memory is the state between checks of this process's memory.
type memory struct {
	allocated uint64 // bytes, since the process was started
	calm      int    // successive idle checks
	settled   uint64 // allocated at the last collection after work
}

// MakeRoom lets garbage gather while the process starts, as look does afterwards: a heap that grows
// from nothing would be collected again and again.
func MakeRoom() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent(0))
	}
}

// look gives a small heap room while there is work, and gives memory back to the system after it. A
// large heap has room by itself, and an operator who sets GOGC knows better.
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
		runtime.GC() // Objects in pools survive one collection.
		debug.FreeOSMemory()
		_ = releaseProgram() // Failure only costs memory.
		return
	}
	if worthFreeing(live, samples[2].Value.Uint64()+samples[3].Value.Uint64()) {
		debug.FreeOSMemory()
	}
}

// worthFreeing reports whether a heap has enough garbage to collect and return it. The cost grows
// with the live heap.
func worthFreeing(live, held uint64) bool { return held > live+max(leastFreed, live/2) }

func gcPercent(live uint64) int {
	const smallest = 4 << 20 // the runtime's minimum heap
	return max(usualGCPercent, int(heapRoom*100/max(live, smallest)))
}
