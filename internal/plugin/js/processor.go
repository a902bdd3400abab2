// SPDX-License-Identifier: Apache-2.0

package js

import (
	"os"
	"runtime"
	"sync"
	"time"
)

// processorTime is how long an added processor of the Go scheduler is kept after the last engine
// needed it.
const processorTime = time.Second

// processors manages the processors of the Go scheduler, GOMAXPROCS, of the whole process.
var processors struct {
	mu sync.Mutex
	// own is the number without added ones.
	own, added int
}

// addProcessors adds processors to the Go scheduler, or removes them. It stops the process briefly.
func addProcessors(n int) {
	processors.mu.Lock()
	defer processors.mu.Unlock()
	if processors.added == 0 {
		processors.own = runtime.GOMAXPROCS(0)
	}
	processors.added += n
	if processors.added == 0 && os.Getenv("GOMAXPROCS") == "" {
		runtime.SetDefaultGOMAXPROCS() // It follows the limits of the container again.
		return
	}
	runtime.GOMAXPROCS(processors.own + processors.added)
}

// A crew adds a processor to the Go scheduler for each engine that computes for longer. The Go
// scheduler lets a goroutine compute for 10 milliseconds before another one gets its processor.
// With more threads than processors, the operating system runs a waking thread at once: the server
// responds as fast as without the engine.
type crew struct {
	mu sync.Mutex
	// working is the number of computing engines, most the maximum since the time since, and added
	// the number of processors for them.
	working, most, added int
	since                time.Time
}

// begin adds a processor for an engine, unless a spare one exists.
func (c *crew) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working++
	c.most = max(c.most, c.working)
	if c.working > c.added {
		c.added++
		addProcessors(1)
	}
}

// end releases the processor of an engine, with a delay.
func (c *crew) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working--
}

// settle removes processors that have been unneeded for a while.
func (c *crew) settle(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.since) < processorTime {
		return
	}
	if n := c.added - c.most; n > 0 {
		c.added = c.most
		addProcessors(-n)
	}
	c.most, c.since = c.working, now
}

// isLarge reports whether there are processors to remove.
func (c *crew) isLarge() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.added > 0
}

// disband removes all added processors. Abandoned engines may still be computing.
func (c *crew) disband() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.added > 0 {
		addProcessors(-c.added)
	}
	c.added, c.most = 0, 0
}

// A demand measures how much of a processor many small pieces of work need. Its zero value is ready
// for use. It is not safe for concurrent use.
type demand struct {
	at time.Time
	// used is the use above half a processor since it began to exceed that.
	used time.Duration
}

// add records a piece of work that has just ended.
func (d *demand) add(now time.Time, took time.Duration) {
	d.used = max(0, d.used-now.Sub(d.at)/2) + took
	d.at = now
}

// isHigh reports whether the work has needed more than half a processor for long.
func (d *demand) isHigh(now time.Time) bool { return d.used-now.Sub(d.at)/2 > longTurn }
