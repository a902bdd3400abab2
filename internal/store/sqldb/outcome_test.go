// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sqldb_test

import (
	"errors"
	"testing"
	"time"

	"example.org/app/internal/store/sqldb"
	"example.org/app/internal/store/storetest"
)

// TestUnknownOutcome closes connections during the commit: such a transaction is not reported as
// rolled back.
func TestUnknownOutcome(t *testing.T) {
	cutter := storetest.NewCutter(t, storetest.MigratedURL(t))
	db := storetest.Open(t, sqldb.Options{URL: cutter.URL(), Timeout: time.Minute})
	for _, tt := range []struct {
		name string
		cut  func(int32)
		want int64
	}{{"before", cutter.CutBefore, 0}, {"after", cutter.CutAfter, 1}} {
		tt.cut(1)
		err := db.Write(t.Context(), raise)
		if !errors.Is(err, sqldb.ErrOutcomeUnknown) || !errors.Is(err, sqldb.ErrUnavailable) {
			t.Errorf("%s the commit: error is %v", tt.name, err)
		}
		if value, err := db.Revision(t.Context(), "a"); err != nil || value != tt.want {
			t.Errorf("%s the commit: the revision is %d, want %d: %v", tt.name, value, tt.want, err)
		}
	}
	if err := db.Write(t.Context(), raise); err != nil {
		t.Error(err)
	}
}
