// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"fmt"
	"sync"
)

// Count runs a statement that returns one number. Concurrent identical counts are shared, because
// counting takes far longer than most other reads. The count begins after the call, so that it
// includes everything committed before.
func Count(ctx context.Context, r Reader, s SQL) (n int64, err error) {
	session := r.session()
	if session.counts == nil || session.explain != nil {
		err = First(ctx, r, s, &n)
		return n, err
	}
	text, values, err := s.render(session.engine)
	if err != nil {
		return 0, err
	}
	return session.counts.get(ctx, r, fmt.Sprintf("%s %#v", text, values), func(ctx context.Context, r Reader) (n int64, err error) {
		err = First(ctx, r, s, &n)
		return n, err
	})
}

type countFunc func(context.Context, Reader) (int64, error)

// counts shares concurrent identical counts.
type counts struct {
	// read runs a shared count, independent of the contexts of its callers.
	read func(ctx context.Context, fn func(ctx context.Context, r Reader) error) error

	mu      sync.Mutex
	running map[string]*counting
}

// counting is a running count.
type counting struct {
	next *counted // callers since it began wait for it; nil if there are none
}

// counted is the result of a count, valid once done is closed.
type counted struct {
	done chan struct{}
	n    int64
	err  error
}

// get counts, or waits for a count that begins later than the call.
func (c *counts) get(ctx context.Context, r Reader, key string, count countFunc) (int64, error) {
	c.mu.Lock()
	current, runs := c.running[key]
	if !runs {
		current = &counting{}
		c.running[key] = current
		c.mu.Unlock()
		defer c.end(key, current, count)
		return count(ctx, r)
	}
	if current.next == nil {
		current.next = &counted{done: make(chan struct{})}
	}
	next := current.next
	c.mu.Unlock()
	select {
	case <-next.done:
		return next.n, next.err
	case <-ctx.Done():
		return 0, Translate(ctx.Err())
	}
}

// end starts the next count, in its own goroutine, if callers wait for it.
func (c *counts) end(key string, current *counting, count countFunc) {
	next := c.take(key, current)
	if next == nil {
		return
	}
	go func() {
		for ; next != nil; next = c.take(key, current) {
			next.err = c.read(context.Background(), func(ctx context.Context, r Reader) (err error) {
				next.n, err = count(ctx, r)
				return err
			})
			close(next.done)
		}
	}()
}

// take returns the next count that callers wait for, or nil and ends the sharing if there is none.
func (c *counts) take(key string, current *counting) *counted {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := current.next
	current.next = nil
	if next == nil {
		delete(c.running, key)
	}
	return next
}
