// SPDX-License-Identifier: Apache-2.0

package store

import (
	"reflect"
	"strings"
	"testing"
)

func TestLiftLiterals(t *testing.T) {
	for _, test := range []struct {
		query, want string
		args        []any
	}{
		{`SELECT 1`, `SELECT ?`, []any{int64(1)}},
		{`SELECT "t"."id" FROM t1 AS "t" WHERE t.id = 12 AND -5 < t.a2`, `SELECT "t"."id" FROM t1 AS "t" WHERE t.id = ? AND -? < t.a2`, []any{int64(12), int64(5)}},
		{`INSERT INTO t VALUES ('it''s', X'00ff', x'', 1.5, 1e3, NULL, TRUE)`, `INSERT INTO t VALUES (?, ?, x'', 1.5, 1e3, NULL, TRUE)`, []any{"it's", []byte{0, 255}}},
		{`SELECT '' FROM "a ""1"" b" WHERE x = '''' AND y = 'x''''y'`, `SELECT ? FROM "a ""1"" b" WHERE x = ? AND y = ?`, []any{"", "'", "x''y"}},
		{
			`SELECT a FROM t WHERE id IN (1,2) ORDER BY 1, 2 LIMIT 10 OFFSET 20`, `SELECT a FROM t WHERE id IN (?,?) ORDER BY 1, 2 LIMIT ? OFFSET ?`,
			[]any{int64(1), int64(2), int64(10), int64(20)},
		},
		{`SELECT a FROM (SELECT 1 FROM t GROUP BY 1) WHERE b = 2`, `SELECT a FROM (SELECT ? FROM t GROUP BY 1) WHERE b = ?`, []any{int64(1), int64(2)}},
		{`SELECT -9223372036854775808, 9223372036854775807`, `SELECT -9223372036854775808, ?`, []any{int64(9223372036854775807)}},
		{`update t set näme1 = 'ü'`, `update t set näme1 = ?`, []any{"ü"}},
		{`WITH k AS (SELECT 1) DELETE FROM t`, `WITH k AS (SELECT ?) DELETE FROM t`, []any{int64(1)}},
	} {
		text, args, ok := liftLiterals(test.query)
		if !ok || text != test.want || !reflect.DeepEqual(args, test.args) {
			t.Errorf("%s: got %s, %#v, %v", test.query, text, args, ok)
		}
	}
	for _, query := range []string{
		"", "PRAGMA cache_size = 5", "CREATE TABLE t (a DEFAULT 1)", "SELECT ?", "SELECT 1; SELECT 2", "SELECT 1 -- one", "SELECT /* 1 */ 1", "SELECT :a",
	} {
		if text, _, ok := liftLiterals(query); ok {
			t.Errorf("%q became %q", query, text)
		}
	}
}

// FuzzLiftLiterals puts the values back and expects what there was.
func FuzzLiftLiterals(f *testing.F) {
	f.Add("SELECT 'a', 12, x'00ff' FROM t")
	f.Add("SELECT 'a")
	f.Add("SELECT x'0")
	f.Fuzz(func(t *testing.T, query string) {
		text, args, ok := liftLiterals(query)
		if !ok {
			return
		}
		if n := strings.Count(text, "?"); n < len(args) {
			t.Fatalf("%d parameters for %d values: %q", n, len(args), text)
		}
		// What is lifted once has nothing left to lift but what is in quotes.
		if again, more, ok := liftLiterals(strings.ReplaceAll(text, "?", "NULL")); ok && len(more) > 0 {
			t.Fatalf("%q became %q and then %q", query, text, again)
		}
	})
}
