// SPDX-License-Identifier: Apache-2.0

package presence

import "time"

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

// Healed returns how many faults were mended.
func (d *Directory) Healed() uint64 { return d.healed.Load() }

// verifyLoop compares the sessions of this gateway with what the cluster knows of them.
func (d *Directory) verifyLoop() {
	ticker := time.NewTicker(d.options.VerifyInterval)
	defer ticker.Stop()
	var suspicions map[suspicion]int
	// round are own sessions that are still to be compared with what services know of them.
	var round []SessionKey
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-ticker.C:
		}
		if !d.announcedAll() {
			// What differs now is settled when the cluster is back.
			suspicions = nil
			continue
		}
		suspicions = d.verify(suspicions)
		round = d.finder.compareOwn(round)
	}
}

// announcedAll reports whether the bucket is followed and has been told of the own sessions.
func (d *Directory) announcedAll() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err == nil && d.own.gateway.announced.to(0) >= d.bucket.epoch
}

// verify looks for faults and mends those that are suspicious for long enough. It returns the others, with how often they
// were seen in a row.
func (d *Directory) verify(before map[suspicion]int) (after map[suspicion]int) {
	after = map[suspicion]int{}
	for _, s := range d.suspicions() {
		after[s] = before[s] + 1
		limit := suspicious
		if s.fault == FaultAbandoned {
			limit = suspiciousEnd
		}
		if after[s] >= limit {
			delete(after, s)
			d.mend(s)
		}
	}
	return after
}

// suspicions returns what differs now.
func (d *Directory) suspicions() (found []suspicion) {
	holder := d.holder.Load()
	if holder == nil {
		return nil
	}
	held := 0
	(*holder).Each(func(key SessionKey) bool {
		own, ok := d.own.find(key)
		if !ok {
			found = append(found, suspicion{key, FaultStray})
			return true
		}
		held++
		r := d.table.get(key.UserID)
		followed := place{d.table.epoch.Load(), d.table.followedFor(key.UserID)}
		late := followed.before(own.at) || r != nil && r.place().before(own.at)
		if !late && (r == nil || !contains(r.sessions, &own.Session)) {
			found = append(found, suspicion{key, FaultMissing})
		}
		return d.ctx.Err() == nil
	})
	if d.own.count() > held {
		for _, key := range d.own.keys() {
			if _, ok := d.activityOf(key.UserID, key.Device, key.ID); !ok {
				found = append(found, suspicion{key, FaultAbandoned})
			}
		}
	}
	d.table.each(func(_ int64, r *record) {
		for i := range r.sessions {
			if s := &r.sessions[i]; s.gateway == d.own.gateway && !d.Owns(s.Key()) {
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
func (d *Directory) mend(s suspicion) {
	d.healed.Add(1)
	d.logger.Warn("mended a session that the gateway and the cluster did not agree on", "fault", string(s.fault),
		"userId", s.UserID, "device", s.Device.String())
	if d.options.Healed != nil {
		d.options.Healed(s.fault)
	}
	switch s.fault {
	case FaultStray:
		(*d.holder.Load()).Stray(s.SessionKey)
	case FaultAbandoned:
		d.Close(d.ctx, s.UserID, s.Device, s.ID)
	case FaultMissing, FaultForeign:
		d.own.mark(s.UserID, true)
	}
}
