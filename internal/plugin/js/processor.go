// SPDX-License-Identifier: Apache-2.0

package js

import (
	"os"
	"runtime"
	"sync"
	"time"
)

// processorTime is how long the Go scheduler keeps a processor that was added for an engine after the last one needed it.
const processorTime = time.Second

// processors are those of the Go scheduler, GOMAXPROCS, of the whole process.
var processors struct {
	mu sync.Mutex
	// own is how many there are without those that were added.
	own, added int
}

// addProcessors adds processors to the Go scheduler, or takes them away again. It stops the process for a moment.
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

// A crew adds a processor to the Go scheduler for each engine that computes for long. The Go scheduler lets a goroutine compute
// for 10 milliseconds before another one gets its processor. The operating system, which has to share the processors of the
// machine then, lets a thread that wakes up run at once: the server answers others as fast as without the engine.
type crew struct {
	mu sync.Mutex
	// working is how many engines compute, most how many did at once since the time of since, and added how many processors there
	// are for them.
	working, most, added int
	since                time.Time
}

// begin adds a processor for an engine, unless there is one of another that ended.
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

// end lets the processor of an engine go, some time later.
func (c *crew) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.working--
}

// settle takes away the processors that no engine needed for a while.
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

// isLarge reports whether there are processors to take away.
func (c *crew) isLarge() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.added > 0
}

// disband takes all processors away. It may be called while engines that were given up still compute.
func (c *crew) disband() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.added > 0 {
		addProcessors(-c.added)
	}
	c.added, c.most = 0, 0
}

// A demand is how much of a processor work needs that comes in small parts. Its zero value is ready for use. It is not safe for
// concurrent use.
type demand struct {
	at time.Time
	// used is what was used above half a processor since the work began to need that much.
	used time.Duration
}

// add notes a part that has just ended and took some time.
func (d *demand) add(now time.Time, took time.Duration) {
	d.used = max(0, d.used-now.Sub(d.at)/2) + took
	d.at = now
}

// isHigh reports whether the work needs more than half a processor, and has for long.
func (d *demand) isHigh(now time.Time) bool { return d.used-now.Sub(d.at)/2 > longTurn }
