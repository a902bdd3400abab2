// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"example.org/app/internal/apierr"
)

// errUnknown means that a directory has not read its bucket yet.
var errUnknown = errors.New("the sessions have not been read yet")

// A current holds the bucket to write, or the error why there is none.
type current struct {
	// stopped ends when the directory stops.
	stopped context.Context
	// again causes the bucket to be opened and read again.
	again chan struct{}

	// mu comes before the lock of own.
	mu     sync.Mutex
	bucket *bucket
	err    error
	// changed is closed and replaced when bucket or err changes.
	changed chan struct{}
}

func newCurrent(stopped context.Context) *current {
	return &current{stopped: stopped, again: make(chan struct{}, 1), err: errUnknown, changed: make(chan struct{})}
}

// get returns the bucket. With an error, the copy is out of date and the bucket is the previous
// one, or nil.
func (c *current) get() (*bucket, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bucket, c.err
}

// hold calls fn with the bucket and prevents its replacement meanwhile.
func (c *current) hold(fn func(*bucket)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn(c.bucket)
}

// await waits for the bucket until ctx ends.
func (c *current) await(ctx context.Context) (*bucket, error) {
	for {
		c.mu.Lock()
		b, err, changed := c.bucket, c.err, c.changed
		c.mu.Unlock()
		if err == nil {
			return b, nil
		}
		select {
		case <-changed:
		case <-c.stopped.Done():
			return nil, unavailable(fmt.Errorf("presence has stopped: %w", c.stopped.Err()))
		case <-ctx.Done():
			return nil, unavailable(err)
		}
	}
}

// replace makes b the current bucket and calls fn before anybody sees it. recovered reports that
// the copy had been up to date once and then was not.
func (c *current) replace(b *bucket, fn func()) (recovered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	recovered = c.err != nil && !errors.Is(c.err, errUnknown)
	c.bucket, c.err = b, nil
	fn()
	c.notify()
	return recovered
}

// fail records that the copy is out of date. It reports whether it was up to date before.
func (c *current) fail(err error) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first = c.err == nil
	if first || errors.Is(c.err, errUnknown) {
		c.err = err
		c.notify()
	}
	return first
}

func (c *current) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// reopen causes the bucket to be opened and read again.
func (c *current) reopen() { wake(c.again) }

// wake puts a token into a channel with a buffer of one.
func wake(channel chan struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}

// unavailable returns the caller's error if the bucket cannot be written.
func unavailable(err error) error {
	return &apierr.Error{Code: apierr.ServerUnavailable, Reason: "the node has no connection to the cluster now, so that sessions cannot be registered", Err: err}
}
