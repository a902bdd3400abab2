// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"example.org/app/internal/cluster"
)

// A sweeper removes stale data from the bucket and from this process's view.
type sweeper struct {
	node   *cluster.Node
	table  *table
	writer *writer
	// keeper is nil in a process without service.
	keeper   *keeper
	interval time.Duration
	// wake signals that a gateway has died.
	wake   chan struct{}
	logger *slog.Logger
}

// run sweeps periodically, and when a gateway has died.
func (s *sweeper) run(ctx context.Context) {
	ticker := time.NewTicker(s.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-s.wake:
		}
		s.dropStale()
		if !s.sweeps() {
			continue
		}
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.logger.Warn("sessions of dead gateways could not be removed", "error", err)
		}
	}
}

// dropStale drops sessions of an earlier bucket whose gateways are dead or have announced
// themselves to this one without them.
func (s *sweeper) dropStale() {
	epoch := s.table.epoch.Load()
	waits := func(session Session) bool {
		return session.gateway.live.Load() && session.gateway.announced.to(s.table.partition(session.UserID)) < epoch
	}
	s.table.prune(func(_ int64, r *record) *record {
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

// only returns the wanted sessions. It allocates only if some are unwanted.
func only(sessions []Session, wanted func(Session) bool) []Session {
	if !slices.ContainsFunc(sessions, func(s Session) bool { return !wanted(s) }) {
		return sessions
	}
	return slices.DeleteFunc(slices.Clone(sessions), func(s Session) bool { return !wanted(s) })
}

// sweeps reports whether this node cleans the bucket: the first of the healthy nodes does. Two that
// both believe to be first do the same work twice, harmlessly. If the users are partitioned, every
// service cleans its own partitions.
func (s *sweeper) sweeps() bool {
	if s.table.partitions.Load() > 1 {
		return s.keeper != nil
	}
	for _, m := range s.node.Cluster().Members() {
		if m.Status.HasJoined && m.Status.Healthy {
			return m.NodeID == s.node.ID()
		}
	}
	return false
}

// sweep removes the sessions of dead gateways from the bucket.
func (s *sweeper) sweep(ctx context.Context) error {
	epoch := s.table.epoch.Load()
	var users []int64
	owns := func(int64) bool { return true }
	if s.table.partitions.Load() > 1 {
		owns = s.keeper.owns()
	}
	s.table.each(func(userID int64, r *record) {
		for i := range r.sessions {
			if owns(userID) && r.epoch == epoch && r.sessions[i].gateway.dead.Load() {
				users = append(users, userID)
				return
			}
		}
	})
	return forEach(ctx, users, func(ctx context.Context, userID int64) error {
		// change does not pass on sessions of dead gateways, so writing the content back removes
		// them.
		_, err := s.writer.change(ctx, userID, false, func(current content, _ []Session, _ place) (*content, error) {
			r := s.table.get(userID)
			if r == nil || len(current.sessions) == len(r.sessions) {
				return nil, nil
			}
			return &current, nil
		})
		return err
	})
}
