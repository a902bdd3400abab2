// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"fmt"
	"sync"
)

// Count runs a statement whose result is one number. Those who count the same at the same time share a count, because to
// count takes far longer than most other reads. The count that somebody gets begins after the call, so that it sees
// everything that was committed before.
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

// counts lets those who count the same at the same time share what they wait for.
type counts struct {
	// read runs a count that belongs to nobody, so that nobody's context ends it.
	read func(ctx context.Context, fn func(ctx context.Context, r Reader) error) error

	mu      sync.Mutex
	running map[string]*counting
}

// counting is a count that runs.
type counting struct {
	next *counted // those who came since it began wait for it; nil if nobody did
}

// counted is the result of a count, once done is closed.
type counted struct {
	done chan struct{}
	n    int64
	err  error
}

// get counts, or waits for a count that begins after now.
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

// end lets the next count begin if somebody waits for it. It runs by itself, so that whoever has a result need not wait.
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

// take returns those who wait for the next count. If there are none, nothing runs any more.
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
