// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store/sqldb"
)

// Code adds the codes for callers to errors of the store. Errors that already have a code stay
// unchanged.
func Code(err error) error {
	if _, ok := errors.AsType[*apierr.Error](err); ok {
		return err
	}
	switch {
	case errors.Is(err, ErrDuplicateKey):
		return apierr.Wrap(apierr.RecordContainsDuplicateKey, err)
	case errors.Is(err, ErrInvalidValue):
		e := apierr.Wrap(apierr.IllegalArgument, err)
		if reason, ok := sqldb.TextProblem(err); ok {
			e.Reason = reason
		}
		return e
	case errors.Is(err, ErrOutcomeUnknown): // "Unavailable" would mean that nothing was done.
		return apierr.Wrap(apierr.ServerInternalError, err)
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrTimeout), errors.Is(err, ErrClosed):
		return apierr.Wrap(apierr.ServerUnavailable, err)
	default:
		return err
	}
}
