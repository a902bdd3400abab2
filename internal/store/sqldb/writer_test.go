// SPDX-License-Identifier: Apache-2.0

package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/store/sqldb"
	"example.org/app/internal/store/storetest"
)

func bump(name string) sqldb.WriteFunc {
	return func(ctx context.Context, tx sqldb.Tx) error { return sqldb.BumpRevision(ctx, tx, name) }
}

func wantRevision(t *testing.T, db *sqldb.DB, name string, want int64) {
	t.Helper()
	if got, err := db.Revision(t.Context(), name); err != nil || got != want {
		t.Errorf("revision %q is %d with error %v, want %d", name, got, err, want)
	}
}

// awaitQueue waits until so many writes are queued.
func awaitQueue(t *testing.T, db *sqldb.DB, length int) {
	t.Helper()
	for start := time.Now(); db.Stats().Queue != length; runtime.Gosched() {
		if time.Since(start) > 30*time.Second {
			t.Errorf("the queue has %d writes, want %d", db.Stats().Queue, length)
			return
		}
	}
}

// holdWriter blocks the writer until the returned function is called, which waits for the end.
func holdWriter(t *testing.T, db *sqldb.DB) (release func()) {
	t.Helper()
	started, released := make(chan struct{}), make(chan struct{})
	start := sync.OnceFunc(func() { close(started) })
	var group sync.WaitGroup
	group.Go(func() {
		err := db.Write(context.Background(), func(context.Context, sqldb.Tx) error {
			start()
			<-released
			return nil
		})
		if err != nil {
			t.Errorf("hold the writer: %v", err)
		}
	})
	<-started
	return sync.OnceFunc(func() {
		close(released)
		group.Wait()
	})
}

func TestSettings(t *testing.T) {
	db := storetest.Open(t, sqldb.Options{URL: storetest.SQLiteURL(t), LockTimeout: 1234 * time.Millisecond})
	check := func(ctx context.Context, r sqldb.Reader, want map[string]string) error {
		for name, value := range want {
			var got string
			// The name of the one column differs between settings.
			if err := storetest.First(ctx, r, "SELECT * FROM pragma_"+name, &got); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if got != value {
				t.Errorf("%s is %s, want %s", name, got, value)
			}
		}
		return nil
	}
	common := map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "1234"}
	err := db.Read(t.Context(), func(ctx context.Context, r sqldb.Reader) error {
		common["query_only"] = "1"
		return check(ctx, r, common)
	})
	if err == nil {
		err = db.Write(t.Context(), func(ctx context.Context, tx sqldb.Tx) error {
			common["query_only"] = "0"
			return check(ctx, tx, common)
		})
	}
	if err != nil {
		t.Error(err)
	}
}

func TestBytesKeepTheirType(t *testing.T) {
	db := storetest.SQLite(t)
	if _, err := db.GetOrCreate(t.Context(), "digits", func() []byte { return []byte("12345") }); err != nil {
		t.Fatal(err)
	}
	err := db.Read(t.Context(), func(ctx context.Context, r sqldb.Reader) error {
		var kind string
		err := storetest.First(ctx, r, "SELECT typeof(value) FROM cluster_value", &kind)
		if kind != "blob" {
			t.Errorf("bytes are stored as %q", kind)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestGroupCommit checks that queued writes share a commit.
func TestGroupCommit(t *testing.T) {
	db := storetest.SQLite(t)
	release := holdWriter(t, db)
	const writers = 100
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			if err := db.Write(context.Background(), bump("a")); err != nil {
				t.Error(err)
			}
		})
	}
	awaitQueue(t, db, writers)
	release()
	group.Wait()
	wantRevision(t, db, "a", writers)
	if stats := db.Stats(); stats.Committed != writers+1 || stats.Batches > 40 {
		t.Errorf("%d functions took %d commits", stats.Committed, stats.Batches)
	}
}

func TestQueueCancel(t *testing.T) {
	db := storetest.SQLite(t)
	release := holdWriter(t, db)
	defer release()
	ran := func(context.Context, sqldb.Tx) error {
		t.Error("the function of a caller that went away ran")
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- db.Write(ctx, ran) }()
	awaitQueue(t, db, 1)
	cancel()
	// The writer is still blocked, so this would hang if cancellation waited for it.
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := db.Write(ctx, ran); !errors.Is(err, sqldb.ErrTimeout) {
		t.Errorf("past the deadline: %v", err)
	}
	awaitQueue(t, db, 0)
	release()
	if err := db.Write(t.Context(), bump("a")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestTimeout checks that the time-out ends a function that respects its context, and that a
// function that does not is not committed.
func TestTimeout(t *testing.T) {
	for name, open := range map[string]func(testing.TB) string{"sqlite": storetest.SQLiteURL, "postgresql": storetest.PostgreSQLURL} {
		t.Run(name, func(t *testing.T) {
			db := storetest.Open(t, sqldb.Options{URL: open(t), Timeout: 500 * time.Millisecond, LockTimeout: time.Minute})
			for what, fn := range map[string]sqldb.WriteFunc{
				"statement": func(ctx context.Context, tx sqldb.Tx) error {
					return storetest.Exec(ctx, tx, "INSERT INTO revision (name, value) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'a', max(i) FROM n")
				},
				"statement with a context of its own": func(_ context.Context, tx sqldb.Tx) error {
					return storetest.Exec(context.Background(), tx, "INSERT INTO revision (name, value) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'a', max(i) FROM n")
				},
				"waits": func(ctx context.Context, tx sqldb.Tx) error {
					if err := sqldb.BumpRevision(ctx, tx, "a"); err != nil {
						return err
					}
					<-ctx.Done()
					return ctx.Err()
				},
				"hides it": func(ctx context.Context, tx sqldb.Tx) error {
					if err := sqldb.BumpRevision(ctx, tx, "a"); err != nil {
						return err
					}
					<-ctx.Done()
					return nil
				},
			} {
				if err := db.Write(t.Context(), fn); !errors.Is(err, sqldb.ErrTimeout) {
					t.Errorf("%s: error %v, want a time-out", what, err)
				}
				wantRevision(t, db, "a", 0)
			}
			err := db.Write(t.Context(), bump("b"))
			for range 20 {
				if !errors.Is(err, sqldb.ErrTimeout) {
					break
				}
				err = db.Write(t.Context(), bump("b")) // A slow machine may need more than one attempt.
			}
			if err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// TestFullDisk reaches the maximum size of the file during a batch.
func TestFullDisk(t *testing.T) {
	db := storetest.SQLite(t)
	limit := func(ctx context.Context, tx sqldb.Tx, pages int) error {
		return storetest.Exec(ctx, tx, fmt.Sprintf("PRAGMA max_page_count = %d", pages))
	}
	small := func(name string) sqldb.WriteFunc {
		return func(ctx context.Context, tx sqldb.Tx) error {
			if err := limit(ctx, tx, 1<<30); err != nil {
				return err
			}
			return sqldb.BumpRevision(ctx, tx, name)
		}
	}
	big := func(ctx context.Context, tx sqldb.Tx) error {
		if err := limit(ctx, tx, 60); err != nil {
			return err
		}
		return storetest.Exec(ctx, tx, "INSERT INTO cluster_value (name, value) VALUES ('big', ?)", make([]byte, 4<<20))
	}
	release := holdWriter(t, db)
	functions := []sqldb.WriteFunc{small("a"), small("b"), big, small("a"), small("c")}
	results := make([]error, len(functions))
	var group sync.WaitGroup
	for i, fn := range functions {
		group.Go(func() { results[i] = db.Write(context.Background(), fn) })
	}
	awaitQueue(t, db, len(functions))
	release()
	group.Wait()
	for i, err := range results {
		if want := i == 2; errors.Is(err, sqldb.ErrUnavailable) != want || (err == nil) == want {
			t.Errorf("function %d: %v", i, err)
		}
	}
	for name, want := range map[string]int64{"a": 2, "b": 1, "c": 1} {
		wantRevision(t, db, name, want)
	}
}

// TestTransactionControl checks that a function cannot end the shared transaction.
func TestTransactionControl(t *testing.T) {
	db := storetest.SQLite(t)
	for _, statement := range []string{"COMMIT", "ROLLBACK", "ROLLBACK; BEGIN"} {
		release := holdWriter(t, db)
		name := strings.ToLower(statement)
		var group sync.WaitGroup
		var good, bad error
		group.Go(func() { good = db.Write(context.Background(), bump("good "+name)) })
		awaitQueue(t, db, 1)
		group.Go(func() {
			bad = db.Write(context.Background(), func(ctx context.Context, tx sqldb.Tx) error {
				if err := sqldb.BumpRevision(ctx, tx, "bad "+name); err != nil {
					return err
				}
				_ = storetest.Exec(ctx, tx, statement)
				_ = sqldb.BumpRevision(ctx, tx, "later "+name)
				return nil
			})
		})
		awaitQueue(t, db, 2)
		release()
		group.Wait()
		if good != nil || bad == nil {
			t.Errorf("%s: good function: %v, bad function: %v", statement, good, bad)
		}
		wantRevision(t, db, "good "+name, 1)
		wantRevision(t, db, "bad "+name, 0)
		wantRevision(t, db, "later "+name, 0)
	}
	if err := db.Write(t.Context(), bump("afterwards")); err != nil {
		t.Error(err)
	}
}

// TestLockedByAnotherProcess checks that writes time out, reads continue, and writes work again
// afterwards.
func TestLockedByAnotherProcess(t *testing.T) {
	url := storetest.SQLiteURL(t)
	db := storetest.Open(t, sqldb.Options{URL: url, LockTimeout: 60 * time.Millisecond})
	conn, err := rawDB(t, "sqlite", url).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			err := db.Write(context.Background(), bump("a"))
			if !errors.Is(err, sqldb.ErrTimeout) || !strings.Contains(err.Error(), "locked by another process") {
				t.Errorf("error is %v, want a time-out", err)
			}
		})
	}
	wantRevision(t, db, "a", 0)
	group.Wait()
	if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := db.Write(t.Context(), bump("a")); err != nil {
		t.Error(err)
	}
	wantRevision(t, db, "a", 1)
}

// TestTwoProcesses writes concurrently through two databases on one file.
func TestTwoProcesses(t *testing.T) {
	url := storetest.SQLiteURL(t)
	databases := []*sqldb.DB{
		storetest.Open(t, sqldb.Options{URL: url, LockTimeout: time.Minute}),
		storetest.Open(t, sqldb.Options{URL: url, LockTimeout: time.Minute}),
	}
	const writers, rounds = 4, 20
	var group sync.WaitGroup
	for _, db := range databases {
		for range writers {
			group.Go(func() {
				for range rounds {
					if err := db.Write(context.Background(), bump("a")); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	group.Wait()
	for _, db := range databases {
		wantRevision(t, db, "a", int64(len(databases)*writers*rounds))
	}
}

// TestInterruptedBatch checks that functions whose transaction was lost because of another one are
// retried. Whether they share a transaction depends on timing, so it is repeated until they did.
func TestInterruptedBatch(t *testing.T) {
	db := storetest.SQLite(t)
	slow := func(ctx context.Context, tx sqldb.Tx) error {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		return storetest.Exec(ctx, tx, "INSERT INTO revision (name, value) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'slow', max(i) FROM n")
	}
	var round int64
	for round = 1; round <= 50; round++ {
		release := holdWriter(t, db)
		functions := []sqldb.WriteFunc{bump("a"), bump("a"), slow, bump("a")}
		results := make([]error, len(functions))
		var group sync.WaitGroup
		for i, fn := range functions {
			group.Go(func() { results[i] = db.Write(context.Background(), fn) })
			awaitQueue(t, db, i+1)
		}
		release()
		group.Wait()
		for i, err := range results {
			if want := i == 2; errors.Is(err, sqldb.ErrTimeout) != want || (err == nil) == want {
				t.Errorf("function %d: %v", i, err)
			}
		}
		wantRevision(t, db, "a", 3*round)
		wantRevision(t, db, "slow", 0)
		if db.Stats().Retries > 0 {
			return
		}
	}
	t.Error("no function was run again")
}

// TestStatementsStayRight runs more different statements than the cache holds, in varying order,
// and after a failure.
func TestStatementsStayRight(t *testing.T) {
	db := storetest.SQLite(t)
	ctx := t.Context()
	for round := range 3 {
		err := db.Write(ctx, func(ctx context.Context, tx sqldb.Tx) error {
			for n := range 600 {
				var got int
				if err := storetest.First(ctx, tx, fmt.Sprint("SELECT ", n%300), &got); err != nil {
					return err
				}
				if got != n%300 {
					t.Errorf("round %d: got %d, want %d", round, got, n%300)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		failure := db.Write(ctx, func(ctx context.Context, tx sqldb.Tx) error {
			return storetest.Exec(ctx, tx, "INSERT INTO revision (name, value) VALUES ('twice', 1), ('twice', 2)")
		})
		if !errors.Is(failure, sqldb.ErrDuplicateKey) {
			t.Errorf("got %v", failure)
		}
	}
}
