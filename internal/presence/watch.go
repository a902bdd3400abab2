// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// retryMin and retryMax bound the pause between attempts to follow the bucket.
const retryMin, retryMax = 50 * time.Millisecond, 2 * time.Second

// run follows the bucket until the directory stops.
func (d *Directory) run() {
	if d.options.Alone {
		// The initially empty table is the truth.
		d.table.epoch.Store(aloneEpoch)
		d.complete(&bucket{epoch: aloneEpoch, partitions: 1}, nil)
		return
	}
	for attempt := 0; d.ctx.Err() == nil; attempt++ {
		complete, err := d.watch()
		if complete {
			attempt = 0
		}
		if err == nil || d.ctx.Err() != nil {
			continue
		}
		if d.current.fail(err) {
			d.logger.Warn("the sessions of other nodes are not up to date", "error", err)
		}
		delay := min(retryMin<<min(attempt, 10), retryMax)
		timer := time.NewTimer(delay/2 + rand.N(delay))
		select {
		case <-d.ctx.Done():
		case <-timer.C:
		case <-d.current.again:
		}
		timer.Stop()
	}
}

// watch follows the bucket until it must be reopened, which is no error, or something fails.
func (d *Directory) watch() (complete bool, err error) {
	c := d.node.Cluster()
	changed, since := c.Changed(), c.Synchronized()
	b, err := d.open()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	// The context also ends the watch, so it must not have a deadline.
	limit := time.AfterFunc(operationTimeout, cancel)
	// If the users are partitioned, a keeper follows them.
	keys := ">"
	if b.partitions > 1 {
		keys = gatewayKey + ">"
	}
	watcher, err := b.kv.Watch(ctx, keys)
	if !limit.Stop() && err == nil {
		err = errors.New("the watch of the sessions did not start in time")
	}
	if watcher != nil {
		defer drain(watcher)
	}
	if err != nil {
		return false, err
	}
	var keeping sync.WaitGroup
	defer keeping.Wait()
	defer cancel()
	seen := map[int64]struct{}{}
	for {
		select {
		case <-d.ctx.Done():
			return complete, nil
		case <-d.current.again:
			return complete, nil
		case <-changed:
			// After a reconnect the bucket may be another one, and news may have been missed.
			changed = c.Changed()
			if now := c.Synchronized(); !now.IsZero() && !now.Equal(since) {
				return complete, nil
			}
			if complete && d.registrar != nil {
				d.registrar.noteServices(b, since)
			}
		case entry, ok := <-watcher.Updates():
			switch {
			case !ok:
				return complete, errors.New("the watch of the sessions ended")
			case entry == nil:
				complete = true
				d.complete(b, seen)
				seen = nil
				if d.registrar != nil {
					d.registrar.noteServices(b, since)
				}
				if b.partitions > 1 && d.keeper != nil {
					keeping.Go(func() { d.keeper.run(ctx, b) })
				}
			default:
				d.apply(b, entry, seen, wholeBucket)
			}
		}
	}
}

// open opens the bucket and checks whether it is the one that was followed before.
func (d *Directory) open() (*bucket, error) {
	b, err := openBucket(d.ctx, d.node.Cluster(), max(d.options.Partitions, 1))
	if err != nil {
		return nil, err
	}
	if d.opened != nil && d.opened.created.Equal(b.created) {
		b.epoch, b.opened = d.opened.epoch, d.opened.opened
		return b, nil
	}
	d.opened = b
	b.epoch = d.table.epoch.Load() + 1
	for i := range d.table.followed {
		d.table.followed[i].Store(0)
	}
	d.table.split(b.partitions)
	if b.partitions > 1 && d.keeper == nil {
		for p := range b.partitions {
			d.table.drop(p)
		}
	}
	d.table.epoch.Store(b.epoch)
	return b, nil
}

// drain stops a watcher and empties its channel; the library would block on it for ever.
func drain(watcher jetstream.KeyWatcher) {
	_ = watcher.Stop()
	limit := time.NewTimer(time.Second)
	defer limit.Stop()
	for {
		select {
		case _, ok := <-watcher.Updates():
			if !ok {
				return
			}
		case <-limit.C:
			return
		}
	}
}

// complete makes the bucket, which has been read, the current one.
func (d *Directory) complete(b *bucket, seen map[int64]struct{}) {
	if b.partitions == 1 {
		d.table.filled(0, b.epoch, b.last, seen)
	}
	recovered := d.current.replace(b, func() {
		if d.registrar != nil {
			d.registrar.compare(b)
		}
	})
	if recovered {
		d.logger.Info("the sessions of other nodes are up to date again")
	}
}

// wholeBucket stands for the watch of the whole bucket, or of the keys without partition.
const wholeBucket = -1

// apply applies one change from the watch of a partition.
func (d *Directory) apply(b *bucket, entry jetstream.KeyValueEntry, seen map[int64]struct{}, partition int) {
	present := entry.Operation() == jetstream.KeyValuePut
	if id, ok := strings.CutPrefix(entry.Key(), gatewayKey); ok {
		if present {
			d.table.noteAnnounced(b, d.gateways.intern(id, string(entry.Value())), partition)
		}
		return
	}
	userID, ok := userOf(entry.Key())
	if !ok {
		return // A newer program may store more.
	}
	if seen != nil {
		seen[userID] = struct{}{}
	}
	var c content
	if present {
		var err error
		if c, err = decode(userID, entry.Value(), d.gateways.intern); err != nil {
			d.logger.Warn("ignored an entry that cannot be decoded", "key", entry.Key(), "error", err)
			return
		}
	}
	d.table.news(userID, c, entry.Revision(), b.epoch)
	if d.registrar != nil {
		d.registrar.check(userID)
	}
}

// noteAnnounced records that a gateway has announced its sessions, according to the watch of a
// partition. The same watch delivered the sessions before.
func (t *table) noteAnnounced(b *bucket, g *gateway, partition int) {
	switch {
	case partition >= 0:
		g.announced[partition].Store(b.epoch)
	case b.partitions == 1:
		g.announced[0].Store(b.epoch)
	default:
		for p := range b.partitions {
			if !t.watched[p].Load() {
				g.announced[p].Store(b.epoch)
			}
		}
	}
}

// liveLoop updates which gateways are alive.
func (d *Directory) liveLoop() {
	c := d.node.Cluster()
	// A missed heartbeat causes no event, so poll.
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		changed := c.Changed()
		for _, g := range d.gateways.refresh() {
			d.logger.Info("a gateway is gone, and its sessions with it", "node", g.id)
			wake(d.sweeper.wake)
		}
		select {
		case <-d.ctx.Done():
			return
		case <-changed:
		case <-ticker.C:
		}
	}
}
