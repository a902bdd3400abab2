// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"slices"
	"time"
)

// sweepLoop removes what nobody needs: at intervals, and when a gateway has died.
func (d *Directory) sweepLoop() {
	ticker := time.NewTicker(d.options.SweepInterval)
	defer ticker.Stop()
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-ticker.C:
		case <-d.sweeping:
		}
		d.dropStale()
		if !d.sweeps() {
			continue
		}
		if err := d.sweep(); err != nil && d.ctx.Err() == nil {
			d.logger.Warn("sessions of dead gateways could not be removed", "error", err)
		}
	}
}

// dropStale forgets sessions of an earlier bucket whose gateways are dead or have announced themselves to this one without them.
func (d *Directory) dropStale() {
	epoch := d.table.epoch.Load()
	waits := func(s Session) bool {
		return s.gateway.live.Load() && s.gateway.announced.to(d.table.partition(s.UserID)) < epoch
	}
	d.table.prune(func(_ int64, r *record) *record {
		next := *r
		if r.epoch < epoch {
			next.sessions = only(r.sessions, waits)
		}
		next.stale = only(r.stale, waits)
		switch {
		case r.epoch < epoch && len(next.sessions)+len(next.stale) == 0:
			return nil
		case len(next.sessions) == len(r.sessions) && len(next.stale) == len(r.stale):
			return r
		}
		return &next
	})
}

// only returns the sessions that are wanted. It allocates only if some are not.
func only(sessions []Session, wanted func(Session) bool) []Session {
	if !slices.ContainsFunc(sessions, func(s Session) bool { return !wanted(s) }) {
		return sessions
	}
	return slices.DeleteFunc(slices.Clone(sessions), func(s Session) bool { return !wanted(s) })
}

// sweeps reports whether this node is the one that cleans the bucket: the first of the healthy ones. When two believe to
// be it, they do the same work twice and no harm. If the users are split, every service cleans the partitions that it owns.
func (d *Directory) sweeps() bool {
	if d.table.partitions.Load() > 1 {
		return d.keeper != nil
	}
	for _, m := range d.node.Cluster().Members() {
		if m.Status.HasJoined && m.Status.Healthy {
			return m.NodeID == d.node.ID()
		}
	}
	return false
}

// sweep removes the sessions of dead gateways from the bucket.
func (d *Directory) sweep() error {
	epoch := d.table.epoch.Load()
	var users []int64
	owns := func(int64) bool { return true }
	if d.table.partitions.Load() > 1 {
		owns = d.keeper.owns()
	}
	d.table.each(func(userID int64, r *record) {
		for i := range r.sessions {
			if owns(userID) && r.epoch == epoch && r.sessions[i].gateway.dead.Load() {
				users = append(users, userID)
				return
			}
		}
	})
	return forEach(d.ctx, users, func(ctx context.Context, userID int64) error {
		// What change passes on are no sessions of dead gateways: writing it back removes those.
		_, err := d.change(ctx, userID, false, func(current content, _ []Session, _ place) (*content, error) {
			r := d.table.get(userID)
			if r == nil || len(current.sessions) == len(r.sessions) {
				return nil, nil
			}
			return &current, nil
		})
		return err
	})
}
