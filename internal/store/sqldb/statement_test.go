// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	seventeen := make([]int64, 17)
	for i := range seventeen {
		seventeen[i] = int64(i)
	}
	padded := make([]any, 64)
	for i := range padded {
		padded[i] = int64(min(i, 16))
	}
	for _, test := range []struct {
		name             string
		sql              SQL
		sqlite, postgres string
		values           []any // of SQLite; those of PostgreSQL are the same if there are as many parameters
	}{
		{"value", New("a = ? AND b = ?", int64(1), "x"), "a = +? AND b = +?", "a = $1 AND b = $2", []any{int64(1), "x"}},
		{"name", New("? = ?", Name("t.a"), true), "t.a = +?", "t.a = $1", []any{true}},
		{"nested", New("(?) OR c = ?", New("a = ? AND b = ?", 1, 2), 3), "(a = +? AND b = +?) OR c = +?", "(a = $1 AND b = $2) OR c = $3", []any{1, 2, 3}},
		{"join", Join([]SQL{New("a = ?", 1), New("b"), New("c = ?", 2)}, " AND "), "a = +? AND b AND c = +?", "a = $1 AND b AND c = $2", []any{1, 2}},
		{"nothing to join", Join(nil, " AND "), "", "", []any{}},
		{"appended", New("a ?", 1).And(" LIMIT ?", 2), "a +? LIMIT +?", "a $1 LIMIT $2", []any{1, 2}},
		{"usual limit", New("a LIMIT ? OFFSET ?", Limit(50), 7), "a LIMIT +? OFFSET +?", "a LIMIT 50 OFFSET $1", []any{int64(50), 7}},
		{"unusual limit", New("a LIMIT ?", Limit(51)), "a LIMIT +?", "a LIMIT $1", []any{int64(51)}},
		{"limit after a value", New("a = ? LIMIT ?", 1, Limit(50)), "a = +? LIMIT +?", "a = $1 LIMIT $2", []any{1, int64(50)}},
		{"no keys", In("a", []int64{}), "1 = 0", "1 = 0", []any{}},
		{"one key", In("a", []string{"x"}), "a = +?", "a = $1", []any{"x"}},
		{"rounded up", In("a", []int32{1, 2}), "a IN (+?, +?, +?, +?)", "a = ANY ($1)", []any{int32(1), int32(2), int32(2), int32(2)}},
		{"17 keys", In("a", seventeen), "a IN (" + Repeat("+?", 64, ", ") + ")", "a = ANY ($1)", padded},
		{"many keys", In("a", slices.Repeat([]int64{5}, 65)), "a IN (SELECT value FROM json_each(+?))", "a = ANY ($1)", []any{"[" + Repeat("5", 65, ",") + "]"}},
		{"no pairs", InPairs("a", "b", nil), "1 = 0", "1 = 0", []any{}},
		{"one pair", InPairs("a", "b", []Pair{{1, 2}}), "(a = +? AND b = +?)", "(a = $1 AND b = $2)", []any{int64(1), int64(2)}},
		{
			"pairs", InPairs("a", "b", []Pair{{1, 2}, {3, 4}}),
			"(a, b) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(+?))",
			"(a, b) IN (SELECT * FROM unnest(CAST($1 AS bigint[]), CAST($2 AS bigint[])))",
			[]any{"[[1,2],[3,4]]"},
		},
		{"empty bytes", New("a = ?, b = ?", []byte{}, []byte(nil)), "a = x'', b = +?", "a = $1, b = $2", []any{[]byte(nil)}},
		{"rows", Rows("VALUES ", "(?, ?)", 2, " RETURNING a", []any{1, 2, 3, 4}), "VALUES (?, ?), (?, ?) RETURNING a", "VALUES ($1, $2), ($3, $4) RETURNING a", []any{1, 2, 3, 4}},
		{"rows with empty bytes", Rows("VALUES ", "(?)", 2, "", []any{[]byte{}, 1}), "VALUES (x''), (+?)", "VALUES ($1), ($2)", []any{1}},
	} {
		text, values, err := test.sql.render(SQLite)
		if err != nil || text != test.sqlite || !reflect.DeepEqual(values, test.values) {
			t.Errorf("%s: SQLite gets %q with %v and error %v", test.name, text, values, err)
		}
		text, values, err = test.sql.render(PostgreSQL)
		if err != nil || text != test.postgres || strings.Count(text, "$") < len(values) {
			t.Errorf("%s: PostgreSQL gets %q with %v and error %v", test.name, text, values, err)
		}
	}
}

// TestRenderRefusesText checks that invalid text is found in every position.
func TestRenderRefusesText(t *testing.T) {
	for _, bad := range []string{"a\x00b", "\xff"} {
		for name, sql := range map[string]SQL{
			"value": New("?", bad), "pointer": New("?", &bad), "key": In("a", []string{bad}), "few keys": In("a", []string{"x", bad}),
			"many keys": In("a", append(slices.Repeat([]string{"x"}, 100), bad)), "table": Keys([]string{bad}), "row": Rows("", "?", 1, "", []any{bad}),
		} {
			for _, engine := range []Engine{SQLite, PostgreSQL} {
				if _, _, err := sql.render(engine); !errors.Is(err, ErrInvalidValue) {
					t.Errorf("%s on %s: error %v for %q", name, engine, err, bad)
				}
			}
		}
	}
}

func TestRenderRefusesWrongNumberOfArguments(t *testing.T) {
	for _, sql := range []SQL{New("a = ?"), New("a", 1), New("? ?", 1), New("?", New("?"))} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q with %v was accepted", sql.text, sql.args)
				}
			}()
			_, _, _ = sql.render(SQLite)
		}()
	}
}
