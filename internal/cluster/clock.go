// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// clockSamples is how many measurements are made in a row; the fastest one counts.
	clockSamples = 3
	// clockInterval is how often the clock is measured. A measurement stays in use for at most
	// maxClockAge while later ones are slower.
	clockInterval = 10 * time.Second
	maxClockAge   = time.Minute
	// maxClockError is the longest round trip of a valid measurement.
	maxClockError = time.Second
	// maxAhead bounds how far the time received from another node may be ahead. A node whose clock
	// is off by more, because it could not measure it, must not move the clocks of the others.
	maxAhead = 10 * time.Second
)

// A clock tells the time of the cluster: that of the NATS server, which every node measures, and
// never before a time that was received in a message. Therefore an event that follows from a
// message of another node always has a later time, whatever their own clocks say.
type clock struct {
	wall func() time.Time
	// offset is how far the server's clock is ahead of this machine's, in nanoseconds.
	offset atomic.Int64
	// heard is the latest time received from another node, in microseconds since 1970.
	heard atomic.Int64

	mu sync.Mutex
	// trip is the round trip of the measurement in use, which was made at measured.
	trip     time.Duration
	measured time.Time
}

// now returns the time of the cluster.
func (c *clock) now() time.Time {
	now := c.estimate()
	if heard := c.heard.Load(); now.UnixMicro() < heard {
		return time.UnixMicro(heard)
	}
	return now
}

// estimate returns the estimated time of the server.
func (c *clock) estimate() time.Time { return c.wall().Add(time.Duration(c.offset.Load())) }

// hear records the time received from another node.
func (c *clock) hear(micros int64) {
	for {
		heard := c.heard.Load()
		if micros <= heard || micros > c.estimate().Add(maxAhead).UnixMicro() || c.heard.CompareAndSwap(heard, micros) {
			return
		}
	}
}

// measure compares this machine's clock with the server's. On a busy machine a measurement may be
// worse than an earlier one, which then stays in use for a while.
func (c *clock) measure(ctx context.Context, server func(context.Context) (time.Time, error)) error {
	best, offset := maxClockError, time.Duration(0)
	for range clockSamples {
		begin, start := c.wall(), time.Now()
		theirs, err := server(ctx)
		if err != nil {
			return err
		}
		if trip := time.Since(start); trip < best {
			best, offset = trip, theirs.Sub(begin.Add(trip/2))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if best < maxClockError && (best <= 2*c.trip || c.measured.IsZero() || time.Since(c.measured) > maxClockAge) {
		c.offset.Store(int64(offset))
		c.trip, c.measured = best, time.Now()
	}
	return nil
}

// Now returns the time of the cluster. It is the same on all nodes, to within the latency of a
// message.
func (c *Cluster) Now() time.Time { return c.clock.now() }

// measureClock adjusts the clock to the server's. A server in this process uses this machine's
// clock.
func (c *Cluster) measureClock(ctx context.Context, b *bucket) error {
	if c.options.URL == "" && c.options.Clock == nil {
		return nil
	}
	return c.clock.measure(ctx, b.now)
}

// clockLoop measures the clock every clockInterval.
func (c *Cluster) clockLoop() {
	ticker := time.NewTicker(clockInterval)
	defer ticker.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-ticker.C:
		}
		b, err := c.directory.current()
		if err != nil {
			continue
		}
		ctx, cancel := context.WithTimeout(c.ctx, operationTimeout)
		if err := c.measureClock(ctx, b); err != nil && c.ctx.Err() == nil {
			c.logger.Debug("the clock could not be compared with that of the cluster", "error", err)
		}
		cancel()
	}
}

// slack is how much earlier the handler's deadline is than the caller's, so that nothing happens
// after a caller has given up, even if the clocks differ a little.
func slack(left time.Duration) time.Duration { return min(left/10, 500*time.Millisecond) }

// stamp writes the deadline of a request, in the time of the cluster, to a header.
func (c *clock) stamp(header nats.Header, left time.Duration) {
	now := c.now()
	header[headerTime] = []string{strconv.FormatInt(now.UnixMicro(), 10)}
	header[headerDeadline] = []string{strconv.FormatInt(c.estimate().Add(left).UnixMicro(), 10)}
}

// remaining returns the time left for a request; it is not positive if the request arrived too
// late.
func (c *Cluster) remaining(header nats.Header) time.Duration {
	left := c.timeoutOf(header)
	if deadline, err := strconv.ParseInt(first(header, headerDeadline), 10, 64); err == nil {
		left = min(left, time.UnixMicro(deadline).Sub(c.clock.estimate()))
	}
	return left
}

// hearIn records the time in a header.
func (c *clock) hearIn(header nats.Header) {
	if micros, err := strconv.ParseInt(first(header, headerTime), 10, 64); err == nil {
		c.hear(micros)
	}
}
