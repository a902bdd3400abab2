// SPDX-License-Identifier: Apache-2.0

// Package ids makes the 63-bit identifiers of stored things. They are unique as long as every running generator has
// its own node number, and they grow with time within one generator. They are not secret and not random: use them
// as keys, never as tokens.
//
// Layout of an id, from the most significant bit:
//
//	bit 63      always 0, so that an id is positive in every signed 64-bit type
//	bits 22-62  41 bits: milliseconds since 2020-10-13T00:00:00Z (enough until the year 2090)
//	bits 12-21  10 bits: node number, 0 to 1023
//	bits  0-11  12 bits: sequence within the millisecond
package ids

import (
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// MaxNode is the greatest node number.
	MaxNode = 1<<nodeBits - 1

	nodeBits     = 10
	sequenceBits = 12
	sequenceMask = 1<<sequenceBits - 1

	// epoch is 2020-10-13T00:00:00Z in milliseconds since 1970.
	epoch = 1602547200000
)

// A Generator makes ids for one node. It is safe for concurrent use.
type Generator struct {
	now  func() time.Time
	node int64
	// last holds the milliseconds and the sequence of the newest id as one number (ms<<12 | sequence). Adding one
	// therefore carries from a full sequence into the next millisecond.
	last atomic.Int64
}

// New returns a generator for node, which must be between 0 and MaxNode and belong to no other running generator.
func New(node int) (*Generator, error) {
	return NewWithClock(node, time.Now)
}

// NewWithClock is New with a clock of the caller's choice. The clock is called from many goroutines at once.
func NewWithClock(node int, now func() time.Time) (*Generator, error) {
	if node < 0 || node > MaxNode {
		return nil, fmt.Errorf("make id generator: node %d must be between 0 and %d", node, MaxNode)
	}
	return &Generator{now: now, node: int64(node)}, nil
}

// Next returns an id that is greater than every id this generator returned before. When the clock stands still or
// goes back, or when more than 4096 ids are taken within a millisecond, it borrows from the milliseconds to come
// instead of waiting.
func (g *Generator) Next() int64 {
	tick := (g.now().UnixMilli() - epoch) << sequenceBits
	for {
		last := g.last.Load()
		next := max(last+1, tick)
		if g.last.CompareAndSwap(last, next) {
			return next>>sequenceBits<<(nodeBits+sequenceBits) | g.node<<sequenceBits | next&sequenceMask
		}
	}
}

// Time returns the time at which id was made, to the millisecond and in UTC. It is ahead of the clock of that moment
// where Next had to borrow.
func Time(id int64) time.Time {
	return time.UnixMilli(id>>(nodeBits+sequenceBits) + epoch).UTC()
}

// Node returns the number of the node that made id.
func Node(id int64) int {
	return int(id >> sequenceBits & MaxNode)
}
