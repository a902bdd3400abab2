// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"example.org/app/internal/cluster"
	"example.org/app/internal/link"
	"example.org/app/internal/sleep"
	"example.org/app/internal/telemetry"
	"example.org/app/internal/wire"
)

const (
	// maxOutlet is the maximum number of concurrent deliveries to one gateway. So a gateway that
	// does not answer cannot fill a lane.
	maxOutlet = maxBehind / 4
	// outletPatience is how long a lane waits for a gateway at that limit before it skips it.
	outletPatience = time.Second
	// maxMissed is how many users with missed notifications are remembered; above that, all users
	// of the gateway count as such.
	maxMissed = 100_000
	// maxSkew is the tolerated difference between the clocks of two nodes.
	maxSkew = 250 * time.Millisecond
	// retryMin and retryMax bound the pause between two attempts to reach a gateway.
	retryMin, retryMax = 50 * time.Millisecond, time.Second
)

// An outlet tracks the deliveries to one incarnation of a gateway. If users miss something because
// the gateway could not be reached, their sessions are closed; they reconnect and query what is
// new. So no session stays open that silently missed something.
type outlet struct {
	node, life string
	// slots has an element for each delivery under way.
	slots chan struct{}

	mu sync.Mutex
	// full is since when all slots are taken, or zero.
	full time.Time
	// missed are the users who missed something; everybody is true if all users of the gateway may
	// have.
	missed    map[int64]struct{}
	everybody bool
	// others are users who missed something on all devices except the given one.
	others  map[link.Session]struct{}
	healing bool
	// down is true if the last delivery failed.
	down bool
}

// outlet returns the outlet of the gateway's current incarnation.
func (n *Notifier) outlet(node string) *outlet {
	life := n.node.Cluster().Life(node)
	n.outletsMu.Lock()
	defer n.outletsMu.Unlock()
	o := n.outlets[node]
	// While NATS has come back empty, the incarnation of the gateway is unknown: assume the former
	// one.
	if o == nil || life != "" && o.life != life {
		o = &outlet{node: node, life: life, slots: make(chan struct{}, maxOutlet), missed: map[int64]struct{}{}, others: map[link.Session]struct{}{}}
		n.outlets[node] = o
	}
	return o
}

// begin takes a slot. It reports false if none becomes free in time.
func (o *outlet) begin() bool {
	select {
	case o.slots <- struct{}{}:
		return true
	default:
	}
	o.mu.Lock()
	if o.full.IsZero() {
		o.full = time.Now()
	}
	left := outletPatience - time.Since(o.full)
	o.mu.Unlock()
	if left <= 0 {
		return false
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case o.slots <- struct{}{}:
		return true
	case <-timer.C:
		return false
	}
}

// end releases the slot.
func (o *outlet) end() {
	<-o.slots
	o.mu.Lock()
	defer o.mu.Unlock()
	o.full = time.Time{}
}

// miss records the users who missed a notification and reports whether the caller must start heal.
func (o *outlet) miss(users []int64, except *link.Session) (begin bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, id := range users {
		if except != nil && except.UserID == id {
			o.others[*except] = struct{}{}
		} else {
			o.missed[id] = struct{}{}
		}
	}
	if len(o.missed)+len(o.others) > maxMissed {
		o.everybody = true
		clear(o.missed)
		clear(o.others)
	}
	return o.beginHealing()
}

// missAll records that all users of the gateway missed a notification, like miss.
func (o *outlet) missAll() (begin bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.everybody = true
	return o.beginHealing()
}

// beginHealing reports whether the caller must start heal. It must hold the lock.
func (o *outlet) beginHealing() bool {
	begin := !o.healing
	o.healing = true
	return begin
}

// take returns and clears the sessions to close, or nil if there are none left.
func (o *outlet) take() (all []*link.Disconnection) {
	o.mu.Lock()
	defer o.mu.Unlock()
	const status = wire.ClosedServerUnavailable
	if o.everybody {
		all = append(all, &link.Disconnection{All: true, Status: status})
	}
	for ids := range slices.Chunk(slices.Collect(maps.Keys(o.missed)), maxRecipients) {
		all = append(all, &link.Disconnection{UserIDs: ids, Status: status})
	}
	byDevice := map[wire.DeviceType][]int64{}
	for s := range o.others {
		byDevice[s.Device] = append(byDevice[s.Device], s.UserID)
	}
	for device, ids := range byDevice {
		all = append(all, &link.Disconnection{UserIDs: ids, Devices: devicesBut(device), Status: status})
	}
	clear(o.missed)
	clear(o.others)
	o.everybody = false
	o.healing = len(all) > 0
	return all
}

// devicesBut returns all device types except one.
func devicesBut(one wire.DeviceType) (others []wire.DeviceType) {
	for device := range wire.DeviceType_name {
		if other := wire.DeviceType(device); other != one {
			others = append(others, other)
		}
	}
	return others
}

// note records the result of a delivery and reports whether the state changed.
func (o *outlet) note(err error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	changed := o.down != (err != nil)
	o.down = err != nil
	return changed
}

// gone reports whether the incarnation of the gateway, and so its sessions, have certainly ended.
func (n *Notifier) gone(o *outlet) bool {
	c, life := n.node.Cluster(), o.life
	if life == "" {
		// The record of the gateway was not known yet.
		life = c.Life(o.node)
	}
	alive, certain := c.Alive(o.node, life)
	return !alive && certain
}

// deliver delivers a notification to a gateway, as long as the notifier runs, even if ctx ends.
// What certainly did not arrive is sent again. sent is called each time it was sent.
func (n *Notifier) deliver(ctx context.Context, o *outlet, d *link.Delivery, sent func()) {
	ctx, cancel := context.WithTimeout(telemetry.Join(n.ctx, ctx), deliveryTimeout)
	defer cancel()
	for wait := retryMin; ; wait = min(2*wait, retryMax) {
		_, err := cluster.CallNodeSent(ctx, n.node, o.node, link.Deliver, d, sent)
		n.note(ctx, o, err)
		if err == nil || n.gone(o) {
			return
		}
		if !errors.Is(err, cluster.ErrNoNode) || sleep.For(ctx, wait) != nil {
			n.miss(o, d)
			return
		}
	}
}

// note records the result of a delivery and logs when a gateway begins to fail, and when it
// recovers.
func (n *Notifier) note(ctx context.Context, o *outlet, err error) {
	switch changed := o.note(err); {
	case changed && err != nil:
		n.logger.WarnContext(ctx, "cannot deliver to a gateway; users who miss something are told to connect again", "node", o.node, "error", err)
	case changed:
		n.logger.InfoContext(ctx, "the gateway takes deliveries again", "node", o.node)
	}
}

// deliverHere delivers a notification in the goroutine of the lane, if the gateway is in this
// process and there is no other process: such a gateway queues frames without blocking. It reports
// false if the caller must deliver the notification, because the gateway accepts none or an earlier
// one is pending.
func (n *Notifier) deliverHere(ctx context.Context, l *lane, o *outlet, d *link.Delivery) (done bool) {
	if !n.node.Cluster().Exclusive() || o.node != n.node.ID() {
		return false
	}
	if _, waiting := l.behind[o.node]; waiting {
		return false
	}
	_, err := cluster.CallNode(telemetry.Join(n.ctx, ctx), n.node, o.node, link.Deliver, d)
	if errors.Is(err, cluster.ErrNoNode) {
		return false
	}
	if n.note(ctx, o, err); err != nil {
		n.miss(o, d)
	}
	return true
}

// miss records and handles users who missed a notification. The notifier must wait for the calling
// goroutine.
func (n *Notifier) miss(o *outlet, d *link.Delivery) {
	if o.miss(d.Recipients, d.Except) {
		n.wg.Go(func() { n.heal(o) })
	}
}

// heal closes the sessions of a gateway that missed something, until none is left.
func (n *Notifier) heal(o *outlet) {
	sessions := 0
	for all := o.take(); len(all) > 0; all = o.take() {
		for _, d := range all {
			closed, ok := n.disconnect(o, d)
			if !ok {
				return
			}
			sessions += closed
		}
	}
	if sessions > 0 {
		n.logger.Info("told users who missed something to connect again", "node", o.node, "sessions", sessions)
	}
}

// disconnect closes sessions. ok is false if the gateway is gone or the notifier stops.
func (n *Notifier) disconnect(o *outlet, d *link.Disconnection) (closed int, ok bool) {
	// Clients that log in later query what is new anyway.
	again := *d
	again.Before = n.node.Cluster().Now().Add(maxSkew)
	for wait := retryMin; ; wait = min(2*wait, retryMax) {
		ctx, cancel := context.WithTimeout(n.ctx, deliveryTimeout)
		result, err := cluster.CallNode(ctx, n.node, o.node, link.Disconnect, d)
		cancel()
		if err == nil {
			return result.Sessions, true
		}
		if n.gone(o) || sleep.For(n.ctx, wait) != nil {
			return 0, false
		}
		d = &again
	}
}
