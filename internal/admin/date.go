// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"fmt"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// Date is a time in the format of the admin interface: UTC, milliseconds, and a numeric offset. The
// zero Date means "not set".
type Date struct{ time.Time }

// NewDate returns the moment in UTC, cut to milliseconds.
func NewDate(t time.Time) Date { return Date{t.UTC().Truncate(time.Millisecond)} }

const dateLayout = "2006-01-02T15:04:05.000-07:00"

// appendText appends the date without quotes. Lists contain many dates, and parsing a layout for
// each takes several times as long.
func (d Date) appendText(b []byte) []byte {
	t := d.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(b, dateLayout)
	}
	hour, minute, second := t.Clock()
	b = appendDigits(b, year/100, year%100)
	b = append(b, '-')
	b = appendDigits(b, int(month))
	b = append(b, '-')
	b = appendDigits(b, day)
	b = append(b, 'T')
	b = appendDigits(b, hour)
	b = append(b, ':')
	b = appendDigits(b, minute)
	b = append(b, ':')
	b = appendDigits(b, second)
	millis := t.Nanosecond() / int(time.Millisecond)
	b = append(b, '.', byte('0'+millis/100))
	b = appendDigits(b, millis%100)
	return append(b, "+00:00"...)
}

// appendDigits appends numbers below 100 with two digits each.
func appendDigits(b []byte, numbers ...int) []byte {
	for _, n := range numbers {
		b = append(b, byte('0'+n/10), byte('0'+n%10))
	}
	return b
}

// MarshalJSON implements json.Marshaler.
func (d Date) MarshalJSON() ([]byte, error) {
	b := append(make([]byte, 0, len(dateLayout)+2), '"')
	return append(d.appendText(b), '"'), nil
}

// Schema implements huma.SchemaProvider.
func (Date) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time", Examples: []any{"2024-03-28T11:43:23.291+00:00"}}
}

// dateLayouts are tried in order. Fractions of a second are accepted after any
// layout that has seconds. A layout without zone means UTC.
var dateLayouts = []string{
	"2006-01-02T15:04:05Z07:00",
	"2006-01-02T15:04:05Z0700",
	"2006-01-02T15:04:05Z07",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04Z0700",
	"2006-01-02T15:04Z07",
	"2006-01-02T15:04:05",
	"2006-01-02T15:04",
	"2006-01-02",
	time.RFC1123,
	time.RFC1123Z,
}

const dateRule = "must be a date: ISO 8601 such as 2024-03-28T11:43:23.291Z or 2024-03-28, RFC 1123, or epoch milliseconds"

// ParseDate parses a date in any of the accepted formats.
func ParseDate(s string) (Date, error) {
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
		return dateFromMillis(ms)
	}
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return dateInRange(NewDate(t))
		}
	}
	return Date{}, fmt.Errorf("%q %s", clip(s), dateRule)
}

// dateFromMillis returns the date of epoch milliseconds.
func dateFromMillis(ms int64) (Date, error) {
	return dateInRange(NewDate(time.UnixMilli(ms)))
}

// dateInRange returns an error for years that do not have four digits.
func dateInRange(d Date) (Date, error) {
	if y := d.Year(); y < 0 || y > 9999 {
		return Date{}, fmt.Errorf("the year %d is not between 0 and 9999", y)
	}
	return d, nil
}
