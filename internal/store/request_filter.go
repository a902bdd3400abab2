// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"github.com/uptrace/bun"
)

// A StatusFilter selects requests by their status, taking into account that a request that nobody answered in time
// counts as expired although it is stored as pending.
type StatusFilter struct {
	// Statuses are those that a request may have; none is no restriction.
	Statuses []RequestStatus
	// ExpiredBefore is the moment before which a pending request must have been made to have expired; nil is never.
	ExpiredBefore *time.Time
}

func (f StatusFilter) conditions(engine Engine) (c conditions) {
	if len(f.Statuses) == 0 {
		return nil
	}
	var stored []RequestStatus
	pending, expired := false, false
	for _, status := range f.Statuses {
		switch status {
		case RequestPending:
			pending = true
		case RequestExpired:
			expired = true
			stored = append(stored, status)
		default:
			stored = append(stored, status)
		}
	}
	if f.ExpiredBefore == nil || pending && expired {
		anyOf(&c, engine, "t.status", numbers(f.Statuses))
		return c
	}
	limit := f.ExpiredBefore.UnixMilli()
	switch {
	case pending && len(stored) == 0:
		c.and(bun.SafeQuery("t.status = ?", RequestPending), bun.SafeQuery("t.creation_date >= ?", limit))
	case pending:
		c.and(bun.SafeQuery("(? OR (t.status = ? AND t.creation_date >= ?))", In(engine, "t.status", numbers(stored)), RequestPending, limit))
	case expired:
		c.and(bun.SafeQuery("(? OR (t.status = ? AND t.creation_date < ?))", In(engine, "t.status", numbers(stored)), RequestPending, limit))
	default:
		anyOf(&c, engine, "t.status", numbers(stored))
	}
	return c
}
