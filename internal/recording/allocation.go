// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"math"
	"runtime"
	"slices"
	"strings"

	"example.org/app/internal/recording/jfr"
)

// allocations remembers how many bytes each stack had allocated at the last check. The memory
// profile of a long-running server has thousands of stacks, of which few grow: it is read in the
// runtime's form, and only stacks that grew are symbolised.
type allocations struct {
	// seen maps hashes of stacks to bytes; nil before the first check.
	seen map[uint64]float64
}

// change calls visit for each stack with allocations since the last check. The first check only
// initialises.
func (a *allocations) change(names *symbols, visit func(stack []jfr.Frame, bytes int64)) {
	records := memoryProfile()
	now := make(map[uint64]float64, len(records))
	for i := range records {
		r := &records[i]
		now[hashStack(r.Stack())] += allocatedBytes(r.AllocObjects, r.AllocBytes)
	}
	before := a.seen
	a.seen = now
	if before == nil {
		return
	}
	for i := range records {
		// Records of objects of different sizes can have the same stack, which is visited once.
		key := hashStack(records[i].Stack())
		grown := now[key] - before[key]
		if grown < 1 {
			continue
		}
		before[key] = now[key]
		visit(withoutRuntime(names.frames(records[i].Stack())), int64(grown))
	}
}

// memoryProfile returns the memory profile of Go.
func memoryProfile() []runtime.MemProfileRecord {
	n, _ := runtime.MemProfile(nil, true)
	for {
		// More stacks may come meanwhile.
		records := make([]runtime.MemProfileRecord, n+50)
		var ok bool
		if n, ok = runtime.MemProfile(records, true); ok {
			return records[:n]
		}
	}
}

// allocatedBytes estimates the allocated bytes from the sampled ones: the runtime samples one
// object per so many bytes, so that large ones are more likely to be sampled.
func allocatedBytes(objects, bytes int64) float64 {
	rate := float64(runtime.MemProfileRate)
	if objects == 0 || bytes == 0 || rate <= 1 {
		return float64(bytes)
	}
	size := float64(bytes) / float64(objects)
	return float64(bytes) / (1 - math.Exp(-size/rate))
}

// withoutRuntime removes the innermost functions of the Go runtime, unless nothing else is left.
func withoutRuntime(frames []jfr.Frame) []jfr.Frame {
	i := slices.IndexFunc(frames, func(f jfr.Frame) bool {
		return f.Class != "runtime" && !strings.HasPrefix(f.Class, "runtime/") && !strings.HasPrefix(f.Class, "internal/runtime/")
	})
	return frames[max(i, 0):]
}
