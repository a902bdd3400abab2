// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	// defaultVerifyInterval is how often a gateway compares its sessions with the cluster's.
	defaultVerifyInterval = 3 * time.Second
	// suspicious is in how many successive comparisons a fault must be seen before it is repaired:
	// concurrent openings and closings cause transient differences. suspiciousEnd is higher,
	// because it takes longer to propagate the end of many sessions.
	suspicious, suspiciousEnd = 3, 5
)

// A Fault is a difference between the sessions of a gateway and the cluster's. Each one indicates a
// defect of this program.
type Fault string

// The faults.
const (
	// FaultStray is a session of the gateway that is not registered: its client gets no messages.
	FaultStray Fault = "stray"
	// FaultAbandoned is a registered session that the gateway does not have: its user appears
	// online.
	FaultAbandoned Fault = "abandoned"
	// FaultMissing is a registered session that is missing from the bucket or was replaced there.
	FaultMissing Fault = "missing"
	// FaultForeign is a session in the bucket that claims to be of this gateway and is not
	// registered.
	FaultForeign Fault = "foreign"
)

// A suspicion is a fault with its session.
type suspicion struct {
	SessionKey
	fault Fault
}

// A verifier finds and repairs faults of the sessions of this process's gateway.
type verifier struct {
	registrar *registrar
	finder    *Finder
	table     *table
	interval  time.Duration
	// healed is called with each repaired fault; it may be nil. count is the number of repaired
	// faults.
	healed func(Fault)
	count  atomic.Uint64
	logger *slog.Logger
}

// run compares the sessions of this gateway with the cluster's periodically.
func (v *verifier) run(ctx context.Context) {
	ticker := time.NewTicker(v.interval)
	defer ticker.Stop()
	var suspicions map[suspicion]int
	// round are the own sessions that are left to be compared with the services.
	var round []SessionKey
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !v.registrar.announcedAll() {
			// Differences are settled when the cluster is back.
			suspicions = nil
			continue
		}
		suspicions = v.verify(ctx, suspicions)
		round = v.compare(ctx, round)
	}
}

// verify finds faults and repairs those that were seen often enough in a row. It returns the others
// with their counts.
func (v *verifier) verify(ctx context.Context, before map[suspicion]int) (after map[suspicion]int) {
	after = map[suspicion]int{}
	for _, s := range v.suspicions(ctx) {
		after[s] = before[s] + 1
		limit := suspicious
		if s.fault == FaultAbandoned {
			limit = suspiciousEnd
		}
		if after[s] >= limit {
			delete(after, s)
			v.mend(ctx, s)
		}
	}
	return after
}

// suspicions returns the current differences.
func (v *verifier) suspicions(ctx context.Context) (found []suspicion) {
	holder := v.registrar.holder.Load()
	if holder == nil {
		return nil
	}
	held := 0
	(*holder).Each(func(key SessionKey) bool {
		own, ok := v.registrar.own.find(key)
		if !ok {
			found = append(found, suspicion{key, FaultStray})
			return true
		}
		held++
		r := v.table.get(key.UserID)
		followed := place{v.table.epoch.Load(), v.table.followedFor(key.UserID)}
		late := followed.before(own.at) || r != nil && r.place().before(own.at)
		if !late && (r == nil || !contains(r.sessions, &own.Session)) {
			found = append(found, suspicion{key, FaultMissing})
		}
		return ctx.Err() == nil
	})
	if v.registrar.own.count() > held {
		for _, key := range v.registrar.own.keys() {
			if _, ok := v.registrar.activityOf(key.UserID, key.Device, key.ID); !ok {
				found = append(found, suspicion{key, FaultAbandoned})
			}
		}
	}
	v.table.each(func(_ int64, r *record) {
		for i := range r.sessions {
			if s := &r.sessions[i]; s.gateway == v.registrar.own.gateway && !v.registrar.owns(s.Key()) {
				found = append(found, suspicion{s.Key(), FaultForeign})
			}
		}
	})
	return found
}

// contains reports whether the session is among others.
func contains(sessions []Session, s *Session) bool {
	for i := range sessions {
		if sessions[i].same(s) {
			return true
		}
	}
	return false
}

// mend repairs a fault.
func (v *verifier) mend(ctx context.Context, s suspicion) {
	v.count.Add(1)
	v.logger.Warn("mended a session that the gateway and the cluster did not agree on", "fault", string(s.fault),
		"userId", s.UserID, "device", s.Device.String())
	if v.healed != nil {
		v.healed(s.fault)
	}
	switch s.fault {
	case FaultStray:
		(*v.registrar.holder.Load()).Stray(s.SessionKey)
	case FaultAbandoned:
		v.registrar.close(ctx, s.SessionKey)
	case FaultMissing, FaultForeign:
		v.registrar.own.mark(s.UserID, true)
	}
}
