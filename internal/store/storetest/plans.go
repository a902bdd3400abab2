// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"example.org/app/internal/store"
)

// A recorder is a Reader whose queries are not run but remembered.
type recorder struct {
	store.Reader
	queries []string
}

var errRecorded = errors.New("recorded")

func (r *recorder) NewSelect() *bun.SelectQuery { return r.Reader.NewSelect().Conn(r) }

func (r *recorder) QueryContext(_ context.Context, query string, _ ...any) (*sql.Rows, error) {
	r.queries = append(r.queries, query)
	return nil, errRecorded
}

func (r *recorder) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return nil, errRecorded
}

func (r *recorder) QueryRowContext(_ context.Context, query string, _ ...any) *sql.Row {
	panic("a row cannot be recorded: " + query)
}

// WantIndex fails the test if the first query that find runs would read a whole table or a whole index, other than lists
// that are part of the query itself.
func WantIndex(t *testing.T, db *store.DB, what string, find func(ctx context.Context, r store.Reader) error) {
	t.Helper()
	var query string
	read(t, db, func(ctx context.Context, r store.Reader) error {
		recorded := &recorder{Reader: r}
		if err := find(ctx, recorded); !errors.Is(err, errRecorded) {
			t.Errorf("%s: the query was not recorded: %v", what, err)
			return nil
		}
		query = recorded.queries[0]
		return nil
	})
	if query == "" {
		return
	}
	plan := explain(t, db, query)
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

// explain returns the plan of a query. PostgreSQL is asked to read whole tables only where it has no other choice: how
// many rows there are in a test says nothing.
func explain(t *testing.T, db *store.DB, query string) []string {
	t.Helper()
	var lines []string
	write(t, db, func(ctx context.Context, tx store.Tx) error {
		lines = nil
		if db.Engine() == store.PostgreSQL {
			for _, option := range []string{"enable_seqscan", "enable_mergejoin", "enable_hashjoin"} {
				if _, err := tx.NewRaw("SET LOCAL " + option + " = off").Exec(ctx); err != nil {
					return err
				}
			}
			return tx.NewRaw("EXPLAIN "+escapeMarks(query)).Scan(ctx, &lines)
		}
		var rows []struct {
			ID      int64  `bun:"id"`
			Parent  int64  `bun:"parent"`
			NotUsed int64  `bun:"notused"`
			Detail  string `bun:"detail"`
		}
		err := tx.NewRaw("EXPLAIN QUERY PLAN "+escapeMarks(query)).Scan(ctx, &rows)
		for _, row := range rows {
			lines = append(lines, row.Detail)
		}
		return err
	})
	return lines
}

// escapeMarks keeps the builder from taking question marks of a finished query for arguments.
func escapeMarks(query string) string { return strings.ReplaceAll(query, "?", `\?`) }
