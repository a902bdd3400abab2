// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.org/app/internal/apierr"
	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

func TestStorage(t *testing.T) {
	for engine, open := range map[string]func(testing.TB) *store.DB{"SQLite": storetest.SQLite, "PostgreSQL": storetest.PostgreSQL} {
		t.Run(engine, func(t *testing.T) { testStorage(t, open(t)) })
	}
}

func testStorage(t *testing.T, db *store.DB) {
	ctx, s := t.Context(), NewStorage(db)
	if _, ok, err := s.Get(ctx, "p", "a"); ok || err != nil {
		t.Error(ok, err)
	}
	for _, key := range []string{"b", "a", "a/1"} {
		if err := s.Set(ctx, "p", key, []byte("value of "+key)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Set(ctx, "q", "a", []byte("other")); err != nil {
		t.Fatal(err)
	}
	if value, ok, err := s.Get(ctx, "p", "a"); !ok || err != nil || string(value) != "value of a" {
		t.Error(string(value), ok, err)
	}
	if keys, err := s.Keys(ctx, "p", "a"); err != nil || !slices.Equal(keys, []string{"a", "a/1"}) {
		t.Error(keys, err)
	}
	if keys, err := s.Keys(ctx, "nobody", ""); err != nil || len(keys) > 0 {
		t.Error(keys, err)
	}
	if deleted, err := s.Delete(ctx, "p", "a"); !deleted || err != nil {
		t.Error(deleted, err)
	}
	if deleted, err := s.Delete(ctx, "p", "a"); deleted || err != nil {
		t.Error(deleted, err)
	}
	for _, key := range []string{"", strings.Repeat("k", 257), "nul\x00", "\xff"} {
		if err := s.Set(ctx, "p", key, nil); apierr.From(err).Code != apierr.IllegalArgument {
			t.Errorf("key %q: %v", key, err)
		}
	}
	if err := s.Set(ctx, "p", "big", make([]byte, maxValue+1)); apierr.From(err).Code != apierr.IllegalArgument {
		t.Errorf("a value that is too big: %v", err)
	}
	fill(t, db, "full", maxStorage/maxValue, maxValue)
	if err := s.Set(ctx, "full", "more", []byte("x")); apierr.From(err).Code != apierr.IllegalArgument || !strings.Contains(err.Error(), "more than the 16777216") {
		t.Errorf("more than is allowed: %v", err)
	}
	if err := s.Set(ctx, "full", "k0", bytes.Repeat([]byte("y"), maxValue)); err != nil {
		t.Errorf("a value in the place of another one: %v", err)
	}
	fill(t, db, "many", maxValues, 1)
	if err := s.Set(ctx, "many", "more", []byte("x")); apierr.From(err).Code != apierr.IllegalArgument || !strings.Contains(err.Error(), "keeps 10000 values") {
		t.Errorf("more values than are allowed: %v", err)
	}
}

// fill keeps values without looking at limits.
func fill(t *testing.T, db *store.DB, plugin string, values, size int) {
	t.Helper()
	value := make([]byte, size)
	for part := range slices.Chunk(numbers(values), 500) {
		err := db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			for _, n := range part {
				if err := store.PutPluginValue(ctx, tx, plugin, fmt.Sprintf("k%d", n), value); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func numbers(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}
