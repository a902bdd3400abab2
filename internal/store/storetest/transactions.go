// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/store"
)

const contenders = 32

// endless never ends, on both engines. It writes, so that SQLite rolls back the whole transaction
// with it.
const endless = "INSERT INTO revision (name, value) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'endless', max(i) FROM n"

func testPing(t *testing.T, db *store.DB) {
	if err := db.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

func testCommit(t *testing.T, db *store.DB) {
	write(t, db, bump("a"))
	write(t, db, bump("a"))
	wantRevision(t, db, "a", 2)
	stats := db.Stats()
	if stats.Committed != 2 || stats.Batches != 2 || stats.RolledBack != 0 || stats.Queue != 0 {
		t.Errorf("stats are %+v", stats)
	}
}

func testRollback(t *testing.T, db *store.DB) {
	failure := errors.New("not this time")
	err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		if err := store.BumpRevision(ctx, tx, "a"); err != nil {
			return err
		}
		return failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("error is %v, want the function's", err)
	}
	wantRevision(t, db, "a", 0)
	if stats := db.Stats(); stats.RolledBack != 1 || stats.Committed != 0 {
		t.Errorf("stats are %+v", stats)
	}
}

// testFailedStatement checks that a function cannot continue after a failed statement.
func testFailedStatement(t *testing.T, db *store.DB) {
	write(t, db, bump("a"))
	var second error
	err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_ = Exec(ctx, tx, "INSERT INTO revision (name, value) VALUES ('a', 7)")
		second = store.BumpRevision(ctx, tx, "b")
		return nil
	})
	if !errors.Is(err, store.ErrDuplicateKey) || !errors.Is(second, store.ErrDuplicateKey) {
		t.Errorf("write: %v, second statement: %v, want duplicate keys", err, second)
	}
	wantRevision(t, db, "a", 1)
	wantRevision(t, db, "b", 0)
}

func testPanic(t *testing.T, db *store.DB) {
	for range 3 {
		func() {
			defer func() {
				if got := recover(); got != "oh" {
					t.Errorf("recovered %v, want the function's panic", got)
				}
			}()
			_ = db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
				if err := store.BumpRevision(ctx, tx, "a"); err != nil {
					return err
				}
				panic("oh")
			})
		}()
	}
	write(t, db, bump("b"))
	wantRevision(t, db, "a", 0)
	wantRevision(t, db, "b", 1)
}

// testGoexit checks that a function may end its goroutine, as a failed test does.
func testGoexit(t *testing.T, db *store.DB) {
	var group sync.WaitGroup
	group.Go(func() {
		_ = db.Write(context.Background(), func(ctx context.Context, tx store.Tx) error {
			if err := store.BumpRevision(ctx, tx, "a"); err != nil {
				return err
			}
			runtime.Goexit()
			return nil
		})
	})
	group.Wait()
	write(t, db, bump("b"))
	wantRevision(t, db, "a", 0)
	wantRevision(t, db, "b", 1)
}

// testIsolation runs good and bad functions concurrently: each gets its own outcome.
func testIsolation(t *testing.T, db *store.DB) {
	write(t, db, bump("taken"))
	failure := errors.New("own error")
	const each = 8
	results := make([]error, 4*each)
	var functions []store.WriteFunc
	for i := range each {
		functions = append(functions,
			bump("good", i),
			func(ctx context.Context, tx store.Tx) error {
				if err := bump("bad", i)(ctx, tx); err != nil {
					return err
				}
				return failure
			},
			func(ctx context.Context, tx store.Tx) error {
				if err := bump("twice", i)(ctx, tx); err != nil {
					return err
				}
				return Exec(ctx, tx, "INSERT INTO revision (name, value) VALUES ('taken', 1)")
			},
			func(ctx context.Context, tx store.Tx) error {
				if err := bump("panic", i)(ctx, tx); err != nil {
					return err
				}
				panic(failure)
			})
	}
	together(t, db, results, functions...)
	for i := range each {
		for kind, want := range []error{nil, failure, store.ErrDuplicateKey, failure} {
			if err := results[4*i+kind]; !errors.Is(err, want) {
				t.Errorf("function %d of kind %d: error %v, want %v", i, kind, err, want)
			}
		}
		for kind, want := range map[string]int64{"good": 1, "bad": 0, "twice": 0, "panic": 0} {
			wantRevision(t, db, name(kind, i), want)
		}
	}
}

// testSlowFunction checks that interrupting a statement fails only its own function.
func testSlowFunction(t *testing.T, db *store.DB) {
	slow := func(ctx context.Context, tx store.Tx) error {
		ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		return Exec(ctx, tx, endless)
	}
	results := make([]error, 5)
	together(t, db, results, bump("a"), bump("b"), slow, bump("c"), bump("a"))
	for i, err := range results {
		if i == 2 {
			if !errors.Is(err, store.ErrTimeout) {
				t.Errorf("slow function: error %v, want a time-out", err)
			}
		} else if err != nil {
			t.Errorf("function %d: %v", i, err)
		}
	}
	for name, want := range map[string]int64{"a": 2, "b": 1, "c": 1, "endless": 0} {
		wantRevision(t, db, name, want)
	}
}

// testCancellation checks that a running function is not cancelled by its caller's context.
func testCancellation(t *testing.T, db *store.DB) {
	ctx, cancel := context.WithCancel(t.Context())
	err := db.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		cancel()
		return store.BumpRevision(ctx, tx, "a")
	})
	if err != nil {
		t.Errorf("started function: %v", err)
	}
	wantRevision(t, db, "a", 1)
	err = db.Write(ctx, func(context.Context, store.Tx) error {
		t.Error("the function of a cancelled caller ran")
		return nil
	})
	if !errors.Is(err, context.Canceled) || errors.Is(err, store.ErrTimeout) {
		t.Errorf("cancelled caller: error %v", err)
	}
	past, cancelPast := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancelPast()
	if err := db.Write(past, bump("a")); !errors.Is(err, store.ErrTimeout) {
		t.Errorf("caller past its deadline: error %v, want a time-out", err)
	}
	wantRevision(t, db, "a", 1)
}

func testReadTimeout(t *testing.T, db *store.DB) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := db.Read(ctx, func(ctx context.Context, r store.Reader) error {
		var count int64
		return First(ctx, r, "SELECT count(*) FROM (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n) AS n", &count)
	})
	if !errors.Is(err, store.ErrTimeout) {
		t.Errorf("error is %v, want a time-out", err)
	}
	if err := db.Ping(t.Context()); err != nil {
		t.Errorf("after a time-out: %v", err)
	}
}

func testNested(t *testing.T, db *store.DB) {
	var inner error
	write(t, db, func(ctx context.Context, _ store.Tx) error {
		inner = db.Write(ctx, bump("a"))
		return nil
	})
	if !errors.Is(inner, store.ErrNested) {
		t.Errorf("inner write: %v", inner)
	}
}

func testStaleTx(t *testing.T, db *store.DB) {
	var stale store.Tx
	write(t, db, func(_ context.Context, tx store.Tx) error {
		stale = tx
		return nil
	})
	if err := store.BumpRevision(t.Context(), stale, "a"); err == nil {
		t.Error("an ended transaction accepted a statement")
	}
	wantRevision(t, db, "a", 0)
}

// testLostUpdate reads, adds in Go and writes.
func testLostUpdate(t *testing.T, db *store.DB) {
	write(t, db, bump("counter"))
	const rounds = 4
	parallel(contenders, func(int) {
		for range rounds {
			err := db.Write(context.Background(), func(ctx context.Context, tx store.Tx) error {
				var value int64
				if err := First(ctx, tx, "SELECT value FROM revision WHERE name = 'counter'", &value); err != nil {
					return err
				}
				return Exec(ctx, tx, "UPDATE revision SET value = ? WHERE name = 'counter'", value+1)
			})
			if err != nil {
				t.Errorf("increment: %v", err)
			}
		}
	})
	wantRevision(t, db, "counter", 1+contenders*rounds)
}

func testUniqueRace(t *testing.T, db *store.DB) {
	results := make([]error, contenders)
	parallel(contenders, func(i int) {
		results[i] = db.Write(context.Background(), func(ctx context.Context, tx store.Tx) error {
			return store.InsertAdmins(ctx, tx, store.Admin{ID: int64(i + 1), LoginName: "root"})
		})
	})
	won := 0
	for i, err := range results {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, store.ErrDuplicateKey):
			t.Errorf("contender %d: error %v, want a duplicate key", i, err)
		}
	}
	if won != 1 {
		t.Errorf("%d contenders won", won)
	}
}

func testClosed(t *testing.T, db *store.DB) {
	for range 2 {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, revisionErr := db.Revision(t.Context(), "a")
	for what, err := range map[string]error{
		"read": db.Ping(t.Context()), "write": db.Write(t.Context(), bump("a")), "revision": revisionErr,
	} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s after close: %v", what, err)
		}
	}
}

// testCloseWhileWriting checks that a running function is committed, and that no caller hangs.
func testCloseWhileWriting(t *testing.T, db *store.DB) {
	started, release := make(chan struct{}), make(chan struct{})
	start := sync.OnceFunc(func() { close(started) })
	var first error
	results := make([]error, contenders)
	var group sync.WaitGroup
	group.Go(func() {
		first = db.Write(context.Background(), func(ctx context.Context, tx store.Tx) error {
			start()
			<-release
			return store.BumpRevision(ctx, tx, "a")
		})
	})
	<-started
	if db.Engine() == store.SQLite {
		for i := range results {
			group.Go(func() { results[i] = db.Write(context.Background(), bump("b")) })
		}
		await(t, func() bool { return db.Stats().Queue == contenders })
	}
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	await(t, func() bool { return errors.Is(db.Write(context.Background(), bump("c")), store.ErrClosed) })
	close(release)
	group.Wait()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if first != nil {
		t.Errorf("the running write: %v", first)
	}
	if db.Engine() == store.SQLite {
		for i, err := range results {
			if !errors.Is(err, store.ErrClosed) {
				t.Errorf("waiting write %d: %v", i, err)
			}
		}
	}
}
