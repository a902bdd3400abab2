// SPDX-License-Identifier: Apache-2.0

package service

import (
	"time"

	"example.org/app/internal/apierr"
	"example.org/app/internal/wire"
)

// listed answers a query of a list that clients cache. version is nil if the cache is up to date;
// data converts the list and its version.
func listed[T any](list []T, version *time.Time, err error, data func(list []T, version *int64) *wire.AppNotification_Data) (Answer, error) {
	switch {
	case err != nil:
		return Answer{}, err
	case version == nil:
		return Answer{Code: apierr.AlreadyUpToDate}, nil
	case len(list) == 0:
		return noContent, nil
	}
	return Answer{Data: data(list, millis(*version))}, nil
}
