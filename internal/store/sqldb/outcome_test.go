// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sqldb_test

import (
	"context"
	"errors"
	"math"
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

// TestRoundTrips counts how often a transaction waits for PostgreSQL: it begins with its first
// statement, and its last ones travel with the commit.
func TestRoundTrips(t *testing.T) {
	cutter := storetest.NewCutter(t, storetest.MigratedURL(t))
	db := storetest.Open(t, sqldb.Options{URL: cutter.URL(), Timeout: time.Minute})
	insert := func(name string) sqldb.SQL {
		return sqldb.New("INSERT INTO revision (name, value) VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = revision.value + 1", name)
	}
	read := func(ctx context.Context, tx sqldb.Tx) error {
		_, err := sqldb.List[int64](ctx, tx, sqldb.New("SELECT value FROM revision"))
		return err
	}
	for _, tt := range []struct {
		name string
		fn   sqldb.WriteFunc
		want int64
	}{
		{"nothing", func(context.Context, sqldb.Tx) error { return nil }, 0},
		{"a statement", raise, 2},
		{"a query", read, 2},
		{"a query and last statements", func(ctx context.Context, tx sqldb.Tx) error {
			if err := read(ctx, tx); err != nil {
				return err
			}
			return sqldb.ExecLast(ctx, tx, []sqldb.SQL{insert("b"), insert("c")})
		}, 2},
		{"last statements alone", func(ctx context.Context, tx sqldb.Tx) error {
			return sqldb.ExecLast(ctx, tx, []sqldb.SQL{insert("b"), insert("c")})
		}, 1},
	} {
		// Statements are prepared the first time, and a connection that was idle for a second is
		// looked at.
		least := int64(math.MaxInt64)
		for end := time.Now().Add(time.Minute); least > tt.want && time.Now().Before(end); {
			before := cutter.Trips()
			if err := db.Write(t.Context(), tt.fn); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			least = min(least, cutter.Trips()-before)
		}
		if least != tt.want {
			t.Errorf("%s: %d round trips, want %d", tt.name, least, tt.want)
		}
	}
	var n int64
	err := db.Read(t.Context(), func(ctx context.Context, r sqldb.Reader) error {
		return sqldb.First(ctx, r, sqldb.New("SELECT count(*) FROM revision WHERE name IN ('b', 'c')"), &n)
	})
	if err != nil || n != 2 {
		t.Errorf("%d rows were inserted last: %v", n, err)
	}
}
