// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"

	"example.org/app/internal/store"
)

// boundedTotal ends the descriptions of operations that return pages of what may
// be very much.
var boundedTotal = fmt.Sprintf(" `total` is exact unless more than %[1]d records follow the beginning of the page; "+
	"then it is the number of records before the page plus %[1]d, so that there is always a next page to ask for.", store.CountLimit)
