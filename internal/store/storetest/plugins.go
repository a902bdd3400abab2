// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"example.org/app/internal/store"
)

func testPluginStorage(t *testing.T, db *store.DB) {
	ctx := t.Context()
	write := func(fn store.WriteFunc) error { return db.Write(ctx, fn) }
	put := func(plugin, name string, value []byte) {
		t.Helper()
		if err := write(func(ctx context.Context, tx store.Tx) error {
			return store.PutPluginValue(ctx, tx, plugin, name, value)
		}); err != nil {
			t.Fatal(err)
		}
	}
	put("a", "k", []byte("first"))
	put("a", "k", []byte{0, 1, 0xff})
	put("a", "Kb", nil)
	put("a", "k%", []byte("x"))
	put("a", "ä1", []byte("umlaut"))
	put("b", "k", []byte("other"))
	err := db.Read(ctx, func(ctx context.Context, r store.Reader) error {
		for name, want := range map[string][]byte{"k": {0, 1, 0xff}, "Kb": {}, "k%": []byte("x")} {
			if got, err := store.FindPluginValue(ctx, r, "a", name); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
		if _, err := store.FindPluginValue(ctx, r, "c", "k"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another plugin: %v", err)
		}
		for prefix, want := range map[string][]string{"": {"Kb", "k", "k%", "ä1"}, "k": {"k", "k%"}, "k%": {"k%"}, "_": {}, "ä": {"ä1"}} {
			if got, err := store.FindPluginNames(ctx, r, "a", prefix); err != nil || !slices.Equal(got, want) {
				t.Errorf("names with %q: %q, %v", prefix, got, err)
			}
		}
		if got, err := store.FindPluginStorageSize(ctx, r, "a", "k"); err != nil || got != (store.PluginStorageSize{Values: 3, Bytes: 7}) {
			t.Errorf("the size is %+v, %v", got, err)
		}
		if got, err := store.FindPluginStorageSize(ctx, r, "c", ""); err != nil || got != (store.PluginStorageSize{}) {
			t.Errorf("the size of nothing is %+v, %v", got, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		err := write(func(ctx context.Context, tx store.Tx) error {
			deleted, err := store.DeletePluginValue(ctx, tx, "a", "k")
			if deleted != want {
				t.Errorf("deleted %v, want %v", deleted, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
