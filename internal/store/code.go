// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store/sqldb"
)

// Code gives errors of the store the codes that callers see. Whoever can say something more precise does so itself;
// such errors stay as they are.
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
	case errors.Is(err, ErrOutcomeUnknown): // Whoever is told that the server is not available takes it for not done.
		return apierr.Wrap(apierr.ServerInternalError, err)
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrTimeout), errors.Is(err, ErrClosed):
		return apierr.Wrap(apierr.ServerUnavailable, err)
	default:
		return err
	}
}
