// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"

	"example.org/app/internal/store"
)

// boundedTotal ends the descriptions of operations that return pages of what may
// be very much.
var boundedTotal = fmt.Sprintf(" `total` is exact as long as counting takes no longer than `app.service.admin-api.total-budget-millis`; "+
	"otherwise it is the number of records before the page plus %d, and `totalIsExact` is false. With `exactTotal=true` it is always exact.", store.CountLimit)
