// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"compress/gzip"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // driver of openRaw

	"example.org/app/internal/store"
	"example.org/app/internal/store/storetest"
)

// migrateVariable makes the test program migrate the database with this URL and exit.
const migrateVariable = "APP_TEST_MIGRATE"

func TestMain(m *testing.M) {
	if url := os.Getenv(migrateVariable); url != "" {
		db, err := store.Open(context.Background(), store.Options{URL: url})
		if err == nil {
			err = db.Close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	storetest.Main(m)
}

// restoreFixture restores a fixture into a PostgreSQL database and returns its URL.
func restoreFixture(t *testing.T, fixture string) string {
	t.Helper()
	packed, err := os.Open(fixture)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	script, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	url := storetest.PostgreSQLURL(t)
	restore := exec.CommandContext(t.Context(), program(t, "psql"), "--quiet", "--set=ON_ERROR_STOP=1", url)
	restore.Stdin = script
	if out, err := restore.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return url
}

// openRaw opens a database without the store.
func openRaw(t *testing.T, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// TestInterruptedPartitioning kills the migration that partitions messages at every point where it
// can be interrupted: before and after each of its statements, and while it waits for a lock. The
// next start completes it without losing a message, including those with unusual ids.
func TestInterruptedPartitioning(t *testing.T) {
	text, err := os.ReadFile("../../internal/store/sqldb/migrations/00027_message_partition.postgres.sql")
	if err != nil {
		t.Fatal(err)
	}
	var statements []string
	for _, part := range strings.Split(string(text), "-- +goose StatementBegin\n")[1:] {
		statement, _, _ := strings.Cut(part, "-- +goose StatementEnd")
		statements = append(statements, statement)
	}
	if len(statements) != 3 {
		t.Fatalf("the migration has %d statements", len(statements))
	}
	for done := range len(statements) + 1 {
		for _, strange := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d statements, strange ids %v", done, strange), func(t *testing.T) {
				t.Parallel()
				url := restoreFixture(t, fixture(26, ".sql.gz"))
				raw := openRaw(t, url)
				exec := func(statement string) {
					t.Helper()
					if _, err := raw.ExecContext(t.Context(), statement); err != nil {
						t.Fatal(err)
					}
				}
				want := 30
				if strange {
					want = 31
					exec("INSERT INTO message (id, is_group_message, is_system_message, delivery_date, sender_id, target_id) VALUES (9223372036854775807, FALSE, FALSE, 1, 1, 2)")
				}
				for _, statement := range statements[:done] {
					exec(statement)
				}
				if done == 0 || done == 2 { // The next statement locks the table.
					killWhileWaiting(t, raw, url)
				}
				db, err := store.Open(t.Context(), store.Options{URL: url})
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				var all, rest, first int
				err = raw.QueryRowContext(t.Context(), "SELECT (SELECT count(*) FROM message), (SELECT count(*) FROM message_part_rest), "+
					"(SELECT count(*) FROM pg_inherits WHERE inhparent = 'message'::regclass AND inhrelid = 'message_part_first'::regclass)").Scan(&all, &rest, &first)
				if err != nil || all != want || rest != want-30 || first != 1 {
					t.Errorf("%d messages, %d of them in no partition of a time, %d first partitions: %v", all, rest, first, err)
				}
			})
		}
	}
}

// killWhileWaiting kills a migrating process that waits for the table of messages.
func killWhileWaiting(t *testing.T, raw *sql.DB, url string) {
	t.Helper()
	tx, err := raw.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), "LOCK TABLE message IN ACCESS SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0])
	child.Env, child.Stderr = append(os.Environ(), migrateVariable+"="+url), os.Stderr
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for waiting := 0; waiting == 0; time.Sleep(10 * time.Millisecond) {
		err := raw.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'message'::regclass").Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
}
