// SPDX-License-Identifier: Apache-2.0

package storetest_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"example.org/app/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// TestMigratedURL checks that databases contain no rows of other tests, and that those whose
// schema, default rows or statistics a test changed are not reused.
func TestMigratedURL(t *testing.T) {
	const insert = "INSERT INTO admin_role (id, name, rank, creation_date) VALUES (7, 'n', 0, 0)"
	var last string
	for _, test := range []struct {
		name, statement string
		again           bool
	}{
		{"nothing", "SELECT 1", true},
		{"rows", insert, true},
		{"sequence", "SELECT nextval(pg_get_serial_sequence('event_outbox', 'id'))", true},
		{"row of the schema", "UPDATE user_role SET name = 'other'", false},
		{"statistics", insert + "; ANALYZE admin_role", false},
		{"column", "ALTER TABLE admin ADD COLUMN more integer", false},
		{"rule", "ALTER TABLE admin ADD CHECK (id > 0)", false},
		{"table", "CREATE TABLE more (id integer)", false},
		{"size", "INSERT INTO admin_role (id, name, rank, creation_date) SELECT n, n || repeat('x', 1000), 0, 0 FROM generate_series(1, 10000) AS n", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, url := t.Context(), storetest.MigratedURL(t)
			conn, err := pgx.Connect(ctx, url)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close(ctx) }()
			var roles, next int
			var name string
			if err := conn.QueryRow(ctx, "SELECT (SELECT count(*) FROM admin_role), (SELECT name FROM user_role), (SELECT last_value FROM event_outbox_id_seq)").Scan(&roles, &name, &next); err != nil {
				t.Fatal(err)
			}
			if roles != 0 || name == "other" || next != 1 {
				t.Errorf("the database has %d roles, the role of users is %q and the sequence at %d", roles, name, next)
			}
			if _, err := conn.Exec(ctx, test.statement); err != nil {
				t.Fatal(err)
			}
			last = url
		})
		if again := storetest.MigratedURL(t) == last; again != test.again {
			t.Errorf("after a change of the %s the database is used again: %t, want %t", test.name, again, test.again)
		}
	}
}
