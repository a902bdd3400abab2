// SPDX-License-Identifier: Apache-2.0

package sqldb_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"testing"

	"example.org/app/internal/store/sqldb"
	"example.org/app/internal/store/storetest"
)

// TestAuditMigration keeps the rows of the audit trail of version 12, including an unreadable one.
func TestAuditMigration(t *testing.T) {
	for engine, url := range map[string]func(testing.TB) string{"SQLite": storetest.SQLiteURL, "PostgreSQL": storetest.PostgreSQLURL} {
		t.Run(engine, func(t *testing.T) {
			ip := "x'c0000201'"
			if engine == "PostgreSQL" {
				ip = `'\xc0000201'`
			}
			database := url(t)
			columns := "INSERT INTO audit (id, sequence, record_date, outcome, admin_id, login_name, plugin_id, plugin_version, on_behalf_of, ip, node_id, " +
				"request_id, operation, target_ids, params, changes, omitted_changes, code, status, reason) VALUES "
			err := sqldb.MigrateTo(t.Context(), database, 12,
				columns+"(1, 1, 5, 'DONE', 0, 'app', 'p', '1.0', 'user 2', "+ip+", 'n', 'r', 'updateUsers', ',7,8,', NULL, '[{\"record\":\"user\",\"before\":{\"a\":null}}]', 3, 1000, 200, '')",
				columns+"(2, NULL, 6, 'REFUSED', NULL, 'eve', '', '', '', NULL, 'n', 'r', 'deleteUsers', '', '{\"ids\":[1]}', '[not JSON', 0, 1300, 401, 'no \"way\"')")
			if err != nil {
				t.Fatal(err)
			}
			db := storetest.Open(t, sqldb.Options{URL: database})
			for id, want := range map[int64]string{
				1: `5 192.0.2.1 ,7,8, n 1.0 user 2 1000 200  3 <nil> [{"record":"user","before":{"a":null}}]`,
				2: `6   n   1300 401 no "way" 0 {"ids":[1]} [not JSON`,
			} {
				var date int64
				var ip []byte
				var targets, details string
				err := db.Read(t.Context(), func(ctx context.Context, r sqldb.Reader) error {
					return sqldb.First(ctx, r, sqldb.New("SELECT record_date, ip, target_ids, details FROM audit WHERE id = ?", id), &date, &ip, &targets, &details)
				})
				if err != nil {
					t.Fatal(err)
				}
				var d struct {
					Node, Version, OnBehalfOf, Reason string
					Code, Status, Omitted             int
					Params, Changes                   any
				}
				if err := json.Unmarshal([]byte(details), &d); err != nil {
					t.Fatal(err)
				}
				address := ""
				if a, ok := netip.AddrFromSlice(ip); ok {
					address = a.String()
				}
				got := fmt.Sprint(date, " ", address, " ", targets, " ", d.Node, " ", d.Version, " ", d.OnBehalfOf, " ", d.Code, " ", d.Status, " ", d.Reason, " ", d.Omitted, " ", d.Params, " ", d.Changes)
				if got != want {
					t.Errorf("row %d: got %q, want %q", id, got, want)
				}
			}
		})
	}
}
