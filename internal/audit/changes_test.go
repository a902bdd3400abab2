// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/app/internal/audit"
	"example.org/app/internal/store"
)

// TestConcurrentChanges checks that each row contains its own change, although the encoding buffers
// are reused.
func TestConcurrentChanges(t *testing.T) {
	onBothEngines(t, func(t *testing.T, db *store.DB) {
		const writers, each = 8, 10
		trail := newTrail(db)
		date := time.Date(2024, 3, 28, 12, 0, 0, 5e6, time.UTC)
		nameOf := func(id int64) string { return fmt.Sprintf("%d %s", id, strings.Repeat("é", int(id))) }
		write := func(operation string, fn func(ctx context.Context, tx store.Tx) error) {
			ctx, entry := trail.Begin(t.Context(), audit.Act{Date: date, Operation: operation})
			if err := db.Write(ctx, fn); err != nil {
				t.Error(err)
			}
			entry.End(ctx, audit.Result{Code: 1000, Status: 200})
		}
		var group sync.WaitGroup
		for w := range int64(writers) {
			group.Go(func() {
				for id := w*each + 1; id <= (w+1)*each; id++ {
					write("create", func(ctx context.Context, tx store.Tx) error {
						list := []store.User{{ID: id, Password: []byte("secret"), Name: nameOf(id), RegistrationDate: date, LastUpdatedDate: date, IsActive: true}}
						err := store.InsertUsers(ctx, tx, list...)
						list[0].Name = "changed by its owner" // The row tells what was stored.
						return err
					})
					write("update", func(ctx context.Context, tx store.Tx) error {
						_, err := store.UpdateUsers(ctx, tx, []int64{id}, store.UserChange{Name: new("after"), Intro: new("<&>"), IsActive: new(true)}, date)
						return err
					})
				}
			})
		}
		group.Wait()
		seal(t, trail, 2*writers*each)
		got := map[string]string{}
		for _, r := range rows(t, trail) {
			got[r.Operation+" "+strings.Join(r.TargetIDs, ",")] = *r.Changes
		}
		for id := int64(1); id <= writers*each; id++ {
			created := fmt.Sprintf(`[{"record":"user","action":"CREATE","key":{"id":%d},"after":{"password":"***","name":%q,"intro":"","profileAccessStrategy":"ALL",`+
				`"roleId":0,"registrationDate":"2024-03-28T12:00:00.005Z","lastUpdatedDate":"2024-03-28T12:00:00.005Z","isActive":true}}]`, id, nameOf(id))
			updated := fmt.Sprintf(`[{"record":"user","action":"UPDATE","key":{"id":%d},"before":{"name":%q,"intro":""},"after":{"name":"after","intro":"<&>"}}]`, id, nameOf(id))
			for operation, want := range map[string]string{"create": created, "update": updated} {
				if text := got[fmt.Sprintf("%s %d", operation, id)]; text != want {
					t.Errorf("%s of %d:\n%s\nwant\n%s", operation, id, text, want)
				}
			}
		}
		if _, err := audit.Verify(t.Context(), db, nil); err != nil {
			t.Error(err)
		}
	})
}
