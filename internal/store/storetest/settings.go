// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.org/app/internal/store"
)

func testSettingRevisions(t *testing.T, db *store.DB) {
	ctx := t.Context()
	date := time.UnixMilli(1_700_000_000_123).UTC()
	write := func(fn store.WriteFunc) {
		t.Helper()
		if err := db.Write(ctx, fn); err != nil {
			t.Fatal(err)
		}
	}
	revision := func(n int64) store.SettingRevision {
		return store.SettingRevision{Revision: n, AdminID: 7, ChangeDate: date, Action: "UPDATE", Overrides: `{"a":"ä\u0000"}`, Changes: "[]"}
	}
	for n := int64(1); n <= 3; n++ {
		write(func(ctx context.Context, tx store.Tx) error { return store.InsertSettingRevision(ctx, tx, revision(n)) })
	}
	if n, err := db.Revision(ctx, store.RevisionSetting); err != nil || n != 3 {
		t.Errorf("revision %d, %v", n, err)
	}
	err := db.Write(ctx, func(ctx context.Context, tx store.Tx) error { return store.InsertSettingRevision(ctx, tx, revision(3)) })
	if !errors.Is(err, store.ErrDuplicateKey) {
		t.Errorf("the same revision again: %v", err)
	}
	write(func(ctx context.Context, tx store.Tx) error { return store.DeleteSettingRevisions(ctx, tx, 2) })
	err = db.Read(ctx, func(ctx context.Context, r store.Reader) error {
		if n, err := store.CountSettingRevisions(ctx, r); err != nil || n != 2 {
			t.Errorf("count %d, %v", n, err)
		}
		found, err := store.FindSettingRevisions(ctx, r, store.Page{Limit: 5})
		if err != nil || len(found) != 2 || found[0] != revision(3) || found[1] != revision(2) {
			t.Errorf("found %+v, %v", found, err)
		}
		if found, err := store.FindSettingRevisions(ctx, r, store.Page{Limit: 1, Offset: 1}); err != nil || len(found) != 1 || found[0].Revision != 2 {
			t.Errorf("second page %+v, %v", found, err)
		}
		if one, err := store.FindSettingRevision(ctx, r, 2); err != nil || one != revision(2) {
			t.Errorf("one %+v, %v", one, err)
		}
		if _, err := store.FindSettingRevision(ctx, r, 1); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a forgotten one: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
