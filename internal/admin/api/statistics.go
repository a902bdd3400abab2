// SPDX-License-Identifier: Apache-2.0

package api

import (
	"time"

	"example.org/app/internal/admin"
	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
)

// StatisticsLimits bound the units of time of one statistics query.
type StatisticsLimits struct{ Hours, Days, Months int32 }

// StatisticsRecord is a number that belongs to a unit of time.
type StatisticsRecord struct {
	Date  admin.Date `json:"date" doc:"When the unit of time begins."`
	Total int64      `json:"total" doc:"The number of that unit." example:"1"`
}

// statisticsUnit is embedded into the input of a statistics operation.
type statisticsUnit struct {
	DivideBy string `query:"divideBy" default:"NOOP" enum:"HOUR,DAY,MONTH,NOOP" doc:"Unit of time to count for separately; NOOP counts for the whole range."`
}

// divided reports whether the numbers of single units are wanted.
func (u statisticsUnit) divided() bool { return u.DivideBy != "NOOP" }

// units cuts a range into units of time that follow one another from its start,
// in UTC. A last unit that the range does not hold wholly is left out.
func (u statisticsUnit) units(name string, r store.DateRange, limits StatisticsLimits) ([]store.DateRange, error) {
	start, end := r.Start.UTC(), r.End.UTC()
	var unit time.Duration
	var most int32
	var next func(n int) time.Time
	switch u.DivideBy {
	case "HOUR":
		unit, most = time.Hour, limits.Hours
		next = func(n int) time.Time { return start.Add(time.Duration(n) * time.Hour) }
	case "DAY":
		unit, most = 24*time.Hour, limits.Days
		next = func(n int) time.Time { return start.AddDate(0, 0, n) }
	default:
		unit, most = 2629746*time.Second, limits.Months
		next = func(n int) time.Time { return addMonths(start, n) }
	}
	// Milliseconds, because a range of some hundred years is no time.Duration.
	length := end.UnixMilli() - start.UnixMilli()
	if wanted := (length + unit.Milliseconds() - 1) / unit.Milliseconds(); wanted > int64(most) {
		return nil, apierr.New(apierr.AdminRequestsTooFrequent, "%s: the range has %d units of %s, but at most %d are allowed", name, wanted, u.DivideBy, most)
	}
	var list []store.DateRange
	for n := 0; ; n++ {
		from, to := next(n), next(n+1)
		if to.After(end) {
			return list, nil
		}
		list = append(list, store.DateRange{Start: &from, End: &to})
	}
}

// addMonths adds calendar months; a day that the month does not have becomes
// its last day.
func addMonths(t time.Time, n int) time.Time {
	added := t.AddDate(0, n, 0)
	if added.Day() != t.Day() {
		added = added.AddDate(0, 0, -added.Day())
	}
	return added
}

// count returns the number of a range, or those of its units. It returns nothing if the caller did
// not request them: units need both bounds, a number needs one.
func (u statisticsUnit) count(name string, r store.DateRange, limits StatisticsLimits, number func(store.DateRange) (int64, error)) (total *int64, records []StatisticsRecord, err error) {
	if !u.divided() {
		if r.Start == nil && r.End == nil {
			return nil, nil, nil
		}
		n, err := number(r)
		return &n, nil, err
	}
	if r.Start == nil || r.End == nil {
		return nil, nil, nil
	}
	units, err := u.units(name, r, limits)
	if err != nil {
		return nil, nil, err
	}
	records = []StatisticsRecord{}
	for _, unit := range units {
		n, err := number(unit)
		if err != nil {
			return nil, nil, err
		}
		records = append(records, StatisticsRecord{admin.NewDate(*unit.Start), n})
	}
	return nil, records, nil
}

// dateRange makes a range of two optional dates. It refuses an end before the
// start.
func dateRange(name string, start, end *admin.Date) (store.DateRange, error) {
	var r store.DateRange
	if start != nil {
		r.Start = &start.Time
	}
	if end != nil {
		r.End = &end.Time
	}
	if start != nil && end != nil && end.Before(start.Time) {
		return r, apierr.New(apierr.IllegalArgument, "%s: the end %s is before the start %s", name, end.Format(time.RFC3339), start.Format(time.RFC3339))
	}
	return r, nil
}
