// SPDX-License-Identifier: Apache-2.0

package group

import (
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// lifetime is how long a request can be answered; 0 is for ever. A pending
// request that is older has expired, although the store still says pending.
type lifetime time.Duration

func seconds(n int32) lifetime { return lifetime(time.Duration(n) * time.Second) }

// end returns when a request that was made then expires; nil is never.
func (l lifetime) end(creation time.Time) *time.Time {
	if l == 0 {
		return nil
	}
	at := creation.Add(time.Duration(l))
	return &at
}

// expiredBefore returns the moment before which a request must have been made
// to have expired now; nil is never.
func (l lifetime) expiredBefore(now time.Time) *time.Time {
	if l == 0 {
		return nil
	}
	at := now.Add(-time.Duration(l))
	return &at
}

// status returns what has become of a request by now.
func (l lifetime) status(stored store.RequestStatus, creation, now time.Time) store.RequestStatus {
	if end := l.end(creation); stored == store.RequestPending && end != nil && now.After(*end) {
		return store.RequestExpired
	}
	return stored
}

// creation combines a range of creation dates with one of expiration dates,
// which means nothing if requests do not expire.
func (l lifetime) creation(creation, expiration store.DateRange) (store.DateRange, error) {
	if l == 0 {
		return creation, nil
	}
	if expiration.Start != nil {
		start := expiration.Start.Add(-time.Duration(l))
		if creation.Start == nil || start.After(*creation.Start) {
			creation.Start = &start
		}
	}
	if expiration.End != nil {
		end := expiration.End.Add(-time.Duration(l))
		if creation.End == nil || end.Before(*creation.End) {
			creation.End = &end
		}
	}
	if creation.Start != nil && creation.End != nil && creation.End.Before(*creation.Start) {
		return creation, apierr.New(apierr.IllegalArgument, "the ranges of creation dates and of expiration dates have nothing in common")
	}
	return creation, nil
}

// responseDate returns the response date that a request has with a status: none
// if nobody has answered it, else the given one or now.
func responseDate(status store.RequestStatus, given *time.Time, now time.Time) *time.Time {
	if !status.Answered() {
		return nil
	}
	at := deref(given, now)
	return &at
}
