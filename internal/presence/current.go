// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"example.org/app/internal/apierr"
)

// errUnknown is the state of a directory that has not read its bucket yet.
var errUnknown = errors.New("the sessions have not been read yet")

// A current is which bucket is written now, or why none can be.
type current struct {
	// stopped ends with the directory.
	stopped context.Context
	// again has the bucket opened and read again.
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

// get returns the bucket, or why the picture is not up to date. Then the bucket is the one of before, nil if there was none.
func (c *current) get() (*bucket, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bucket, c.err
}

// hold calls fn with the bucket, which no other one replaces meanwhile.
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

// replace makes b the bucket that is written, and calls fn before anybody knows. recovered reports that the picture was up to date
// before, and then was not.
func (c *current) replace(b *bucket, fn func()) (recovered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	recovered = c.err != nil && !errors.Is(c.err, errUnknown)
	c.bucket, c.err = b, nil
	fn()
	c.notify()
	return recovered
}

// fail notes that the picture is not up to date. It reports whether it was.
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

// reopen has the bucket opened and read again.
func (c *current) reopen() { wake(c.again) }

// wake puts a token into a channel that holds at most one.
func wake(channel chan struct{}) {
	select {
	case channel <- struct{}{}:
	default:
	}
}

// unavailable is what a caller is told when the bucket cannot be written.
func unavailable(err error) error {
	return &apierr.Error{Code: apierr.ServerUnavailable, Reason: "the node has no connection to the cluster now, so that sessions cannot be registered", Err: err}
}
