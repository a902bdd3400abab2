// SPDX-License-Identifier: Apache-2.0

package store

import (
	"time"

	"example.org/app/internal/store/sqldb"
)

// A StatusFilter selects requests by their current status: a pending request that was not answered
// in time counts as expired.
type StatusFilter struct {
	// Statuses are the possible statuses; empty does not restrict.
	Statuses []RequestStatus
	// ExpiredBefore is the creation date before which pending requests have expired; nil means
	// never.
	ExpiredBefore *time.Time
}

func (f StatusFilter) conditions() (c conditions) {
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
		anyOf(&c, "t.status", numbers(f.Statuses))
		return c
	}
	limit := f.ExpiredBefore.UnixMilli()
	switch {
	case pending && len(stored) == 0:
		c.when("t.status = ? AND t.creation_date >= ?", RequestPending, limit)
	case pending:
		c.when("(? OR (t.status = ? AND t.creation_date >= ?))", sqldb.In("t.status", numbers(stored)), RequestPending, limit)
	case expired:
		c.when("(? OR (t.status = ? AND t.creation_date < ?))", sqldb.In("t.status", numbers(stored)), RequestPending, limit)
	default:
		anyOf(&c, "t.status", numbers(stored))
	}
	return c
}
