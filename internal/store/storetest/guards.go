// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"testing"

	"example.org/app/internal/store"
)

func testGuard(t *testing.T, db *store.DB) {
	refusal := errors.New("not any more")
	var allowed error
	guarded := db.Behind(func(ctx context.Context, tx store.Tx) error {
		if err := store.BumpRevision(ctx, tx, "guard"); err != nil {
			return err
		}
		return allowed
	})
	write := func() error {
		return guarded.Write(t.Context(), func(ctx context.Context, tx store.Tx) error { return store.BumpRevision(ctx, tx, "guarded") })
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
	allowed = refusal
	if err := write(); !errors.Is(err, refusal) {
		t.Errorf("behind a guard that refuses: %v", err)
	}
	for _, name := range []string{"guard", "guarded"} {
		if n, err := db.Revision(t.Context(), name); err != nil || n != 1 {
			t.Errorf("%s was written %d times, %v", name, n, err)
		}
	}
}
