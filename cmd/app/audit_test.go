// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"testing"

	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// TestAuditCommand verifies the trail of a stopped cluster, before and after a row is changed.
func TestAuditCommand(t *testing.T) {
	s := source{Home: t.TempDir()}
	if err := (settingsSet{s, []string{"app.service.admin-api.rate-limiting.capacity=77"}}).Run(); err != nil {
		t.Fatal(err)
	}
	if err := (settingsSet{s, []string{"app.service.admin-api.rate-limiting.capacity=0"}}).Run(); err == nil {
		t.Error("a capacity of 0 was accepted")
	}
	c, err := s.load()
	if err != nil {
		t.Fatal(err)
	}
	db := storetest.Open(t, store.Options{URL: c.Store.URL.Reveal()})
	var found []store.AuditRecord
	read := func(ctx context.Context, r store.Reader) (err error) {
		found, err = store.FindAuditRecords(ctx, r, store.AuditFilter{}, store.Page{})
		return err
	}
	if err := db.Read(t.Context(), read); err != nil {
		t.Fatal(err)
	}
	if len(found) != 2 || found[1].Operation != "updateSettings" || found[1].Outcome != "DONE" || found[1].LoginName == "" ||
		!strings.Contains(*found[1].Changes, `"after":{"service.adminApi.rateLimiting.capacity":77}`) || found[0].Outcome != "REFUSED" {
		t.Errorf("rows %+v", found)
	}
	if err := (auditVerify{source: s}).Run(); err != nil {
		t.Error(err)
	}
	if err := (auditVerify{source: s, Head: "x"}).Run(); err == nil {
		t.Error("a bad head was accepted")
	}
	err = db.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		return storetest.Exec(ctx, tx, "UPDATE audit SET login_name = 'eve' WHERE outcome = 'DONE'")
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := (auditVerify{source: s}).Run(); err == nil || !strings.Contains(err.Error(), "is not as it was sealed") {
		t.Errorf("verify says %v", err)
	}
}
