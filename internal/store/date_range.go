// SPDX-License-Identifier: Apache-2.0

package store

import (
	"math"
	"time"

	"example.org/app/internal/store/sqldb"
)

// A DateRange selects moments from Start, inclusive, to End, exclusive. A nil bound is none.
type DateRange struct{ Start, End *time.Time }

// conditions returns what the range asks of a column of milliseconds. A missing date matches no bound. An open end is
// written as a bound as well: SQLite takes a range of one bound for most of a table and would read through all of it.
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

// datedColumn is a column and the range that a filter asks of it.
type datedColumn struct {
	column string
	dates  DateRange
}

// orderBy returns the columns by which the records of a filter are ordered: by those that are unique together, and before
// them by the first date that the filter asks for. An index on that date then leads to the records of a page one after
// the other. In any other order all records of the range would have to be found and sorted for each page.
func orderBy(unique []string, dated ...datedColumn) []string {
	for _, d := range dated {
		if d.dates != (DateRange{}) {
			return append([]string{d.column}, unique...)
		}
	}
	return unique
}

// The columns of dates that may be missing hold NULL then.

func millisOrNull(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}
