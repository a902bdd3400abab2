// SPDX-License-Identifier: Apache-2.0

// Package upgrade tests that the server starts on databases of earlier versions and keeps all their
// data. A fixture is never changed. It contains 20 users, 2 groups and 30 messages that app fake
// generated, since schema 12 some rows of the audit trail, and if TestFixtures wrote it, rows in
// every table.
package upgrade

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.org/app/internal/app/apptest"
	"example.org/app/internal/role"
	chat "example.org/app/test/client"
)

// unpack unpacks a fixture into a new home folder and returns the path of the database.
func unpack(t *testing.T, fixture string) string {
	t.Helper()
	packed, err := os.Open(fixture)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "app.db")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(file, r); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// count returns the number of records that the admin interface reports.
func count(t *testing.T, s *apptest.Server, path string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL(role.Service)+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("app", "app")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var page struct{ Data struct{ Total int } }
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return page.Data.Total
}

// TestUpgrade starts the server on databases of earlier schemas.
func TestUpgrade(t *testing.T) {
	for engine, url := range map[string]func(t *testing.T, fixture string) string{
		"SQLite":     func(t *testing.T, fixture string) string { return "sqlite:" + unpack(t, fixture) },
		"PostgreSQL": restoreFixture,
	} {
		for version, fixture := range fixtures(t, engines[engine].suffix) {
			t.Run(filepath.Base(fixture), func(t *testing.T) { upgrade(t, version, url(t, fixture)) })
		}
	}
}

// expiring are the tables whose old rows a starting server may remove.
var expiring = []string{"admin_token", "audit", "audit_seal", "event_consumer", "event_outbox", "meeting", "message_key", "plugin_slot"}

// upgrade starts the server on a database of an earlier schema.
func upgrade(t *testing.T, version int64, url string) {
	t.Helper()
	before := inspect(t, url)
	if before.Version != version {
		t.Fatalf("the fixture has the schema version %d", before.Version)
	}
	s := apptest.Start(t, role.All, "app.store.url="+url)
	after := inspect(t, url)
	if after.Version != after.Known || len(after.Pending) != 0 {
		t.Errorf("the schema has the version %d after the start, the newest is %d", after.Version, after.Known)
	}
	for table, rows := range before.Rows {
		// Schema 13 starts a new chain of the audit trail.
		if after.Rows[table] < rows && !slices.Contains(expiring, table) && (table != "audit_chain" || version > 12) {
			t.Errorf("%s had %d rows and has %d", table, rows, after.Rows[table])
		}
	}
	for path, want := range map[string]int{"/users/page": 20, "/groups/page": 2, "/messages/page": 30} {
		if n := count(t, s, path); n != want {
			t.Errorf("%s has %d records, want %d", path, n, want)
		}
	}
	// Passwords of users still work, and the sequence of ids continues.
	ann := chat.LogIn(t, s.ClientURLs()[0], 1, chat.WithPassword("123"))
	if err := ann.Heartbeat(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestUpgradedAuditTrail checks that rows of the audit trail of an earlier version can still be
// queried.
func TestUpgradedAuditTrail(t *testing.T) {
	path := unpack(t, "testdata/schema-00012.db.gz")
	s := apptest.Start(t, role.All, "app.store.url=sqlite:"+path)
	for target, want := range map[string]int{
		"/audit/page": 5, "/audit/page?operations=updateUsers&outcomes=DONE&targetId=2": 1, "/audit/page?outcomes=REFUSED&adminIds=0": 3,
	} {
		if n := count(t, s, target); n != want {
			t.Errorf("%s has %d records, want %d", target, n, want)
		}
	}
}
