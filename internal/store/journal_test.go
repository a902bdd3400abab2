// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"
	"time"
)

// TestDatesInJournals compares dates with what the standard library makes of the layout.
func TestDatesInJournals(t *testing.T) {
	for _, date := range []time.Time{
		{},
		time.UnixMilli(0),
		time.Date(999, 12, 31, 23, 59, 59, 999e6, time.UTC),
		time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2024, 2, 29, 1, 2, 3, 4_999_999, time.FixedZone("", 3600)),
		time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		want := `"` + date.UTC().Format(journalDate) + `"`
		if got := string(appendDate(nil, &date)); got != want {
			t.Errorf("%v is written as %s, want %s", date, got, want)
		}
	}
}
