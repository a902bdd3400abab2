// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"testing"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
	"example.org/app/internal/store"
	chat "example.org/app/test/client"
)

// TestUpgradePostgreSQL starts the server on a PostgreSQL database of schema 26.
func TestUpgradePostgreSQL(t *testing.T) {
	options := store.Options{URL: restoreFixture(t)}
	before, err := store.Inspect(t.Context(), options, true)
	if err != nil || before.Version != 26 {
		t.Fatalf("the fixture is %+v: %v", before, err)
	}
	s := apptest.Start(t, role.All, "app.store.url="+options.URL)
	after, err := store.Inspect(t.Context(), options, true)
	if err != nil {
		t.Fatal(err)
	}
	if after.Version != after.Known || len(after.Pending) != 0 {
		t.Errorf("the schema has the version %d after the start, the newest is %d", after.Version, after.Known)
	}
	for table, rows := range before.Rows {
		if after.Rows[table] < rows {
			t.Errorf("%s had %d rows and has %d", table, rows, after.Rows[table])
		}
	}
	for path, want := range map[string]int{"/users/page": 20, "/groups/page": 2, "/messages/page": 30} {
		if n := count(t, s, path); n != want {
			t.Errorf("%s has %d records, want %d", path, n, want)
		}
	}
	ann := chat.LogIn(t, s.ClientURLs()[0], 1, chat.WithPassword("123"))
	if err := ann.Heartbeat(t.Context()); err != nil {
		t.Error(err)
	}
}
