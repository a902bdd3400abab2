// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"example.org/app/internal/store"
	"example.org/app/internal/store/sqldb"
)

// WantIndex fails the test if the first query of find would scan a whole table or a whole index,
// except lists that are part of the query itself.
func WantIndex(t *testing.T, db *store.DB, what string, find func(ctx context.Context, r store.Reader) error) {
	t.Helper()
	query, plan := explain(t, db, find)
	for i, line := range plan {
		var all bool
		if db.Engine() == store.SQLite {
			all = strings.HasPrefix(line, "SCAN ") && !strings.HasPrefix(line, "SCAN json_each") && !strings.HasPrefix(line, "SCAN k ")
		} else {
			index := strings.Contains(line, "Index Scan") || strings.Contains(line, "Index Only Scan")
			all = strings.Contains(line, "Seq Scan") || index && (i+1 == len(plan) || !strings.Contains(plan[i+1], "Index Cond:"))
		}
		if all {
			t.Errorf("%s: %s reads everything:\n%s", what, query, strings.Join(plan, "\n"))
			return
		}
	}
}

// WantPage fails the test if the first query of find, which is for a page of limit rows of a table
// with far more, would read many more rows than that. SQLite does not report how many; there it
// must not sort all rows.
func WantPage(t *testing.T, db *store.DB, what string, limit int, find func(ctx context.Context, r store.Reader) error) {
	t.Helper()
	query, plan := explain(t, db, find)
	for _, line := range plan {
		many := db.Engine() == store.SQLite && strings.HasPrefix(line, "SCAN message")
		if _, rest, ok := strings.Cut(line, "actual rows="); ok {
			rows, err := strconv.Atoi(rest[:strings.IndexAny(rest, " .)")])
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			many = rows > 4*limit
		}
		if many {
			t.Errorf("%s: %s reads too much:\n%s", what, query, strings.Join(plan, "\n"))
			return
		}
	}
}

// explain returns the text and the plan of the first query of find. Table scans are disabled on
// PostgreSQL unless there is no alternative: the number of rows in a test is not realistic.
func explain(t *testing.T, db *store.DB, find func(ctx context.Context, r store.Reader) error) (query string, plan []string) {
	t.Helper()
	write(t, db, func(ctx context.Context, tx store.Tx) (err error) {
		if db.Engine() == store.PostgreSQL {
			for _, option := range []string{"enable_seqscan", "enable_mergejoin", "enable_hashjoin"} {
				if err := Exec(ctx, tx, "SET LOCAL "+option+" = off"); err != nil {
					return err
				}
			}
		}
		query, plan, err = sqldb.Explain(ctx, tx, find)
		return err
	})
	return query, plan
}
