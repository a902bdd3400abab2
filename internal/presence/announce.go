// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// announcers is how many entries a gateway writes concurrently when it announces its sessions.
const announcers = 64

// compare marks all own sessions for comparison with a bucket that was read.
func (reg *registrar) compare(b *bucket) {
	if b.partitions > 1 && reg.own.gateway.announced.to(0) >= b.epoch {
		// The bucket has the sessions. Changes that were missed are found by comparing with the
		// services.
		reg.own.doubtful.Store(true)
	} else {
		reg.own.markAll()
	}
}

// announcedAll reports whether the bucket is followed and has all own sessions.
func (reg *registrar) announcedAll() bool {
	b, err := reg.current.get()
	return err == nil && reg.own.gateway.announced.to(0) >= b.epoch
}

// run settles the marked users, many concurrently, and announces when a new bucket has all own
// sessions.
func (reg *registrar) run(ctx context.Context) {
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-reg.own.wake:
		}
		_, err := reg.current.await(ctx)
		if err == nil {
			err = reg.announce(ctx)
		}
		if err == nil {
			failing = false
			continue
		}
		if !failing && ctx.Err() == nil {
			reg.logger.Warn("sessions of this gateway could not be announced", "error", err)
		}
		failing = true
		timer := time.NewTimer(retryMax)
		select {
		case <-ctx.Done():
		case <-timer.C:
			wake(reg.own.wake)
		case <-reg.own.wake:
			wake(reg.own.wake)
		}
		timer.Stop()
	}
}

// announce settles the users that are marked now.
func (reg *registrar) announce(ctx context.Context) error {
	// Together, so that what the old bucket has is not mistaken for what the new one has.
	var b *bucket
	var marked map[int64]bool
	reg.current.hold(func(now *bucket) { b, marked = now, reg.own.take() })
	err := forEach(ctx, slices.Collect(maps.Keys(marked)), func(ctx context.Context, userID int64) error {
		err := reg.settle(ctx, userID, marked[userID])
		if err != nil {
			reg.own.mark(userID, marked[userID])
		}
		return err
	})
	// The news of the announcement may arrive before the services that do not know the sessions are
	// found.
	if err != nil || reg.own.met.Load() >= b.epoch {
		return err
	}
	if !reg.writer.alone {
		if err := b.announce(ctx, reg.own.gateway); err != nil {
			return err
		}
	}
	if err := reg.closeUnknown(ctx, b); err != nil {
		return err
	}
	reg.own.gateway.announced.toAll(b.epoch)
	return nil
}

// forEach calls fn for the users, several concurrently, and returns the first error. After an error
// it still calls fn, with a context that has ended.
func forEach(ctx context.Context, users []int64, fn func(ctx context.Context, userID int64) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	var mu sync.Mutex
	var failure error
	next := make(chan int64)
	for range min(announcers, len(users)) {
		group.Go(func() {
			for userID := range next {
				if err := fn(ctx, userID); err != nil {
					mu.Lock()
					if failure == nil {
						failure = err
					}
					mu.Unlock()
					cancel()
				}
			}
		})
	}
	for _, userID := range users {
		next <- userID
	}
	close(next)
	group.Wait()
	return failure
}
