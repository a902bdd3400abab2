// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/store"
)

// name joins parts to a name.
func name(parts ...any) string { return fmt.Sprint(parts...) }

// bump returns a function that bumps the revision with the name made of parts.
func bump(parts ...any) store.WriteFunc {
	return func(ctx context.Context, tx store.Tx) error { return store.BumpRevision(ctx, tx, name(parts...)) }
}

func write(t *testing.T, db *store.DB, fn store.WriteFunc) {
	t.Helper()
	if err := db.Write(context.Background(), fn); err != nil {
		t.Fatalf("write: %v", err)
	}
}

func read(t *testing.T, db *store.DB, fn func(ctx context.Context, r store.Reader) error) {
	t.Helper()
	if err := db.Read(context.Background(), fn); err != nil {
		t.Fatalf("read: %v", err)
	}
}

func wantRevision(t *testing.T, db *store.DB, name string, want int64) {
	t.Helper()
	if got, err := db.Revision(context.Background(), name); err != nil || got != want {
		t.Errorf("revision %q is %d with error %v, want %d", name, got, err, want)
	}
}

// parallel runs count goroutines and waits for them.
func parallel(count int, run func(i int)) {
	var group sync.WaitGroup
	for i := range count {
		group.Go(func() { run(i) })
	}
	group.Wait()
}

// await waits until other goroutines fulfil a condition.
func await(t *testing.T, condition func() bool) {
	t.Helper()
	for start := time.Now(); !condition(); runtime.Gosched() {
		if time.Since(start) > timeout {
			t.Error("the condition was not fulfilled in time")
			return
		}
	}
}

// together passes all functions to Write at once and fills in their results; a panic with an error
// counts as a result. On engines that queue writers, a first function blocks until all are queued,
// so that they share a transaction.
func together(t *testing.T, db *store.DB, results []error, functions ...store.WriteFunc) {
	t.Helper()
	started, release := make(chan struct{}), make(chan struct{})
	// A function may run again.
	start := sync.OnceFunc(func() { close(started) })
	var group sync.WaitGroup
	if db.Engine() == store.SQLite {
		group.Go(func() {
			err := db.Write(context.Background(), func(context.Context, store.Tx) error {
				start()
				<-release
				return nil
			})
			if err != nil {
				t.Errorf("hold up the others: %v", err)
			}
		})
		<-started
	}
	for i, function := range functions {
		group.Go(func() {
			defer func() {
				if value := recover(); value != nil {
					results[i] = value.(error)
				}
			}()
			results[i] = db.Write(context.Background(), function)
		})
	}
	if db.Engine() == store.SQLite {
		await(t, func() bool { return db.Stats().Queue == len(functions) })
	}
	close(release)
	group.Wait()
}
