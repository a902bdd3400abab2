// SPDX-License-Identifier: Apache-2.0

package request

import (
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// A Lifetime is how long a request can be answered; 0 means for ever. An older pending request has
// expired, although its stored status is pending.
type Lifetime time.Duration

// Seconds returns a lifetime of n seconds.
func Seconds(n int32) Lifetime { return Lifetime(time.Duration(n) * time.Second) }

// End returns when a request expires; nil means never.
func (l Lifetime) End(creation time.Time) *time.Time {
	if l <= 0 {
		return nil
	}
	return new(creation.Add(time.Duration(l)))
}

// ExpiredBefore returns the latest creation date of requests that have expired by now; nil means
// none.
func (l Lifetime) ExpiredBefore(now time.Time) *time.Time {
	if l <= 0 {
		return nil
	}
	return new(now.Add(-time.Duration(l)))
}

// Status returns the current status of a request.
func (l Lifetime) Status(stored store.RequestStatus, creation, now time.Time) store.RequestStatus {
	if end := l.End(creation); stored == store.RequestPending && end != nil && now.After(*end) {
		return store.RequestExpired
	}
	return stored
}

// Creation combines a range of creation dates with one of expiration dates, which is ignored if
// requests do not expire.
func (l Lifetime) Creation(creation, expiration store.DateRange) (store.DateRange, error) {
	if l <= 0 || expiration == (store.DateRange{}) {
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
	if creation.Start != nil && creation.End != nil && !creation.Start.Before(*creation.End) {
		return creation, apierr.New(apierr.IllegalArgument,
			"creationDate and expirationDate: no request can be in both ranges while requests expire after %v", time.Duration(l))
	}
	return creation, nil
}

// ResponseDate returns the response date for a status: nil without an answer, else the given one or
// now.
func ResponseDate(status store.RequestStatus, given *time.Time, now time.Time) *time.Time {
	switch {
	case !status.Answered():
		return nil
	case given == nil:
		return &now
	}
	return given
}
