// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"testing"
	"time"
)

func TestDatesAreWrittenAsTheirLayoutSays(t *testing.T) {
	for _, moment := range []time.Time{
		{},
		time.Unix(0, 0),
		time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
		time.Date(2024, 3, 28, 11, 43, 23, 291e6, time.UTC),
		time.Date(2024, 2, 29, 1, 2, 3, 4e6, time.FixedZone("", 8*3600)),
		time.Date(9999, 12, 31, 23, 59, 59, 10e6, time.UTC),
		time.Date(12345, 6, 7, 8, 9, 10, 11e6, time.UTC),
	} {
		got, want := string(Date{moment}.appendText([]byte("x"))), "x"+moment.UTC().Format(dateLayout)
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
