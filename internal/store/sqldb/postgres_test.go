// SPDX-License-Identifier: Apache-2.0

package sqldb_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/store/sqldb"
	"example.org/app/internal/store/storetest"
)

// TestConnectionLost checks that a connection which the server closed costs one call at most.
func TestConnectionLost(t *testing.T) {
	url := storetest.PostgreSQLURL(t)
	db := storetest.Open(t, sqldb.Options{URL: url, MaxConnections: 3})
	raw := rawDB(t, "pgx", url)
	err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Tx) error {
		if err := sqldb.BumpRevision(ctx, tx, "a"); err != nil {
			return err
		}
		if _, err := raw.ExecContext(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"); err != nil {
			return err
		}
		return sqldb.BumpRevision(ctx, tx, "a")
	})
	if !errors.Is(err, sqldb.ErrUnavailable) {
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
			err := db.Write(context.Background(), func(ctx context.Context, tx sqldb.Tx) error {
				var value int64
				if err := storetest.First(ctx, tx, "SELECT value FROM revision WHERE name = 'a'", &value); err != nil {
					return err
				}
				if first {
					first = false
					arrived.Done()
					arrived.Wait()
				}
				return storetest.Exec(ctx, tx, "UPDATE revision SET value = ? WHERE name = 'a'", value+1)
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
	db := storetest.Open(t, sqldb.Options{URL: url, LockTimeout: 60 * time.Millisecond})
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
	if err := db.Write(t.Context(), bump("a")); !errors.Is(err, sqldb.ErrTimeout) {
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
	db := storetest.Open(t, sqldb.Options{URL: storetest.PostgreSQLURL(t), MaxConnections: 1})
	release := holdWriter(t, db)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		result <- db.Write(ctx, func(context.Context, sqldb.Tx) error {
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

// TestPostgreSQLPreparesStatements checks that the driver prepares what the store runs, once for each connection.
func TestPostgreSQLPreparesStatements(t *testing.T) {
	db := storetest.PostgreSQL(t)
	var texts []string
	err := db.Write(t.Context(), func(ctx context.Context, tx sqldb.Tx) (err error) {
		for range 3 {
			if err := sqldb.BumpRevision(ctx, tx, "a"); err != nil {
				return err
			}
		}
		texts, err = storetest.List[string](ctx, tx, "SELECT statement FROM pg_prepared_statements WHERE statement LIKE 'INSERT INTO revision%'")
		return err
	})
	if err != nil || len(texts) != 1 || !strings.Contains(texts[0], "$1") {
		t.Errorf("prepared statements %q, error %v", texts, err)
	}
}
