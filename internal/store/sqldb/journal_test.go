// SPDX-License-Identifier: Apache-2.0

package sqldb_test

import (
	"context"
	"testing"

	"example.org/app/internal/store/sqldb"
)

// TestNoObserverCostsNothing counts the allocations of a transaction for an observer that wants no
// journal.
func TestNoObserverCostsNothing(t *testing.T) {
	db := new(sqldb.DB)
	db.Observe(func() sqldb.Journal { return nil })
	fn := func(context.Context, sqldb.Tx) error { return nil }
	if n := testing.AllocsPerRun(100, func() { db.Observing(fn) }); n != 0 {
		t.Errorf("it allocates %v times", n)
	}
}
