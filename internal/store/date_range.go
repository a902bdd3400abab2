// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math"
	"time"

	"example.org/app/internal/store/sqldb"
)

// A DateRange selects moments from Start, inclusive, to End, exclusive. A nil bound is none.
type DateRange struct{ Start, End *time.Time }

// conditions returns the conditions for a column of milliseconds. A missing date matches no bound.
// An open end is written as a bound as well: SQLite estimates that a range with one bound matches
// most of a table and would scan it.
func (d DateRange) conditions(column string) conditions {
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
	return conditions{sqldb.New(column+" >= ?", start), sqldb.New(column+" < ?", end)}
}

// datedColumn is a column with its range in a filter.
type datedColumn struct {
	column string
	dates  DateRange
}

// orderBy returns the columns by which the records of a filter are ordered: the unique ones,
// preceded by the first date with a range. Then an index on that date returns the records of a page
// in order. Any other order would find and sort all records of the range for each page.
func orderBy(unique []string, dated ...datedColumn) []string {
	for _, d := range dated {
		if d.dates != (DateRange{}) {
			return append([]string{d.column}, unique...)
		}
	}
	return unique
}

// The columns of missing dates are NULL.

func millisOrNull(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}
