// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// TestConnectionLost checks that a connection which the server closed costs one call at most.
func TestConnectionLost(t *testing.T) {
	url := storetest.PostgreSQLURL(t)
	db := storetest.Open(t, store.Options{URL: url, MaxConnections: 3})
	raw := rawDB(t, "pgx", url)
	err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		if err := store.BumpRevision(ctx, tx, "a"); err != nil {
			return err
		}
		if _, err := raw.ExecContext(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"); err != nil {
			return err
		}
		return store.BumpRevision(ctx, tx, "a")
	})
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("error is %v, want unavailable", err)
	}
	if err := db.Write(t.Context(), bump("b")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	wantRevision(t, db, "a", 0)
	wantRevision(t, db, "b", 1)
}

// TestRetries makes two transactions conflict for certain: each reads before either writes.
func TestRetries(t *testing.T) {
	db := storetest.PostgreSQL(t)
	if err := db.Write(t.Context(), bump("a")); err != nil {
		t.Fatal(err)
	}
	var arrived sync.WaitGroup
	arrived.Add(2)
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			first := true
			err := db.Write(context.Background(), func(ctx context.Context, tx store.Tx) error {
				var value int64
				if err := tx.NewSelect().TableExpr("revision").Column("value").Where("name = 'a'").Scan(ctx, &value); err != nil {
					return err
				}
				if first {
					first = false
					arrived.Done()
					arrived.Wait()
				}
				_, err := tx.NewRaw("UPDATE revision SET value = ? WHERE name = 'a'", value+1).Exec(ctx)
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	wantRevision(t, db, "a", 3)
	if stats := db.Stats(); stats.Retries == 0 || stats.Committed != 3 {
		t.Errorf("stats are %+v", stats)
	}
}

// TestRowLock checks that a lock which another client holds is waited for no longer than allowed.
func TestRowLock(t *testing.T) {
	url := storetest.PostgreSQLURL(t)
	db := storetest.Open(t, store.Options{URL: url, LockTimeout: 60 * time.Millisecond})
	if err := db.Write(t.Context(), bump("a")); err != nil {
		t.Fatal(err)
	}
	tx, err := rawDB(t, "pgx", url).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("SELECT * FROM revision FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), bump("a")); !errors.Is(err, store.ErrTimeout) {
		t.Errorf("error is %v, want a time-out", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), bump("a")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestPoolWait checks that a caller which waits for a connection can go away.
func TestPoolWait(t *testing.T) {
	db := storetest.Open(t, store.Options{URL: storetest.PostgreSQLURL(t), MaxConnections: 1})
	release := holdWriter(t, db)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		result <- db.Write(ctx, func(context.Context, store.Tx) error {
			t.Error("the function of a caller that went away ran")
			return nil
		})
	}()
	awaitQueue(t, db, 1)
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}
