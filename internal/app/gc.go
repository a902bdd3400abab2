// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
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
)

// tuneGC gives a small heap room. A large heap has room by itself, and an
// operator who sets GOGC knows better.
func tuneGC() {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(gcPercent(live[0].Value.Uint64()))
}

func gcPercent(live uint64) int {
	const smallest = 4 << 20 // what the runtime takes for the smallest heap
	return max(usualGCPercent, int(heapRoom*100/max(live, smallest)))
}
