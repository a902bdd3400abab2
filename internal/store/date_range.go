// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// A DateRange selects moments from Start, inclusive, to End, exclusive. A nil bound is none.
type DateRange struct{ Start, End *time.Time }

// conditions returns what the range asks of a column of milliseconds. A missing date matches no bound. An open end is
// written as a bound as well: SQLite takes a range of one bound for most of a table and would read through all of it.
func (d DateRange) conditions(column string) []schema.QueryAppender {
	if d.Start == nil && d.End == nil {
		return nil
	}
	start, end := int64(math.MinInt64), int64(math.MaxInt64)
	if d.Start != nil {
		start = d.Start.UnixMilli()
	}
	if d.End != nil {
		end = d.End.UnixMilli()
	}
	return []schema.QueryAppender{bun.SafeQuery("? >= ?", bun.Ident(column), start), bun.SafeQuery("? < ?", bun.Ident(column), end)}
}

// The columns of dates that may be missing hold NULL then.

func millisOrNull(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}

func timeOrNil(ms *int64) *time.Time {
	if ms == nil {
		return nil
	}
	t := time.UnixMilli(*ms).UTC()
	return &t
}
