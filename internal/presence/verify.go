// SPDX-License-Identifier: Apache-2.0

package presence

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	// defaultVerifyInterval is how often a gateway compares its sessions with what the cluster knows of them.
	defaultVerifyInterval = 3 * time.Second
	// suspicious is in how many comparisons in a row a fault is seen before it is mended: while sessions are opened and
	// closed there are differences that end by themselves. Ends of many sessions take longer to be told.
	suspicious, suspiciousEnd = 3, 5
)

// A Fault is a difference between the sessions of a gateway and what the cluster knows of them. None should ever be seen;
// each would be a mistake of this program.
type Fault string

// The faults.
const (
	// FaultStray is a session of the gateway that is not registered: nothing reaches its client.
	FaultStray Fault = "stray"
	// FaultAbandoned is a registered session that the gateway does not have: its user counts as online.
	FaultAbandoned Fault = "abandoned"
	// FaultMissing is a registered session that the bucket does not have, or whose place another one has.
	FaultMissing Fault = "missing"
	// FaultForeign is a session of the bucket that claims to be of this gateway and is not registered.
	FaultForeign Fault = "foreign"
)

// A suspicion is a fault of a session.
type suspicion struct {
	SessionKey
	fault Fault
}

// A verifier looks for faults of the sessions of this process's gateway and mends them.
type verifier struct {
	registrar *registrar
	finder    *Finder
	table     *table
	interval  time.Duration
	// healed is told of faults that were mended; nil is nobody. count is how many there were.
	healed func(Fault)
	count  atomic.Uint64
	logger *slog.Logger
}

// run compares the sessions of this gateway with what the cluster knows of them.
func (v *verifier) run(ctx context.Context) {
	ticker := time.NewTicker(v.interval)
	defer ticker.Stop()
	var suspicions map[suspicion]int
	// round are own sessions that are still to be compared with what services know of them.
	var round []SessionKey
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !v.registrar.announcedAll() {
			// What differs now is settled when the cluster is back.
			suspicions = nil
			continue
		}
		suspicions = v.verify(ctx, suspicions)
		round = v.compare(ctx, round)
	}
}

// verify looks for faults and mends those that are suspicious for long enough. It returns the others, with how often they
// were seen in a row.
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

// suspicions returns what differs now.
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

// mend ends a fault.
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
