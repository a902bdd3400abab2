// SPDX-License-Identifier: Apache-2.0

package sqldb_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"example.org/app/internal/store/sqldb"
	"example.org/app/internal/store/storetest"
)

// TestScansLeaveRoom starts the maximum number of scans and proves that another one waits, that its
// caller may cancel, and that other reads and writes do not wait.
func TestScansLeaveRoom(t *testing.T) {
	test := func(t *testing.T, db *sqldb.DB, most int) {
		one := func(ctx context.Context, r sqldb.Reader) error {
			var n int
			return sqldb.First(ctx, r, sqldb.New("SELECT 1"), &n)
		}
		begun, proceed, ended := make(chan int, 100), make(chan struct{}), make(chan error, 100)
		scan := func(ctx context.Context, r sqldb.Reader) error {
			begun <- 1
			<-proceed
			return one(ctx, r)
		}
		for range most {
			go func() { ended <- db.Scan(context.WithoutCancel(t.Context()), scan) }()
		}
		for range most {
			<-begun
		}
		impatient, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error)
		go func() { gaveUp <- db.Scan(impatient, scan) }()
		for range 20 {
			if err := db.Read(t.Context(), one); err != nil {
				t.Fatal(err)
			}
		}
		err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Tx) error { return sqldb.Scan(ctx, tx, one) })
		if err != nil {
			t.Errorf("a scan in a transaction: %v", err)
		}
		cancel()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Errorf("who gives up gets %v", err)
		}
		err = db.Read(t.Context(), func(ctx context.Context, r sqldb.Reader) error {
			done, err := sqldb.Within(ctx, r, 20*time.Millisecond, one)
			if done {
				t.Error("a scan with a time limit did not wait")
			}
			return err
		})
		if err != nil {
			t.Errorf("the time that is spent waiting: %v", err)
		}
		close(proceed)
		for range most {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		if err := db.Scan(t.Context(), one); err != nil || len(begun) != 0 {
			t.Errorf("a scan after the others: %v; %d more have begun", err, len(begun))
		}
	}
	t.Run("SQLite", func(t *testing.T) { test(t, storetest.SQLite(t), max(1, runtime.GOMAXPROCS(0)/2)) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, storetest.PostgreSQL(t), sqldb.DefaultMaxConnections/4) })
}
