// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/sleep"
)

const (
	// defaultKeepInterval is how long a service still follows a partition that it has lost to
	// others.
	defaultKeepInterval = 30 * time.Second
	// fills is how many partitions a service reads concurrently.
	fills = 8
	// fillCheck is the interval of checks whether a partition that was read is complete.
	fillCheck = 500 * time.Millisecond
)

// A keeper follows the partitions of a service of this process, as their owner or second. It
// answers questions about their users and sends hints about replaced sessions. It does nothing if
// the users are not partitioned.
type keeper struct {
	directory *Directory
	node      *cluster.Node
	hints     *hints
	filling   chan struct{}
}

func newKeeper(d *Directory, node *cluster.Node) *keeper {
	return &keeper{directory: d, node: node, hints: newHints(d), filling: make(chan struct{}, fills)}
}

// owns returns a function that reports whether this service owns the partition of a user.
func (k *keeper) owns() func(userID int64) bool {
	o, _ := k.directory.finder.owners()
	return func(userID int64) bool { return o.owner(k.directory.table.partition(userID)) == k.node.ID() }
}

// A following is the watch of a partition.
type following struct {
	cancel context.CancelFunc
	done   chan struct{}
	// unwanted is since when the partition belongs to others, or zero.
	unwanted time.Time
}

// run follows partitions of a bucket until ctx ends.
func (k *keeper) run(ctx context.Context, b *bucket) {
	c, t := k.directory.node.Cluster(), k.directory.table
	followed := map[int]*following{}
	defer func() {
		for _, f := range followed {
			<-f.done
		}
	}()
	// A missed heartbeat causes no event, so poll.
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for ctx.Err() == nil {
		changed := c.Changed()
		o, _ := k.directory.finder.owners()
		wanted := map[int]bool{}
		for _, p := range o.of(k.node.ID()) {
			wanted[p] = true
		}
		var dropped []int
		for p := range b.partitions {
			f := followed[p]
			switch {
			case f == nil && (wanted[p] || t.watched[p].Load()):
				followed[p] = k.follow(ctx, b, p)
			case f == nil:
			case wanted[p]:
				f.unwanted = time.Time{}
			case f.unwanted.IsZero():
				f.unwanted = time.Now()
			case time.Since(f.unwanted) > k.directory.options.KeepInterval:
				t.complete[p].Store(false)
				f.cancel()
				dropped = append(dropped, p)
			}
		}
		for _, p := range dropped {
			<-followed[p].done
			delete(followed, p)
			t.drop(p)
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-ticker.C:
		}
	}
}

// follow starts following a partition.
func (k *keeper) follow(ctx context.Context, b *bucket, partition int) *following {
	f := &following{done: make(chan struct{})}
	ctx, f.cancel = context.WithCancel(ctx)
	k.directory.table.watched[partition].Store(true)
	go func() {
		defer close(f.done)
		for attempt := 0; ctx.Err() == nil; attempt++ {
			err := k.watch(ctx, b, partition)
			if ctx.Err() != nil {
				return
			}
			k.directory.logger.Warn("a partition of the sessions is not up to date", "partition", partition, "error", err)
			if gone(err) {
				k.directory.current.reopen()
			}
			delay := min(retryMin<<min(attempt, 10), retryMax)
			_ = sleep.For(ctx, delay/2+rand.N(delay))
		}
	}()
	return f
}

// watch reads a partition and follows it until ctx ends or something fails.
func (k *keeper) watch(ctx context.Context, b *bucket, partition int) error {
	select {
	case k.filling <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	full := sync.OnceFunc(func() { <-k.filling })
	defer full()
	last, err := b.lastRevision(ctx)
	if err != nil {
		return fmt.Errorf("read the state of the sessions: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The context also ends the watch, so it must not have a deadline.
	limit := time.AfterFunc(operationTimeout, cancel)
	// The same watch delivers the announcements, after what they announce.
	watcher, err := b.kv.WatchFiltered(ctx, []string{usersOf(partition) + "*", gatewayKey + ">"})
	if !limit.Stop() && err == nil {
		err = errors.New("the watch of a partition did not start in time")
	}
	if watcher != nil {
		defer drain(watcher)
	}
	if err != nil {
		return err
	}
	d := k.directory
	seen := map[int64]struct{}{}
	ticker := time.NewTicker(fillCheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			if seen == nil {
				ticker.Stop()
				if !k.check(b, partition) {
					ticker.Reset(fillCheck)
				}
			}
		case entry, ok := <-watcher.Updates():
			switch {
			case !ok:
				return errors.New("the watch of a partition ended")
			case entry == nil:
				d.table.filled(partition, b.epoch, last, seen)
				seen = nil
				full()
				k.check(b, partition)
			default:
				d.apply(b, entry, seen, partition)
			}
		}
	}
}

// check records that a partition that was read is complete, if the bucket is, and reports whether.
func (k *keeper) check(b *bucket, partition int) bool {
	complete := &k.directory.table.complete[partition]
	if !complete.Load() && k.directory.gateways.allAnnounced(b, partition) {
		complete.Store(true)
	}
	return complete.Load()
}
