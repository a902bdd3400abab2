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

// TestConnectionLost checks that a connection closed by the server fails at most one call.
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

// TestRetries makes two transactions conflict: each reads before either writes.
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

// TestRowLock checks that waiting for another client's lock is bounded.
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

// TestWithin checks that slow reads are cancelled in the database and release their connection.
func TestWithin(t *testing.T) {
	url := storetest.PostgreSQLURL(t)
	db := storetest.Open(t, sqldb.Options{URL: url, MaxConnections: 1})
	backend := func() (pid int64) {
		t.Helper()
		if err := db.Read(t.Context(), func(ctx context.Context, r sqldb.Reader) error {
			return sqldb.First(ctx, r, sqldb.New("SELECT pg_backend_pid()"), &pid)
		}); err != nil {
			t.Fatal(err)
		}
		return pid
	}
	within := func(ctx context.Context, limit time.Duration, statement string) (ended bool, n int64, err error) {
		err = db.Read(ctx, func(ctx context.Context, r sqldb.Reader) (err error) {
			ended, err = sqldb.Within(ctx, r, limit, func(ctx context.Context, r sqldb.Reader) error {
				return sqldb.First(ctx, r, sqldb.New(statement), &n)
			})
			return err
		})
		return ended, n, err
	}
	first := backend()
	for range 3 {
		if ended, _, err := within(t.Context(), 20*time.Millisecond, "SELECT 1 FROM pg_sleep(600)"); ended || err != nil {
			t.Errorf("ended %v, error %v", ended, err)
		}
	}
	if ended, n, err := within(t.Context(), time.Minute, "SELECT 7"); !ended || n != 7 || err != nil {
		t.Errorf("ended %v with %d, error %v", ended, n, err)
	}
	if ended, _, err := within(t.Context(), time.Minute, "SELECT 1 / 0"); !ended || err == nil {
		t.Errorf("ended %v, error %v", ended, err)
	}
	if last := backend(); last != first {
		t.Errorf("the connection of backend %d was replaced by that of %d", first, last)
	}
	var busy int
	if err := rawDB(t, "pgx", url).QueryRowContext(t.Context(),
		"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()").Scan(&busy); err != nil || busy != 0 {
		t.Errorf("%d statements still run: %v", busy, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := within(gone, time.Minute, "SELECT 1"); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who has gone gets %v", err)
	}
}

// TestPoolWait checks that waiting for a connection can be cancelled.
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

// TestPostgreSQLPreparesStatements checks that the driver prepares what the store runs, once for
// each connection.
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
