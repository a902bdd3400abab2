// SPDX-License-Identifier: Apache-2.0

// Package ids generates the 63-bit ids of stored records. They are unique as long as every running
// generator has its own node number, and they increase with time within one generator. They are
// neither secret nor random: use them as keys, never as tokens.
//
// A generator with a leased node number is restricted to a span of time: it generates no id outside
// the span, and the spans granted for one number must never overlap. That alone makes ids unique,
// independently of the clocks of the machines.
//
// Layout of an id, from the most significant bit:
//
//	bit 63      always 0, so that an id is positive in every signed 64-bit type
//	bits 22-62  41 bits: milliseconds since 2020-10-13T00:00:00Z (enough until the year 2090)
//	bits 12-21  10 bits: node number, 0 to 1023
//	bits  0-11  12 bits: sequence within the millisecond
package ids

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// MaxNode is the highest node number.
	MaxNode = 1<<nodeBits - 1

	// NodeUnit is the distance of the ids of consecutive nodes: id / NodeUnit % (MaxNode + 1) is
	// the number of the node that generated id.
	NodeUnit = 1 << sequenceBits

	nodeBits     = 10
	sequenceBits = 12
	sequenceMask = 1<<sequenceBits - 1

	// epoch is 2020-10-13T00:00:00Z in milliseconds since 1970.
	epoch = 1602547200000

	// Reserve is the last part of a span that the clock does not use. If a span is not extended in
	// time, ids are taken from it independently of the clock: twenty million of them.
	Reserve = 5 * time.Second
)

// A Generator generates ids for one node. It is safe for concurrent use.
type Generator struct {
	now func() time.Time
	// span is replaced as a whole, so that a number is never used with the limits of another one.
	span atomic.Pointer[span]
	// last is the milliseconds and the sequence of the newest id in one number (ms<<12 | sequence).
	// Adding one therefore carries from a full sequence into the next millisecond.
	last atomic.Int64

	mu sync.Mutex
	// extended is closed and replaced when the span changes, which wakes the callers that wait for
	// it.
	extended chan struct{}
}

// span is a node number and the ticks (ms<<12) that may be used with it: the clock is used below
// soft, ids end below hard.
type span struct {
	node       int64
	soft, hard int64
}

// New returns a generator for node, which must be between 0 and MaxNode and belong to no other
// running generator.
func New(node int) (*Generator, error) {
	return NewWithClock(node, time.Now)
}

// NewWithClock is New with the given clock, which is called from many goroutines at once.
func NewWithClock(node int, now func() time.Time) (*Generator, error) {
	if err := checkNode(node); err != nil {
		return nil, err
	}
	g := &Generator{now: now, extended: make(chan struct{})}
	g.span.Store(&span{node: int64(node), soft: math.MaxInt64, hard: math.MaxInt64})
	return g, nil
}

// NewLeased returns a generator whose ids have times from floor on and below until. A nil clock is
// time.Now.
func NewLeased(node int, floor, until time.Time, now func() time.Time) (*Generator, error) {
	if now == nil {
		now = time.Now
	}
	g, err := NewWithClock(node, now)
	if err == nil {
		err = g.Lease(node, floor, until)
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Lease sets the span to [floor, until) of node, which may be a different number than before. A
// concurrent call of Next uses either the old span or the new one. If until is before the newest
// id, the generator ends: every later Next waits.
func (g *Generator) Lease(node int, floor, until time.Time) error {
	if err := checkNode(node); err != nil {
		return err
	}
	// The newest id is raised first: a caller that sees the new span must not see an id below its
	// floor.
	for least := tick(floor) - 1; ; {
		last := g.last.Load()
		if last >= least || g.last.CompareAndSwap(last, least) {
			break
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.span.Store(&span{node: int64(node), soft: tick(until.Add(-Reserve)), hard: tick(until)})
	close(g.extended)
	g.extended = make(chan struct{})
	return nil
}

func checkNode(node int) error {
	if node < 0 || node > MaxNode {
		return fmt.Errorf("make id generator: node %d must be between 0 and %d", node, MaxNode)
	}
	return nil
}

func tick(at time.Time) int64 { return (at.UnixMilli() - epoch) << sequenceBits }

// Next returns an id that is greater in time and sequence than every id this generator returned
// before. If the clock stands still or goes back, or if more than 4096 ids are taken within a
// millisecond, it uses future milliseconds instead of waiting. After the end of its span, a leased
// generator uses the Reserve; when that is used up, too, Next waits until Lease extends the span.
// Callers that must not wait use NextContext.
func (g *Generator) Next() int64 {
	if id, ok := g.try(); ok {
		return id
	}
	id, _ := g.NextContext(context.Background())
	return id
}

// NextContext is Next with a context. It checks ctx only if no id is available.
func (g *Generator) NextContext(ctx context.Context) (int64, error) {
	for {
		g.mu.Lock()
		extended := g.extended
		g.mu.Unlock()
		if id, ok := g.try(); ok {
			return id, nil
		}
		select {
		case <-extended:
		case <-ctx.Done():
			return 0, fmt.Errorf("make id: the lease of node number %d is used up: %w", g.span.Load().node, ctx.Err())
		}
	}
}

// try generates an id unless the span is used up.
func (g *Generator) try() (int64, bool) {
	now := tick(g.now())
	for {
		// The span is read before the newest id: see Lease.
		s := g.span.Load()
		last := g.last.Load()
		next := max(last+1, min(now, s.soft))
		if next >= s.hard {
			return 0, false
		}
		if g.last.CompareAndSwap(last, next) {
			return next>>sequenceBits<<(nodeBits+sequenceBits) | s.node<<sequenceBits | next&sequenceMask, true
		}
	}
}

// Last returns the time of the newest id, or the zero time if there is none. All later ids have
// this time or a later one.
func (g *Generator) Last() time.Time {
	last := g.last.Load()
	if last <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(last>>sequenceBits + epoch).UTC()
}

// Number returns the node number of future ids.
func (g *Generator) Number() int { return int(g.span.Load().node) }

// Time returns the time at which id was generated, to the millisecond and in UTC. It is ahead of
// the clock if Next used future milliseconds.
func Time(id int64) time.Time {
	return time.UnixMilli(id>>(nodeBits+sequenceBits) + epoch).UTC()
}

// First returns the lowest id of a moment: all ids generated before are lower. It is 0 for times
// before the epoch.
func First(at time.Time) int64 {
	return max(at.UnixMilli()-epoch, 0) << (nodeBits + sequenceBits)
}

// Node returns the number of the node that generated id.
func Node(id int64) int {
	return int(id >> sequenceBits & MaxNode)
}
