// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/app/internal/store"
)

// testRequestKeys executes a request several times, also concurrently: it takes effect once.
func testRequestKeys(t *testing.T, db *store.DB) {
	carryOut := func(key *store.MessageKey, ids ...int64) error {
		return db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error { return key.Remember(ctx, tx, ids...) })
	}
	recall := func(key *store.MessageKey) error {
		return db.Read(t.Context(), func(ctx context.Context, r store.Reader) error { return key.Recall(ctx, r) })
	}
	keyed := func(sender int64, key string) *store.MessageKey {
		return &store.MessageKey{SenderID: sender, Key: []byte(key), ExpiryDate: time.Now().Add(time.Hour)}
	}
	for range 2 {
		if err := carryOut(nil, 1); err != nil {
			t.Errorf("a request without key: %v", err)
		}
	}
	if err := errors.Join(carryOut(keyed(1, "a"), 11), carryOut(keyed(1, "b"), 12), carryOut(keyed(2, "a"), 21)); err != nil {
		t.Fatal(err)
	}
	if known, ok := errors.AsType[*store.KnownRequest](carryOut(keyed(1, "a"), 13)); !ok || !slices.Equal(known.IDs, []int64{11}) {
		t.Errorf("the second request: %v", known)
	}
	if err := errors.Join(recall(nil), recall(keyed(1, "c")), carryOut(keyed(1, "c"), 14, 15, 16)); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{recall(keyed(1, "c")), carryOut(keyed(1, "c"), 17)} {
		if known, ok := errors.AsType[*store.KnownRequest](err); !ok || !slices.Equal(known.IDs, []int64{14, 15, 16}) {
			t.Errorf("a request that made three: %v", err)
		}
	}
	// A rolled-back request is not remembered.
	planted := errors.New("planted")
	err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return errors.Join(keyed(3, "a").Remember(ctx, tx, 31), planted)
	})
	if !errors.Is(err, planted) {
		t.Error(err)
	}
	if err := carryOut(keyed(3, "a"), 32); err != nil {
		t.Errorf("after a request that failed: %v", err)
	}
	var made atomic.Int64
	var group sync.WaitGroup
	for id := range int64(8) {
		group.Go(func() {
			err := carryOut(keyed(4, "a"), id+1)
			_, known := errors.AsType[*store.KnownRequest](err)
			switch {
			case err == nil:
				made.Add(1)
			case !known && !errors.Is(err, store.ErrDuplicateKey):
				t.Error(err)
			}
		})
	}
	group.Wait()
	if made.Load() != 1 {
		t.Errorf("%d of 8 requests at the same time made something", made.Load())
	}
}
