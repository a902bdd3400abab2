// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A maximum is kept in slots of maxSlot each; it expires after maxSlots of them, which is about two
// minutes.
const (
	maxSlots = 4
	maxSlot  = 30 * time.Second
)

// decayingMax is the maximum of the values recorded within the last maxSlots slots. Recording takes
// the lock only for the first value of a slot. The zero value is ready for use. Values must not be
// negative.
type decayingMax struct {
	mu    sync.Mutex
	slots [maxSlots]struct {
		epoch atomic.Int64  // the time slot of the value, counted from one
		bits  atomic.Uint64 // float64 bits; those of non-negative numbers sort like the numbers
	}
}

func epochAt(elapsed time.Duration) int64 { return int64(elapsed/maxSlot) + 1 }

func (m *decayingMax) record(elapsed time.Duration, v float64) {
	epoch := epochAt(elapsed)
	slot := &m.slots[epoch%maxSlots]
	if slot.epoch.Load() < epoch {
		m.mu.Lock()
		if slot.epoch.Load() < epoch {
			slot.bits.Store(0)
			slot.epoch.Store(epoch)
		}
		m.mu.Unlock()
	}
	bits := math.Float64bits(v)
	for {
		old := slot.bits.Load()
		if bits <= old || slot.bits.CompareAndSwap(old, bits) {
			return
		}
	}
}

func (m *decayingMax) value(elapsed time.Duration) float64 {
	oldest := epochAt(elapsed) - maxSlots
	var bits uint64
	for i := range m.slots {
		if slot := &m.slots[i]; slot.epoch.Load() > oldest {
			bits = max(bits, slot.bits.Load())
		}
	}
	return math.Float64frombits(bits)
}
